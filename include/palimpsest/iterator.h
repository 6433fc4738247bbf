// The element-wise iterator: PyTorch's layout, dtype and overlap rules, as a library of its own.
//
//   IteratorConfig config = IteratorConfig::Binary();
//   config.AddOutput(Undefined{}).AddInput(a).AddInput(b);
//   PAL_TRY(Iteration it, Iteration::Build(config));   // it.output(0) has PyTorch's sizes and strides
//   PAL_TRY(it.Allocate());
//   it.ForEach(loop);
//
// docs/iterator.md describes the rules; the steps and their order are those of TensorIterator
// after pull request 42922.
#pragma once
// Filled in by src/iter.
