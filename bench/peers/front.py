"""Error against the time of a single call: limn's methods beside their peers, one table per data set.
(Methods drawn from another model are compared with it instead: student.py, bench/papers/borders.py.)

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
import json
import os
import sys
from types import SimpleNamespace

import contest  # before numpy
from contest import LEAST_ROWS, ROUNDS, SECONDS, SETS, cell
from python_call import Empty
from python_models import mean_call

METHODS = ["knn", "lda", "svm", "vpc", "nah", "nhd", "nch", "nsc", "nrh", "bforest"]
LEARNED = ["knn", "vpc", "nrh", "bforest"]  # also with --scale learned


# ---- models ----


def limn_rows(cache):
    """Trained models of limn; all but svm have their defaults, and some also a learned map."""
    for method in METHODS:
        model = cache.path(method + ".limn")
        params = contest.svm_params(cache) if method == "svm" else []
        known = cache.once(method, [cache.build, params],
                           lambda m=method, p=params, f=model: cache.train_limn(m, f, p))
        yield contest.limn_row(method, model, known)
    for method in LEARNED:
        name, model, params = f"{method} learned", cache.path(method + "-learned.limn"), ["--scale", "learned"]
        known = cache.once(name, [cache.build, params],
                           lambda m=method, p=params, f=model: cache.train_limn(m, f, p))
        yield contest.limn_row(name, model, known)


def neighbor_rows(cache):
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


def measure(cache, data):
    rows = [*limn_rows(cache), *contest.libsvm_rows(cache, data),
            *contest.python_rows(cache, data, (100, 256)), *neighbor_rows(cache)]
    for row in contest.able(rows):
        contest.measure_answers(cache, row, data)
        if row.name.startswith("FLANN"):
            row.train = row.__dict__.get("build")
    contest.measure_calls(cache, rows)
    return rows


# ---- printing ----


def print_rows(cache, data, rows, empty):
    print(contest.describe(cache, data))
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
    parser = contest.parser_of(__doc__.splitlines()[0])
    parser.add_argument("--json", help="file for the figures of all data sets")
    options = parser.parse_args()
    contest.begin("Error against the time of a single call")
    fine, figures = True, {}
    for cache, data in contest.prepared(options):
        rows = measure(cache, data)
        print_rows(cache, data, rows, mean_call(Empty().fit(data[0], data[1]).predict, data[2]))
        fine = contest.check_walks(rows) and fine
        figures[cache.name] = {"rows": len(data[0]), "features": data[0].shape[1], "models": kept(rows)}
    print(LEGEND)
    if options.json and fine and set(figures) == set(SETS):
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
