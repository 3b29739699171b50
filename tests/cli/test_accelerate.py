"""limn accelerate: the table, JSON, what is written, and what is refused."""

import json
import os
import re
import signal
import subprocess

import pytest

from table import LIMN, TIMEOUT, blobs, environment


@pytest.fixture
def svm(limn, tmp_path):
    """An SVM, rows that it was trained on and new ones, all as LIBSVM text."""
    blobs(200, seed=5).csv(tmp_path / "rows.csv")
    blobs(120, seed=6).csv(tmp_path / "new.csv")
    limn("train", "rows.csv", "-m", "svm", "--scale", "none", "-o", "svm.limn")
    return tmp_path / "svm.limn"


def race(limn, *options):
    done = limn("accelerate", *options, "--time-limit", "3s", "--json", "-o", "fast.limn")
    return json.loads(done.stdout)


def lines(limn, *arguments):
    return limn("predict", *arguments).stdout.splitlines()


def test_figures_are_what_the_written_model_answers(limn, svm):
    told = race(limn, svm, "--data", "rows.csv", "--test", "new.csv")
    fast, slow = lines(limn, "fast.limn", "new.csv"), lines(limn, svm, "new.csv")
    chosen = told["chosen"]
    assert chosen["agreement"] == pytest.approx(sum(a == b for a, b in zip(fast, slow)) / len(slow))
    figures = json.loads(limn("eval", "fast.limn", "new.csv", "--no-speed", "--json").stdout)
    assert figures["method"] == chosen["method"]
    assert chosen["accuracy"] == pytest.approx(figures["accuracy"])
    assert chosen["uc"] == pytest.approx(figures["uc"])
    assert chosen["model_bytes"] == figures["model_bytes"]
    assert told["rows_fitted"] == 200 and told["rows_judged"] == 120
    assert told["judged_by"] == "accuracy" and told["max_loss"] == 0.005


def test_json_has_the_race(limn, svm):
    told = race(limn, svm, "--data", "new.csv")
    assert {"before", "chosen", "candidates"} <= told.keys()
    exact = told["candidates"][0]
    assert exact["method"] == "svm" and exact["agreement"] == 1 and exact["speedup_exact"] == 1
    assert told["before"]["libsvm"]["latency_us_mean"] > 0
    names = {c["method"] for c in told["candidates"]}
    assert {"svm", "borders", "student"} <= names
    for c in told["candidates"]:
        assert c["state"] in ("raced", "not tried", "failed", "not supported")
        for key in ("latency_us_mean", "speedup_libsvm", "speedup_exact", "agreement"):
            assert (c[key] is None) == (c["state"] != "raced")
    assert told["chosen"]["latency_us_mean"] <= exact["latency_us_mean"]


def refused(told):
    return {c["method"]: c["why"] for c in told["candidates"] if c["state"] == "not supported"}


def test_methods_that_need_another_teacher_are_listed_with_the_reason(limn, svm):
    assert refused(race(limn, svm, "--data", "new.csv")) == {"ptree": "only an svm with two classes can be its teacher"}
    said = limn("accelerate", svm, "--data", "new.csv", "--time-limit", "1s", "-o", "fast.limn").stdout
    assert "not supported: ptree: only an svm with two classes can be its teacher\n" in said


def test_trees_of_perceptrons_race_for_an_svm_with_two_classes(limn, tmp_path):
    blobs(200, names=("oak", "elm"), seed=5).csv(tmp_path / "two.csv")
    limn("train", "two.csv", "-m", "svm", "-o", "two.limn")
    told = race(limn, "two.limn", "--data", "two.csv")
    # In time or not.
    assert {c["state"] for c in told["candidates"] if c["method"] == "ptree"} <= {"raced", "not tried"}
    assert sum(c["method"] == "ptree" for c in told["candidates"]) > 1 and refused(told) == {}
    limn("train", "two.csv", "-m", "lda", "-o", "lda.limn")
    assert refused(race(limn, "lda.limn", "--data", "two.csv")) == {"ptree": "only an svm can be its teacher"}


def test_the_table_marks_the_winner_and_says_how_it_was_judged(limn, svm):
    said = limn("accelerate", svm, "--data", "new.csv", "--time-limit", "3s", "-o", "fast.limn").stdout
    head = said.splitlines()[1]
    assert head.split() == ["mean", "p50", "p99", "LIBSVM", "exact", "acc", "%", "UC", "agree%", "size", "model"]
    assert sum(line.startswith(">") for line in said.splitlines()) == 1
    assert "judged on 48 other rows; allowed loss: 0.5 % of accuracy, 0.01 of UC" in said


def test_training_rows_are_found_and_judged_by_agreement(limn, svm):
    said = limn("accelerate", svm, "--data", "rows.csv", "--time-limit", "1s", "-o", "fast.limn").stdout
    assert "so the SVM was trained on such rows" in said
    assert "allowed loss: 0.5 % of agreement" in said


def relabel(tmp_path, name, label):
    """new.csv with other labels."""
    head, *rows = (tmp_path / "new.csv").read_text(encoding="utf-8").splitlines()
    write(tmp_path / name, [head] + [",".join([*row.split(",")[:-1], label(i)]) for i, row in enumerate(rows)])


def test_labels_that_the_model_does_not_know_do_not_judge(limn, svm, tmp_path):
    relabel(tmp_path, "foreign.csv", lambda i: "elsewhere")
    done = limn("accelerate", svm, "--data", "foreign.csv", "--time-limit", "1s", "--json", "-o", "fast.limn")
    assert json.loads(done.stdout)["judged_by"] == "agreement"
    assert "0 of the 48 rows that judge have a label that the model knows: too few" in done.stderr
    known = lines(limn, svm, "new.csv")
    relabel(tmp_path, "few.csv", lambda i: known[i] if i < 5 else "elsewhere")
    told = race(limn, svm, "--data", "rows.csv", "--test", "few.csv")
    assert told["judged_by"] == "agreement" and told["rows_judged"] == 120
    relabel(tmp_path, "mixed.csv", lambda i: known[i] if i % 3 else "elsewhere")
    done = limn("accelerate", svm, "--data", "rows.csv", "--test", "mixed.csv", "--time-limit", "1s", "--json", "-o",
                "fast.limn")
    told = json.loads(done.stdout)
    assert told["rows_judged"] == 80 and told["candidates"][0]["accuracy"] == 1
    assert "40 of the 120 rows that judge have labels that the model does not know" in done.stderr


def test_rows_of_one_class_are_judged_by_agreement(limn, svm, tmp_path):
    classes = sorted(set(lines(limn, svm, "new.csv")))
    relabel(tmp_path, "one.csv", lambda i: classes[0])
    assert race(limn, svm, "--data", "rows.csv", "--test", "one.csv")["judged_by"] == "agreement"


def test_labels_that_make_no_sense_are_told(limn, svm, tmp_path):
    classes = sorted(set(lines(limn, svm, "new.csv")))
    answers = lines(limn, svm, "new.csv")
    relabel(tmp_path, "wrong.csv", lambda i: classes[(classes.index(answers[i]) + 1) % len(classes)])
    done = limn("accelerate", svm, "--data", "wrong.csv", "--time-limit", "1s", "-o", "fast.limn")
    assert "the model is right about 0.0 % of the rows" in done.stderr


def test_a_libsvm_model_without_data(limn, svm):
    limn("convert", svm, "libsvm.model")
    told = race(limn, "libsvm.model")
    assert told["sampled"] and told["judged_by"] == "agreement"
    fast, slow = lines(limn, "fast.limn", "new.csv"), lines(limn, "libsvm.model", "new.csv")
    assert sum(a != b for a, b in zip(fast, slow)) <= 12


def test_other_models_teach_too(limn, svm):
    limn("train", "rows.csv", "-m", "knn", "-o", "knn.limn")
    told = race(limn, "knn.limn", "--data", "new.csv")
    assert told["candidates"][0]["method"] == "knn"
    assert told["candidates"][0]["speedup_libsvm"] is None
    assert "needs data" not in limn("info", "fast.limn").stdout


def test_a_budget_that_nothing_meets(limn, svm, tmp_path):
    done = limn("accelerate", svm, "--data", "new.csv", "--budget", "0.001ns", "--time-limit", "1s", "-o", "fast.limn",
                code=5)
    assert "nothing answers within 1e-06 us; the fastest is " in done.stderr
    assert not (tmp_path / "fast.limn").exists()


def test_a_budget_gives_the_least_loss_of_those_no_slower_than_the_model(limn, svm):
    for more, least in ((), 0), (("--max-loss", "0"), 0):
        told = race(limn, svm, "--data", "rows.csv", "--test", "new.csv", "--budget", "1ms", *more)
        exact, chosen = told["candidates"][0], told["chosen"]
        assert max(0, chosen["loss"]) == least
        assert chosen["latency_us_mean"] <= exact["latency_us_mean"]
        assert all(c["latency_us_mean"] <= exact["latency_us_mean"] for c in told["candidates"] if c["fits"])
        assert told["max_loss"] == (0 if more else None)


def test_refusals(fails, limn, svm, tmp_path):
    assert "the same file" in fails(2, "accelerate", svm, "--data", "rows.csv", "--test", "rows.csv", "-o", "x")
    assert "a number from 0 to 1" in fails(2, "accelerate", svm, "--max-loss", "nan", "-o", "x")
    write(tmp_path / "few.csv", (tmp_path / "new.csv").read_text(encoding="utf-8").splitlines()[:2])
    assert "1 row is too few to judge by" in fails(3, "accelerate", svm, "--data", "rows.csv", "--test", "few.csv",
                                                   "-o", "x")
    assert "needs -o MODEL2" in fails(2, "accelerate", svm)
    assert "would replace" in fails(2, "accelerate", svm, "-o", svm)
    assert "would replace" in fails(2, "accelerate", svm, "--data", "rows.csv", "-o", "rows.csv")
    assert "a time such as 500ns" in fails(2, "accelerate", svm, "--budget", "20", "-o", "x")
    assert "a time such as 90s" in fails(2, "accelerate", svm, "--time-limit", "0", "-o", "x")
    assert "cannot both be standard input" in fails(2, "accelerate", svm, "--data", "-", "--test", "-", "-o", "x")
    limn("train", "rows.csv", "-m", "knn", "-o", "knn.limn")
    assert "give data (--data FILE)" in fails(2, "accelerate", "knn.limn", "-o", "x")
    limn("train", "rows.csv", "-m", "knn", "--task", "search", "-o", "search.limn")
    assert "the task of this one is search" in fails(1, "accelerate", "search.limn", "--data", "rows.csv", "-o", "x")
    assert not (tmp_path / "x").exists()


def test_an_interrupt_leaves_nothing_behind(svm, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    before = sorted(p.name for p in tmp_path.iterdir())
    process = subprocess.Popen([LIMN, "accelerate", svm, "--data", "pipe", "-o", "fast.limn"], cwd=tmp_path,
                               env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with open(tmp_path / "pipe", "w", encoding="utf-8") as pipe:  # waits until limn reads
        pipe.write((tmp_path / "rows.csv").read_text(encoding="utf-8"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out) == (130, ""), (process.returncode, out, err)
    assert "interrupted" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == before


# ---- the forms of LIBSVM text ----


@pytest.fixture
def text(limn, svm, tmp_path):
    """Gives the lines of the LIBSVM text of an SVM trained on rows.csv."""

    def run(*options):
        limn("train", "rows.csv", "-m", "svm", "--scale", "none", *options, "-o", "typed.limn")
        limn("convert", "typed.limn", "typed.model")
        return (tmp_path / "typed.model").read_text(encoding="utf-8").splitlines()

    return run


def write(path, lines_of_it):
    path.write_text("\n".join(lines_of_it) + "\n", encoding="utf-8")


@pytest.mark.parametrize("options", [("-p", "type=nu_svc"), ("-p", "kernel=linear"), ("-p", "kernel=poly"),
                                     ("-p", "probability=yes")])
def test_types_and_kernels_that_classify(limn, text, tmp_path, options):
    text(*options)
    number_of = dict(zip(lines(limn, "typed.limn", "new.csv"), lines(limn, "typed.model", "new.csv")))
    named = [row.split(",")[-1] for row in (tmp_path / "new.csv").read_text(encoding="utf-8").splitlines()[1:]]
    relabel(tmp_path, "numbered.csv", lambda i: number_of[named[i]])
    told = race(limn, "typed.model", "--data", "numbered.csv")
    assert told["judged_by"] == "accuracy" and told["chosen"]["loss"] <= 0.005
    assert told["candidates"][0]["accuracy"] > 0.6
    assert told["before"]["libsvm"]["latency_us_mean"] > 0


def test_a_regression_of_libsvm(limn, tmp_path):
    for name, start in ("rows.csv", 0), ("new.csv", 7):
        rows = [((i * 37 + start) % 100 / 50 - 1, (i * 61 + start) % 100 / 50 - 1) for i in range(300)]
        write(tmp_path / name, ["a,b,y"] + [f"{a},{b},{a * a - b:.6f}" for a, b in rows])
    limn("train", "rows.csv", "--task", "regress", "-m", "svm", "--scale", "none", "-o", "svr.limn")
    limn("convert", "svr.limn", "svr.model")
    told = race(limn, "svr.model", "--data", "rows.csv", "--test", "new.csv")
    assert told["judged_by"] == "values" and told["chosen"]["loss"] <= 0.005


def test_a_regression_that_a_student_improves_is_told(limn, tmp_path):
    """Neighbours answer a plane in steps; networks are nearer to it than to the steps."""
    for name, start in ("rows.csv", 0), ("new.csv", 7):
        rows = [((i * 37 + start) % 100 / 50 - 1, (i * 61 + start) % 98 / 49 - 1) for i in range(300)]
        write(tmp_path / name, ["a,b,y"] + [f"{a},{b},{a - b:.6f}" for a, b in rows])
    limn("train", "rows.csv", "--task", "regress", "-m", "knn", "-p", "k=40", "-o", "knn.limn")
    said = limn("accelerate", "knn.limn", "--data", "rows.csv", "--test", "new.csv", "--max-loss", "0",
                "--time-limit", "5s", "-o", "fast.limn").stdout
    table = [line[1:].split() for line in said.splitlines() if re.match(r"[> ] *[\d.]+ ", line)]
    old = next(row for row in table if row[-1] == "(exact)")
    nearer = [row for row in table if float(row[5]) > float(old[5]) and float(row[0]) < float(old[0])]
    assert said.count("the model itself is kept") == 1
    assert ("is nearer to the targets than the old model" in said) == bool(nearer)


def test_keys_in_another_order_and_unknown_ones(limn, text, tmp_path):
    rows = text()
    head = rows.index("SV")
    write(tmp_path / "mixed.model", [rows[0], "colour blue", *reversed(rows[1:head]), *rows[head:]])
    done = limn("accelerate", "mixed.model", "--time-limit", "1s", "-o", "fast.limn")
    assert "colour" in done.stderr
    assert lines(limn, "mixed.model", "new.csv") == lines(limn, "typed.model", "new.csv")


def test_what_is_no_machine_to_copy(fails, limn, text, tmp_path):
    rows = text()
    bad = tmp_path / "bad.model"

    def refused(code, changed):
        write(bad, changed)
        return fails(code, "accelerate", bad, "-o", "x")

    assert "bad.model" in refused(4, rows[:-3])
    total = next(i for i, row in enumerate(rows) if row.startswith("total_sv"))
    assert "total_sv" in refused(4, [*rows[:total], "total_sv 3", *rows[total + 1:]])
    assert "precomputed" in refused(4, [row.replace("kernel_type rbf", "kernel_type precomputed") for row in rows])
    one_class = text("--task", "outlier", "-p", "nu=0.1")
    assert "outlier" in refused(1, one_class)
    assert not (tmp_path / "x").exists()
