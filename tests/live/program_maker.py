"""Chooses the steps of a random program (random_programs.py) from a random number generator.

Each step is run as it is chosen; a step that eager PyTorch refuses is left out. The families: views,
writes of built-in operators, custom operators (caselib), and operators with new results.
"""
import torch

import reference as ref
from program_steps import LAST, Program, Ref, Rejected, Run, Step

# ---------------------------------------------------------------- choosing

def contiguous_strides(sizes):
    strides, n = [], 1
    for s in reversed(sizes):
        strides.insert(0, n)
        n *= max(s, 1)
    return strides


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.storages, self.steps = [], {}
        self.run = None
        self.next = 0

    # -- inputs
    def add_storage(self, dtype, count, values=None):
        s = {"dt": dtype, "n": count, "fill": self.rng.randrange(1000)}
        if values is not None:
            s = {"dt": dtype, "n": count, "vals": values}
        self.storages.append(s)
        return len(self.storages) - 1

    def add_input(self, storage, sizes, strides, offset):
        number = self.next
        self.next += 1
        self.steps[number] = Step("input", [storage, sizes, strides, offset])
        if self.run is not None:
            while len(self.run.storages) < len(self.storages):
                self.run.storages.append(ref.make_storage(self.storages[len(self.run.storages)]))
            self.run.step(number, self.steps[number])
        return Ref(number)

    def make_inputs(self):
        rng = self.rng
        dtype = rng.choice(["f32", "f32", "f32", "i64", "i64", "f64", "i32"])
        for _ in range(rng.randint(1, 3)):
            sizes = rng.choice([[4], [6], [3, 4], [4, 3], [2, 3, 4], [6, 2], [5, 5], [2, 2], [1, 4],
                                [4, 1], [8], [2, 6]])
            count = 1
            for s in sizes:
                count *= s
            kind = rng.random()
            if kind < 0.55:
                s = self.add_storage(dtype, count)
                self.add_input(s, sizes, contiguous_strides(sizes), 0)
            elif kind < 0.7:        # a view with an offset, and gaps
                s = self.add_storage(dtype, 2 * count + 3)
                strides = [2 * k for k in contiguous_strides(sizes)]
                self.add_input(s, sizes, strides, rng.randint(0, 3))
            elif kind < 0.85:       # two inputs on one storage
                s = self.add_storage(dtype, 2 * count)
                self.add_input(s, sizes, contiguous_strides(sizes), 0)
                self.add_input(s, sizes, contiguous_strides(sizes),
                               rng.choice([0, count, count // 2, 1]))
            else:                   # transposed
                s = self.add_storage(dtype, count)
                strides = contiguous_strides(sizes[::-1])[::-1]
                self.add_input(s, sizes, strides, 0)
        self.run = Run(self.storages)
        for number, step in self.steps.items():
            self.run.step(number, step)

    # -- picking values
    def pool(self):
        for number, value in self.run.values.items():
            if isinstance(value, torch.Tensor):
                yield Ref(number), value
            elif isinstance(value, (list, tuple)):
                for i, item in enumerate(value):
                    if isinstance(item, torch.Tensor):
                        yield Ref(number, i), item

    def pick(self, test=lambda t: True):
        found = [(r, t) for r, t in self.pool() if test(t)]
        if not found:
            raise Rejected()
        # Newer values, and inputs, are likelier.
        weights = [1 + 2 * (k + 6 > len(found)) for k in range(len(found))]
        return self.rng.choices(found, weights)[0]

    def like(self, t, test=lambda t: True):
        """A value of t's dtype and sizes."""
        return self.pick(lambda u: u.dtype == t.dtype and u.shape == t.shape and test(u))

    def broadcastable(self, t):
        def fits(u):
            if u.dtype != t.dtype or u.dim() > t.dim():
                return False
            return all(a == b or a == 1 for a, b in zip(reversed(u.shape), reversed(t.shape)))
        return self.pick(fits)

    def number(self, t):
        k = self.rng.choice([-2, -1, 1, 2, 3])
        return k if not t.is_floating_point() else self.rng.choice([k, k / 2, k / 4])

    def dim(self, t, low=1):
        if t.dim() < low:
            raise Rejected()
        return self.rng.randrange(-t.dim(), t.dim()) if t.dim() else 0

    def index(self, count, limit, unique=False):
        """A new input of indices below `limit`."""
        if limit == 0 or (unique and count > limit):
            raise Rejected()
        rng = self.rng
        values = rng.sample(range(limit), count) if unique else [rng.randrange(limit)
                                                                   for _ in range(count)]
        s = self.add_storage("i64", count, values)
        return self.add_input(s, [count], [1], 0)

    def emit(self, target, *args, **kwargs):
        step = Step(target, list(args), kwargs)
        number = self.next
        self.run.step(number, step)
        self.next += 1
        self.steps[number] = step
        return Ref(number)

    # -- steps
    def view(self):
        rng = self.rng
        r, t = self.pick()
        kind = rng.choice(["select", "select", "slice", "slice", "slice", "view", "permute", "t",
                           "transpose", "expand", "unsqueeze", "squeeze", "diagonal", "unfold",
                           "as_strided", "split", "chunk", "unbind", "alias", "detach", "narrow",
                           "flatten", "movedim", "unflatten", "reshape", "contiguous", "dtype",
                           "split_sizes"])
        a = "aten."
        if kind in ("select", "slice", "unfold", "split", "chunk", "unbind", "narrow", "unflatten",
                    "split_sizes"):
            d = self.dim(t)
            n = t.shape[d]
            if n == 0:
                raise Rejected()
            if kind == "select":
                return self.emit(a + "select.int", r, d, rng.randrange(-n, n))
            if kind == "slice":
                start = rng.choice([0, 0, 1, -2, n // 2])
                end = rng.choice([LAST, LAST, n, n - 1, -1, start + 2])
                return self.emit(a + "slice.Tensor", r, d, start, end, rng.choice([1, 1, 1, 2, 3]))
            if kind == "unfold":
                size = rng.randint(1, min(n, 3))
                return self.emit(a + "unfold.default", r, d, size, rng.randint(1, 3))
            if kind == "split":
                return self.emit(a + "split.Tensor", r, rng.randint(1, n), d)
            if kind == "split_sizes":
                k = rng.randint(0, n)
                return self.emit(a + "split_with_sizes.default", r, [k, n - k], d)
            if kind == "chunk":
                return self.emit(a + "chunk.default", r, rng.randint(1, 3), d)
            if kind == "unbind":
                return self.emit(a + "unbind.int", r, d)
            if kind == "narrow":
                start = rng.randrange(n)
                return self.emit(a + "narrow.default", r, d, start, rng.randint(0, n - start))
            factor = rng.choice([k for k in (1, 2, 3) if n % k == 0])
            return self.emit(a + "unflatten.int", r, d, [factor, rng.choice([-1, n // factor])])
        if kind in ("view", "reshape"):
            n = t.numel()
            shapes = [[-1], [n], [1, n], [n, 1]] + [[k, n // k] for k in (2, 3, 4) if n % k == 0]
            shapes += [[2, 2, n // 4]] if n % 4 == 0 else []
            return self.emit(a + kind + ".default", r, rng.choice(shapes))
        if kind == "permute":
            order = list(range(t.dim()))
            rng.shuffle(order)
            return self.emit(a + "permute.default", r, order)
        if kind in ("transpose", "movedim"):
            return self.emit(a + kind + ".int", r, self.dim(t), self.dim(t))
        if kind == "expand":
            sizes = [s if s != 1 or rng.random() < 0.3 else rng.randint(1, 3) for s in t.shape]
            sizes = ([rng.randint(1, 3)] if rng.random() < 0.3 else []) + sizes
            return self.emit(a + "expand.default", r, sizes)
        if kind == "unsqueeze":
            return self.emit(a + "unsqueeze.default", r, rng.randrange(-t.dim() - 1, t.dim() + 1))
        if kind == "squeeze":
            form = rng.choice(["default", "dim"])
            return self.emit(a + "squeeze." + form, r, *([self.dim(t)] if form == "dim" else []))
        if kind == "diagonal":
            d1, d2 = rng.sample(range(self.need_dims(t, 2)), 2)
            return self.emit(a + "diagonal.default", r, rng.randint(-1, 1), d1, d2)
        if kind == "as_strided":
            room = t.untyped_storage().nbytes() // t.element_size()
            sizes = [rng.randint(1, 4) for _ in range(rng.randint(1, 2))]
            strides = [rng.choice([1, 1, 2, 3, 4]) for _ in sizes]
            return self.emit(a + "as_strided.default", r, sizes, strides,
                             rng.choice([0, 1, room // 2]))
        if kind == "flatten":
            return self.emit(a + "flatten.using_ints", r)
        if kind == "dtype":
            other = {torch.int64: torch.int32, torch.int32: torch.int16}.get(t.dtype)
            if other is None:
                raise Rejected()
            return self.emit(a + "view.dtype", r, other)
        return self.emit("aten.%s.default" % kind, r)

    @staticmethod
    def need_dims(t, n):
        if t.dim() < n:
            raise Rejected()
        return t.dim()

    def in_place(self):
        rng = self.rng
        kind = rng.choice(["binary", "binary", "binary", "scalar", "unary", "fill", "zero", "copy",
                           "copy", "index_put", "index_copy", "index_add", "index_fill", "scatter",
                           "scatter_value", "scatter_add", "masked_fill", "foreach", "cumsum",
                           "addcmul", "layout", "clamp", "out"])
        r, t = self.pick(lambda t: t.dtype != torch.bool)
        a = "aten."
        floating = t.is_floating_point()
        if kind == "binary":
            o, _ = self.broadcastable(t)
            name = rng.choice(["add_", "sub_", "mul_"])
            kw = {"alpha": rng.choice([2, -1])} if name != "mul_" and rng.random() < 0.3 else {}
            return self.emit(a + name + ".Tensor", r, o, **kw)
        if kind == "scalar":
            name = rng.choice(["add_.Scalar", "mul_.Scalar", "add_.Tensor"])
            return self.emit(a + name, r, self.number(t))
        if kind == "unary":
            names = ["neg_", "abs_", "relu_"] + (["tanh_", "sigmoid_", "sin_", "cos_"]
                                                 if floating else [])
            return self.emit(a + rng.choice(names) + ".default", r)
        if kind == "clamp":
            return self.emit(a + "clamp_.default", r, -2, 3)
        if kind == "fill":
            return self.emit(a + "fill_.Scalar", r, self.number(t))
        if kind == "zero":
            return self.emit(a + "zero_.default", r)
        if kind == "copy":
            o, _ = self.pick(lambda u: u.dim() <= t.dim())
            return self.emit(a + "copy_.default", r, o)
        if kind == "cumsum":
            return self.emit(a + "cumsum_.default", r, self.dim(t))
        if kind == "addcmul":
            return self.emit(a + "addcmul_.default", r, self.broadcastable(t)[0],
                             self.broadcastable(t)[0])
        if kind == "foreach":
            o, _ = self.pick(lambda u: u.dtype == t.dtype)
            if rng.random() < 0.5:
                return self.emit(a + rng.choice(["_foreach_add_", "_foreach_mul_"]) + ".Scalar",
                                 [r, o], self.number(t))
            return self.emit(a + "_foreach_add_.List", [r], [self.like(t)[0]])
        if kind == "masked_fill":
            m, _ = self.pick(lambda u: u.dtype == torch.bool and u.dim() <= t.dim())
            return self.emit(a + "masked_fill_.Scalar", r, m, self.number(t))
        if kind == "layout":
            if any(t is self.run.values[n] for n, s in self.steps.items() if s.target == "input"):
                raise Rejected()       # the layout of the caller's own tensor stays as it is
            form = rng.choice(["transpose_", "t_", "unsqueeze_", "squeeze_"])
            if form == "transpose_":
                return self.emit(a + "transpose_.default", r, self.dim(t), self.dim(t))
            if form == "t_":
                return self.emit(a + "t_.default", r)
            if form == "unsqueeze_":
                return self.emit(a + "unsqueeze_.default", r, rng.randrange(0, t.dim() + 1))
            return self.emit(a + "squeeze_.dim", r, self.dim(t))
        if kind == "out":
            x, u = self.like(t)
            y, _ = self.like(t)
            return self.emit(a + rng.choice(["add.out", "mul.out", "sub.out"]), x, y, out=r)
        d = self.dim(t) % max(t.dim(), 1)
        n = t.shape[d]
        count = rng.randint(1, 3)
        unique = kind not in ("index_add", "index_fill", "scatter_add")
        if kind in ("scatter", "scatter_value", "scatter_add"):
            self.need_dims(t, 1)
            if t.dim() != 1:
                raise Rejected()
            i = self.index(count, n, unique)
            if kind == "scatter_value":
                return self.emit(a + "scatter_.value", r, 0, i, self.number(t))
            src, _ = self.pick(lambda u: u.dtype == t.dtype and u.dim() == 1
                               and u.shape[0] >= count)
            name = "scatter_.src" if kind == "scatter" else "scatter_add_.default"
            return self.emit(a + name, r, 0, i, src)
        i = self.index(count, n, unique)
        if kind == "index_fill":
            return self.emit(a + "index_fill_.int_Scalar", r, d, i, self.number(t))
        if kind == "index_put":
            rest = t.shape[1:]
            v, _ = self.pick(lambda u: u.dtype == t.dtype and (u.dim() == 0 or u.shape == rest))
            return self.emit(a + "index_put_.default", r, [self.index(count, t.shape[0], True)], v)
        sizes = list(t.shape)
        sizes[d] = count
        src, _ = self.pick(lambda u: u.dtype == t.dtype and list(u.shape) == sizes)
        return self.emit(a + kind + "_.default", r, d, i, src)

    def custom(self):
        rng = self.rng
        kinds = (torch.float32, torch.float64, torch.int64, torch.int32)
        r, t = self.pick(lambda t: t.dtype in kinds)
        c = "caselib."
        name = rng.choice(["add_one", "add_one", "scale_", "reverse_into", "prefix_into", "add_pair",
                           "swap_", "bump_list", "bump_opt_list", "bump_maybes", "bump_default",
                           "maybe_add", "split_stats", "take_sum", "opaque_update", "axpy_",
                           "gather_sum", "push_back", "write_part", "fill_seq", "odd_names",
                           "scale_out", "bump_", "sin_cos", "kv_store"])
        any_list = lambda: [self.pick(lambda u: u.dtype in kinds)[0]           # noqa: E731
                            for _ in range(rng.randint(0, 3))]
        d = c + name + ".default"
        if name in ("add_one", "fill_seq", "bump_", "take_sum"):
            return self.emit(d, r)
        if name == "scale_":
            return self.emit(d, r, rng.choice([2.0, 0.5, -1.0]))
        if name in ("reverse_into", "prefix_into", "swap_", "add_pair", "axpy_"):
            if name == "axpy_":
                return self.emit(d, r, self.like(t)[0], alpha=0.5, shift=rng.choice([0, 1]))
            return self.emit(d, r, self.like(t)[0])
        if name == "sin_cos":
            return self.emit(d, r, self.like(t)[0], self.like(t)[0])
        if name == "odd_names":
            return self.emit(d, r, self.like(t)[0], self.like(t)[0])
        if name == "bump_list":
            return self.emit(d, any_list(), rng.choice([1, 2]))
        if name == "bump_opt_list":
            return self.emit(d, rng.choice([None, any_list()]), k=2)
        if name == "bump_maybes":
            return self.emit(d, [x if rng.random() < 0.7 else None for x in any_list()])
        if name == "bump_default":
            return self.emit(d, *([r] if rng.random() < 0.8 else []))
        if name in ("maybe_add",):
            x = r if rng.random() < 0.8 else None
            return self.emit(d, x, self.like(t)[0])
        if name == "split_stats":
            return self.emit(d, r, *([self.like(t)[0]] if rng.random() < 0.7 else []))
        if name == "opaque_update":
            return self.emit(d, r, self.pick(lambda u: u.dtype == t.dtype)[0])
        if name == "gather_sum":
            return self.emit(d, r, [self.like(t)[0] for _ in range(rng.randint(0, 2))])
        if name == "push_back":
            self.need_dims(t, 1)
            o, _ = self.pick(lambda u: u.dtype == t.dtype and u.dim() == t.dim()
                             and u.shape[1:] == t.shape[1:] and u.shape[0] <= t.shape[0])
            return self.emit(d, r, o)
        if name == "write_part":
            return self.emit(d, r, rng.randint(0, max(t.numel(), 1)))
        if name == "scale_out":
            return self.emit(d, self.like(t)[0], 0.5, out=r)
        self.need_dims(t, 2)
        k, u = self.pick(lambda u: u.dtype == t.dtype and u.shape[1:] == t.shape[1:] and u.dim() == t.dim())
        cache, _ = self.like(t)
        return self.emit(d, k, k, r, cache, self.index(u.shape[0], t.shape[0]))

    def compute(self):
        rng = self.rng
        r, t = self.pick()
        a = "aten."
        floating = t.is_floating_point()
        kind = rng.choice(["binary", "binary", "scalar", "unary", "clone", "sum", "sum_dim", "amax",
                           "cat", "stack", "compare", "where", "index_select", "gather", "flip",
                           "roll", "like", "scatter_form", "cast", "repeat", "pad", "cumsum", "mm",
                           "tril", "index", "full", "select_scatter"])
        if t.dtype == torch.bool and kind not in ("clone", "cat", "stack", "flip", "roll", "cast",
                                                  "index_select", "like", "repeat"):
            raise Rejected()
        if kind == "binary":
            name = rng.choice(["add", "sub", "mul", "maximum", "minimum"])
            o, _ = self.broadcastable(t)
            return self.emit(a + name + (".default" if name[:3] in ("max", "min") else ".Tensor"),
                             *rng.sample([r, o], 2))
        if kind == "scalar":
            return self.emit(a + rng.choice(["add", "mul"]) + ".Tensor", r, self.number(t))
        if kind == "unary":
            names = ["neg", "abs", "relu"] + (["sin", "cos", "tanh", "sigmoid"] if floating else [])
            return self.emit(a + rng.choice(names) + ".default", r)
        if kind == "clone":
            kw = {"memory_format": torch.contiguous_format} if rng.random() < 0.3 else {}
            return self.emit(a + "clone.default", r, **kw)
        if kind == "sum":
            return self.emit(a + "sum.default", r)
        if kind == "sum_dim":
            return self.emit(a + "sum.dim_IntList", r, [self.dim(t)], rng.random() < 0.5)
        if kind == "amax":
            return self.emit(a + "amax.default", r, [self.dim(t)])
        if kind == "cat":
            d = self.dim(t) % max(t.dim(), 1)
            o, _ = self.pick(lambda u: u.dtype == t.dtype and u.dim() == t.dim() and
                             all(x == y for i, (x, y) in enumerate(zip(u.shape, t.shape)) if i != d))
            return self.emit(a + "cat.default", [r, o], d)
        if kind == "stack":
            return self.emit(a + "stack.default", [r, self.like(t)[0]], rng.randint(0, t.dim()))
        if kind == "compare":
            return self.emit(a + rng.choice(["gt", "ge", "lt", "eq"]) + ".Scalar", r, self.number(t))
        if kind == "where":
            m, u = self.pick(lambda u: u.dtype == torch.bool)
            return self.emit(a + "where.self", m, r, self.like(t)[0])
        if kind == "index_select":
            d = self.dim(t)
            return self.emit(a + "index_select.default", r, d,
                             self.index(rng.randint(1, 3), t.shape[d]))
        if kind == "index":
            self.need_dims(t, 1)
            return self.emit(a + "index.Tensor", r, [self.index(rng.randint(1, 3), t.shape[0])])
        if kind == "gather":
            if t.dim() != 1:
                raise Rejected()
            return self.emit(a + "gather.default", r, 0, self.index(2, t.shape[0]))
        if kind == "flip":
            return self.emit(a + "flip.default", r, [self.dim(t)])
        if kind == "roll":
            return self.emit(a + "roll.default", r, [1], [self.dim(t)])
        if kind == "like":
            return self.emit(a + rng.choice(["zeros_like", "ones_like"]) + ".default", r)
        if kind == "cast":
            return self.emit(a + "_to_copy.default", r,
                             dtype=rng.choice([torch.float32, torch.int64, torch.float64]))
        if kind == "repeat":
            return self.emit(a + "repeat.default", r, [rng.randint(1, 2)] * t.dim())
        if kind == "pad":
            self.need_dims(t, 1)
            return self.emit(a + "constant_pad_nd.default", r, [1, rng.randint(0, 1)], 0)
        if kind == "cumsum":
            return self.emit(a + "cumsum.default", r, self.dim(t))
        if kind == "mm":
            if t.dim() != 2:
                raise Rejected()
            o, _ = self.pick(lambda u: u.dtype == t.dtype and u.dim() == 2
                             and u.shape[0] == t.shape[1])
            return self.emit(a + "mm.default", r, o)
        if kind == "tril":
            self.need_dims(t, 2)
            return self.emit(a + rng.choice(["tril", "triu"]) + ".default", r)
        if kind == "full":
            return self.emit(a + "full.default", list(t.shape), self.number(t), dtype=t.dtype,
                             device=torch.device("cpu"), pin_memory=False)
        d = self.dim(t) % max(t.dim(), 1)
        n = t.shape[d]
        if n == 0:
            raise Rejected()
        if kind == "select_scatter":
            rest = [s for i, s in enumerate(t.shape) if i != d]
            o, _ = self.pick(lambda u: u.dtype == t.dtype and list(u.shape) == rest)
            return self.emit(a + "select_scatter.default", r, o, d, rng.randrange(n))
        part = list(t.shape)
        part[d] = n - n // 2
        o, _ = self.pick(lambda u: u.dtype == t.dtype and list(u.shape) == part)
        return self.emit(a + "slice_scatter.default", r, o, d, n // 2, LAST)

    def program(self):
        rng = self.rng
        self.make_inputs()
        wanted = rng.choice([4, 6, 8, 10, 12, 16, 24, 40])
        families = [self.view] * 30 + [self.in_place] * 30 + [self.custom] * 20 + [self.compute] * 20
        tries = 0
        while len(self.steps) < wanted + 2 and tries < 10 * wanted:
            tries += 1
            try:
                rng.choice(families)()
            except Rejected:
                pass    # an index input that was made for a refused step stays; it does no harm
        found = [r for r, _ in self.pool()]
        outputs = rng.choices(found, k=rng.randint(0, 4))
        # A second call of a program with sin would take it of larger numbers (program_steps.Run).
        calls = rng.choice([1, 1, 1, 2])
        if any("sin" in s.target or "cos" in s.target for s in self.steps.values()):
            calls = 1
        return Program(self.storages, self.steps, outputs, calls)
