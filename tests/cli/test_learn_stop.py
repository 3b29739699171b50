"""limn learn when it is stopped: checkpoints, interrupts, kills, and resuming."""

import gzip
import os
import pathlib
import random
import shutil
import signal
import time

import pytest
from stream import (SMALL, Running, header, info, kill_until, lines, part, stream)
from table import TIMEOUT

ROWS, FIRST = 700, 100


@pytest.fixture
def table():
    return stream(ROWS, seed=4, late=("late",))


@pytest.fixture
def files(limn, tmp_path, table):
    part(table, 0, FIRST).csv(tmp_path / "first.csv")
    part(table, FIRST, ROWS).csv(tmp_path / "data.csv")
    limn("train", "first.csv", *SMALL, "-o", "start.limn")
    limn("learn", "start.limn", "data.csv", "-o", "whole.limn")
    shutil.copy(tmp_path / "start.limn", tmp_path / "m.limn")
    return tmp_path


@pytest.fixture
def rows(table):
    return lines(part(table, FIRST, ROWS))


def same(files, a, b="whole.limn"):
    return (files / a).read_bytes() == (files / b).read_bytes()


def learned_of(limn, files, table, count, name):
    """The model after the first count rows of data.csv, to compare answers."""
    part(table, FIRST, FIRST + count).csv(files / "part.csv")
    limn("learn", "start.limn", "part.csv", "-o", name, "--quiet")


def proba(limn, model):
    return limn("predict", model, "data.csv", "--proba", "--quiet").stdout


# ---- checkpoints ----


def test_checkpoints_are_complete_models(limn, files, table, rows):
    run = Running(files, "learn", "m.limn", "-", "--checkpoint-every", 100, "--report-every", 50,
                  "--quiet")
    run.send(header(table), *rows[:350])
    run.wait_for("350,")  # in the order of rows: the checkpoint of 300 is written
    assert info(files / "m.limn")["mark"] == {"rows": 300, "bytes": 0, "hash": None}
    learned_of(limn, files, table, 300, "part.limn")
    shutil.copy(files / "m.limn", files / "copy.limn")
    assert proba(limn, "copy.limn") == proba(limn, "part.limn")
    run.send(*rows[350:])
    assert run.finish()[0] == 0
    assert proba(limn, "m.limn") == proba(limn, "whole.limn")


def test_without_checkpoints_nothing_is_written_before_the_end(files, table, rows):
    run = Running(files, "learn", "m.limn", "-", "--report-every", 50)
    run.send(header(table), *rows[:400])
    run.wait_for("400,")
    assert same(files, "m.limn", "start.limn")
    assert not list(files.glob("*.tmp*"))
    assert run.finish()[0] == 0
    assert info(files / "m.limn")["rows"] == FIRST + 400


def test_rows_do_not_wait_for_others_to_be_saved(files, table, rows):
    """A checkpoint is written every second even while no rows arrive."""
    run = Running(files, "learn", "m.limn", "-", "--checkpoint-every", "1s")
    run.send(header(table), *rows[:30])
    end = time.monotonic() + TIMEOUT
    while info(files / "m.limn")["rows"] != FIRST + 30:
        assert time.monotonic() < end and run.process.poll() is None
        time.sleep(0.05)
    assert run.finish()[0] == 0


def test_a_checkpoint_that_cannot_be_written_is_told(files, table, rows):
    (files / "folder").mkdir()
    shutil.copy(files / "m.limn", files / "folder" / "m.limn")
    run = Running(files, "learn", "folder/m.limn", "-", "--checkpoint-every", 100,
                  "--report-every", 50)
    run.send(header(table), *rows[:60])
    run.wait_for("50,")
    shutil.rmtree(files / "folder")
    run.send(*rows[60:200])
    code, _, said = run.finish()
    assert code == 1 and "folder/m.limn: cannot write there" in said


def highest_memory(process):
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0])  # kB


@pytest.mark.skipif("LIMN_SANITIZED" in os.environ, reason="freed memory is kept for a while")
def test_memory_is_that_of_what_is_stored(limn, tmp_path):
    """Rows that are already stored arrive again and again."""
    table = stream(500, seed=3, d=40)
    table.csv(tmp_path / "first.csv")
    limn("train", "first.csv", *SMALL, "-o", "m.limn")
    run = Running(tmp_path, "learn", "m.limn", "-", "--report-every", 500)
    run.send(header(table), *lines(table))
    run.wait_for("500,")
    before = highest_memory(run.process)
    for _ in range(60):
        run.send(*lines(table))
    run.wait_for("30500,")
    assert highest_memory(run.process) < before + 2000  # the rows alone would be 4800 kB
    assert run.finish()[0] == 0


# ---- interrupts ----


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_writes_a_checkpoint_if_asked_to(limn, files, table, rows, number):
    run = Running(files, "learn", "m.limn", "-", "--checkpoint-every", 1000, "--report-every", 50)
    run.send(header(table), *rows[:250])
    run.wait_for("250,")
    run.signal(number)
    code, _, said = run.finish(close=False)
    assert code == 130
    assert said == "limn: interrupted; m.limn has learned the first 250 rows of standard input\n"
    assert info(files / "m.limn")["mark"]["rows"] == 250
    learned_of(limn, files, table, 250, "part.limn")
    assert proba(limn, "m.limn") == proba(limn, "part.limn")
    assert not list(files.glob("*.tmp*"))


def test_an_interrupt_leaves_the_model_alone_otherwise(files, table, rows):
    run = Running(files, "learn", "m.limn", "-", "--report-every", 50)
    run.send(header(table), *rows[:250])
    run.wait_for("250,")
    run.signal(signal.SIGINT)
    code, _, said = run.finish(close=False)
    assert (code, said) == (130, "limn: interrupted\n")
    assert same(files, "m.limn", "start.limn") and not list(files.glob("*.tmp*"))


def test_an_interrupt_while_ids_are_awaited(files):
    run = Running(files, "learn", "m.limn", "--forget", "-")
    run.send("3")
    stat = pathlib.Path(f"/proc/{run.process.pid}/stat")
    end = time.monotonic() + TIMEOUT
    while stat.read_text().rsplit(")", 1)[1].split()[0] != "S":
        assert time.monotonic() < end
    run.signal(signal.SIGINT)
    code, _, said = run.finish(close=False)
    # The signal may arrive before the handler is installed.
    assert (code, said) in ((130, "limn: interrupted\n"), (-signal.SIGINT, ""))
    assert same(files, "m.limn", "start.limn")


def test_an_interrupted_file_is_resumed(limn, files):
    """Nobody reads the report, so limn blocks in the middle of the file until the signal comes."""
    stream(20000, seed=5).csv(files / "data.csv")
    limn("learn", "start.limn", "data.csv", "-o", "whole.limn", "--quiet")
    run = Running(files, "learn", "m.limn", "data.csv", "--checkpoint-every", 100000,
                  "--report-every", 1, stdin=None)
    run.wait_for("1,")
    run.signal(signal.SIGINT)
    code, _, said = run.finish()
    assert code == 130
    mark = info(files / "m.limn")["mark"]["rows"]
    assert 0 < mark < 20000
    assert said == (f"limn: interrupted; m.limn has learned the first {mark} row"
                    f"{'' if mark == 1 else 's'} of data.csv; --resume continues from there\n")
    done = limn("learn", "m.limn", "data.csv", "--resume")
    assert f"learned {20000 - mark} row" in done.stdout
    assert f"of data.csv after skipping {mark} already read" in done.stdout
    assert same(files, "m.limn")


def test_a_reader_of_the_report_that_goes_away(files, table, rows):
    run = Running(files, "learn", "m.limn", "-", "--report-every", 1)
    run.send(header(table), rows[0])
    run.wait_for("1,")
    run.process.stdout.close()
    run.process.stdout = open(os.devnull, "rb")
    try:
        run.send(*rows[1:100])
    except BrokenPipeError:
        pass
    run.process.stdin.close()
    assert run.process.wait(TIMEOUT) == -signal.SIGPIPE
    assert run.process.stderr.read() == b""
    run.process.stderr.close()
    assert same(files, "m.limn", "start.limn")


# ---- resuming ----


def killed(files, *command, at):
    """Runs limn on a file until its report reaches at, then kills it. The report is not read further,
    but limn may get further than at."""
    run = Running(files, *command, stdin=None)
    run.wait_for(f"{at},")
    run.signal(signal.SIGKILL)
    run.finish()


def test_resuming_after_the_end_learns_nothing(limn, files):
    limn("learn", "m.limn", "data.csv")
    done = limn("learn", "m.limn", "data.csv", "--resume")
    assert "learned 0 rows of data.csv after skipping 600 already read" in done.stdout
    assert same(files, "m.limn")


def test_resuming_what_was_never_begun_learns_everything(limn, files):
    done = limn("learn", "m.limn", "data.csv", "--resume")  # killed before the first checkpoint
    assert done.stderr == ("limn: the model has not learned from a file yet; --resume starts at "
                           "the first row\n")
    assert same(files, "m.limn")


def test_rows_that_were_learned_before_are_warned_of(limn, files):
    limn("learn", "m.limn", "data.csv")
    done = limn("learn", "m.limn", "data.csv")
    assert done.stderr == ("limn: warning: the model has already learned 600 rows of data.csv and "
                           "learns them again (--resume skips them)\n")
    assert info(files / "m.limn")["rows"] == FIRST + 1200
    assert limn("learn", "m.limn", "first.csv").stderr == ""


def test_a_file_that_has_grown(limn, files, table, rows):
    (files / "log.csv").write_text("\n".join([header(table), *rows[:200]]) + "\n")
    limn("learn", "m.limn", "log.csv")
    with open(files / "log.csv", "a") as log:
        log.write("\n".join(rows[200:]) + "\n")
    limn("learn", "m.limn", "log.csv", "--resume")
    assert proba(limn, "m.limn") == proba(limn, "whole.limn")
    assert same(files, "m.limn")  # log.csv has become identical to data.csv


def test_another_file_is_refused(limn, fails, files, table, rows):
    limn("learn", "m.limn", "data.csv")
    before = (files / "m.limn").read_bytes()
    (files / "other.csv").write_text("\n".join([header(table), *rows[1:]]) + "\n")
    sentence = fails(3, "learn", "m.limn", "other.csv", "--resume")
    assert "other.csv: --resume: this is not the file from which the model learned 600 rows" in \
        sentence
    sentence = fails(3, "learn", "m.limn", "first.csv", "--resume")  # shorter than what was hashed
    assert "this is not the file" in sentence
    limn("learn", "m.limn", "-", "-o", "n.limn", input=(files / "data.csv").read_text())
    assert "from a stream" in fails(3, "learn", "n.limn", "data.csv", "--resume")
    os.mkfifo(files / "pipe")
    assert "needs a regular file" in fails(2, "learn", "m.limn", "pipe", "--resume")
    assert (files / "m.limn").read_bytes() == before


def test_a_file_that_was_cut_behind_its_first_bytes(limn, fails, files):
    table = stream(4000, seed=3)
    table.csv(files / "long.csv")
    assert (files / "long.csv").stat().st_size > 90000
    limn("learn", "m.limn", "long.csv")
    part(table, 0, 3500).csv(files / "long.csv")
    sentence = fails(3, "learn", "m.limn", "long.csv", "--resume")
    assert "the model has read 4000 rows of this file, but it has only 3500" in sentence


def test_an_interrupted_output_is_resumed(limn, files):
    """With -o, the state of the stopped run is in MODEL2."""
    command = ["learn", "start.limn", "data.csv", "-o", "m2.limn", "--checkpoint-every", 50]
    killed(files, *command, "--report-every", 10, at=200)
    assert info(files / "m2.limn")["mark"]["rows"] >= 150
    limn(*command, "--resume")
    assert same(files, "m2.limn")
    killed(files, *command, "--report-every", 10, at=200)
    limn("learn", "m2.limn", "data.csv", "--resume")  # or from there
    assert same(files, "m2.limn")


def test_other_formats_are_resumed_too(limn, files, table):
    (files / "data.csv.gz").write_bytes(gzip.compress((files / "data.csv").read_bytes(), mtime=0))
    part(table, FIRST, ROWS).libsvm(files / "data.libsvm")
    for name in ("data.csv.gz", "data.libsvm"):
        shutil.copy(files / "start.limn", files / "m.limn")
        limn("learn", "start.limn", name, "-o", "expected.limn")
        killed(files, "learn", "m.limn", name, "--checkpoint-every", 50, "--report-every", 10,
               at=200)
        limn("learn", "m.limn", name, "--resume")
        assert same(files, "m.limn", "expected.limn")
        assert proba(limn, "m.limn") == proba(limn, "whole.limn")


def test_an_old_output_is_not_mixed_up(limn, files):
    """MODEL2 is unrelated: it has no mark, so limn starts from MODEL."""
    limn("train", "data.csv", *SMALL, "-o", "m2.limn")
    limn("learn", "start.limn", "data.csv", "-o", "m2.limn", "--resume")
    assert same(files, "m2.limn")


def test_the_first_checkpoint_names_the_data(limn, files):
    """A model that has learned another file before and is killed early still resumes the right
    file."""
    limn("learn", "m.limn", "first.csv")
    limn("learn", "m.limn", "data.csv", "-o", "expected.limn")
    killed(files, "learn", "m.limn", "data.csv", "--checkpoint-every", 100000, "--report-every", 1,
           at=1)
    limn("learn", "m.limn", "data.csv", "--resume")
    assert same(files, "m.limn", "expected.limn")


def test_the_report_of_a_resumed_file_counts_its_rows(limn, files):
    whole = limn("learn", "start.limn", "data.csv", "-o", "x.limn", "--report-every",
                 100).stdout.splitlines()
    killed(files, "learn", "m.limn", "data.csv", "--checkpoint-every", 100, "--report-every", 10,
           at=250)
    mark = info(files / "m.limn")["mark"]["rows"]
    assert mark % 100 == 0
    report = limn("learn", "m.limn", "data.csv", "--resume", "--report-every",
                  100).stdout.splitlines()
    blocks = {line.split(",")[0]: line.split(",")[1] for line in whole[1:]}
    for line in report[1:]:
        assert blocks[line.split(",")[0]] == line.split(",")[1]
    assert len(report) == 1 + (600 - mark) // 100


# ---- kills ----


@pytest.mark.parametrize("checkpoint,extra,output", [
    ("20", [], None), ("1", ["--forget", "ids.txt", "--compact"], None), ("97", [], "m2.limn")])
def test_a_few_kills(files, checkpoint, extra, output):
    """tests/long has a hundred."""
    (files / "ids.txt").write_text("3\n50\n99\n")
    assert kill_until(random.Random(checkpoint), str(files), 4, ROWS - FIRST, checkpoint, extra,
                      output) == 4
