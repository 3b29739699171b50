"""limn with borders, agf and kde on the command line: teachers, votes, probabilities, summaries."""

import csv
import io
import json

import pytest
from table import blobs


@pytest.fixture
def numbers(tmp_path):
    """Rows of three classes 1, 2, 3 as LIBSVM text."""
    return blobs(150, seed=7, names=["1", "2", "3"]).libsvm(tmp_path / "t.libsvm")


@pytest.fixture
def fresh(tmp_path):
    return blobs(900, seed=8, names=["1", "2", "3"]).libsvm(tmp_path / "fresh.libsvm")


def evaluated(limn, model, data):
    return json.loads(limn("eval", model, data, "--json", "--no-speed").stdout)


def stats(limn, model):
    return json.loads(limn("info", model, "--json").stdout)["stats"]


def test_an_svm_teaches_unless_another_is_named(limn, numbers):
    said = limn("train", numbers, "-m", "borders", "-o", "a.limn").stdout
    assert "drawn from svm, trained first" in said
    limn("train", numbers, "-m", "borders", "--teacher", "svm", "-o", "b.limn")
    limn("train", numbers, "-m", "svm", "-o", "svm.limn")
    said = limn("train", numbers, "-m", "borders", "--teacher", "svm.limn", "-o", "c.limn").stdout
    assert "drawn from svm.limn\n" in said
    answers = {limn("predict", m, numbers, "--scores").stdout for m in ("a.limn", "b.limn", "c.limn")}
    assert len(answers) == 1


def test_parameters_of_the_default_teacher(limn, fails, numbers):
    limn("train", numbers, "-m", "borders", "-p", "teacher.C=100", "-p", "teacher.gamma=auto",
         "-o", "a.limn")
    limn("train", numbers, "-m", "borders", "-p", "teacher.C=0.01", "-o", "b.limn")
    assert (limn("predict", "a.limn", numbers, "--scores").stdout
            != limn("predict", "b.limn", numbers, "--scores").stdout)
    assert "no parameter" in fails(2, "train", numbers, "-m", "borders", "-p", "teacher.W=3", "-o",
                                   "c.limn")


@pytest.mark.parametrize("teacher", ["svm", "agf", "kde", "knn", "lda", "vpc"])
def test_every_teacher_makes_a_good_model(limn, numbers, fresh, teacher):
    limn("train", numbers, "-m", teacher, "-o", "teacher.limn")
    limn("train", numbers, "-m", "borders", "-p", "borders=30", "--teacher", teacher, "-o", "m.limn")
    own, theirs = evaluated(limn, "m.limn", fresh), evaluated(limn, "teacher.limn", fresh)
    assert own["accuracy"] > theirs["accuracy"] - 0.05
    assert own["log_loss"] is not None


def test_a_libsvm_text_model_teaches(limn, numbers, fresh):
    limn("train", numbers, "-m", "svm", "--scale", "none", "-o", "a.limn")
    limn("convert", "a.limn", "a.model")
    limn("train", numbers, "-m", "borders", "--teacher", "a.model", "-p", "borders=40", "-o", "m.limn")
    theirs = evaluated(limn, "a.model", fresh)["accuracy"]
    assert evaluated(limn, "m.limn", fresh)["accuracy"] > theirs - 0.05


@pytest.mark.parametrize("multi", ["ovo", "dag"])
def test_labels_are_the_most_probable_class_and_votes_are_signs(limn, numbers, fresh, multi):
    limn("train", numbers, "-m", "borders", "-p", "borders=20", "-p", f"multi={multi}", "-o", "m.limn")
    rows = list(csv.DictReader(io.StringIO(limn("predict", "m.limn", fresh, "--proba").stdout)))
    labels = limn("predict", "m.limn", fresh).stdout.split()
    for row, label in zip(rows, labels, strict=True):
        p = {c: float(row[f"p_{c}"]) for c in "123"}
        assert abs(sum(p.values()) - 1) < 1e-9
        assert row["label"] == label == max(p, key=p.get)
    votes = limn("predict", "m.limn", fresh, "--vote").stdout.split()
    pairs = ("12", "13", "23")
    scores = csv.DictReader(io.StringIO(limn("predict", "m.limn", fresh, "--scores").stdout))
    for row, vote in zip(scores, votes, strict=True):
        won = [a if float(row[f"f_{a}_{b}"]) > 0 else b for a, b in pairs]
        assert vote == max("123", key=won.count)


def test_info_says_how_many_borders_there_are(limn, numbers):
    limn("train", numbers, "-m", "borders", "-p", "borders=10", "-p", "sampling=random", "-p", "multi=ovo",
         "-o", "m.limn")
    found = stats(limn, "m.limn")
    assert found["border vectors"] == 30
    assert found["pairs of classes"] == found["pairs decided by borders"] == found["pairs asked per query"] == 3
    assert found["pairs without a border"] == found["pairs decided by a plane"] == 0


@pytest.mark.parametrize("form, key", [("plane", "a plane"), ("cells", "cells"),
                                       ("borders", "borders")])
def test_info_says_which_forms_were_chosen(limn, numbers, form, key):
    limn("train", numbers, "-m", "borders", "-p", "borders=20", "-p", f"form={form}", "-p", "multi=dag",
         "-o", "m.limn")
    found = stats(limn, "m.limn")
    assert found["pairs decided by " + key] == 3
    assert found["pairs asked per query"] == 2
    assert found["border vectors"] <= 60
    assert found["% agreement with the teacher"] > 80


def test_fewer_borders_than_asked_for_are_a_warning(limn, tmp_path):
    (tmp_path / "few.csv").write_text("x,label\n0,a\n1,a\n4,b\n5,b\n")
    done = limn("train", "few.csv", "-m", "borders", "-p", "borders=100", "-p", "sampling=random",
                "--teacher", "kde", "-o", "m.limn")
    assert "fewer than 100 borders" in done.stderr
    assert limn("predict", "m.limn", "few.csv").stdout == "a\na\nb\nb\n"


def test_a_model_slower_than_its_teacher_is_told_of(limn, numbers):
    done = limn("train", numbers, "-m", "borders", "-p", "borders=2000", "-p", "sampling=random", "-p",
                "multi=ovo", "-o", "m.limn")
    assert "slower than the teacher itself" in done.stderr


def test_threshold_is_for_two_classes(fails, numbers):
    assert "threshold is for two classes" in fails(
        2, "train", numbers, "-m", "borders", "-p", "threshold=0.5", "-o", "m.limn")


def test_a_filter_regresses(limn, tmp_path):
    rows = [f"{i / 10},{(i / 10) ** 2}" for i in range(100)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    limn("train", "t.csv", "--task", "regress", "-m", "agf", "-p", "W=auto", "-o", "m.limn")
    assert evaluated(limn, "m.limn", "t.csv")["r2"] > 0.99
    assert 0 < stats(limn, "m.limn")["W"] < 10


def test_methods_tell_the_default_teacher(limn):
    assert "teacher: svm unless --teacher names another" in limn("methods", "borders").stdout
    methods = {m["name"]: m for m in json.loads(limn("methods", "--json").stdout)["methods"]}
    assert methods["borders"]["default_teacher"] == "svm"
    assert methods["knn"]["default_teacher"] is None
