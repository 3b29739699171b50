"""Vantage-point classification: what its early stop saves, how it grows, its cross-validation. Its
peers are in front.py.

  vpc.py --limn LIMN [SECTION...]

Sections, all unless given:
  stop    what asking no more trees costs and saves, on letter and pendigits
  skin    245057 rows: training time, peak memory, error, latency
  growth  error, latency, pivots and leaves per query as the rows grow
  folds   ten-fold cross-validation, beside what is aimed at

Data sets are looked for in LIMN_DATA; where one is missing, random data of its shape is used, but
not for the folds. Queries run on one thread, training on all cores.
"""
import argparse
import os
import tempfile

import numpy as np
from sklearn.model_selection import StratifiedKFold

from limn_command import Command
from real_data import read_lines, write_lines as write

SEEDS = range(1, 6)
FRESH = 10000
SIZES = [1000 << i for i in range(8)]


# ---- data: lines of LIBSVM text ----


def random_lines(n, features, classes, seed):
    """Integers around the centres of the classes; the centres do not depend on the seed."""
    centres = np.random.default_rng(1).uniform(0, 100, (classes, features))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = np.rint(centres[y] + 15 * rng.standard_normal((n, features))).astype(int)
    return [f"{label} ".encode() + b" ".join(b"%d:%d" % cell for cell in enumerate(row, 1))
            for label, row in zip(y.tolist(), x.tolist())]


def given_split(name, shape):
    """Title, training and test lines; shape: rows of both parts, features, classes."""
    train, test = (read_lines(f"{name}.{part}") for part in ("train", "test"))
    if train and test:
        return name, train, test
    return (f"random data of the shape of {name}", random_lines(shape[0], *shape[2:], 2),
            random_lines(shape[1], *shape[2:], 3))


def shuffled_skin():
    """Title and lines in a seeded order."""
    lines, title = read_lines("skin"), "skin"
    if not lines:
        lines, title = random_lines(245057, 3, 2, 2), "random data of the shape of skin"
    order = np.random.default_rng(1).permutation(len(lines))
    return title, [lines[i] for i in order]


# ---- letter and pendigits ----

SPLITS = {"letter": (16000, 4000, 16, 26), "pendigits": (7494, 3498, 16, 10)}
KINDS = {"default": [], "stop=2": ["stop=2"], "trees=1 stop=2": ["trees=1", "stop=2"]}


def measure(limn, train, test):
    """Means over the seeds of error and cost, medians of times; the kinds take turns."""
    seen = {name: [] for name in KINDS}
    for seed in SEEDS:
        for name, params in KINDS.items():
            limn.train(train, seed, "vpc", params)
            seen[name].append(limn.eval(test))
    return {name: {"error": np.mean([e["error"] for e in evals]),
                   "spread": np.std([e["error"] for e in evals], ddof=1),
                   "mean": np.median([e["latency_us_mean"] for e in evals]),
                   "p50": np.median([e["latency_us_p50"] for e in evals]),
                   "p99": np.median([e["latency_us_p99"] for e in evals]),
                   "batch": np.median([1e6 / e["batch_rows_per_s"] for e in evals]),
                   "touched": np.mean([e["touched_vectors"] for e in evals])}
            for name, evals in seen.items()}


def stop(limn):
    print(f"Early stop, us per query, {len(SEEDS)} seeds\n  {'':28} {'error %':>13} {'mean':>8}"
          f" {'p50':>8} {'p99':>8} {'batch':>8} {'vectors':>9}")
    for name, shape in SPLITS.items():
        title, train, test = given_split(name, shape)
        found = measure(limn, write(limn.path("train.svm"), train),
                        write(limn.path("test.svm"), test))
        for kind, m in found.items():
            print(f"  {title + ', ' + kind:28} {100 * m['error']:5.2f} +- {100 * m['spread']:4.2f}"
                  f" {m['mean']:8.2f} {m['p50']:8.2f} {m['p99']:8.2f} {m['batch']:8.2f}"
                  f" {m['touched']:9.1f}", flush=True)


# ---- skin ----


def known(train, test):
    """The share of the test rows that are in the training part too, in percent."""
    seen = set(train)
    return 100 * sum(line in seen for line in test) / len(test)


def skin(limn):
    title, lines = shuffled_skin()
    cut = len(lines) * 2 // 3
    train, test = write(limn.path("train.svm"), lines[:cut]), write(limn.path("test.svm"),
                                                                    lines[cut:])
    _, idle = limn.training_cost(write(limn.path("few.svm"), lines[:100]))
    summary, peak = limn.training_cost(train)
    seen = limn.eval(test)
    print(f"\n{title}: {cut} rows of 3 features, {len(lines) - cut} test rows, vpc;"
          f" {known(lines[:cut], lines[cut:]):.0f} % of the test rows are also training rows")
    print(f"  training    {summary['seconds']:.2f} s on {os.cpu_count()} cores")
    print(f"  memory      {peak:.1f} MB at the peak, {idle:.1f} MB with 100 rows; the data are"
          f" {cut * 3 * 4 / 1e6:.1f} MB as floats, {os.path.getsize(train) / 1e6:.1f} MB as"
          " text")
    print(f"  error       {100 * seen['error']:.3f} %")
    print(f"  a query     {seen['latency_us_mean']:.2f} us mean, {seen['latency_us_p50']:.2f} median,"
          f" {seen['latency_us_p99']:.2f} p99, {1e6 / seen['batch_rows_per_s']:.2f} in batch,"
          f" {seen['touched_vectors']:.1f} vectors")


# ---- growth ----


def straight(x, y):
    """a, b and R^2 of y = a + b x."""
    b, a = np.polyfit(x, y, 1)
    total = np.sum((y - np.mean(y)) ** 2)
    return a, b, 1 - np.sum((y - a - b * x) ** 2) / total if total > 0 else 1.0


def mixture(limn, dims):
    path = limn.path("mixture.libsvm")
    limn.run("synth", "mixture", "-n", str(FRESH + SIZES[-1]), "-p", f"dims={dims}", "-o", path,
             "--quiet")
    with open(path, "rb") as file:
        return f"mixture, {dims} features", file.read().splitlines()


def grow(limn, title, lines, radius):
    test = write(limn.path("test.svm"), lines[:FRESH])
    print(f"\n  {title}, radius={radius}; of the other rows"
          f" {known(lines[FRESH:FRESH + SIZES[-1]], lines[:FRESH]):.0f} % are in the largest set\n"
          f"  {'rows':>8} {'error %':>8} {'mean us':>10}"
          f" {'p99 us':>8} {'pivots':>8} {'leaves':>8} {'depth':>6}")
    pivots, leaves = [], []
    for n in SIZES:
        limn.train(write(limn.path("train.svm"), lines[FRESH:FRESH + n]),
                   params=["trees=4", "stop=2", f"radius={radius}"])
        seen, stats = limn.eval(test), limn.stats()
        pivots.append(stats["pivots per query"])
        leaves.append(stats["leaves per query"])
        print(f"  {n:8} {100 * seen['error']:8.2f} {seen['latency_us_mean']:10.2f}"
              f" {seen['latency_us_p99']:8.2f} {pivots[-1]:8.1f} {leaves[-1]:8.1f}"
              f" {stats['depth']:6.0f}")
    turns = np.log2(SIZES)
    if radius == 0:
        print("  pivots = {:.2f} + {:.2f} log2 n, R^2 = {:.3f}".format(
            *straight(turns, np.array(pivots))))
        return
    for name, counts in (("pivots", pivots), ("leaves", leaves)):
        _, power, fit = straight(turns, np.log2(counts))
        print(f"  {name} grow as n^{power:.3f}, R^2 = {fit:.3f}")


def growth(limn):
    print(f"\nGrowth, vpc, trees=4 stop=2 (all four trees are asked), error on {FRESH} other rows")
    for title, lines in (mixture(limn, 2), mixture(limn, 4), shuffled_skin()):
        for radius in (0, 0.02):
            grow(limn, title, lines, radius)


# ---- cross-validation ----

FOLDS = [("segment", [], 2.6), ("breast-cancer", [], 3.6),
         ("haberman", ["gamma=auto", "radius=auto"], 28.5)]


def fold_error(limn, lines, labels, params, seed):
    """Wrong answers of ten folds over the rows, in percent."""
    wrong = 0
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(labels, labels):
        limn.train(write(limn.path("train.svm"), [lines[i] for i in train]), seed, params=params)
        path = write(limn.path("test.svm"), [lines[i] for i in test])
        wrong += limn.eval(path, "--no-speed")["error"] * len(test)
    return 100 * wrong / len(lines)


def folds(limn):
    print(f"\nTen folds, stratified, {len(SEEDS)} seeds, vpc\n"
          f"  {'':14} {'rows':>6} {'error %':>8} {'+-':>6} {'aim':>6}")
    for name, params, aim in FOLDS:
        lines = read_lines(name)
        if not lines:
            print(f"  {name:14} left out: not in LIMN_DATA")
            continue
        labels = np.array([line.split()[0] for line in lines])
        try:
            errors = [fold_error(limn, lines, labels, params, seed) for seed in SEEDS]
        except RuntimeError as error:
            if "auto" not in str(error):
                raise
            print(f"  {name:14} left out: {' '.join(params)}: {error}")
            continue
        print(f"  {name:14} {len(lines):6} {np.mean(errors):8.2f} {np.std(errors, ddof=1):6.2f}"
              f" {aim:6.1f} {'reached' if np.mean(errors) <= aim else 'missed'}"
              + (f"  ({' '.join(params)})" if params else ""))


LEGEND = """
mean, p50, p99: single calls, the test rows in a shuffle, a row at its best of 5 passes or more;
medians over the seeds. batch: us per row, all test rows in one call. One thread. vectors: touched
per test row. pivots and leaves: means over 1000 training rows. A training row that lies on a border
between two halves goes both ways, hence some more leaves than trees at radius=0.
+-: standard deviation over the seeds."""


def main():
    sections = {"stop": stop, "skin": skin, "growth": growth, "folds": folds}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", required=True, help="path of limn")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(sections))
    options = parser.parse_args()
    if set(options.sections) - set(sections):
        parser.error("sections are " + ", ".join(sections))
    with tempfile.TemporaryDirectory() as folder:
        limn = Command(os.path.abspath(options.limn), folder, "minmax")
        for name in options.sections or sections:
            sections[name](limn)
    print(LEGEND)


if __name__ == "__main__":
    main()
