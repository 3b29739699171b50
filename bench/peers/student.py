"""Students beside their teachers and peers: error, agreement with the teacher, time of a single call.
One table per data set, then the aims of its students.

  student.py --limn LIMN --front BENCH_FRONT --cache FOLDER [--teachers FOLDER] [--reuse] [NAME...]

Teachers are limn's svms with the parameters of front.py. They stay in the cache folder until their
parameters or the data change: a new limn does not train them again. With --teachers, a file NAME.limn
of that folder is the teacher instead, if it has the same parameters and as many rows; sets that have
no test part always train their own. Students are trained again when limn or their teacher changes,
peers when their versions do. With --reuse, errors and batch times are those of the last run of the
same model, and only single calls are timed again.

The data sets are looked for in LIMN_DATA; those that are missing are left out. Exits with 1 when a
peer in C errs more or less often than the original, not when an aim is missed.
"""
import math
import os
import shutil
import subprocess
import sys

import contest  # before numpy
from contest import ROUNDS, SECONDS, cell, info, judge, statistic
from openblas import FLAGS
from real_data import find_split

import numpy as np

# Students by size; each is trained with all seeds.
SIZES = {"letter": ("64", "128", "64+256", "128+512"), "pendigits": ("64", "32+128"),
         "satimage": ("64+256", "128+512"), "usps": ("16+128", "32+256"),
         "mnist": ("32+256", "64+256x128"), "ijcnn1": ("128", "32+128"), "segment": ("16+64",),
         "dna": ("16+128",)}
SEEDS = (1, 2, 3)
HIDDEN = (64, 128, 256)    # of scikit-learn's networks
MOST_SECONDS = 1800        # for training a teacher or a student

# The most mean error in %; the least agreement of size=auto in %; the mean time of a single call in us
# with AVX-512, below which it must stay, and SLOWER times that with AVX2; the same for seconds of
# training.
ERROR = {("letter", "128"): 2.9, ("letter", "64+256"): 2.6, ("pendigits", "64"): 2.1,
         ("satimage", "64+256"): 8.8, ("usps", "32+256"): 5.1, ("mnist", "64+256x128"): 1.9,
         ("ijcnn1", "128"): 1.15, ("dna", "16+128"): 4.7}
AGREEMENT = {"letter": 98, "pendigits": 99, "usps": 99, "mnist": 99, "ijcnn1": 99}
TIME = {("letter", "64+256"): 0.3, ("pendigits", "64"): 0.15, ("usps", "32+256"): 0.6,
        ("mnist", "64+256x128"): 1.6, ("ijcnn1", "128"): 0.15}
SLOWER = 2
TRAINING = {("letter", "64+256"): 60, ("letter", "auto"): 240}


# ---- teachers ----


def check_teacher(cache, path, data):
    """Ends the benchmark if a given teacher is not the one that would be trained."""
    c, gamma, scale = cache.svm
    seen = info(cache, path)
    params = seen["params"]
    if (seen["method"], seen["scale"], seen["rows"]) != ("svm", scale, len(data[0])) or \
            not math.isclose(params["C"], c) or not math.isclose(params["gamma"], gamma):
        sys.exit(f"{path} is not an svm with C={c} gamma={gamma!r} scale={scale} of {len(data[0])} rows")


def given_teacher(cache, folder):
    """A file of the folder, or None."""
    path = os.path.join(folder, cache.name + ".limn") if folder else None
    return path if path and find_split(cache.name) and os.path.exists(path) else None


def copy_teacher(cache, given, model, data):
    """bench_front writes next to a model, so it gets a copy."""
    check_teacher(cache, given, data)
    shutil.copyfile(given, model)
    return {"train": None}


def teacher_row(cache, data, folder):
    model, params = cache.path("svm.limn"), contest.svm_params(cache)
    given = given_teacher(cache, folder)
    if given:
        known = cache.once("svm", contest.digest(given), lambda: copy_teacher(cache, given, model, data))
    else:
        known = cache.once("svm", params, lambda: cache.train_limn("svm", model, params, MOST_SECONDS))
    return contest.limn_row("svm, the teacher", model, known)


# ---- students ----


def train_student(cache, size, seed, model):
    return cache.train_limn("student", model, ["--teacher", cache.path("svm.limn"), "-p",
                                               f"size={size}", "--seed", str(seed)], MOST_SECONDS)


def run_of(cache, size, seed):
    """The student of one seed. A failure is reported and tried again next time."""
    name = f"student-{size}-{seed}"
    model = cache.path(name + ".limn")
    try:
        known = cache.once(name, [cache.build, contest.digest(cache.path("svm.limn"))],
                           lambda: train_student(cache, size, seed, model))
    except subprocess.CalledProcessError:
        known = {"why": f"limn train fails with seed {seed}"}
    return contest.limn_row("student " + size, model, known)


def student_row(cache, data, teacher, size, seeds):
    """The student of the first seed, with the mean error and agreement of all seeds."""
    runs = [run_of(cache, size, seed) for seed in seeds]
    for run in contest.able(runs):
        contest.measure_answers(cache, run, data)
    failed = [run for run in runs if "why" in run.__dict__]
    if failed:
        return failed[0]
    row = runs[0]
    row.errors = [run.error for run in runs]
    row.error = float(np.mean(row.errors))
    row.agreement = 100 * float(np.mean([run.answers == teacher.answers for run in runs]))
    stats = info(cache, contest.model_file(row))["stats"]
    row.work, row.handed = statistic(stats, "multiply-adds"), statistic(stats, "handed")
    return row


def student_rows(cache, data, teacher):
    """Students by size; without their teacher there are none."""
    if "why" in teacher.__dict__:
        return {}
    seeds = {**{size: SEEDS for size in SIZES[cache.name]}, "auto": SEEDS[:1]}
    return {size: student_row(cache, data, teacher, size, some) for size, some in seeds.items()}


# ---- measuring ----


def time_avx2(cache, students):
    """Single calls of the students whose time is judged, once more with AVX2."""
    rows = contest.able(row for size, row in students.items() if (cache.name, size) in TIME)
    if not rows or "avx2" not in FLAGS:
        return
    for row, found in zip(rows, contest.single_calls(cache, rows, LIMN_ISA="avx2")):
        row.avx2 = found["mean"]


def measure(cache, data, folder):
    """All rows, and the students by size."""
    teacher = teacher_row(cache, data, folder)
    peers = [*contest.python_rows(cache, data, HIDDEN), *contest.libsvm_rows(cache, data)]
    for row in contest.able([teacher, *peers]):
        contest.measure_answers(cache, row, data)
    students = student_rows(cache, data, teacher)
    rows = [teacher, *students.values(), *peers]
    contest.measure_calls(cache, rows)
    time_avx2(cache, students)
    return rows, students


# ---- printing ----


def print_row(row):
    if "why" in row.__dict__:
        print(f"  {row.name:24} left out: {row.why}")
        return
    row.kilobytes = row.bytes / 1e3
    seeds = "  ".join(f"{error:.2f}" for error in row.__dict__.get("errors", []))
    print(f"  {row.name:24}{cell(row, 'error', 8, 2)}{cell(row, 'agreement', 8, 2)}"
          f"{cell(row, 'work', 11, 0)}{cell(row, 'handed', 8, 3)}{cell(row, 'mean', 10, 3)}"
          f"{cell(row, 'p50', 10, 3)}{cell(row, 'p99', 10, 3)}{cell(row, 'avx2', 8, 3)}"
          f"{cell(row, 'batch', 10, 3)}{cell(row, 'train', 9, 1)}{cell(row, 'kilobytes', 10, 1)}"
          f"  {'*' if row.front else '':5}  {seeds}".rstrip())


def print_rows(cache, data, rows):
    print(contest.describe(cache, data))
    print(f"  {'us per row':24}{'error %':>8}{'agree %':>8}{'mult.-adds':>11}{'handed':>8}{'mean':>10}"
          f"{'p50':>10}{'p99':>10}{'avx2':>8}{'batch':>10}{'train s':>9}{'KB':>10}  front  errors by seed")
    for row in rows:
        print_row(row)


def judge_time(label, row, most):
    """The times with both instruction sets; without AVX-512 there is nothing to compare."""
    if "avx512f" not in FLAGS or "LIMN_ISA" in os.environ:
        print(f"  {label}: time not judged, it needs AVX-512 and no LIMN_ISA")
        return
    for isa, key, limit in (("AVX-512", "mean", most), ("AVX2", "avx2", SLOWER * most)):
        judge(f"{label}, mean us with {isa} under {limit:g}", row.get(key),
              lambda found, limit=limit: found < limit, 3)


def judge_student(name, size, row):
    """The aims of one student; row is what is known of it."""
    label, key = f"{name}, size={size}", (name, size)
    if key in ERROR:
        judge(f"{label}, mean error in % at most {ERROR[key]:g}", row.get("error"),
              lambda found: found <= ERROR[key], 3)
    if size == "auto" and name in AGREEMENT:
        judge(f"{label}, agreement in % at least {AGREEMENT[name]:g}", row.get("agreement"),
              lambda found: found >= AGREEMENT[name], 2)
    if key in TIME:
        judge_time(label, row, TIME[key])
    if key in TRAINING:
        judge(f"{label}, seconds of training under {TRAINING[key]:g}", row.get("train"),
              lambda found: found < TRAINING[key], 1)


def judge_students(name, students):
    for size in (*SIZES[name], "auto"):
        row = students[size].__dict__ if size in students else {}
        judge_student(name, size, {} if "why" in row else row)


LEGEND = f"""
limn student SIZE: a network taught by the svm above it. SIZE is the number of hidden units; AxB: two
layers; S+L: a small network that hands over to a large one where it is unsure; auto: limn chooses.
error: on the test rows; of students the mean of {len(SEEDS)} seeds (auto: one), each given at the end of the
line. agree: share of the test rows to which student and teacher give the same class, right or wrong;
the mean of the same seeds. All else in the line is of the first seed.
mult.-adds, handed: multiply-adds of a query, and share of the queries that are handed over, as limn
info states them; - where it does not. mean, p50, p99: single calls in C, timed as in front
({ROUNDS} turns of {SECONDS} s in one process, one thread). avx2: the mean once more with LIMN_ISA=avx2,
only for students whose time has an aim. batch: one thread, all rows in one call (forests and networks:
the faster of that and the loop in C). train: wall clock on all cores, the teacher being given; - for a
teacher that was given, and for LIBSVM, which evaluates the machine of the teacher. KB: the model file
or the flat arrays. front: no other model of the table is both faster and more accurate.
aim: the limit, what was measured, and ok or MISSED; with AVX2 the limit of the time is {SLOWER} times that
with AVX-512.
Peers: one seed; defaults, xgboost with tree_method=hist, MLP(hidden units) on z-scores."""


def main():
    parser = contest.parser_of(__doc__.splitlines()[0])
    parser.add_argument("--teachers", help="folder of teachers, NAME.limn")
    options = parser.parse_args()
    contest.begin("Students and their teachers")
    fine = True
    for cache, data in contest.prepared(options):
        rows, students = measure(cache, data, options.teachers)
        print_rows(cache, data, rows)
        fine = contest.check_walks(rows) and fine
        judge_students(cache.name, students)
    print(LEGEND)
    contest.print_missed()
    sys.exit(not fine)


if __name__ == "__main__":
    main()
