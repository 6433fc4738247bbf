"""Graphs as this PyTorch prints them are read, and what we print of them is the same graph.

live_texts.py BIN_DIR: makes graphs in several ways (torch.export, make_fx, the logs of
torch.compile), with and without strides and devices, with custom operators, `cond`, symbols; hands
each text to BIN_DIR/palimpsest_text, which reads it, prints it, reads that and compares. Where the
graph can be run alone, our text is run as Python and compared with the graph. Last, every schema
that PyTorch knows is printed by us and read by PyTorch again.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import torch

warnings.filterwarnings("ignore")
BIN = pathlib.Path(sys.argv[1])
WORK = pathlib.Path(tempfile.mkdtemp(prefix="palimpsest_texts_"))

LIBRARY = torch.library.Library("live", "DEF")
for schema in [
    "bump_(Tensor(a!) x, *, float s=2.0) -> ()",
    "kv(Tensor k, Tensor(a!) cache, Tensor slots) -> ()",
    "lists(Tensor(a!)[] xs, Tensor(b!)? y=None, int[2] n=1) -> Tensor",
    "pair(Tensor x, str mode='sum') -> (Tensor, Tensor)",
]:
    LIBRARY.define(schema)


def impl(name):
    return lambda f: LIBRARY.impl(name, f, "CompositeExplicitAutograd")


@impl("bump_")
def bump_(x, *, s=2.0):
    x.add_(s)


@impl("kv")
def kv(k, cache, slots):
    cache.index_copy_(0, slots, k)


@impl("lists")
def lists(xs, y=None, n=(1, 1)):
    for x in xs:
        x.add_(n[0])
    if y is not None:
        y.mul_(n[1])
    return xs[0].clone()


@impl("pair")
def pair(x, mode="sum"):
    return x.clone(), x + 1


def views(x, y):
    a = x[0]
    b = x.t()[1:, ::2]
    a.add_(y)
    b.mul_(2)
    return a, b, x.view(-1), x.unfold(0, 2, 1), x.split(1)


def constants(x, y):
    z = torch.where(x > 0, x, float("inf"))
    w = torch.full((2, 3), float("nan"))
    c = x * (1 + 2j)
    return z, w, c, x.to(torch.bfloat16), torch.zeros(3, dtype=torch.bool), x.clamp(min=-1e-5), \
        torch.arange(2, 9, 3), x.sum(-1, keepdim=True), x.contiguous(memory_format=torch.contiguous_format)


def strings(x, y):
    d = torch.div(x, 2, rounding_mode="floor")
    e = torch.einsum("ij,j->i", x, y)
    g = torch.nn.functional.gelu(x, approximate="tanh")
    p, q = torch.ops.live.pair(x, "it's")
    return d, e, g, p, q


def custom(x, y):
    a = x[1]
    torch.ops.live.bump_(a)
    torch.ops.live.bump_(y, s=0.5)
    r = torch.ops.live.lists([x[0], x[2]], y, [3, 4])
    return r, x + 1


def cache(x, y):
    k = torch.zeros(8, 3)
    torch.ops.live.kv(x, k, torch.arange(4))
    return k, y + k[0]


def indexing(x, y):
    m = x.clone()
    m[:, 1] = y[0]
    m[torch.tensor([0, 1])] += 1
    m.index_put_((torch.tensor([0]), torch.tensor([2])), y[1])
    return m[[1, 2], :], m[..., None], torch.stack([x, m]), m.cumsum(0), m.argmax(1), m.topk(2)


def norms(x, y):
    h = torch.nn.functional.layer_norm(x, (3,), y, y, 1e-6)
    h = torch.nn.functional.rms_norm(h, (3,), y)
    s = torch.softmax(h @ h.t(), -1)
    a = torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])
    return s, a, torch.nn.functional.silu(h).pow(2).mean(dim=[0, 1])


def conditional(x, y):
    return torch.cond(x.sum() > 0, lambda a, b: a + b, lambda a, b: a.sin() - 1, (x, y))


def nested(x, y):
    def yes(a, b):
        return torch.cond(b.sum() > 0, lambda a, b: a * 2, lambda a, b: a.cos(), (a, b))

    return torch.cond(x.sum() > 0, yes, lambda a, b: a + 3, (x, y))


def looping(x, y):
    i = torch.tensor(0)
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x))


def shapes(x, y):
    n = x.shape[0]
    z = x.reshape(n * 3)
    return torch.cat([x, x]).view(2 * n, 3), z, x.new_zeros(n + 1, n // 2 + 1), max(n, 4) + y


def unbacked(x, y):
    u = y.abs().sum().long().item()
    torch._check(u >= 0)
    torch._check(u < 3)
    return x[u % 2], x * u, torch.zeros(u + 2)


FUNCTIONS = [views, constants, strings, custom, cache, indexing, norms, conditional, nested, looping,
             shapes, unbacked]
HIGHER_ORDER = {conditional, nested, looping}
DYNAMIC = {shapes, conditional, custom}


def inputs():
    torch.manual_seed(7)
    return torch.randn(4, 3), torch.randn(3)


class Wrap(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f
        self.weight = torch.nn.Parameter(torch.randn(3))
        self.register_buffer("state", torch.zeros(4, 3))

    def forward(self, x, y):
        self.state.add_(1)
        return self.f(x * 1 + self.state[0], y + self.weight.detach())


def exported(f, dynamic):
    shapes = {"x": {0: torch.export.Dim("n", min=3, max=16)}, "y": None} if dynamic else None
    return torch.export.export(Wrap(f), inputs(), dynamic_shapes=shapes)


def readable(gm, **options):
    return gm.print_readable(print_output=False, **options)


OPTIONS = [
    dict(),
    dict(include_stride=True),
    dict(include_stride=True, include_device=True),
]


def graphs():
    """(name, text, graph module or None): the graph where our text can be run alone."""
    for f in FUNCTIONS:
        for dynamic in [False, True] if f in DYNAMIC else [False]:
            ep = exported(f, dynamic)
            name = f.__name__ + ("_dynamic" if dynamic else "")
            for i, options in enumerate(OPTIONS):
                yield f"{name}_export{i}", readable(ep.graph_module, **options), None
            yield name + "_program", str(ep), None
            yield name + "_module", readable(ep.module(), include_stride=True), None
            gm = ep.run_decompositions().graph_module
            yield name + "_decomposed", readable(gm, include_stride=True, include_device=True), None
        if f not in HIGHER_ORDER and f is not unbacked:
            gm = torch.fx.experimental.proxy_tensor.make_fx(f, tracing_mode="fake")(*inputs())
            yield f.__name__ + "_make_fx", readable(gm, include_stride=True), gm


def compile_in_subprocess(name, dynamic, logs):
    code = (
        "import sys; sys.argv = ['live_texts.py', '.', 'import']\n"
        f"sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
        "import torch, live_texts\n"
        f"torch.compile(live_texts.{name}, dynamic={dynamic})(*live_texts.inputs())\n"
    )
    env = dict(os.environ, TORCH_LOGS=logs, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True,
                         timeout=600)
    if "[__" not in run.stderr:
        raise RuntimeError(f"{name}: no logs\n{run.stderr[-3000:]}")
    return run.stderr


def logs():
    for f, dynamic in [(custom, True), (cache, False), (conditional, True), (views, False)]:
        name = f.__name__ + "_logs" + ("_dynamic" if dynamic else "")
        yield name, compile_in_subprocess(f.__name__, dynamic, "aot_graphs,post_grad_graphs"), None


def known_schemas():
    """Every schema that PyTorch knows, but those whose types or defaults are not in the language."""
    lines = set()
    for s in torch._C._jit_get_all_schemas():
        if "::" not in s.name or s.name.startswith(("prim::", "aten::__", "static_runtime::")):
            continue
        text = str(s)
        try:
            torch._C.parse_schema(text)
        except RuntimeError:
            continue
        if not re.search(r"str chars=|float\? correction=1,|=(inf|-inf|nan|\[?cpu|\.\.\.)", text) and s.overload_name != "default":
            lines.add(text)
    return sorted(lines)


def writes_only_tensors(text):
    """TorchScript's own operators also write lists of numbers and dicts: no operators of graphs."""
    for a in torch._C.parse_schema(text).arguments:
        if a.alias_info is not None and a.alias_info.is_write and "Tensor" not in str(a.type):
            return False
        if "Dict" in str(a.type):
            return False
    return True


def palimpsest_text(*args):
    return subprocess.run([str(BIN / "palimpsest_text"), *map(str, args)], capture_output=True,
                          text=True)


def check_schemas(path):
    run = palimpsest_text(path)
    if run.returncode != 0:
        return [f"schemas: {run.stderr}"]
    failures = []
    for given, printed in zip(path.read_text().splitlines(), run.stdout.splitlines()):
        if torch._C.parse_schema(given) != torch._C.parse_schema(printed):
            failures.append(f"schemas: {given}\n printed as {printed}")
    return failures


def run_as_python(text, gm):
    """Runs our text as the Python that it is. None, or what is wrong."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("class "))
    text = "\n".join(line.removeprefix("    ") for line in text.splitlines())
    scope = {"torch": torch, "device": torch.device, "inf": float("inf"), "nan": float("nan")}
    exec(text, scope)
    ours, theirs = scope["forward"](gm, *inputs()), gm(*inputs())
    theirs = torch.utils._pytree.tree_leaves(theirs)
    if len(ours) != len(theirs):
        return f"{len(ours)} results instead of {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if not torch.allclose(a, b, equal_nan=True) or a.stride() != b.stride():
            return f"result {i} differs"
    return None


def check(name, text, gm, schemas):
    """How many graphs were read, and what is wrong."""
    path = WORK / (name + ".txt")
    path.write_text(text)
    run = palimpsest_text(schemas, path)
    count = run.stdout.count("--- graph\n")
    if run.returncode != 0 or count == 0:
        return count, f"{name}: {run.stderr or 'no graph'}  (text in {path})"
    if gm is not None:
        wrong = run_as_python(run.stdout.removeprefix("--- graph\n"), gm)
        if wrong:
            return count, f"{name}: run as Python, {wrong}  (text in {path})"
    return count, None


def main():
    schemas = WORK / "schemas.txt"
    lines = known_schemas()
    schemas.write_text("\n".join(lines) + "\n")
    failures = check_schemas(schemas)
    schemas.write_text("\n".join(filter(writes_only_tensors, lines)) + "\n")
    total = executed = 0
    for source in [graphs(), logs()]:
        for name, text, gm in source:
            count, wrong = check(name, text, gm, schemas)
            total += count
            executed += gm is not None
            if wrong:
                failures.append(wrong)
    for failure in failures:
        print(failure)
    print(f"texts: {total} graphs of torch {torch.__version__} read and printed, {executed} of them "
          f"run as Python; {len(lines)} schemas; {len(failures)} failed")
    if total < 50:
        print("fewer than 50 graphs")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
