#!/usr/bin/env python3
"""Prints src/op/pytorch_names.inc: the names of all operators that PyTorch itself has.

    .venv/bin/python scripts/pytorch_names.py >src/op/pytorch_names.inc

With PyTorch 2.13 (tests/live/requirements.txt). Names only: they tell an operator for which there
is no kernel here from one that nobody knows.
"""
import collections

import torch
import torch._higher_order_ops  # registers them

NAMESPACES = ("aten", "prim", "prims", "quantized", "mkldnn", "onednn", "sparse", "inductor", "c10d",
              "_c10d_functional", "rngprims", "profiler")

overloads = collections.defaultdict(set)
for schema in torch._C._jit_get_all_schemas():
    namespace, name = schema.name.split("::")
    if namespace in NAMESPACES:
        overloads[f"{namespace}.{name}"].add(schema.overload_name or "default")
for name in torch._ops._higher_order_ops:
    overloads[f"higher_order.{name}"] = set()

print(f"// Names of PyTorch {torch.__version__.split('+')[0]}, by scripts/pytorch_names.py: sorted, each "
      "with its overloads.")
for name in sorted(overloads):
    print(f'{{"{name}", " {" ".join(sorted(overloads[name]))} "}},')
