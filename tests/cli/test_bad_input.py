"""Bad data and bad models: exit code 3 or 4 (1 for files that cannot be read) and a message that
names the place."""

import gzip
import random

import pytest
from table import COLUMNS

HEAD = "a,b,label\n"


@pytest.mark.parametrize("text, options, parts", [
    (HEAD + "1,2,x\n3,4\n", [], ["line 3", "2", "3"]),
    (HEAD + "1,2,x\n3,4,y,5\n", [], ["line 3", "4", "3"]),
    (HEAD + "1,2,x\n3,red,y\n", [], ["line 3", "red", "b"]),
    (HEAD + "1,2,x\n3,NaN,y\n", [], ["line 3", "b"]),
    (HEAD + "1,2,x\n3,inf,y\n", [], ["line 3", "inf", "b"]),
    (HEAD + "1,2,x\n3,,y\n", [], ["line 3", "b"]),
    (HEAD + "1,2,x\n3,NA,y\n", [], ["line 3", "b"]),
    (HEAD + "1,2,x\n3,1e999,y\n", [], ["line 3", "b"]),
    (HEAD + "1,2,x\n3,4,\n", [], ["line 3", "label"]),
    (HEAD + "1,2,x\n3,\"4,y\n", [], ["line 3"]),
    (HEAD + "1,2,x\n", ["--label", "colour"], ["colour"]),
    (HEAD + "1,2,x\n", ["--label", "9"], ["9"]),
    (HEAD + "1,2,x\n", ["--task", "regress"], ["line 2", "x"]),
    (HEAD, [], []),
    ("", [], []),
    ("\n\n\n", [], []),
    ("x\n", [], []),
    ("1 1:2 1:3\n", [], ["line 1"]),
    ("1 2:2 1:3\n", [], ["line 1"]),
    ("1 1:2\n1 0:3\n", [], ["line 2"]),
    ("1 1:2\n1 2:red\n", [], ["line 2", "red"]),
    ("1 1:2\n1 2:\n", [], ["line 2"]),
    ("1 1:2\n1 2:nan\n", [], ["line 2"]),
])
def test_bad_data_is_named_by_line_and_column(fails, tmp_path, text, options, parts):
    (tmp_path / "bad.csv").write_text(text)
    sentence = fails(3, "train", "bad.csv", *options, "-m", "knn", "-o", "m.limn")
    assert "bad.csv" in sentence
    for part in parts:
        assert part in sentence, sentence
    assert not (tmp_path / "m.limn").exists()


@pytest.mark.parametrize("cell", ["red", "NaN", "inf", ""])
def test_bad_cell_at_prediction(fails, limn, model, tmp_path, cell):
    (tmp_path / "q.csv").write_text(",".join(COLUMNS) + f"\n1,2,3,4\n1,2,{cell},4\n")
    done = limn("predict", model, "q.csv", "-o", "out.txt", code=3)
    for part in ("q.csv", "line 3", COLUMNS[2]):
        assert part in done.stderr, done.stderr
    assert not (tmp_path / "out.txt").exists()


def test_truncated_and_damaged_gzip(fails, tmp_path, train_csv):
    whole = gzip.compress(train_csv.read_bytes())
    (tmp_path / "cut.gz").write_bytes(whole[:len(whole) // 2])
    assert "cut.gz" in fails(3, "train", "cut.gz", "-m", "knn", "-o", "m.limn")
    (tmp_path / "tail.gz").write_bytes(whole[:-4])
    assert "tail.gz" in fails(3, "train", "tail.gz", "-m", "knn", "-o", "m.limn")
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xff
    (tmp_path / "hit.gz").write_bytes(damaged)
    assert "hit.gz" in fails(3, "train", "hit.gz", "-m", "knn", "-o", "m.limn")


def test_binary_noise_is_refused(limn, tmp_path):
    (tmp_path / "noise").write_bytes(random.Random(1).randbytes(5000))
    done = limn("train", "noise", "-m", "knn", "-o", "m.limn", code=3, text=False)
    assert done.stderr.startswith(b"limn: noise")
    assert not (tmp_path / "m.limn").exists()


def test_files_that_cannot_be_read(fails, tmp_path, model):
    (tmp_path / "folder").mkdir()
    for name in ("missing.csv", "folder", "train.csv/below"):
        assert name in fails(1, "train", name, "-m", "knn", "-o", "m.limn")
        assert name in fails(1, "predict", model, name)
        assert name in fails(1, "eval", model, name)
    for name in ("missing.limn", "folder"):
        assert name in fails(1, "info", name)


# ---- models ----


@pytest.mark.parametrize("content", [b"", b"limn", b"a,b,c\n1,2,3\n", bytes(4096)])
def test_what_is_no_model_is_refused(fails, tmp_path, content):
    (tmp_path / "m.limn").write_bytes(content)
    assert "m.limn" in fails(4, "info", "m.limn")


def test_a_cut_model_is_refused(fails, model):
    whole = model.read_bytes()
    for length in (1, 8, 63, 64, 100, len(whole) // 2, len(whole) - 64, len(whole) - 1):
        model.write_bytes(whole[:length])
        assert "model.limn" in fails(4, "info", model)


def test_a_longer_model_is_refused(fails, model):
    model.write_bytes(model.read_bytes() + b"\0" * 64)
    fails(4, "info", model)


def test_any_changed_byte_is_noticed(fails, model, test_csv):
    whole = model.read_bytes()
    source = random.Random(3)
    places = list(range(0, 64, 4)) + source.sample(range(len(whole)), 40)
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << source.randrange(8)
        model.write_bytes(damaged)
        assert "model.limn" in fails(4, "predict", model, test_csv)
