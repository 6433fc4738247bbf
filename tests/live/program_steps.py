"""Programs as lists of steps, run one after the other in eager PyTorch.

Each step is run as it is chosen (program_maker.py), so that the next one can be chosen by what is
there; `Program.case` turns any list of steps into a case in the form of tests/cases/README.md. Steps
that eager refuses, or whose result hangs on the order of PyTorch's loop (a write that overlaps what
it reads in part), are left out.
"""
import itertools
import warnings
from dataclasses import dataclass, field

import torch

import reference as ref

LAST = 9223372036854775807
LIMIT = 1e5        # programs with larger values are left out: rounding would decide


class Rejected(Exception):
    """the step (or the program) is left out"""


class Refused(Rejected):
    """eager PyTorch refuses the step"""


@dataclass(frozen=True)
class Ref:
    """The value of a step; with `item` an element of a list that it returned."""
    step: int
    item: int = -1


@dataclass
class Step:
    target: str                 # "aten.add_.Tensor"; "input"
    args: list
    kwargs: dict = field(default_factory=dict)


# ---------------------------------------------------------------- memory

def places(t):
    """Byte address of every element, relative to the storage."""
    at = [t.storage_offset()]
    for size, stride in zip(t.shape, t.stride()):
        at = [p + i * stride for p in at for i in range(size)]
    return [p * t.element_size() for p in at]


def overlaps_itself(t):
    at = places(t)
    return len(set(at)) != len(at)


def same_geometry(a, b):
    return (a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride()
            and a.storage_offset() == b.storage_offset())


def meets(a, b):
    if ref.storage_id(a) != ref.storage_id(b):
        return False
    bytes_of = [{p + k for p in places(t) for k in range(t.element_size())} for t in (a, b)]
    return not bytes_of[0].isdisjoint(bytes_of[1])


def tensors(value):
    return list(ref.flat([value]))


# ---------------------------------------------------------------- running steps

def operator(target):
    space, name, overload = target.split(".")
    return getattr(getattr(getattr(torch.ops, space), name), overload)


def written_values(op, args, kwargs):
    for i, a in enumerate(op._schema.arguments):
        if a.alias_info is not None and a.alias_info.is_write:
            value = args[i] if i < len(args) else kwargs.get(a.name)
            yield from tensors(value)


def check_order_free(op, args, kwargs):
    """Refuses a built-in write whose result hangs on the order of the loop."""
    written = list(written_values(op, args, kwargs))
    if op.namespace != "aten" or not written:
        return
    by_element = not op._schema.name.startswith(("aten::scatter", "aten::index"))
    only_fills = op._schema.name in ("aten::zero_", "aten::fill_")
    every = list(tensors([list(args), list(kwargs.values())]))
    for w in written:
        if overlaps_itself(w) and not only_fills:
            raise Rejected()
        for other in every:
            if other is w or by_element and same_geometry(w, other):
                continue
            if meets(w, other):
                raise Rejected()
    for a, b in itertools.combinations(written, 2):
        if meets(a, b):
            raise Rejected()


class Run:
    """Steps run one after the other."""

    def __init__(self, storages):
        self.storages = [ref.make_storage(s) for s in storages]
        self.values = {}

    def value(self, r):
        v = self.values[r.step]
        return v if r.item < 0 else v[r.item]

    def resolve(self, a):
        if isinstance(a, Ref):
            return self.value(a)
        return [self.resolve(x) for x in a] if isinstance(a, list) else a

    def step(self, number, step, guarded=True):
        """`guarded`: no sine of large numbers, where an error of the last bit would show."""
        if step.target == "input":
            s, sizes, strides, offset = step.args
            self.values[number] = self.storages[s].as_strided(sizes, strides, offset)
            return
        op = operator(step.target)
        args = [self.resolve(a) for a in step.args]
        kwargs = {k: self.resolve(v) for k, v in step.kwargs.items()}
        check_order_free(op, args, kwargs)
        if guarded and step.target.split(".")[1].strip("_") in ("sin", "cos", "exp", "sin_cos"):
            for t in tensors(args):
                if t.numel() and t.abs().max() > 30:
                    raise Rejected()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = op(*args, **kwargs)
            except ref.ERRORS as e:
                raise Refused(str(e)) from None
        for t in tensors(result):
            if t.dtype not in ref.NAMES or t.numel() > 200 or t.dim() > 5:
                raise Rejected()
        self.values[number] = result


# ---------------------------------------------------------------- text

def type_of(t):
    return '"%s[%s][%s]cpu"' % (ref.NAMES[t.dtype], ", ".join(map(str, t.shape)),
                                ", ".join(map(str, t.stride())))


def literal(a, names):
    if isinstance(a, Ref):
        return names[a]
    if isinstance(a, list):
        return "[" + ", ".join(literal(x, names) for x in a) + "]"
    if isinstance(a, torch.dtype):
        return str(a)
    return repr(a)


def refs(a):
    if isinstance(a, Ref):
        yield a
    elif isinstance(a, (list, tuple)):
        for x in a:
            yield from refs(x)


@dataclass
class Program:
    storages: list
    steps: dict                 # number -> Step, in order
    outputs: list               # Refs
    calls: int = 1

    def without(self, gone):
        """The program without some steps and all that needs them; None if nothing is left."""
        gone, steps = set(gone), {}
        for number, step in self.steps.items():
            needs = {r.step for r in refs(step.args + list(step.kwargs.values()))}
            if number in gone or needs & gone:
                gone.add(number)
            else:
                steps[number] = step
        outputs = [r for r in self.outputs if r.step not in gone]
        return Program(self.storages, steps, outputs, self.calls) if steps else None

    def case(self, name, limit=LIMIT, refusable=False):
        """The case, or Rejected. `limit`: of all values, or None. `refusable`: eager may refuse the
        last step; the case then expects that."""
        run, names, lines, params, args = Run(self.storages), {}, [], [], []
        used_items = {r for s in self.steps.values() for r in refs(s.args + list(s.kwargs.values()))}
        used_items |= set(self.outputs)
        refused = False
        for number, step in self.steps.items():
            try:
                run.step(number, step, limit is not None)
            except Refused:
                if not refusable or number != list(self.steps)[-1]:
                    raise
                refused = True
            value, own = run.values.get(number), "v%d" % number
            names[Ref(number)] = own
            if step.target == "input":
                params.append("%s: %s" % (own, type_of(value)))
                s, sizes, strides, offset = step.args
                args.append({"s": s, "sz": sizes, "st": strides, "of": offset})
                continue
            given = [literal(a, names) for a in step.args]
            given += ["%s = %s" % (k, literal(v, names)) for k, v in step.kwargs.items()]
            note = ": " + type_of(value) if isinstance(value, torch.Tensor) else ""
            lines.append("%s%s = torch.ops.%s(%s)" % (own, note, step.target, ", ".join(given)))
            for i, item in enumerate(value if isinstance(value, (list, tuple)) else ()):
                if Ref(number, i) in used_items:
                    names[Ref(number, i)] = "%s_%d" % (own, i)
                    lines.append("%s_%d: %s = %s[%d]" % (own, i, type_of(item), own, i))
        outputs = [] if refused else self.outputs
        out = ", ".join(names[r] for r in outputs)
        lines.append("return (%s)" % (out + "," if len(outputs) == 1 else out))
        text = "def forward(%s):\n" % ", ".join(["self"] + params)
        text += "".join("    %s\n" % line for line in lines)
        case = {"id": name, "group": "random", "program": text, "storages": self.storages,
                "args": args}
        case["expect"] = ref.run_program(case, self.calls)
        if any("error" in e for e in case["expect"]) != refused:
            raise Rejected("a call is refused")
        if refused or limit is None:
            return case
        numbers = [v for e in case["expect"] for o in e["outputs"] for v in o["vals"]]
        numbers += [v for e in case["expect"] for a in e["after"] if a for v in a]
        if any(isinstance(v, str) or abs(v) > limit for v in numbers):
            raise Rejected("values too large")
        return case
