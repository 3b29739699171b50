"""limn with student on the command line: teachers, sizes, the teacher at last, values, progress."""

import csv
import fcntl
import io
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pytest
from table import LIMN, TIMEOUT, blobs, environment

NAMES = ["1", "2", "3"]
QUICK = ["-p", "pool=2000", "-p", "visits=30000", "-p", "rate=0.02"]
SMALL = ["-p", "size=8", *QUICK]


@pytest.fixture
def numbers(tmp_path):
    """Rows of three classes 1, 2, 3 as LIBSVM text."""
    return blobs(150, seed=7, names=NAMES).libsvm(tmp_path / "t.libsvm")


@pytest.fixture
def fresh(tmp_path):
    return blobs(600, seed=8, names=NAMES).libsvm(tmp_path / "fresh.libsvm")


@pytest.fixture
def curve(tmp_path):
    rows = [f"{i / 20},{i % 7},{(i / 20 - 2) ** 2 + i % 7}" for i in range(140)]
    (tmp_path / "curve.csv").write_text("x,z,y\n" + "\n".join(rows) + "\n")
    return tmp_path / "curve.csv"


def evaluated(limn, model, data):
    return json.loads(limn("eval", model, data, "--json", "--no-speed").stdout)


def described(limn, model):
    return json.loads(limn("info", model, "--json").stdout)


def train(limn, data, *options, to="m.limn"):
    return limn("train", data, "-m", "student", "-o", to, *options)


# ---- teachers ----


def test_an_svm_with_chosen_parameters_teaches_unless_another_is_named(limn, numbers):
    said = train(limn, numbers, *SMALL).stdout
    assert "drawn from svm (C=auto gamma=auto), trained first\n" in said
    assert described(limn, "m.limn")["teacher"] == "svm (C=auto gamma=auto), trained first"
    assert "drawn from" in limn("info", "m.limn").stdout


def test_parameters_that_are_given_replace_those_of_the_default_teacher(limn, numbers):
    said = train(limn, numbers, *SMALL, "-p", "teacher.C=3").stdout
    assert "drawn from svm (gamma=auto C=3), trained first" in said


def test_a_method_that_is_named_teaches_with_its_own_parameters(limn, numbers):
    said = train(limn, numbers, *SMALL, "--teacher", "svm").stdout
    assert "drawn from svm, trained first" in said
    said = train(limn, numbers, *SMALL, "--teacher", "knn", "-p", "teacher.k=5").stdout
    assert "drawn from knn (k=5), trained first" in said


def test_a_model_file_teaches(limn, numbers, fresh):
    limn("train", numbers, "-m", "svm", "-o", "svm.limn")
    assert "drawn from svm.limn\n" in train(limn, numbers, *SMALL, "--teacher", "svm.limn").stdout
    theirs = evaluated(limn, "svm.limn", fresh)["accuracy"]
    assert evaluated(limn, "m.limn", fresh)["accuracy"] > theirs - 0.05
    train(limn, numbers, *SMALL, "--teacher", "svm", to="b.limn")
    assert limn("predict", "m.limn", fresh).stdout == limn("predict", "b.limn", fresh).stdout


@pytest.mark.parametrize("last", ["none", "teacher"])
def test_a_libsvm_text_model_teaches(limn, numbers, fresh, last):
    limn("train", numbers, "-m", "svm", "--scale", "none", "-o", "a.limn")
    limn("convert", "a.limn", "a.model")
    said = train(limn, numbers, *SMALL, "--teacher", "a.model", "-p", f"last={last}").stdout
    assert "drawn from a.model\n" in said
    theirs = evaluated(limn, "a.model", fresh)["accuracy"]
    assert evaluated(limn, "m.limn", fresh)["accuracy"] > theirs - 0.05


@pytest.mark.parametrize("teacher", ["svm", "kde", "knn", "lda", "vpc", "nsc"])
def test_every_teacher_makes_a_good_model(limn, numbers, fresh, teacher):
    limn("train", numbers, "-m", teacher, "-o", "teacher.limn")
    train(limn, numbers, "-p", "size=16", *QUICK[:-2], "--teacher", teacher)
    own, theirs = evaluated(limn, "m.limn", fresh), evaluated(limn, "teacher.limn", fresh)
    assert own["accuracy"] > theirs["accuracy"] - 0.05
    assert own["log_loss"] is not None


# ---- answers ----


@pytest.mark.parametrize("options", [["-p", "size=6"], ["-p", "size=3+12"],
                                     ["-p", "size=3+6", "-p", "last=teacher"]])
def test_labels_are_the_most_probable_class(limn, numbers, fresh, options):
    train(limn, numbers, *options, *QUICK)
    rows = list(csv.DictReader(io.StringIO(limn("predict", "m.limn", fresh, "--proba").stdout)))
    labels = limn("predict", "m.limn", fresh).stdout.split()
    for row, label in zip(rows, labels, strict=True):
        p = {c: float(row[f"p_{c}"]) for c in NAMES}
        assert abs(sum(p.values()) - 1) < 1e-9
        assert row["label"] == label == max(p, key=p.get)


def test_the_teacher_at_last_agrees_more_often(limn, numbers, fresh):
    limn("train", numbers, "-m", "svm", "-o", "svm.limn")
    theirs = limn("predict", "svm.limn", fresh).stdout.split()

    def agrees(*options):
        train(limn, numbers, "-p", "size=2", *QUICK, "--teacher", "svm.limn", *options)
        own = limn("predict", "m.limn", fresh).stdout.split()
        return sum(a == b for a, b in zip(own, theirs, strict=True))

    alone, asks = agrees(), agrees("-p", "last=teacher")
    assert asks >= alone and asks > 0.99 * len(theirs)
    assert described(limn, "m.limn")["stats"]["% that ask the teacher"] > 0


def test_a_model_that_regresses(limn, curve):
    train(limn, curve, "--task", "regress", "-p", "size=16", *QUICK)
    assert evaluated(limn, "m.limn", curve)["r2"] > 0.9
    stats = described(limn, "m.limn")["stats"]
    assert stats["R2 against the teacher"] > 0.9 and stats["R2 on rows held out"] > 0.8


# ---- parameters ----


def test_what_is_no_size_is_refused(fails, numbers):
    assert fails(2, "train", numbers, "-m", "student", "--teacher", "knn", "-p", "size=bad", "-o",
                 "m.limn").startswith("limn: student: size=bad is not a size; give units such as 64")


def test_sizes_that_are_given_are_not_chosen(fails, numbers):
    for limit in ("work=100", "max_loss=0.1"):
        assert "leave them out, or give size=auto" in fails(
            2, "train", numbers, "-m", "student", "--teacher", "knn", "-p", "size=8", "-p", limit,
            "-o", "m.limn")


def test_only_an_svm_is_asked_at_last(fails, numbers, curve):
    sentence = "limn: student: last=teacher needs a teacher that is an svm and classifies"
    assert fails(2, "train", numbers, "-m", "student", "--teacher", "knn", *SMALL, "-p",
                 "last=teacher", "-o", "m.limn") == sentence
    assert fails(2, "train", curve, "--task", "regress", "-m", "student", "--teacher", "svm",
                 *SMALL, "-p", "last=teacher", "-o", "m.limn") == sentence


def test_two_networks_are_for_classes(fails, curve):
    assert "two networks are for classes" in fails(
        2, "train", curve, "--task", "regress", "-m", "student", "--teacher", "knn", "-p",
        "size=4+8", "-o", "m.limn")


def test_info_says_what_was_learned(limn, numbers):
    train(limn, numbers, "-p", "size=4+8", *QUICK)
    found = described(limn, "m.limn")
    assert found["params"]["size"] == "4+8"
    stats = found["stats"]
    assert stats["hidden units"] == 4 and stats["visits"] == 30000
    assert stats["sharpness"] == 8 and stats["learning rate"] == 0.02
    assert stats["points asked of the teacher"] > 2000
    assert 0 <= stats["% errors on rows held out"] < 50 < stats["% agreement with the teacher"]
    train(limn, numbers, *SMALL)
    assert described(limn, "m.limn")["params"]["size"] == "8"


def test_a_limit_of_work_is_kept(limn, numbers):
    few = ["-p", "pool=300", "-p", "visits=2000", "-p", "rate=0.02", "--teacher", "svm"]
    train(limn, numbers, *few, "-p", "work=200")
    assert described(limn, "m.limn")["stats"]["multiply-adds per query"] <= 200
    done = train(limn, numbers, *few, "-p", "work=3")
    assert "no size keeps to work=3" in done.stderr
    assert "chosen on rows held out: size=16\n" in done.stderr


def test_seeds_repeat_bytes(limn, numbers, tmp_path):
    def bytes_of(*options):
        train(limn, numbers, *SMALL, "--teacher", "svm", *options)
        return (tmp_path / "m.limn").read_bytes()

    first = bytes_of("--seed", "5")
    assert bytes_of("--seed", "5") == first == bytes_of("--seed", "5", "--threads", "3")
    assert bytes_of("--seed", "6") != first


def test_methods_tell_the_default_teacher(limn):
    said = limn("methods", "student").stdout
    assert "teacher: svm" in said and "size" in said
    methods = {m["name"]: m for m in json.loads(limn("methods", "--json").stdout)["methods"]}
    assert methods["student"]["default_teacher"] == "svm"


# ---- progress ----


def read_until(control, text):
    """What a terminal shows, up to the text."""
    seen, end = "", time.monotonic() + TIMEOUT
    while text not in seen:
        assert time.monotonic() < end, seen[-500:]
        if select.select([control], [], [], 1)[0]:
            seen += os.read(control, 65536).decode()
    return seen


@pytest.mark.parametrize("task, detail", [("classify", "% errors on rows held out"),
                                          ("regress", " on rows held out")])
def test_progress_says_how_good_it_is_so_far(tmp_path, numbers, curve, task, detail):
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    data, sharp = (numbers, ["-p", "sharpness=2"]) if task == "classify" else (curve, [])
    process = subprocess.Popen(
        [LIMN, "train", data, "--task", task, "-m", "student", "--teacher", "knn", "-p", "size=16",
         "-p", "pool=500", "-p", "visits=400000000", "-p", "rate=0.01", *sharp, "-o", "m.limn"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=terminal, env=environment())
    os.close(terminal)
    try:
        seen = read_until(control, detail)
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 130
    finally:
        process.kill()
        process.wait()
        os.close(control)
    assert "fitting" in seen
    assert not (tmp_path / "m.limn").exists()


def test_what_regression_does_not_have_is_refused(limn, curve):
    done = limn("train", curve, "--task", "regress", "-m", "student", "-p", "sharpness=3", "-o",
                "m.limn", code=2)
    assert "sharpness is for classes" in done.stderr


def test_the_second_network_must_be_larger(limn, numbers):
    done = limn("train", numbers, "-m", "student", "-p", "size=64+16", "-o", "m.limn", code=2)
    assert "give the smaller one first" in done.stderr


def test_a_constant_target_is_a_constant(limn, tmp_path):
    rows = "".join(f"{i},3.3\n" for i in range(60))
    (tmp_path / "constant.csv").write_text("x,y\n" + rows)
    limn("train", "constant.csv", "--task", "regress", "-m", "student", "--teacher", "knn", "-p",
         "size=8", "-o", "m.limn")
    assert set(limn("predict", "m.limn", "constant.csv").stdout.split()) == {"3.3"}
    assert described(limn, "m.limn")["stats"]["R2 against the teacher"] == 1


def test_a_teacher_with_class_names_in_any_letters_is_saved(limn, tmp_path):
    names = ["größe", "länge"]
    rows = "".join(f"{i % 7},{i % 5},{names[i % 2]}\n" for i in range(60))
    (tmp_path / "named.csv").write_text("a,b,class\n" + rows, encoding="utf-8")
    limn("train", "named.csv", "-m", "student", "--teacher", "svm", "-p",
         "teacher.class_weight=größe:2", *SMALL, "-o", "m.limn")
    assert described(limn, "m.limn")["teacher"] == "svm (class_weight=gr????e:2), trained first"
