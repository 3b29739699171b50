"""A second reader of the hulls' model files, written from docs/format.md, gives the same distances,
probabilities and labels as limn."""
import csv

import numpy as np
import pytest
from model_file import key_values, sections  # in scripts/
from scipy.optimize import nnls


# ---- the file ----

class Model:
    def __init__(self, path):
        self.sections = sections(path)
        self.method = key_values(self.sections["model"])["method"]
        self.params = key_values(self.sections["params"])
        self.scaler = key_values(self.sections["scaler"])
        self.labels = key_values(self.sections["schema"])["labels"]
        self.about = key_values(self.sections[self.method + ".about"])
        self.d = self.scaler["features"]
        self.linear = self.params["kernel"] == "linear"
        self.neighbors = int(self.params["neighbors"])

    def array(self, part, kind):
        """Empty sections are absent."""
        return np.frombuffer(self.sections.get(f"{self.method}.{part}", b""), kind)

    def packed(self, part, width, first=0, end=None):
        panels = self.array(part, "<f4")[first:end].astype(float).reshape(-1, width, 16)
        return panels.transpose(0, 2, 1).reshape(-1, width)

    def scaled(self, x):
        if self.scaler["kind"] == "none":
            return x
        kept = x[:, np.array(self.scaler["keep"], int)]
        return ((kept - self.scaler["offset"]) * self.scaler["factor"]).astype("f4").astype(float)

    def kernel(self, a, b):
        gamma, dots = self.about["gamma"], a @ b.T
        if self.params["kernel"] == "rbf":
            return np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(2))
        if self.params["kernel"] == "poly":
            return (gamma * dots + float(self.params["coef0"])) ** int(self.params["degree"])
        return np.tanh(gamma * dots + float(self.params["coef0"])) if not self.linear else dots

    def places(self, part, c):
        """The positions of class c: of its directions, or of its samples without the padding."""
        start = self.array(part, "<u4").astype(int)
        end = 16 * start[c + 1] if part == "start" else 16 * start[c] + self.array("counts", "<u8")[c]
        return slice(int(16 * start[c]), int(end))


# ---- squared distances of the rows x from class c ----

def with_disk(m, c, w2, t):
    d2 = np.maximum(w2 - (t ** 2).sum(1), 0)
    if m.method == "nhd":
        centre, radius = m.array("centres", "<f8")[m.places("start", c)], m.array("radii", "<f8")[c]
        d2 += np.maximum(np.sqrt(((t - centre) ** 2).sum(1)) - radius, 0) ** 2
    return d2


def linear(m, x, c):
    mean = m.array("means", "<f8").reshape(-1, m.d)[c]
    basis = (m.packed("basis", m.d) + m.packed("basis_rest", m.d))[m.places("start", c)]
    w = x - mean
    d2 = with_disk(m, c, (w ** 2).sum(1), w @ basis.T)
    check_floats(m, x, c, mean, basis, d2)
    return d2


def check_floats(m, x, c, mean, basis, d2):
    """Checks the sections that only make queries faster."""
    origin, places = m.array("origin", "<f4"), m.places("start", c)
    assert np.allclose(m.packed("near_means", m.d)[c], mean - origin, atol=1e-5)
    assert np.allclose(m.array("offsets", "<f8")[places], basis @ (mean - origin), atol=1e-5)
    if not m.about["axes"]:
        return
    axes, count = m.packed("head", m.d)[:m.about["axes"]], m.about["axes"]
    rows, head_mean = m.packed("head_basis", count)[places], m.packed("head_means", count)[c]
    assert np.allclose(head_mean, axes @ (mean - origin), atol=1e-4)
    assert np.allclose(m.array("head_offsets", "<f8")[places], rows @ head_mean, atol=1e-4)
    y = (x - origin) @ axes.T - head_mean
    assert ((y ** 2).sum(1) - ((y @ rows.T) ** 2).sum(1) <= d2 + 1e-4).all()


def curved(m, x, c):
    places = m.places("first", c)
    samples = m.packed("samples", m.d)[places]
    n, start = len(samples), m.array("vector_start", "<u8").astype(int)
    k, weights = m.kernel(x, samples), m.array("weights", "<f8")[places]
    constant = m.array("constants", "<f8")[c]
    assert np.isclose(weights @ m.kernel(samples, samples) @ weights, constant)
    b = k - m.array("shifts", "<f8")[places]
    b -= b.mean(1, keepdims=True)
    own = np.array([m.kernel(row[None], row[None])[0, 0] for row in x])
    vectors = (m.packed("vectors", n, start[c], start[c + 1])
               + m.packed("vectors_rest", n, start[c], start[c + 1]))
    t = b @ vectors.T * m.array("scales", "<f8")[m.places("start", c)]
    return with_disk(m, c, own - 2 * k @ weights + constant, t)


def convex(m, x, c):
    """Least squares with non-negative weights; a row with a large factor makes them add up to 1."""
    places = m.places("first", c)
    samples, heavy = m.packed("samples", m.d)[places], 1e4
    shift = m.array("shifts", "<f4").reshape(-1, m.d)[c]
    assert np.allclose(((samples - shift) ** 2).sum(1), m.array("diagonal", "<f8")[places])
    sides = np.vstack([(samples - shift).T, np.full(len(samples), heavy)])
    found = [nnls(sides, np.append(row - shift, heavy))[0] for row in x]
    return np.array([((row - (a / a.sum()) @ samples) ** 2).sum() for row, a in zip(x, found)])


def local(m, x, c):
    samples, found = m.packed("samples", m.d)[m.places("first", c)], []
    norms = m.array("norms", "<f4")[m.places("first", c)]
    assert np.allclose(norms, (samples ** 2).sum(1), rtol=1e-5)
    for row in x:
        nearest = np.argsort(((samples - row) ** 2).sum(1), kind="stable")[:m.neighbors]
        near, n = samples[nearest], len(nearest)
        gram, k = m.kernel(near, near), m.kernel(row[None], near)[0]
        w2 = m.kernel(row[None], row[None])[0, 0] - 2 * k.mean() + gram.mean()
        b = k - gram.mean(1)
        b -= b.mean()
        centred = gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean()
        if m.method == "nrh":
            possible = min(n - 1, m.d) if m.linear else n - 1
            ridge = m.about["rho"] * np.trace(centred) / possible * np.eye(n)
            found.append(max(w2 - b @ np.linalg.solve(centred + ridge, b), 0))
            continue
        s2, vectors = np.linalg.eigh(centred)
        s, vectors = np.sqrt(np.maximum(s2[::-1], 0)), vectors[:, ::-1]
        cut = 1e-6 if m.linear else 0.03  # the cut of dim=auto
        floor = max(cut * s[0], 1e-8 * np.sqrt(n * np.diag(gram).max()))
        p = min((s > floor).sum(), n - 1, m.about["dim"])
        t = vectors[:, :p].T @ b / s[:p]
        found.append(max(w2 - t @ t, 0))
    return np.array(found)


# ---- what limn says ----

@pytest.fixture(scope="module")
def data(limn, tmp_path_factory):
    """Twelve classes of 160 features, enough for the model to have a head: a training file and
    queries."""
    folder = tmp_path_factory.mktemp("hulls")
    make = ["synth", "mixture", "-q", "-p", "classes=12", "-p", "dims=160", "-p", "clusters=3", "-p",
            "spread=0.3"]
    limn(*make, "-n", 560, "-o", folder / "all.csv")
    lines = (folder / "all.csv").read_text().splitlines()
    (folder / "train.csv").write_text("\n".join(lines[:501]) + "\n")
    (folder / "ask.csv").write_text("\n".join(lines[:1] + lines[501:]) + "\n")
    rows = np.array([[float(cell) for cell in line.split(",")[:-1]] for line in lines[501:]])
    return folder, rows.astype("f4").astype(float)


def answers(limn, folder, what):
    rows = list(csv.reader(limn("predict", folder / "m.limn", folder / "ask.csv", what).splitlines()))
    return [row[0] for row in rows[1:]], np.array([[float(v) for v in row[1:]] for row in rows[1:]])


@pytest.mark.parametrize("words", [
    "nah dim=30", "nhd dim=30", "nhd dim=30 nu=0 reject=0.2", "nsc", "nrh neighbors=0", "nch",
    "nah kernel=rbf", "nhd kernel=rbf", "nhd kernel=poly degree=2 dim=10", "nsc kernel=rbf",
    "nrh kernel=rbf neighbors=0", "nrh", "nrh kernel=rbf", "nah neighbors=15",
    "nah neighbors=15 kernel=rbf"])
def test_a_reader_of_the_documented_format_agrees(limn, data, words):
    folder, rows = data
    method, *params = words.split()
    options = [option for param in params for option in ("-p", param)]
    limn("train", folder / "train.csv", "-q", "-m", method, *options, "-o", folder / "m.limn")
    m = Model(folder / "m.limn")
    measure = (local if m.neighbors else convex if method == "nch" else
               linear if m.linear else curved)
    assert (m.about["axes"] > 0) == ("dim=30" in words)
    x = m.scaled(rows)
    d2 = np.array([measure(m, x, c) for c in range(len(m.labels))]).T
    labels, scores = answers(limn, folder, "--scores")
    _, proba = answers(limn, folder, "--proba")
    mine = np.exp(-m.about["beta"] * (d2 - d2.min(1, keepdims=True)))
    assert np.allclose(scores, np.sqrt(d2), rtol=1e-4, atol=1e-6)
    assert np.allclose(proba, mine / mine.sum(1, keepdims=True), atol=1e-3)
    known = d2.min(1) <= m.about.get("limit", np.inf)
    assert labels == [m.labels[c] if k else "unknown" for c, k in zip(d2.argmin(1), known)]
    assert ("reject=0.2" in words) == ("unknown" in labels)
