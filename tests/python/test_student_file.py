"""A second reader of the model files of student, written from docs/format.md, gives the same
probabilities, labels and values as limn."""
import numpy as np
import pytest
from model_file import key_values, layers, numbers  # in scripts/
from test_borders_file import Model, answers

FAR = 1e12
CLOSE = 1e-3  # of gaps: the answer is not compared where rounding may decide


def network(m, part, hidden, outputs, x):
    """The outputs for each row."""
    sizes = [m.d, *map(int, hidden.split("x")), outputs]
    stored = layers(m.sections["student." + part], sizes)
    z = np.clip(x, -FAR, FAR)
    for i, (weights, bias) in enumerate(stored):
        z = (np.maximum(z, 0) if i else z) @ np.array(weights, float) + np.array(bias, float)
    return z


def shifted(m, x):
    return (x - m.array("centre", "f")) * m.array("unit", "f") if m.about["shifted"] else x


def best_two(z):
    """The class of each row, and the gap; a single output is positive for class 0."""
    if z.shape[1] == 1:
        return np.where(z[:, 0] > 0, 0, 1), abs(z[:, 0])
    order = np.sort(z, 1)
    return z.argmax(1), order[:, -1] - order[:, -2]


class Machine:
    def __init__(self, m):
        about = key_values(m.sections["student.svm.about"])
        assert about["type"] == "c_svc" and about["kernel"] == "rbf" and about["features"] == m.d
        self.gamma, n = about["gamma"], about["vectors"]
        self.rho = numbers(m.sections["student.svm.rho"], "d")
        counts = numbers(m.sections["student.svm.counts"], "Q")
        self.ends = np.cumsum([0, *counts])
        self.vectors = m.array("svm.vectors", "f").reshape(n, m.d)
        self.coef = m.array("svm.coef", "d").reshape(len(counts) - 1, n)
        self.pair = {pair: i for i, pair in enumerate(zip(*np.triu_indices(len(counts), 1)))}

    def value(self, i, j, x):
        k = np.exp(-self.gamma * ((self.vectors - x) ** 2).sum(1))
        own, other = slice(*self.ends[i:i + 2]), slice(*self.ends[j:j + 2])
        return self.coef[j - 1, own] @ k[own] + self.coef[i, other] @ k[other] - self.rho[self.pair[i, j]]

    def winner(self, x):
        """The class that wins the most pairs; ties go to the lowest."""
        votes = np.zeros(len(self.ends) - 1)
        for i, j in self.pair:
            votes[i if self.value(i, j, x) > 0 else j] += 1
        return votes.argmax()


def softened(z, tau):
    z = np.hstack([z, np.zeros_like(z)]) if z.shape[1] == 1 else z
    p = np.exp((z - z.max(1, keepdims=True)) / tau)
    return p / p.sum(1, keepdims=True)


def read(m, x):
    """Probabilities, which rows are decided by more than rounding, how many rows each network handed
    over, and how many the machine answered."""
    sizes, count = m.about["size"].split("+"), len(m.labels)
    outputs, inputs = 1 if count == 2 else count, shifted(m, x)
    gaps, taus, passed = m.about["gap"], m.about["tau"], np.zeros(2, int)
    z = network(m, "net", sizes[0], outputs, inputs)
    _, gap = best_two(z)
    p, sure = softened(z, taus[0]), gap > CLOSE
    if len(sizes) > 1:
        again = gap < gaps[0]
        passed[0] = again.sum()
        sure &= abs(gap - gaps[0]) > CLOSE
        z = np.where(again[:, None], network(m, "second", sizes[1], outputs, inputs), z)
        p = np.where(again[:, None], softened(z, taus[1]), p)
        gap = np.where(again, best_two(z)[1], np.inf)
        sure &= gap > CLOSE
    if m.about["last"]:
        machine, asks = Machine(m), gap < gaps[len(sizes) - 1]
        passed[len(sizes) - 1] = asks.sum()
        sure &= abs(gap - gaps[len(sizes) - 1]) > CLOSE
        for row in np.flatnonzero(asks):
            won, most = machine.winner(x[row]), p[row].argmax()
            p[row, [won, most]] = p[row, [most, won]]
    return p, sure, passed


@pytest.fixture(scope="module")
def folder(limn, tmp_path_factory):
    """Four classes that overlap, two classes, the same far from 0, and values."""
    folder = tmp_path_factory.mktemp("student")
    limn("synth", "mixture", "-q", "-p", "classes=4", "-p", "dims=5", "-p", "spread=0.25", "-n", 900,
         "-o", folder / "four.csv")
    limn("synth", "curved", "-q", "-n", 900, "-o", folder / "two.csv")
    limn("synth", "friedman", "-q", "-n", 900, "-o", folder / "values.csv")
    head, *lines = (folder / "two.csv").read_text().splitlines()
    moved = [",".join([str(float(a) * 100 + 3e5), str(float(b) * 1e9), c])
             for a, b, c in (line.split(",") for line in lines)]
    (folder / "far.csv").write_text("\n".join([head, *moved]) + "\n")
    return folder


def trained(limn, folder, name, *words):
    """A model of most of the rows; the others are asked about."""
    head, *lines = (folder / f"{name}.csv").read_text().splitlines()
    (folder / "train.csv").write_text("\n".join([head, *lines[:600]]) + "\n")
    (folder / "ask.csv").write_text("\n".join([head, *lines[600:]]) + "\n")
    limn("train", folder / "train.csv", "-q", "-m", "student", *words, "-p", "pool=3000", "-p",
         "visits=30000", "-p", "rate=0.01", "-o", folder / "m.limn")
    rows = [[float(cell) for cell in line.split(",")[:-1]] for line in lines[600:]]
    m = Model(folder / "m.limn")
    return m, m.scaled(np.array(rows).astype("f4").astype(float))


@pytest.mark.parametrize("name, size, more", [
    ("four", "20", ""), ("four", "150", ""), ("four", "140x130", "--scale minmax"), ("four", "8+40", ""),
    ("four", "6x5x4+20x30", "--scale none"), ("two", "12", ""), ("two", "1", ""), ("two", "8x1", ""), ("two", "4+20x17", ""),
    ("far", "12", "--scale none"), ("far", "6+30", "--scale none"), ("four", "12", "-p last=teacher"),
    ("four", "6+20", "-p last=teacher"), ("two", "5", "-p last=teacher")])
def test_a_reader_of_students_agrees(limn, folder, name, size, more):
    m, x = trained(limn, folder, name, "--teacher", "svm", "-p", "size=" + size, *more.split())
    assert m.about["size"] == size and m.about["shifted"] == (name == "far")
    p, sure, passed = read(m, x)
    labels, proba = answers(limn, folder, "--proba")
    assert sure.sum() > 250 and np.allclose(proba[sure], p[sure], atol=1e-4)
    assert [label for label, s in zip(labels, sure) if s] == [m.labels[c] for c in p[sure].argmax(1)]
    assert "+" not in size or passed[0] > 5
    assert "last" not in more or passed.min() >= 0 and passed[size.count("+")] > 5


@pytest.mark.parametrize("size", ["10", "30x20"])
def test_a_reader_of_students_that_regress_agrees(limn, folder, size):
    m, x = trained(limn, folder, "values", "--task", "regress", "--teacher", "agf", "-p", "size=" + size)
    z = network(m, "net", size, 1, shifted(m, x))[:, 0]
    said = np.array([float(line) for line in
                     limn("predict", folder / "m.limn", folder / "ask.csv").split()])
    assert np.allclose(said, m.about["mean"] + m.about["spread"] * z, rtol=1e-5, atol=1e-4)


def test_a_student_of_one_class_is_a_constant(limn, folder):
    (folder / "train.csv").write_text("a,b,label\n" + "1,2,x\n2,1,x\n3,3,x\n")
    limn("train", folder / "train.csv", "-q", "-m", "student", "--teacher", "lda", "-o", folder / "m.limn")
    m = Model(folder / "m.limn")
    assert m.about["size"] == "" and [n for n in m.sections if n.startswith("student.")] == ["student.about"]
    assert limn("predict", folder / "m.limn", folder / "train.csv").split() == ["x"] * 3
