"""Error against the time of a single call: limn's methods beside their peers, one table per data set.
(Methods drawn from another model are compared with it instead: bench/papers/borders.py.)

  front.py --limn LIMN --front BENCH_FRONT --cache FOLDER [--reuse] [--json FILE] [NAME...]

All models are trained first, on all cores, and stay in the cache folder until limn, its parameters,
the peers' versions or the data change. Then they answer all test rows, and bench_front times single
calls in one process and one thread, the models in turn. With --reuse, errors and batch times are
those of the last run, and only single calls are timed again. The forests and networks of
scikit-learn and xgboost are evaluated in C and must err exactly as often as the original; their own
call from Python is given beside. Exits with 1 when an error differs.

The data sets are looked for in LIMN_DATA; those that are missing are left out. The JSON file is
written only when all are there.
"""
import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from types import SimpleNamespace

os.environ["OPENBLAS_NUM_THREADS"] = str(os.cpu_count())

import openblas  # noqa: E402, F401  (after the environment, before numpy)

import joblib  # noqa: E402
import numpy as np  # noqa: E402
import sklearn  # noqa: E402
import xgboost  # noqa: E402
from sklearn.datasets import load_svmlight_file  # noqa: E402
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

import flatten  # noqa: E402
from python_call import Empty  # noqa: E402
from real_data import find, find_split  # noqa: E402

# C, gamma and scaling of the svm; the other methods have their defaults.
SETS = {"letter": (10, 0.2, "zscore"), "pendigits": (10, 0.1, "zscore"),
        "satimage": (3, 0.2, "zscore"), "usps": (10, 0.03, "minmax"),
        "mnist": (10, 0.025 / 255 ** 2, "none"), "segment": (100, 0.03, "zscore"),
        "ijcnn1": (10, 2, "none"), "dna": (3, 0.02, "none")}
METHODS = ["knn", "lda", "svm", "vpc", "nah", "nhd", "nch", "nsc", "nrh", "bforest"]
SECONDS, ROUNDS = 1, 3     # of a turn of bench_front; turns
MOST_SECONDS = 400         # for training a model, and for answering the test rows
PYTHON_ROWS, PYTHON_PASSES = 100, 3
LEAST_ROWS = 100           # for a 99th percentile


# ---- data ----


def load(name):
    """Training rows and labels, test rows and labels."""
    split, whole = find_split(name), find(name)
    if split:
        x, y = load_svmlight_file(split[0])
        t, u = load_svmlight_file(split[1], n_features=x.shape[1])
    else:
        x, y = load_svmlight_file(whole)
        x, t, y, u = train_test_split(x, y, test_size=0.3, random_state=1, stratify=y)
    return [part.toarray().astype(np.float32) if part.ndim == 2 else part.astype(np.int32)
            for part in (x, y, t, u)]


def write_table(path, x, y):
    with open(path, "wb") as file:
        file.write(np.array(x.shape, np.int32).tobytes())
        file.write(np.ascontiguousarray(x, np.float32).tobytes())
        file.write(np.asarray(y, np.int32).tobytes())


def scaled(kind, x, t):
    """Test rows as limn scales them; constant features are dropped."""
    x, t = x.astype(np.float64), t.astype(np.float64)
    if kind == "none":
        return t
    low, spread = ((x.mean(axis=0), x.std(axis=0)) if kind == "zscore"
                   else (x.min(axis=0), x.max(axis=0) - x.min(axis=0)))
    return ((t - low) / np.where(spread > 0, spread, 1))[:, spread > 0]


# ---- models ----


class Network:
    """A network that scales its rows first."""

    def __init__(self, hidden):
        self.net = MLPClassifier((hidden,), random_state=1)

    def fit(self, x, y):
        self.mean, self.scale = x.mean(axis=0, dtype=float), x.std(axis=0, dtype=float)
        self.scale[self.scale == 0] = 1
        self.net.fit(self.scaled(x), y)
        return self

    def scaled(self, x):
        return ((x - self.mean) / self.scale).astype(np.float32)

    def predict(self, x):
        return self.net.predict(self.scaled(x))

    def flatten(self, path):
        flatten.sklearn_network(self.net, self.mean, self.scale, path)


class Forest:
    def __init__(self, kind):
        self.forest = kind(100, random_state=1, n_jobs=-1)

    def fit(self, x, y):
        self.forest.fit(x, y)
        self.forest.n_jobs = 1
        return self

    def predict(self, x):
        return self.forest.predict(x)

    def flatten(self, path):
        flatten.sklearn_forest(self.forest, path)


class Boosted:
    def __init__(self):
        self.model = xgboost.XGBClassifier(n_estimators=100, tree_method="hist", random_state=1,
                                           n_jobs=os.cpu_count())

    def fit(self, x, y):
        self.labels, numbers = np.unique(y, return_inverse=True)
        self.model.fit(x, numbers)
        self.model.set_params(n_jobs=1)
        self.model.get_booster().set_param("nthread", 1)
        return self

    def predict(self, x):
        return self.labels[self.model.predict(x)]

    def flatten(self, path):
        flatten.xgboost_forest(self.model, self.labels, path)


PEERS = {"RandomForest(100)": ("forest", lambda: Forest(RandomForestClassifier)),
         "ExtraTrees(100)": ("forest", lambda: Forest(ExtraTreesClassifier)),
         "xgboost(100)": ("forest", Boosted),
         "MLP(100)": ("network", lambda: Network(100)),
         "MLP(256)": ("network", lambda: Network(256))}


# ---- training, once ----


class Cache:
    """The files of one data set."""

    def __init__(self, options, name):
        self.folder, self.name = os.path.join(options.cache, name), name
        self.limn, self.front, self.reuse = options.limn, options.front, options.reuse
        with open(self.limn, "rb") as file:
            self.build = hashlib.sha256(file.read()).hexdigest()
        self.data = [[os.path.basename(path), os.path.getsize(path)]
                     for path in find_split(name) or [find(name)]]
        if self.key_of("data") != self.data:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.folder)
            self.once("data", self.data, lambda: {})

    def path(self, name):
        return os.path.join(self.folder, name)

    def load(self, name):
        path = self.path(name + ".json")
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def key_of(self, name):
        return self.load(name).get("key")

    def once(self, name, key, make):
        """What make returns, from the file if it was made before with the same key."""
        if self.key_of(name) != key:
            found = {"key": key, "found": make()}
            with open(self.path(name + ".json"), "w", encoding="utf-8") as file:
                json.dump(found, file)
        return self.load(name)["found"]

    def train_limn(self, method, model, params=()):
        split = find_split(self.name)
        train = split[0] if split else self.path("train.svm")
        try:
            done = subprocess.run([self.limn, "train", train, "-m", method, *params, "-o", model,
                                   "--json", "-q"], text=True, check=True, timeout=MOST_SECONDS,
                                  stdout=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            return {"why": f"training takes over {MOST_SECONDS} s"}
        return {"train": json.loads(done.stdout)["seconds"]}

    def answer(self, spec):
        """bench_front's figures of all rows; the labels stay in a file."""
        try:
            done = subprocess.run([self.front, "answers", self.path("test.bin"), spec], text=True,
                                  check=True, timeout=MOST_SECONDS, stdout=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            return {"why": f"answering the test rows takes over {MOST_SECONDS} s"}
        return json.loads(done.stdout)


def limn_rows(cache, data):
    """Trained models of limn: name, spec of bench_front and what is known so far."""
    c, gamma, scale = SETS[cache.name]
    for method in METHODS:
        model = cache.path(method + ".limn")
        params = ["-p", f"C={c}", "-p", f"gamma={gamma!r}", "--scale", scale] if method == "svm" else []
        known = cache.once(method, [cache.build, params],
                           lambda m=method, p=params, f=model: cache.train_limn(m, f, p))
        yield SimpleNamespace(name="limn " + method, spec="limn:" + model, **known)
    if os.path.exists(cache.path("svm.limn")):
        subprocess.run([cache.limn, "convert", cache.path("svm.limn"), cache.path("libsvm.model"),
                        "-q"], check=True)
        write_table(cache.path("scaled.bin"), scaled(scale, data[0], data[2]), data[3])
        yield SimpleNamespace(name="LIBSVM", train=None,
                              spec=f"libsvm:{cache.path('libsvm.model')},{cache.path('scaled.bin')}")


def train_peer(cache, name, make, data):
    start = time.perf_counter()
    model = make().fit(data[0], data[1])
    seconds = time.perf_counter() - start
    model.flatten(cache.path(name))
    joblib.dump(model, cache.path(name + ".joblib"))
    return {"train": seconds}


def peer_rows(cache, data):
    for name, (kind, make) in PEERS.items():
        known = cache.once(name, [sklearn.__version__, xgboost.__version__],
                           lambda n=name, m=make: train_peer(cache, n, m, data))
        yield SimpleNamespace(name=name, spec=f"{kind}:{cache.path(name)}",
                              python=joblib.load(cache.path(name + ".joblib")), **known)
    table = cache.path("train.bin")
    built = cache.once("hnswlib", "index", lambda: build_index(cache, f"hnsw:{table}@16"))
    for ef in (16, 64):
        yield SimpleNamespace(name=f"hnswlib, ef={ef}", spec=f"hnsw:{table}@{ef}", **built)
    for checks in (32, 128):
        yield SimpleNamespace(name=f"FLANN, checks={checks}", spec=f"flann:{table}@{checks}")


def build_index(cache, spec):
    """bench_front builds hnswlib's index where there is none."""
    if os.path.exists(cache.path("train.bin.hnsw")):
        os.remove(cache.path("train.bin.hnsw"))
    return {"train": cache.answer(spec)["build"]}


# ---- measuring ----


def mean_call(predict, rows):
    """Mean microseconds of a Python call with one row, each row at its best of some passes."""
    order = np.random.default_rng(1).permutation(len(rows))[:PYTHON_ROWS]
    best = np.full(len(order), np.inf)
    for _ in range(PYTHON_PASSES):
        for i, row in enumerate(order):
            x = rows[row:row + 1]
            start = time.perf_counter()
            predict(x)
            best[i] = min(best[i], time.perf_counter() - start)
    return 1e6 * float(best.mean())


def batch_call(predict, rows):
    """Microseconds per row of one Python call with all rows."""
    best, total = np.inf, 0
    while total < 0.5:
        start = time.perf_counter()
        predict(rows)
        took = time.perf_counter() - start
        best, total = min(best, took), total + took
    return 1e6 * best / len(rows)


def measure_answers(cache, row, data):
    """Error, batch, size; what C makes of it must err as often as the original."""
    t, u = data[2:]
    name = "answers " + os.path.basename(row.spec)
    key = cache.key_of(name) if cache.reuse else time.time()
    row.__dict__.update(cache.once(name, key, lambda: cache.answer(row.spec)))
    if "why" in row.__dict__:
        return
    answers = np.fromfile(row.spec.split(":")[1].split(",")[0] + ".answers", np.int32)
    row.error = 100 * float(np.mean(answers != u))
    row.batch = row.all if row.name.startswith("limn") or "python" in row.__dict__ else None
    if row.name.startswith("FLANN"):
        row.train = row.build
    if "python" in row.__dict__:
        with threadpool_limits(1):
            row.differ = int(np.sum(row.python.predict(t) != answers))
            row.original = 100 * float(np.mean(row.python.predict(t) != u))
            row.call = mean_call(row.python.predict, t)
            row.batch = min(row.batch, batch_call(row.python.predict, t))
        del row.python


def measure(cache, data):
    rows = [*limn_rows(cache, data), *peer_rows(cache, data)]
    for row in rows:
        if "why" not in row.__dict__:
            measure_answers(cache, row, data)
    able = [row for row in rows if "why" not in row.__dict__]
    done = subprocess.run([cache.front, "latency", cache.path("test.bin"), str(SECONDS),
                           str(ROUNDS), *(row.spec for row in able)], text=True, check=True,
                          stdout=subprocess.PIPE)
    for row, line in zip(able, done.stdout.splitlines()):
        row.__dict__.update(json.loads(line))
        if row.rows < LEAST_ROWS:
            row.p99 = None
    for row in able:
        row.front = not any(other.error <= row.error and other.mean <= row.mean and
                            (other.error < row.error or other.mean < row.mean) for other in able)
    return rows


# ---- printing ----


def cell(row, key, width, digits):
    value = row.__dict__.get(key)
    return f"{'-' if value is None else f'{value:.{digits}f}':>{width}}"


def print_rows(name, data, rows, empty):
    x, y, t, u = data
    c, gamma, scale = SETS[name]
    print(f"\n{name}: {len(x)} rows of {x.shape[1]} features, {len(np.unique(y))} classes,"
          f" {len(t)} test rows; svm: C={c} gamma={gamma:.3g} scale={scale}")
    print(f"  {'us per row':20}{'error %':>9}{'mean':>10}{'p50':>10}{'p99':>10}{'rows':>7}{'batch':>10}"
          f"{'train s':>9}{'MB':>9}{'Python call':>13}  front")
    for row in rows:
        if "why" in row.__dict__:
            print(f"  {row.name:20} left out: {row.why}")
            continue
        megabytes = SimpleNamespace(value=row.bytes / 1e6)
        print(f"  {row.name:20}{cell(row, 'error', 9, 2)}{cell(row, 'mean', 10, 3)}"
              f"{cell(row, 'p50', 10, 3)}{cell(row, 'p99', 10, 3)}{row.rows:7}"
              f"{cell(row, 'batch', 10, 3)}"
              f"{cell(row, 'train', 9, 1)}{cell(megabytes, 'value', 9, 2)}"
              f"{cell(row, 'call', 13, 0)}  {'*' if row.front else ''}".rstrip())
    print(f"  an empty Python call: {empty:.0f} us", flush=True)


def check_walks(rows):
    """Whether every model in C errs as often as the original."""
    fine = True
    for row in rows:
        if "original" in row.__dict__:
            fine = fine and row.error == row.original
            if row.differ or row.error != row.original:
                print(f"  {row.name}: C differs in {row.differ} rows, error"
                      f" {row.error:.3f} %, original {row.original:.3f} %", flush=True)
    return fine


LEGEND = f"""
mean, p50, p99: single calls in C, one thread, one process, the models in turn ({ROUNDS} turns of
{SECONDS} s; the turn with the lowest mean counts): the test rows in a shuffle, each row at its best
of 5 passes or more, scaling included (LIBSVM gets scaled rows as nodes, made beforehand). rows: how
many the time allowed; p99 is given from {LEAST_ROWS} rows up. Forests and networks are evaluated in C
over flat arrays, compiled for this machine; they must err exactly as often as the original. batch: one thread; limn_predict with all rows; forests and networks: the faster
of the original's call with all rows and the loop in C. Python call: mean of the original's own
call with one row; an empty call only validates its row. train: wall clock on all cores
(hnswlib: one core); LIBSVM evaluates the machine of limn svm. MB: the model file, the flat arrays, or
the index with its rows. front: no other model is both faster and more accurate.
One seed each.
Parameters: defaults except for svm; xgboost with tree_method=hist, MLP on z-scores, hnswlib M=16
ef_construction=200, FLANN 4 kd-trees."""


def kept(rows):
    keys = ("name", "error", "mean", "p50", "p99", "rows", "batch", "train", "bytes", "call", "front",
            "why")
    return [{key: row.__dict__[key] for key in keys if key in row.__dict__} for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", required=True, help="path of limn")
    parser.add_argument("--front", required=True, help="path of bench_front")
    parser.add_argument("--cache", required=True, help="folder of trained models")
    parser.add_argument("--reuse", action="store_true", help="time single calls only")
    parser.add_argument("--json", help="file for the figures of all data sets")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SETS))
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    print(f"Error against the time of a single call; scikit-learn {sklearn.__version__}, xgboost"
          f" {xgboost.__version__}")
    fine, figures = True, {}
    for name in options.names or SETS:
        if not find_split(name) and not find(name):
            print(f"\n{name} is left out: not in LIMN_DATA", flush=True)
            continue
        cache = Cache(options, name)
        data = load(name)
        write_table(cache.path("train.bin"), data[0], data[1])
        write_table(cache.path("test.bin"), data[2], data[3])
        if not find_split(name):
            with open(cache.path("train.svm"), "w", encoding="ascii") as file:
                for x, y in zip(data[0], data[1]):
                    file.write(" ".join([str(y), *(f"{j + 1}:{v!r}" for j, v in
                                                   enumerate(x.tolist()))]) + "\n")
        rows = measure(cache, data)
        print_rows(name, data, rows, mean_call(Empty().fit(data[0], data[1]).predict, data[2]))
        fine = check_walks(rows) and fine
        figures[name] = {"rows": len(data[0]), "features": data[0].shape[1], "models": kept(rows)}
    print(LEGEND)
    if options.json and fine and set(figures) == set(SETS):
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
