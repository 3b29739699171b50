"""limn eval and limn search, against figures that are computed here."""

import csv
import io
import json
import math

import pytest
from table import NAMES, blobs, distance2, nearest

KEYS = {"method", "n", "accuracy", "error", "uc", "balanced_accuracy", "log_loss", "brier",
        "recall_at_k", "k", "confusion", "labels", "latency_us_mean", "latency_us_p50",
        "latency_us_p99", "latency_rows", "batch_rows_per_s", "touched_vectors", "touched_bytes",
        "model_bytes",
        "ece", "mae", "rmse", "r2", "mean_log_density"}


def entropy(counts):
    total = sum(counts)
    return -sum(c / total * math.log(c / total) for c in counts if c)


def uncertainty(table):
    """(H(truth) - H(truth | answer)) / H(truth) of a confusion table with truth in rows."""
    total = sum(map(sum, table))
    truth = entropy([sum(row) for row in table])
    columns = list(zip(*table))
    given = sum(sum(c) / total * entropy(c) for c in columns if sum(c))
    return (truth - given) / truth


@pytest.fixture
def noisy(limn, tmp_path):
    """A model that errs: classes that overlap."""
    blobs(120, seed=11, spread=2.5).csv(tmp_path / "t.csv")
    table = blobs(90, seed=12, spread=2.5)
    table.csv(tmp_path / "q.csv")
    limn("train", "t.csv", "-m", "knn", "-p", "k=5", "-o", "n.limn")
    return table


def test_figures_equal_those_of_the_answers(limn, noisy):
    result = json.loads(limn("eval", "n.limn", "q.csv", "--json", "--no-speed").stdout)
    rows = list(csv.reader(io.StringIO(limn("predict", "n.limn", "q.csv", "--proba").stdout)))[1:]
    answers = [row[0] for row in rows]
    p = [[float(cell) for cell in row[1:]] for row in rows]
    truth = noisy.labels
    n = len(truth)
    table = [[sum(t == a and g == b for t, g in zip(truth, answers)) for b in NAMES] for a in NAMES]
    right = sum(t == a for t, a in zip(truth, answers))
    assert set(result) == KEYS
    assert result["method"] == "knn" and result["n"] == n
    assert result["labels"] == NAMES and result["confusion"] == table
    assert 0 < right < n, "the data must make the model err"
    assert result["accuracy"] == pytest.approx(right / n)
    assert result["error"] == pytest.approx(1 - right / n)
    assert result["balanced_accuracy"] == pytest.approx(
        sum(table[i][i] / sum(table[i]) for i in range(3)) / 3)
    assert result["uc"] == pytest.approx(uncertainty(table))
    assert result["brier"] == pytest.approx(
        sum(sum((q - (name == t)) ** 2 for q, name in zip(row, NAMES))
            for row, t in zip(p, truth)) / n)
    assert result["log_loss"] == pytest.approx(
        -sum(math.log(max(row[NAMES.index(t)], 1e-15)) for row, t in zip(p, truth)) / n)
    assert 0 <= result["ece"] <= 1
    for key in ("mae", "rmse", "r2", "mean_log_density", "latency_us_mean", "latency_us_p50",
                "latency_us_p99", "latency_rows", "batch_rows_per_s"):
        assert result[key] is None
    assert result["touched_vectors"] == 120


def test_speed_is_measured_unless_told_otherwise(limn, model, test_csv):
    result = json.loads(limn("eval", model, test_csv, "--json").stdout)
    assert set(result) == KEYS
    assert 0 < result["latency_us_p50"] <= result["latency_us_p99"]
    assert result["latency_us_mean"] > 0 and 20 <= result["latency_rows"] <= result["n"]
    assert result["batch_rows_per_s"] > 0
    assert result["model_bytes"] == model.stat().st_size and result["touched_bytes"] > 0


def test_words_have_percent_and_an_aligned_table(limn, noisy):
    lines = limn("eval", "n.limn", "q.csv", "--no-speed").stdout.splitlines()
    assert lines[0] == "knn on q.csv: 90 rows"
    result = json.loads(limn("eval", "n.limn", "q.csv", "--json", "--no-speed").stdout)
    accuracy = next(line for line in lines if line.strip().startswith("accuracy"))
    assert accuracy.split()[1:] == [f"{100 * result['accuracy']:.2f}", "%"]
    table = lines[-4:]
    assert table[0].split() == ["truth", *NAMES]
    assert len(set(map(len, table))) == 1
    for line, name, counts in zip(table[1:], NAMES, result["confusion"]):
        assert line.split() == [name, *map(str, counts)]


def test_speed_in_words(limn, model, test_csv):
    text = limn("eval", model, test_csv).stdout
    assert "us mean" in text and "median" in text and "rows/s" in text and "a query touches" in text


def test_labels_that_the_model_does_not_know_come_last(limn, model, tmp_path, test_table):
    test_table.labels[0] = "unheard-of"
    test_table.csv(tmp_path / "q.csv")
    result = json.loads(limn("eval", model, "q.csv", "--json", "--no-speed").stdout)
    assert result["labels"] == [*NAMES, "unheard-of"]
    assert sum(result["confusion"][3]) == 1
    assert all(row[3] == 0 for row in result["confusion"])


def test_one_class_has_no_uncertainty_coefficient(limn, model, tmp_path, test_table):
    test_table.rows, test_table.labels = test_table.rows[::3], test_table.labels[::3]
    test_table.csv(tmp_path / "q.csv")
    result = json.loads(limn("eval", model, "q.csv", "--json", "--no-speed").stdout)
    assert result["uc"] is None and result["accuracy"] is not None


def test_many_classes_are_told_how_to_get_the_table(limn, tmp_path):
    names = [f"class{i:02d}" for i in range(31)]
    blobs(62, seed=13, names=names).csv(tmp_path / "d.csv")
    limn("train", "d.csv", "-m", "knn", "-p", "k=1", "-o", "m.limn")
    assert "--json gives it" in limn("eval", "m.limn", "d.csv", "--no-speed").stdout


def test_regression_figures(limn, tmp_path):
    train, test = blobs(60, seed=5), blobs(30, seed=6)
    for table in (train, test):
        table.labels = [repr(round(sum(row), 3)) for row in table.rows]
    train.csv(tmp_path / "t.csv")
    test.csv(tmp_path / "q.csv")
    limn("train", "t.csv", "--task", "regress", "-m", "knn", "-p", "k=3", "-o", "r.limn")
    result = json.loads(limn("eval", "r.limn", "q.csv", "--json", "--no-speed").stdout)
    given = list(map(float, limn("predict", "r.limn", "q.csv").stdout.split()))
    truth = list(map(float, test.labels))
    off = [g - t for g, t in zip(given, truth)]
    mean = sum(truth) / len(truth)
    assert set(result) == KEYS
    assert result["mae"] == pytest.approx(sum(map(abs, off)) / len(off))
    assert result["rmse"] == pytest.approx(math.sqrt(sum(o * o for o in off) / len(off)))
    assert result["r2"] == pytest.approx(
        1 - sum(o * o for o in off) / sum((t - mean) ** 2 for t in truth))
    assert result["accuracy"] is None and result["confusion"] is None and result["labels"] is None


def test_data_without_labels_cannot_be_judged(fails, model, tmp_path, test_table):
    test_table.csv(tmp_path / "q.csv", labels=False)
    assert "label" in fails(3, "eval", model, "q.csv", "--no-speed")


def test_data_from_stdin(limn, model, test_csv):
    one = limn("eval", model, test_csv, "--no-speed", "--json").stdout
    two = limn("eval", model, "-", "--no-speed", "--json", input=test_csv.read_text()).stdout
    assert json.loads(one) == json.loads(two)


# ---- search ----


def neighbours(text):
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["query", "rank", "row", "distance"]
    return [(int(q), int(r), int(row), float(d)) for q, r, row, d in rows[1:]]


def check_neighbours(found, train, test, k):
    assert len(found) == len(test.rows) * k
    for i, (query, rank, row, distance) in enumerate(found):
        assert (query, rank) == (i // k, i % k + 1)
        assert distance == pytest.approx(
            math.sqrt(distance2(train.rows[row], test.rows[query])), rel=1e-5)
        assert row == nearest(train, test.rows[query], k)[rank - 1]


def test_search_finds_the_nearest_rows(limn, model, tmp_path, train_table, test_table):
    test_table.csv(tmp_path / "q.csv", labels=False)
    for k in (1, 4):
        found = neighbours(limn("search", model, "q.csv", "-k", k).stdout)
        check_neighbours(found, train_table, test_table, k)


def test_search_model_needs_no_labels(limn, tmp_path, train_table, test_table):
    train_table.csv(tmp_path / "p.csv", labels=False)
    test_table.csv(tmp_path / "q.csv", labels=False)
    limn("train", "p.csv", "--task", "search", "--no-label", "-m", "knn", "-o", "p.limn")
    limn("search", "p.limn", "q.csv", "-k", "3", "-o", "out.csv")
    check_neighbours(neighbours((tmp_path / "out.csv").read_text()), train_table, test_table, 3)


def test_search_for_more_rows_than_there_are_gives_all(limn, model, tmp_path, test_table):
    test_table.csv(tmp_path / "q.csv", labels=False)
    found = neighbours(limn("search", model, "q.csv", "-k", "1000000").stdout)
    assert len(found) == 60 * 90
    assert {row for query, _, row, _ in found if query == 59} == set(range(90))


def test_predict_of_a_search_model_points_to_search(fails, limn, tmp_path, train_table):
    train_table.csv(tmp_path / "p.csv", labels=False)
    limn("train", "p.csv", "--task", "search", "--no-label", "-m", "knn", "-o", "p.limn")
    assert "limn search" in fails(2, "predict", "p.limn", "p.csv")


@pytest.mark.parametrize("metric", ["l2", "l1", "cosine"])
def test_eval_of_a_search_model_gives_recall(limn, tmp_path, train_table, test_table, metric):
    train_table.csv(tmp_path / "p.csv", labels=False)
    test_table.csv(tmp_path / "q.csv", labels=False)
    limn("train", "p.csv", "--task", "search", "--no-label", "-m", "knn", "-p",
         f"metric={metric}", "--scale", "zscore", "-o", "p.limn")
    result = json.loads(limn("eval", "p.limn", "q.csv", "--no-label", "-k", "7", "--no-speed",
                             "--json").stdout)
    assert set(result) == KEYS
    assert (result["recall_at_k"], result["k"]) == (1, 7)
    assert result["accuracy"] is None and result["confusion"] is None
    words = limn("eval", "p.limn", "q.csv", "--no-label").stdout
    assert "recall at 10" in words and "100.00 %" in words and "latency" in words


def test_neighbours_belong_to_search_models(fails, model, test_csv):
    assert "-k" in fails(2, "eval", model, test_csv, "-k", "3")
