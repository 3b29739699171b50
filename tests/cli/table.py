"""Shared by the tests of the command line: running limn, making small seeded data sets.

The binary is $LIMN_BIN, by default build/limn. No test asserts a time; timeouts only catch hangs.
"""

import os
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMN = os.path.abspath(os.environ.get("LIMN_BIN", ROOT / "build" / "limn"))
TIMEOUT = 120

NAMES = ["setosa", "versicolor", "virginica"]
COLUMNS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def environment(**changes):
    env = {k: v for k, v in os.environ.items() if k not in ("LIMN_ISA", "NO_COLOR")}
    env.update(changes)
    return env


class Table:
    """Rows of features, each with a label."""

    def __init__(self, rows, labels, columns=None, label="species"):
        self.rows, self.labels, self.label = rows, labels, label
        self.columns = columns or [f"f{j + 1}" for j in range(len(rows[0]))]

    def csv(self, path, header=True, labels=True, delimiter=",", order=None, extra=(), first=False):
        """order: names of the columns to write; extra: names of additional columns of noise."""
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
    """n rows around one centre per class, values with three decimals."""
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
