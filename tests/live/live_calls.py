"""Random calls of single operators, through eager PyTorch and through palimpsest.

    live_calls.py BIN_DIR [COUNT [FIRST_SEED]]

COUNT calls (default 20000; PAL_FUZZ_CALLS=5000000 for a night) of the element-wise operators and the
reductions, in all their forms (new result, in place, out=, with numbers), on random shapes, strides,
offsets and dtypes: values, dtype, sizes, strides, memory, or the refusal. Seeds give the calls.
"""
import itertools
import json
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
from collections import Counter

import torch

from live_programs import judge
from program_maker import contiguous_strides
from program_steps import Program, Ref, Rejected, Step

BATCH = 500
DTYPES = ["f32"] * 5 + ["f64", "f16", "bf16", "i64", "i64", "i32", "i16", "i8", "u8", "b8"]
REDUCTIONS = ["sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "var", "std",
              "norm", "logsumexp", "cumsum", "cumprod", "max", "min", "nansum", "count_nonzero",
              "linalg_vector_norm", "aminmax", "cummax", "cummin", "_softmax", "_log_softmax",
              "softmax", "log_softmax", "var_mean", "std_mean"]
SHAPING = ["cat", "stack", "flip", "roll", "tril", "triu", "clone", "contiguous", "_to_copy",
           "zeros_like", "ones_like", "copy_", "fill_", "zero_", "repeat"]


# Left out: what eager PyTorch 2.13 does wrong, or refuses for want of a kernel, where we do the right
# thing; and what is not compared.
#   gelu.out: the oneDNN path ignores out's strides where they are not those of the input.
#   std and var of all elements of a 16-bit float into an out= of another dtype: "std_var_all".
#   min and max without dims into out=: of nothing they give the type's limit instead of refusing.
#   any and all into an out= of u8 convert the input to u8 first: all([0.5]) is false.
#   of nothing: cumprod_ runs for bool, cummax for any dim, and roll keeps strides.
#   pow with base 1 checks no dtype; pow of bool with True runs, with 2 it is refused.
#   masked_fill_.Tensor refuses a number that u8 does not hold, the other forms wrap it.
#   16-bit inputs with a wider out=: how often eager rounds in between differs by operator.
def is_left_out(target, case):
    expect, first, last = case["expect"][0], case["args"][0], case["args"][-1]
    types = [case["storages"][a["s"]]["dt"] for a in case["args"]]
    name = target.split(".")[0].rstrip("_")
    if "out = " in case["program"]:
        if name == "gelu" and last["st"] != first["st"]:
            return True
        if name in ("any", "all") and types[-1] == "u8":
            return True
        if set(types[:-1]) & {"f16", "bf16"} and types[-1] in ("f32", "f64"):
            return True
    if target in ("min.unary_out", "max.unary_out") or name in (
            "cumprod", "cumsum", "cummax", "cummin", "roll"):
        return 0 in first["sz"]
    if name == "pow" and ("b8" in types or "pow.Scalar" in target and "(1, " in case["program"]):
        return True
    if target == "masked_fill_.Tensor" and types[0] == "u8":
        return True
    return "std_var_all" in expect.get("error", "")


class Skip(Exception):
    """no random argument of this kind is known"""


def forms(bin_dir):
    """Overloads of torch that palimpsest knows, by base name: element-wise, reductions, shaping."""
    listed = json.loads(subprocess.run([bin_dir + "/palimpsest", "operators", "--json"],
                                       capture_output=True, text=True, check=True).stdout)
    known = {o["name"]: o["pointwise"] for o in listed["operators"]}
    base = lambda key: key.split("::")[1].split(".")[0].rstrip("_")        # noqa: E731
    uninitialized = ("empty", "empty_like", "new_empty")
    wanted = {base(k) for k, pointwise in known.items() if pointwise} | set(REDUCTIONS)
    wanted |= {n.rstrip("_") for n in SHAPING}
    wanted -= set(uninitialized)
    by_name = {}
    for key in known:
        if not key.startswith("aten::") or base(key) not in wanted or "foreach" in key:
            continue
        name, _, overload = key[6:].partition(".")
        try:
            op = getattr(getattr(torch.ops.aten, name), overload or "default")
        except AttributeError:
            continue
        by_name.setdefault(base(key), []).append((name + "." + (overload or "default"), op))
    return by_name


class Call:
    """One random call: inputs and a step."""

    def __init__(self, rng, target, op):
        self.rng, self.target, self.op = rng, target, op
        self.storages, self.steps = [], {}
        self.shape = [rng.choice([1, 2, 3, 4, 5]) for _ in range(rng.choice([0, 1, 2, 2, 3, 3, 4]))]
        if rng.random() < 0.05 and self.shape:
            self.shape[rng.randrange(len(self.shape))] = 0
        self.dtype = rng.choice(DTYPES)

    def sizes(self):
        """Sizes that broadcast to the call's shape, most of the time."""
        rng, sizes = self.rng, list(self.shape)
        if rng.random() < 0.4:
            sizes = sizes[rng.randint(0, len(sizes)):]
            sizes = [1 if rng.random() < 0.2 else s for s in sizes]
        if rng.random() < 0.02 and sizes:
            sizes[0] += 1
        return sizes

    def tensor(self, sizes=None, dtype=None):
        rng = self.rng
        sizes = self.sizes() if sizes is None else sizes
        if dtype is None:
            dtype = self.dtype if rng.random() < 0.75 else rng.choice(DTYPES)
        order = list(range(len(sizes)))
        if rng.random() < 0.5:
            rng.shuffle(order)
        gap = rng.choice([1, 1, 1, 2])
        strides, n = [0] * len(sizes), gap
        for d in reversed(order):
            strides[d] = n
            n *= max(sizes[d], 1) + (1 if rng.random() < 0.1 else 0)
        if rng.random() < 0.08 and sizes:
            strides[rng.randrange(len(sizes))] = 0
        offset = rng.choice([0, 0, 0, 1, 3])
        count = offset + 1 + sum((s - 1) * k for s, k in zip(sizes, strides) if s > 0)
        self.storages.append({"dt": dtype, "n": count, "fill": rng.randrange(1000)})
        number = len(self.steps)
        self.steps[number] = Step("input", [len(self.storages) - 1, sizes, strides, offset])
        return Ref(number)

    def number(self):
        rng = self.rng
        return rng.choice([0, 1, 2, -1, 3, 0.5, -1.5, 2.0, True, False, 1e-3, 7])

    def dim(self):
        n = max(len(self.shape), 1)
        return self.rng.randrange(-n, n + (self.rng.random() < 0.03))

    def argument(self, a):
        rng, kind, name = self.rng, str(a.type), a.name
        if kind.startswith("Optional["):
            if rng.random() < 0.5:
                return None
            kind = kind[len("Optional["):-1]
        if kind == "Tensor":
            if a.alias_info is not None and a.alias_info.is_write:
                full = self.shape if rng.random() < 0.8 else self.sizes()
                return self.tensor(list(full), self.dtype if rng.random() < 0.9 else None)
            if name in ("condition", "mask"):
                return self.tensor(dtype="b8")
            return self.tensor()
        if kind == "List[Tensor]":
            return [self.tensor(list(self.shape)) for _ in range(rng.randint(1, 3))]
        if kind == "List[int]" and name in ("dim", "dims"):
            return rng.sample(range(len(self.shape)), rng.randint(0, len(self.shape)))
        if kind == "List[int]" and name == "repeats":
            return [rng.randint(0, 2) for _ in self.shape]
        if kind == "List[int]" and name == "shifts":
            return [rng.randint(-2, 3)]
        if kind == "int" and name in ("dim", "diagonal", "correction"):
            return self.dim() if name == "dim" else rng.randint(-2, 2)
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "str":
            return rng.choice({"approximate": ["none", "tanh"],
                               "rounding_mode": ["floor", "trunc"]}.get(name) or self.unknown(a))
        if kind in ("number", "float", "Scalar"):
            return self.number() if kind != "float" else rng.choice([0.5, 1.0, 0.01, 2.0])
        if kind == "int" and name == "dtype":
            return rng.choice([torch.float32, torch.float64, torch.int64, torch.bfloat16])
        return self.unknown(a)

    @staticmethod
    def unknown(a):
        raise Skip("%s %s" % (a.type, a.name))

    def program(self):
        args, kwargs = [], {}
        for a in self.op._schema.arguments:
            if a.has_default_value() and (self.rng.random() < 0.4 or str(a.type) in (
                    "Optional[Generator]", "Optional[Layout]", "Optional[Device]")):
                if not a.kwarg_only:
                    break
                continue
            if a.name in ("layout", "device", "pin_memory", "memory_format", "generator",
                          "non_blocking"):
                if a.name == "memory_format" and self.rng.random() < 0.4:
                    kwargs[a.name] = self.rng.choice([torch.contiguous_format,
                                                      torch.preserve_format,
                                                      torch.channels_last])
                continue
            if a.name == "dtype":
                kwargs[a.name] = self.rng.choice([torch.float32, torch.float64, torch.int64,
                                                  torch.bfloat16, torch.int32])
                continue
            value = self.argument(a)
            if a.kwarg_only:
                kwargs[a.name] = value
            else:
                args.append(value)
        number = len(self.steps)
        self.steps[number] = Step("aten." + self.target, args, kwargs)
        returns = len(self.op._schema.returns)
        outputs = [Ref(number)] if returns == 1 else [Ref(number, i) for i in range(returns)]
        return Program(self.storages, self.steps, outputs)


def quiet():
    """PyTorch's warnings of resized results come from C++: they are part of the plan."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def random_call(by_name, seed):
    for attempt in itertools.count():
        rng = random.Random("%s.%s" % (seed, attempt))
        name = rng.choice(sorted(by_name))
        target, op = rng.choice(by_name[name])
        try:
            case = Call(rng, target, op).program().case("call-%s" % seed, None, True)
            if not is_left_out(target, case):
                return name, case
        except (Rejected, Skip):
            continue


def batch(job):
    bin_dir, by_name_dir, first, count = job
    by_name = forms(by_name_dir)
    cases = [random_call(by_name, seed) for seed in range(first, first + count)]
    wrong, skipped = judge(bin_dir + "/palimpsest_cases", [c for _, c in cases], [])
    texts = [(c, wrong[c["id"]]) for _, c in cases if c["id"] in wrong]
    return Counter(name for name, _ in cases), texts, skipped


def main():
    bin_dir = str(pathlib.Path(sys.argv[1]).resolve())
    count = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("PAL_FUZZ_CALLS", 20000))
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    jobs = [(bin_dir, bin_dir, s, min(BATCH, first + count - s))
            for s in range(first, first + count, BATCH)]
    names, failed, skipped, shown = Counter(), 0, 0, Counter()
    with multiprocessing.Pool(os.cpu_count(), quiet) as pool:
        for counted, texts, left in pool.imap_unordered(batch, jobs):
            names += counted
            failed, skipped = failed + len(texts), skipped + left
            for case, what in texts:
                line = case["program"].splitlines()[1].split("torch.ops.")[1]
                shown[line.split("(")[0]] += 1
                if shown[line.split("(")[0]] <= 3:
                    print("FAIL %s: %s\n%s" % (case["id"], what, case["program"]))
    print("random calls of %d operators, seeds %d to %d: %d passed, %d failed, %d skipped" %
          (len(names), first, first + count - 1, count - failed - skipped, failed, skipped))
    for name, n in shown.most_common(40):
        print("  %4d %s" % (n, name))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
