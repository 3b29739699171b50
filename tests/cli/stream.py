"""Shared by the tests of limn learn: streams of rows, a running limn that is fed and stopped, kills.

Results do not depend on timing: a test that sends a signal first waits for a line of the report, or
accepts the signal at any moment.
"""

import json
import os
import random
import select
import shutil
import signal
import subprocess
import time

from table import COLUMNS, LIMN, TIMEOUT, Table, environment

# In the order of the file, so that training on some rows and learning the rest is training on all.
SMALL = ["-m", "bforest", "-p", "trees=8", "-p", "warmup=150", "-p", "order=file"]


def stream(n, seed, names=("a", "b", "c"), late=(), d=4):
    """n rows of overlapping classes, so that there is something to learn. The names in late appear
    one after the other, evenly spaced over the rows."""
    source = random.Random(seed)
    rows, labels = [], []
    for i in range(n):
        known = list(names) + [name for j, name in enumerate(late)
                               if i >= (j + 1) * n // (len(late) + 1)]
        name = source.choice(known)
        middle = random.Random(name)
        rows.append([round(middle.uniform(0, 4) + source.gauss(0, 1), 3) for _ in range(d)])
        labels.append(name)
    return Table(rows, labels, COLUMNS[:d] if d <= 4 else None)


def part(table, first, last):
    return Table(table.rows[first:last], table.labels[first:last], table.columns, table.label)


def lines(table):
    """The rows as CSV lines without a header."""
    return [",".join([*(repr(value) for value in row), label])
            for row, label in zip(table.rows, table.labels)]


def header(table):
    return ",".join([*table.columns, table.label])


def info(path, **options):
    done = subprocess.run([LIMN, "info", str(path), "--json"], text=True, capture_output=True,
                          timeout=TIMEOUT, env=environment(), **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def default_signals():
    """Signals that the caller ignores (as a background shell does) must still reach limn."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Running:
    """A limn that reads rows from one pipe and prints its report to another."""

    def __init__(self, folder, *args, stdin=subprocess.PIPE):
        self.process = subprocess.Popen([LIMN, *map(str, args)], cwd=folder, stdin=stdin,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment(), preexec_fn=default_signals)
        self.text = b""

    def send(self, *rows):
        self.process.stdin.write("".join(row + "\n" for row in rows).encode())
        self.process.stdin.flush()

    def wait_for(self, beginning):
        """Reads the report until a line starts with beginning."""
        end = time.monotonic() + TIMEOUT
        while not any(line.startswith(beginning.encode()) for line in self.text.split(b"\n")[:-1]):
            left = end - time.monotonic()
            assert left > 0 and select.select([self.process.stdout], [], [], left)[0], self.text
            got = os.read(self.process.stdout.fileno(), 65536)
            assert got, (self.text, self.process.stderr.read())
            self.text += got

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self, close=True):
        """Exit code, report, messages."""
        try:
            if close and self.process.stdin:
                self.process.stdin.close()
                self.process.stdin = None
            out, err = self.process.communicate(timeout=TIMEOUT)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.communicate()
        return self.process.returncode, (self.text + out).decode(), err.decode()


# ---- kills ----


def stop_at_random(source, folder, command, number, report_rows):
    """Starts limn, waits for a random number of report lines, perhaps a moment longer, and sends the
    signal. True if that stopped it, False if it had already finished."""
    with open(os.path.join(folder, "stderr.txt"), "wb") as said:
        process = subprocess.Popen([LIMN, *command], cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=said, env=environment(),
                                   preexec_fn=default_signals)
        for _ in range(source.randrange(report_rows + 1)):
            if not process.stdout.readline():
                break
        if source.random() < 0.7:
            time.sleep(source.random() * 0.02)
        process.send_signal(number)
        process.stdout.read()
        code = process.wait(TIMEOUT)
        process.stdout.close()
    # SIGINT may arrive before the handler is installed.
    expected = {signal.SIGKILL: (-signal.SIGKILL,), signal.SIGINT: (130, -signal.SIGINT)}[number]
    with open(os.path.join(folder, "stderr.txt"), encoding="utf-8") as said:
        assert code == 0 or code in expected, (command, code, said.read())
    return code != 0


def kill_until(source, folder, kills, rows, checkpoint, extra=(), output=None):
    """Learns data.csv into a copy of start.limn, stopping and resuming until there were `kills`
    stops. After each stop the file is a valid model, and the final model is always the same. Returns
    the number of stops."""
    start, data = os.path.join(folder, "start.limn"), "data.csv"
    plain = [LIMN, "learn", "start.limn", data, "-o", "whole.limn", "--quiet", *extra]
    subprocess.run(plain, cwd=folder, check=True, timeout=TIMEOUT, env=environment())
    report = max(1, rows // 40)
    stopped = 0
    while stopped < kills:
        shutil.copy(start, os.path.join(folder, "model.limn"))
        target = output or "model.limn"
        if output and os.path.exists(os.path.join(folder, output)):
            os.unlink(os.path.join(folder, output))
        command = ["learn", "model.limn", data, "--checkpoint-every", checkpoint, "--quiet",
                   "--report-every", str(report), *extra, *(["-o", output] if output else [])]
        first = True
        while True:
            number = signal.SIGINT if source.random() < 0.25 else signal.SIGKILL
            resume = [] if first else ["--resume"]
            # After the last kill, the round runs to its end.
            if stopped >= kills:
                done = subprocess.run([LIMN, *command, *resume], cwd=folder, timeout=TIMEOUT,
                                      env=environment(), capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
                break
            if not stop_at_random(source, folder, command + resume, number, 12):
                break
            stopped += 1
            first = False
            if os.path.exists(os.path.join(folder, target)):
                said = info(os.path.join(folder, target))
                assert said["mark"] is None or 0 <= said["mark"]["rows"] <= rows
        with open(os.path.join(folder, target), "rb") as a, \
                open(os.path.join(folder, "whole.limn"), "rb") as b:
            assert a.read() == b.read(), (command, "is not the model of an uninterrupted run")
        for name in os.listdir(folder):  # what a kill left behind
            if ".tmp-" in name:
                os.unlink(os.path.join(folder, name))
    return stopped
