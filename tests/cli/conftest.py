"""What the tests of the command line share: running limn, making small seeded data sets.

The binary is $LIMN_BIN, by default build/limn or build/cli/limn. No test asserts a time; timeouts only stop a hang.
"""

import os
import pathlib
import random
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = next((p for p in (ROOT / "build" / "limn", ROOT / "build" / "cli" / "limn") if p.is_file()),
             ROOT / "build" / "limn")
LIMN = os.path.abspath(os.environ.get("LIMN_BIN", str(BUILT)))
TIMEOUT = 120

NAMES = ["setosa", "versicolor", "virginica"]
COLUMNS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def environment(**changes):
    env = {k: v for k, v in os.environ.items() if k not in ("LIMN_ISA", "NO_COLOR")}
    env.update(changes)
    return env


@pytest.fixture
def limn(tmp_path):
    """Runs limn in tmp_path and checks its exit code; messages are never a crash."""

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
    """Runs limn, expects exit code, gives the one sentence that it said."""

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


class Table:
    """Rows of features with a label each."""

    def __init__(self, rows, labels, columns=None, label="species"):
        self.rows, self.labels, self.label = rows, labels, label
        self.columns = columns or [f"f{j + 1}" for j in range(len(rows[0]))]

    def csv(self, path, header=True, labels=True, delimiter=",", order=None, extra=(), first=False):
        """order: columns to write, by name; extra: names of columns of noise."""
        order = self.columns if order is None else order
        places = [self.columns.index(name) for name in order]
        lines = []
        heads = [*order, *extra]
        if labels:
            heads = [self.label, *heads] if first else [*heads, self.label]
        if header:
            lines.append(delimiter.join(heads))
        for row, label in zip(self.rows, self.labels):
            cells = [repr(row[j]) for j in places] + ["7.5" for _ in extra]
            if labels:
                cells = [label, *cells] if first else [*cells, label]
            lines.append(delimiter.join(cells))
        path.write_text("\n".join(lines) + "\n")
        return path

    def libsvm(self, path, labels=True):
        lines = []
        for row, label in zip(self.rows, self.labels):
            cells = [f"{j + 1}:{value!r}" for j, value in enumerate(row) if value]
            lines.append(" ".join(([label] if labels else []) + cells))
        path.write_text("\n".join(lines) + "\n")
        return path


def blobs(n, seed, names=NAMES, columns=COLUMNS, spread=1.0):
    """n rows around one centre a class, values with three decimals."""
    source = random.Random(seed)
    centres = random.Random(12345)
    middle = {name: [centres.uniform(0, 6) for _ in columns] for name in names}
    rows, labels = [], []
    for i in range(n):
        name = names[i % len(names)]
        rows.append([round(source.gauss(m, spread), 3) for m in middle[name]])
        labels.append(name)
    return Table(rows, labels, list(columns))


def distance2(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


def nearest(table, row, k=1):
    """Row numbers of the k nearest rows of table."""
    order = sorted(range(len(table.rows)), key=lambda i: (distance2(table.rows[i], row), i))
    return order[:k]


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
    """1-NN: what it answers is known without limn."""
    path = tmp_path / "model.limn"
    limn("train", train_csv, "-m", "knn", "-p", "k=1", "-o", path)
    return path


@pytest.fixture
def expected(train_table, test_table):
    return [train_table.labels[nearest(train_table, row)[0]] for row in test_table.rows]
