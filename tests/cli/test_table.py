"""Tables with text columns, missing cells and weights through train, predict, eval and info."""

import json

import pytest

TRAIN = "color,x,size,y\nred,1,S,a\nblue,2,,b\n,3,L,a\nblue,4,L,b\nred,NA,S,a\nred,6,M,b\n"


@pytest.fixture
def table(tmp_path, limn):
    (tmp_path / "t.csv").write_text(TRAIN)
    limn("train", "t.csv", "-m", "knn", "-p", "k=1", "--missing", "median", "-o", "t.limn")
    return tmp_path


def test_info_names_columns_categories_and_fills(table, limn):
    columns = json.loads(limn("info", "t.limn", "--json").stdout)["columns"]
    assert columns == [
        {"name": "color", "categories": ["blue", "red"], "fill": "red"},
        {"name": "x", "categories": None, "fill": 3},
        {"name": "size", "categories": ["L", "M", "S"], "fill": "L"}]


def test_each_training_row_finds_itself_in_any_order_of_columns(table, limn):
    rows = [line.split(",") for line in TRAIN.splitlines()]
    (table / "q.csv").write_text("\n".join(",".join([r[2], r[1], r[0]]) for r in rows) + "\n")
    assert limn("predict", "t.limn", "q.csv").stdout.split() == [r[3] for r in rows[1:]]


def test_an_unknown_category_is_named_or_taken_as_none(table, limn, fails):
    (table / "q.csv").write_text("color,x,size\nred,1,S\npink,2,L\n")
    sentence = fails(3, "predict", "t.limn", "q.csv", "-o", "out.txt")
    assert "line 3, column 1 (color)" in sentence and "'pink'" in sentence
    assert "--unknown-category zero" in sentence and not (table / "out.txt").exists()
    assert len(limn("predict", "t.limn", "q.csv", "--unknown-category", "zero")
               .stdout.split()) == 2


def test_a_stream_is_filled_as_well(table, limn):
    assert limn("predict", "t.limn", "-", input="color,x,size\n,,\nblue,,L\n").stdout.split()


def test_missing_cells_need_a_model_that_knows_what_to_do(table, limn, fails):
    full = "\n".join(line for line in TRAIN.splitlines() if ",," not in line and "NA" not in line
                     and not line.startswith(","))
    (table / "full.csv").write_text(full + "\n")
    limn("train", "full.csv", "-m", "knn", "-o", "full.limn")
    (table / "q.csv").write_text("color,x,size\nred,,S\n")
    assert "--missing median" in fails(3, "predict", "full.limn", "q.csv")


@pytest.mark.parametrize("method", ["knn", "lda"])
def test_weights_change_the_answer(tmp_path, limn, method):
    (tmp_path / "w.csv").write_text("x,w,y\n0,1,a\n1,1,a\n2,1,b\n0.5,9,b\n")
    args = ["-m", method] + (["-p", "k=4"] if method == "knn" else [])
    limn("train", "w.csv", *args, "--weights", "w", "-o", "w.limn")
    limn("train", "w.csv", *args, "-o", "plain.limn")
    weighted = limn("predict", "w.limn", "-", "--proba", input="x\n0.4\n").stdout.split(",")
    assert float(weighted[-1]) > 0.7  # b
    assert json.loads(limn("info", "w.limn", "--json").stdout)["features"] == 1


def test_weights_are_refused_where_they_mean_nothing(tmp_path, limn, fails):
    (tmp_path / "w.csv").write_text("x,w,y\n0,1,a\n1,1,b\n")
    assert "search" in fails(2, "train", "w.csv", "-m", "knn", "--task", "search", "--weights",
                             "w", "-o", "w.limn")
    assert "class_weight" in fails(2, "train", "w.csv", "-m", "knn", "-p", "class_weight=c:1",
                                   "-o", "w.limn")
    assert "'v'" in fails(3, "train", "w.csv", "-m", "knn", "--weights", "v", "-o", "w.limn")


def test_label_files_belong_to_arrays(tmp_path, fails):
    (tmp_path / "t.csv").write_text(TRAIN)
    assert "--label" in fails(2, "train", "t.csv", "--label-file", "y.npy", "-m", "knn", "-o", "m")
