#!/usr/bin/python3
"""Two builds of limn side by side: does any method answer, train or learn slower than before?

  python3 bench/builds.py OLD/limn NEW/limn

Both answer from the same model files, which OLD writes, so only the code differs. Runs alternate
between the two; each figure is the best of ROUNDS runs: latency of single calls (mean and p99 over
rows), us per row in batch, seconds of training. LIMN_DATA names the folder of the data sets."""
import json
import os
import platform
import subprocess
import sys
import tempfile

ROUNDS = 3
# Data, then -m and what belongs to it. Trained on letter's 16,000 rows and so on.
CASES = [
    ("letter", "knn -p k=1"),
    ("letter", "lda"),
    ("letter", "svm -p C=4 -p gamma=1 --scale none"),
    ("letter", "vpc"),
    ("letter", "bforest"),
    ("pendigits", "svm -p C=4 -p gamma=0.5 --scale minmax"),
    ("pendigits", "vpc -p style=paper"),
    ("pendigits", "nhd -p kernel=rbf -p dim=30"),
    ("pendigits", "nch"),
    ("pendigits", "nrh"),
    ("usps", "nah -p dim=30"),
    ("usps", "nhd -p dim=30"),
    ("usps", "nsc"),
    ("usps", "bforest -p trees=20"),
]
# A method whose queries are dear is asked about fewer rows.
FEW = {"nch", "nrh"}


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{program} {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores"


def figures(program, model, rows):
    out = json.loads(run(program, "eval", model, rows, "--json", "-q"))
    return out["latency_us_mean"], out["latency_us_p99"], 1e6 / out["batch_rows_per_s"], out["error"]


def train(program, data, method, model):
    name, *options = method.split()
    out = run(program, "train", data, "-m", name, *options, "-o", model, "--json", "-q")
    return json.loads(out)["seconds"]


def few_rows(program, data, folder):
    """The first 300 rows."""
    path = os.path.join(folder, "few.svm")
    run(program, "convert", data, path, "-q")
    with open(path, encoding="ascii") as file:
        lines = file.readlines()[:300]
    with open(path, "w", encoding="ascii") as file:
        file.writelines(lines)
    return path


def compare(programs, data, method, folder, where):
    train_file, test = (os.path.join(where, f"{data}.{part}.svm.gz") for part in ("train", "test"))
    if method.split()[0] in FEW:
        test = few_rows(programs[0], test, folder)
    model, other = os.path.join(folder, "old.limn"), os.path.join(folder, "new.limn")
    best = [[float("inf")] * 4 for _ in programs]
    errors = [None, None]
    for _ in range(2):
        for i, program in enumerate(programs):
            best[i][3] = min(best[i][3], train(program, train_file, method, (model, other)[i]))
    for _ in range(ROUNDS):
        for i, program in enumerate(programs):
            *times, errors[i] = figures(program, model, test)
            best[i][:3] = map(min, best[i][:3], times)
    if errors[0] != errors[1]:
        sys.exit(f"{data} {method}: the errors differ: {errors}")
    cells = "".join(f" {a:9.3f} {b:9.3f} {b / a:5.2f}" for a, b in zip(*best))
    print(f"{data:<10}{method:<40}{cells}", flush=True)


def main():
    if len(sys.argv) != 3 or "LIMN_DATA" not in os.environ:
        sys.exit(__doc__)
    programs = [os.path.abspath(p) for p in sys.argv[1:]]
    print(f"{machine()}; {run(programs[0], '--version').strip()}, before and after\n")
    heads = ("us mean", "us p99", "us in batch", "s to train")
    print(" " * 50 + "".join(f" {head + ', old, new, ratio':>25.25}" for head in heads))
    with tempfile.TemporaryDirectory() as folder:
        for data, method in CASES:
            compare(programs, data, method, folder, os.environ["LIMN_DATA"])


if __name__ == "__main__":
    main()
