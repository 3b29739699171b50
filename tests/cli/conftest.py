"""Fixtures of the command tests: running limn, small data sets and a model of them."""

import os
import signal
import subprocess
import zlib

import pytest

from table import LIMN, TIMEOUT, blobs, environment, nearest

# A shell starts background jobs with interrupts ignored, and their children inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    """With LIMN_SAMPLE set, runs a sixth of the tests, always the same ones."""
    if os.environ.get("LIMN_SAMPLE"):
        left_out = [t for t in items if zlib.crc32(t.nodeid.encode()) % 6]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [t for t in items if t not in left_out]


@pytest.fixture
def limn(tmp_path):
    """Runs limn in tmp_path and checks its exit code."""

    def run(*args, code=0, input=None, text=True, **options):
        options.setdefault("cwd", tmp_path)
        options.setdefault("env", environment())
        done = subprocess.run([LIMN, *map(str, args)], input=input, text=text, timeout=TIMEOUT,
                              stdout=options.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, **options)
        assert done.returncode == code, (args, done.returncode, done.stderr)
        return done

    return run


@pytest.fixture
def fails(limn, tmp_path):
    """Runs limn, checks its exit code and returns the one message it printed."""

    def run(code, *args, **options):
        done = limn(*args, code=code, **options)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("limn: warning:")]
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("limn: ")
        assert not lines[0].endswith(".")
        assert done.stdout in ("", None)
        assert not list(tmp_path.glob("*.tmp*"))
        return lines[0]

    return run


@pytest.fixture
def train_table():
    return blobs(90, seed=1)


@pytest.fixture
def test_table():
    return blobs(60, seed=2)


@pytest.fixture
def train_csv(tmp_path, train_table):
    return train_table.csv(tmp_path / "train.csv")


@pytest.fixture
def test_csv(tmp_path, test_table):
    return test_table.csv(tmp_path / "test.csv")


@pytest.fixture
def model(limn, tmp_path, train_csv):
    """A 1-NN model: its answers are known without limn."""
    path = tmp_path / "model.limn"
    limn("train", train_csv, "-m", "knn", "-p", "k=1", "--scale", "none", "-o", path)
    return path


@pytest.fixture
def expected(train_table, test_table):
    return [train_table.labels[nearest(train_table, row)[0]] for row in test_table.rows]
