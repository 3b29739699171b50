"""A second reader of the model files of borders, agf and kde, written from docs/format.md, gives the same
scores, probabilities, labels, values and densities as limn."""
import csv

import numpy as np
import pytest
from model_file import key_values, numbers, packed, sections  # in scripts/
from scipy.optimize import brentq
from scipy.special import logsumexp


class Model:
    def __init__(self, path):
        self.sections = sections(path)
        about = key_values(self.sections["model"])
        self.method, self.task, self.n = about["method"], about["task"], about["rows"]
        self.about = key_values(self.sections[self.method + ".about"])
        self.scaler = key_values(self.sections["scaler"])
        self.d = self.scaler["features"]
        self.labels = key_values(self.sections["schema"])["labels"]

    def array(self, part, kind):
        return np.array(numbers(self.sections[f"{self.method}.{part}"], kind))

    def rows(self, part, count, width):
        return np.array(packed(self.sections[f"{self.method}.{part}"], count, width))

    def scaled(self, x):
        if self.scaler["kind"] == "none":
            return x
        kept = x[:, np.array(self.scaler["keep"], int)]
        return ((kept - self.scaler["offset"]) * self.scaler["factor"]).astype("f4").astype(float)


# ---- borders ----

def places(m):
    """Where each border vector is in the packed set, and the rows of that set."""
    counts = np.diff(m.array("start", "I"))
    taken = -(-counts // 16) * 16 if m.about["dag"] else counts
    first = np.cumsum(taken) - taken
    return [f + i for f, count in zip(first, counts) for i in range(count)], taken.sum()


def stored(m):
    """Vectors, normals and slopes, and what the format says of them."""
    count, width, (at, rows) = m.about["borders"], m.d + 1, places(m)
    everything = m.rows("vectors", rows, width)
    vectors, normals = everything[at], m.array("normals", "f").reshape(count, -1)
    assert not np.delete(everything, at, 0).any()
    assert normals.shape[1] % 16 == 0 and not normals[:, width:].any()
    assert np.allclose((normals[:, :m.d] ** 2).sum(1), 1, atol=1e-5)
    assert np.allclose((vectors[:, :m.d] ** 2).sum(1) / 2, vectors[:, m.d], rtol=1e-5)
    if m.about["planes"] + m.about["cells"] == 0:
        assert np.allclose((normals[:, :m.d] * vectors[:, :m.d]).sum(1), normals[:, m.d], atol=1e-5)
    return vectors, normals[:, :width], m.array("slopes", "d")


def pair_scores(m, x):
    q = np.clip((x - m.array("centre", "d")) * m.about["scale"], -1e15, 1e15)
    q = np.hstack([q, np.ones((len(x), 1))]).astype("f4").astype(float)
    vectors, normals, slopes = stored(m)
    start, constant = m.array("start", "I"), m.array("constant", "d")
    found = np.empty((len(x), len(constant)))
    for pair, (first, end) in enumerate(zip(start, start[1:])):
        near = first + (q @ vectors[first:end].T).argmin(1) if end > first else None
        found[:, pair] = (constant[pair] if near is None else
                          slopes[near] * (q * normals[near]).sum(1))
    return found


def walked(g, steep, k):
    """Probabilities of a decision graph."""
    pairs = {pair: i for i, pair in enumerate(zip(*np.triu_indices(k, 1)))}
    low, high, lost, p = 0, k - 1, [], np.ones(k)
    while low < high:
        i = pairs[low, high]
        odds = np.clip(np.exp(-abs(steep[i] * g[i])), 1e-4, 1 - 1e-9)
        lost.append((high, low, odds) if g[i] > 0 else (low, high, odds))
        low, high = (low, high - 1) if g[i] > 0 else (low + 1, high)
    for loser, winner, odds in reversed(lost):
        p[loser] = p[winner] * odds
    first = np.argsort(-p, kind="stable")[:4]
    own = [(a, b) for a, b in pairs if a in first and b in first]
    share = coupled(np.array([g[pairs[pair]] for pair in own]),
                    np.array([steep[pairs[pair]] for pair in own]), len(first))
    share = dict(zip(sorted(first), share))
    best = max(share, key=share.get)
    share[best], share[first[0]] = share[first[0]], share[best]
    mass = p[first].sum()
    for c in first:
        p[c] = mass * share[c]
    return p / p.sum()


def coupled(g, steep, k):
    """The minimum of a quadratic function under one constraint is the solution of a linear system."""
    pair = np.clip(1 / (1 + np.exp(steep * g)), 1e-7, 1 - 1e-7)
    r = np.zeros((k, k))
    r[np.triu_indices(k, 1)] = pair
    r += np.tril(1 - r.T, -1)
    system = np.ones((k + 1, k + 1))
    system[:k, :k] = -r.T * r
    system[range(k), range(k)] = (r ** 2).sum(0)
    system[k, k] = 0
    return np.linalg.solve(system, np.append(np.zeros(k), 1))[:k]


# ---- agf and kde ----

def weights(m, d2):
    """K and the squared bandwidth of one query."""
    if m.method == "kde":
        s2 = m.about["bandwidth"] ** 2
        return -d2 / (2 * s2), s2
    near = np.argsort(d2, kind="stable")[:m.about["k"]]
    log_k, w = np.full(len(d2), -np.inf), min(m.about["w"], m.about["k"] / 2)
    zeros = near[d2[near] == 0]
    if len(zeros) >= min(w, len(near)):
        log_k[zeros] = 0
        return log_k, 0
    s = np.exp(brentq(lambda t: np.exp(-d2[near] / (2 * np.exp(2 * t))).sum() - w, -30, 30, xtol=1e-13))
    log_k[near] = -d2[near] / (2 * s * s)
    return log_k, s * s


def kernel_answers(m, x):
    rows, found = m.rows("rows", m.n, m.d), []
    shift = m.array("centre", "d") if m.method == "kde" else 0
    assert np.allclose(m.array("norms", "d" if m.method == "kde" else "f"), ((rows - shift) ** 2).sum(1),
                       rtol=1e-5)
    own = m.array("weights", "d") if f"{m.method}.weights" in m.sections else np.ones(m.n)
    for row in x:
        log_k, s2 = weights(m, ((rows - row) ** 2).sum(1))
        k = own * np.exp(log_k - log_k.max())
        if m.task == "classify":
            sums = np.bincount(m.array("labels", "i"), k, len(m.labels))
            found.append(sums / sums.sum())
        elif m.task == "regress":
            found.append([k @ m.array("targets", "d") / k.sum()])
        else:
            s2 = max(s2, m.about.get("least_s2", 0))
            factors = m.scaler.get("factor", (1,))
            found.append([logsumexp(log_k) - np.log(m.n) - m.d / 2 * np.log(2 * np.pi * s2)
                          + np.log(factors).sum()])
    return np.array(found)


# ---- what limn says ----

@pytest.fixture(scope="module")
def data(limn, tmp_path_factory):
    """Four classes of different size, some rows many times, without and with a column of weights; queries,
    the last of which are training rows."""
    folder = tmp_path_factory.mktemp("borders")
    limn("synth", "mixture", "-q", "-p", "classes=4", "-p", "dims=5", "-n", 500, "-o", folder / "all.csv")
    head, *lines = (folder / "all.csv").read_text().splitlines()
    lines = [line[:-1] + "1" if line.endswith(",3") and i % 3 else line for i, line in enumerate(lines)]
    train, ask = lines[:400] + lines[:3] * 7, lines[400:] + lines[:10]
    (folder / "train.csv").write_text("\n".join([head, *train]) + "\n")
    weighted = [f"{1 + i % 4},{line}" for i, line in enumerate(train)]
    (folder / "weighted.csv").write_text("\n".join(["weight," + head, *weighted]) + "\n")
    (folder / "ask.csv").write_text("\n".join([head, *ask]) + "\n")
    rows = np.array([[float(cell) for cell in line.split(",")[:-1]] for line in ask])
    return folder, rows.astype("f4").astype(float)


def answers(limn, folder, *what):
    rows = list(csv.reader(limn("predict", folder / "m.limn", folder / "ask.csv", *what).splitlines()))
    return [row[0] for row in rows[1:]], np.array([[float(v) for v in row[1:]] for row in rows[1:]])


@pytest.mark.parametrize("words", [
    "--teacher svm -p teacher.C=10 -p multi=ovo", "--teacher kde -p multi=ovo", "--teacher knn -p borders=40",
    "--teacher svm --scale none -p sampling=random -p multi=ovo",
    "--teacher svm --scale none -p sampling=random -p multi=dag", "--teacher svm -p form=plane -p multi=ovo",
    "--teacher svm -p form=plane -p multi=dag", "--teacher svm -p form=cells -p multi=ovo",
    "--teacher lda --scale minmax -p borders=3", "--teacher svm -p multi=dag -p borders=20"])
def test_a_reader_of_the_borders_agrees(limn, data, words):
    folder, rows = data
    limn("train", folder / "train.csv", "-q", "-m", "borders", *words.split(), "-o", folder / "m.limn")
    m = Model(folder / "m.limn")
    g = pair_scores(m, m.scaled(rows))
    answer = walked if m.about["dag"] else coupled
    p = np.array([answer(row, m.array("steep", "d"), len(m.labels)) for row in g])
    labels, scores = answers(limn, folder, "--scores")
    _, proba = answers(limn, folder, "--proba")
    assert np.allclose(scores, g, rtol=1e-4, atol=1e-5 * abs(g).max())
    assert np.allclose(proba, p, atol=1e-4)
    assert labels == [m.labels[c] for c in proba.argmax(1)]
    votes = np.zeros((len(g), len(m.labels)))
    for pair, (i, j) in enumerate(zip(*np.triu_indices(len(m.labels), 1))):
        votes[range(len(g)), np.where(scores[:, pair] > 0, i, j)] += 1
    voted = limn("predict", folder / "m.limn", folder / "ask.csv", "--vote").split()
    assert voted == [m.labels[c] for c in votes.argmax(1)]


@pytest.mark.parametrize("task, words", [
    (task, words) for task in ("classify", "regress", "density")
    for words in ("agf", "agf -p W=1.5 -p k=3", "agf -p W=50 --scale none", "kde", "kde -p bandwidth=0.01")
    if task != "regress" or words.startswith("agf")])
def test_a_reader_of_kernel_sums_agrees(limn, data, task, words):
    folder, rows = data
    file = ["train.csv"] if task == "density" else ["weighted.csv", "--weights", "weight"]
    limn("train", folder / file[0], *file[1:], "-q", "--task", task, "-m", *words.split(), "-o",
         folder / "m.limn")
    m = Model(folder / "m.limn")
    mine = kernel_answers(m, m.scaled(rows))
    if task != "classify":
        said = np.array([float(line) for line in
                         limn("predict", folder / "m.limn", folder / "ask.csv").split()])
        assert np.allclose(said, mine[:, 0], rtol=1e-5, atol=1e-5)
        return
    labels, proba = answers(limn, folder, "--proba")
    assert np.allclose(proba, mine, atol=1e-5)
    assert labels == [m.labels[c] for c in proba.argmax(1)]
