// Instruction-set levels: every file of this folder is compiled once per level, with the flags of
// that level and PAL_LEVEL set to its name (base, v2, v3, v4: the levels of the x86-64 ABI; base is
// whatever the compiler takes for granted).
//
// Note [Code of a level stays in its level]
// A function that several object files define (a template, an inline function) is one function for
// the linker: it keeps any one of them. Were that the v4 one, older machines would stop at an
// illegal instruction. So everything here lies in a namespace of the level's name, and templates
// from elsewhere are instantiated with a type of that namespace only (Number<T, Level>).
// scripts/check_levels.py looks for leaks in the object files.
#pragma once

#include "kernels/loop_table.h"

#ifndef PAL_LEVEL
#define PAL_LEVEL base
#endif

namespace palimpsest::kernels::PAL_LEVEL {

struct Level {};

// Each puts this level's row kernels into the table.
void PutUnaryLoops(LoopTables& tables);
void PutUnaryFloatLoops(LoopTables& tables);
void PutActivationLoops(LoopTables& tables);
void PutBinaryLoops(LoopTables& tables);
void PutCompareLoops(LoopTables& tables);
void PutTernaryLoops(LoopTables& tables);

}  // namespace palimpsest::kernels::PAL_LEVEL
