"""limn predict: answers, column matching, probabilities, streaming."""

import csv
import io
import os
import select
import subprocess

import pytest
from table import COLUMNS, LIMN, NAMES, Table, blobs, environment


def answers(done):
    return done.stdout.splitlines()


def test_one_label_a_line(limn, model, test_csv, expected):
    done = limn("predict", model, test_csv)
    assert answers(done) == expected
    assert done.stderr == ""


def test_output_file_equals_stdout(limn, model, test_csv, tmp_path, expected):
    assert limn("predict", model, test_csv, "-o", "out.txt").stdout == ""
    assert (tmp_path / "out.txt").read_text() == "\n".join(expected) + "\n"
    limn("predict", model, test_csv, "-o", "/dev/null")


def test_threads_do_not_matter(limn, tmp_path):
    table = blobs(9000, seed=8)
    table.csv(tmp_path / "d.csv")
    blobs(200, seed=9).csv(tmp_path / "t.csv")
    limn("train", "t.csv", "-m", "knn", "-o", "m.limn")
    one = limn("predict", "m.limn", "d.csv", "--proba")
    two = limn("predict", "m.limn", "d.csv", "--proba", "--threads", "2")
    assert one.stdout == two.stdout and len(answers(one)) == 9001


def test_output_must_not_replace_an_input(fails, model, test_csv):
    assert "would replace the input" in fails(2, "predict", model, test_csv, "-o", "model.limn")
    assert "would replace the input" in fails(2, "predict", model, test_csv, "-o", "test.csv")


# ---- columns by name ----


@pytest.mark.parametrize("labels", [True, False])
def test_columns_are_matched_by_name_in_any_order(limn, model, tmp_path, test_table, expected,
                                                  labels):
    test_table.csv(tmp_path / "q.csv", order=COLUMNS[::-1], labels=labels, first=True)
    assert answers(limn("predict", model, "q.csv")) == expected


def test_extra_columns_are_ignored_with_one_warning(limn, model, tmp_path, test_table, expected):
    test_table.csv(tmp_path / "q.csv", extra=["colour", "weight"])
    done = limn("predict", model, "q.csv")
    assert answers(done) == expected
    warnings = done.stderr.splitlines()
    assert len(warnings) == 1 and warnings[0].startswith("limn: warning: ")
    assert "colour" in warnings[0]
    quiet = limn("predict", model, "q.csv", "--quiet")
    assert answers(quiet) == expected and quiet.stderr == ""


def test_missing_columns_are_listed(fails, model, tmp_path, test_table):
    test_table.csv(tmp_path / "q.csv", order=COLUMNS[:2])
    sentence = fails(3, "predict", model, "q.csv")
    assert "q.csv" in sentence and COLUMNS[2] in sentence and COLUMNS[3] in sentence
    assert COLUMNS[0] not in sentence


# ---- columns by number ----


@pytest.fixture
def bare_model(limn, tmp_path, train_table):
    """Trained without a header, with the label in the first column."""
    train_table.csv(tmp_path / "bare.csv", header=False, first=True)
    limn("train", "bare.csv", "--label", "first", "-m", "knn", "-p", "k=1", "--scale", "none", "-o", "bare.limn")
    return tmp_path / "bare.limn"


def test_d_columns_have_no_label(limn, bare_model, tmp_path, test_table, expected):
    test_table.csv(tmp_path / "q.csv", header=False, labels=False)
    assert answers(limn("predict", bare_model, "q.csv")) == expected


def test_one_column_more_is_the_label_where_it_stood(limn, bare_model, tmp_path, test_table,
                                                     expected):
    test_table.csv(tmp_path / "q.csv", header=False, first=True)
    assert answers(limn("predict", bare_model, "q.csv")) == expected


def test_label_option_overrides_where_it_stood(limn, bare_model, tmp_path, test_table, expected):
    test_table.csv(tmp_path / "q.csv", header=False)
    assert answers(limn("predict", bare_model, "q.csv", "--label", "last")) == expected


@pytest.mark.parametrize("count", [2, 3, 6])
def test_any_other_number_of_columns_is_an_error(fails, bare_model, tmp_path, count):
    (tmp_path / "q.csv").write_text("\n".join([",".join(["1"] * count)] * 3) + "\n")
    sentence = fails(3, "predict", bare_model, "q.csv")
    assert "q.csv" in sentence and str(count) in sentence and "4" in sentence


def test_no_label_makes_the_extra_column_an_error(fails, bare_model, tmp_path, test_table):
    test_table.csv(tmp_path / "q.csv", header=False, first=True)
    fails(3, "predict", bare_model, "q.csv", "--no-label")


# ---- LIBSVM ----


@pytest.fixture
def libsvm_model(limn, tmp_path):
    table = Table([[0.0, 0.0, 5.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], ["7", "-1", "+2"])
    table.libsvm(tmp_path / "t.libsvm")
    limn("train", "t.libsvm", "-m", "knn", "-p", "k=1", "--scale", "none", "-o", "s.limn")
    return tmp_path / "s.limn"


def test_libsvm_rows_may_lack_the_label_and_features(limn, libsvm_model, tmp_path):
    (tmp_path / "q.libsvm").write_text("3:4.9\n1:1.1\n2:2 3:0.1\n")
    assert answers(limn("predict", libsvm_model, "q.libsvm")) == ["7", "-1", "+2"]
    (tmp_path / "l.libsvm").write_text("1 3:4.9\n1 1:1.1\n1 2:2 3:0.1\n")
    assert answers(limn("predict", libsvm_model, "l.libsvm")) == ["7", "-1", "+2"]


def test_libsvm_features_beyond_the_models_are_an_error(fails, libsvm_model, tmp_path):
    (tmp_path / "q.libsvm").write_text("1 1:1\n1 4:2\n")
    sentence = fails(3, "predict", libsvm_model, "q.libsvm", "-o", "out.txt")
    assert "q.libsvm" in sentence and "line 2" in sentence and "4" in sentence


# ---- numbers and probabilities ----


def test_regression_prints_numbers_that_read_back(limn, tmp_path):
    table = blobs(30, seed=5)
    table.labels = [repr(sum(row) / 7) for row in table.rows]
    table.csv(tmp_path / "r.csv")
    limn("train", "r.csv", "--task", "regress", "-m", "knn", "-p", "k=1", "--scale", "none", "-o", "r.limn")
    assert [float(a) for a in answers(limn("predict", "r.limn", "r.csv"))] == \
        [float(label) for label in table.labels]


def test_proba_is_csv_whose_argmax_is_the_label(limn, tmp_path, train_csv, test_table):
    test_table.csv(tmp_path / "q.csv")
    for k in (1, 2, 4, 7):
        limn("train", train_csv, "-m", "knn", "-p", f"k={k}", "-o", "m.limn")
        labels = answers(limn("predict", "m.limn", "q.csv"))
        rows = list(csv.reader(io.StringIO(limn("predict", "m.limn", "q.csv", "--proba").stdout)))
        assert rows[0] == ["label"] + ["p_" + name for name in NAMES]
        assert [row[0] for row in rows[1:]] == labels
        for row in rows[1:]:
            p = [float(cell) for cell in row[1:]]
            assert NAMES[p.index(max(p))] == row[0]
            assert abs(sum(p) - 1) < 1e-9 and min(p) >= 0


def test_proba_quotes_class_names_as_csv_does(limn, tmp_path):
    names = ['a,b', 'say "x"', "plain"]
    table = blobs(30, seed=5, names=names)
    with open(tmp_path / "d.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*table.columns, "label"])
        writer.writerows([*row, label] for row, label in zip(table.rows, table.labels))
    limn("train", "d.csv", "-m", "knn", "-p", "k=1", "--scale", "none", "-o", "m.limn")
    rows = list(csv.reader(io.StringIO(limn("predict", "m.limn", "d.csv", "--proba").stdout)))
    assert sorted(rows[0][1:]) == sorted("p_" + name for name in names)
    assert [row[0] for row in rows[1:]] == table.labels


def test_proba_of_a_regression_is_refused(fails, limn, tmp_path):
    (tmp_path / "r.csv").write_text("1,2\n3,4\n5,6\n")
    limn("train", "r.csv", "--task", "regress", "-m", "knn", "-p", "k=1", "--scale", "none", "-o", "r.limn")
    assert "predicts numbers" in fails(2, "predict", "r.limn", "r.csv", "--proba")


# ---- streaming ----


class Conversation:
    """limn predict MODEL -, fed one line at a time, with one answer expected for each."""

    def __init__(self, folder, *args):
        self.process = subprocess.Popen([LIMN, "predict", *map(str, args)], cwd=folder,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment())

    def send(self, line):
        os.write(self.process.stdin.fileno(), line.encode())

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        assert ready, "no answer before the next line was sent"
        return os.read(self.process.stdout.fileno(), 65536).decode()

    def silent(self):
        return not select.select([self.process.stdout], [], [], 0.2)[0]

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        assert self.process.wait(60) == 0, self.process.stderr.read()
        return rest.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


def cells(row):
    return ",".join(map(repr, row)) + "\n"


def test_stream_with_header_is_answered_line_by_line(tmp_path, model, test_table, expected):
    with Conversation(tmp_path, model, "-") as talk:
        talk.send(",".join(COLUMNS) + "\n")
        assert talk.silent()
        for row, label in zip(test_table.rows[:5], expected):
            talk.send(cells(row))
            assert talk.answer() == label + "\n"
        assert talk.end() == ""


def test_stream_without_header_is_answered_line_by_line(tmp_path, model, test_table, expected):
    with Conversation(tmp_path, model, "-") as talk:
        for row, label in zip(test_table.rows[:5], expected):
            talk.send(cells(row))
            assert talk.answer() == label + "\n"
        assert talk.end() == ""


def test_stream_waits_for_the_end_of_a_line_and_answers_the_last_without(tmp_path, model,
                                                                         test_table, expected):
    with Conversation(tmp_path, model, "-") as talk:
        talk.send(cells(test_table.rows[0]))
        assert talk.answer() == expected[0] + "\n"
        whole = cells(test_table.rows[1])
        talk.send(whole[:4])
        assert talk.silent()
        talk.send(whole[4:])
        assert talk.answer() == expected[1] + "\n"
        talk.send(cells(test_table.rows[2]).rstrip("\n"))
        assert talk.end() == expected[2] + "\n"


def test_stream_of_probabilities_and_of_libsvm(tmp_path, model, libsvm_model, test_table,
                                               expected):
    with Conversation(tmp_path, model, "-", "--proba") as talk:
        talk.send(cells(test_table.rows[0]))
        text = talk.answer()
        while text.count("\n") < 2:
            text += talk.answer()
        assert text.splitlines()[1].startswith(expected[0] + ",")
        talk.send(cells(test_table.rows[1]))
        assert talk.answer().startswith(expected[1] + ",")
        assert talk.end() == ""
    with Conversation(tmp_path, libsvm_model, "-") as talk:
        for line, label in [("3:4.9\n", "7"), ("1:1.1\n", "-1"), ("2:2\n", "+2")]:
            talk.send(line)
            assert talk.answer() == label + "\n"
        assert talk.end() == ""


def test_answers_before_a_bad_line_are_given(limn, tmp_path, model, test_table, expected):
    text = cells(test_table.rows[0]) + "1,2\n"
    done = limn("predict", model, "-", input=text, code=3)
    assert answers(done) in ([expected[0]], [])
    assert "line 2" in done.stderr


def test_libsvm_rows_with_and_without_labels_may_be_mixed(limn, tmp_path, train_table, test_table, expected):
    train = train_table.libsvm(tmp_path / "train.svm")
    limn("train", train, "-m", "knn", "-p", "k=1", "--scale", "none", "-o", tmp_path / "m.limn")
    with_labels = test_table.libsvm(tmp_path / "a.svm").read_text().splitlines()
    without = test_table.libsvm(tmp_path / "b.svm", labels=False).read_text().splitlines()
    mixed = tmp_path / "mixed.svm"
    mixed.write_text("\n".join(a if i % 3 else b for i, (a, b) in enumerate(zip(with_labels, without))))
    assert limn("predict", tmp_path / "m.limn", mixed).stdout.splitlines() == expected


def test_a_label_that_is_empty_or_no_number_does_not_stop_answers(limn, tmp_path):
    train = tmp_path / "t.csv"
    train.write_text("a,b,y\n1,2,0.5\n3,4,1.5\n")
    limn("train", train, "--task", "regress", "-m", "knn", "-p", "k=1", "--scale", "none", "-o", tmp_path / "m.limn")
    query = tmp_path / "q.csv"
    query.write_text("a,b,y\n1,2,\n3,4,unknown\n")
    assert limn("predict", tmp_path / "m.limn", query).stdout.splitlines() == ["0.5", "1.5"]


def test_a_label_with_a_line_break_stays_one_line(limn, tmp_path):
    train = tmp_path / "t.csv"
    train.write_text('a,l\n1,"two\nlines"\n5,z\n')
    limn("train", train, "-m", "knn", "-p", "k=1", "--scale", "none", "-o", tmp_path / "m.limn")
    query = tmp_path / "q.csv"
    query.write_text("a\n1\n5\n")
    assert limn("predict", tmp_path / "m.limn", query).stdout.splitlines() == ["two lines", "z"]


@pytest.mark.parametrize("header", ["0,1,2,target", "0,1,2,extra", "2,1,0,y", "id,0,1,2", ",0,1,2"])
def test_a_header_of_numbers_is_found_at_prediction(limn, tmp_path, header):
    train = tmp_path / "t.csv"
    train.write_text("0,1,2,y\n1,2,3,0\n4,5,6,1\n")
    limn("train", train, "-m", "knn", "-p", "k=1", "--scale", "none", "-o", tmp_path / "m.limn")
    first = [{"0": "1", "1": "2", "2": "3"}.get(name, "9") for name in header.split(",")]
    query = tmp_path / "q.csv"
    query.write_text("\n".join([header, ",".join(first)]) + "\n")
    assert limn("predict", tmp_path / "m.limn", query).stdout.splitlines() == ["0"]
