"""Forests and networks of scikit-learn and xgboost that can be written for bench_front, and the time
of their own calls from Python."""
import os
import time

import numpy as np
import xgboost
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier

import flatten

PYTHON_ROWS, PYTHON_PASSES = 100, 3


def scaling(kind, x):
    """What limn subtracts from each feature and then multiplies it by, which is 0 for constant ones."""
    x = x.astype(np.float64)
    low, spread = ((np.zeros(x.shape[1]), np.ones(x.shape[1])) if kind == "none"
                   else (x.mean(axis=0), x.std(axis=0)) if kind == "zscore"
                   else (x.min(axis=0), x.max(axis=0) - x.min(axis=0)))
    return low, np.divide(1, spread, out=np.zeros(len(spread)), where=spread > 0)


class Network:
    """A network that scales its rows first."""

    def __init__(self, hidden):
        self.net = MLPClassifier((hidden,), random_state=1)

    def fit(self, x, y):
        self.mean, self.scale = x.mean(axis=0, dtype=float), x.std(axis=0, dtype=float)
        self.scale[self.scale == 0] = 1
        self.net.fit(self.scaled(x), y)
        return self

    def scaled(self, x):
        return ((x - self.mean) / self.scale).astype(np.float32)

    def predict(self, x):
        return self.net.predict(self.scaled(x))

    def flatten(self, path):
        flatten.sklearn_network(self.net, self.mean, self.scale, path)


class Forest:
    def __init__(self, kind):
        self.forest = kind(100, random_state=1, n_jobs=-1)

    def fit(self, x, y):
        self.forest.fit(x, y)
        self.forest.n_jobs = 1
        return self

    def predict(self, x):
        return self.forest.predict(x)

    def flatten(self, path):
        flatten.sklearn_forest(self.forest, path)


class Boosted:
    def __init__(self):
        self.model = xgboost.XGBClassifier(n_estimators=100, tree_method="hist", random_state=1,
                                           n_jobs=os.cpu_count())

    def fit(self, x, y):
        self.labels, numbers = np.unique(y, return_inverse=True)
        self.model.fit(x, numbers)
        self.model.set_params(n_jobs=1)
        self.model.get_booster().set_param("nthread", 1)
        return self

    def predict(self, x):
        return self.labels[self.model.predict(x)]

    def flatten(self, path):
        flatten.xgboost_forest(self.model, self.labels, path)


def forests_and_networks(hidden):
    """Kind of bench_front and maker of each model by name; networks of these hidden sizes."""
    return {"RandomForest(100)": ("forest", lambda: Forest(RandomForestClassifier)),
            "ExtraTrees(100)": ("forest", lambda: Forest(ExtraTreesClassifier)),
            "xgboost(100)": ("forest", Boosted),
            **{f"MLP({h})": ("network", lambda h=h: Network(h)) for h in hidden}}


def mean_call(predict, rows):
    """Mean microseconds of a Python call with one row, each row at its best of some passes."""
    order = np.random.default_rng(1).permutation(len(rows))[:PYTHON_ROWS]
    best = np.full(len(order), np.inf)
    for _ in range(PYTHON_PASSES):
        for i, row in enumerate(order):
            x = rows[row:row + 1]
            start = time.perf_counter()
            predict(x)
            best[i] = min(best[i], time.perf_counter() - start)
    return 1e6 * float(best.mean())


def batch_call(predict, rows):
    """Microseconds per row of one Python call with all rows."""
    best, total = np.inf, 0
    while total < 0.5:
        start = time.perf_counter()
        predict(rows)
        took = time.perf_counter() - start
        best, total = min(best, took), total + took
    return 1e6 * best / len(rows)
