"""The figures of the boundary forest paper, and those of limn's better forest.

  bforest.py --limn LIMN [SECTION...]

Sections, all unless given:
  error    error on the data sets of the paper, unscaled, means over seeds
  order    error after training on rows sorted by class
  memory   peak memory of training beside the model, 100,000 rows of noise
  insert   microseconds per row learned, one row per call
  batch    microseconds per row asked, one by one and in batches
  scaling  comparisons per tree as rows of the 100-D hypercube come in (the paper's Figures 2 to 4):
           a logarithm at 50 children, a power law without a limit
  speed    rows per second when learning, microseconds of a query

Data sets are looked for in LIMN_DATA; those that are missing are left out. If LIMN_BEFORE names the
build folder of an earlier limn, memory, insert and batch are measured with both, in turn.
"""
import argparse
import ctypes
import gc
import json
import math
import os
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers"))
from limn_command import Command  # noqa: E402
from limn_ctypes import Limn  # noqa: E402
from real_data import read_lines, write_lines as write  # noqa: E402

STYLES = {"paper": ["style=paper"], "file": ["order=file"], "default": []}
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

    def train(self, data, params=(), seed=1, more=(), **how):
        """The summary; with before (limn_command), the process."""
        done = super().train(data, seed, "bforest", params, more=more, before=how.get("before", ()))
        return done if how.get("before") else json.loads(done.stdout)

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
    if style != "paper":
        return f"at most {most}" + ("" if error <= most else ", missed")
    if aim is None:
        return ""
    return f"{aim} +- {tolerance}" + ("" if abs(error - aim) <= tolerance else ", missed")


def show_error(limn):
    print("Error %, unscaled, means over seeds; paper and file: one pass in the order of the file\n")
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


def show_order(limn):
    print("Error % after training on rows sorted by class, unscaled, seed 1\n")
    print(f"{'':10}{'as it is':>10}{'sorted':>9}{'order=file':>13}{'sorted':>9}")
    for name in SETS:
        train, test = read_lines(name + ".train"), read_lines(name + ".test")
        if not train or not test:
            continue
        files = {"as it is": write(limn.path("train.svm"), train),
                 "sorted": write(limn.path("sorted.svm"),
                                 sorted(train, key=lambda row: float(row.split()[0])))}
        test = write(limn.path("test.svm"), test)
        errors = []
        for params in ([], ["order=file"]):
            for path in files.values():
                limn.train(path, params)
                errors.append(100 * limn.eval(test, "--no-speed")["error"])
        print(f"{name:10}{errors[0]:10.2f}{errors[1]:9.2f}{errors[2]:13.2f}{errors[3]:9.2f}",
              flush=True)
    print()


def builds(limn):
    """This limn, after the earlier one if there is one: a name, the command, its library."""
    found = []
    before = os.environ.get("LIMN_BEFORE")
    if before:
        found.append(("before", Forests(os.path.join(before, "limn"), limn.folder, "none"),
                      os.path.join(before, "src", "liblimn.so")))
    own = os.path.join(os.path.dirname(limn.program), "src", "liblimn.so")
    return [*found, ("now", limn, own if os.path.exists(own) else None)]


def save_rows(limn, name, rows, labels):
    path = limn.path(name + ".npy")
    np.save(path, rows.astype(np.float32))
    np.save(limn.path(name + "-labels.npy"), labels.astype(np.float64))
    return path


NOISE, FEATURES = 100000, 20


def show_memory(limn):
    source = np.random.default_rng(1)
    data = save_rows(limn, "noise", source.random((NOISE, FEATURES)), source.random(NOISE) < 0.5)
    print(f"Peak memory of training on {NOISE} rows of {FEATURES} features, random labels, in MB "
          f"(the data: {NOISE * FEATURES * 4 / 1e6:.0f})\n")
    print(f"{'':8}{'params':26}{'peak':>8}{'model':>8}{'seconds':>9}")
    for name, command, _ in builds(limn):
        for params in ([], ["preset=fast"], ["order=file"]):
            if name == "before" and params == ["order=file"]:
                continue
            done, peak = command.training_cost(data, params=params)
            print(f"{name:8}{' '.join(params) or 'default':26}{peak:8.0f}"
                  f"{done['model_bytes'] / 1e6:8.0f}{done['seconds']:9.1f}", flush=True)
    print()


class Lesson(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("n", ctypes.c_size_t), ("x", ctypes.c_void_p),
                ("classes", ctypes.c_void_p)]


def insert_times(library, x, y):
    """Microseconds of each row, learned by a model that was trained on one row per class."""
    names = np.unique(y)
    number = np.searchsorted(names, y)
    first = [int(np.flatnonzero(number == k)[0]) for k in range(len(names))]
    limn = Limn(library)
    model = limn.train(x[first], number[first], "bforest", scale="none")
    learn = limn.lib.limn_learn
    learn.argtypes = [ctypes.c_void_p] * 4
    x, classes = np.ascontiguousarray(x, np.float32), number.astype(np.int32)
    lesson = Lesson(ctypes.sizeof(Lesson), 1)
    taken = np.empty(len(x))
    gc.disable()
    for i in range(len(x)):
        lesson.x = x.ctypes.data + i * x.shape[1] * x.itemsize
        lesson.classes = classes.ctypes.data + i * classes.itemsize
        start = time.perf_counter_ns()
        status = learn(limn.context, model, ctypes.byref(lesson), None)
        taken[i] = (time.perf_counter_ns() - start) / 1e3
        limn.check(status)
    gc.enable()
    limn.lib.limn_model_free(model)
    return taken


def show_insert(limn):
    print("Microseconds per row learned, one row per call through Python\n")
    print(f"{'':10}{'':8}{'rows':>8}{'mean':>8}{'p50':>8}{'p99':>9}{'p99.9':>9}{'p99.9/p50':>11}"
          f"{'worst':>10}{'after the warm-up':>19}")
    for name in ("letter", "mnist"):
        files = split(limn, name)
        for build, _, library in builds(limn):
            if not files or not library:
                continue
            taken = insert_times(library, *Limn(library).read(files[0]))
            p50, p99, p999 = np.percentile(taken, [50, 99, 99.9])
            print(f"{name:10}{build:8}{len(taken):8}{taken.mean():8.1f}{p50:8.1f}{p99:9.1f}"
                  f"{p999:9.1f}{p999 / p50:11.1f}{taken.max():10.0f}{taken[1100:].max():19.0f}",
                  flush=True)
    print()


ASKED = 1000000


def show_batch(limn):
    source = np.random.default_rng(2)

    def draw(n):
        x = source.normal(size=(n, FEATURES))
        return x, x[:, 0] + x[:, 1] * x[:, 2] + source.normal(size=n) / 2 > 0

    data, test = save_rows(limn, "train", *draw(NOISE)), save_rows(limn, "test", *draw(ASKED))
    print(f"Microseconds per row of {FEATURES} features, a forest of {NOISE} noisy rows, {ASKED} "
          "rows asked\n")
    print(f"{'':8}{'compared':>10}{'one by one':>12}{'batch':>8}{'2 threads':>11}")
    for name, command, _ in builds(limn):
        command.train(data)
        one, two = (command.eval(test, "--threads", threads) for threads in "12")
        print(f"{name:8}{one['touched_vectors']:10.0f}{one['latency_us_mean']:12.1f}"
              f"{1e6 / one['batch_rows_per_s']:8.1f}{1e6 / two['batch_rows_per_s']:11.1f}",
              flush=True)
    print()


SECTIONS = {"error": show_error, "order": show_order, "memory": show_memory, "insert": show_insert,
            "batch": show_batch, "scaling": show_scaling, "speed": show_speed}


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
