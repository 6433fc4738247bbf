"""Random programs, through eager PyTorch and through palimpsest.

    live_programs.py BIN_DIR [COUNT [FIRST_SEED]]

COUNT programs (default 5000; PAL_FUZZ=1000000 for a night). Each goes through the interpreter and
the compiler (values, every byte of the inputs' storages, aliasing, strides, copied bytes), and a
part of them through the compiler's other settings. A program that fails is cut down to the steps
that matter and printed as a case for tests/cases/programs-found.jsonl.
"""
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

import random_programs as programs

BATCH = 250
# Settings of the case runner that must not change any result.
SETTINGS = [[], ["--keep-order"], ["--always-copy"], ["--functionalize", "v1"],
            ["--disable-pass", "dead-code"]]


def judge(runner, cases, setting):
    """{id: what is wrong}, and the number of skipped cases."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as f:
        path = f.name
    try:
        programs.write_cases(path, cases)
        done = subprocess.run([runner, "programs", path] + setting, capture_output=True, text=True)
    finally:
        os.unlink(path)
    wrong, skipped, ended = {}, 0, False
    for line in done.stdout.splitlines():
        if line.startswith("FAIL "):
            name, what = line[5:].split(": ", 1)
            wrong[name] = what
        elif " passed, " in line:
            skipped = int(line.split(",")[2].split()[0])
            ended = True
    if not ended:
        if len(cases) == 1:
            return {cases[0]["id"]: "the runner died: " + done.stderr[-200:]}, 0
        for case in cases:
            w, s = judge(runner, [case], setting)
            wrong.update(w)
            skipped += s
    return wrong, skipped


def shrink(runner, program, name, setting):
    """The smallest program found, by leaving out steps and results, that still fails."""
    def fails(p):
        try:
            case = p.case(name)
        except programs.Rejected:
            return None
        return case if judge(runner, [case], setting)[0] else None

    best = fails(program)
    progress = best is not None
    while progress:
        progress = False
        smaller = [program.without([n]) for n in reversed(list(program.steps))]
        smaller += [programs.Program(program.storages, program.steps, program.outputs[:i] +
                                     program.outputs[i + 1:], program.calls)
                    for i in range(len(program.outputs))]
        if program.calls > 1:
            smaller.append(programs.Program(program.storages, program.steps, program.outputs))
        for p in smaller:
            case = fails(p) if p is not None else None
            if case is not None:
                program, best, progress = p, case, True
                break
    return best


def batch(job):
    runner, first, count = job
    made = [programs.random_case(seed) for seed in range(first, first + count)]
    by_name = {case["id"]: program for program, case in made}
    setting = SETTINGS[(first // BATCH) % len(SETTINGS)]
    wrong, skipped = judge(runner, [case for _, case in made], [])
    found = [(name, [], what) for name, what in wrong.items()]
    if setting:
        also, _ = judge(runner, [case for _, case in made if case["id"] not in wrong], setting)
        found += [(name, setting, what) for name, what in also.items()]
    return count, skipped, [(name, s, what, shrink(runner, by_name[name], name, s))
                            for name, s, what in found[:5]], len(found)


def main():
    runner = str(pathlib.Path(sys.argv[1]) / "palimpsest_cases")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("PAL_FUZZ", 5000))
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    jobs = [(runner, s, min(BATCH, first + count - s)) for s in range(first, first + count, BATCH)]
    ran = skipped = failed = 0
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for n, s, found, total in pool.imap_unordered(batch, jobs):
            ran, skipped, failed = ran + n, skipped + s, failed + total
            for name, setting, what, case in found:
                print("FAIL %s %s: %s" % (name, " ".join(setting), what))
                if case is not None:
                    print(case["program"])
                    print(json.dumps(case, separators=(",", ":")))
            if sys.stderr.isatty():
                print("\r%d of %d programs" % (ran, count), end="", file=sys.stderr)
    print("random programs, seeds %d to %d: %d passed, %d failed, %d skipped" %
          (first, first + count - 1, ran - failed - skipped, failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
