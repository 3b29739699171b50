"""The figures of the paper on mapping class borders (Mills 2017), beside those of limn.

  borders.py --limn LIMN [SECTION...]

Sections, all unless given:
  number   skill against the number of border vectors, on two curved classes (the paper's Figure 3)
  growth   support vectors against training rows, on the same classes (Figure 4)
  time     time of a query against support vectors and border vectors (Figures 6 to 8)
  cases    the exact svm and its borders on real data, with the paper's parameters (Tables 2 to 5)
  agf      borders drawn from agf on real data (Table 3)

limn's curved classes are similar to the paper's, not the same: what the first three sections compare
is shapes, not numbers. Data sets are looked for in LIMN_DATA; those that are missing are left out.
"""
import argparse
import math
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers"))
from limn_command import Command  # noqa: E402
from real_data import read_lines, write_lines  # noqa: E402

MISSED = []


class Models(Command):
    """Models by name."""

    def of(self, name):
        """The commands that follow are about this model."""
        self.model = self.path(name + ".limn")
        return self

    def borders(self, data, vectors, seed=1, teacher="svm"):
        """Trains borders of the model named teacher."""
        return self.of("borders").train(data, seed, "borders", [f"borders={vectors}"],
                                        more=("--teacher", self.path(teacher + ".limn")))

    def votes(self, data):
        """The class with the most pairs, for each row."""
        return numbers(self.run("predict", self.model, data, "--vote", "--quiet").stdout.split())

    def faster(self, best, data):
        """One more evaluation: the smaller of its times and those in best."""
        seen = self.eval(data)
        return {key: min(best.get(key, math.inf), seen["latency_us_" + key]) for key in TIMES}


TIMES = ("mean", "p50", "p99")


def timed_in_turn(limn, names, data, rounds):
    """The best times of each model; other programs disturb all of them alike."""
    best = {name: {} for name in names}
    for _ in range(rounds):
        for name in names:
            best[name] = limn.of(name).faster(best[name], data)
    return best


# ---- skill ----


def numbers(words):
    return np.array([float(word) for word in words])


def entropy(counts):
    share = counts[counts > 0] / counts.sum()
    return -np.sum(share * np.log(share))


def uncertainty(truth, found):
    """The uncertainty coefficient: the share of the truth's entropy that the answers remove."""
    classes, i = np.unique(np.concatenate([truth, found]), return_inverse=True)
    both = np.zeros((len(classes), len(classes)))
    np.add.at(both, (i[:len(truth)], i[len(truth):]), 1)
    known = entropy(both.sum(1))
    return (known - entropy(both.ravel()) + entropy(both.sum(0))) / known


def skill(truth, found):
    return np.mean(truth == found), uncertainty(truth, found)


def star(off, what):
    """A star and a line at the end for what misses its aim."""
    if off:
        MISSED.append(what)
    return "*" if off else " "


# ---- two curved classes ----

TRIALS, ROWS, ASKED = 20, 300, 2000
SIZES = (1, 2, 5, 10, 15, 20, 30, 50, 100)
TEACHERS = "svm", "agf"
COLUMNS = (*TEACHERS, "true")
OVERLAP, BEND = 0.7, 1


def curved(limn, rows, seed):
    """Files of training and of test rows, and the rows of both."""
    both, train, test = limn.path("both.csv"), limn.path("train.csv"), limn.path("test.csv")
    limn.run("synth", "curved", "-n", str(rows + ASKED), "-p", f"overlap={OVERLAP}", "-p",
             f"bend={BEND}", "--seed", str(seed), "-o", both, "--quiet")
    with open(both, "rb") as file:
        head, *lines = file.read().splitlines()
    write_lines(train, [head] + lines[:rows])
    write_lines(test, [head] + lines[rows:])
    return train, test, *(np.loadtxt(path, delimiter=",", skiprows=1) for path in (train, test))


def height(x):
    """Of points over the generator's border."""
    return x[:, 1] - BEND * np.sin(1.5 * x[:, 0])


def true_points(rows, count, rng):
    """Where lines between random rows of the two classes cross the generator's border."""
    found = []
    while len(found) < count:
        ends = np.array([rng.choice(rows[rows[:, 2] == label, :2]) for label in (0, 1)])
        above = height(ends) > 0
        for _ in range(40 if above[0] != above[1] else 0):
            middle = ends.mean(0)
            ends[int((height(middle[None])[0] > 0) == above[1])] = middle
        found += [ends[0]] if above[0] != above[1] else []
    return np.array(found)


def true_skill(rows, asked, count, seed):
    """Skill of border vectors drawn from the generator's own border."""
    b = true_points(rows, count, np.random.default_rng(seed))
    normal = np.column_stack([-1.5 * BEND * np.cos(1.5 * b[:, 0]), np.ones(count)])
    apart = asked[:, None, :2] - b
    i = np.argmin(((apart / rows[:, :2].std(0)) ** 2).sum(2), 1)
    side = (apart[np.arange(len(i)), i] * normal[i]).sum(1)
    return skill(asked[:, 2], side > 0)


def bayes():
    """The best possible accuracy and uncertainty coefficient."""
    error = 0.5 * math.erfc(1 / OVERLAP / math.sqrt(2))
    return 1 - error, 1 - entropy(np.array([error, 1 - error])) / math.log(2)


def seen_skill(limn, test):
    seen = limn.eval(test, "--no-speed")
    return seen["accuracy"], seen["uc"]


def trial(limn, seed):
    """Skill of each teacher and of its borders by number; the last is the true border."""
    train, test, rows, asked = curved(limn, ROWS, seed)
    found = {("true", size): true_skill(rows, asked, size, seed) for size in SIZES}
    found["true"] = skill(asked[:, 2], height(asked) > 0)
    for teacher in TEACHERS:
        limn.of(teacher).train(train, method=teacher)
        found[teacher] = seen_skill(limn, test)
        for size in SIZES:
            limn.borders(train, size, seed, teacher)
            found[teacher, size] = seen_skill(limn, test)
    return found


def show_number(limn):
    trials = [trial(limn, seed) for seed in range(1, TRIALS + 1)]
    mean = {key: np.mean([found[key] for found in trials], axis=0) for key in trials[0]}
    print(f"Skill against border vectors (Figure 3): curved classes, {ROWS} training rows, {ASKED} test"
          f" rows,\nmeans of {TRIALS} trials; svm: C=1, gamma=1/2; agf: W=5; true: lines drawn in the"
          " same way,\nbut up to the generator's border\n")
    print(f"{'':20}{'accuracy':>27}{'UC':>27}\n{'border vectors':20}"
          + "".join(f"{name:>9}" for name in COLUMNS) * 2)
    for size in (*SIZES, None):
        cells = [mean[(name, size) if size else name][i] for i in (0, 1) for name in COLUMNS]
        print(f"{size or 'the teacher itself':<20}" + "".join(f"{cell:9.4f}" for cell in cells))
    print("{:20}{:27.4f}{:27.4f}".format("best possible", *bayes()))
    print("\nPaper: the scores level off at about 20 vectors.")
    for name in COLUMNS:
        show_settled(mean, name)
    print()


def show_settled(mean, name):
    """From how many border vectors on the skill is that of the most, and what 20 vectors lack."""
    most = mean[name, SIZES[-1]]
    low = [i for i, size in enumerate(SIZES) if mean[name, size][1] < most[1] - 0.005]
    first = SIZES[max(low) + 1] if low else SIZES[0]
    reached = f"from {first} vectors on" if first < SIZES[-1] else "by no smaller number"
    accuracy, uc = most - mean[name, 20]
    print(f"{name}: the UC of {SIZES[-1]} vectors is reached within .005 {reached}; 20 vectors lack"
          f" {uc:.4f} UC, {accuracy:.4f} accuracy")


# ---- how support vectors grow ----

GROWTH, GROWTH_SEEDS = (100, 200, 500, 1000, 2000, 5000), range(1, 6)


def show_growth(limn):
    found = []
    print("Support vectors against training rows (Figure 4): curved classes, C=1, gamma=1/2,"
          f" means of {len(GROWTH_SEEDS)} seeds\n\n{'rows':>8}{'support vectors':>18}{'share':>8}")
    for rows in GROWTH:
        counts = []
        for seed in GROWTH_SEEDS:
            train, *_ = curved(limn, rows, seed)
            limn.of("svm").train(train, method="svm")
            counts.append(limn.stats()["support vectors"])
        found.append(np.mean(counts))
        print(f"{rows:8}{found[-1]:18.1f}{found[-1] / rows:8.3f}", flush=True)
    power, constant = np.polyfit(np.log(GROWTH), np.log(found), 1)
    print(f"\n{math.exp(constant):.2f} N^{power:.2f} (paper: 0.38 N^0.94)\n")


# ---- time against vectors ----

TIME_ROWS = (100, 300, 1000, 2000, 3000, 5000)
TIME_SIZES = (10, 50, 100, 300, 600, 1000, 2000)
ROUNDS = 5


def time_models(limn):
    """Trains the models to be timed: their names and numbers of vectors, and the test rows."""
    machines, drawn = {}, {}
    for rows in TIME_ROWS:
        train, test, *_ = curved(limn, rows, 1)
        limn.of(f"svm{rows}").train(train, method="svm")
        machines[f"svm{rows}"] = limn.stats()["support vectors"]
    for size in TIME_SIZES:
        limn.borders(train, size, 1, f"svm{TIME_ROWS[-1]}")
        os.replace(limn.model, limn.path(f"borders{size}.limn"))
        drawn[f"borders{size}"] = limn.of(f"borders{size}").stats()["border vectors"]
    return machines, drawn, test


def line(title, counts, best):
    """Prints the times of some models and the straight line through them."""
    x, y = list(counts.values()), [1000 * best[name]["mean"] for name in counts]
    slope, constant = np.polyfit(x, y, 1)
    print(f"\n{title:>16}{'ns per query':>14}{'the line':>10}")
    for vectors, time in zip(x, y):
        print(f"{vectors:16.0f}{time:14.1f}{slope * vectors + constant:10.1f}")
    print(f"{slope:.3f} ns per vector and {constant:.0f} ns", flush=True)
    return slope, constant


def show_time(limn):
    machines, drawn, test = time_models(limn)
    best = timed_in_turn(limn, [*machines, *drawn], test, ROUNDS)
    print("Mean time of a single call against vectors (Figures 6 to 8): curved classes, 2 features, best"
          f" of {ROUNDS} runs in turn")
    of_svm, constant_svm = line("support vectors", machines, best)
    of_borders, constant_borders = line("border vectors", drawn, best)
    share, more = of_svm / of_borders, (constant_svm - constant_borders) / of_borders
    print(f"\nEqual times: {share:.2f} border vectors per support vector, {more:+.0f}"
          " (paper: about 3, its rule of thumb)")
    print("".join(f"  {count} support vectors: {share * count + more:.0f}" for count in
                  (100, 300, 1000)) + "\n")


# ---- real data ----

SEEDS, WITHIN, TURNS, SPLITS = range(1, 4), 0.012, 2, 10
# gamma, C, border vectors per pair; UC aimed at; whether it must be met; UC of the paper: svm, borders.
CASES = {
    "pendigits": (0.01, 50, 50, 0.9449, True, 0.949, 0.946),
    "segment": (0.1, 100, 50, 0.8859, True, 0.916, 0.909),
    "satimage": (0.1, 50, 200, 0.7528, True, 0.799, 0.765),
    "shuttle": (0.111, 1, 100, 0.9765, True, 0.982, 0.974),
    "letter": (0.065, 1, 75, 0.8842, True, 0.927, 0.883),
    "ijcnn1": (0.045, 1, 500, 0.7388, True, 0.824, 0.759),
    "usps": (0.004, 1, 50, None, False, 0.879, 0.867),
    "dna": (0.0055, 1, 500, 0.4811, False, 0.783, 0.479),
    "splice": (0.00167, 1, 500, 0.3779, False, 0.514, 0.318),
}
FASTER = {"ijcnn1": 5}


def divided(lines, seed):
    """A set that has no test part: 70 % of each class to train with."""
    labels, rng, train = np.array([row.split()[0] for row in lines]), np.random.default_rng(seed), []
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        train.extend(rows[:round(0.7 * len(rows))])
    train = set(train)
    return ([row for i, row in enumerate(lines) if i in train],
            [row for i, row in enumerate(lines) if i not in train])


def files_of(limn, name, seed=0):
    """Files of training and of test rows and the labels of the test rows, or None."""
    train, test = read_lines(name + ".train"), read_lines(name + ".test")
    if not train or not test:
        whole = read_lines(name)
        if not whole:
            print(f"{name:10}is left out: not in LIMN_DATA")
            return None
        train, test = divided(whole, seed)
    truth = numbers(row.split()[0] for row in test)
    return write_lines(limn.path("train.svm"), train), write_lines(limn.path("test.svm"), test), truth


def drawn_skills(limn, train, test, truth, vectors):
    """Accuracy and uncertainty coefficient of each seed; the model of the first stays."""
    found = []
    for seed in reversed(SEEDS):
        limn.borders(train, vectors, seed)
        found.append(skill(truth, limn.votes(test)))
    return np.array(found)


def show_case(limn, name):
    """Prints the skill on one data set; returns sizes and times."""
    vectors, aim, must, paper_svm, paper = CASES[name][2:]
    files = files_of(limn, name)
    if not files:
        return None
    train, test, truth = files
    machine(limn, name, train, "probability=yes")
    exact, sizes = skill(truth, limn.votes(test)), [limn.stats()["support vectors"]]
    found = drawn_skills(limn, train, test, truth, vectors)
    (accuracy, uc), (_, sd) = found.mean(0), found.std(0, ddof=1)
    mark = star(must and uc < aim - WITHIN, f"{name}: UC {uc:.4f}, aim {aim}")
    mark = "+" if must and uc > aim + WITHIN else mark
    print(f"{name:10}{exact[0]:10.4f}{exact[1]:8.4f}{paper_svm:8.3f}{accuracy:12.4f}{uc:8.4f}"
          f"{sd:8.4f}{aim or '-':>9}{mark}{paper:8.3f}", flush=True)
    sizes.append(limn.of("borders").stats()["border vectors"])
    return sizes, timed_in_turn(limn, ["svm", "borders"], test, TURNS)


def machine(limn, name, train, *params):
    gamma, cost = CASES[name][:2]
    limn.of("svm").train(train, method="svm", params=[f"gamma={gamma}", f"C={cost}", *params])


def show_splits(limn, name):
    """What the split does to the skill on a data set without a test part."""
    found = []
    for seed in range(SPLITS):
        train, test, truth = files_of(limn, name, seed)
        machine(limn, name, train)
        exact = skill(truth, limn.votes(test))
        limn.borders(train, CASES[name][2])
        found.append([exact[1], skill(truth, limn.votes(test))[1]])
    (svm, drawn), (svm_sd, drawn_sd) = np.mean(found, 0), np.std(found, 0, ddof=1)
    print(f"\n{name}, {SPLITS} splits: UC of svm {svm:.4f} (sd {svm_sd:.4f}; paper 0.916, 0.016),"
          f" of borders {drawn:.4f} (sd {drawn_sd:.4f}; paper 0.909, 0.014)")


def show_times(cases):
    print(f"\n{'':10}{'vectors':>15}{'svm, us per query':>24}{'borders, us per query':>26}\n{'':10}"
          f"{'svm':>7}{'borders':>8}" + f"{'mean':>10}{'p50':>8}{'p99':>8}" * 2 + f"{'ratio':>9}")
    for name, (sizes, best) in cases.items():
        ratio = best["svm"]["mean"] / best["borders"]["mean"]
        least = FASTER.get(name, 0)
        mark = star(ratio < least, f"{name}: ratio {ratio:.2f}, at least {least}")
        times = "".join(f"{best[model]['mean']:10.2f}{best[model]['p50']:8.2f}{best[model]['p99']:8.2f}"
                        for model in ("svm", "borders"))
        print(f"{name:10}{sizes[0]:7.0f}{sizes[1]:8.0f}{times}{ratio:9.2f}{mark.rstrip()}")


CASES_LEGEND = f"""
Accuracy and UC: each pair of classes has a vote. sd: of the UC over the seeds. aim: * where the UC
is lower by more than {WITHIN}, + where it is higher by as much (not judged: usps, dna, splice). paper: its UC, from 1000 borders of
dna, 12,000 training rows of letter, and ten splits of segment, which has no test part; here
the splits are seeded, 70 % of each class to train with, and the table has the first. us per query:
single calls that answer the most probable class, so that with more than two classes the times of svm
and of borders include the coupling of the pairs' probabilities; the best of {TURNS} runs in turn; the
borders are those of seed 1. ratio: mean of svm over mean of borders; ijcnn1: at least 5.
"""


def show_cases(limn):
    if "LIMN_DATA" not in os.environ:
        print("The case studies are left out: they need LIMN_DATA.\n")
        return
    print("The exact svm and its borders, gamma, C and borders per pair of the paper,"
          f" {len(SEEDS)} seeds\n")
    print(f"{'':10}{'svm':>18}{'paper':>8}{'borders':>20}\n{'':10}{'accuracy':>10}{'UC':>8}{'UC':>8}"
          f"{'accuracy':>12}{'UC':>8}{'sd':>8}{'aim':>9}{'paper':>9}")
    cases = {name: show_case(limn, name) for name in CASES}
    show_times({name: case for name, case in cases.items() if case})
    if cases["segment"]:
        show_splits(limn, "segment")
    print(CASES_LEGEND)


# W, border vectors per pair, UC of the paper.
FILTERS = {"pendigits": (2, 200, 0.925), "satimage": (5, 200, 0.753), "shuttle": (1.5, 250, 0.96),
           "segment": (3, 100, 0.858)}


def show_agf(limn):
    if "LIMN_DATA" not in os.environ:
        print("Borders of agf are left out: they need LIMN_DATA.\n")
        return
    print("agf and its borders, W and borders per pair of the paper, seed 1; each pair has a vote\n")
    print(f"{'':10}{'agf':>18}{'borders':>20}{'paper':>8}\n{'':10}" + f"{'accuracy':>10}{'UC':>8}"
          f"{'accuracy':>12}{'UC':>8}{'UC':>8}{'vectors':>10}")
    for name, (weight, vectors, paper) in FILTERS.items():
        files = files_of(limn, name)
        if not files:
            continue
        train, test, truth = files
        limn.of("agf").train(train, method="agf", params=[f"W={weight}"])
        exact = seen_skill(limn, test)
        limn.borders(train, vectors, teacher="agf")
        found = skill(truth, limn.votes(test))
        print(f"{name:10}{exact[0]:10.4f}{exact[1]:8.4f}{found[0]:12.4f}{found[1]:8.4f}{paper:8.3f}"
              f"{limn.stats()['border vectors']:10.0f}", flush=True)
    print()


SECTIONS = {"number": show_number, "growth": show_growth, "time": show_time, "cases": show_cases,
            "agf": show_agf}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", required=True, help="path of limn")
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        limn = Models(os.path.abspath(options.limn), folder)
        for name in options.sections or SECTIONS:
            SECTIONS[name](limn)
    print("\n".join(["Missed:"] + MISSED) if MISSED else "No aim is missed.")


if __name__ == "__main__":
    main()
