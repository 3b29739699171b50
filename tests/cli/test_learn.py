"""limn learn: what is learned, reported, forgotten and refused."""

import gzip
import json
import random
import re
import struct

import pytest
from stream import SMALL, header, info, lines, part, stream
from table import COLUMNS, Table

ROWS, FIRST = 300, 100


@pytest.fixture
def table():
    return stream(ROWS, seed=4)


@pytest.fixture
def files(limn, tmp_path, table):
    """all.csv is first.csv and then rest.csv; start.limn was trained on the first part."""
    table.csv(tmp_path / "all.csv")
    part(table, 0, FIRST).csv(tmp_path / "first.csv")
    part(table, FIRST, ROWS).csv(tmp_path / "rest.csv")
    stream(80, seed=9).csv(tmp_path / "test.csv")
    limn("train", "first.csv", *SMALL, "-o", "start.limn")
    return tmp_path


def answers(limn, model, data="test.csv", *options):
    return limn("predict", model, data, "--quiet", *options).stdout.splitlines()


# ---- what is learned ----


@pytest.mark.parametrize("extra", [["--scale", "none"], ["-p", "style=paper"]])
def test_training_and_learning_is_training_on_everything(limn, files, extra):
    """Without scaling, which is fitted to the rows of the training alone."""
    limn("train", "all.csv", *SMALL, *extra, "-o", "whole.limn")
    limn("train", "first.csv", *SMALL, *extra, "-o", "m.limn")
    limn("learn", "m.limn", "rest.csv")
    assert answers(limn, "m.limn", "test.csv", "--proba") == \
        answers(limn, "whole.limn", "test.csv", "--proba")
    assert info(files / "m.limn")["rows"] == info(files / "whole.limn")["rows"] == ROWS


def test_regression_learns_too(limn, tmp_path):
    limn("synth", "friedman", "-n", 400, "-o", "all.csv")
    rows = (tmp_path / "all.csv").read_text().splitlines()
    (tmp_path / "first.csv").write_text("\n".join(rows[:151]) + "\n")
    (tmp_path / "rest.csv").write_text("\n".join(rows[:1] + rows[151:]) + "\n")
    how = ["--task", "regress", *SMALL, "-p", "eps=0.5", "--scale", "none"]
    limn("train", "first.csv", *how, "-o", "m.limn")
    limn("train", "all.csv", *how, "-o", "whole.limn")
    done = limn("learn", "m.limn", "rest.csv", "--report-every", 100)
    report = done.stdout.splitlines()
    assert report[0] == "rows,mae,rmse,overall_mae,overall_rmse"
    assert [line.split(",")[0] for line in report[1:]] == ["100", "200", "250"]
    assert all(0 < float(cell) < 100 for line in report[1:] for cell in line.split(",")[1:])
    assert "mean absolute error" in done.stderr
    assert answers(limn, "m.limn", "rest.csv") == answers(limn, "whole.limn", "rest.csv")


def test_the_model_is_replaced_or_written_elsewhere(limn, files):
    before = (files / "start.limn").read_bytes()
    limn("learn", "start.limn", "rest.csv", "-o", "new.limn")
    assert (files / "start.limn").read_bytes() == before
    limn("learn", "start.limn", "rest.csv", "-o", "start.limn")  # the default
    assert (files / "start.limn").read_bytes() == (files / "new.limn").read_bytes() != before
    assert not list(files.glob("*.tmp*"))


def test_pieces_threads_and_checkpoints_do_not_matter(limn, files):
    limn("learn", "start.limn", "rest.csv", "-o", "whole.limn", "--threads", 1)
    whole = (files / "whole.limn").read_bytes()
    for options in (["--threads", 2], ["--threads", 3, "--checkpoint-every", 7],
                    ["--checkpoint-every", 1], ["--checkpoint-every", "1s"],
                    ["--report-every", 1], ["--report-every", 13, "--checkpoint-every", 50]):
        limn("learn", "start.limn", "rest.csv", "-o", "m.limn", *options)
        assert (files / "m.limn").read_bytes() == whole, options


def test_standard_input_and_other_formats_give_the_same_model(limn, files, table):
    limn("learn", "start.limn", "rest.csv", "-o", "whole.limn")
    rest = part(table, FIRST, ROWS)
    limn("learn", "start.limn", "-", "-o", "piped.limn", input=(files / "rest.csv").read_text())
    (files / "rest.csv.gz").write_bytes(gzip.compress((files / "rest.csv").read_bytes()))
    limn("learn", "start.limn", "rest.csv.gz", "-o", "zipped.limn")
    rest.csv(files / "turned.csv", order=COLUMNS[::-1], first=True)
    limn("learn", "start.limn", "turned.csv", "-o", "turned.limn")
    rest.libsvm(files / "rest.libsvm")
    limn("learn", "start.limn", "rest.libsvm", "-o", "libsvm.limn")
    expected = answers(limn, "whole.limn", "test.csv", "--proba")
    for name in ("piped", "zipped", "turned", "libsvm"):
        assert answers(limn, f"{name}.limn", "test.csv", "--proba") == expected, name
    said = info(files / "piped.limn")["mark"]
    assert said == {"rows": ROWS - FIRST, "bytes": 0, "hash": None}


def test_one_row_a_command(limn, files, table):
    limn("learn", "start.limn", "-", "-o", "whole.limn",
         input="\n".join([header(table), *lines(part(table, FIRST, FIRST + 20))]) + "\n")
    for row in lines(part(table, FIRST, FIRST + 20)):
        limn("learn", "start.limn", "-", "--quiet", input=header(table) + "\n" + row + "\n")
    assert answers(limn, "start.limn", "test.csv", "--proba") == \
        answers(limn, "whole.limn", "test.csv", "--proba")
    assert info(files / "start.limn")["rows"] == FIRST + 20


def test_a_row_is_known_as_soon_as_it_is_learned(limn, files):
    limn("learn", "start.limn", "rest.csv")
    rows = (files / "rest.csv").read_text().splitlines()
    changed = [row.rsplit(",", 1)[0] + ",b" for row in rows[1:]]  # relabelled duplicates
    (files / "changed.csv").write_text("\n".join([rows[0], *changed]) + "\n")
    limn("learn", "start.limn", "changed.csv")
    assert set(answers(limn, "start.limn", "changed.csv")) == {"b"}


# ---- new labels ----


def test_labels_that_are_new_become_classes(limn, files):
    fresh = stream(200, seed=6, names=("a", "zebra"), late=("0", "b b"))
    fresh.csv(files / "fresh.csv")
    done = limn("learn", "start.limn", "fresh.csv")
    assert "; 3 new classes: zebra, 0, b b\n" in done.stdout
    said = info(files / "start.limn")
    assert said["labels"] == ["a", "b", "c", "zebra", "0", "b b"] and said["classes"] == 6
    assert set(answers(limn, "start.limn", "fresh.csv")) >= {"zebra", "0", "b b"}
    names = limn("predict", "start.limn", "fresh.csv", "--proba").stdout.splitlines()[0]
    assert names == "label,p_a,p_b,p_c,p_zebra,p_0,p_b b"
    done = limn("learn", "start.limn", "rest.csv", "--json")
    assert json.loads(done.stdout)["new_classes"] == []


def test_numbers_that_are_equal_are_one_class(limn, tmp_path):
    table = stream(60, seed=2, names=("1", "2"))
    table.csv(tmp_path / "first.csv")
    Table(table.rows, [label + ".0" for label in table.labels], table.columns).csv(
        tmp_path / "rest.csv")
    limn("train", "first.csv", *SMALL, "-o", "m.limn")
    limn("learn", "m.limn", "rest.csv")
    assert info(tmp_path / "m.limn")["labels"] == ["1", "2"]


# ---- the report ----


def test_the_report_is_the_error_before_learning(limn, files, table):
    """The slow way: one predict and one learn per row."""
    count, every = 30, 10
    rows = lines(part(table, FIRST, FIRST + count))
    labels = table.labels[FIRST:FIRST + count]
    done = limn("learn", "start.limn", "-", "-o", "m.limn", "--report-every", every,
                input="\n".join([header(table), *rows]) + "\n")
    wrong = []
    for row, label in zip(rows, labels):
        text = header(table) + "\n" + row + "\n"
        wrong.append(limn("predict", "start.limn", "-", input=text).stdout.strip() != label)
        limn("learn", "start.limn", "-", "--quiet", input=text)
    expected = ["rows,error,overall_error"]
    for end in range(every, count + 1, every):
        expected.append(f"{end},{sum(wrong[end - every:end]) / every:.15g},"
                        f"{sum(wrong[:end]) / end:.15g}")
    report = done.stdout.splitlines()
    assert report[0] == expected[0] and len(report) == len(expected)
    for line, wanted in zip(report[1:], expected[1:]):
        assert [*map(float, line.split(","))] == pytest.approx([*map(float, wanted.split(","))],
                                                                  rel=1e-5)
    assert f"error {100 * sum(wrong) / count:.2f} %, each row tested" in done.stderr


def test_a_last_block_may_be_short_and_json_keeps_all(limn, files):
    text = limn("learn", "start.limn", "rest.csv", "-o", "m.limn", "--report-every", 150).stdout
    lines_ = [line.split(",") for line in text.splitlines()[1:]]
    assert [line[0] for line in lines_] == ["150", "200"]
    done = limn("learn", "start.limn", "rest.csv", "-o", "m.limn", "--report-every", 150, "--json")
    said = json.loads(done.stdout)
    assert [block["rows"] for block in said["blocks"]] == [150, 200]
    assert [block["error"] for block in said["blocks"]] == pytest.approx(
        [float(line[1]) for line in lines_], rel=1e-5)
    assert said["error"] == pytest.approx(float(lines_[-1][2]), rel=1e-5)
    assert said["learned"] == 200 and said["rows"] == ROWS and said["skipped"] == 0
    assert said["method"] == "bforest" and said["classes"] == 3 and said["forgotten"] is None
    assert said["model_bytes"] == (files / "m.limn").stat().st_size
    assert "error" not in json.loads(limn("learn", "start.limn", "rest.csv", "--json").stdout)


def test_the_summary(limn, files):
    done = limn("learn", "start.limn", "rest.csv")
    assert done.stderr == ""
    words = done.stdout.splitlines()
    assert words[0] == "bforest: learned 200 rows of rest.csv, 300 in all"
    assert words[1].startswith("learning took ")
    assert words[2].startswith("start.limn: ") and "a query touches" in words[2]
    quiet = limn("learn", "start.limn", "first.csv", "--quiet")
    assert quiet.stdout == quiet.stderr == ""
    out = limn("learn", "start.limn", "-", "-o", "-", input=(files / "rest.csv").read_bytes(),
               text=False)
    (files / "piped.limn").write_bytes(out.stdout)
    assert b"learned 200 rows of standard input" in out.stderr
    assert info(files / "piped.limn")["rows"] == 600


def test_info_tells_of_learning(limn, files):
    assert info(files / "start.limn")["learned"] == 0 and info(files / "start.limn")["mark"] is None
    limn("learn", "start.limn", "rest.csv")
    said = info(files / "start.limn")
    assert said["rows"] == 300 and said["learned"] == 200
    assert said["mark"]["rows"] == 200
    assert said["mark"]["bytes"] == (files / "rest.csv").stat().st_size
    words = limn("info", "start.limn").stdout
    assert "  trained on      100 rows, seed 1\n" in words
    assert "  learned         200 rows since training, 300 in all\n" in words
    assert "  last data       200 rows read from the file whose first" in words
    assert said["mark"]["hash"] in words
    limn("learn", "start.limn", "-", input=(files / "rest.csv").read_text())
    assert "200 rows read from a stream" in limn("info", "start.limn").stdout


# ---- forgetting ----


def kept_bytes(path, row):
    """How often the row occurs in the file, as consecutive 32-bit floats."""
    return path.read_bytes().count(struct.pack(f"<{len(row)}f", *row))


def test_forgotten_rows_do_not_come_back(limn, files, table):
    limn("learn", "start.limn", "rest.csv")
    rows = lines(table)
    ids = random.Random(3).sample(range(ROWS), 60)
    (files / "ids.txt").write_text("".join(f"{i}\n" for i in ids))
    for i in ids:  # the same rows with a label that no other row has
        rows[i] = rows[i].rsplit(",", 1)[0] + ",ghost"
    (files / "ghosts.csv").write_text("\n".join([header(table), *(rows[i] for i in ids)]) + "\n")
    limn("learn", "start.limn", "ghosts.csv")  # learned: ids 300 .. 359
    assert set(answers(limn, "start.limn", "ghosts.csv")) == {"ghost"}
    (files / "ids.txt").write_text("".join(f"{i}\n" for i in range(300, 360)))
    done = limn("learn", "start.limn", "--forget", "ids.txt")
    # a row that is answered correctly before it is learned need not be kept, so some may be missing
    assert re.match(r"forgot (60|[45]\d) of 60 rows", done.stdout)
    for step in ("forgotten", "loaded and learned", "compacted"):
        if step == "loaded and learned":
            limn("learn", "start.limn", "rest.csv", "--quiet")
        if step == "compacted":
            limn("learn", "start.limn", "--compact")
        assert "ghost" not in answers(limn, "start.limn", "ghosts.csv"), step
        assert "ghost" not in answers(limn, "start.limn", "all.csv"), step
        proba = limn("predict", "start.limn", "ghosts.csv", "--proba").stdout.splitlines()
        place = proba[0].split(",").index("p_ghost")
        assert all(float(line.split(",")[place]) == 0 for line in proba[1:]), step


def test_compacting_removes_the_bytes(limn, tmp_path):
    table = stream(400, seed=8, d=4)
    secret = [1234.5, -77.25, 3.75, 1e-3]
    table.rows[150], table.labels[150] = secret, "c"
    table.csv(tmp_path / "all.csv")
    limn("train", "all.csv", *SMALL, "--scale", "none", "-o", "m.limn")
    assert kept_bytes(tmp_path / "m.limn", secret) >= 1
    limn("learn", "m.limn", "--forget", "-", input="150\n")
    limn("learn", "m.limn", "--compact")
    assert kept_bytes(tmp_path / "m.limn", secret) == 0
    for value in secret[:3]:
        assert struct.pack("<f", value) not in (tmp_path / "m.limn").read_bytes()


def test_forgetting_before_learning_in_one_command(limn, files):
    (files / "ids.txt").write_text("5\n17\n\n 23 \r\n5\n")
    limn("learn", "start.limn", "--forget", "ids.txt", "-o", "a.limn")
    limn("learn", "a.limn", "rest.csv", "--compact")
    done = limn("learn", "start.limn", "rest.csv", "--forget", "ids.txt", "--compact", "-o",
                "b.limn", "--json")
    assert (files / "a.limn").read_bytes() == (files / "b.limn").read_bytes()
    assert 0 <= json.loads(done.stdout)["forgotten"] <= 3


def sorted_stream(n, runs, seed=3):
    """Rows of three classes; each class in as many runs."""
    table = stream(n, seed=seed)
    order = sorted(range(n), key=lambda i: (i * runs // n, table.labels[i]))
    return Table([table.rows[i] for i in order], [table.labels[i] for i in order], table.columns)


@pytest.mark.parametrize("order", [[], ["-p", "order=shuffle"]])
def test_training_does_not_depend_on_sorted_classes(limn, tmp_path, order):
    stream(3000, seed=3).csv(tmp_path / "mixed.csv")
    sorted_stream(3000, 1).csv(tmp_path / "sorted.csv")
    stream(2000, seed=5).csv(tmp_path / "test.csv")
    errors = []
    for data in ("mixed.csv", "sorted.csv"):
        limn("train", data, "-m", "bforest", "-p", "trees=20", "--scale", "none", *order,
             "-o", "m.limn")
        errors.append(json.loads(limn("eval", "m.limn", "test.csv", "--no-speed",
                                      "--json").stdout)["error"])
    assert abs(errors[0] - errors[1]) < 0.01


WARNING = "the last 1000 rows are all of class"


def test_a_stream_sorted_by_class_is_warned_of(limn, tmp_path):
    stream(300, seed=4).csv(tmp_path / "first.csv")
    stream(4500, seed=3).csv(tmp_path / "mixed.csv")
    sorted_stream(4500, 1).csv(tmp_path / "sorted.csv")
    limn("train", "first.csv", *SMALL, "-o", "m.limn")
    said = limn("learn", "m.limn", "mixed.csv", "-o", "o.limn").stderr
    assert WARNING not in said
    said = limn("learn", "m.limn", "sorted.csv", "-o", "o.limn").stderr
    assert [line.split(WARNING)[1].split(",")[0] for line in said.splitlines()] == [
        " a", " b", " c"]
    assert "shuffle them" in said
    assert limn("learn", "m.limn", "sorted.csv", "-o", "o.limn", "--quiet").stderr == ""
    # A model that knows no other class is not warned about.
    Table([[i] for i in range(2000)], ["a"] * 2000).csv(tmp_path / "one.csv")
    limn("train", "one.csv", *SMALL, "-o", "m.limn")
    assert limn("learn", "m.limn", "one.csv").stderr == ""


def test_with_store_all_what_was_forgotten_leaves_no_trace(limn, tmp_path):
    """Two models that have seen different rows in the middle, and forgotten them, are the same."""
    one, other = stream(300, seed=4), stream(300, seed=4)
    for i in range(100, 200):
        other.rows[i] = [value + 1 for value in other.rows[i]]
        other.labels[i] = "c"
    (tmp_path / "ids.txt").write_text("".join(f"{i}\n" for i in range(100, 200)))
    files = []
    for table, options in ((one, []), (other, []), (other, ["-p", "order=file"])):
        table.csv(tmp_path / "d.csv")
        limn("train", "d.csv", "-m", "bforest", "-p", "trees=6", "-p", "store=all", *options,
             "--scale", "none", "-o", "m.limn")
        assert "forgot 100 of 100 rows" in \
            limn("learn", "m.limn", "--forget", "ids.txt", "--compact").stdout
        stream(80, seed=9).csv(tmp_path / "test.csv")
        files.append(((tmp_path / "m.limn").read_bytes(),
                      limn("predict", "m.limn", "test.csv", "--proba", "--quiet").stdout))
    assert files[0] == files[1]
    assert files[0][1] == files[2][1]


def test_forgetting_again_changes_nothing(limn, files):
    (files / "ids.txt").write_text("".join(f"{i}\n" for i in range(0, 100, 3)))
    limn("learn", "start.limn", "--forget", "ids.txt")
    once = (files / "start.limn").read_bytes()
    assert "forgot 0 of 34 rows; the others are not in the model" in \
        limn("learn", "start.limn", "--forget", "ids.txt").stdout
    assert (files / "start.limn").read_bytes() == once
    (files / "none.txt").write_text("")
    limn("learn", "start.limn", "--forget", "none.txt")
    assert (files / "start.limn").read_bytes() == once


def test_everything_can_be_forgotten(limn, files):
    (files / "ids.txt").write_text("".join(f"{i}\n" for i in range(100)))
    limn("learn", "start.limn", "--forget", "ids.txt", "--compact")
    done = limn("learn", "start.limn", "rest.csv", "--report-every", 100)
    assert len(done.stdout.splitlines()) == 3
    assert info(files / "start.limn")["rows"] == ROWS
    assert len(set(answers(limn, "start.limn"))) > 1


@pytest.mark.parametrize("line,words", [
    ("abc", "'abc' is not a row id"), ("-3", "'-3' is not"), ("1.5", "'1.5' is not"),
    ("7,8", "'7,8' is not"), ("99999999999999999999999", "is not a row id"),
    ("100", "there is no row 100: the model has seen 100 rows"), ("0x3", "'0x3' is not")])
def test_wrong_ids_are_refused_with_their_line(fails, files, line, words):
    before = (files / "start.limn").read_bytes()
    (files / "ids.txt").write_text(f"3\n\n{line}\n4\n")
    sentence = fails(3, "learn", "start.limn", "--forget", "ids.txt")
    assert sentence.startswith("limn: ids.txt: line 3: ") and words in sentence
    sentence = fails(3, "learn", "start.limn", "--forget", "-", input=f"{line}\n")
    assert sentence.startswith("limn: standard input: line 1: ")
    assert (files / "start.limn").read_bytes() == before


def test_a_file_of_ids_that_is_not_there(fails, files):
    assert "nothing.txt: cannot open it" in fails(1, "learn", "start.limn", "--forget",
                                                  "nothing.txt")


# ---- what is refused ----


def test_models_that_cannot_learn(fails, limn, files):
    limn("train", "first.csv", "-m", "knn", "-o", "knn.limn")
    assert "a knn model cannot learn row by row" in fails(2, "learn", "knn.limn", "rest.csv")
    assert "knn model cannot forget" in fails(2, "learn", "knn.limn", "--forget", "ids.txt")
    assert "knn model cannot forget" in fails(2, "learn", "knn.limn", "--compact")


def test_wrong_files(fails, files):
    assert "not a limn model" in fails(4, "learn", "rest.csv", "rest.csv")
    assert "cannot open" in fails(1, "learn", "no.limn", "rest.csv")
    assert "no.csv" in fails(1, "learn", "start.limn", "no.csv")
    (files / "cut.limn").write_bytes((files / "start.limn").read_bytes()[:500])
    assert "cut.limn" in fails(4, "learn", "cut.limn", "rest.csv")
    (files / "empty.csv").write_text("")
    assert "empty.csv" in fails(3, "learn", "start.limn", "empty.csv")


def test_wrong_usage(fails, files):
    cases = {("start.limn",): "needs DATA to learn from",
             ("start.limn", "--compact", "--resume"): "--resume needs DATA to learn from",
             ("start.limn", "--compact", "--report-every", "5"): "--report-every needs DATA",
             ("start.limn", "--compact", "--checkpoint-every", "5"): "--checkpoint-every needs DATA",
             ("start.limn", "-", "--resume"): "standard input",
             ("start.limn", "-", "--forget", "-"): "both read standard input",
             ("start.limn", "rest.csv", "-o", "rest.csv"): "would replace the input",
             ("start.limn", "rest.csv", "--forget", "first.csv", "-o", "first.csv"): "would replace",
             ("start.limn", "rest.csv", "-o", "-", "--checkpoint-every", "5"): "needs a file",
             ("start.limn", "rest.csv", "-o", "-", "--report-every", "5"): "standard output",
             ("start.limn", "rest.csv", "--no-label"): "needs labels",
             ("start.limn", "rest.csv", "--checkpoint-every", "5m"): "such as 30s",
             ("start.limn", "rest.csv", "--checkpoint-every", "0"): "such as 1000",
             ("start.limn", "rest.csv", "--checkpoint-every", "-5s"): "such as 1000",
             ("start.limn", "rest.csv", "--checkpoint-every", "s"): "such as 1000",
             ("start.limn", "rest.csv", "--report-every", "0"): "a whole number from 1",
             ("/dev/null", "rest.csv"): "name a file with -o",
             ("-", "rest.csv"): "a model cannot be read from standard input"}
    before = (files / "start.limn").read_bytes()
    for args, words in cases.items():
        assert words in fails(2, "learn", *args), args
    assert (files / "start.limn").read_bytes() == before


def test_unwritable_places_are_found_first(fails, files):
    for place in ("nowhere/m.limn", "rest.csv/m.limn", "."):
        assert place in fails(1, "learn", "start.limn", "no-such-file.csv", "-o", place)


def test_bad_rows_leave_the_model_alone(fails, files, table):
    before = (files / "start.limn").read_bytes()
    rows = lines(part(table, FIRST, ROWS))
    for bad, words in (("1,2,x,4,a", "'x'"), ("1,2,3,a", "4 cells"), ("1,2,3,4,", "label is missing"),
                       ("1,2,NA,4,a", "missing cell")):
        text = "\n".join([header(table), *rows[:50], bad, *rows[50:]]) + "\n"
        (files / "bad.csv").write_text(text)
        sentence = fails(3, "learn", "start.limn", "bad.csv")
        assert "bad.csv: " in sentence and "line 52" in sentence, sentence
        assert (files / "start.limn").read_bytes() == before


def test_what_was_learned_before_a_bad_row_is_in_the_checkpoint(fails, limn, files, table):
    rows = lines(part(table, FIRST, ROWS))
    text = "\n".join([header(table), *rows[:50], "1,2,x,4,a", *rows[50:]]) + "\n"
    (files / "bad.csv").write_text(text)
    fails(3, "learn", "start.limn", "bad.csv", "-o", "m.limn", "--checkpoint-every", 20)
    assert info(files / "m.limn")["mark"]["rows"] == 40
    (files / "good.csv").write_text("\n".join([header(table), *rows[:40]]) + "\n")
    limn("learn", "start.limn", "good.csv", "-o", "forty.limn")
    assert answers(limn, "m.limn", "test.csv", "--proba") == \
        answers(limn, "forty.limn", "test.csv", "--proba")


def test_columns_that_do_not_fit(fails, limn, files, table):
    part(table, FIRST, ROWS).csv(files / "few.csv", order=COLUMNS[:2])
    sentence = fails(3, "learn", "start.limn", "few.csv")
    assert COLUMNS[2] in sentence and COLUMNS[3] in sentence
    part(table, FIRST, ROWS).csv(files / "bare.csv", labels=False)
    assert "label" in fails(3, "learn", "start.limn", "bare.csv")
    part(table, FIRST, ROWS).csv(files / "more.csv", extra=["noise"])
    done = limn("learn", "start.limn", "more.csv", "-o", "m.limn")
    assert "noise" in done.stderr
    limn("learn", "start.limn", "rest.csv", "-o", "n.limn")
    assert answers(limn, "m.limn", "test.csv", "--proba") == \
        answers(limn, "n.limn", "test.csv", "--proba")


def test_categories_and_missing_cells_follow_the_training(limn, fails, tmp_path):
    source = random.Random(1)
    rows = [f"{source.choice(['red', 'blue'])},{source.random():.3f},{source.choice('xy')}"
            for _ in range(100)]
    text = ["color,size,class", *rows[:50], ",0.5,x", "red,NA,y"]
    (tmp_path / "first.csv").write_text("\n".join(text) + "\n")
    limn("train", "first.csv", "--missing", "median", *SMALL, "-o", "m.limn")
    (tmp_path / "rest.csv").write_text("\n".join(["size,class,color", "0.25,x,red", ",y,",
                                                  "0.5,z,blue"]) + "\n")
    limn("learn", "m.limn", "rest.csv", "-o", "n.limn")
    assert info(tmp_path / "n.limn")["rows"] == 55
    (tmp_path / "green.csv").write_text("color,size,class\ngreen,1,x\n")
    assert "'green'" in fails(3, "learn", "m.limn", "green.csv")
    limn("learn", "m.limn", "green.csv", "--unknown-category", "zero")
