"""The hull methods beside what is aimed at: hyperdisks, affine, convex and ridge hulls, spheres.

  hulls.py --limn LIMN [--sections NAME,NAME...]

Sections, all unless given:
  disks   four flat disks in 300 dimensions as the rows grow: nhd, nah, nch
  orl     faces, raw pixels, 15 splits: nhd, nah, nch, nsc, nearest neighbour
  coil20  objects, raw pixels, 4 splits: the same
  rbf     kernel sets on iris, wine, wdbc, segment and mfeat-pix: 5 folds, parameters by 3 folds
          within each
  usps    hyperdisks of 30 dimensions: accuracy, latency and bytes touched beside limn's exact scan
  mnist   the same: time and memory of training on 60000 rows
  ridge   ridge hulls, local and global
  prune   what the bounds of nch save

Every figure is followed by the one aimed at, in brackets, and by * where it misses that by more
than the section allows. Data sets are looked for in LIMN_DATA; a section without its data is left
out. Everything random is seeded.
"""
import argparse
import os
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402  (after the environment)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers"))
from limn_command import Command  # noqa: E402
from limn_ctypes import Limn  # noqa: E402
from real_data import find  # noqa: E402


class Missing(Exception):
    """A data set is not there."""


# ---- data ----


def data_path(name):
    path = find(name)
    if not path:
        raise Missing(f"{name} is not in LIMN_DATA")
    return path


def given_split(limn, name):
    """Rows and labels of the training part, then of the test part."""
    x, y = limn.read(data_path(name + ".train"))
    t, u = limn.read(data_path(name + ".test"))
    if t.shape[1] < x.shape[1]:
        t = np.pad(t, ((0, 0), (0, x.shape[1] - t.shape[1])))
    return x, y, t[:, :x.shape[1]], u


def some_of_each(y, count, seed):
    """Rows, count of each class, in a seeded order."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(np.flatnonzero(y == label))[:count]
                           for label in np.unique(y)])


def folds_of(y, count, seed):
    """The fold of each row: each class dealt evenly."""
    rng, fold = np.random.default_rng(seed), np.empty(len(y), int)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        fold[rows] = (np.arange(len(rows)) + rng.integers(count)) % count
    return fold


# ---- measuring ----


def score(limn, train, test, method, params=(), scale="none"):
    """Accuracy in percent; train and test: rows and labels."""
    found = limn.classifier(*train, method, params, scale).predict(test[0])
    return 100 * np.mean(found == test[1])


class Table:
    """Prints figures beside what is aimed at and counts those that miss it."""
    missed = []

    def __init__(self, title, within, columns):
        self.title, self.within = title, within
        print(f"\n{title}" + (f"; within {within} points" if within else ""))
        print(f"  {'':28}" + "".join(f"{column:>18}" for column in columns))

    def row(self, name, figures, aims):
        """Aims may have None for a figure that has no aim."""
        cells = ""
        for figure, aim in zip(figures, aims):
            off = aim is not None and not abs(figure - aim) <= self.within
            if off:
                self.missed.append(f"{self.title}: {name}: {figure:.2f} ({aim:.2f})")
            beside = f" ({aim:5.2f})" if aim is not None else ""
            cells += f"{f'{figure:.2f}{beside}':>17}{'*' if off else ' '}"
        print(f"  {name:28}{cells.rstrip()}", flush=True)


# ---- four disks ----

DISKS = {"nhd, nu=0": ("nhd", ["dim=100", "nu=0"], [63.1, 87.5, 94.0, 93.8, 94.2]),
         "nhd": ("nhd", ["dim=100"], [None] * 5),
         "nah": ("nah", ["dim=100"], [59.4, 80.4, 80.5, 73.0, 68.7]),
         "nch": ("nch", [], [54.0, 54.9, 56.0, 58.2, 56.9])}
DISK_ROWS, DISK_SEEDS = [150, 300, 600, 1000, 2000], range(1, 4)
DISK_TEST, DISK_NCH_TEST = 2000, 800


def made_disks(command, rows, seed):
    path = command.path("disks.npy")
    command.run("synth", "disks", "-n", str(rows), "--seed", str(seed), "-o", path, "--quiet")
    return np.load(path), np.load(command.path("disks-labels.npy")).astype(int)


def disks(limn, command):
    table = Table(f"Four disks, 300 dimensions, p = 100, rows per class; means over {len(DISK_SEEDS)}"
                  f" sets, each asked {DISK_TEST} other rows (nch {DISK_NCH_TEST})", 3, DISK_ROWS)
    sets = [made_disks(command, 4 * DISK_ROWS[-1] + 2000 + DISK_TEST, seed) for seed in DISK_SEEDS]
    for name, (method, params, aims) in DISKS.items():
        found = []
        for n in DISK_ROWS:
            accuracies = []
            for x, y in sets:
                asked = DISK_NCH_TEST if method == "nch" else DISK_TEST
                test = x[-asked:], y[-asked:]
                rows = some_of_each(y[:-DISK_TEST], n, 1)
                accuracies.append(score(limn, (x[rows], y[rows]), test, method, params))
            found.append(np.mean(accuracies))
        table.row(name, found, aims)


# ---- pictures ----

METHODS = {"nhd": ("nhd", []), "nah": ("nah", []), "nch": ("nch", []), "nsc": ("nsc", []),
           "nearest neighbour": ("knn", ["k=1"])}
ORL = {"nhd": [90.2, 95.8, 97.8], "nah": [90.2, 95.8, 97.8], "nch": [90.2, 95.6, 97.6],
       "nsc": [88.3, 92.9, 94.2], "nearest neighbour": [88.6, 94.8, 96.1]}
COIL = {"nhd": [97.5, 99.8, 100], "nah": [None] * 3, "nch": [97.3, 99.8, 100],
        "nsc": [76.5, 76.5, 76.5], "nearest neighbour": [95.2, 99.1, 99.9]}


def split_scores(limn, x, y, counts, splits):
    """A row of means for each method."""
    found = {name: [] for name in METHODS}
    for n in counts:
        seen = {name: [] for name in METHODS}
        for seed in range(splits):
            picked = np.zeros(len(y), bool)
            picked[some_of_each(y, n, seed)] = True
            for name, (method, params) in METHODS.items():
                seen[name].append(score(limn, (x[picked], y[picked]), (x[~picked], y[~picked]),
                                        method, params))
        for name in METHODS:
            found[name].append(np.mean(seen[name]))
    return found


def pictures(limn, name, title, counts, splits, within, aims):
    x, y = limn.read(data_path(name))
    table = Table(f"{title}, {len(y)} pictures of {x.shape[1]} raw pixels, {splits} splits,"
                  " pictures per class", within, counts)
    for method, found in split_scores(limn, x, y, counts, splits).items():
        table.row(method, found, aims[method])


def orl(limn, _):
    pictures(limn, "orl", "ORL", [3, 5, 7], 15, 2, ORL)


def coil20(limn, _):
    pictures(limn, "coil20", "coil20", [18, 36, 54], 4, 1.5, COIL)


# ---- kernels ----

FACTORS = [1, 0.5, 2, 0.25, 4, 0.125, 8]
CUTS = [0.03, 0.1, 0.01, 0.2, 0.3, 0.5]
BOTH = ["zscore", "minmax"]
# name: repetitions of the folds, scalings, aims of nhd, nah and nch for each scaling
FOLDS = {"iris": (10, BOTH, [[96.2, 95.7], [95.8, 95.3], [96.0, 95.8]]),
         "wine": (10, BOTH, [[98.0, 98.5], [98.0, 99.0], [98.5, 98.6]]),
         "wdbc": (2, BOTH, [[96.9, 97.5], [96.7, 97.3], [97.2, 96.9]]),
         "segment": (1, BOTH, [[97.0, 97.4], [96.9, 97.4], [97.1, 97.4]]),
         "mfeat-pix": (1, ["none"], [[98.25], [98.25], [98.35]])}


def fold_score(limn, x, y, fold, method, params, scale):
    """Accuracy over all folds, in percent."""
    right = 0
    for f in range(fold.max() + 1):
        test = fold == f
        right += score(limn, (x[~test], y[~test]), (x[test], y[test]), method, params,
                       scale) * test.sum()
    return right / len(y)


def chosen(limn, x, y, method, scale, seed):
    """Gamma, then cut, each by three folds; ties go to the one nearest to the default."""
    auto = limn.classifier(x, y, method, ["kernel=rbf"], scale).stats()["gamma"]
    fold, params = folds_of(y, 3, seed), ["kernel=rbf"]
    grids = [[f"gamma={factor * auto:.9g}" for factor in FACTORS]]
    if method != "nch":
        grids.append([f"cut={cut}" for cut in CUTS])
    for grid in grids:
        seen = [fold_score(limn, x, y, fold, method, params + [param], scale) for param in grid]
        params.append(grid[int(np.argmax(seen))])
    return params


def nested(limn, x, y, method, scale, seed):
    fold, right = folds_of(y, 5, seed), 0
    for f in range(5):
        test = fold == f
        train = x[~test], y[~test]
        params = chosen(limn, *train, method, scale, 100 * seed + f)
        right += score(limn, train, (x[test], y[test]), method, params, scale) * test.sum()
    return right / len(y)


def rbf(limn, _):
    table = Table("kernel=rbf, 5 folds, gamma and cut by 3 folds within each", 1, BOTH)
    for name, (repetitions, scales, aims) in FOLDS.items():
        x, y = limn.read(data_path(name))
        for method, aim in zip(("nhd", "nah", "nch"), aims):
            found = [np.mean([nested(limn, x, y, method, scale, seed)
                              for seed in range(1, repetitions + 1)]) for scale in scales]
            table.row(f"{name}, {method}" + (" (raw)" if scales == ["none"] else ""), found, aim)
    print("  folds repeated: " + ", ".join(f"{name} {how[0]}" for name, how in FOLDS.items()))


# ---- usps: speed ----

SCAN = "knn, k=1, exact scan"
RIVALS = {"nhd, dim=30": ("nhd", ["dim=30"]),
          "nhd, dim=30 prune=no": ("nhd", ["dim=30", "prune=no"]),
          "nah, dim=30": ("nah", ["dim=30"]), SCAN: ("knn", ["k=1"])}
ROUNDS = 5


def rivals_taking_turns(command, train, test):
    seen = {name: [] for name in RIVALS}
    for _ in range(ROUNDS):
        for name, (method, params) in RIVALS.items():
            command.train(train, method=method, params=params)
            seen[name].append(command.eval(test))
    return {name: {key: np.median([e[key] for e in evals])
                   for key in ("accuracy", "latency_us_mean", "latency_us_p50", "latency_us_p99",
                               "batch_rows_per_s", "touched_bytes")} for name, evals in seen.items()}


def usps(_, command):
    found = rivals_taking_turns(command, data_path("usps.train"), data_path("usps.test"))
    scan = found[SCAN]
    print(f"\nusps, single queries on one thread, {ROUNDS} rounds in turn")
    print(f"  {'us per query':24} {'accuracy':>9} {'mean':>8} {'p50':>8} {'p99':>8} {'batch':>8}"
          f" {'speed-up':>9} {'in batch':>9} {'kB':>6} {'fewer':>7} {'speed-up/fewer':>15}")
    for name, m in found.items():
        m["speed-up"] = scan["latency_us_mean"] / m["latency_us_mean"]
        m["fewer"] = scan["touched_bytes"] / m["touched_bytes"]
        print(f"  {name:24} {100 * m['accuracy']:9.2f} {m['latency_us_mean']:8.2f}"
              f" {m['latency_us_p50']:8.2f} {m['latency_us_p99']:8.2f} {1e6 / m['batch_rows_per_s']:8.2f}"
              f" {m['speed-up']:9.2f} {m['batch_rows_per_s'] / scan['batch_rows_per_s']:9.2f}"
              f" {m['touched_bytes'] / 1e3:6.0f} {m['fewer']:7.2f}"
              f" {m['speed-up'] / m['fewer']:15.2f}")
    disk = found["nhd, dim=30"]
    reach("usps, nhd: accuracy, at least 94.3", 100 * disk["accuracy"], disk["accuracy"] >= 0.943)
    share = disk["speed-up"] / disk["fewer"]
    reach("usps, nhd: speed-up over the ratio of bytes, at least 0.7", share, share >= 0.7)


def reach(what, figure, reached):
    print(f"  {what}: {figure:.2f} {'reached' if reached else 'missed'}", flush=True)
    if not reached:
        Table.missed.append(f"{what}: {figure:.2f}")


# ---- mnist: training ----


def mnist(_, command):
    train, test = data_path("mnist.train"), data_path("mnist.test")
    kinds = {"NPY": command.path("mnist.npy"), "text": command.path("mnist.svm")}
    for path in kinds.values():
        command.run("convert", train, path, "--quiet")
    n, d = np.load(kinds["NPY"], mmap_mode="r").shape
    size = n * d * 4 / 1e6
    print(f"\nmnist, {n} rows of {d} features ({size:.0f} MB as floats), training on"
          f" {os.cpu_count()} cores")
    print(f"  {'':24} {'seconds':>8} {'peak MB':>8} {'of data':>8} {'accuracy':>9}"
          f" {'mean us':>10} {'p99 us':>8} {'batch us':>9}")
    for kind, data in kinds.items():
        start = time.perf_counter()
        _, peak = command.training_cost(data, method="nhd", params=["dim=30"])
        seconds, seen = time.perf_counter() - start, command.eval(test)
        print(f"  {'nhd, dim=30, from ' + kind:24} {seconds:8.1f} {peak:8.0f} {peak / size:8.2f}"
              f" {100 * seen['accuracy']:9.2f} {seen['latency_us_mean']:10.2f}"
              f" {seen['latency_us_p99']:8.2f} {1e6 / seen['batch_rows_per_s']:9.2f}")
        reach("seconds, reading and writing included, under 60", seconds, seconds < 60)
        reach("memory over that of the data, under 3", peak / size, peak < 3 * size)


# ---- ridge hulls ----

LOCAL = {"letter": (97.5, 95.5, None), "usps": (95.6, 94.4, None), "mnist": (98.3, 96.8, 1000)}
SMALL = 200


def ridge(limn, _):
    table = Table("Ridge hulls, rho chosen by leaving rows out", 1, ["nrh", "nearest neighbour"])
    for name, (aim, neighbour, most) in LOCAL.items():
        x, y, t, u = given_split(limn, name)
        test = t[:most], u[:most]
        table.row(f"{name}, local", [score(limn, (x, y), test, "nrh"),
                                     score(limn, (x, y), test, "knn", ["k=1"])], [aim, neighbour])
    rows = some_of_each(y, SMALL, 1)
    found = [score(limn, (x[rows], y[rows]), (t, u), method, [param])
             for method, param in (("nrh", "neighbors=0"), ("knn", "k=1"))]
    table.row(f"mnist, {SMALL} per class, global", found, [95.0, 91.0])
    print("  local: neighbors=20; mnist, local: the first 1000 test rows")


# ---- bounds of nch ----

PRUNE_ROWS = 200


def turn_times(classifiers, rows):
    """Best seconds of three turns, and the answers."""
    best, answers = [1e9] * len(classifiers), [None] * len(classifiers)
    for _ in range(3):
        for i, classifier in enumerate(classifiers):
            start = time.perf_counter()
            answers[i] = classifier.predict(rows)
            best[i] = min(best[i], time.perf_counter() - start)
    return best, answers


def prune(limn, _):
    print(f"\nnch with and without its bounds, {PRUNE_ROWS} test rows on one thread")
    print(f"  {'us per query':24} {'bounds':>9} {'none':>9} {'ratio':>7} {'equal answers':>14}"
          f" {'accuracy':>9}")
    for name in ("usps", "mnist"):
        x, y, t, u = given_split(limn, name)
        rows = some_of_each(y, SMALL, 1) if name == "mnist" else np.arange(len(y))
        classifiers = [limn.classifier(x[rows], y[rows], "nch", [f"prune={word}"], "none",
                                       threads=1) for word in ("yes", "no")]
        (on, off), (found, plain) = turn_times(classifiers, t[:PRUNE_ROWS])
        print(f"  {name + (f', {SMALL} per class' if name == 'mnist' else ''):24}"
              f" {1e6 * on / PRUNE_ROWS:9.0f} {1e6 * off / PRUNE_ROWS:9.0f} {off / on:7.2f}"
              f" {f'{np.sum(found == plain)} of {PRUNE_ROWS}':>14}"
              f" {100 * np.mean(found == u[:PRUNE_ROWS]):9.2f}", flush=True)


SECTIONS = {"disks": disks, "orl": orl, "coil20": coil20, "rbf": rbf, "usps": usps,
            "mnist": mnist, "ridge": ridge, "prune": prune}


LEGEND = """
Features are not scaled unless stated; parameters not named have their defaults. mean, p50, p99:
single calls over the test rows in a shuffle, each row at its best of 5 passes or more, medians over
the rounds. batch: us per row, all test rows in one call, one thread. kB: the bases and means, or all
rows; padding and what pruning adds and saves are not counted. speed-up: the mean of the scan over the
method's; fewer: the same for the bytes. peak MB: the whole process. rbf: gamma is chosen first (7
values around the default), then cut (6; nch has none)."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", required=True, help="path of limn")
    parser.add_argument("--sections", default=",".join(SECTIONS), help=", ".join(SECTIONS))
    options = parser.parse_args()
    names = options.sections.split(",")
    if set(names) - set(SECTIONS):
        parser.error("sections are " + ", ".join(SECTIONS))
    limn = Limn()
    print(f"Accuracy in percent, aims in brackets; limn on {limn.isa()}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                SECTIONS[name](limn, Command(os.path.abspath(options.limn), folder, "none"))
            except Missing as missing:
                print(f"\n{name} is left out: {missing}")
    print("\n" + ("\n".join(["Missed:"] + Table.missed) if Table.missed else "No aim is missed."))
    print(LEGEND)


if __name__ == "__main__":
    main()
