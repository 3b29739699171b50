"""limn with support vector machines on the command line: svm-train's option letters, text models,
scores."""

import csv
import io
import json
import shutil
import signal
import subprocess
import time

import pytest
from table import LIMN, blobs, environment


@pytest.fixture
def numbers(tmp_path):
    """Rows of three classes 1, 2, 3 as LIBSVM text."""
    table = blobs(120, seed=7, names=["1", "2", "3"])
    return table.libsvm(tmp_path / "t.libsvm")


def params(limn, model):
    return json.loads(limn("info", model, "--json").stdout)["params"]


def test_letters_of_svm_train_are_parameters(limn, tmp_path, numbers):
    limn("train", numbers, "-m", "svm", "-s", "0", "-t", "1", "-c", "7", "-g0.25", "-d", "2", "-r",
         "1.5", "-w1", "2", "--svm-weight", "3=4", "-b", "1", "-o", "m.limn")
    got = params(limn, "m.limn")
    assert (got["type"], got["kernel"], got["C"], got["gamma"], got["degree"], got["coef0"]) == (
        "c_svc", "poly", 7, 0.25, 2, 1.5)
    assert got["class_weight"] == "1:2,3:4" and got["probability"] == "yes"


def test_letters_belong_to_svm(fails, numbers):
    assert "knn" in fails(2, "train", numbers, "-m", "knn", "-c", "7", "-o", "m.limn")
    assert "0|1|2|3" in fails(2, "train", numbers, "-m", "svm", "-t", "4", "-o", "m.limn")
    assert "needs a value" in fails(2, "train", numbers, "-m", "svm", "-o", "m.limn", "-w1")


def test_models_go_to_libsvm_text_and_back(limn, tmp_path, numbers):
    limn("train", numbers, "-m", "svm", "--scale", "none", "-b", "1", "-o", "a.limn")
    assert "LIBSVM text" in limn("convert", "a.limn", "a.model").stdout
    assert (tmp_path / "a.model").read_text().startswith("svm_type c_svc\nkernel_type rbf\n")
    assert "limn model" in limn("convert", "a.model", "b.limn").stdout
    for options in (["--vote"], ["--vote", "--scores"]):
        answers = [limn("predict", model, numbers, *options).stdout
                   for model in ("a.model", "b.limn")]
        assert answers[0] == answers[1]
    first = limn("predict", "a.limn", numbers, "--vote").stdout
    assert first == limn("predict", "b.limn", numbers, "--vote").stdout
    limn("convert", "b.limn", "c.model")
    assert (tmp_path / "c.model").read_text() == (tmp_path / "a.model").read_text()


def test_text_models_are_models_everywhere(limn, fails, tmp_path, numbers):
    limn("train", numbers, "-m", "svm", "--scale", "none", "-o", "a.limn")
    limn("convert", "a.limn", "a.model")
    assert json.loads(limn("eval", "a.model", numbers, "--json", "--no-speed").stdout)["n"] == 120
    about = json.loads(limn("info", "a.model", "--json").stdout)
    assert about["method"] == "svm" and about["labels"] == ["1", "2", "3"]
    assert "svm" in limn("info", "a.model").stdout
    (tmp_path / "cut.model").write_text((tmp_path / "a.model").read_text()[:300])
    assert "line" in fails(4, "predict", "cut.model", numbers)
    assert "search" in fails(2, "search", "a.model", numbers, "-k", "2")


def test_only_svm_has_a_text_form(limn, fails, numbers):
    limn("train", numbers, "-m", "lda", "-o", "a.limn")
    assert "lda" in fails(1, "convert", "a.limn", "a.model")


def test_scores_have_a_header_and_agree_with_the_vote(limn, numbers):
    limn("train", numbers, "-m", "svm", "-o", "a.limn")
    rows = list(csv.DictReader(io.StringIO(limn("predict", "a.limn", numbers, "--scores").stdout)))
    assert list(rows[0]) == ["label", "f_1_2", "f_1_3", "f_2_3"]
    for row in rows:
        votes = {"1": 0, "2": 0, "3": 0}
        for pair in ("1_2", "1_3", "2_3"):
            first, second = pair.split("_")
            votes[first if float(row["f_" + pair]) > 0 else second] += 1
        assert row["label"] == max(votes, key=lambda c: (votes[c], -int(c)))


def test_proba_needs_a_model_that_has_it(limn, fails, numbers):
    limn("train", numbers, "-m", "svm", "-o", "a.limn")
    assert "probability=yes" in fails(2, "predict", "a.limn", numbers, "--proba")
    limn("train", numbers, "-m", "svm", "-p", "probability=yes", "-o", "a.limn")
    rows = list(csv.DictReader(io.StringIO(limn("predict", "a.limn", numbers, "--proba").stdout)))
    for row in rows:
        p = {name[2:]: float(value) for name, value in row.items() if name != "label"}
        assert abs(sum(p.values()) - 1) < 1e-9 and row["label"] == max(p, key=p.get)
    assert "cannot be used together" in fails(2, "predict", "a.limn", numbers, "--proba", "--scores")


def test_votes_need_pairs_that_vote(limn, fails, numbers):
    limn("train", numbers, "-m", "vpc", "-o", "a.limn")
    assert "--vote" in fails(2, "predict", "a.limn", numbers, "--vote")
    limn("train", numbers, "--task", "regress", "-m", "svm", "-o", "r.limn")
    assert "--vote" in fails(2, "predict", "r.limn", numbers, "--vote")


def test_outliers_are_minus_one(limn, tmp_path):
    inside = "\n".join(f"{i % 7},{i % 5}" for i in range(60))
    (tmp_path / "in.csv").write_text(inside + "\n")
    limn("train", "in.csv", "--header", "no", "--no-label", "--task", "outlier", "-m", "svm", "-p",
         "nu=0.1", "-o", "o.limn")
    assert limn("predict", "o.limn", "-", input="3,3\n100,-50\n").stdout.split() == ["1", "-1"]
    (tmp_path / "test.csv").write_text("3,3,1\n100,-50,-1\n3,3,1\n")
    assert json.loads(limn("eval", "o.limn", "test.csv", "--no-speed", "--json")
                      .stdout)["accuracy"] == 1
    assert "f" in limn("predict", "o.limn", "-", "--scores", input="3,2\n").stdout.splitlines()[0]


def test_regression_and_types_must_fit(limn, fails, tmp_path, numbers):
    table = blobs(80, seed=9)
    rows = "\n".join(",".join(map(str, [*row, sum(row)])) for row in table.rows)
    (tmp_path / "r.csv").write_text(rows + "\n")
    limn("train", "r.csv", "--task", "regress", "-m", "svm", "-p", "C=100", "-o", "r.limn")
    assert json.loads(limn("eval", "r.limn", "r.csv", "--no-speed", "--json").stdout)["r2"] > 0.9
    assert "nu_svr" in fails(2, "train", numbers, "-m", "svm", "-p", "type=nu_svr", "-o", "x.limn")


def test_parameters_are_chosen_and_told(limn, numbers):
    limn("train", numbers, "-m", "svm", "-p", "C=auto", "-p", "gamma=auto", "-o", "a.limn")
    done = limn("train", numbers, "-m", "svm", "-p", "C=auto", "-p", "gamma=auto", "--threads",
                "1", "-o", "b.limn")
    assert "C=" in done.stderr and "gamma=" in done.stderr
    assert limn("predict", "a.limn", numbers, "--scores").stdout == limn(
        "predict", "b.limn", numbers, "--scores").stdout


def test_an_interrupt_ends_training_at_once(tmp_path):
    """Endless overlapping classes: training would take minutes."""
    rows = blobs(20000, seed=3)
    noisy = [f"{(i * 7919) % 13},{','.join(str(v) for v in row)}" for i, row in
             enumerate(rows.rows)]
    (tmp_path / "slow.csv").write_text("\n".join(noisy) + "\n")
    process = subprocess.Popen([LIMN, "train", "slow.csv", "--label", "1", "-m", "svm", "-p",
                                "C=1e6", "-p", "gamma=3", "--threads", "2", "-o", "slow.limn"],
                               cwd=tmp_path, env=environment(), stderr=subprocess.PIPE)
    time.sleep(2)
    assert process.poll() is None, process.stderr.read()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert [p.name for p in tmp_path.iterdir()] == ["slow.csv"]


@pytest.mark.skipif(not shutil.which("svm-predict"), reason="needs svm-predict (libsvm-tools)")
def test_exported_models_give_the_same_labels_in_libsvm(limn, tmp_path, numbers):
    limn("train", numbers, "-m", "svm", "--scale", "none", "-c", "3", "-o", "a.limn")
    limn("convert", "a.limn", "a.model")
    subprocess.run(["svm-predict", numbers, "a.model", "out.txt"], cwd=tmp_path, check=True,
                   stdout=subprocess.DEVNULL)
    assert (tmp_path / "out.txt").read_text() == limn("predict", "a.limn", numbers).stdout
