"""limn train --scale: what is chosen by evidence, what the summary and limn info say of it, refusals."""

import json
import math
import random
import re

import pytest
from table import Table, blobs

BY_EVIDENCE = ["knn", "vpc", "bforest", "nah", "nhd", "nch", "nsc", "nrh"]
FIXED = {"svm": "zscore", "lda": "zscore", "agf": "zscore", "borders": "zscore", "student": "zscore",
         "ptree": "zscore", "perceptron": "zscore"}
SMALL = {"bforest": ["-p", "trees=5"], "vpc": ["-p", "trees=3"], "nah": ["-p", "dim=2"],
         "nhd": ["-p", "dim=2"], "nrh": ["-p", "rho=1"], "ptree": ["-p", "gamma=0.1"],
         "perceptron": ["-p", "gamma=0.1"], "student": ["-p", "size=8", "-p", "pool=200"],
         "borders": ["-p", "borders=4"]}


def mixed_units(n, seed):
    """The class depends on two columns of small numbers; two others are noise, one of them huge."""
    source = random.Random(seed)
    rows = [[round(source.gauss(0, s), 4) for s in (0.01, 0.01, 1, 10000)] for _ in range(n)]
    return Table(rows, ["in" if math.hypot(*row[:2]) < 0.012 else "out" for row in rows],
                 ["width", "height", "noise", "money"], "place")


def noisy(n, seed, columns=12):
    """The class depends on a sum of two columns of twelve."""
    source = random.Random(seed)
    rows = [[round(source.gauss(0, 1), 4) for _ in range(columns)] for _ in range(n)]
    return Table(rows, ["up" if row[3] + row[7] > 0 else "down" for row in rows])


def scaling_of(limn, model):
    return json.loads(limn("info", model, "--json").stdout)["scaling"]


def error_of(limn, model, data):
    return json.loads(limn("eval", model, data, "--json", "--no-speed").stdout)["error"]


def train(limn, data, method, *more):
    return limn("train", data, "-m", method, *SMALL.get(method, []), *more, "-o", "m.limn")


# ---- by evidence ----


@pytest.mark.parametrize("method", BY_EVIDENCE)
def test_methods_of_distances_choose_by_evidence(limn, tmp_path, method):
    mixed_units(300, 1).csv(tmp_path / "d.csv")
    mixed_units(300, 2).csv(tmp_path / "t.csv")
    train(limn, "d.csv", method)
    said = scaling_of(limn, "m.limn")
    assert [t["name"] for t in said["trials"]] == ["minmax", "none", "zscore", "rank", "gauss"]
    assert said["rows"] == 300 and said["kind"] == said["base"] != "none" and said["map"] is None
    chosen = [t["name"] for t in said["trials"] if t["taken"]][-1]
    assert said["kind"] == chosen
    train(limn, "d.csv", method, "--scale", chosen)
    forced = scaling_of(limn, "m.limn")
    assert forced["kind"] == chosen and forced["rows"] == 0 and forced["trials"] == []


def test_mixed_units_no_longer_spoil_neighbours(limn, tmp_path):
    mixed_units(600, 1).csv(tmp_path / "d.csv")
    mixed_units(400, 2).csv(tmp_path / "t.csv")
    train(limn, "d.csv", "knn", "--scale", "none")
    before = error_of(limn, "m.limn", "t.csv")
    train(limn, "d.csv", "knn")
    assert error_of(limn, "m.limn", "t.csv") < before - 0.1


@pytest.mark.parametrize("method", sorted(FIXED))
def test_other_methods_keep_their_scaling(limn, train_csv, method):
    train(limn, train_csv, method)
    said = scaling_of(limn, "m.limn")
    assert said["kind"] == FIXED[method] and said["rows"] == 0


@pytest.mark.parametrize("words, kind", [
    (["vpc", "-p", "style=paper"], "minmax"), (["bforest", "-p", "style=paper"], "none"),
    (["nhd", "-p", "kernel=rbf"], "zscore"), (["knn", "-p", "metric=cosine"], "none"),
    (["knn", "--task", "search"], "none"), (["bforest", "-p", "metric=cosine"], "none")])
def test_styles_kernels_angles_and_searches_keep_their_scaling(limn, train_csv, words, kind):
    limn("train", train_csv, "-m", *words, "-o", "m.limn")
    said = scaling_of(limn, "m.limn")
    assert said["kind"] == kind and said["rows"] == 0


def test_fewer_than_thirty_rows_are_scaled_to_their_range(limn, tmp_path):
    blobs(29, seed=1).csv(tmp_path / "d.csv")
    done = train(limn, "d.csv", "knn")
    assert scaling_of(limn, "m.limn")["kind"] == "minmax" and "scaling:" not in done.stdout


def test_targets_are_evidence_too(limn, tmp_path):
    table = mixed_units(200, 1)
    table.labels = [repr(row[0] + row[1]) for row in table.rows]
    table.csv(tmp_path / "d.csv")
    limn("train", "d.csv", "--task", "regress", "-m", "knn", "-o", "m.limn")
    said = scaling_of(limn, "m.limn")
    assert said["rows"] == 200 and said["kind"] != "none"
    limn("train", "d.csv", "--task", "regress", "-m", "knn", "--scale", "learned", "-o", "m.limn")
    heavy = scaling_of(limn, "m.limn")["map"]["heaviest"]
    assert {h["name"] for h in heavy[:2]} == {"width", "height"}


def test_choices_do_not_depend_on_threads(limn, tmp_path):
    noisy(1100, 1).csv(tmp_path / "d.csv")
    written = set()
    for threads in (1, 2, 3):
        train(limn, "d.csv", "knn", "--scale", "learned", "--threads", threads)
        written.add((tmp_path / "m.limn").read_bytes())
    assert len(written) == 1
    said = scaling_of(limn, "m.limn")
    assert said["rows"] == said["map"]["rows"] == 1100


# ---- a learned map ----


def test_a_map_is_learned_where_it_helps(limn, tmp_path):
    noisy(700, 1).csv(tmp_path / "d.csv")
    noisy(500, 2).csv(tmp_path / "t.csv")
    train(limn, "d.csv", "knn")
    before = error_of(limn, "m.limn", "t.csv")
    train(limn, "d.csv", "knn", "--scale", "learned")
    said = scaling_of(limn, "m.limn")
    assert said["kind"] == "learned" and said["map"]["axes"] == 12 and said["map"]["rows"] == 700
    assert {h["name"] for h in said["map"]["heaviest"][:2]} == {"f4", "f8"}
    assert len(said["map"]["heaviest"]) == 10
    assert error_of(limn, "m.limn", "t.csv") < before / 1.5


def test_answers_of_a_learned_model_are_the_same_alone_and_on_any_machine(limn, tmp_path):
    noisy(200, 1).csv(tmp_path / "d.csv")
    noisy(100, 2).csv(tmp_path / "t.csv", labels=False)
    train(limn, "d.csv", "knn", "--scale", "learned")
    whole = limn("predict", "m.limn", "t.csv", "--proba").stdout
    lines = (tmp_path / "t.csv").read_text().splitlines()
    alone = [limn("predict", "m.limn", "-", "--proba", input=f"{lines[0]}\n{line}\n").stdout
             for line in lines[1:6]]
    assert [text.splitlines()[1] for text in alone] == whole.splitlines()[1:6]


def test_an_online_model_maps_what_it_learns(limn, tmp_path):
    noisy(300, 1).csv(tmp_path / "d.csv")
    noisy(900, 2).csv(tmp_path / "more.csv")
    noisy(500, 3).csv(tmp_path / "t.csv")
    train(limn, "d.csv", "bforest", "--scale", "learned")
    said, before = scaling_of(limn, "m.limn"), error_of(limn, "m.limn", "t.csv")
    assert said["map"]["axes"] == 12
    limn("learn", "m.limn", "more.csv")
    assert scaling_of(limn, "m.limn") == said
    assert error_of(limn, "m.limn", "t.csv") <= before


def test_a_teacher_passes_its_map_on(limn, tmp_path):
    noisy(400, 1).csv(tmp_path / "d.csv")
    noisy(300, 2).csv(tmp_path / "t.csv")
    limn("train", "d.csv", "-m", "svm", "--scale", "learned", "-o", "svm.limn")
    limn("train", "d.csv", "-m", "student", *SMALL["student"], "--teacher", "svm.limn", "-o", "m.limn")
    assert scaling_of(limn, "m.limn") == scaling_of(limn, "svm.limn")
    assert error_of(limn, "m.limn", "t.csv") < 0.2


# ---- words ----


def test_summary_and_info_say_what_was_chosen_and_why(limn, tmp_path):
    noisy(400, 1).csv(tmp_path / "d.csv")
    summary = " ".join(train(limn, "d.csv", "knn", "--scale", "learned").stdout.split())
    said = scaling_of(limn, "m.limn")
    start = f"{said['base']}; wrong answers of the nearest 1, 5 and 9 other rows to 400: minmax " \
            f"{said['trials'][0]['wrong']}, none {said['trials'][1]['wrong']} (mends " \
            f"{said['trials'][1]['mends']}, breaks {said['trials'][1]['breaks']})"
    assert "scaling: " + start in summary
    gate = said["map"]["trials"]
    assert f"learned map: 12 axes with 100.0 % of the variance; wrong answers of the nearest 1, 5 and " \
           f"9 rows to 400 not learned from: identity {gate[0]['wrong']}, soft {gate[1]['wrong']} (mends " in summary
    info = " ".join(limn("info", "m.limn").stdout.split())
    assert "scaling " + start in info
    assert re.search(r"heaviest f[48] \d\d\.\d %, f[48] \d\d\.\d %, ", info)
    assert json.loads(train(limn, "d.csv", "knn", "--scale", "learned", "--json").stdout)["scaling"] == said


def test_a_map_that_does_not_help_is_left_out(limn, tmp_path):
    blobs(300, seed=1, spread=0.2).csv(tmp_path / "d.csv")
    done = train(limn, "d.csv", "knn", "--scale", "learned")
    assert "learned map: none; wrong answers of the nearest 1, 5 and 9 rows to 300 not learned from: identity 0, soft 0" in \
        " ".join(done.stdout.split())
    said = scaling_of(limn, "m.limn")
    assert said["kind"] == "learned" and said["map"]["axes"] == 0 and said["map"]["heaviest"] == []


def test_methods_say_how_they_scale(limn):
    assert "scaling: chosen by evidence unless --scale says otherwise" in limn("methods", "knn").stdout
    assert json.loads(limn("methods", "knn", "--json").stdout)["default_scale"] == "auto"
    assert "scaling: zscore unless" in limn("methods", "svm").stdout


# ---- refusals ----


@pytest.mark.parametrize("words", [["knn", "--task", "search"], ["svm", "--task", "outlier"]])
def test_a_map_needs_labels(fails, train_csv, words):
    assert "a map is learned from labels" in fails(2, "train", train_csv, "-m", *words, "--scale",
                                                   "learned", "-o", "m.limn")


def test_a_density_needs_lines(fails, train_csv):
    for scale in ("rank", "gauss", "learned"):
        sentence = fails(2, "train", train_csv, "-m", "kde", "--task", "density", "--scale", scale,
                         "-o", "m.limn")
        assert f"--scale {scale}" in sentence and "density" in sentence


@pytest.mark.parametrize("scale", ["rank", "gauss", "learned"])
def test_curves_and_maps_cannot_be_written_as_libsvm_text(limn, fails, tmp_path, scale):
    noisy(200, 1).csv(tmp_path / "d.csv")
    limn("train", "d.csv", "-m", "svm", "--scale", scale, "-o", "m.limn")
    sentence = fails(1, "convert", "m.limn", "out.model")
    assert f"scales its features by {scale}" in sentence and "--scale zscore" in sentence
    assert not (tmp_path / "out.model").exists() and not (tmp_path / "out.model.range").exists()


def test_too_many_features_are_only_scaled(limn, tmp_path):
    source = random.Random(1)
    table = Table([[source.randrange(9) for _ in range(1300)] for _ in range(40)], ["a", "b"] * 20)
    table.csv(tmp_path / "d.csv")
    done = train(limn, "d.csv", "knn", "--scale", "learned")
    assert "a map is learned for at most 1200 features" in done.stderr
    assert scaling_of(limn, "m.limn")["map"]["axes"] == 0
