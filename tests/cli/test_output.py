"""Output files are whole or absent: failures, full disks, interrupts, closed pipes. The progress
line."""

import fcntl
import os
import pathlib
import pty
import resource
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest
from table import COLUMNS, LIMN, blobs, environment

LIMIT = 30  # seconds after which a run counts as hung


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- places that cannot be written to ----


def test_unwritable_places_are_found_before_reading(fails, tmp_path, train_csv):
    for place in ("nowhere/m.limn", "train.csv/m.limn", "."):
        sentence = fails(1, "train", "no-such-file.csv", "-m", "knn", "-o", place)
        assert place in sentence and "no-such-file" not in sentence
    assert names(tmp_path) == ["train.csv"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_write_protected_folder(fails, tmp_path, train_csv):
    (tmp_path / "locked").mkdir(mode=0o555)
    assert "locked/m.limn" in fails(1, "train", train_csv, "-m", "knn", "-o", "locked/m.limn")


def test_predict_into_unwritable_places(fails, tmp_path, model, test_csv):
    before = names(tmp_path)
    for place in ("nowhere/out.txt", "test.csv/out.txt", "."):
        assert place in fails(1, "predict", model, test_csv, "-o", place)
    assert names(tmp_path) == before


# ---- full disks ----


def limited(size):
    """Limits the size of files, as a full disk would."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_full_device_as_output(fails, limn, model, test_csv):
    assert "No space left" in fails(1, "predict", model, test_csv, "-o", "/dev/full")
    assert "No space left" in fails(1, "search", model, test_csv, "-k", "2", "-o", "/dev/full")
    with open("/dev/full", "w") as full:
        for args in (["predict", model, test_csv], ["eval", model, test_csv, "--no-speed"],
                     ["info", model], ["methods"], ["help"]):
            done = limn(*args, stdout=full, code=1)
            assert "standard output" in done.stderr and "No space left" in done.stderr


@pytest.mark.parametrize("size", [0, 100, 2000])
def test_train_on_a_full_disk_leaves_the_old_model(fails, tmp_path, train_csv, size):
    (tmp_path / "m.limn").write_text("old")
    before = names(tmp_path)
    sentence = fails(1, "train", train_csv, "-m", "knn", "-o", "m.limn", preexec_fn=limited(size))
    assert "m.limn" in sentence
    assert (tmp_path / "m.limn").read_text() == "old"
    assert names(tmp_path) == before


def test_predict_on_a_full_disk_leaves_the_old_answers(fails, tmp_path, model, test_csv):
    (tmp_path / "out.txt").write_text("old")
    before = names(tmp_path)
    fails(1, "predict", model, test_csv, "-o", "out.txt", preexec_fn=limited(100))
    assert (tmp_path / "out.txt").read_text() == "old"
    assert names(tmp_path) == before


def test_bad_data_leaves_the_old_answers(fails, tmp_path, model):
    (tmp_path / "out.txt").write_text("old")
    rows = "1,2,3,4\n" * 10000
    (tmp_path / "q.csv").write_text(",".join(COLUMNS) + "\n" + rows + "1,2\n")
    before = names(tmp_path)
    assert "line 10002" in fails(3, "predict", model, "q.csv", "-o", "out.txt")
    assert (tmp_path / "out.txt").read_text() == "old"
    assert names(tmp_path) == before


# ---- pipes that are closed ----


@pytest.mark.parametrize("command", [
    ["predict", "model.limn", "big.csv"], ["predict", "model.limn", "big.csv", "--proba"],
    ["search", "model.limn", "big.csv", "-k", "5"],
])
def test_a_reader_that_leaves_is_no_error(tmp_path, model, command):
    blobs(20000, seed=21).csv(tmp_path / "big.csv")
    process = subprocess.Popen([LIMN, *command], cwd=tmp_path, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment())
    assert process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert said == b""
    assert process.wait(LIMIT) == -signal.SIGPIPE


# ---- interrupts ----


def start(folder, *args):
    """Signals that the caller ignores (as a background shell does) must still reach limn."""

    def defaults():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen([LIMN, *map(str, args)], cwd=folder, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
                            preexec_fn=defaults)


def finish(process):
    try:
        code = process.wait(LIMIT)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    said = process.stderr.read().decode()
    for pipe in (process.stdin, process.stdout, process.stderr):
        try:
            pipe.close()
        except BrokenPipeError:
            pass
    return code, said


def wait_until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def sleeps(process):
    """Whether the process waits in a system call, according to the kernel."""
    stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text()
    return stat.rsplit(")", 1)[1].split()[0] == "S"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_while_waiting_for_rows_to_train_on(tmp_path, train_csv, number):
    (tmp_path / "m.limn").write_text("old")
    before = names(tmp_path)
    process = start(tmp_path, "train", "-", "-m", "knn", "-o", "m.limn")
    os.write(process.stdin.fileno(), train_csv.read_bytes())
    time.sleep(0.3)
    wait_until(lambda: sleeps(process))
    process.send_signal(number)
    code, said = finish(process)
    assert (code, said) == (130, "limn: interrupted\n")
    assert names(tmp_path) == before and (tmp_path / "m.limn").read_text() == "old"


def test_interrupt_while_waiting_for_rows_to_answer(tmp_path, model, test_csv):
    before = names(tmp_path)
    process = start(tmp_path, "predict", model, "-", "-o", "out.txt")
    os.write(process.stdin.fileno(), test_csv.read_bytes())
    wait_until(lambda: names(tmp_path) != before)
    wait_until(lambda: sleeps(process))
    process.send_signal(signal.SIGINT)
    assert finish(process) == (130, "limn: interrupted\n")
    assert names(tmp_path) == before


def test_interrupt_while_a_named_pipe_has_no_writer(tmp_path, model):
    os.mkfifo(tmp_path / "pipe")
    before = names(tmp_path)
    process = start(tmp_path, "predict", model, "pipe", "-o", "out.txt")
    wait_until(lambda: names(tmp_path) != before)
    wait_until(lambda: sleeps(process))
    process.send_signal(signal.SIGINT)
    assert finish(process) == (130, "limn: interrupted\n")
    assert names(tmp_path) == before


def feed(process, text):
    """Endless rows, until limn has exited."""

    def run():
        try:
            while True:
                os.write(process.stdin.fileno(), text)
        except OSError:
            pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("command", [
    ["train", "-", "-m", "knn", "-o", "out"], ["predict", "model.limn", "-", "-o", "out"],
    ["search", "model.limn", "-", "-k", "3", "-o", "out"],
])
def test_interrupt_while_rows_keep_coming(tmp_path, model, command):
    before = names(tmp_path)
    process = start(tmp_path, *command)
    os.write(process.stdin.fileno(), (",".join([*COLUMNS, "species"]) + "\n").encode())
    feeder = feed(process, b"1,2,3,4,setosa\n" * 100)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    code = process.wait(LIMIT)
    feeder.join(LIMIT)
    assert (code, finish(process)[1]) == (130, "limn: interrupted\n")
    assert names(tmp_path) == before


# ---- the progress line ----


def on_terminal(folder, args, rows, columns=80):
    """Runs limn with stderr on a terminal and sends rows for two seconds; returns what the terminal
    showed."""
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([LIMN, *map(str, args)], cwd=folder, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=terminal, env=environment())
    os.close(terminal)
    seen = bytearray()

    def collect(wait):
        while select.select([control], [], [], wait)[0]:
            try:
                piece = os.read(control, 65536)
            except OSError:
                return
            if not piece:
                return
            seen.extend(piece)

    end = time.monotonic() + 2
    while time.monotonic() < end:
        os.write(process.stdin.fileno(), rows)
        collect(0.02)
    process.stdin.close()
    assert process.wait(LIMIT) == 0
    collect(0.5)
    os.close(control)
    return seen.decode()


ROWS = b"1,2,3,4,setosa\n5,6,7,8,virginica\n" * 5000


def shown(text):
    return [line for line in text.split("\r\x1b[K") if line]


def test_progress_line_on_a_terminal(tmp_path):
    text = on_terminal(tmp_path, ["train", "-", "-m", "knn", "-o", "m.limn"], ROWS)
    lines = shown(text)
    assert lines and all(line.startswith(("reading", "comparing", "training")) for line in lines)
    assert any("rows/s" in line for line in lines)
    assert text.endswith("\r\x1b[K"), "the line is cleared at the end"
    assert "\n" not in text and "\x1b[3" not in text


def test_progress_line_fits_the_terminal(tmp_path):
    text = on_terminal(tmp_path, ["train", "-", "-m", "knn", "-o", "m.limn"], ROWS, columns=20)
    assert shown(text) and max(map(len, shown(text))) < 20


def test_quiet_shows_no_progress_line(tmp_path):
    assert on_terminal(tmp_path, ["train", "-", "-m", "knn", "-o", "m.limn", "--quiet"],
                       ROWS) == ""


def test_dev_stdout_appends_to_what_the_shell_opened(limn, tmp_path, model, test_csv, expected):
    log = tmp_path / "log"
    log.write_text("precious\n")
    with open(log, "a", encoding="ascii") as file:
        limn("predict", model, test_csv, "-o", "/dev/stdout", stdout=file)
    assert log.read_text().splitlines() == ["precious", *expected]


def test_a_signal_ends_a_command_whose_reader_does_not_read(tmp_path, model):
    big = tmp_path / "big.csv"
    big.write_text("1.0,2.0,3.0,4.0\n" * 60000)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        process = subprocess.Popen([LIMN, "predict", str(model), str(big), "-o", str(fifo)],
                                   stderr=subprocess.PIPE, text=True)
        for _ in range(100):  # the pipe is full when nothing more fits
            time.sleep(0.05)
            with open(f"/proc/{process.pid}/wchan", encoding="ascii") as file:
                if "pipe" in file.read():
                    break
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 130
    finally:
        os.close(reader)
