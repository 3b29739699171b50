"""Models of limn and of its peers on the same data sets: trained once, then timed in turn by
bench_front. What front.py, student.py and accelerate.py share.

A row of a table is a SimpleNamespace: name; spec, the model as bench_front takes it; train, seconds;
what was measured; and why it was left out, if it was. Import before numpy.
"""
import argparse
import hashlib
import json
import os
import shutil
import subprocess
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
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from python_models import batch_call, forests_and_networks, mean_call, scaling  # noqa: E402
from real_data import find, find_split  # noqa: E402

# C, gamma and scaling of the svm.
SETS = {"letter": (10, 0.2, "zscore"), "pendigits": (10, 0.1, "zscore"),
        "satimage": (3, 0.2, "zscore"), "usps": (10, 0.03, "minmax"),
        "mnist": (10, 0.025 / 255 ** 2, "none"), "segment": (100, 0.03, "zscore"),
        "ijcnn1": (10, 2, "none"), "dna": (3, 0.02, "none")}
SECONDS, ROUNDS = 1, 3     # of a turn of bench_front; turns
MOST_SECONDS = 400         # for training a model, and for answering the test rows
LEAST_ROWS = 100           # for a 99th percentile
JUDGED = []                # (aim and what was measured, whether it is met)


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


def write_svm(path, x, y):
    with open(path, "w", encoding="ascii") as file:
        for row, label in zip(x.tolist(), y):
            file.write(" ".join([str(label), *(f"{j + 1}:{v!r}" for j, v in enumerate(row))]) + "\n")


def scaled(kind, x, t):
    """Test rows as limn scales them; constant features become 0."""
    low, factor = scaling(kind, x)
    return (t.astype(np.float64) - low) * factor


# ---- training, once ----


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Cache:
    """The files of one data set; svm: C, gamma and scaling of its svm."""

    def __init__(self, options, name, svm):
        self.folder, self.name, self.svm = os.path.join(options.cache, name), name, svm
        self.limn, self.front, self.reuse = options.limn, options.front, options.reuse
        self.build = digest(self.limn)
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

    def forget(self, name):
        if os.path.exists(self.path(name + ".json")):
            os.remove(self.path(name + ".json"))

    def train_file(self):
        split = find_split(self.name)
        return split[0] if split else self.path("train.svm")

    def train_limn(self, method, model, params=(), most=MOST_SECONDS):
        try:
            done = subprocess.run([self.limn, "train", self.train_file(), "-m", method, *params, "-o",
                                   model, "--json", "-q"], text=True, check=True, timeout=most,
                                  stdout=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            return {"why": f"training takes over {most} s"}
        return {"train": json.loads(done.stdout)["seconds"]}

    def answer(self, spec):
        """bench_front's figures of all rows; the labels stay in a file."""
        try:
            done = subprocess.run([self.front, "answers", self.path("test.bin"), spec], text=True,
                                  check=True, timeout=MOST_SECONDS, stdout=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            return {"why": f"answering the test rows takes over {MOST_SECONDS} s"}
        return json.loads(done.stdout)


def prepared(options, sets=SETS):
    """The cache and the data of each set asked for that is there."""
    for name in options.names or sets:
        if not find_split(name) and not find(name):
            print(f"\n{name} is left out: not in LIMN_DATA", flush=True)
            continue
        cache, data = Cache(options, name, sets[name]), load(name)
        write_table(cache.path("train.bin"), data[0], data[1])
        write_table(cache.path("test.bin"), data[2], data[3])
        if not find_split(name):
            write_svm(cache.path("train.svm"), data[0], data[1])
        yield cache, data


# ---- rows ----


def svm_params(cache):
    c, gamma, scale = cache.svm
    return ["-p", f"C={c}", "-p", f"gamma={gamma!r}", "--scale", scale]


def limn_row(name, model, known):
    return SimpleNamespace(name="limn " + name, spec="limn:" + model, **known)


def libsvm_rows(cache, data):
    """LIBSVM with the machine of limn svm, if that could be trained."""
    machine, table = cache.path("libsvm.model"), cache.path("scaled.bin")
    if os.path.exists(cache.path("svm.limn")):
        subprocess.run([cache.limn, "convert", cache.path("svm.limn"), machine, "-q"], check=True)
        write_table(table, scaled(cache.svm[2], data[0], data[2]), data[3])
        yield SimpleNamespace(name="LIBSVM", train=None, spec=f"libsvm:{machine},{table}")


def train_peer(cache, name, make, data):
    start = time.perf_counter()
    model = make().fit(data[0], data[1])
    seconds = time.perf_counter() - start
    model.flatten(cache.path(name))
    joblib.dump(model, cache.path(name + ".joblib"))
    return {"train": seconds}


def peer_rows(cache, data, models, key):
    """Models of Python packages by name: the kind of bench_front, and a maker."""
    for name, (kind, make) in models.items():
        known = cache.once(name, key, lambda n=name, m=make: train_peer(cache, n, m, data))
        yield SimpleNamespace(name=name, spec=f"{kind}:{cache.path(name)}",
                              python=joblib.load(cache.path(name + ".joblib")), **known)


def python_rows(cache, data, hidden):
    """Forests, and networks of these hidden sizes."""
    return peer_rows(cache, data, forests_and_networks(hidden),
                     ["python_models", sklearn.__version__, xgboost.__version__])


# ---- measuring ----


def info(cache, model):
    done = subprocess.run([cache.limn, "info", model, "--json"], text=True, check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def statistic(stats, word):
    """The first whose name has the word, or None."""
    return next((value for name, value in stats.items() if word in name), None)


def able(rows):
    return [row for row in rows if "why" not in row.__dict__]


def model_file(row):
    return row.spec.split(":")[1].split(",")[0]


def figures_of(cache, row):
    """bench_front's figures of all rows; with --reuse those of the last run, if of this very model."""
    name = "answers " + os.path.basename(model_file(row))
    if not cache.reuse:
        cache.forget(name)
    return cache.once(name, digest(model_file(row).split("@")[0]), lambda: cache.answer(row.spec))


def measure_answers(cache, row, data):
    """Error, batch, size; what C makes of it must err as often as the original."""
    t, u = data[2:]
    row.__dict__.update(figures_of(cache, row))
    if "why" in row.__dict__:
        return
    row.answers = np.fromfile(model_file(row) + ".answers", np.int32)
    row.error = 100 * float(np.mean(row.answers != u))
    row.batch = row.all if row.name.startswith("limn") or "python" in row.__dict__ else None
    if "python" in row.__dict__:
        with threadpool_limits(1):
            row.differ = int(np.sum(row.python.predict(t) != row.answers))
            row.original = 100 * float(np.mean(row.python.predict(t) != u))
            row.call = mean_call(row.python.predict, t)
            row.batch = min(row.batch, batch_call(row.python.predict, t))
        del row.python


def single_calls(cache, rows, **environment):
    """bench_front's figures of single calls, the models in turn."""
    done = subprocess.run([cache.front, "latency", cache.path("test.bin"), str(SECONDS), str(ROUNDS),
                           *(row.spec for row in rows)], text=True, check=True,
                          env=dict(os.environ, **environment), stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure_calls(cache, rows):
    """Times of single calls, and which models are on the front."""
    rows = able(rows)
    for row, found in zip(rows, single_calls(cache, rows)):
        row.__dict__.update(found)
        if row.rows < LEAST_ROWS:
            row.p99 = None
    for row in rows:
        row.front = not any(other.error <= row.error and other.mean <= row.mean and
                            (other.error < row.error or other.mean < row.mean) for other in rows)


# ---- printing ----


def cell(row, key, width, digits):
    value = row.__dict__.get(key)
    return f"{'-' if value is None else f'{value:.{digits}f}':>{width}}"


def describe(cache, data):
    """The line over a table."""
    x, y, t, _ = data
    c, gamma, scale = cache.svm
    return (f"\n{cache.name}: {len(x)} rows of {x.shape[1]} features, {len(np.unique(y))} classes,"
            f" {len(t)} test rows; svm: C={c} gamma={gamma:.3g} scale={scale}")


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


# ---- aims ----


def judge(label, found, fine, digits):
    """Prints an aim and what was measured, or that nothing was."""
    text = f"{label}: " + ("not measured" if found is None else f"{found:.{digits}f}")
    met = found is not None and fine(found)
    print(f"  aim: {text}  {'ok' if met else 'MISSED'}", flush=True)
    JUDGED.append((text, met))


def print_missed():
    missed = [text for text, met in JUDGED if not met]
    print("\n".join([f"\n{len(missed)} of {len(JUDGED)} aims missed", *missed]))


# ---- the command ----


def parser_of(description, sets=SETS):
    """The options that every contest has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--limn", required=True, help="path of limn")
    parser.add_argument("--front", required=True, help="path of bench_front")
    parser.add_argument("--cache", required=True, help="folder of trained models")
    parser.add_argument("--reuse", action="store_true", help="time single calls only")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(sets))
    return parser


def begin(title, peers=f"xgboost {xgboost.__version__}"):
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    print(f"{title}; scikit-learn {sklearn.__version__}, {peers}")
