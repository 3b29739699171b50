"""--ranges: the scaling that stood before a LIBSVM model, against LIBSVM's own programs and against
numbers computed here; and the range file that exporting a scaled model writes."""

import json
import math
import os
import random
import resource
import shutil
import subprocess

import pytest

from table import LIMN, TIMEOUT, environment

needs_libsvm = pytest.mark.skipif(
    not all(map(shutil.which, ("svm-scale", "svm-train", "svm-predict"))),
    reason="needs svm-scale, svm-train and svm-predict (libsvm-tools)")

# One support vector at the origin: f = 1 - exp(-|v|^2) > 0 away from it, so label 1 is far.
FAR = ("svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 2\n"
       "nr_sv 1 1\nSV\n1 1:1 2:1\n-1 1:-1 2:-1\n")
LINE = ("svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0.5\nSV\n"
        "2 1:1\n-1 2:1\n")  # f = 2 v1 - v2 - 0.5


def rows(n, seed, shift=0):
    """Features in very different units; the third is constant, the last one too."""
    source = random.Random(seed)
    out = []
    for _ in range(n):
        label = source.choice([1, 2, 3])
        x = [1000 * source.gauss(label, 0.6) + shift, 0.01 * source.gauss(-label, 0.6), 7,
             source.gauss(label % 2, 0.4), 1]
        out.append((label, x))
    return out


def libsvm(path, table):
    path.write_text("".join(f"{y} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x) if v) + "\n"
                            for y, x in table))
    return path


def targets(table):
    return [(round(5000 + x[0] * 2 + 1e5 * x[1] - 300 * x[3], 3), x) for _, x in table]


@pytest.fixture
def peer(tmp_path):
    """Runs a program of LIBSVM in tmp_path."""

    def run(*args, to=None):
        done = subprocess.run(list(map(str, args)), cwd=tmp_path, timeout=TIMEOUT, text=True,
                              check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if to:
            (tmp_path / to).write_text(done.stdout)
        return done.stdout

    return run


@pytest.fixture
def files(tmp_path):
    def write(**texts):
        for name, text in texts.items():
            (tmp_path / name.replace("_", ".")).write_text(text)

    return write


def numbers(path):
    return [float(line) for line in path.read_text().split()]


# ---- with LIBSVM's programs ----


@needs_libsvm
@pytest.mark.parametrize("options", [(), ("-l", "0"), ("-l", "-3", "-u", "7")])
@pytest.mark.parametrize("kernel", ["0", "1", "2", "3"])
def test_raw_rows_are_answered_as_svm_predict_answers_scaled_ones(limn, peer, tmp_path, options,
                                                                  kernel):
    libsvm(tmp_path / "train", rows(150, 1))
    libsvm(tmp_path / "test", rows(200, 2, shift=300))
    peer("svm-scale", *options, "-s", "range", "train", to="train.scaled")
    peer("svm-scale", "-r", "range", "test", to="test.scaled")
    peer("svm-train", "-q", "-t", kernel, "-g", "0.1", "train.scaled", "m.model")
    peer("svm-predict", "test.scaled", "m.model", "expected")
    expected = (tmp_path / "expected").read_text().split()
    limn("convert", "m.model", "m.limn", "--ranges", "range")
    limn("convert", "m.limn", "back.model")
    for command in (["m.model", "test", "--ranges", "range"], ["m.limn", "test"],
                    ["back.model", "test", "--ranges", "back.model.range"]):
        answers = limn("predict", *command, "--vote").stdout.split()
        assert sum(a != b for a, b in zip(answers, expected, strict=True)) <= 1  # %g in scaled files
    peer("svm-scale", "-r", "back.model.range", "test", to="again.scaled")
    peer("svm-predict", "again.scaled", "back.model", "again")
    again = (tmp_path / "again").read_text().split()
    assert sum(a != b for a, b in zip(again, expected, strict=True)) <= 1


@needs_libsvm
def test_a_regression_answers_in_the_units_of_the_target(limn, peer, tmp_path):
    libsvm(tmp_path / "train", targets(rows(200, 3)))
    table = targets(rows(100, 4))
    libsvm(tmp_path / "test", table)
    peer("svm-scale", "-y", "-1", "1", "-s", "range", "train", to="train.scaled")
    peer("svm-scale", "-r", "range", "test", to="test.scaled")
    peer("svm-train", "-q", "-s", "3", "-p", "0.01", "train.scaled", "m.model")
    peer("svm-predict", "test.scaled", "m.model", "expected")
    low, high = map(float, (tmp_path / "range").read_text().split("\n")[2].split())
    expected = [low + (v + 1) / 2 * (high - low) for v in numbers(tmp_path / "expected")]
    limn("convert", "m.model", "m.limn", "--ranges", "range")
    for command in (["m.model", "test", "--ranges", "range"], ["m.limn", "test"]):
        answers = list(map(float, limn("predict", *command).stdout.split()))
        assert max(abs(a - b) for a, b in zip(answers, expected, strict=True)) < 1e-4 * (high - low)
        done = json.loads(limn("eval", *command, "--json", "--no-speed").stdout)
        mean = sum(y for y, _ in table) / len(table)
        r2 = 1 - (sum((y - v) ** 2 for (y, _), v in zip(table, expected))
                  / sum((y - mean) ** 2 for y, _ in table))
        assert r2 > 0.5 and abs(done["r2"] - r2) < 1e-3
    assert "ranges of features and target" in limn("info", "m.limn").stdout
    limn("convert", "m.limn", "back.model")
    answers = list(map(float, limn("predict", "back.model", "test", "--ranges",
                                   "back.model.range").stdout.split()))
    assert max(abs(a - b) for a, b in zip(answers, expected)) < 1e-4 * (high - low)


@needs_libsvm
@pytest.mark.parametrize("scale", ["zscore", "minmax"])
def test_the_range_file_of_an_exported_model_serves_svm_predict(limn, peer, tmp_path, scale):
    libsvm(tmp_path / "train", rows(150, 5))
    libsvm(tmp_path / "test", rows(200, 6))
    limn("train", "train", "-m", "svm", "--scale", scale, "-o", "m.limn")
    done = limn("convert", "m.limn", "out.model")
    assert "out.model.range" in done.stdout and done.stderr == ""
    text = (tmp_path / "out.model").read_text()
    assert " 4:" in text and " 3:" not in text  # numbered as in the data: the third is constant
    expected = limn("predict", "m.limn", "test").stdout.split()
    peer("svm-scale", "-r", "out.model.range", "test", to="test.scaled")
    peer("svm-predict", "test.scaled", "out.model", "answers")
    answers = (tmp_path / "answers").read_text().split()
    assert sum(a != b for a, b in zip(answers, expected, strict=True)) <= 1
    answers = limn("predict", "out.model", "test", "--ranges", "out.model.range").stdout.split()
    assert sum(a != b for a, b in zip(answers, expected, strict=True)) <= 1


# ---- features ----


def test_features_that_are_not_named_or_constant_are_0(limn, files):
    files(m_model=LINE, r="x\n-1 1\n1 0 4\n", s="x\n-1 1\n2 5 5\n1 0 4\n", t="0 1:4 2:99 7:1e30\n")
    for name in "rs":
        assert float(limn("predict", "m.model", "t", "--ranges", name).stdout) == 1.5


def test_features_beyond_the_model_count_in_the_distance_if_they_are_named(limn, files):
    model = ("svm_type epsilon_svr\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n"
             "1 1:0.5\n")
    files(m_model=model, r="x\n0 1\n1 0 1\n3 0 2\n", t="0 1:0.5 3:1\n0 1:0.5 2:8\n0 1:0.5 4:8\n",
          t_csv="0.5,0,1\n0.5,8,0\n")
    got = list(map(float, limn("predict", "m.model", "t", "--ranges", "r").stdout.split()))
    assert got == pytest.approx([math.exp(-0.25), 1, 1], abs=1e-5)
    got = limn("predict", "m.model", "t.csv", "--no-label", "--ranges", "r").stdout.split()
    assert list(map(float, got)) == pytest.approx([math.exp(-0.25), 1], abs=1e-5)


# ---- e1071 ----


@pytest.mark.parametrize("names", [["", ""], ['"a b" ', '"c" ']])
def test_scale_files_of_e1071(limn, files, names):
    files(m_model=LINE, x=f"{names[0]}10 2\n{names[1]}-1 0.5\n", y="100 50\n", t="0 1:14 2:-1.5\n")
    value = 2 * 2 - -1 - 0.5
    assert float(limn("predict", "m.model", "t", "--ranges", "x").stdout) == value
    assert float(limn("predict", "m.model", "t", "--ranges", "x,y").stdout) == 100 + 50 * value
    limn("convert", "m.model", "m.limn", "--ranges", "x,y")
    assert float(limn("predict", "m.limn", "t").stdout) == 100 + 50 * value
    limn("convert", "m.limn", "back.model")
    got = limn("predict", "back.model", "t", "--ranges", "back.model.range").stdout
    assert float(got) == pytest.approx(100 + 50 * value, rel=1e-6)


def test_files_of_e1071_that_do_not_fit(fails, files, tmp_path):
    files(m_model=LINE, x="1 1\n1 1\n", few="1 1\n", many="1 1\n" * 3, y="1 1\n2 2\n",
          r="x\n0 1\n1 0 1\n", t="0 1:1\n")
    assert "'0 1'" in fails(4, "predict", "m.model", "t", "--ranges", "few")
    assert "3 lines, but the model has 2" in fails(4, "predict", "m.model", "t", "--ranges", "many")
    assert "one line" in fails(4, "predict", "m.model", "t", "--ranges", "x,y")
    assert "one line" in fails(4, "predict", "m.model", "t", "--ranges", "x,r")
    assert "leave out ,y" in fails(2, "predict", "m.model", "t", "--ranges", "r,y")
    assert "nowhere" in fails(1, "predict", "m.model", "t", "--ranges", "x,nowhere")
    (tmp_path / "a,b").write_text("1 1\n1 1\n")
    assert "one line" not in fails(1, "predict", "m.model", "nowhere", "--ranges", "a,b")


# ---- what is refused ----


def test_a_target_of_a_classifier_is_refused(fails, files):
    files(m_model=FAR, r="y\n-1 1\n1 3\nx\n0 1\n1 0 1\n", x="0 1\n0 1\n", y="0 1\n", t="1 1:1\n")
    for ranges in ("r", "x,y"):
        assert "target" in fails(4, "predict", "m.model", "t", "--ranges", ranges)


@pytest.mark.parametrize("text, said", [
    ("", "empty"), ("x\n", "truncated"), ("x\n-1 1\n", "truncated"), ("x\n-1 1\n1 0\n", "line 3"),
    ("y\n0 1\n2 3\n", "before the line x"), ("x\n1 -1\n1 0 1\n", "not below"),
    ("x\n-1 1\n1 zero one\n", "'zero'"), ("x\n-1 1\n1 0 1\n1 0 1\n", "twice"),
    ("x\n-1 1\n0 0 1\n", "'0'"), ("x\n-1 1\n1 0 nan\n", "'nan'"), ("x\n-1 1\n1 0 inf\n", "'inf'"),
    ("1 0 1\nx\n-1 1\n", "3 words"), ("\0\1\2", "not text"), ("svm_type c_svc\n", "svm-scale"),
    ("x\n-1 1\n2000000000 0 1\n", "2000000000")])
def test_bad_files(fails, files, tmp_path, text, said):
    files(m_model=FAR, r=text, t="1 1:1\n")
    for command in (["predict", "m.model", "t"], ["eval", "m.model", "t"],
                    ["convert", "m.model", "m.limn"]):
        sentence = fails(4, *command, "--ranges", "r")
        assert sentence.startswith("limn: r: ") and said in sentence
    assert not (tmp_path / "m.limn").exists()


def test_a_huge_index_needs_no_memory_out_of_proportion(files, tmp_path):
    limit = 256 << 20
    files(m_model=FAR, r="x\n0 1\n1 0 1\n2000000000 0 1\n", t="1 1:1\n")
    done = subprocess.run([LIMN, "predict", "m.model", "t", "--ranges", "r"], cwd=tmp_path,
                          env=environment(OPENBLAS_NUM_THREADS="1"), timeout=TIMEOUT, text=True,
                          capture_output=True, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_DATA, (limit, limit)))
    assert done.returncode == 4 and "far beyond" in done.stderr


def test_endless_and_missing_files(fails, files):
    files(m_model=FAR, t="1 1:1\n")
    assert "not text" in fails(4, "predict", "m.model", "t", "--ranges", "/dev/zero")
    assert "nowhere" in fails(1, "predict", "m.model", "t", "--ranges", "nowhere")
    for name in ("-", ",t"):
        assert "in a file" in fails(2, "predict", "m.model", "t", "--ranges", name)


def test_only_text_models_take_ranges(limn, fails, files, model, test_csv):
    files(m_model=FAR, r="x\n0 1\n1 0 1\n")
    assert "limn model" in fails(2, "predict", model, test_csv, "--ranges", "r")
    assert "limn model" in fails(2, "convert", model, "out.model", "--ranges", "r")
    assert "--ranges" in fails(2, "convert", test_csv, "out.npy", "--ranges", "r")
    limn("convert", "m.model", "m.limn", "--ranges", "r")
    assert "limn model" in fails(2, "eval", "m.limn", test_csv, "--ranges", "r")
    assert json.loads(limn("info", "m.limn", "--json").stdout)["scale"] == "ranges"


def test_no_file_that_is_read_is_replaced(fails, limn, files, tmp_path):
    files(m_model=FAR, r="x\n0 1\n1 0 1\n2 0 1\n", x="0 1\n0 1\n", t="1 1:1\n")
    assert "replace" in fails(2, "convert", "m.model", "r", "--ranges", "r")
    assert "replace" in fails(2, "convert", "m.model", "x", "--ranges", "x,r")
    assert "replace" in fails(2, "predict", "m.model", "t", "--ranges", "r", "-o", "r")
    limn("convert", "m.model", "a.model.range", "--ranges", "r")
    assert "replace" in fails(2, "convert", "a.model.range", "a.model")
    assert not (tmp_path / "a.model").exists()


# ---- exporting ----


def test_both_files_or_none(limn, fails, files, tmp_path):
    files(m_model=FAR, r="x\n0 1\n1 0 1\n2 0 1\n")
    limn("convert", "m.model", "m.limn", "--ranges", "r")
    assert "-" in fails(2, "convert", "m.limn", "-")
    os.mkfifo(tmp_path / "pipe")
    assert "name a file instead of pipe" in fails(2, "convert", "m.limn", "pipe")
    assert not (tmp_path / "pipe.range").exists()
    (tmp_path / "out.model.range").mkdir()
    (tmp_path / "out.model").write_text("old")
    assert "out.model.range" in fails(1, "convert", "m.limn", "out.model")
    assert (tmp_path / "out.model").read_text() == "old"
    (tmp_path / "out.model.range").rmdir()
    assert "out.model" in fails(1, "convert", "m.limn", "out.model", preexec_fn=lambda: resource.
                                setrlimit(resource.RLIMIT_FSIZE, (50, 50)))
    assert (tmp_path / "out.model").read_text() == "old"
    assert not (tmp_path / "out.model.range").exists()
    limn("convert", "m.limn", "out.model", "--quiet")
    assert (tmp_path / "out.model.range").read_text().startswith("x\n-1 1\n1 ")


def test_a_model_without_scaling_has_no_range_file(limn, files, tmp_path):
    files(m_model=FAR)
    limn("convert", "m.model", "m.limn")
    assert limn("convert", "m.limn", "-").stdout.startswith("svm_type")
    assert limn("convert", "m.limn", "out.model").stdout == \
        "out.model: a LIBSVM text model (from limn)\n"
    assert not (tmp_path / "out.model.range").exists()


# ---- teaching ----


def test_a_converted_model_teaches(limn, tmp_path):
    libsvm(tmp_path / "train", rows(150, 7))
    limn("train", "train", "-m", "svm", "-o", "z.limn")
    limn("convert", "z.limn", "t.model")
    limn("convert", "t.model", "teacher.limn", "--ranges", "t.model.range")
    limn("train", "train", "-m", "borders", "-p", "borders=50", "--teacher", "teacher.limn", "-o",
         "b.limn")
    assert json.loads(limn("info", "b.limn", "--json").stdout)["scale"] == "ranges"
    teacher = limn("predict", "teacher.limn", "train").stdout.split()
    pupil = limn("predict", "b.limn", "train").stdout.split()
    assert sum(a == b for a, b in zip(teacher, pupil)) >= 135
