"""limn train --task density, predict, eval and info, for every method that can do it; what the numbers
are is tested in tests/unit/test_density.c and with each method."""

import json
import math
import subprocess

import pytest
from table import LIMN, blobs

METHODS = [m["name"] for m in
           json.loads(subprocess.run([LIMN, "methods", "--json"], capture_output=True, text=True,
                                     check=True).stdout)["methods"]
           if "density" in m["capabilities"]]
each = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def train(limn, tmp_path):
    """Trains on rows with a label column, which is not a feature, and returns the table."""

    def run(method, *options):
        table = blobs(90, seed=1)
        table.csv(tmp_path / "d.csv")
        limn("train", "d.csv", "--task", "density", "--label", "species", "-m", method, "-o",
             "m.limn", *options)
        return table

    return run


def numbers(limn, *args, **options):
    return [float(line) for line in limn("predict", *args, **options).stdout.splitlines()]


@each
@pytest.mark.parametrize("scale", ["auto", "none", "minmax", "zscore"])
def test_predict_gives_one_number_per_row_and_eval_their_mean(limn, train, tmp_path, method, scale):
    table = train(method, "--scale", scale)
    table.csv(tmp_path / "bare.csv", labels=False)
    values = numbers(limn, "m.limn", "bare.csv")
    assert len(values) == len(table.rows) and all(map(math.isfinite, values))
    assert numbers(limn, "m.limn", "d.csv") == values
    for data in "bare.csv", "d.csv":
        result = json.loads(limn("eval", "m.limn", data, "--json").stdout)
        assert result["mean_log_density"] == pytest.approx(sum(values) / len(values))
        assert result["latency_us_p50"] > 0
        for key in "accuracy", "rmse", "recall_at_k", "labels", "confusion":
            assert result[key] is None
    words = limn("eval", "m.limn", "bare.csv", "--no-speed").stdout
    assert "  mean log density" in words and "accuracy" not in words


@each
def test_a_table_without_a_header_has_only_features(limn, tmp_path, method):
    table = blobs(60, seed=2)
    text = "".join(",".join(map(str, row)) + "\n" for row in table.rows)
    (tmp_path / "d.csv").write_text(text)
    limn("train", "d.csv", "--task", "density", "-m", method, "-o", "m.limn")
    info = json.loads(limn("info", "m.limn", "--json").stdout)
    assert info["features"] == len(table.rows[0]) and info["label_column"] is None
    values = numbers(limn, "m.limn", "-", input=text)
    labelled = "".join(line + ",7\n" for line in text.splitlines())
    assert numbers(limn, "m.limn", "-", input=labelled) == values
    for data in text, labelled:
        result = json.loads(limn("eval", "m.limn", "-", "--json", "--no-speed", input=data).stdout)
        assert result["mean_log_density"] == pytest.approx(sum(values) / len(values))


@each
def test_info_shows_the_task_and_no_classes(limn, train, method):
    train(method)
    info = json.loads(limn("info", "m.limn", "--json").stdout)
    assert info["task"] == "density" and info["classes"] is None and info["labels"] is None
    assert "density" in info["capabilities"] and "classify" not in info["capabilities"]
    assert "  classes" not in limn("info", "m.limn").stdout


@each
def test_answers_of_other_tasks_are_refused(fails, train, method):
    train(method)
    assert "m.limn gives log densities, not classes" in fails(2, "predict", "m.limn", "d.csv",
                                                              "--proba")
    for option, sentence in ("--scores", "no decision values"), ("--vote", "no pairwise votes"):
        assert sentence in fails(2, "predict", "m.limn", "d.csv", option)
    assert "density" in fails(2, "eval", "m.limn", "d.csv", "-k", "3")


def test_a_method_without_densities_says_so(fails, train_csv, tmp_path):
    assert "lda does not support the task density" in fails(
        2, "train", train_csv, "--task", "density", "-m", "lda", "-o", "m.limn")
    assert not (tmp_path / "m.limn").exists()
