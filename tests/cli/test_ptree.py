"""limn with perceptron trees on the command line: defaults, kernels, teachers, streams."""

import json

import pytest
from stream import info, part, stream
from table import blobs

ONLINE = ["-p", "order=file", "-p", "epochs=1", "-p", "gamma=0.1", "--scale", "none"]
PERCEPTRONS = ["perceptron", "stoptron", "forgetron", "projectron"]


@pytest.fixture
def two(tmp_path):
    return blobs(300, seed=5, names=("oak", "elm")).csv(tmp_path / "two.csv")


@pytest.fixture
def three(tmp_path):
    return blobs(300, seed=7).csv(tmp_path / "three.csv")


def accuracy(limn, model, data):
    return json.loads(limn("eval", model, data, "--json", "--no-speed").stdout)["accuracy"]


# ---- training ----

@pytest.mark.parametrize("method", ["ptree", *PERCEPTRONS])
def test_defaults_are_better_than_guessing(limn, tmp_path, three, method):
    new = blobs(300, seed=8).csv(tmp_path / "new.csv")
    limn("train", three, "-m", method, "-o", "m.limn")
    assert accuracy(limn, "m.limn", new) > 0.6  # a third is guessed; the classes overlap


def test_no_query_pays_more_than_the_budget(limn, tmp_path):
    data = stream(1500, seed=3, names=("a", "b")).csv(tmp_path / "noisy.csv")
    limn("train", data, "-m", "ptree", "-p", "budget=12", "-p", "project=0", "-o", "m.limn")
    about = info(tmp_path / "m.limn")["stats"]
    assert about["leaves"] > 1 and about["vectors of the largest leaf"] <= 12 and about["depth"] <= 4
    seen = json.loads(limn("eval", "m.limn", data, "--json", "--no-speed").stdout)
    assert seen["touched_vectors"] <= 12 + about["depth"]


# ---- kernels ----

@pytest.mark.parametrize("kernel", ["chi2", "intersection"])
def test_kernels_of_histograms_scale_to_0_and_1(limn, fails, tmp_path, two, kernel):
    limn("train", two, "-m", "ptree", "-p", f"kernel={kernel}", "-o", "m.limn")
    assert info(tmp_path / "m.limn")["scale"] == "minmax"
    assert accuracy(limn, "m.limn", two) > 0.8
    negative = tmp_path / "negative.csv"
    negative.write_text("x,y,label\n1,2,a\n1,-0.5,b\n0,1,a\n", encoding="utf-8")
    limn("train", negative, "-m", "ptree", "-p", f"kernel={kernel}", "-o", "n.limn")
    said = fails(3, "train", negative, "-m", "ptree", "-p", f"kernel={kernel}", "--scale", "none", "-o", "n2.limn")
    assert f"kernel={kernel} is for numbers that are 0 or more, but row 2 has one below 0" in said
    assert "--scale minmax" in said and not (tmp_path / "n2.limn").exists()


@pytest.mark.parametrize("method", ["ptree", *PERCEPTRONS])
def test_gamma_0_is_refused(fails, two, method):
    assert "gamma cannot be '0'; it is a number above 0" in fails(2, "train", two, "-m", method, "-p", "gamma=0",
                                                                  "-o", "m.limn")


@pytest.mark.parametrize("method", ["ptree", "stoptron", "forgetron"])
def test_a_budget_of_1_is_refused(fails, two, method):
    assert "budget cannot be '1'; it is a whole number from 2" in fails(2, "train", two, "-m", method, "-p",
                                                                        "budget=1", "-o", "m.limn")


def test_new_leaves_must_have_room_to_learn(fails, two):
    assert "kept must be less than budget" in fails(2, "train", two, "-m", "ptree", "-p", "budget=5", "-p", "kept=5",
                                                    "-o", "m.limn")


# ---- teachers ----

def test_a_tree_is_drawn_from_an_svm_and_goes_on_learning(limn, tmp_path, two):
    limn("train", two, "-m", "svm", "-o", "svm.limn")
    said = limn("train", two, "-m", "ptree", "--teacher", "svm.limn", "-p", "budget=20", "-o", "tree.limn").stdout
    assert "drawn from svm.limn\n" in said
    about = info(tmp_path / "tree.limn")["stats"]
    assert about["% agreement with the teacher"] > 90 and "% errors before learning" not in about
    assert accuracy(limn, "tree.limn", two) > accuracy(limn, "svm.limn", two) - 0.05
    limn("learn", "tree.limn", two)
    assert "% errors before learning" in info(tmp_path / "tree.limn")["stats"]


def test_a_libsvm_text_model_teaches(limn, tmp_path):
    two = blobs(300, seed=5, names=("1", "2")).libsvm(tmp_path / "two.libsvm")
    limn("train", two, "-m", "svm", "--scale", "none", "-o", "svm.limn")
    limn("convert", "svm.limn", "text.model")
    limn("train", two, "-m", "ptree", "--teacher", "text.model", "-o", "a.limn")
    limn("train", two, "-m", "ptree", "--teacher", "svm.limn", "-o", "b.limn")
    assert limn("predict", "a.limn", two).stdout == limn("predict", "b.limn", two).stdout


@pytest.mark.parametrize("params, said", [
    (["kernel=linear"], "kernel has no effect"), (["gamma=1"], "gamma has no effect"),
    (["style=paper"], "style has no effect"), (["split=rndw"], "split is wpq or pca"),
])
def test_what_a_teacher_decides_is_not_to_be_given(fails, two, params, said):
    words = [word for param in params for word in ("-p", param)]
    assert said in fails(2 if "effect" in said else 1, "train", two, "-m", "ptree", "--teacher", "svm", *words, "-o",
                         "m.limn")


def test_other_teachers_are_refused(fails, two, three):
    for data, teacher in ((three, "svm"), (two, "lda")):
        assert "an svm with two classes and from nothing else" in fails(1, "train", data, "-m", "ptree", "--teacher",
                                                                        teacher, "-o", "m.limn")
    assert "perceptron cannot learn from a teacher" in fails(2, "train", two, "-m", "perceptron", "--teacher", "svm",
                                                             "-o", "m.limn")


# ---- streams ----

def whole_and_parts(limn, tmp_path, method, table, first, *params):
    """Models of all rows at once, and of some of them and then the rest."""
    table.csv(tmp_path / "all.csv")
    part(table, 0, first).csv(tmp_path / "first.csv")
    part(table, first, len(table.rows)).csv(tmp_path / "rest.csv")
    limn("train", "all.csv", "-m", method, *params, "-o", "all.limn")
    limn("train", "first.csv", "-m", method, *params, "-o", "parts.limn")


@pytest.mark.parametrize("method", ["ptree", *PERCEPTRONS])
def test_learning_the_rest_is_training_on_all(limn, tmp_path, method):
    table = stream(900, seed=2)
    whole_and_parts(limn, tmp_path, method, table, 400, *ONLINE, *(["-p", "finish=no"] if method == "ptree" else []))
    limn("learn", "parts.limn", "rest.csv")
    assert (limn("predict", "parts.limn", "all.csv", "--scores").stdout
            == limn("predict", "all.limn", "all.csv", "--scores").stdout)


def test_a_stream_that_was_stopped_is_resumed(limn, tmp_path):
    whole_and_parts(limn, tmp_path, "ptree", stream(1200, seed=4), 300, *ONLINE, "-p", "finish=no", "-p", "budget=15", "-p", "patience=2")
    rest = (tmp_path / "rest.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    limn("learn", "parts.limn", "rest.csv", "-o", "straight.limn")
    half = tmp_path / "half.csv"
    half.write_text("".join(rest[:500]), encoding="utf-8")
    limn("learn", "parts.limn", "half.csv", "-o", "resumed.limn", "--checkpoint-every", "200")
    half.write_text("".join(rest), encoding="utf-8")
    limn("learn", "resumed.limn", "half.csv", "--resume")
    assert (limn("predict", "resumed.limn", "all.csv", "--scores").stdout
            == limn("predict", "straight.limn", "all.csv", "--scores").stdout)


@pytest.mark.parametrize("method", ["ptree", *PERCEPTRONS])
def test_a_third_label_turns_one_output_into_three(limn, tmp_path, method):
    first, rest = stream(600, seed=5, names=("a", "b")), stream(900, seed=6, names=("a", "b", "c"))
    first.csv(tmp_path / "first.csv")
    rest.csv(tmp_path / "rest.csv")
    room = ["-p", "budget=1000"] if method == "stoptron" else []  # else it learns no more
    limn("train", "first.csv", "-m", method, "-p", "gamma=0.1", *room, "-o", "m.limn")
    assert limn("predict", "m.limn", "rest.csv", "--scores").stdout.splitlines()[0] == "label,f_a_b"
    said = limn("learn", "m.limn", "rest.csv").stdout
    assert "1 new class: c" in said
    head, *lines = limn("predict", "m.limn", "rest.csv", "--scores").stdout.splitlines()
    assert head == "label,f_a_b,f_a_c,f_b_c"
    assert {line.split(",")[0] for line in lines} == {"a", "b", "c"}


def test_the_model_does_not_grow_with_the_rows(limn, tmp_path):
    stream(2000, seed=8).csv(tmp_path / "first.csv")
    stream(20000, seed=9).csv(tmp_path / "rest.csv")
    sizes = []
    limn("train", "first.csv", "-m", "ptree", "-p", "budget=10", "-p", "reservoir=50", "-p", "gamma=0.2", "-o", "m.limn")
    for _ in range(3):
        limn("learn", "m.limn", "rest.csv")
        sizes.append((tmp_path / "m.limn").stat().st_size)
    assert sizes[2] == sizes[1]
