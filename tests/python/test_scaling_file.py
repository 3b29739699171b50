"""A second reader of how a model file scales, written from docs/format.md: every number that knn stores is
what this reader makes of the training rows, bit for bit."""
import csv
import json

import numpy as np
import pytest
from model_file import key_values, numbers, packed, sections  # in scripts/

FLOAT_MOST = float(np.finfo("f4").max)


def cut(x):
    return np.clip(x, -FLOAT_MOST, FLOAT_MOST).astype("f4").astype(float)


class Scaling:
    def __init__(self, path, features):
        self.sections = sections(path)
        self.about = key_values(self.sections["scaler"])
        kind = self.about["kind"]
        self.keep = np.arange(features) if kind == "none" else np.array(self.about["keep"], int)

    def columns(self, x):
        if self.about["kind"] == "none":
            return x
        kept = x[:, self.keep]
        if "offset" in self.about:
            return cut((kept - self.about["offset"]) * self.about["factor"])
        counts = np.array(self.about["knots"], int)
        knots = np.array(numbers(self.sections["scaler.knots"], "f"), float)
        ends, half = np.cumsum([0, *counts]), len(knots) // 2
        assert ends[-1] == half
        return np.column_stack([self.curve(kept[:, j], knots[ends[j]:ends[j + 1]],
                                           knots[half + ends[j]:half + ends[j + 1]])
                                for j in range(len(counts))])

    @staticmethod
    def curve(v, at, to):
        if len(at) == 1:
            return cut(to[0] + (v - at[0]))
        v = np.clip(v, at[0], at[-1])
        rise = np.diff(to) / np.diff(at)
        last = np.searchsorted(at, v, "right") - 1
        return cut(to[last] + (v - at[last]) * np.append(rise, rise[-1])[last])

    def apply(self, x):
        s = self.columns(x)
        if "axes" not in self.about:
            return s
        t = cut(s - np.array(self.about["mean"]))
        rows = np.array(packed(self.sections["scaler.map"], self.about["axes"], len(self.keep)), float)
        out = np.zeros((len(t), len(rows)))
        for j in range(t.shape[1]):  # in the order of the features
            out += t[:, j:j + 1] * rows[:, j]
        return cut(out)


def make(tmp_path, regress=False):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((400, 40)).astype("f4")
    x[:, 0] *= 1000
    x[:, 1] = np.exp(3 * x[:, 1])
    x[:, 2] = np.round(x[:, 2])
    x[:, 3] = 7  # constant
    far = x[:, 4] - 2 * x[:, 5]
    y = np.round(far, 4) if regress else (far > 0).astype(int) + (abs(far) > 2)
    with open(tmp_path / "x.csv", "w", encoding="ascii", newline="") as file:
        csv.writer(file).writerows([*map(repr, map(float, row)), label] for row, label in zip(x, y))
    return x.astype(float)


@pytest.mark.parametrize("task", ["classify", "regress"])
@pytest.mark.parametrize("scale", ["none", "minmax", "zscore", "rank", "gauss", "auto", "learned"])
def test_stored_rows_are_what_the_format_says(limn, tmp_path, scale, task):
    x = make(tmp_path, task == "regress")
    path = tmp_path / "m.limn"
    limn("train", tmp_path / "x.csv", "--task", task, "-m", "knn", "--scale", scale, "-o", path)
    scaling = Scaling(path, x.shape[1])
    want = scaling.apply(x)
    assert np.array_equal(np.array(packed(scaling.sections["knn.rows"], len(x), want.shape[1])), want)
    assert ("axes" in scaling.about) == (scale == "learned")


def test_information_is_what_limn_info_says(limn, tmp_path):
    x = make(tmp_path)
    path = tmp_path / "m.limn"
    limn("train", tmp_path / "x.csv", "-m", "knn", "--scale", "learned", "-o", path)
    said = json.loads(limn("info", path, "--json"))["scaling"]
    scaling = Scaling(path, x.shape[1])
    about = scaling.about
    assert said["kind"] == "learned" and said["base"] == about["kind"]
    assert said["rows"] == about["chosen_rows"] == 400
    for trials, prefix in ((said["trials"], "chosen"), (said["map"]["trials"], "gate")):
        assert [t["name"] for t in trials] == about[prefix + "_names"]
        assert [v for t in trials for v in (t["wrong"], t["mends"], t["breaks"], t["taken"])] == \
            list(about[prefix + "_trials"])
    assert said["map"]["axes"] == about["axes"] and \
        said["map"]["variance"] == pytest.approx(about["variance"], rel=1e-14)
    share = np.array(about["share"])
    assert abs(share.sum() - 1) < 1e-12
    heavy = said["map"]["heaviest"]
    assert [h["share"] for h in heavy] == pytest.approx(sorted(share, reverse=True)[:10], rel=1e-14)
    assert [share[list(scaling.keep).index(h["feature"] - 1)] for h in heavy] == \
        pytest.approx([h["share"] for h in heavy], rel=1e-14)
    assert {heavy[0]["feature"], heavy[1]["feature"]} == {5, 6}
