"""What eager PyTorch does with the cases: memory, programs, refusals, results.

tests/cases/README.md describes the format of a case.
"""
import itertools
import math
import pathlib
import sys
import warnings

import numpy as np
import torch

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases"
sys.path.insert(0, str(CASES))
import caselib  # noqa: E402,F401  (registers the operators)

torch.set_num_threads(1)
DTYPES = {"b8": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16,
          "i32": torch.int32, "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16,
          "f32": torch.float32, "f64": torch.float64, "c64": torch.complex64,
          "c128": torch.complex128}
NAMES = {v: k for k, v in DTYPES.items()}

# A piece of PyTorch's message -> the kind of refusal. The first that fits decides.
REFUSALS = [
    ("Dimension out of range", "dim_out_of_range"),
    ("caselib contract", "operator_contract"),
    ("more than one element of the written-to", "internal_overlap"),
    ("some elements of the input tensor and the written-to", "partial_overlap"),
    ("view size is not compatible", "view_incompatible"),
    ("is invalid for input of size", "size_mismatch"),
    ("must match the size of tensor", "broadcast_mismatch"),
    ("The expanded size of the tensor", "broadcast_mismatch"),
    ("must be greater or equal to the number of dimensions", "broadcast_mismatch"),
    ("shape mismatch", "broadcast_mismatch"),
    ("doesn't match the broadcast shape", "output_shape_mismatch"),
    ("can't be cast to the desired output type", "cannot_cast"),
    ("storage that is not resizable", "resize_not_allowed"),
    ("Index put requires the source and destination dtypes match", "dtype_mismatch"),
    ("Expected self.dtype to be equal to src.dtype", "dtype_mismatch"),
    ("expected to have the same dtype", "dtype_mismatch"),
    ("should have the same", "dtype_mismatch"),
    ("to have the same dtype", "dtype_mismatch"),
    ("must have same dtype", "dtype_mismatch"),
    ("but expected", "dtype_mismatch"),
    ("but got", "dtype_mismatch"),
    ("expected dtype", "dtype_mismatch"),
    ("only supports boolean masks", "dtype_mismatch"),
    ("out of range for tensor of size", "index_out_of_range"),
    ("index out of range", "index_out_of_range"),
    ("is out of bounds for dimension", "index_out_of_range"),
    ("exceeds dimension size", "index_out_of_range"),
    ("out of bounds for storage", "out_of_storage"),
    ("must be divisible by", "dtype_view_impossible"),
    ("self.stride(-1) must be 1 to view", "dtype_view_impossible"),
    ("self.dim() cannot be 0 to view", "dtype_view_impossible"),
    ("cannot be multiplied", "matmul_size"),
    ("split_with_sizes expects split_sizes to sum", "bad_split"),
    ("Sizes of tensors must match except in dimension", "cat_mismatch"),
    ("stack expects each tensor to be equal size", "cat_mismatch"),
    ("maximum size for tensor at dimension", "window_too_large"),
    ("to have a size equal to the slice of self", "source_size_mismatch"),
    ("step must be positive", "bad_step"),
    ("cannot be applied to a 0-dim tensor", "dim_out_of_range"),
    ("appears multiple times in the list of dims", "dim_repeated"),
    ("Expected reduction dim", "empty_reduction"),
    ("specify the dim", "empty_reduction"),
    ("not implemented for", "unsupported_dtype"),
    ("is not supported", "unsupported_dtype"),
    ("not supported", "unsupported_dtype"),
    ("could not infer output dtype", "unsupported_dtype"),
    ("required rank", "bad_memory_format"),
    ("alpha", "bad_alpha"),
]
ERRORS = (RuntimeError, IndexError, TypeError, ValueError)


def refusal(error):
    text = str(error)
    for piece, kind in REFUSALS:
        if piece in text:
            return kind
    return "? " + text.split("\n")[0][:120]


def fill_value(i, seed, dt):
    m = 0xFFFFFFFF
    x = (i * 2654435761 + seed * 40503 + 12345) & m
    x = ((x ^ (x >> 16)) * 2246822519) & m
    x ^= x >> 13
    k = x % 17 - 8
    if dt == "b8":
        return bool(x & 1)
    if dt == "u8":
        return k + 8
    if dt in ("c64", "c128"):
        return complex(k / 4, (x // 17) % 17 / 4 - 2)
    return k / 4 if dt in ("f16", "bf16", "f32", "f64") else k


def make_storage(d):
    values = d.get("vals")
    if values is None:
        values = [fill_value(i, d["fill"], d["dt"]) for i in range(d["n"])]
    if d.get("fixed") and d["dt"] != "bf16":
        dense = torch.tensor(values, dtype=DTYPES[d["dt"]])
        return torch.from_numpy(np.array(dense.numpy()))   # memory that PyTorch may not replace
    return torch.tensor(values, dtype=DTYPES[d["dt"]])


def make_args(case, storages):
    args = []
    for a in case["args"]:
        if "arg" in a:
            args.append(args[a["arg"]])
        elif "py" in a:
            args.append({"int": int, "float": float, "bool": bool}[a["py"]](a["v"]))
        else:
            args.append(storages[a["s"]].as_strided(a["sz"], a["st"], a["of"]))
    return args


def storage_id(t):
    return t.untyped_storage()._cdata


def number(v, dt):
    if isinstance(v, bool):
        return int(v)
    if isinstance(v, int):
        return v
    if math.isnan(v):
        return "nan"
    if math.isinf(v):
        return "inf" if v > 0 else "-inf"
    return v


def values(t):
    dt = NAMES[t.dtype]
    return [number(v, dt) for v in t.detach().contiguous().reshape(-1).tolist()]


def flat(v):
    if isinstance(v, torch.Tensor):
        yield v
    elif isinstance(v, (list, tuple)):
        for x in v:
            yield from flat(x)


def same_bytes(a, b):
    return bytes(a.untyped_storage()) == bytes(b.untyped_storage())


def whole(s):
    """All of the storage, which an out= operand may have grown."""
    storage = s.untyped_storage()
    n = storage.nbytes() // s.element_size()
    return torch.empty(0, dtype=s.dtype).set_(storage, 0, (n,), (1,))


def describe(outs, storages, before):
    where = {storage_id(s): "s%d" % i for i, s in enumerate(storages)}
    fresh = itertools.count()
    described = []
    for o in flat(list(outs)):
        k = storage_id(o)
        if k not in where:
            where[k] = "f%d" % next(fresh)
        described.append({"dt": NAMES[o.dtype], "sz": list(o.shape), "st": list(o.stride()),
                          "mem": where[k], "of": o.storage_offset(), "vals": values(o)})
    after = [None if same_bytes(s, b) else values(whole(s)) for s, b in zip(storages, before)]
    return {"outputs": described, "after": after}


def load(text):
    scope = {"torch": torch, "device": torch.device, "inf": math.inf, "nan": math.nan}
    exec(compile(text, "<program>", "exec"), scope)
    return scope["forward"]


def run_program(case, calls):
    """One entry per call, as `expect` has them."""
    storages = [make_storage(s) for s in case["storages"]]
    args, forward, seen, keep = make_args(case, storages), load(case["program"]), [], []
    for _ in range(calls):
        before = [s.clone() for s in storages]
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            try:
                outs = forward(None, *args)
            except ERRORS as e:
                return seen + [{"error": refusal(e)}]
        keep.append(outs)
        seen.append(describe(outs, storages, before))
    return seen


def near(a, b, rtol=1e-5, atol=0.0):
    if isinstance(a, dict):
        return all(k in b and near(a[k], b[k], rtol, atol) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(
            near(x, y, rtol, atol) for x, y in zip(a, b))
    if isinstance(a, float) or isinstance(b, float):
        if isinstance(a, str) or isinstance(b, str):
            return a == b
        return abs(a - b) <= atol + rtol * max(1.0, abs(b))
    return a == b
