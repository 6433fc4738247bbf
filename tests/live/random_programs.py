"""Random programs that view and write memory, with what eager PyTorch does with them."""
import itertools
import json
import random

from program_maker import Maker
from program_steps import Program, Rejected  # noqa: F401  (of this module's users)


def random_case(seed):
    """(program, case) of a seed; other seeds derived from it until one gives a program."""
    for attempt in itertools.count():
        rng = random.Random("%s.%s" % (seed, attempt))
        try:
            program = Maker(rng).program()
            return program, program.case("random-%s" % seed)
        except Rejected:
            continue


def write_cases(path, cases):
    with open(path, "w") as f:
        for case in cases:
            f.write(json.dumps(case, separators=(",", ":")) + "\n")
