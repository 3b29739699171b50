"""limn with hulls on the command line: distances, probabilities, unknown rows, refusals."""

import csv
import io
import json
import math

import pytest
from table import NAMES, Table, blobs

METHODS = ["nah", "nhd", "nch", "nsc", "nrh"]
DIM = {"nah": ["-p", "dim=2"], "nhd": ["-p", "dim=2"]}


def lines(text):
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("more", [[], ["-p", "kernel=rbf"], ["-p", "neighbors=5"]])
def test_answers_distances_and_probabilities_agree(limn, train_csv, test_csv, test_table, method,
                                                   more):
    limn("train", train_csv, "-m", method, *DIM.get(method, []), *more, "--scale", "none", "-o", "m.limn")
    labels = limn("predict", "m.limn", test_csv).stdout.split()
    scores = lines(limn("predict", "m.limn", test_csv, "--scores").stdout)
    proba = lines(limn("predict", "m.limn", test_csv, "--proba").stdout)
    assert scores[0] == ["label", *(f"d_{name}" for name in NAMES)]
    assert proba[0] == ["label", *(f"p_{name}" for name in NAMES)]
    assert len(labels) == len(test_table.rows)
    for label, far, p in zip(labels, scores[1:], proba[1:]):
        distances, chances = [float(v) for v in far[1:]], [float(v) for v in p[1:]]
        assert far[0] == p[0] == label
        assert min(distances) >= 0
        # nearest, up to rounding
        assert distances[NAMES.index(label)] <= min(distances) + 1e-6
        assert math.isclose(sum(chances), 1, abs_tol=1e-9)
        assert chances[NAMES.index(label)] == max(chances)
    right = sum(a == b for a, b in zip(labels, test_table.labels))
    assert right > (0.5 if method in DIM else 0.8) * len(labels)


def test_the_nearest_centre_is_where_it_should_be(limn, tmp_path):
    (tmp_path / "t.csv").write_text("u,v,c\n0,0,a\n4,0,a\n2,1,a\n0,10,b\n0,16,b\n")
    (tmp_path / "q.csv").write_text("u,v\n2,3\n3,13\n")
    limn("train", "t.csv", "-m", "nsc", "-p", "nu=0", "--scale", "none", "-o", "m.limn")
    got = lines(limn("predict", "m.limn", "q.csv", "--scores").stdout)
    # spheres around (2, 0) and (0, 13)
    want = [["a", 3, math.hypot(2, 10)], ["b", math.hypot(1, 13), 3]]
    for row, (label, *distances) in zip(got[1:], want):
        assert row[0] == label
        assert [float(v) for v in row[1:]] == pytest.approx(distances, rel=1e-6)
    limn("train", "t.csv", "-m", "nch", "--scale", "none", "-o", "m.limn")
    got = lines(limn("predict", "m.limn", "q.csv", "--scores").stdout)
    # from the corner (2, 1) and the edges of a triangle and a segment
    want = [["a", 2, math.hypot(2, 7)], ["b", math.hypot(1, 12), 3]]
    for row, (label, *distances) in zip(got[1:], want):
        assert row[0] == label
        assert [float(v) for v in row[1:]] == pytest.approx(distances, rel=1e-6)


@pytest.fixture
def rejecting(limn, tmp_path):
    """A model of three blobs, and rows of which every third is far from all of them."""
    blobs(150, seed=21).csv(tmp_path / "t.csv")
    table = blobs(60, seed=22)
    rows = [[v + 500 for v in row] if i % 3 == 0 else row for i, row in enumerate(table.rows)]
    labels = ["unknown" if i % 3 == 0 else label for i, label in enumerate(table.labels)]
    mixed = Table(rows, labels, table.columns)
    mixed.csv(tmp_path / "q.csv")
    limn("train", "t.csv", "-m", "nhd", "-p", "dim=2", "-p", "reject=0.02", "-o", "m.limn")
    return mixed


def test_far_rows_are_unknown(limn, rejecting):
    labels = limn("predict", "m.limn", "q.csv").stdout.split()
    far = [label == "unknown" for label in rejecting.labels]
    assert all(label == "unknown" for label, is_far in zip(labels, far) if is_far)
    near = [label for label, is_far in zip(labels, far) if not is_far]
    assert near.count("unknown") <= 6
    rows = lines(limn("predict", "m.limn", "q.csv", "--proba").stdout)
    assert [row[0] for row in rows[1:]] == labels


def test_eval_counts_unknown_rows(limn, rejecting):
    labels = limn("predict", "m.limn", "q.csv").stdout.split()
    right = sum(a == b for a, b in zip(labels, rejecting.labels))
    got = json.loads(limn("eval", "m.limn", "q.csv", "--json", "--no-speed").stdout)
    assert got["accuracy"] == pytest.approx(right / len(labels))
    assert got["labels"][-1] == "unknown"
    names = got["labels"]
    table = [[0] * len(names) for _ in names]
    for truth, answer in zip(rejecting.labels, labels):
        table[names.index(truth)][names.index(answer)] += 1
    assert got["confusion"] == table
    assert table[-1][-1] == rejecting.labels.count("unknown")
    text = limn("eval", "m.limn", "q.csv", "--no-speed").stdout
    assert text.splitlines()[-1].split()[0] == "unknown"


def test_eval_names_unknown_where_the_data_has_none(limn, tmp_path, rejecting):
    blobs(60, seed=23, spread=3).csv(tmp_path / "near.csv")
    labels = limn("predict", "m.limn", "near.csv").stdout.split()
    assert 0 < labels.count("unknown") < 60
    got = json.loads(limn("eval", "m.limn", "near.csv", "--json", "--no-speed").stdout)
    assert got["labels"] == [*NAMES, "unknown"]
    assert sum(row[3] for row in got["confusion"]) == labels.count("unknown")
    assert got["confusion"][3] == [0, 0, 0, 0]
    assert "unknown" in limn("eval", "m.limn", "near.csv", "--no-speed").stdout


def test_hulls_that_fill_the_space_are_refused(fails, limn, train_csv):
    for more in (["dim=full"], ["dim=4"], ["dim=9"], ["dim=full", "neighbors=9"]):
        options = [word for assignment in more for word in ("-p", assignment)]
        sentence = fails(3, "train", train_csv, "-m", "nhd", *options, "-o", "m.limn")
        for word in ("4 dimensions", "dim=N", "dim=auto", "nrh", "nch", "kernel"):
            assert word in sentence
    limn("train", train_csv, "-m", "nhd", "-p", "dim=3", "-o", "m.limn")
    limn("train", train_csv, "-m", "nhd", "-p", "dim=full", "-p", "kernel=rbf", "-o", "m.limn")


def test_kernel_values_too_large_are_refused(fails, train_csv):
    for more in ([], ["-p", "neighbors=5"]):
        assert "--scale zscore" in fails(
            3, "train", train_csv, "-m", "nah", "-p", "kernel=poly", "-p", "gamma=1e12", "-p",
            "degree=50", "--scale", "none", *more, "-o", "m.limn")


def test_single_rows_are_warned_of(limn, tmp_path):
    (tmp_path / "t.csv").write_text("u,v,c\n0,0,a\n4,0,a\n2,1,a\n9,9,b\n")
    done = limn("train", "t.csv", "-m", "nch", "-o", "m.limn")
    assert "warning" in done.stderr and "1 of 2 classes has only one row" in done.stderr


def test_parameters_are_checked(fails, train_csv):
    train = ["train", train_csv, "-o", "m.limn"]
    assert "full|gap" in fails(2, *train, "-m", "nah", "-p", "dim=most")
    assert "nch" in fails(2, *train, "-m", "nch", "-p", "dim=2")
    assert "rho" in fails(2, *train, "-m", "nrh", "-p", "rho=0")
    assert "reject" in fails(2, *train, "-m", "nsc", "-p", "reject=0.9")
    assert "nu" in fails(2, *train, "-m", "nhd", "-p", "nu=1.5")
    assert "sigmoid" in fails(2, *train, "-m", "nsc", "-p", "kernel=cubic")


def test_methods_tell_the_words_of_dim(limn):
    text = limn("methods", "nhd").stdout
    assert "dim=auto" in text and "full|gap or auto" in text and "reject=0" in text
    for method in METHODS:
        assert f"{method}:" in limn("methods", method).stdout


def test_info_shows_what_was_chosen(limn, train_csv):
    limn("train", train_csv, "-m", "nrh", "-p", "neighbors=0", "-p", "reject=0.1", "-o", "m.limn")
    text = limn("info", "m.limn").stdout
    for word in ("rho", "beta", "farthest known", "directions"):
        assert word in text
