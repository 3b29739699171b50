"""Tables 3 to 7 of the paper on mapping class borders (Mills 2017): is a fast copy of an svm worth having?

  borders_tables.py --limn LIMN [SET...]

The paper's criterion (its Section 6): draw fewer and fewer training rows until the svm that is trained
on them is as fast as the copy, and compare the skill of the two. If no svm is fast enough, the skill is
matched instead and the times are compared. Here both sides are evaluated by limn, the svm exactly on its
packed support vectors, which is a faster rival than the paper's. The copies are what
limn train -m borders --teacher and limn train -m student --teacher give without any parameter; the
teacher is an svm with the paper's parameters (Table 2).

Data sets are looked for in LIMN_DATA.
"""
import argparse
import json
import math
import os
import sys
import tempfile
from collections import namedtuple

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from borders import Models, divided, numbers, timed_in_turn  # noqa: E402
from real_data import read_lines, write_lines  # noqa: E402

# What the paper has. seconds, accuracy, uc: of the svm and of its borders (Tables 3 and 4); vectors: of
# both (Table 5); part: rows, support vectors and UC of the svm on part of the rows (Table 6), or None.
Paper = namedtuple("Paper", "name gamma cost vectors seconds accuracy uc part verdict")
PAPER = (
    Paper("heart", 0.01, 0.5, (109, 100), (0, 0), (0.844, 0.846), (0.380, 0.385), None, "breaks even"),
    Paper("shuttle", 0.111, 1, (1277, 2100), (2.66, 1.35), (0.998, 0.995), (0.982, 0.974),
          (6522, 514, 0.974), "fails"),
    Paper("satimage", 0.1, 50, (1447, 3000), (0.750, 0.563), (0.914, 0.889), (0.799, 0.765),
          (2879, 1055, 0.785), "fails"),
    Paper("segment", 0.1, 100, (336, 1050), (0.078, 0.108), (0.961, 0.955), (0.916, 0.909), None,
          "fails"),
    Paper("dna", 0.0055, 1, (1288, 1000), (1.6, 1.89), (0.951, 0.744), (0.783, 0.479), None, "fails"),
    Paper("splice", 0.00167, 1, (678, 500), (0.542, 0.098), (0.894, 0.766), (0.514, 0.318),
          (39, 39, 0.140), "succeeds"),
    Paper("codrna", 0.125, 1, (8978, 500), (293, 3.3), (0.964, 0.961), (0.760, 0.744), (70, 49, 0.297),
          "succeeds"),
    Paper("letter", 0.065, 1, (5332, 5850), (14.0, 13.0), (0.958, 0.928), (0.927, 0.883),
          (11030, 5030, 0.927), "fails"),
    Paper("pendigits", 0.01, 50, (602, 2250), (0.48, 0.63), (0.978, 0.976), (0.949, 0.946), None,
          "fails"),
    Paper("usps", 0.004, 1, (2081, 2250), (5.31, 2.98), (0.949, 0.941), (0.879, 0.867),
          (2073, 942, 0.850), "succeeds"),
    Paper("mnist", 0.1, 50, (14865, 22500), (449, 283), (0.974, 0.960), (0.928, 0.902),
          (29997, 9143, 0.913), "fails"),
    Paper("ijcnn1", 0.045, 1, (4888, 500), (82.8, 2.6), (0.988, 0.980), (0.824, 0.759), (199, 77, 0.106),
          "succeeds"),
    Paper("madelon", 0.002, 1, (1959, 100), (3.53, 0.04), (0.585, 0.579), (0.021, 0.024), None,
          "succeeds"),
    Paper("seismic", 0.02, 1, (44385, 200), (256, 1.21), (0.724, 0.693), (0.308, 0.272),
          (156, 100, 0.181), "succeeds"),
    Paper("mushrooms", 0.0089, 50, (1052, 200), (2.2, 0.114), (1.0, 0.999), (0.997, 0.987),
          (1461, 438, 0.986), "succeeds"),
    Paper("phishing", 0.00147, 1, (1440, 500), (2.71, 0.259), (0.959, 0.953), (0.75, 0.725),
          (66, 56, 0.469), "succeeds"),
    Paper("humidity", 0.143, 50, (37767, 5600), (194, 5.13), (0.609, 0.605), (0.480, 0.476),
          (1234, 939, 0.421), "succeeds"),
)
COPIES = ("borders", "student")
# At most so many training rows; parameters other than the paper's.
CAPS, OTHERS = {"mnist": 5000}, {"mnist": ("minmax", 0.01)}
UNEVEN = 5  # rows of the largest class per row of the smallest, beyond which both rules are tried
SEEDS, NEAR, STEPS, TURNS, RESAMPLES, ERRORS = (1, 2, 3), 1.05, 8, 2, 400, 2

# One model on the test rows: rows it was trained on, vectors, us: of a query, seconds of training.
Seen = namedtuple("Seen", "model rows vectors us seconds accuracy uc answers")
# A copy beside the svm that it is compared with; matched: what was made equal.
Duel = namedtuple("Duel", "copy rival matched rule more error verdict")
# A data set, its svm (None: the set is missing), and a Duel per copy.
Outcome = namedtuple("Outcome", "paper case svm duels")


class Case:
    """A data set: files of training and of test rows, labels of both, and remarks."""

    def __init__(self, limn, paper, train, test, remarks):
        self.scale, gamma = OTHERS.get(paper.name, ("auto", paper.gamma))
        self.params = f"gamma={gamma}", f"C={paper.cost}"
        self.remarks = remarks + ([f"{self.scale} scaling, {self.params[0]}"] if paper.name in OTHERS
                                  else [])
        self.labels, self.truth = (numbers(row.split()[0] for row in rows) for rows in (train, test))
        self.train = write_lines(limn.path(paper.name + ".train.svm"), train)
        self.test = write_lines(limn.path(paper.name + ".test.svm"), test)

    def rules(self):
        """Ways to draw part of the rows."""
        sizes = np.unique(self.labels, return_counts=True)[1]
        return ("power", "equal") if sizes.max() > UNEVEN * sizes.min() else ("equal",)


def capped(lines, most):
    """At most so many rows, seeded; the shares of the classes stay."""
    rng = np.random.default_rng(0)
    labels = np.array([row.split()[0] for row in lines])
    rows = np.concatenate([rng.permutation(np.flatnonzero(labels == label))
                           [:max(1, round(most / len(lines) * np.sum(labels == label)))]
                           for label in np.unique(labels)])
    return [lines[i] for i in sorted(rows)]


def widest(lines):
    """The largest index of a feature."""
    return max(int(row.rsplit(b":", 1)[0].split()[-1]) for row in lines if b":" in row)


def as_wide(train, test):
    """The training rows; the first has a zero for the last feature of the test rows, which no other
    training row may have."""
    if widest(train) >= widest(test):
        return train
    return [train[0] + b" %d:0" % widest(test), *train[1:]]


def case_of(limn, paper):
    """A Case, or None."""
    train, test, remarks = read_lines(paper.name + ".train"), read_lines(paper.name + ".test"), []
    if not (train and test):
        whole = read_lines(paper.name)
        if not whole:
            return None
        train, test = divided(whole, 0)
        remarks.append("divided 70/30")
    if len(train) > CAPS.get(paper.name, math.inf):
        remarks.append(f"{CAPS[paper.name]:,} of {len(train):,} training rows")
        train = capped(train, CAPS[paper.name])
    return Case(limn, paper, as_wide(train, test), test, remarks)


# ---- models ----


def seen(limn, case, model, trained):
    """What a model does on the test rows; trained: what its training printed."""
    summary, found = json.loads(trained.stdout), [limn.of(model).eval(case.test) for _ in range(TURNS)]
    return Seen(model, summary["rows"], limn.vectors(), min(one["latency_us_mean"] for one in found),
                summary["seconds"], found[0]["accuracy"], found[0]["uc"], limn.answers(case.test))


def train_svm(limn, case, model, fraction=1.0, rule="equal", seed=1):
    limn.scale = case.scale
    done = limn.of(model).train(case.train, seed, "svm", case.params,
                                more=("--subsample", repr(fraction), "--subsample-rule", rule))
    return seen(limn, case, model, done)


def train_copy(limn, case, method):
    limn.scale = "auto"  # the teacher's
    done = limn.of(method).train(case.train, 1, method, more=("--teacher", limn.path("svm.limn")))
    return seen(limn, case, method, done)


# ---- an svm on fewer rows ----


class Search:
    """Machines on fewer and fewer rows, by the fraction drawn; the whole svm has fraction 1."""

    def __init__(self, limn, case, whole, rule):
        self.limn, self.case, self.rule, self.known = limn, case, rule, {1.0: whole}
        self.least = min(1.0, 2 * len(np.unique(case.labels)) / len(case.labels))

    def at(self, fraction):
        if fraction not in self.known:
            self.known[fraction] = train_svm(self.limn, self.case, "part", fraction, self.rule)
        return self.known[fraction]

    def nearest(self, enough):
        """The largest fraction known whose svm is not enough, and the smallest whose svm is, halving on
        a logarithmic scale; enough must hold for all rows and not for the least."""
        low, high = self.least, 1.0
        for _ in range(STEPS):
            if self.at(high).rows - self.at(low).rows <= 1:
                break
            middle = math.sqrt(low * high)
            low, high = (low, middle) if enough(self.at(middle)) else (middle, high)
        return low, high

    def as_fast(self, us):
        """The most rows whose svm takes at most this time, or None."""
        if self.at(self.least).us > NEAR * us:
            return None
        if self.at(1.0).us <= NEAR * us:
            return 1.0
        return self.nearest(lambda machine: machine.us > NEAR * us)[0]

    def as_skilled(self, uc):
        """The fewest rows whose svm has this UC; without any, all."""
        if self.at(self.least).uc >= uc:
            return self.least
        if self.at(1.0).uc < uc:
            return 1.0
        return self.nearest(lambda machine: machine.uc >= uc)[1]


def repeated(limn, case, fraction, rule, whole):
    """The svm on this fraction of the rows, of several seeds; all rows need but one."""
    if fraction == 1.0:
        return [whole]
    return [train_svm(limn, case, f"part{seed}", fraction, rule, seed) for seed in SEEDS]


# ---- verdicts ----


def uc_of(counts):
    """UC from counts[..., truth, answer]."""
    def entropy(table):
        share = table / counts.sum((-1, -2))[..., None]
        return -np.where(share > 0, share * np.log(np.where(share > 0, share, 1)), 0).sum(-1)

    known = entropy(counts.sum(-1))
    both = entropy(counts.reshape(*counts.shape[:-2], -1))
    return np.where(known > 0, (known - both + entropy(counts.sum(-2))) / np.where(known > 0, known, 1), 0)


def error_of_rows(truth, a, b):
    """The standard error of UC(a) - UC(b) that comes from the choice of the test rows: they are drawn
    again with replacement."""
    classes, code = np.unique(np.concatenate([truth, a, b]), return_inverse=True)
    k, (i, j, l) = len(classes), np.split(code, 3)
    share = np.bincount((i * k + j) * k + l, minlength=k ** 3) / len(truth)
    drawn = np.random.default_rng(0).multinomial(len(truth), share, RESAMPLES).reshape(-1, k, k, k)
    return np.std(uc_of(drawn.sum(3)) - uc_of(drawn.sum(2)), ddof=1)


def judged(more, error, late):
    """late: the copy takes longer than the svm on all rows."""
    step = 1 + (more > ERRORS * error) - (more < -ERRORS * error) - late
    return ("fails", "breaks even", "succeeds")[max(step, 0)]


def judged_slower(search, fraction):
    """No svm is as fast as the copy; the one on this fraction of the rows has its skill."""
    return "breaks even" if fraction == search.least else "succeeds"


def duel_by(limn, case, whole, copy, search):
    """A copy beside the svm on so many rows that the two are equally fast, or else equally good."""
    fraction = search.as_fast(copy.us)
    slower = fraction is None
    fraction = search.as_skilled(copy.uc) if slower else fraction
    machines = repeated(limn, case, fraction, search.rule, whole)
    names = {machine.model for machine in machines} | {copy.model}
    times = {name: best["mean"] for name, best in timed_in_turn(limn, names, case.test, TURNS).items()}
    rival = machines[0]._replace(**{field: np.mean([getattr(m, field) for m in machines])
                                    for field in ("vectors", "seconds", "accuracy", "uc")},
                                 us=np.mean([times[m.model] for m in machines]))
    more = copy.uc - rival.uc
    spread = np.std([m.uc for m in machines], ddof=1) ** 2 / len(machines) if len(machines) > 1 else 0
    error = math.sqrt(error_of_rows(case.truth, copy.answers, machines[0].answers) ** 2 + spread)
    copy = copy._replace(us=times[copy.model])
    verdict = (judged_slower(search, fraction) if slower
               else judged(more, error, fraction == 1.0 and copy.us > NEAR * rival.us))
    return Duel(copy, rival, "skill" if slower else "time", search.rule, more, error, verdict)


def outcome(limn, paper):
    case = case_of(limn, paper)
    if not case:
        return Outcome(paper, None, None, [])
    whole = train_svm(limn, case, "svm")
    searches = [Search(limn, case, whole, rule) for rule in case.rules()]
    duels = []
    for method in COPIES:
        copy = train_copy(limn, case, method)
        # The better rule counts: the rival is as good as it can be.
        duels.append(max((duel_by(limn, case, whole, copy, search) for search in searches),
                         key=lambda duel: (duel.matched == "time", duel.rival.uc)))
    return Outcome(paper, case, whole, duels)


# ---- tables ----


def rows_of(outcomes, width):
    """The sets that are there; the others get their line."""
    for found in outcomes:
        if found.svm:
            yield found
        else:
            print(f"{found.paper.name:{width}}not available")


def ratio(a, b):
    return f"{a / b:8.2f}" if a and b else f"{'-':>8}"


def show_skills(outcomes):
    print("Tables 3 and 4: training, time and skill\n\n"
          f"{'':11}{'':9}{'train':>8}{'us per':>9}{'times':>8}{'':>9}{'':>8}{'paper':>8}\n"
          f"{'':11}{'':9}{'seconds':>8}{'query':>9}{'faster':>8}{'accuracy':>9}{'UC':>8}{'faster':>8}"
          f"{'accuracy':>9}{'UC':>8}")
    for found in rows_of(outcomes, 11):
        paper, models = found.paper, [found.svm, *(duel.copy for duel in found.duels)]
        for i, one in enumerate(models):
            print(f"{'' if i else paper.name:11}{one.model:9}{one.seconds:8.1f}{one.us:9.3f}"
                  f"{ratio(found.svm.us, one.us) if i else '':>8}{one.accuracy:9.4f}{one.uc:8.4f}"
                  + (f"{ratio(*paper.seconds) if i else '':>8}{paper.accuracy[i]:9.3f}{paper.uc[i]:8.3f}"
                     if i < 2 else "") + ("" if i else "  " + ", ".join(found.case.remarks)).rstrip())


def show_sizes(outcomes):
    print("\nTable 5: support vectors and border vectors\n\n"
          f"{'':11}{'training':>9}{'support':>9}{'border':>9}{'svm':>9}{'borders':>9}{'paper':>9}\n"
          f"{'':11}{'rows':>9}{'vectors':>9}{'vectors':>9}{'us':>9}{'us':>9}{'support':>9}{'border':>9}")
    for found in rows_of(outcomes, 11):
        svm, borders = found.svm, found.duels[0].copy
        print(f"{found.paper.name:11}{svm.rows:9}{svm.vectors:9.0f}{borders.vectors:9.0f}{svm.us:9.3f}"
              f"{borders.us:9.3f}{found.paper.vectors[0]:9}{found.paper.vectors[1]:9}")


def show_parts(outcomes):
    print("\nTable 6: the svm on part of the rows, to match a copy\n\n"
          f"{'':11}{'':9}{'':8}{'':7}{'training':>9}{'support':>9}{'':>8}{'us per':>9}{'':>9}{'':>8}"
          f"{'paper':>9}\n{'':11}{'copy':9}{'matched':8}{'rule':7}{'rows':>9}{'vectors':>9}{'train s':>8}"
          f"{'query':>9}{'accuracy':>9}{'UC':>8}{'rows':>9}{'vectors':>9}{'UC':>8}")
    for found in rows_of(outcomes, 11):
        for i, duel in enumerate(found.duels):
            one, part = duel.rival, found.paper.part
            print(f"{'' if i else found.paper.name:11}{duel.copy.model:9}{duel.matched:8}"
                  f"{'-' if one.model == 'svm' else duel.rule:7}{one.rows:9}{one.vectors:9.0f}"
                  f"{one.seconds:8.2f}{one.us:9.3f}{one.accuracy:9.4f}{one.uc:8.4f}"
                  + (f"{part[0]:9}{part[1]:9}{part[2]:8.3f}" if part and not i else ""))


def show_verdicts(outcomes):
    print("\nTable 7: verdicts\n\n"
          f"{'':11}{'':9}{'us per query':>17}{'UC':>16}\n{'':11}{'copy':9}{'svm':>9}{'copy':>8}"
          f"{'svm':>8}{'copy':>8}{'more':>9}{'error':>8}  {'verdict':14}paper")
    for found in outcomes:
        if not found.svm:
            print(f"{found.paper.name:11}{'not available':74}  {found.paper.verdict}".rstrip())
        for i, duel in enumerate(found.duels):
            print(f"{'' if i else found.paper.name:11}{duel.copy.model:9}{duel.rival.us:9.3f}"
                  f"{duel.copy.us:8.3f}{duel.rival.uc:8.4f}{duel.copy.uc:8.4f}{duel.more:+9.4f}"
                  f"{duel.error:8.4f}  {duel.verdict:14}{'' if i else found.paper.verdict}".rstrip())
    there = [found for found in outcomes if found.svm]
    wins = [f"{method} {sum(found.duels[i].verdict == 'succeeds' for found in there)}"
            for i, method in enumerate(COPIES)]
    print(f"\nSuccesses out of {len(there)}: " + ", ".join(wins)
          + f"; the paper's borders {sum(found.paper.verdict == 'succeeds' for found in there)}")


LEGEND = f"""
svm: exact, on packed support vectors, with the paper's gamma and C; each pair of classes has a vote.
borders, student: what --teacher gives without any parameter, seed 1; the seconds are theirs alone. us per
query: mean of single calls that answer a class; where two models are compared, the best of {TURNS} runs in
turn. faster: time of the svm over that of the copy; the paper's svm is LIBSVM.
Table 6: time: the most rows whose svm takes at most {NEAR} of the copy's time (the search halves {STEPS}
times). skill: even two rows per class take longer, and the fewest rows that have the copy's UC are given;
if there are none, all. Vectors, seconds, accuracy and UC are means of {len(SEEDS)} seeds. rule: of
--subsample-rule; -: all rows. Where the largest class has over {UNEVEN} times the rows of the smallest, both
rules are tried, and the one whose svm is fast enough and has the higher UC counts. The paper used power
for shuttle alone. Its figures are those of the rival of its own borders.
Table 7: more: UC of the copy less that of the svm. error: its standard error, from test rows drawn again
and from the seeds. Equal times: the copy succeeds, or fails, if the two differ by more than {ERRORS} errors,
and breaks even otherwise; if it takes longer than the svm on all rows, it breaks even at best, and that only
if it has the higher UC. Equal skill: the svm is slower, and the copy succeeds, unless two rows per class
have that skill. paper: its verdict on borders, with LIBSVM as the rival.
mnist: with gamma 0.1, which the paper gives, nearly all rows become support vectors and many answers are
wrong, whether z-scores or minmax is used; gamma and scaling are other ones here.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", required=True, help="path of limn")
    parser.add_argument("sets", nargs="*", choices=[[], *(paper.name for paper in PAPER)])
    options = parser.parse_args()
    outcomes, failures = [], []
    for paper in PAPER:
        if not options.sets or paper.name in options.sets:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    outcomes.append(outcome(Models(os.path.abspath(options.limn), folder), paper))
                except RuntimeError as error:  # of a command; the other sets go on
                    failures.append(f"{paper.name} failed: {error}")
    for show in (show_skills, show_sizes, show_parts, show_verdicts):
        show(outcomes)
    print(LEGEND)
    sys.exit("\n".join(failures) or 0)


if __name__ == "__main__":
    main()
