"""knn gives scikit-learn's neighbours, distances, labels, probabilities and values."""
import csv
import gzip
import io
import os

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from sklearn.datasets import load_svmlight_file  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors  # noqa: E402

QUERIES = None if os.environ.get("CHECK_LONG") == "1" else 800  # of the real sets; None: all
METRIC = {"l2": "euclidean", "l1": "manhattan", "cosine": "cosine"}


def write_csv(path, x, y=None):
    with open(path, "w", encoding="ascii") as file:
        for i, row in enumerate(x):
            cells = [repr(float(np.float32(v))) for v in row]
            if y is not None:
                cells.append(str(y[i]))
            file.write(",".join(cells) + "\n")


def parse_search(text, queries, k):
    rows = np.full((queries, k), -1)
    distances = np.full((queries, k), np.inf)
    for record in csv.DictReader(io.StringIO(text)):
        q, rank = int(record["query"]), int(record["rank"]) - 1
        rows[q, rank] = int(record["row"])
        distances[q, rank] = float(record["distance"])
    return rows, distances


def check_neighbors(rows, distances, expected_distances, expected_rows, tolerance):
    assert np.allclose(distances, expected_distances, rtol=tolerance, atol=tolerance)
    # Where the rows differ, their distances must tie.
    differ = rows != expected_rows
    gap = np.abs(distances - expected_distances)[differ]
    assert np.all(gap <= tolerance * (1 + expected_distances[differ]))
    return differ


@pytest.mark.parametrize("metric", ["l2", "l1", "cosine"])
@pytest.mark.parametrize("n,d", [(50, 1), (200, 7), (1000, 33), (30, 90)])
def test_search_on_random_data(limn, tmp_path, metric, n, d):
    rng = np.random.default_rng(n * d)
    x = rng.standard_normal((n, d)).astype(np.float32)
    q = rng.standard_normal((40, d)).astype(np.float32)
    write_csv(tmp_path / "x.csv", x)
    write_csv(tmp_path / "q.csv", q)
    limn("train", tmp_path / "x.csv", "--task", "search", "-m", "knn", "-p", f"metric={metric}",
         "-o", tmp_path / "m.limn")
    text = limn("search", tmp_path / "m.limn", tmp_path / "q.csv", "-k", 6)
    rows, distances = parse_search(text, len(q), 6)
    slow = NearestNeighbors(metric=METRIC[metric], algorithm="brute").fit(x.astype(np.float64))
    expected, expected_rows = slow.kneighbors(q.astype(np.float64), 6)
    differ = check_neighbors(rows, distances, expected, expected_rows, 1e-7)
    if d > 1 or metric != "cosine":  # in one dimension every cosine distance is 0 or 2
        assert differ.mean() < 0.01


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 4, 15])
def test_classes_probabilities_and_values_on_random_data(limn, tmp_path, weights, k):
    rng = np.random.default_rng(k)
    x = rng.standard_normal((300, 5)).astype(np.float32)
    labels = (x[:, 0] + rng.standard_normal(300) > 0).astype(int) + 2 * (x[:, 1] > 0.5)
    q = rng.standard_normal((100, 5)).astype(np.float32)
    write_csv(tmp_path / "x.csv", x, labels)
    write_csv(tmp_path / "q.csv", q)
    limn("train", tmp_path / "x.csv", "-m", "knn", "-p", f"k={k}", "-p", f"weights={weights}",
         "--scale", "none", "-o", tmp_path / "m.limn")
    slow = KNeighborsClassifier(k, weights=weights, algorithm="brute").fit(x, labels)
    predicted = limn("predict", tmp_path / "m.limn", tmp_path / "q.csv").split()
    assert predicted == [str(v) for v in slow.predict(q)]
    records = list(csv.reader(io.StringIO(limn("predict", "--proba", tmp_path / "m.limn",
                                               tmp_path / "q.csv"))))
    assert records[0] == ["label"] + [f"p_{c}" for c in slow.classes_]
    proba = np.array([[float(v) for v in r[1:]] for r in records[1:]])
    assert np.allclose(proba, slow.predict_proba(q), atol=1e-5)

    target = x @ [1.5, -2, 0.5, 0, 3] + rng.standard_normal(300)
    write_csv(tmp_path / "t.csv", x, target)
    limn("train", tmp_path / "t.csv", "--task", "regress", "-m", "knn", "-p", f"k={k}", "-p",
         f"weights={weights}", "--scale", "none", "-o", tmp_path / "r.limn")
    values = np.array(limn("predict", tmp_path / "r.limn", tmp_path / "q.csv").split(), float)
    slow = KNeighborsRegressor(k, weights=weights, algorithm="brute").fit(x, target)
    assert np.allclose(values, slow.predict(q), rtol=1e-5, atol=1e-5)


def load(folder, name, part):
    with gzip.open(os.path.join(folder, f"{name}.{part}.svm.gz")) as file:
        x, y = load_svmlight_file(file, n_features=16)
    return x.toarray().astype(np.float32), y.astype(int)


@pytest.mark.parametrize("name", ["letter", "pendigits"])
def test_letter_and_pendigits(limn, tmp_path, shared_data, name):
    k = 5
    x, y = load(shared_data, name, "train")
    q = load(shared_data, name, "test")[0][:QUERIES]
    asked = tmp_path / "test.csv"
    write_csv(asked, q)
    limn("train", os.path.join(shared_data, f"{name}.train.svm.gz"), "-m", "knn", "-p", f"k={k}",
         "--scale", "none", "-o", tmp_path / "m.limn")
    slow = KNeighborsClassifier(k, algorithm="brute").fit(x, y)
    expected, expected_rows = slow.kneighbors(q.astype(np.float64))
    rows, distances = parse_search(limn("search", tmp_path / "m.limn", asked, "-k", k), len(q), k)
    check_neighbors(rows, distances, expected, expected_rows, 1e-9)
    # Labels agree except where a tie at the k-th distance leaves the choice open.
    predicted = np.array(limn("predict", tmp_path / "m.limn", asked).split(), int)
    next_distance = slow.kneighbors(q, k + 1)[0][:, k]
    open_choice = np.abs(next_distance - expected[:, k - 1]) < 1e-9
    wrong = (predicted != slow.predict(q)) & ~open_choice
    assert not wrong.any(), f"{wrong.sum()} of {len(q)} labels differ"
