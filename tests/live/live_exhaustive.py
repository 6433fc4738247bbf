"""All programs of up to three operators over a small alphabet: interpreter = compiled = eager.

    live_exhaustive.py BIN_DIR

Alphabet: two views, add_, copy_, clone, a custom operator that writes; on one input, two inputs, and
two inputs that overlap. Each program returns its last value, and again all its values.
"""
import itertools
import multiprocessing
import os
import pathlib
import sys

from live_programs import judge
from program_steps import Program, Ref, Rejected, Run, Step

ONE = [("aten.slice.Tensor", 0, 1, 3), ("aten.view.default", [2, -1]), ("aten.add_.Scalar", 1),
       ("aten.clone.default",), ("caselib.add_one.default",)]
INPUTS = [
    ("one", [8], [[0, [4, 2], [2, 1], 0]]),
    ("two", [8, 8], [[0, [4, 2], [2, 1], 0], [1, [4, 2], [2, 1], 0]]),
    ("overlapping", [12], [[0, [4, 2], [2, 1], 0], [0, [4, 2], [2, 1], 4]]),
]


def next_steps(values):
    for target, *args in ONE:
        for v in values:
            yield Step(target, [Ref(v)] + args)
    for a, b in itertools.product(values, values):
        yield Step("aten.copy_.default", [Ref(a), Ref(b)])


def programs_of(storages, inputs, length):
    """Depth first over step lists; a list that eager refuses has no longer ones."""
    first = {i: Step("input", place) for i, place in enumerate(inputs)}
    todo = [(first, list(first))]
    while todo:
        steps, values = todo.pop()
        run = Run(storages)
        try:
            for number, step in steps.items():
                run.step(number, step)
        except Rejected:
            continue
        if len(steps) > len(first):
            yield Program(storages, steps, [Ref(values[-1])])
            yield Program(storages, steps, [Ref(v) for v in values])
        if len(steps) == len(first) + length:
            continue
        for step in next_steps(values):
            number = len(steps)
            made = [] if step.target.startswith("caselib") else [number]
            todo.append(({**steps, number: step}, values + made))


def batch(job):
    runner, cases = job
    return len(cases), judge(runner, cases, [])


def batches(runner, size=500):
    cases = []
    for name, counts, inputs in INPUTS:
        storages = [{"dt": "i64", "n": n, "fill": 31 * i} for i, n in enumerate(counts)]
        for k, program in enumerate(programs_of(storages, inputs, 3)):
            try:
                cases.append(program.case("%s-%d" % (name, k)))
            except Rejected:
                continue
            if len(cases) == size:
                yield runner, cases
                cases = []
    yield runner, cases


def main():
    runner = str(pathlib.Path(sys.argv[1]) / "palimpsest_cases")
    ran = failed = skipped = 0
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for n, (wrong, left) in pool.imap_unordered(batch, batches(runner)):
            ran, failed, skipped = ran + n, failed + len(wrong), skipped + left
            for name, what in list(wrong.items())[:5]:
                print("FAIL", name, what)
    print("all programs of up to 3 operators: %d passed, %d failed, %d skipped" %
          (ran - failed - skipped, failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
