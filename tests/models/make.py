#!/usr/bin/python3
"""Writes tests/models/VERSION: a small model of every method, and what it answers.

  python3 tests/models/make.py build/limn

Run it once for each release and commit the folder: tests/cli/test_models.py opens every model of
every version for good. A folder holds the models, the rows they are asked about, their answers, and
list.tsv, which says what belongs together: model, rows, command, answers."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "examples", "data")

# Training data: name -> arguments of limn synth, or a bundled file and its options.
MADE = {
    "classes": ["mixture", "-n", "90", "-p", "classes=3"],
    "values": ["friedman", "-n", "80"],
}
BUNDLED = {
    "fruit": ["fruit-train.csv", "--missing", "median"],
    "iris": ["iris.csv"],
}

# Models: name -> data, method, then options. The order matters only to a reader.
MODELS = {
    "knn": ("fruit", "knn", "-p", "k=3", "-p", "weights=distance", "--scale", "minmax"),
    "knn-cosine": ("iris", "knn", "-p", "metric=cosine", "-p", "class_weight=balanced"),
    "knn-regress": ("values", "knn", "--task", "regress"),
    "knn-search": ("classes", "knn", "--task", "search"),
    "lda": ("fruit", "lda", "-p", "shrinkage=auto"),
    "svm": ("iris", "svm", "-p", "probability=yes"),
    "svm-linear": ("fruit", "svm", "-p", "kernel=linear"),
    "svm-poly": ("iris", "svm", "-p", "kernel=poly", "-p", "degree=2", "-p", "coef0=1"),
    "svm-regress": ("values", "svm", "--task", "regress", "-p", "C=10"),
    "svm-outlier": ("iris", "svm", "--task", "outlier", "-p", "nu=0.1"),
    "vpc": ("iris", "vpc", "-p", "trees=4"),
    "vpc-paper": ("classes", "vpc", "-p", "style=paper"),
    "nah": ("iris", "nah", "-p", "dim=2"),
    "nhd": ("fruit", "nhd", "-p", "reject=0.05", "--scale", "zscore"),
    "nhd-rbf": ("iris", "nhd", "-p", "kernel=rbf"),
    "nch": ("iris", "nch"),
    "nch-local": ("iris", "nch", "-p", "neighbors=5", "-p", "kernel=poly", "-p", "degree=2"),
    "nsc": ("iris", "nsc", "-p", "nu=0.2"),
    "nrh": ("iris", "nrh"),
    "nrh-local": ("iris", "nrh", "-p", "neighbors=7"),
    "bforest": ("iris", "bforest", "-p", "trees=8"),
    "bforest-paper": ("classes", "bforest", "-p", "style=paper", "-p", "trees=5"),
    "bforest-regress": ("values", "bforest", "--task", "regress", "-p", "trees=6"),
}


class Maker:
    def __init__(self, limn):
        self.limn = os.path.abspath(limn)
        version = self.run("--version").split()[1]
        self.folder = os.path.join(HERE, version)
        self.list = []
        os.makedirs(self.folder)

    def run(self, *arguments, text=None):
        done = subprocess.run([self.limn, *arguments], text=True, stdout=subprocess.PIPE,
                              input=text)
        if done.returncode:
            sys.exit(f"limn {' '.join(arguments)}: exit code {done.returncode}")
        return done.stdout

    def path(self, name):
        return os.path.join(self.folder, name)

    def ask(self, model, rows, *command):
        """Keeps what a command says of the rows."""
        name = "-".join([model.split(".")[0], *(word.strip("-") for word in command)]) + ".csv"
        verb, *options = command
        with open(self.path(name), "w") as out:
            out.write(self.run(verb, self.path(model), self.path(rows), *options, "-q"))
        self.list.append((model, rows, " ".join(command), name))

    def ask_all(self, model, rows):
        can = self.run("info", self.path(model), "--json")
        if '"task": "search"' in can:
            self.ask(model, rows, "search", "-k", "3")
            return
        self.ask(model, rows, "predict")
        for option in ("proba", "scores"):
            probe = subprocess.run([self.limn, "predict", self.path(model), self.path(rows),
                                    "--" + option, "-q"], capture_output=True)
            if probe.returncode == 0:
                self.ask(model, rows, "predict", "--" + option)

    def make_rows(self):
        """The training files, in a temporary folder, and the queries, which are kept."""
        self.train = {}
        for name, arguments in MADE.items():
            path = self.path(name + "-train.csv")
            self.run("synth", *arguments, "-o", path, "-q")
            self.run("synth", *arguments[:2], "20", *arguments[3:], "--seed", "2", "-o",
                     self.path(name + ".csv"), "-q")
            self.train[name] = [path]
        for name, (file, *options) in BUNDLED.items():
            self.train[name] = [os.path.join(DATA, file), *options]
        with open(os.path.join(DATA, "fruit-test.csv")) as source:
            self.keep("fruit.csv", source.read().splitlines()[:21])
        with open(os.path.join(DATA, "iris.csv")) as source:
            lines = source.read().splitlines()
            self.keep("iris.csv", lines[:1] + lines[5::9])

    def keep(self, name, lines):
        with open(self.path(name), "w") as out:
            out.write("\n".join(lines) + "\n")

    def make(self):
        self.make_rows()
        for name, (data, method, *options) in MODELS.items():
            model = name + ".limn"
            self.run("train", *self.train[data], "-m", method, *options, "-o", self.path(model),
                     "-q")
            self.ask_all(model, data + ".csv")
        self.make_imported()
        self.make_learned()
        for name in MADE:
            os.remove(self.train[name][0])
        self.keep("list.tsv", ["\t".join(row) for row in self.list])

    def make_imported(self):
        """A LIBSVM text model as limn keeps it; rows may have features beyond it."""
        libsvm = self.path("imported.libsvm")
        self.run("convert", os.path.join(DATA, "iris.csv"), libsvm, "-q")
        with open(libsvm) as source:
            lines = source.read().splitlines()
        self.keep("imported.libsvm", lines[5::9] + [lines[3] + " 5:0.5", lines[90] + " 7:1.5"])
        self.run("train", os.path.join(DATA, "iris.csv"), "-m", "svm", "-p", "probability=yes",
                 "--scale", "none", "-o", self.path("native.limn"), "-q")
        self.run("convert", self.path("native.limn"), self.path("imported.model"), "-q")
        self.run("convert", self.path("imported.model"), self.path("imported.limn"), "-q")
        os.remove(self.path("native.limn"))
        for model in ("imported.model", "imported.limn"):
            self.ask_all(model, "imported.libsvm")

    def make_learned(self):
        """A forest that learned after training, forgot rows and kept a mark."""
        model = self.path("bforest-learned.limn")
        self.run("train", *self.train["classes"], "-m", "bforest", "-p", "trees=8", "-o", model,
                 "-q")
        self.run("learn", model, self.path("classes.csv"), "--checkpoint-every", "10", "-q")
        self.run("learn", model, "--forget", "-", "-q", text="3\n5\n91\n")
        self.ask_all("bforest-learned.limn", "classes.csv")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Maker(sys.argv[1]).make()
