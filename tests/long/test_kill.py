"""limn learn, killed a hundred times and more at random moments, always ends in the same model."""

import os
import random
import subprocess

import pytest
from stream import kill_until, part, stream
from table import LIMN, TIMEOUT, environment

ROWS, FIRST = 6000, 500

# Checkpoint, method, options: 25 kills or interrupts each.
CASES = [
    ("250", ["-p", "trees=20"], [], None),
    ("1", ["-p", "trees=5", "-p", "rho=0.5"], [], None),
    ("37", ["-p", "style=paper", "-p", "trees=10"], [], "m2.limn"),
    ("1s", ["-p", "trees=30"], [], None),
    ("1000", ["-p", "trees=12"], ["--forget", "ids.txt", "--compact"], None),
    ("100", ["-p", "trees=10", "-p", "max_points=300"], ["--threads", "2"], None),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_hundred_kills(tmp_path, case):
    checkpoint, method, extra, output = CASES[case]
    table = stream(ROWS, seed=case, late=("x", "y"))
    part(table, 0, FIRST).csv(tmp_path / "first.csv")
    part(table, FIRST, ROWS).csv(tmp_path / "data.csv")
    source = random.Random(1000 + case)
    (tmp_path / "ids.txt").write_text("".join(f"{i}\n" for i in source.sample(range(FIRST), 50)))
    subprocess.run([LIMN, "train", "first.csv", "-m", "bforest", *method, "-o", "start.limn"],
                   cwd=tmp_path, check=True, timeout=TIMEOUT, env=environment(),
                   stdout=subprocess.DEVNULL)
    stops = kill_until(source, str(tmp_path), 25, ROWS - FIRST, checkpoint, extra, output)
    print(f"{stops} stops, the model has {os.path.getsize(tmp_path / 'whole.limn')} bytes")
    assert stops == 25
