"""Models of every released version (tests/models) open and give the answers they gave then."""
import csv
import glob
import json
import os

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERSIONS = sorted(glob.glob(os.path.join(ROOT, "tests", "models", "*", "")))
TOLERANCE = 2e-5  # instruction sets round differently


def entries():
    for folder in VERSIONS:
        with open(os.path.join(folder, "list.tsv"), encoding="utf-8") as file:
            for line in file:
                model, rows, command, answers = line.rstrip("\n").split("\t")
                yield pytest.param(folder, model, rows, command.split(), answers,
                                   id=os.path.basename(folder[:-1]) + "-" + model + "-" + command)


def same(a, b):
    try:
        a, b = float(a), float(b)
    except ValueError:
        return a == b
    return abs(a - b) <= TOLERANCE * max(1, abs(a), abs(b))


@pytest.mark.parametrize("folder, model, rows, command, answers", entries())
def test_an_old_model_answers_as_it_did(limn, folder, model, rows, command, answers):
    verb, *options = command
    done = limn(verb, folder + model, folder + rows, *options, "-q")
    got = list(csv.reader(done.stdout.splitlines()))
    with open(folder + answers, encoding="utf-8") as file:
        expected = list(csv.reader(file))
    assert len(got) == len(expected)
    for mine, then in zip(got, expected):
        assert len(mine) == len(then)
        assert all(map(same, mine, then)), (mine, then)


@pytest.mark.parametrize("folder", VERSIONS)
def test_an_old_model_can_be_described(limn, folder):
    for model in sorted(glob.glob(folder + "*.limn")):
        assert '"method"' in limn("info", model, "--json").stdout


@pytest.mark.parametrize("folder", VERSIONS)
def test_an_old_model_that_learned_goes_on_learning(limn, tmp_path, folder):
    old, out = folder + "bforest-learned.limn", tmp_path / "more.limn"
    limn("learn", old, folder + "classes.csv", "-o", out, "-q")

    def rows(path):
        return json.loads(limn("info", path, "--json").stdout)["rows"]

    assert rows(out) == rows(old) + 20


def test_the_first_version_has_a_model_of_each_of_its_methods():
    kept = {os.path.basename(m).split(".")[0].split("-")[0]
            for m in glob.glob(os.path.join(VERSIONS[0], "*.limn"))}
    assert kept >= {"knn", "lda", "svm", "vpc", "nah", "nhd", "nch", "nsc", "nrh", "bforest"}
