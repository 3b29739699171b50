"""Perceptrons that grow at the leaves of a tree with one test, as in the paper on perceptron trees.

limn makes the test and the leaves; they are read from the model file (src/methods/ptree/io.c). Here the
leaves learn rows until they have their budget and stop, where those of limn forget their oldest vector.
With forget=True they do what limn does, which shows that the file was read correctly.
"""
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
from model_file import sections  # noqa: E402

PANEL = 16


def dense(lines, features):
    """Rows and labels of LIBSVM text."""
    x, y = np.zeros((len(lines), features), np.float32), []
    for row, line in zip(x, lines):
        label, *pairs = line.split()
        y.append(label.decode())
        for pair in pairs:
            column, value = pair.split(b":")
            row[int(column) - 1] = value
    return x, np.array(y)


def unpacked(values, count, features):
    """The rows of the packed set at the start of values, and the values after it."""
    panels = -(-count // PANEL)
    used = values[:panels * PANEL * features].reshape(panels, features, PANEL)
    return used.transpose(0, 2, 1).reshape(-1, features)[:count], values[used.size:]


def squares(x):
    """Squared length of each row."""
    return np.einsum("ij,ij->i", x, x)


def distances(a, b):
    """Squared, between all rows of a and of b."""
    return np.maximum(squares(a)[:, None] + squares(b) - 2 * a @ b.T, 0)


class Leaf:
    """Vectors with their coefficients. Outputs above 0 are for the first class."""

    def __init__(self, vectors, coefs, gamma):
        self.vectors, self.coefs, self.gamma = list(vectors), list(coefs), gamma

    def learn(self, x, y, budget, forget=False):
        """Whether each row, asked before it is learned, is answered wrongly; y is 1 or -1."""
        f = np.exp(-self.gamma * distances(x, np.array(self.vectors))) @ self.coefs
        wrong, length, at = np.zeros(len(x), bool), squares(x), 0
        while at < len(x):
            off = y[at:] * f[at:] <= 0
            if len(self.vectors) >= budget and not forget:
                wrong[at:] = off
                break
            if not off.any():
                break
            at += int(off.argmax()) + 1
            wrong[at - 1] = True
            for vector, coef in self.add(x[at - 1], y[at - 1], budget):
                near = length[at:] + vector @ vector - 2 * (x[at:] @ vector)
                f[at:] += coef * np.exp(-self.gamma * near)
        return wrong

    def add(self, vector, coef, budget):
        """Adds a vector, in the place of the oldest one if there are too many: what f changes by."""
        self.vectors.append(vector)
        self.coefs.append(coef)
        yield vector, coef
        if len(self.vectors) > budget:
            yield self.vectors.pop(0), -self.coefs.pop(0)


class Tree:
    """A model with one test, or none, read from its file."""

    def __init__(self, path, method, gamma, features):
        parts = {name.partition(".")[2]: payload for name, payload in sections(path).items()
                 if name.startswith(method + ".")}
        self.gamma, self.parts, self.features = gamma, parts, features
        self.leaves = list(self.read_leaves())
        if len(self.leaves) > 1:
            self.child, self.threshold, self.rows = self.read_node()

    def floats(self, name):
        return np.frombuffer(self.parts[name], np.float32)

    def read_leaves(self):
        vectors, coefs = self.floats("vectors"), np.frombuffer(self.parts["coefs"], float)
        for count, *_ in struct.iter_unpack("<QQQQd", self.parts["leaves"]):
            rows, vectors = unpacked(vectors, count, self.features)
            yield Leaf(rows, coefs[:count], self.gamma)
            coefs = coefs[count:]

    def read_node(self):
        left, _, threshold, rows = struct.unpack("<iidQ", self.parts["nodes"])
        return -1 - left, threshold, rows

    def goes_left(self, x):
        """By a plane, by the nearest row or by the kernel of one row."""
        if "tests" in self.parts:
            length = np.sqrt(squares(x))
            return x @ self.floats("tests")[:self.features] > self.threshold * np.where(length, length, 1)
        rows, _ = unpacked(self.floats("test_rows"), self.rows, self.features)
        if "test_sides" in self.parts:
            sides = np.frombuffer(self.parts["test_sides"], np.uint8)
            return sides[distances(x, rows).argmin(1)] == 0
        return np.exp(-self.gamma * distances(x, rows)[:, 0]) <= self.threshold

    def learn(self, x, y, budget, forget=False):
        """Whether each row, asked before it is learned, is answered wrongly."""
        wrong, leaf = np.zeros(len(x), bool), np.zeros(len(x), int)
        if len(self.leaves) > 1:
            leaf = np.where(self.goes_left(x), self.child, 1 - self.child)
        for i, own in enumerate(self.leaves):
            here = leaf == i
            wrong[here] = own.learn(x[here], y[here], budget, forget)
        return wrong
