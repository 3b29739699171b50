"""A second reader of the model files of perceptron trees and of the four perceptrons, written from
docs/format.md, gives the same scores, probabilities and labels as limn."""
import numpy as np
import pytest
from model_file import key_values, packed  # in scripts/
from test_borders_file import Model, answers

NODE = np.dtype([("child", "<i4", 2), ("threshold", "<f8"), ("rows", "<u8")])
LEAF = np.dtype([("n", "<u8"), ("seen", "<u8"), ("wait", "<u8"), ("kept", "<u8"), ("t", "<f8")])
LINEAR, POLYNOMIAL, RBF, SIGMOID, CHI2, INTERSECTION = range(6)
CLOSE = 1e-5  # of what is added up: rounding may decide nearer than this


class Perceptrons(Model):
    """All sections of the method, and which there are."""
    def __init__(self, path):
        super().__init__(path)
        self.read = {"about"}
        self.params = key_values(self.sections["params"])
        self.count, self.k = len(self.labels), len(self.labels) if len(self.labels) > 2 else 1
        tree = self.method == "ptree"
        self.split = self.params.get("split") if self.about["leaves"] > 1 else None
        self.paper = self.params.get("style") == "paper"
        average = self.params.get("average", "no")
        self.averaged = average == "yes" or (average == "auto" and tree and not self.paper)
        self.nodes, self.leaves = self.records("nodes", NODE), self.records("leaves", LEAF)
        assert len(self.leaves) == self.about["leaves"] == len(self.nodes) + 1
        assert tree or len(self.leaves) == 1
        self.read_nodes()
        self.read_leaves()
        own = {name for name in self.sections if name.startswith(self.method + ".")}
        assert own == {f"{self.method}.{part}" for part in self.read}

    def payload(self, part):
        """Nothing if the section is absent."""
        data = self.sections.get(f"{self.method}.{part}", b"")
        self.read |= {part} if data else set()
        return data

    def records(self, part, kind):
        return np.frombuffer(self.payload(part), kind)

    def pieces(self, part, kind, counts):
        """A section in consecutive parts of so many numbers."""
        every = self.records(part, kind)
        assert len(every) == sum(counts)
        return np.split(every, np.cumsum(counts)[:-1])

    def packs(self, part, counts):
        panels = [int(-(-n // 16)) for n in counts]
        own = self.pieces(part, "<f4", [16 * self.d * p for p in panels])
        for one, n, p in zip(own, counts, panels):
            rest = np.delete(one.reshape(p, self.d, 16).transpose(0, 2, 1).reshape(-1, self.d), range(n), 0)
            assert not rest.any()
        return [np.array(packed(one.tobytes(), int(n), self.d)).reshape(int(n), self.d)
                for one, n in zip(own, counts)]

    def read_nodes(self):
        if not len(self.nodes):
            return
        rows = [int(n) for n in self.nodes["rows"]]
        if self.split in ("wpq", "rndw", "pca"):
            stride = -(-self.d // 16) * 16
            w = self.records("tests", "<f4").reshape(len(self.nodes), stride)
            assert not w[:, self.d:].any() and not any(rows)
            self.w = w[:, :self.d].astype(float)
            return
        self.test_rows = self.packs("test_rows", rows)
        if self.split == "zpq":
            self.sides = self.pieces("test_sides", "u1", rows)
        else:
            assert set(rows) == {1}

    def read_leaves(self):
        n, kept = self.leaves["n"].astype(int), self.leaves["kept"].astype(int)
        self.vectors = self.packs("vectors", n)
        a = [one.reshape(-1, self.k) for one in self.pieces("coefs", "<f8", n * self.k)]
        drifts = [0] * len(n)
        if self.averaged:
            drifts = [one.reshape(-1, self.k) for one in self.pieces("drifts", "<f8", n * self.k)]
        mean = self.averaged and self.about["wrong_mean"] <= self.about["wrong_last"]
        self.a = [one - u / t if mean and t > 0 else one
                  for one, u, t in zip(a, drifts, self.leaves["t"])]
        self.mean = mean
        self.biases = self.records("biases", "<f8").reshape(-1, self.k)
        self.pieces("remembered", "<f4", kept * self.d)
        labels = np.concatenate(self.pieces("labels", "<i4", kept))
        assert ((labels >= 0) & (labels < self.count)).all() and (self.leaves["kept"] <= self.leaves["seen"]).all()
        self.rows = self.records("class_rows", "<u8").reshape(-1, self.count)

    # ---- queries ----

    def kernel(self, x, b):
        """Kernel values of a row, and the size of what was added up for them."""
        gamma, coef0, degree = self.about["gamma"], self.about["coef0"], self.about["degree"]
        kind, dot, size = self.about["kernel"], b @ x, abs(b) @ abs(x)
        if kind == LINEAR:
            return dot, size
        if kind == POLYNOMIAL:
            return (gamma * dot + coef0) ** degree, degree * (abs(gamma) * size + abs(coef0)) ** degree
        if kind == SIGMOID:
            return np.tanh(gamma * dot + coef0), 1 + abs(gamma) * size
        if kind == RBF:
            distance = ((b - x) ** 2).sum(1)
        elif kind == CHI2:
            both = b + x
            distance = np.divide((b - x) ** 2, both, np.zeros_like(both), where=both > 0).sum(1)
        else:
            return np.minimum(b, x).sum(1), np.minimum(b, x).sum(1)
        return np.exp(-gamma * distance), np.ones(len(b))

    def test(self, i, x):
        """The side, 0 left, and whether it is more than rounding that decides."""
        threshold = self.nodes["threshold"][i]
        if self.split in ("wpq", "rndw", "pca"):
            value, size = self.w[i] @ x, abs(self.w[i]) @ abs(x)
            length = np.sqrt(x @ x) if self.paper and x.any() else 1
            return not value / length > threshold, abs(value / length - threshold) > 1e-9 * size / length
        if self.split == "zpq":
            distance = ((self.test_rows[i] - x) ** 2).sum(1).astype("f4")
            near = distance.argmin()
            others = distance[self.sides[i] != self.sides[i][near]]
            exact = (x == np.rint(x)).all()  # so are the distances of such rows
            return self.sides[i][near], exact or others.min() > distance[near] * (1 + CLOSE)
        value, size = self.kernel(x, self.test_rows[i])
        return not value[0] <= threshold, abs(value[0] - threshold) > CLOSE * size[0]

    def route(self, x):
        at, sure = 0 if len(self.nodes) else -1, True
        while at >= 0:
            side, clear = self.test(at, x)
            at, sure = self.nodes["child"][at][int(side)], sure and clear
        return ~at, sure

    def outputs(self, leaf, x):
        value, size = self.kernel(x, self.vectors[leaf])
        a = self.a[leaf].astype("f4").astype(float)
        return value @ a + self.biases[leaf], size @ abs(a) + abs(self.biases[leaf])

    def winner(self, leaf, f):
        if self.count == 1:
            return 0
        if not f.any():
            return self.rows[leaf].argmax()
        return f.argmax() if self.k > 1 else 0 if f[0] > 0 else 1

    def ask(self, x):
        """Scores, their tolerance, probabilities and theirs, classes, which rows are sure, leaves."""
        x = np.maximum(x, 0) if self.about["kernel"] in (CHI2, INTERSECTION) else x
        found = []
        for row in x:
            leaf, sure = self.route(row)
            f, size = self.outputs(leaf, row)
            c, off = self.winner(leaf, f), CLOSE * size.max()
            g = f if self.k > 1 else np.array([f[0], -f[0]]) / 2 if self.count == 2 else f
            slope = self.about["slopes"][c]
            p = np.exp(slope * (g - g[c]))
            i, j = np.triu_indices(self.count, 1)
            rest = np.delete(g, c)
            clear = not f.any() or self.count == 1 or g[c] - rest.max() > 4 * off
            found.append((g[i] - g[j], 2 * off, p / p.sum(), 1e-6 + 4 * slope * off, c, sure and clear, leaf))
        scores, off, p, p_off, c, sure, leaf = map(np.array, zip(*found))
        return scores, off[:, None], p, p_off[:, None], c, sure, leaf


# ---- what limn says ----

def check(limn, folder, rows):
    """Compares all answers; returns the model, the leaves that were reached and the scores."""
    m = Perceptrons(folder / "m.limn")
    scores, off, p, p_off, c, sure, leaf = m.ask(m.scaled(rows))
    labels, proba = answers(limn, folder, "--proba")
    assert sure.mean() > 0.9
    assert (abs(proba - p) <= p_off)[sure].all()
    assert [label for label, s in zip(labels, sure) if s] == [m.labels[i] for i in c[sure]]
    assert labels == [m.labels[i] for i in proba.argmax(1)]
    if m.count > 1:
        told = answers(limn, folder, "--scores")[1]
        assert told.shape == scores.shape and (abs(told - scores) <= off)[sure].all()
    return m, set(leaf), scores


def write(path, head, lines):
    path.write_text("\n".join([head, *lines]) + "\n")


@pytest.fixture(scope="module")
def data(limn, tmp_path_factory):
    """Two and three classes, whole numbers, and queries, the last of which are far away."""
    folder = tmp_path_factory.mktemp("ptree")
    for name, classes in (("two", 2), ("three", 3)):
        limn("synth", "mixture", "-q", "-p", f"classes={classes}", "-p", "dims=3", "-p", "spread=0.4", "-n", 900,
             "-o", folder / "all.csv")
        head, *lines = (folder / "all.csv").read_text().splitlines()
        write(folder / f"{name}.csv", head, lines[:500])
        write(folder / f"{name}-more.csv", head, lines[500:800])
        write(folder / f"{name}-sorted.csv", head, sorted(lines[:500], key=lambda line: line[-1]))
    far = [f"{a},{b},{c},0" for a in (1e4, -1e4) for b in (1e4, -1e4) for c in (1, -1e5)]
    write(folder / "ask.csv", head, lines[800:] + lines[:20] + far)
    return folder, rows_of(folder / "ask.csv")


def rows_of(path):
    lines = path.read_text().splitlines()[1:]
    return np.array([[float(cell) for cell in line.split(",")[:-1]] for line in lines]).astype("f4").astype(float)


TREE = "ptree -p budget=6 -p patience=2 -p depth=3 -p gamma=0.5"


@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.parametrize("words", [
    *(f"{TREE} -p split={split}" for split in ("wpq", "zpq", "rndw", "pca", "bal", "ent")),
    *(f"ptree -p style=paper -p budget=30 -p depth=3 -p gamma=0.5 -p split={split}"
      for split in ("wpq", "zpq", "pca", "ent")),
    *(f"{TREE} -p finish=no -p kernel={kernel}" for kernel in (
        "rbf -p average=no", "poly -p degree=2 -p coef0=1", "linear -p project=0", "chi2 -p project=0.01",
        "intersection")),
    f"{TREE} -p split=bal -p kernel=poly -p degree=3 -p coef0=-0.5",
    f"{TREE} -p split=zpq -p kernel=intersection",
    f"{TREE} -p split=ent -p kernel=chi2", "ptree -p style=paper -p budget=20 -p kernel=chi2 -p average=yes"])
def test_a_reader_of_trees_agrees(limn, data, name, words):
    folder, rows = data
    limn("train", folder / f"{name}.csv", "-q", "-m", *words.split(), "-o", folder / "m.limn")
    m, leaves, _ = check(limn, folder, rows)
    assert len(leaves) > 1
    assert not m.biases.any() or not ("finish=no" in words or m.paper)  # a last fit has one, where it is taken
    assert m.averaged == ("paper" not in words and "average=no" not in words or "average=yes" in words)


@pytest.mark.parametrize("name", ["two", "three", "two-sorted", "three-sorted"])
@pytest.mark.parametrize("words", [
    "perceptron", "perceptron -p average=yes", "perceptron -p kernel=poly -p degree=2",
    "perceptron -p kernel=linear -p average=yes",
    "stoptron -p budget=20", "stoptron -p budget=20 -p kernel=chi2 -p average=yes", "forgetron -p budget=20",
    "forgetron -p kernel=intersection", "projectron -p budget=20 -p plus=1", "projectron -p average=yes -p eta=0.3"])
def test_a_reader_of_perceptrons_agrees(limn, data, name, words):
    folder, rows = data
    gamma = "" if "linear" in words or "intersection" in words else "-p gamma=0.5"
    limn("train", folder / f"{name}.csv", "-q", "-m", *words.split(), *gamma.split(), "-p", "order=file", "-o",
         folder / "m.limn")
    m, _, scores = check(limn, folder, rows)
    rbf = m.about["kernel"] == RBF
    assert not rbf or (scores[-8:] == 0).all()  # far away the class with the most rows wins


def test_the_mean_or_the_last_coefficients_answer_whichever_erred_less(limn, data):
    folder, rows = data
    chosen = set()
    for name in ("two", "two-sorted"):
        limn("train", folder / f"{name}.csv", "-q", "-m", "perceptron", "-p", "average=yes", "-p", "gamma=0.5", "-p",
             "order=file", "-o", folder / "m.limn")
        chosen.add(check(limn, folder, rows)[0].mean)
    assert chosen == {True, False}


@pytest.mark.parametrize("words", [TREE, f"{TREE} -p split=zpq", f"{TREE} -p split=bal -p finish=no",
                                   "ptree -p style=paper -p gamma=0.5 -p budget=30 -p split=ent",
                                   "projectron -p average=yes -p gamma=0.5", "forgetron -p gamma=0.5 -p budget=30"])
def test_a_reader_agrees_after_learning_rows_of_a_third_class(limn, data, words):
    folder, rows = data
    limn("train", folder / "two.csv", "-q", "-m", *words.split(), "-o", folder / "m.limn")
    assert check(limn, folder, rows)[0].k == 1
    for more, k in (("two-more", 1), ("three-more", 3)):
        limn("learn", folder / "m.limn", folder / f"{more}.csv", "-q")
        m, _, _ = check(limn, folder, rows)
        assert m.k == k and m.about["seen"] == m.n == (800 if k == 1 else 1100)


@pytest.mark.parametrize("split", ["wpq", "pca"])
@pytest.mark.parametrize("kernel", [
    "kernel=rbf -p gamma=0.5", "kernel=linear", "kernel=sigmoid -p gamma=0.05 -p coef0=-0.5",
    "kernel=poly -p degree=2 -p gamma=0.3 -p coef0=1"])
def test_a_reader_of_trees_that_were_drawn_from_a_machine_agrees(limn, data, split, kernel):
    folder, rows = data
    limn("train", folder / "two.csv", "-q", "-m", "svm", "-p", *kernel.split(), "-o", folder / "svm.limn")
    limn("train", folder / "two.csv", "-q", "-m", "ptree", "--teacher", folder / "svm.limn", "-p",
         f"split={split}", "-p", "budget=10", "-p", "depth=2", "-o", folder / "m.limn")
    m, leaves, _ = check(limn, folder, rows)
    assert m.about["agreement"] > 0.5 and len(leaves) > 1 and m.biases.any()
    limn("learn", folder / "m.limn", folder / "two-more.csv", "-q")
    check(limn, folder, rows)


@pytest.mark.parametrize("lines", [("degree 2", "gamma -0.3"), ("degree 1001", "gamma 0.0003")])
def test_a_reader_of_a_tree_drawn_from_a_foreign_machine_with_an_odd_kernel_agrees(limn, data, lines):
    folder, rows = data
    limn("train", folder / "two.csv", "-q", "-m", "svm", "-p", "kernel=poly", "-p", "degree=2", "-p", "gamma=0.3", "-p",
         "coef0=1", "--scale", "none", "-o", folder / "svm.limn")
    limn("convert", folder / "svm.limn", folder / "odd.svm", "-q")
    text = (folder / "odd.svm").read_text()
    assert "degree 2\ngamma 0.3\n" in text
    (folder / "odd.svm").write_text(text.replace("degree 2\ngamma 0.3\n", "\n".join([*lines, ""])))
    limn("train", folder / "two.csv", "-q", "-m", "ptree", "--teacher", folder / "odd.svm", "-p",
         "budget=10", "-p", "split=pca", "-o", folder / "m.limn")
    if "degree 2" in lines:  # with 1001, rounding is most of an output
        check(limn, folder, rows)
    m = Perceptrons(folder / "m.limn")
    assert (f"degree {m.about['degree']}", f"gamma {m.about['gamma']:g}") == lines
    assert len(limn("predict", folder / "m.limn", folder / "ask.csv").split()) == len(rows)


def test_nearest_rows_that_are_equally_near_are_asked_in_their_order(limn, data):
    """Whole numbers, so that distances are exact and many rows are equal."""
    folder = data[0] / "grid"
    folder.mkdir()
    random = np.random.default_rng(1)
    lines = [f"{a},{b},{c},{(a * b + c + (i % 9 == 0)) % 2}"
             for i, (a, b, c) in enumerate(random.integers(0, 5, (700, 3)))]
    write(folder / "ask.csv", "a,b,c,label", lines)
    limn("train", folder / "ask.csv", "-q", "--scale", "none", "-m", *TREE.split(), "-p", "split=zpq", "-o",
         folder / "m.limn")
    rows = rows_of(folder / "ask.csv")
    m, _, _ = check(limn, folder, rows)
    ties = 0
    for row in rows:
        distance = ((m.test_rows[0] - row) ** 2).sum(1)
        ties += len(set(m.sides[0][distance == distance.min()])) > 1
    assert ties > 50


def test_a_model_of_one_class_answers_with_it(limn, data):
    folder, rows = data
    head, *lines = (folder / "two.csv").read_text().splitlines()
    write(folder / "one.csv", head, [line for line in lines if line.endswith(",1")])
    for method in ("ptree", "projectron"):
        limn("train", folder / "one.csv", "-q", "-m", method, "-p", "gamma=0.5", "-o", folder / "m.limn")
        assert check(limn, folder, rows)[0].labels == ["1"]
