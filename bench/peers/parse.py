#!/usr/bin/env python3
"""How fast numpy and pandas read tables, in MB of text a second: the peers of bench_parse.

    parse.py [--parse BENCH_PARSE] [FILE...]

Without FILE a numeric table of 400,000 x 17 cells is written to a temporary folder. With --parse
the given bench_parse reads the same files in the same run, so that the figures can be compared.
numpy.loadtxt and both engines of pandas are told to make float32 of everything; each figure is the
best of 3 reads.
"""
import argparse
import os
import subprocess
import tempfile
import time

import numpy as np
import pandas as pd

READERS = {
    "numpy.loadtxt": lambda path: np.loadtxt(path, delimiter=",", dtype=np.float32),
    "pandas.read_csv": lambda path: pd.read_csv(path, header=None, dtype=np.float32),
    "pandas.read_csv round_trip": lambda path: pd.read_csv(
        path, header=None, dtype=np.float32, float_precision="round_trip"),
}


def write_table(path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400_000, 16)).astype(np.float32)
    y = rng.integers(0, 10, size=len(x))
    with open(path, "w", encoding="ascii") as file:
        for row, label in zip(x, y):
            file.write(",".join("%.9g" % value for value in row) + ",%d\n" % label)


def measure(path, parse):
    megabytes = os.path.getsize(path) / 1e6
    print(f"{os.path.basename(path)}: {megabytes:.1f} MB")
    if parse:
        subprocess.run([parse, path], check=True)
    for name, reader in READERS.items():
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            reader(path)
            best = min(best, time.perf_counter() - start)
        print(f"  {name:28} {megabytes / best:7.0f} MB/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parse", help="path of bench_parse")
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    if options.files:
        for path in options.files:
            measure(path, options.parse)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        write_table(path)
        measure(path, options.parse)


if __name__ == "__main__":
    main()
