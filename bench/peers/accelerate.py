"""limn accelerate beside other ways to make an svm faster: error, agreement with it, time of a call.
One table per data set, then the aims of limn's race.

  accelerate.py --limn LIMN --front BENCH_FRONT --cache FOLDER [--reuse] [--json FILE] [NAME...]

The svm is limn's, with fixed parameters. limn accelerate draws a faster model from it with all
training rows and judges by the test rows; then with the training rows alone, which the svm knows; and
on some sets without any data as well. dlib
reduces the same machine, as limn convert writes it, to as many vectors as limn's borders have
(reduced_decision_function_trainer2; two classes only). scikit-learn's Nystroem and RBFSampler, with
the gamma and the scaling of the svm, get a linear svm with its C (approximations.py) and are
trained on the training rows, without the svm.

Models stay in the cache folder: the svm until its parameters or the data change, limn's others
until limn or the svm changes, dlib's and scikit-learn's until the svm or their versions do. With
--reuse, errors are those of the last run of the same model, and only single calls are timed again.
What of limn's takes over MOST_SECONDS is left out, and what of dlib's takes longer than a race may. The
JSON file, from which README.md has a table, is written only when all sets are there.

The data sets are looked for in LIMN_DATA; those that are missing are left out. Exits with 1 when a
peer in C errs more or less often than the original, not when an aim is missed.
"""
import json
import subprocess
import sys
import time
from types import SimpleNamespace

import contest  # before numpy
from contest import MOST_SECONDS, ROUNDS, SECONDS, cell, info, judge, statistic
from approximations import approximations
from real_data import find_split

import numpy as np
import sklearn

# C, gamma and scaling of the svm.
SETS = {**{name: contest.SETS[name] for name in ("letter", "pendigits", "satimage", "usps", "ijcnn1")},
        "a9a": (1, 0.05, "none"), "splice": (10, 0.01, "zscore")}
WITHOUT_DATA = ("letter", "pendigits", "satimage")
REDUCED = (20, 100, 500)   # vectors that dlib is asked for
REDUCING_SECONDS = 150     # the time limit of limn accelerate
SETTLED = 0.01             # share of answers in doubles that is worth a line

# How many times faster than LIBSVM the chosen model is at least; the longest race in seconds; how
# many points the error is at most above the svm's when there was no data, and when there were only
# rows that the svm knows.
FASTER = {"letter": 500, "ijcnn1": 500, "pendigits": 100, "satimage": 100, "usps": 100, "a9a": 100}
LONGEST = 180
POINTS = 1


# ---- limn ----


def svm_row(cache):
    model, params = cache.path("svm.limn"), contest.svm_params(cache)
    known = cache.once("svm", params, lambda: cache.train_limn("svm", model, params))
    row = contest.limn_row("svm, exact", model, known)
    if "why" not in known:
        row.what = f"{statistic(info(cache, model)['stats'], 'vectors'):.0f} vectors"
    return row


def run_race(cache, model, data):
    """Wall clock of limn accelerate and what it says of the race."""
    start = time.perf_counter()
    try:
        done = subprocess.run([cache.limn, "accelerate", cache.path("svm.limn"), *data, "--json", "-q",
                               "-o", model], text=True, check=True, timeout=MOST_SECONDS,
                              stdout=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        return {"why": f"the race takes over {MOST_SECONDS} s"}
    return {"train": time.perf_counter() - start, "race": json.loads(done.stdout)}


def describe_model(cache, row):
    """Method and parameters of the chosen model, and its vectors if it has some."""
    chosen, vectors = row.race["chosen"], statistic(info(cache, row.model)["stats"], "vectors")
    words = f"{chosen['method']} {chosen['params']}".strip()
    return words if vectors is None else f"{words}: {vectors:.0f} vectors"


def race_row(cache, name, title, data):
    """The model that limn chooses. A failure is reported and tried again next time."""
    model = cache.path(name + ".limn")
    try:
        known = cache.once(name, [cache.build, contest.digest(cache.path("svm.limn"))],
                           lambda: run_race(cache, model, data))
    except subprocess.CalledProcessError:
        known = {"why": "limn accelerate fails"}
    row = contest.limn_row(title, model, {**known, "model": model})
    if "why" not in known:
        row.kept = row.race["chosen"] == {key: value for key, value in row.race["before"].items()
                                          if key != "libsvm"}
        row.what = describe_model(cache, row)
    return row


def race_rows(cache):
    train, test = find_split(cache.name)
    yield race_row(cache, "fast", "accelerate", ["--data", train, "--test", test])
    yield race_row(cache, "known", "accelerate, known rows", ["--data", train])
    if cache.name in WITHOUT_DATA:
        yield race_row(cache, "nodata", "accelerate, no data", [])


# ---- dlib ----


def dlib_version(front):
    """Empty if bench_front was built without it."""
    return subprocess.run([front, "dlib"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.strip()


def reduce_machine(cache, vectors, model):
    try:
        done = subprocess.run([cache.front, "reduce", cache.path("scaled-train.bin"),
                               cache.path("libsvm.model"), str(vectors), model], text=True, check=True,
                              timeout=REDUCING_SECONDS, stdout=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        return {"why": f"reducing takes over {REDUCING_SECONDS} s"}
    return json.loads(done.stdout)


def dlib_rows(cache, data):
    """dlib with the machine and the scaled rows of LIBSVM; there are none of more than two classes."""
    if len(np.unique(data[1])) > 2:
        return
    version = dlib_version(cache.front)
    if not version:
        yield SimpleNamespace(name="dlib", why="bench_front was built without it (scripts/deps.sh bench)")
        return
    contest.write_table(cache.path("scaled-train.bin"), contest.scaled(cache.svm[2], data[0], data[0]),
                        data[1])
    for vectors in REDUCED:
        name = f"dlib-{vectors}"
        model = cache.path(name)
        known = cache.once(name, [version, contest.digest(cache.path("svm.limn"))],
                           lambda v=vectors, m=model: reduce_machine(cache, v, m))
        row = SimpleNamespace(name=f"dlib, reduced({vectors})",
                              spec=f"dlib:{model},{cache.path('scaled.bin')}", **known)
        if "vectors" in known:
            row.what = f"{known['vectors']} vectors"
        yield row


# ---- scikit-learn ----


def approximation_rows(cache, data):
    for row in contest.peer_rows(cache, data, approximations(cache.svm),
                                 ["approximations", sklearn.__version__, list(cache.svm)]):
        row.what = row.python.size_in_words()
        yield row


# ---- measuring ----


def compare(rows, svm, libsvm):
    """Agreement with the svm, and how many times faster each is."""
    for row in contest.able(rows):
        row.agreement = 100 * float(np.mean(row.answers == svm.answers))
        row.times_libsvm, row.times_exact = libsvm.mean / row.mean, svm.mean / row.mean


def measure(cache, data):
    """All rows by what they are: svm, libsvm, fast, known, nodata, peers."""
    svm = svm_row(cache)
    if "why" in svm.__dict__:
        return {"svm": svm}
    [libsvm] = contest.libsvm_rows(cache, data)
    libsvm.what = svm.what
    races = dict(zip(("fast", "known", "nodata"), race_rows(cache)))
    peers = [*dlib_rows(cache, data), *approximation_rows(cache, data)]
    rows = [libsvm, svm, *races.values(), *peers]
    for row in contest.able(rows):
        contest.measure_answers(cache, row, data)
    contest.measure_calls(cache, rows)
    compare(rows, svm, libsvm)
    return {"libsvm": libsvm, "svm": svm, **races, **dict(enumerate(peers))}


# ---- printing ----


def print_row(row):
    if "why" in row.__dict__:
        print(f"  {row.name:24} left out: {row.why}")
        return
    row.kilobytes = row.bytes / 1e3
    print(f"  {row.name:24}{cell(row, 'error', 8, 2)}{cell(row, 'agreement', 8, 2)}"
          f"{cell(row, 'mean', 10, 3)}{cell(row, 'p50', 10, 3)}{cell(row, 'p99', 10, 3)}"
          f"{cell(row, 'times_libsvm', 10, 1)}{cell(row, 'times_exact', 8, 2)}"
          f"{cell(row, 'train', 9, 1)}{cell(row, 'kilobytes', 10, 1)}  {'*' if row.front else '':5}"
          f"  {row.what}".rstrip())


def print_race(row):
    """What limn says of the race."""
    race = row.race
    states = [entry["state"] for entry in race["candidates"]]
    rows = "support vectors and points around them" if race["sampled"] else "rows"
    print(f"  {row.name}: {states.count('raced')} models raced, {states.count('not tried')} not tried in"
          f" time, {states.count('failed')} failed; fitted to {race['rows_fitted']} {rows}, judged by"
          f" {race['judged_by']} on {race['rows_judged']}; by its own measure"
          f" {race['chosen']['speedup_libsvm']:.0f} x faster than LIBSVM")


def print_rows(cache, data, rows):
    print(contest.describe(cache, data))
    print(f"  {'us per row':24}{'error %':>8}{'agree %':>8}{'mean':>10}{'p50':>10}{'p99':>10}"
          f"{'x LIBSVM':>10}{'x exact':>8}{'train s':>9}{'KB':>10}  front  size")
    for row in rows.values():
        print_row(row)
    for row in contest.able(rows.values()):
        if "race" in row.__dict__:
            print_race(row)
        if row.__dict__.get("settled", 0) > SETTLED:
            print(f"  {row.name}: {100 * row.settled:.1f} % of the answers took doubles")
    sys.stdout.flush()


# ---- aims ----


def above(svm, row):
    """Points of error above the svm."""
    return row["error"] - svm["error"] if row else None


def judge_races(name, rows):
    """Aims of the race with data, then of those with less."""
    known = {key: {} if "why" in row.__dict__ else row.__dict__ for key, row in rows.items()}
    svm, fast = known["svm"], known.get("fast", {})
    if name in FASTER:
        judge(f"{name}, times faster than LIBSVM at least {FASTER[name]}", fast.get("times_libsvm"),
              lambda found: found >= FASTER[name], 1)
    # The svm itself is not slower than itself, whatever the clock says.
    judge(f"{name}, times faster than the exact svm at least 1",
          1 if fast.get("kept") else fast.get("times_exact"), lambda found: found >= 1, 2)
    judge(f"{name}, seconds of the race at most {LONGEST}", fast.get("train"),
          lambda found: found <= LONGEST, 1)
    if name in FASTER:
        judge(f"{name}, known rows, points of error above the svm at most {POINTS}",
              above(svm, known.get("known")), lambda found: found <= POINTS, 2)
    if name in WITHOUT_DATA:
        judge(f"{name}, no data, points of error above the svm at most {POINTS}",
              above(svm, known.get("nodata")), lambda found: found <= POINTS, 2)


LEGEND = f"""
Every row of a table answers in place of the same svm, whose parameters are over the table.
LIBSVM: svm_predict with the machine of limn's svm. limn svm, exact: limn's own evaluation of it.
limn accelerate: the model that limn accelerate writes by its defaults, given the svm, the training rows
to fit to and the test rows to judge by; so its error is that of a model chosen on these rows. known
rows: the same, given the training rows alone, of which a part judges. no data: given the svm alone. To
both the test rows are new. dlib, reduced(N):
reduced_decision_function_trainer2 on the machine of the svm and the training rows, eps 0.001; two
classes only. Nystroem(N), RBFSampler(N): scikit-learn's features of the same kernel, with N components,
and LinearSVC on them; they do not see the svm.
error: on the test rows. agree: share of the test rows to which the model and the svm give the same
class, right or wrong. mean, p50, p99: microseconds of single calls in C and C++, timed as in front
({ROUNDS} turns of {SECONDS} s in one process, one thread). limn's models, Nystroem and RBFSampler scale the
row; LIBSVM and dlib get scaled rows, as nodes and as vectors made beforehand. Nystroem and RBFSampler are
evaluated in C over flat arrays, compiled for this machine, in floats with exponentials and cosines of
libmvec; where two scores are so close that rounding may matter, in doubles. They must err exactly as
often as the original. A line says so if over {100 * SETTLED:g} % of the answers took doubles.
x LIBSVM, x exact: how many times the mean of LIBSVM, and of limn's exact svm, is that of the model.
train: wall clock on all cores, the svm being given (its own: in its row); of limn accelerate, the whole
race; of dlib, the reduction; of scikit-learn, features and linear svm. What of limn's takes over
{MOST_SECONDS} s, or of dlib's over {REDUCING_SECONDS}, is left out. KB: the model file, or the flat arrays of
floats. front: no other model of the table is both faster and more accurate. size: what the model is, and how many vectors or cosines it
computes; Nystroem counts equal vectors once.
aim: the limit, what was measured, and ok or MISSED; of the race with data unless it says otherwise.
One seed each."""


def kept(row):
    keys = ("error", "agreement", "mean", "p50", "p99", "times_libsvm", "times_exact", "train", "what")
    return {key: row.__dict__[key] for key in keys if key in row.__dict__}


def main():
    parser = contest.parser_of(__doc__.splitlines()[0], SETS)
    parser.add_argument("--json", help="file for the figures of LIBSVM and limn on all data sets")
    options, figures = parser.parse_args(), {}
    contest.begin("limn accelerate and other ways to a faster svm",
                  f"dlib {dlib_version(options.front) or 'missing'}")
    fine = True
    for cache, data in contest.prepared(options, SETS):
        rows = measure(cache, data)
        print_rows(cache, data, rows)
        fine = contest.check_walks(rows.values()) and fine
        judge_races(cache.name, rows)
        figures[cache.name] = {key: kept(row) for key, row in rows.items() if isinstance(key, str)}
    print(LEGEND)
    if options.json and fine and set(figures) == set(SETS):
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
    contest.print_missed()
    sys.exit(not fine)


if __name__ == "__main__":
    main()
