"""Exact SVM evaluation: limn beside LIBSVM's C call and scikit-learn's SVC, one thread.

  svm.py --bench BENCH_SVM --cache FOLDER [--rounds N] [NAME...]

For each data set of LIMN_DATA (a random one of its shape where it is missing) bench_svm trains an
rbf machine with libsvm, once; the text model, the scaled data and scikit-learn's own machine of the
same parameters stay in the cache folder, so that only the first run takes minutes. Then

  - bench_svm compares limn's decision values and labels with LIBSVM's, for every instruction set;
  - one bench_svm process for each instruction set (LIMN_ISA) waits for its turn, and short slices
    of LIBSVM, limn and scikit-learn alternate. The best of the rounds counts, so that other load
    on the machine hurts all alike.

Exits with 1 when a value is outside the bound or a label differs outside it.
"""
import argparse
import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import openblas  # noqa: E402, F401  (after the environment, before numpy)

import joblib  # noqa: E402
import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from sklearn.datasets import load_svmlight_file  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from python_call import Empty  # noqa: E402
from real_data import find_split  # noqa: E402

BATCH = 512  # as in svm.c
SLICE = 0.05


def case(name, c, gamma, rows, shape, file=None, zscore=True):
    """rows: how many test rows are checked; shape: features and classes, for random data."""
    return SimpleNamespace(name=name, c=c, gamma=gamma, rows=rows, shape=shape, file=file or name,
                           zscore=zscore)


# C and gamma of Mills 2017, table 2; a9a of LIBSVM's defaults. Binary columns are sparse until they
# are scaled, which decides what LIBSVM has to do: a9a is measured both ways.
CASES = [case("letter", 1, 0.065, 4000, (16, 26)),
         case("pendigits", 50, 0.01, 4000, (16, 10)),
         case("satimage", 50, 0.1, 2000, (36, 6)),
         case("usps", 1, 0.004, 2007, (256, 10)),
         case("ijcnn1", 1, 0.045, 91701, (22, 2)),
         case("a9a", 1, 1 / 123, 4000, (123, 2)),
         case("a9a-unscaled", 1, 0.05, 4000, (123, 2), file="a9a", zscore=False)]


# ---- data and models, made once ----


def random_rows(features, classes, n, seed):
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((classes, features))
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return centres[y] + rng.standard_normal((n, features)), y


def load(wanted):
    """Training and test part, x and y each, as they are in the files."""
    files = find_split(wanted.file)
    if not files:
        return random_rows(*wanted.shape, 3000, 2) + random_rows(*wanted.shape, 1000, 3)
    parts = []
    for path in files:
        x, y = load_svmlight_file(path, n_features=parts[0].shape[1] if parts else None)
        parts += [x.toarray(), y]
    return tuple(parts)


def prepare(wanted, cache):
    """Scaled rows as NPY files: whether they are real, and their names."""
    source = "real" if find_split(wanted.file) else "random"
    base = os.path.join(cache, f"{wanted.name}-{source}")
    names = [f"{base}-train.npy", f"{base}-train-labels.npy",
             f"{base}-test.npy", f"{base}-test-labels.npy"]
    if not all(map(os.path.exists, names)):
        train, train_y, test, test_y = load(wanted)
        mean, deviation = train.mean(axis=0), train.std(axis=0)
        deviation[deviation == 0] = 1
        if wanted.zscore:
            train, test = (train - mean) / deviation, (test - mean) / deviation
        for name, values in zip(names, (train.astype(np.float32), train_y.astype(np.int32),
                                        test.astype(np.float32), test_y.astype(np.int32))):
            save(name, lambda path, values=values: np.save(path, values))
    return source, names


def save(path, write):
    """Writes under another name first: a file that is there is whole. (numpy wants the .npy.)"""
    temporary = path + ".part.npy"
    write(temporary)
    os.replace(temporary, path)


def machine_name(wanted, names, end):
    return names[2].replace("-test.npy", f"-C{wanted.c}-g{wanted.gamma:.6g}{end}")


def train_libsvm(wanted, names, bench):
    path = machine_name(wanted, names, ".model")
    if not os.path.exists(path):
        save(path, lambda part: subprocess.run(
            [bench, "train", names[0], part, str(wanted.c), repr(wanted.gamma)], check=True,
            stdout=subprocess.DEVNULL))
    return path


def train_sklearn(wanted, names):
    path = machine_name(wanted, names, f"-sklearn-{sklearn.__version__}.joblib")
    if not os.path.exists(path):
        machine = SVC(C=wanted.c, gamma=wanted.gamma, cache_size=500,
                      decision_function_shape="ovo")
        machine.fit(np.load(names[0]).astype(np.float64), np.load(names[1]))
        save(path, lambda part: joblib.dump(machine, part))
    return joblib.load(path)


# ---- measuring ----


class Child:
    """A bench_svm that measures a round when it is told to."""

    def __init__(self, bench, isa, test, model):
        self.process = subprocess.Popen([bench, "serve", test, model], text=True,
                                        env=dict(os.environ, LIMN_ISA=isa),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.about = self.answer()
        self.best = {}

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("bench_svm failed")
        return json.loads(line)

    def round(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for key, value in self.answer().items():
            best = max if key in ("read", "peak", "rows", "peer_rows") else min
            self.best[key] = best(value, self.best.get(key, value))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer:
    """scikit-learn's machine: batches and single rows, by both calls; and what a call costs."""

    def __init__(self, machine, x):
        self.x = x[np.arange(min(BATCH, len(x))) * len(x) // min(BATCH, len(x))].astype(np.float64)
        empty = Empty().fit(self.x, np.zeros(len(self.x)))
        self.calls = {"SVC.decision_function": machine.decision_function,
                      "SVC.predict": machine.predict, "an empty call": empty.predict}
        self.best = {}

    def keep(self, key, seconds):
        self.best[key] = min(1e6 * seconds, self.best.get(key, 1e30))

    def round(self):
        for name, call in self.calls.items():
            rows, done, start = self.x, 0, time.perf_counter()
            while done == 0 or time.perf_counter() - start < SLICE:
                row = done * 37 % len(rows)
                call(rows[row:row + 1])
                done += 1
            one = (time.perf_counter() - start) / done
            self.keep((name, "single"), one)
            rows = rows[:max(64, int(4 * SLICE / one))]
            start = time.perf_counter()
            call(rows)
            self.keep((name, "batch"), (time.perf_counter() - start) / len(rows))


def check(bench, test, model, rows):
    done = subprocess.run([bench, "check", test, model, str(rows)], check=True, text=True,
                          stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- tables ----


def us(value):
    return f"{value:9.2f}" if value < 1000 else f"{value:9.0f}"


def print_times(children, peer, libsvm):
    mean = min(child.best["peer_mean"] for child in children)
    alone = {key: min(child.best["peer_" + key] for child in children) for key in ("p50", "p99")}
    print(f"  {'us per row':44} {'mean':>9} {'p50':>9} {'p99':>9} {'batch':>9} {'rows':>6}"
          "   LIBSVM/limn:"
          f" {'single':>6} {'batch':>6}")
    print(f"  {libsvm + ' svm_predict_values':44} {us(mean)} {us(alone['p50'])} {us(alone['p99'])}"
          f" {'-':>9} {max(child.best['peer_rows'] for child in children):6}")
    for call in peer.calls:
        single, batch = (peer.best[(call, how)] for how in ("single", "batch"))
        print(f"  {'sklearn ' + sklearn.__version__ + ', Python, ' + call:44} {us(single)} {'-':>9}"
              f" {'-':>9} {us(batch)}")
    for child in children:
        best = child.best
        print(f"  {'limn ' + child.about['isa']:44} {us(best['mean'])} {us(best['p50'])}"
              f" {us(best['p99'])} {us(best['batch'])} {best['rows']:6}   {'':12}"
              f" {mean / best['mean']:6.1f} {mean / best['batch']:6.1f}")
    return mean


def print_limits(children):
    print(f"  {'limits':10} {'bytes':>10} {'single GB/s':>12} {'of reading':>11}"
          f" {'G multiply-adds/s: single':>27} {'of peak':>8} {'batch':>7} {'of peak':>8}")
    for child in children:
        about, best = child.about, child.best
        reading = about["touched_bytes"] / best["mean"] * 1e6
        count = about["vectors"] * (about["features"] + about["classes"] - 1)
        single, batch = (count / best[key] * 1e6 for key in ("mean", "batch"))
        print(f"  {about['isa']:10} {about['touched_bytes']:10.0f} {reading / 1e9:12.1f}"
              f" {100 * reading / best['read']:9.1f} % {single / 1e9:27.1f}"
              f" {100 * single / best['peak']:6.1f} % {batch / 1e9:7.1f}"
              f" {100 * batch / best['peak']:6.1f} %")


def print_checks(verdicts):
    print(f"  {'checks':10} {'rows':>6} {'error/bound':>12} {'rows inside':>12}"
          f" {'labels differ':>14} {'outside':>8} {'accuracy':>9} {'LIBSVM':>7}")
    for v in verdicts:
        print(f"  {v['isa']:10} {v['rows']:6} {v['worst']:12.4f} {v['near']:12} {v['differ']:14}"
              f" {v['differ_outside']:8} {v['accuracy']:9.4f} {v['peer_accuracy']:7.4f}"
              + (f"  single and batch differ in {v['bits']} rows" if v["bits"] else ""))
    return all(v["worst"] <= 1 and not v["differ_outside"] for v in verdicts)


LEGEND = """
mean, p50, p99: single calls over up to {batch} rows (see rows) in a shuffle, a row at its best of 5
passes or more (scikit-learn: the mean of a plain loop); batch: {batch} rows per call (scikit-learn:
fewer where it takes long). An empty call of scikit-learn's only validates its rows. LIBSVM/limn
divides LIBSVM's mean by limn's mean and by its batch.
limits: bytes that a query touches, over the mean, and as a share of what plain loads reach on a
block of that size; multiply-adds, vectors x (features + classes - 1) per row, over mean and batch,
as a share of the peak in registers. The exponentials, one per vector, come on top.
checks: the largest |f - f_libsvm| over its bound 1e-5 (sum |a| K + |rho|); rows inside: those whose
label hangs on an f within its bound; labels that differ from LIBSVM's, and those of rows outside;
accuracy of limn and of LIBSVM on these rows."""


def run(wanted, options):
    """Prints one data set; returns its line of the summary and whether all is inside the bound."""
    source, names = prepare(wanted, options.cache)
    model = train_libsvm(wanted, names, options.bench)
    peer = Peer(train_sklearn(wanted, names), np.load(names[2]))
    verdicts = check(options.bench, names[2], model, wanted.rows)
    children = [Child(options.bench, v["isa"], names[2], model) for v in verdicts]
    for _ in range(options.rounds):
        for runner in children + [peer]:
            runner.round()
    for child in children:
        child.close()
    about = children[0].about
    name = wanted.name if source == "real" else f"random data of the shape of {wanted.name}"
    print(f"\n{name}: {about['vectors']} support vectors, {about['classes']} classes, "
          f"{about['features']} features; C={wanted.c}, gamma={wanted.gamma:.4g}, "
          f"{'z-scores' if wanted.zscore else 'not scaled'}")
    mean = print_times(children, peer, f"LIBSVM {about['libsvm'] / 100:.2f}")
    print_limits(children)
    good = print_checks(verdicts)
    first = children[0].best
    short = wanted.name if source == "real" else wanted.name + "*"
    return (f"  {short:14} {about['vectors']:7} {about['classes']:7} {about['features']:8}"
            f" {us(mean)} {us(peer.best[('SVC.predict', 'batch')])} {us(first['mean'])}"
            f" {us(first['batch'])} {mean / first['mean']:8.1f} {mean / first['batch']:8.1f}"), good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True, help="path of bench_svm")
    parser.add_argument("--cache", required=True, help="folder for data and models")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets; all unless given")
    options = parser.parse_args()
    os.makedirs(options.cache, exist_ok=True)
    cases = [c for c in CASES if not options.names or c.name in options.names]
    print("Exact SVM evaluation, one thread, slices of all in turn, best of"
          f" {options.rounds} rounds")
    lines, good = zip(*[run(wanted, options) for wanted in cases])
    print("\nsummary, us per row, limn on its widest instruction set (*: random data)")
    print(f"  {'':14} {'vectors':>7} {'classes':>7} {'features':>8} {'LIBSVM':>9} {'sklearn':>9}"
          f" {'single':>9} {'batch':>9} {'LIBSVM/s':>8} {'LIBSVM/b':>8}")
    print("\n".join(lines))
    print(LEGEND.format(batch=BATCH))
    if not all(good):
        sys.exit("limn's values or labels are outside the bound")


if __name__ == "__main__":
    main()
