"""svm answers as LIBSVM's own programs do, both with text models of svm-train and with models trained
by limn."""
import csv
import gzip
import io
import itertools
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

if not (shutil.which("svm-train") and shutil.which("svm-predict")):
    pytest.skip("no svm-train and svm-predict (package libsvm-tools)", allow_module_level=True)

LONG = os.environ.get("CHECK_LONG") == "1"  # more rows of the real sets
BOUND = 1e-5  # of sum |coef| K + |rho|
KERNELS = {"linear": ["-t", 0], "poly": ["-t", 1, "-g", 0.2, "-r", 1], "rbf": ["-t", 2, "-g", 0.2],
           "sigmoid": ["-t", 3, "-g", 0.05, "-r", -0.2]}
SVC = {"c_svc": ["-s", 0, "-c", 2], "nu_svc": ["-s", 1, "-n", 0.2]}
SVR = {"epsilon_svr": ["-s", 3, "-p", 0.05], "nu_svr": ["-s", 4, "-n", 0.3]}


# ---- LIBSVM's side ----

def run(*command):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_svm(path, x, y):
    with open(path, "w", encoding="ascii") as file:
        for row, label in zip(x, y):
            cells = [f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v != 0]
            file.write(f"{label} {' '.join(cells)}\n")
    return path


def svm_train(data, model, *options):
    run("svm-train", "-q", *options, data, model)
    return model


def svm_predict(data, model, tmp_path, *options):
    """The lines that svm-predict writes, and what it prints."""
    said = run("svm-predict", *options, data, model, tmp_path / "answers.txt")
    return (tmp_path / "answers.txt").read_text().splitlines(), said


def accuracy_said(said):
    right, of = re.search(r"\((\d+)/(\d+)\)", said).groups()
    return int(right) / int(of)


def read_model(path):
    """A text model as numbers: its header, coefficients (rows x vectors) and vectors."""
    head, body = open(path, encoding="ascii").read().split("\nSV\n")
    head = dict(line.split(" ", 1) for line in head.splitlines())
    rows = int(head["nr_class"]) - 1
    lines = [line.split() for line in body.splitlines()]
    coef = np.array([[float(v) for v in line[:rows]] for line in lines]).T
    cells = [[pair.split(":") for pair in line[rows:]] for line in lines]
    width = max(int(j) for line in cells for j, _ in line)
    vectors = np.zeros((len(lines), width))
    for vector, line in zip(vectors, cells):
        for j, value in line:
            vector[int(j) - 1] = float(value)
    return head, coef, vectors


def decision_values(path, x):
    """f of each pair for each row, and its sum |coef| K + |rho|, straight from the definition."""
    head, coef, vectors = read_model(path)
    wide = np.zeros((len(vectors), x.shape[1]))
    wide[:, :vectors.shape[1]] = vectors
    dots, gamma, coef0 = x @ wide.T, float(head.get("gamma", 0)), float(head.get("coef0", 0))
    distances = (x ** 2).sum(1)[:, None] - 2 * dots + (wide ** 2).sum(1)
    kernel = {"linear": lambda: dots, "rbf": lambda: np.exp(-gamma * np.maximum(distances, 0)),
              "polynomial": lambda: (gamma * dots + coef0) ** int(head.get("degree", 3)),
              "sigmoid": lambda: np.tanh(gamma * dots + coef0)}[head["kernel_type"]]()
    rho = np.array(head["rho"].split(), float)
    ends = np.cumsum([0] + [int(n) for n in head["nr_sv"].split()])
    f, size = [], []
    for p, (i, j) in enumerate(itertools.combinations(range(len(ends) - 1), 2)):
        part = np.zeros(len(vectors))
        part[ends[i]:ends[i + 1]] = coef[j - 1, ends[i]:ends[i + 1]]
        part[ends[j]:ends[j + 1]] = coef[i, ends[j]:ends[j + 1]]
        f.append(kernel @ part - rho[p])
        size.append(np.abs(kernel) @ np.abs(part) + abs(rho[p]))
    return np.array(f).T, np.array(size).T


def clear_rows(model, x):
    """Rows for which every f is further from 0 than limn's error bound."""
    f, size = decision_values(model, x)
    return (np.abs(f) > BOUND * size).all(axis=1)


# ---- data ----

def classes(seed, n, d, labels, apart=1.5):
    """Overlapping classes in random order; an eighth of the values are 0."""
    rng = np.random.default_rng(seed)
    centres = apart * np.random.default_rng(99).standard_normal((len(labels), d))
    y = rng.integers(0, len(labels), n)
    x = (centres[y] + rng.standard_normal((n, d))).astype(np.float32)
    x[rng.random((n, d)) < 0.125] = 0
    return x.astype(float), [labels[c] for c in y]


def curve(seed, n, d):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)).astype(np.float32).astype(float)
    return x, [float(v) for v in np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.standard_normal(n)]


def files(tmp_path, train, test):
    return write_svm(tmp_path / "train.svm", *train), write_svm(tmp_path / "test.svm", *test)


def check_labels(limn, tmp_path, model, test, x):
    """The answers of svm-predict on every clear row; returns how many rows are unclear."""
    expected, said = svm_predict(test, model, tmp_path)
    own, clear = limn("predict", model, test).split(), clear_rows(model, x)
    assert len(own) == len(expected)
    wrong = [q for q in range(len(x)) if clear[q] and own[q] != expected[q]]
    assert not wrong, f"{len(wrong)} of {len(x)} labels differ, the first in row {wrong[0] + 1}"
    report = json.loads(limn("eval", model, test, "--json"))
    assert report["n"] == len(x)
    assert abs(report["accuracy"] - accuracy_said(said)) <= (~clear).sum() / len(x) + 1e-9
    return (~clear).sum()


# ---- text models ----

@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", SVC)
@pytest.mark.parametrize("labels", [[1, -1], [3, -1, 7, 0, 12]])
def test_labels_of_text_models(limn, tmp_path, kind, kernel, labels):
    train, test = classes(1, 300, 6, labels), classes(2, 400, 6, labels)
    paths = files(tmp_path, train, test)
    model = svm_train(paths[0], tmp_path / "m.model", *SVC[kind], *KERNELS[kernel])
    close = check_labels(limn, tmp_path, model, paths[1], test[0])
    assert kernel != "rbf" or close < 5


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", SVC)
@pytest.mark.parametrize("labels", [[2, 1], [5, 1, 4, -2]])
def test_probabilities_of_text_models(limn, tmp_path, kind, kernel, labels):
    train, test = classes(3, 300, 5, labels), classes(4, 300, 5, labels)
    paths = files(tmp_path, train, test)
    model = svm_train(paths[0], tmp_path / "m.model", "-b", 1, *SVC[kind], *KERNELS[kernel])
    lines, _ = svm_predict(paths[1], model, tmp_path, "-b", 1)
    order = lines[0].split()[1:]
    expected = np.array([line.split()[1:] for line in lines[1:]], float)
    records = list(csv.reader(io.StringIO(limn("predict", "--proba", model, paths[1]))))
    assert records[0] == ["label"] + [f"p_{label}" for label in order]
    own = np.array([record[1:] for record in records[1:]], float)
    # 1e-4, except for flat machines, whose sigmoids are so steep that the last bits of f show.
    steep = np.abs(np.array(read_model(model)[0]["probA"].split(), float))
    steep = (1e-6 * decision_values(model, test[0])[1] * steep).max(axis=1)
    bound = 1e-4 + np.where((steep > 1e-4) & (kernel != "rbf"), steep, 0)
    assert (np.abs(own - expected).max(axis=1) <= bound).all()
    top = np.sort(expected, axis=1)[:, -2:]
    sure = top[:, 1] - top[:, 0] > 2 * bound
    answers = limn("predict", model, paths[1]).split()
    for q in np.flatnonzero(sure):
        assert answers[q] == records[1 + q][0] == lines[1 + q].split()[0]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "sigmoid"])
@pytest.mark.parametrize("kind", SVR)
def test_values_of_text_models(limn, tmp_path, kind, kernel):
    train, test = curve(5, 200, 3), curve(6, 300, 3)
    paths = files(tmp_path, train, test)
    model = svm_train(paths[0], tmp_path / "m.model", *SVR[kind], *KERNELS[kernel])
    lines, said = svm_predict(paths[1], model, tmp_path)
    own = np.array(limn("predict", model, paths[1]).split(), float)
    assert np.abs(own - np.array(lines, float)).max() < 1e-4
    squares = float(re.search(r"Mean squared error = (\S+)", said).group(1))
    report = json.loads(limn("eval", model, paths[1], "--json"))
    assert abs(report["rmse"] ** 2 - squares) <= 1e-4 * (1 + squares)


def test_outliers_of_text_models(limn, tmp_path):
    train, test = classes(7, 200, 4, [1], 0), classes(8, 500, 4, [1, 2], 1)
    paths = files(tmp_path, train, test)
    model = svm_train(paths[0], tmp_path / "m.model", "-s", 2, "-n", 0.1, "-g", 0.3)
    expected = svm_predict(paths[1], model, tmp_path)[0]
    own = limn("predict", model, paths[1]).split()
    assert {"-1", "1"} == set(own)
    assert own == expected


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_beyond_those_of_the_model(limn, tmp_path, kernel):
    labels = [1, 2, 3]
    train, test = classes(9, 200, 4, labels), classes(10, 300, 9, labels, 0.7)
    paths = files(tmp_path, train, test)
    model = svm_train(paths[0], tmp_path / "m.model", *KERNELS[kernel])
    check_labels(limn, tmp_path, model, paths[1], test[0])


def test_a_compressed_text_model_is_one_too(limn, tmp_path):
    data = classes(11, 100, 3, [1, 2])
    path = write_svm(tmp_path / "train.svm", *data)
    model = svm_train(path, tmp_path / "m.model")
    packed = tmp_path / "m.model.gz"
    packed.write_bytes(gzip.compress(model.read_bytes()))
    assert limn("predict", packed, path) == limn("predict", model, path)


def test_info_of_a_text_model(limn, tmp_path):
    path = write_svm(tmp_path / "train.svm", *classes(12, 150, 3, [4, -1, 9]))
    model = svm_train(path, tmp_path / "m.model", "-t", 1, "-d", 2, "-g", 0.5, "-r", 1.5)
    head, coef, vectors = read_model(model)
    about = json.loads(limn("info", model, "--json"))
    assert about["method"] == "svm" and about["task"] == "classify"
    assert about["features"] == vectors.shape[1] and about["scale"] == "none"
    assert about["labels"] == head["label"].split()
    params = about["params"]
    assert (params["type"], params["kernel"], params["degree"]) == ("c_svc", "poly", 2)
    assert (params["gamma"], params["coef0"]) == (0.5, 1.5)
    assert about["stats"]["support vectors"] == coef.shape[1]
    assert about["touched_vectors"] == coef.shape[1]
    words = limn("info", model)
    assert "svm" in words and "kernel=poly" in words and str(coef.shape[1]) in words


def test_a_linear_kernel_touches_one_vector_a_pair(limn, tmp_path):
    path = write_svm(tmp_path / "train.svm", *classes(13, 150, 3, [1, 2, 3, 4]))
    model = svm_train(path, tmp_path / "m.model", "-t", 0)
    assert json.loads(limn("info", model, "--json"))["touched_vectors"] == 6


# ---- training ----

def check_accuracy(limn, tmp_path, paths, gamma, cost):
    model = svm_train(paths[0], tmp_path / "m.model", "-g", gamma, "-c", cost)
    expected = accuracy_said(svm_predict(paths[1], model, tmp_path)[1])
    limn("train", paths[0], "-m", "svm", "--scale", "none", "-p", f"gamma={gamma}", "-p",
         f"C={cost}", "-o", tmp_path / "m.limn")
    report = json.loads(limn("eval", tmp_path / "m.limn", paths[1], "--json"))
    assert abs(report["accuracy"] - expected) <= 0.002 + 1e-9
    return model


@pytest.mark.parametrize("labels", [[1, -1], [3, 1, 2, 7]])
def test_training_reaches_the_accuracy_of_svm_train(limn, tmp_path, labels):
    train, test = classes(14, 500, 5, labels), classes(15, 2000, 5, labels)
    check_accuracy(limn, tmp_path, files(tmp_path, train, test), 0.2, 4)


def first_rows(folder, tmp_path, name, part, count, d):
    """The first rows of an optional set as a file, and as an array."""
    with gzip.open(os.path.join(folder, f"{name}.{part}.svm.gz"), "rt") as file:
        lines = list(itertools.islice(file, count))
    path = tmp_path / f"{name}.{part}.svm"
    path.write_text("".join(lines))
    x = np.zeros((len(lines), d))
    for row, line in zip(x, lines):
        for cell in line.split()[1:]:
            j, value = cell.split(":")
            row[int(j) - 1] = float(value)
    return path, x


@pytest.mark.parametrize("name,d,gamma,cost,rows",
                         [("letter", 16, 1, 4, 4000), ("usps", 256, 0.01, 5, 1500)] if LONG else
                         [("letter", 16, 1, 4, 1200), ("usps", 256, 0.01, 5, 600)])
def test_parts_of_letter_and_usps(limn, tmp_path, shared_data, name, d, gamma, cost, rows):
    train, _ = first_rows(shared_data, tmp_path, name, "train", rows, d)
    test, x = first_rows(shared_data, tmp_path, name, "test", 1000, d)
    model = check_accuracy(limn, tmp_path, (train, test), gamma, cost)
    assert check_labels(limn, tmp_path, model, test, x) < 5
