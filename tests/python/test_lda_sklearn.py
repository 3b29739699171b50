"""lda gives the probabilities of LinearDiscriminantAnalysis(solver='lsqr', same shrinkage)."""
import csv
import gzip
import io
import os

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from sklearn.datasets import (load_breast_cancer, load_iris, load_svmlight_file,  # noqa: E402
                              load_wine)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: E402

SHRINKAGE = ["0", "0.1", "1", "auto"]


def probabilities(limn, tmp_path, train, test, shrinkage, scale):
    limn("train", train, "-m", "lda", "-p", f"shrinkage={shrinkage}", "--scale", scale, "-o",
         tmp_path / "m.limn")
    records = list(csv.reader(io.StringIO(limn("predict", "--proba", tmp_path / "m.limn", test))))
    return np.array([[float(v) for v in r[1:]] for r in records[1:]])


def expected(x, y, test, shrinkage):
    value = {"0": None, "auto": "auto"}.get(shrinkage, shrinkage)
    value = float(value) if value and value != "auto" else value
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=value).fit(x, y).predict_proba(test)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("scale", ["none", "zscore"])
@pytest.mark.parametrize("shrinkage", SHRINKAGE)
def test_small_sets(limn, tmp_path, load, scale, shrinkage):
    data = load()
    x = data.data.astype(np.float32)
    path = tmp_path / "x.csv"
    path.write_text("".join(",".join(repr(float(v)) for v in row) + f",{label}\n"
                            for row, label in zip(x, data.target)))
    own = probabilities(limn, tmp_path, path, path, shrinkage, scale)
    x = x.astype(float)
    if scale == "zscore":
        x = (x - x.mean(0)) / x.std(0)
    assert np.abs(own - expected(x, data.target, x, shrinkage)).max() < 1e-4


@pytest.mark.parametrize("shrinkage", SHRINKAGE)
def test_letter(limn, tmp_path, shared_data, shrinkage):
    files = [os.path.join(shared_data, f"letter.{part}.svm.gz") for part in ("train", "test")]
    parts = []
    for name in files:
        with gzip.open(name) as file:
            x, y = load_svmlight_file(file, n_features=16)
        parts.append((x.toarray(), y))
    own = probabilities(limn, tmp_path, files[0], files[1], shrinkage, "none")
    assert np.abs(own - expected(*parts[0], parts[1][0], shrinkage)).max() < 1e-4
