#!/usr/bin/env python3
"""Looks for code of an instruction-set level that the linker could use elsewhere.

    scripts/check_levels.py build

src/kernels/levels is compiled once per level. What its object files define for others to share
(weak symbols: templates, inline functions) must lie in the namespace of the level or name a type of
it; otherwise the linker may keep the AVX-512 copy for everybody (levels/level.h).
"""
import pathlib
import re
import subprocess
import sys


def leaks(path, level):
    nm = subprocess.run(["nm", "--demangle", "--defined-only", path], capture_output=True,
                        text=True, check=True).stdout
    bad = []
    for line in nm.splitlines():
        kind, name = re.match(r"[0-9a-f ]*([A-Za-z]) (.*)", line).groups()
        if kind.isupper() and f"palimpsest::kernels::{level}::" not in name:
            # DW.ref. and __odr_asan_gen_: of the compiler's own, data.
            if kind in "WVTDBRu" and not name.startswith(("DW.ref.", "__odr_asan_gen_")):
                bad.append(f"{path}: {name}")
    return bad


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    bad, files = [], 0
    for folder in sorted(build.glob("CMakeFiles/pal_kernels_*.dir")):
        level = re.search(r"pal_kernels_(\w+)\.dir", folder.name)[1]
        for path in sorted(folder.rglob("*.o")):
            if "/levels/" in str(path):
                files += 1
                bad += leaks(path, level)
    print("\n".join(bad) if bad else f"{files} object files, no code leaves its level")
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main())
