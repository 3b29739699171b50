"""The figures of the boundary forest paper, and those of limn's better forest.

  bforest.py --limn LIMN [SECTION...]

Sections, all unless given:
  error    error on the data sets of the paper: one pass in file order, unscaled, means over seeds
  scaling  comparisons per tree as rows of the 100-D hypercube come in (the paper's Figures 2 to 4):
           a logarithm at 50 children, a power law without a limit
  speed    rows per second when learning, microseconds of a query

Data sets are looked for in LIMN_DATA; those that are missing are left out.
"""
import argparse
import json
import math
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers"))
from limn_command import Command  # noqa: E402
from real_data import read_lines, write_lines as write  # noqa: E402

STYLES = {"paper": ["style=paper"], "default": []}
# Seeds; aim of style=paper and its tolerance; the most that the default may have; the paper's.
SETS = {
    "pendigits": (5, 2.59, 0.25, 2.2, 2.62),
    "dna": (5, 13.6, 1.2, 10.3, 14.3),
    "letter": (5, 4.45, 0.3, 3.75, None),
    "satimage": (5, None, None, 9.8, None),
    "mnist": (2, 2.32, 0.2, 2.27, 2.24),
}
DIMS, TREES = 100, 3
LIMITED, UNLIMITED = (1000, 3000, 10000, 30000, 100000, 1000000), (1000, 3000, 10000, 30000, 100000)


class Forests(Command):
    """What trains and evaluates forests."""

    def train(self, data, params=(), seed=1, more=()):
        return json.loads(super().train(data, seed, "bforest", params, more=more).stdout)

    def nearest(self, train, test):
        """Error of the nearest neighbour."""
        super().train(train, method="knn", params=["k=1"])
        return 100 * self.eval(test, "--no-speed", "--threads", "0")["error"]


# ---- data ----


def split(limn, name):
    """Files of training and test rows, in file order; letter as in the paper: the first 15,000."""
    train, test = read_lines(name + ".train"), read_lines(name + ".test")
    if not train or not test:
        return None
    if name == "letter":
        both = train + test
        train, test = both[:15000], both[15000:]
    return write(limn.path("train.svm"), train), write(limn.path("test.svm"), test)


def hypercube(limn, n):
    """Rows of the hypercube, each with a target of its own, so that a tree adds every row."""
    path, targets = limn.path("cube.npy"), limn.path("cube-labels.npy")
    limn.run("synth", "hypercube", "-n", str(n), "-p", f"dims={DIMS}", "-o", path, "--quiet")
    np.save(targets, np.arange(n, dtype=np.float64))
    return path


# ---- sections ----


def verdict(style, error, aim, tolerance, most):
    if style == "default":
        return f"at most {most}" + ("" if error <= most else ", missed")
    if aim is None:
        return ""
    return f"{aim} +- {tolerance}" + ("" if abs(error - aim) <= tolerance else ", missed")


def show_error(limn):
    print("Error %, one pass in file order, unscaled, means over seeds\n")
    print(f"{'':10}{'style':>9}{'seeds':>7}{'error':>8}{'sd':>7}   {'aim':22}{'paper':>7}"
          f"{'1-NN':>7}{'points':>8}{'compared':>10}")
    for name, (seeds, aim, tolerance, most, paper) in SETS.items():
        files = split(limn, name)
        if not files:
            print(f"{name:10}  is left out: not in LIMN_DATA")
            continue
        nearest = limn.nearest(*files)
        for style, params in STYLES.items():
            errors, touched, points = [], [], []
            for seed in range(1, seeds + 1):
                limn.train(files[0], params, seed)
                done = limn.eval(files[1], "--no-speed")
                errors.append(100 * done["error"])
                touched.append(done["touched_vectors"])
                points.append(limn.stats()["points"])
            error = float(np.mean(errors))
            print(f"{name:10}{style:>9}{seeds:7}{error:8.2f}{np.std(errors):7.2f}   "
                  f"{verdict(style, error, aim, tolerance, most):22}{paper or '-':>7}"
                  f"{nearest:7.2f}{np.mean(points):8.0f}{np.mean(touched):10.0f}", flush=True)
    print("\npoints: rows stored; compared: rows compared with a query, early stop included\n")


def comparisons(limn, sizes, children):
    """Of one tree of each size, measured while it learns the next rows: about so many."""
    found = []
    for n in sizes:
        data = hypercube(limn, n + 3000)
        done = limn.train(data, ["style=paper", "eps=0", f"trees={TREES}", f"children={children}"],
                          more=("--task", "regress"))
        found.append(limn.stats()["comparisons per query"] / TREES)
        print(f"{children or 'any':>9}{n:10}{found[-1]:13.1f}{done['seconds']:10.1f} s",
              flush=True)
    return found


def fit(x, y):
    """Slope, constant and R^2 of a line."""
    slope, constant = np.polyfit(x, y, 1)
    rest = np.asarray(y) - (slope * np.asarray(x) + constant)
    return slope, constant, 1 - rest.var() / np.var(y)


def show_scaling(limn):
    print(f"Comparisons per tree and query, {DIMS}-D hypercube, every row added, style=paper\n")
    print(f"{'children':>9}{'rows':>10}{'comparisons':>13}{'training':>12}")
    limited = comparisons(limn, LIMITED, 50)
    unlimited = comparisons(limn, UNLIMITED, 0)
    late = [i for i, n in enumerate(LIMITED) if n >= 10000]
    slope, constant, r2 = fit([math.log(LIMITED[i]) for i in late], [limited[i] for i in late])
    print(f"\n50 children, from 10^4 on: {slope:.1f} ln N {constant:+.1f}, R^2 {r2:.4f}")
    power, _, r2 = fit(np.log([LIMITED[i] for i in late]), np.log([limited[i] for i in late]))
    print(f"  as a power law: N^{power:.2f}, R^2 {r2:.4f}")
    power, _, r2 = fit(np.log(UNLIMITED), np.log(unlimited))
    print(f"any number: N^{power:.2f}, R^2 {r2:.4f}\n")


def show_speed(limn):
    print("Learning and queries, one thread\n")
    print(f"{'':10}{'style':>9}{'rows/s':>9}{'us mean':>10}{'p50':>8}{'p99':>8}{'batch rows/s':>14}"
          f"{'model MB':>10}")
    for name in SETS:
        files = split(limn, name)
        for style, params in STYLES.items():
            if not files:
                continue
            done = limn.train(files[0], params, more=("--threads", "1"))
            asked = limn.eval(files[1], "--threads", "1")
            print(f"{name:10}{style:>9}{done['rows'] / done['seconds']:9.0f}"
                  f"{asked['latency_us_mean']:10.1f}{asked['latency_us_p50']:8.1f}"
                  f"{asked['latency_us_p99']:8.1f}"
                  f"{asked['batch_rows_per_s']:14.0f}{asked['model_bytes'] / 1e6:10.1f}",
                  flush=True)
    print()


SECTIONS = {"error": show_error, "scaling": show_scaling, "speed": show_speed}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limn", required=True)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        limn = Forests(os.path.abspath(options.limn), folder, "none")
        for name in options.sections or SECTIONS:
            SECTIONS[name](limn)


if __name__ == "__main__":
    main()
