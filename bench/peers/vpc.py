"""Vantage-point classification beside nearest-neighbour indexes and a random forest.

  vpc.py --limn LIMN [SECTION...]

Sections, all unless given:
  peers   letter and pendigits: error and latency of vpc, limn's exact scan, the kd-tree and the
          random forest of scikit-learn, HNSW of faiss and the randomized kd-trees of FLANN
  stop    what asking no more trees costs and saves
  skin    245057 rows: training time, peak memory, error, latency
  growth  error, latency, pivots and leaves a query as the rows grow
  folds   ten-fold cross-validation, beside what is aimed at

Data sets are looked for in LIMN_DATA; where one is missing, random data of its shape is used, but
not for the folds. Queries run on one thread, training of limn on all cores.
"""
import argparse
import ctypes as c
import gzip
import io
import os
import tempfile
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import faiss  # noqa: E402  (after the environment)
import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from sklearn.datasets import load_svmlight_file  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.model_selection import StratifiedKFold  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402

from limn_command import Command  # noqa: E402

DATA = os.environ.get("LIMN_DATA", os.path.join("..", "shared", "data"))
SEEDS = range(1, 6)
SINGLE_ROWS, SINGLE_CALLS = 300, 5
FRESH = 10000
SIZES = [1000 << i for i in range(8)]


# ---- data: lines of LIBSVM text, so that limn and its peers see the same numbers ----


def random_lines(n, features, classes, seed):
    """Integers around the centres of the classes; the centres do not depend on the seed."""
    centres = np.random.default_rng(1).uniform(0, 100, (classes, features))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = np.rint(centres[y] + 15 * rng.standard_normal((n, features))).astype(int)
    return [f"{label} ".encode() + b" ".join(b"%d:%d" % cell for cell in enumerate(row, 1))
            for label, row in zip(y.tolist(), x.tolist())]


def read_lines(name):
    """The rows of a data set, or None."""
    path = os.path.join(DATA, name + ".svm.gz")
    if not os.path.exists(path):
        return None
    with gzip.open(path) as file:
        return file.read().splitlines()


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


def write(path, lines):
    with open(path, "wb") as file:
        file.write(b"\n".join(lines) + b"\n")
    return path


def arrays(train, test):
    """Both parts as float32 in [0, 1] over the training part, and their labels."""
    x, y = load_svmlight_file(io.BytesIO(b"\n".join(train)))
    t, u = load_svmlight_file(io.BytesIO(b"\n".join(test)), n_features=x.shape[1])
    x, t = x.toarray(), t.toarray()
    low, width = x.min(axis=0), np.ptp(x, axis=0)
    width[width == 0] = 1
    return [np.ascontiguousarray((part - low) / width, np.float32) for part in (x, t)] + [y, u]


# ---- peers: from rows to labels, a call for one row or for all ----


class FlannParameters(c.Structure):
    """struct FLANNParameters of flann.h 1.9; the library exports one with the defaults."""
    _fields_ = ([(name, kind) for kind, names in (
        (c.c_int, "algorithm checks"), (c.c_float, "eps"),
        (c.c_int, "sorted max_neighbors cores trees leaf_max_size branching iterations"
                  " centers_init"),
        (c.c_float, "cb_index target_precision build_weight memory_weight sample_fraction"),
        (c.c_uint, "table_number key_size multi_probe_level"), (c.c_int, "log_level"),
        (c.c_long, "random_seed")) for name in names.split()])


class Flann:
    """Randomized kd-trees of FLANN through its C interface; no seed makes two of them alike."""
    KDTREE = 1

    def __init__(self, x, trees, checks):
        self.lib = c.CDLL("libflann.so.1.9")
        self.lib.flann_build_index_float.restype = c.c_void_p
        self.params = FlannParameters()
        c.memmove(c.byref(self.params),
                  c.byref(FlannParameters.in_dll(self.lib, "DEFAULT_FLANN_PARAMETERS")),
                  c.sizeof(FlannParameters))
        self.params.algorithm, self.params.trees, self.params.checks = self.KDTREE, trees, checks
        self.params.cores, self.params.target_precision = 1, -1
        self.x, speedup = x, c.c_float()
        self.index = c.c_void_p(self.lib.flann_build_index_float(
            self.address(x), c.c_int(x.shape[0]), c.c_int(x.shape[1]), c.byref(speedup),
            c.byref(self.params)))
        if not self.index:
            raise RuntimeError("FLANN builds no index")

    @staticmethod
    def address(values):
        return c.c_void_p(values.ctypes.data)

    def nearest(self, rows):
        found, distances = np.empty(len(rows), np.int32), np.empty(len(rows), np.float32)
        if self.lib.flann_find_nearest_neighbors_index_float(
                self.index, self.address(rows), c.c_int(len(rows)), self.address(found),
                self.address(distances), c.c_int(1), c.byref(self.params)):
            raise RuntimeError("FLANN does not search")
        return found


def flann_peers(x, y):
    try:
        indexes = {checks: [Flann(x, 4, checks) for _ in SEEDS] for checks in (32, 128)}
    except OSError:
        print("  FLANN is left out: libflann.so.1.9 is not installed")
        return {}
    return {f"FLANN 4 kd-trees, checks={checks}":
            [lambda rows, index=index: y[index.nearest(rows)] for index in built]
            for checks, built in indexes.items()}


def hnsw(x, y, search):
    index = faiss.IndexHNSWFlat(x.shape[1], 32)
    index.add(x)
    index.hnsw.efSearch = search
    return lambda rows: y[index.search(rows, 1)[1][:, 0]]


def random_forest(x, y, seed):
    forest = RandomForestClassifier(50, random_state=seed, n_jobs=-1).fit(x, y)
    forest.n_jobs = 1
    return forest.predict


def peers_of(x, y):
    """Calls from rows to labels; several of a method that is random."""
    version = sklearn.__version__
    tree = KNeighborsClassifier(n_neighbors=1, algorithm="kd_tree").fit(x, y)
    return {f"sklearn {version} kd-tree, k=1": [tree.predict],
            **{f"faiss HNSW M=32, efSearch={search}": [hnsw(x, y, search)] for search in (16, 64)},
            **flann_peers(x, y),
            f"sklearn {version} random forest, 50": [random_forest(x, y, seed) for seed in SEEDS]}


def best_single(call, rows):
    """us of each of some rows, best of a few calls each."""
    picked = np.arange(min(SINGLE_ROWS, len(rows))) * len(rows) // min(SINGLE_ROWS, len(rows))
    times = []
    for i in picked:
        row, best = rows[i:i + 1], 1e30
        for _ in range(SINGLE_CALLS):
            start = time.perf_counter()
            call(row)
            best = min(best, time.perf_counter() - start)
        times.append(1e6 * best)
    return times


def measure_peer(calls, rows, truth):
    """The mean error of all the calls, the times of the first."""
    call, batch = calls[0], 1e30
    for _ in range(3):
        start = time.perf_counter()
        call(rows)
        batch = min(batch, 1e6 * (time.perf_counter() - start) / len(rows))
    single = best_single(call, rows)
    return {"error": np.mean([call(rows) != truth for call in calls]), "p50": np.median(single),
            "p99": np.quantile(single, 0.99), "batch": batch, "touched": None}


# ---- letter and pendigits ----

SPLITS = {"letter": (16000, 4000, 16, 26), "pendigits": (7494, 3498, 16, 10)}
OURS = {"limn vpc": ("vpc", []),
        "limn vpc, stop=2": ("vpc", ["stop=2"]),
        "limn vpc, trees=1 stop=2": ("vpc", ["trees=1", "stop=2"]),
        "limn knn, k=1, exact scan": ("knn", ["k=1"])}


def measure_ours(limn, train, test):
    """Means over the seeds of error and cost, medians of times; the methods take turns."""
    seen = {name: [] for name in OURS}
    for seed in SEEDS:
        for name, (method, params) in OURS.items():
            limn.train(train, seed, method, params)
            seen[name].append(limn.eval(test))
    return {name: {"error": np.mean([e["error"] for e in evals]),
                   "spread": np.std([e["error"] for e in evals], ddof=1),
                   "p50": np.median([e["latency_us_p50"] for e in evals]),
                   "p99": np.median([e["latency_us_p99"] for e in evals]),
                   "batch": np.median([1e6 / e["batch_rows_per_s"] for e in evals]),
                   "touched": np.mean([e["touched_vectors"] for e in evals])}
            for name, evals in seen.items()}


def print_peers(title, train, test, ours, theirs):
    print(f"\n{title}: {len(train)} rows, {len(test)} test rows")
    print(f"  {'us a query':34} {'error %':>8} {'median':>9} {'p99':>9} {'batch':>9}"
          f" {'scan/it':>8} {'in batch':>8} {'vectors touched':>16}")
    scan = ours["limn knn, k=1, exact scan"]
    for name, m in {**ours, **theirs}.items():
        touched = "-" if m["touched"] is None else f"{m['touched']:.1f}"
        print(f"  {name:34} {100 * m['error']:8.2f} {m['p50']:9.2f} {m['p99']:9.2f}"
              f" {m['batch']:9.2f} {scan['p50'] / m['p50']:8.2f} {scan['batch'] / m['batch']:8.2f}"
              f" {touched:>16}")


def print_stop(title, ours):
    on, off = ours["limn vpc"], ours["limn vpc, stop=2"]
    rise = 100 * (on["error"] - off["error"])
    print(f"  {title:38} {100 * on['error']:5.2f} +- {100 * on['spread']:4.2f}"
          f" {100 * off['error']:5.2f} +- {100 * off['spread']:4.2f} {rise:+7.2f}"
          f" {on['touched']:9.1f} {off['touched']:9.1f}"
          f" {100 * (1 - on['touched'] / off['touched']):6.1f} %"
          f" {100 * (1 - on['batch'] / off['batch']):10.1f} %")


def splits(limn, sections):
    found = {}
    if "peers" in sections:
        print("Peers, single queries on one thread, features scaled to [0, 1] for all;"
              f" errors of limn, FLANN and the random forest: means over {len(SEEDS)} seeds")
    for name, shape in SPLITS.items():
        title, train, test = given_split(name, shape)
        ours = measure_ours(limn, write(limn.path("train.svm"), train),
                            write(limn.path("test.svm"), test))
        found[title] = ours
        if "peers" in sections:
            x, t, y, u = arrays(train, test)
            theirs = {peer: measure_peer(calls, t, u) for peer, calls in peers_of(x, y).items()}
            print_peers(title, train, test, ours, theirs)
    if "stop" in sections:
        print(f"\nEarly stop, {len(SEEDS)} seeds\n  {'':38} {'error %, 0.8':>13} {'stop=2':>13}"
              f" {'points':>7} {'vectors':>9} {'stop=2':>9} {'saved':>8} {'batch saved':>12}")
        for title, ours in found.items():
            print_stop(title, ours)


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
    print(f"  a query     {seen['latency_us_p50']:.2f} us median, {seen['latency_us_p99']:.2f} us"
          f" p99, {1e6 / seen['batch_rows_per_s']:.2f} us in batch,"
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
          f"  {'rows':>8} {'error %':>8} {'median us':>10}"
          f" {'p99 us':>8} {'pivots':>8} {'leaves':>8} {'depth':>6}")
    pivots, leaves = [], []
    for n in SIZES:
        limn.train(write(limn.path("train.svm"), lines[FRESH:FRESH + n]),
                   params=["trees=4", "stop=2", f"radius={radius}"])
        seen, stats = limn.eval(test), limn.stats()
        pivots.append(stats["pivots a query"])
        leaves.append(stats["leaves a query"])
        print(f"  {n:8} {100 * seen['error']:8.2f} {seen['latency_us_p50']:10.2f}"
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
median, p99: best of 5 single calls a row, over the rows (of the peers: 300 of them), in medians
over the seeds; the repeated calls find a row's path in the cache. Calls of the peers come from
Python and get rows that are scaled already, limn scales its own. batch: us a row, all test rows in
one call, one thread: a mean, every row met once. scan/it: the median of limn's exact scan over the
method's; in batch: the same of the batches. vectors touched, pivots and leaves are means over 1000
training rows, where votes are surer than on others: batch saved is what the early stop saves on
test rows. A training row that lies on a border between two halves goes both ways, hence some more
leaves than trees at radius=0.
+-: standard deviation over the seeds."""


def main():
    names = ["peers", "stop", "skin", "growth", "folds"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", required=True, help="path of limn")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(names))
    options = parser.parse_args()
    if set(options.sections) - set(names):
        parser.error("sections are " + ", ".join(names))
    sections = options.sections or names
    warnings.filterwarnings("ignore", category=FutureWarning)
    faiss.omp_set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        limn = Command(os.path.abspath(options.limn), folder, "minmax")
        if {"peers", "stop"} & set(sections):
            splits(limn, sections)
        for name, section in (("skin", skin), ("growth", growth), ("folds", folds)):
            if name in sections:
                section(limn)
    print(LEGEND)


if __name__ == "__main__":
    main()
