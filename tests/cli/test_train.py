"""limn train: what it writes and prints; limn info and limn methods, which describe the result."""

import gzip
import json
import re

import pytest
from table import COLUMNS, NAMES, Table, blobs


def test_summary_in_words(limn, train_csv, tmp_path):
    done = limn("train", train_csv, "-m", "knn", "-o", "m.limn")
    assert "knn: trained on 90 rows, 4 features, 3 classes" in done.stdout
    assert "a query touches 90 vectors" in done.stdout
    assert re.search(r"m\.limn: [\d.]+ (kB|bytes)", done.stdout)
    assert done.stderr == ""


def test_one_row_is_not_1_rows(limn, tmp_path):
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    done = limn("train", "one.csv", "--task", "search", "--no-label", "-m", "knn", "-o", "m.limn")
    assert "knn: trained on 1 row, 2 features\n" in done.stdout
    assert "a query touches 1 vector (" in done.stdout
    words = limn("info", "m.limn").stdout
    assert "m.limn: a knn model, " in words and "  trained on      1 row, seed 1\n" in words


def test_the_article_of_a_method(limn, train_csv):
    limn("train", train_csv, "-m", "lda", "-o", "m.limn")
    assert limn("info", "m.limn").stdout.startswith("m.limn: an lda model, ")


def test_summary_as_json(limn, train_csv, tmp_path):
    done = limn("train", train_csv, "-m", "knn", "-p", "k=3", "-o", "m.limn", "--json")
    summary = json.loads(done.stdout)
    assert list(summary) == ["method", "params", "rows", "features", "classes", "seconds",
                             "model_bytes", "scaling"]
    assert summary["method"] == "knn"
    assert summary["params"]["k"] == 3 and summary["params"]["metric"] == "l2"
    assert (summary["rows"], summary["features"], summary["classes"]) == (90, 4, 3)
    assert summary["seconds"] >= 0
    assert summary["model_bytes"] == (tmp_path / "m.limn").stat().st_size


def test_quiet_prints_nothing_but_json_stays(limn, train_csv):
    assert limn("train", train_csv, "-m", "knn", "-o", "m.limn", "--quiet").stdout == ""
    done = limn("train", train_csv, "-m", "knn", "-o", "m.limn", "--quiet", "--json")
    assert json.loads(done.stdout)["rows"] == 90


def test_regression_has_no_classes(limn, tmp_path):
    table = blobs(30, seed=5)
    table.labels = [repr(round(sum(row), 3)) for row in table.rows]
    table.csv(tmp_path / "r.csv")
    done = limn("train", "r.csv", "--task", "regress", "-m", "knn", "-o", "m.limn", "--json")
    assert json.loads(done.stdout)["classes"] is None


def test_model_goes_to_a_pipe_and_the_summary_to_stderr(limn, train_csv, tmp_path):
    limn("train", train_csv, "-m", "knn", "-o", "m.limn")
    done = limn("train", train_csv, "-m", "knn", "-o", "-", text=False)
    assert done.stdout == (tmp_path / "m.limn").read_bytes()
    assert b"trained on 90 rows" in done.stderr


def test_same_seed_same_bytes_whatever_the_threads(limn, train_csv, tmp_path):
    written = set()
    for threads in (1, 2, 2, 0):
        limn("train", train_csv, "-m", "knn", "--subsample", "0.5", "--seed", "7", "--threads",
             threads, "-o", "m.limn")
        written.add((tmp_path / "m.limn").read_bytes())
    assert len(written) == 1
    limn("train", train_csv, "-m", "knn", "--subsample", "0.5", "--seed", "8", "-o", "m.limn")
    assert (tmp_path / "m.limn").read_bytes() not in written


def test_subsample_takes_its_part_of_each_class(limn, train_csv):
    done = limn("train", train_csv, "-m", "knn", "--subsample", "0.2", "-o", "m.limn", "--json")
    assert json.loads(done.stdout)["rows"] == 18


def uneven(folder, sizes):
    """Classes of these sizes."""
    labels = [f"c{c}" for c, size in enumerate(sizes) for _ in range(size)]
    path = folder / "uneven.csv"
    path.write_text("x,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    return path


def test_a_subsample_by_power_keeps_the_smallest_class_whole(limn, tmp_path):
    data = uneven(tmp_path, (4000, 400, 40))

    def drawn(*rule):
        """Rows in all, and how many of the smallest class their nearest neighbour gets right."""
        done = limn("train", data, "-m", "knn", "-p", "k=1", "--subsample", 566.5 / 4440, *rule, "-o",
                    "m.limn", "--json")
        found = limn("predict", "m.limn", data, "--quiet").stdout.split()
        return json.loads(done.stdout)["rows"], found[4400:].count("c2")

    # With zeta = 1/2 the classes keep 400, sqrt(400 * 40) = 126.5 and 40 rows.
    assert drawn("--subsample-rule", "power") in ((566, 40), (567, 40))
    assert drawn("--subsample-rule", "equal") == drawn()
    assert drawn()[0] == 510 + 51 + 5


def test_a_rule_without_a_subsample_is_refused(fails, train_csv):
    for rule in ("equal", "power"):
        assert "give --subsample F too" in fails(2, "train", train_csv, "-m", "knn", "-o", "m.limn",
                                                 "--subsample-rule", rule)


def test_a_subsample_of_everything_is_everything_by_any_rule(limn, train_csv):
    done = limn("train", train_csv, "-m", "knn", "-o", "m.limn", "--json", "--subsample", "1",
                "--subsample-rule", "power")
    assert json.loads(done.stdout)["rows"] == 90


def test_an_old_model_is_replaced(limn, train_csv, tmp_path):
    (tmp_path / "m.limn").write_text("old")
    limn("train", train_csv, "-m", "knn", "-o", "m.limn")
    limn("info", "m.limn")
    assert not list(tmp_path.glob("*.tmp*"))


def test_output_must_not_replace_the_data(fails, train_csv, tmp_path):
    before = train_csv.read_bytes()
    assert "would replace the input" in fails(2, "train", "train.csv", "-m", "knn", "-o",
                                              tmp_path / "." / "train.csv")
    assert train_csv.read_bytes() == before


# ---- formats: the same rows give the same answers, however they are written ----


def write_forms(table, folder):
    plain = table.csv(folder / "plain.csv")
    (folder / "zipped.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    half = len(plain.read_bytes()) // 2
    (folder / "two-members.gz").write_bytes(gzip.compress(plain.read_bytes()[:half]) +
                                            gzip.compress(plain.read_bytes()[half:]))
    (folder / "crlf.csv").write_bytes(plain.read_bytes().replace(b"\n", b"\r\n"))
    (folder / "no-last-newline.csv").write_bytes(plain.read_bytes().rstrip(b"\n"))
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbf" + plain.read_bytes())
    table.csv(folder / "tab.tsv", delimiter="\t")
    table.csv(folder / "semicolon.csv", delimiter=";")
    table.csv(folder / "bare.csv", header=False)
    table.csv(folder / "first.csv", first=True)


@pytest.mark.parametrize("name, options", [
    ("zipped.csv.gz", []), ("two-members.gz", []), ("crlf.csv", []), ("no-last-newline.csv", []),
    ("bom.csv", []), ("tab.tsv", []), ("tab.tsv", ["--delimiter", "tab"]),
    ("tab.tsv", ["--delimiter", "\\t"]), ("semicolon.csv", []),
    ("semicolon.csv", ["--delimiter", ";"]), ("bare.csv", []), ("bare.csv", ["--header", "no"]),
    ("plain.csv", ["--header", "yes"]), ("plain.csv", ["--format", "csv"]),
    ("plain.csv", ["--label", "species"]), ("plain.csv", ["--label", "5"]),
    ("plain.csv", ["--label", "last"]), ("first.csv", ["--label", "first"]),
    ("first.csv", ["--label", "1"]), ("first.csv", ["--label", "species"]),
])
def test_forms_of_csv(limn, tmp_path, train_table, test_table, expected, name, options):
    write_forms(train_table, tmp_path)
    test_table.csv(tmp_path / "query.csv", header=False, labels=False)
    limn("train", name, *options, "-m", "knn", "-p", "k=1", "--scale", "none", "-o", "m.limn")
    # --header no: otherwise the first line of numbers could be taken for names
    assert limn("predict", "m.limn", "query.csv", "--header", "no").stdout.split() == expected


@pytest.mark.parametrize("name", ["label", "class", "target", "y"])
def test_a_label_column_is_known_by_its_name(limn, tmp_path, train_table, name):
    train_table.label = name
    train_table.csv(tmp_path / "d.csv", first=True)
    limn("train", "d.csv", "-m", "knn", "-o", "m.limn")
    info = json.loads(limn("info", "m.limn", "--json").stdout)
    assert info["label_column"] == name and info["feature_names"] == COLUMNS


def test_stdin_and_gzipped_libsvm(limn, tmp_path, train_table, test_table, expected):
    numbers = {name: str(i - 1) for i, name in enumerate(NAMES)}
    table = Table(train_table.rows, [numbers[name] for name in train_table.labels])
    text = table.libsvm(tmp_path / "t.libsvm").read_bytes()
    limn("train", "-", "-m", "knn", "-p", "k=1", "--scale", "none", "-o", "m.limn", input=gzip.compress(text),
         text=False)
    test_table.libsvm(tmp_path / "q.libsvm", labels=False)
    answers = limn("predict", "m.limn", "q.libsvm").stdout.split()
    assert answers == [numbers[name] for name in expected]


# ---- labels come back as they were written ----


@pytest.mark.parametrize("names", [
    ["+1", "-1"], ["1", "2", "10"], ["0.5", "1e3"], ["yes", "no"], ["a b", "c"], ["été", "Ω"],
    ["007", "8"],
])
def test_labels_come_back_as_written(limn, tmp_path, names):
    table = blobs(40, seed=6, names=names)
    table.csv(tmp_path / "d.csv")
    limn("train", "d.csv", "-m", "knn", "-p", "k=1", "-o", "m.limn")
    assert limn("predict", "m.limn", "d.csv").stdout.splitlines() == table.labels


def test_equal_numbers_are_one_class(limn, tmp_path):
    table = blobs(40, seed=6, names=["+1", "-1"])
    table.csv(tmp_path / "d.csv")
    limn("train", "d.csv", "-m", "knn", "-p", "k=1", "-o", "m.limn")
    table.labels = ["1.0" if label == "+1" else label for label in table.labels]
    table.csv(tmp_path / "other.csv")
    result = json.loads(limn("eval", "m.limn", "other.csv", "--json", "--no-speed").stdout)
    assert result["accuracy"] == 1 and sorted(result["labels"]) == ["+1", "-1"]


# ---- info and methods ----


def test_info_says_everything(limn, model):
    text = limn("info", model).stdout
    for part in ["a knn model", "classify", "90 rows, seed 1", "4: " + COLUMNS[0],
                 "3: setosa, versicolor, virginica", "species", "k=1", "metric=l2"]:
        assert part in text, part
    assert max(len(line) for line in text.splitlines()[1:]) <= 80


def test_info_as_json(limn, model):
    info = json.loads(limn("info", model, "--json").stdout)
    assert info["method"] == "knn" and info["task"] == "classify" and info["scale"] == "none"
    assert info["labels"] == NAMES and info["classes"] == 3
    assert info["feature_names"] == COLUMNS and info["features"] == 4
    assert info["rows"] == 90 and info["seed"] == 1 and info["params"]["k"] == 1
    assert info["model_bytes"] == model.stat().st_size
    assert "search" in info["capabilities"]


def test_scaling_is_part_of_the_model(limn, train_csv):
    for scale in ("none", "minmax", "zscore", "rank", "gauss", "learned"):
        limn("train", train_csv, "-m", "knn", "--scale", scale, "-o", "m.limn")
        assert json.loads(limn("info", "m.limn", "--json").stdout)["scale"] == scale


def test_methods_list_and_parameter_table(limn):
    text = limn("methods").stdout
    assert re.search(r"^knn ", text, re.M) and "classify" in text
    text = limn("methods", "knn").stdout
    assert re.search(r"^  k=\d+$", text, re.M) and "l2|" in text


def test_methods_as_json(limn):
    listed = json.loads(limn("methods", "--json").stdout)["methods"]
    knn = next(method for method in listed if method["name"] == "knn")
    assert knn == json.loads(limn("methods", "knn", "--json").stdout)
    assert [p["key"] for p in knn["params"]][0] == "k" and "classify" in knn["capabilities"]


def test_labels_that_are_not_utf8_keep_their_bytes_and_give_valid_json(limn, tmp_path):
    table = blobs(20, seed=6, names=["AAA", "BBB"])
    text = table.csv(tmp_path / "d.csv").read_bytes().replace(b"AAA", b"caf\xe9")
    (tmp_path / "d.csv").write_bytes(text)
    limn("train", "d.csv", "-m", "knn", "-p", "k=1", "-o", "m.limn")
    answers = limn("predict", "m.limn", "d.csv", text=False).stdout.splitlines()
    assert answers == [b"caf\xe9" if label == "AAA" else b"BBB" for label in table.labels]
    result = json.loads(limn("eval", "m.limn", "d.csv", "--json", "--no-speed").stdout)
    assert sorted(result["labels"]) == ["BBB", "caf\ufffd"] and result["accuracy"] == 1


def test_control_bytes_in_names_do_not_reach_the_terminal(limn, tmp_path, train_table):
    train_table.label = "a\x1b[31mb"
    train_table.csv(tmp_path / "d.csv")
    limn("train", "d.csv", "-m", "knn", "-o", "m.limn")
    text = limn("info", "m.limn").stdout
    assert "a?[31mb" in text and "\x1b" not in text


def test_numbered_columns_and_a_label_name_are_a_header(limn, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("0,1,2,target\n5.1,3.5,1.4,setosa\n4.9,3.0,1.4,other\n")
    summary = json.loads(limn("train", path, "-m", "knn", "-o", tmp_path / "m.limn", "--json").stdout)
    assert (summary["rows"], summary["features"], summary["classes"]) == (2, 3, 2)
    path.write_text("0.5,1,2,y\n1,3.5,1.4,n\n4.9,3.0,1.4,y\n")  # y is a label here
    summary = json.loads(limn("train", path, "-m", "knn", "-o", tmp_path / "m.limn", "--json").stdout)
    assert (summary["rows"], summary["classes"]) == (3, 2)


def test_a_quote_inside_a_header_cell_hides_no_separator(limn, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('size (5" pipe);b;label\n1;2;x\n3;4;y\n')
    summary = json.loads(limn("train", path, "-m", "knn", "-o", tmp_path / "m.limn", "--json").stdout)
    assert (summary["rows"], summary["features"]) == (2, 2)


@pytest.mark.parametrize("value", ["nan", "inf", "1e40"])
def test_libsvm_values_that_are_no_numbers_are_refused_as_such(fails, tmp_path, value):
    path = tmp_path / "t.svm"
    path.write_text(f"1 1:{value} 2:3\n2 1:4 2:5\n")
    sentence = fails(3, "train", path, "-m", "knn", "-o", tmp_path / "m.limn")
    assert "line 1" in sentence and "column" not in sentence.split("line 1")[0]


def test_a_model_goes_to_standard_output(limn, tmp_path, train_csv, test_csv):
    limn("train", train_csv, "-m", "lda", "-o", "a.limn")
    done = limn("train", train_csv, "-m", "lda", "-o", "-", text=False)
    assert done.stdout == (tmp_path / "a.limn").read_bytes()
    assert b"lda: trained on 90 rows" in done.stderr
    (tmp_path / "b.limn").write_bytes(done.stdout)
    assert limn("predict", "b.limn", test_csv).stdout == limn("predict", "a.limn", test_csv).stdout
    limn("train", train_csv, "-m", "svm", "--scale", "none", "-o", "s.limn", "-q")
    limn("convert", "s.limn", "s.model", "-q")
    limn("convert", "s.model", "c.limn", "-q")
    done = limn("convert", "s.model", "-", "-q", text=False)
    assert done.stdout == (tmp_path / "c.limn").read_bytes()
