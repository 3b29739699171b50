"""limn synth: lists, rows in every output, and refusals that say what to do."""

import csv
import io
import math
import re
import signal
import subprocess
import time

import pytest

from table import LIMN, ROOT, TIMEOUT, environment

NAMES = ["linear", "wave", "islands", "checker", "disks", "curved", "hypercube", "mixture",
         "friedman", "drift"]


def table(text):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], rows[1:]


def test_the_generators_are_listed_with_a_summary_each(limn):
    lines = limn("synth").stdout.splitlines()
    listed = [line.split()[0] for line in lines[:lines.index("")]]
    assert listed == NAMES
    assert all(len(line.split()) > 3 and len(line) <= 80 for line in lines[:len(NAMES)])


@pytest.mark.parametrize("name", NAMES)
def test_a_name_alone_shows_parameters_that_can_be_given_back(limn, name):
    shown = limn("synth", name).stdout
    assert shown.startswith(name + ": ")
    params = re.findall(r"^  (\w+=\S+)$", shown, re.M)
    assert params
    given = [word for param in params for word in ("-p", param)]
    plain = limn("synth", name, "-n", 20, "-o", "-").stdout
    assert limn("synth", name, "-n", 20, *given, "-o", "-").stdout == plain


def test_the_page_has_every_generator_with_the_parameters_of_the_program(limn):
    """Rows of the table: | generator | key | default | values | meaning |; the first cell may be
    empty, and a key without a default repeats one of an earlier generator."""
    page = (ROOT / "docs" / "synth.md").read_text()
    said, name = {}, None
    for first, keys, default in re.findall(r"^\| (`\w+` )?\| ((?:`\w+`(?:, )?)+) \| ([^\s|]*) ?\|",
                                           page, re.M):
        name = first.strip("` ") or name
        for key in re.findall(r"`(\w+)`", keys):
            said.setdefault(name, {})[key] = default
    assert list(said) == NAMES
    usual = {"share": "auto", "noise": "0"}
    for name, params in said.items():
        shown = limn("synth", name).stdout
        program = dict(re.findall(r"^  (\w+)=(\S+)$", shown, re.M))
        assert {key: value or usual[key] for key, value in params.items()} == program


def test_rows_go_to_the_file_or_to_standard_output(limn, tmp_path):
    done = limn("synth", "wave", "-n", 50, "-o", "wave.csv")
    assert done.stdout == "" and done.stderr == ""
    text = (tmp_path / "wave.csv").read_text()
    assert limn("synth", "wave", "-n", 50, "-o", "-").stdout == text
    head, rows = table(text)
    assert head == ["x1", "x2", "label"]
    assert len(rows) == 50
    for u, v, label in rows:
        above = float(v) > 0.5 + 0.3 * math.sin(4 * math.pi * float(u))
        assert label == str(int(above))


def test_a_longer_set_begins_with_a_shorter_one_and_seeds_differ(limn):
    short = limn("synth", "mixture", "-n", 100, "-o", "-").stdout
    assert limn("synth", "mixture", "-n", 1000, "-o", "-").stdout.startswith(short)
    assert limn("synth", "mixture", "-n", 100, "--seed", 1, "-o", "-").stdout == short
    assert limn("synth", "mixture", "-n", 100, "--seed", 2, "-o", "-").stdout != short


def test_parameters_are_used(limn):
    head, rows = table(limn("synth", "friedman", "-n", 30, "-p", "dims=6", "-p", "noise=0", "-o",
                            "-").stdout)
    assert head == ["x1", "x2", "x3", "x4", "x5", "x6", "y"]
    for row in rows:
        a, b, c, d, e, _, y = map(float, row)
        expected = 10 * math.sin(math.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
        assert y == pytest.approx(expected, abs=1e-5)


def test_formats_and_separators(limn, tmp_path):
    cells = limn("synth", "linear", "-n", 5, "-o", "-").stdout
    assert limn("synth", "linear", "-n", 5, "--to-delimiter", ";", "-o",
                "-").stdout == cells.replace(",", ";")
    limn("synth", "linear", "-n", 5, "-o", "a.svm")
    assert re.match(r"[01] 1:\S+ 2:\S+\n", (tmp_path / "a.svm").read_text())
    assert limn("synth", "linear", "-n", 5, "--to", "libsvm", "-o",
                "-").stdout == (tmp_path / "a.svm").read_text()
    limn("synth", "linear", "-n", 5, "-o", "a.npy", "--to-labels", "b.npy")
    assert (tmp_path / "a.npy").read_bytes()[:6] == b"\x93NUMPY" == \
        (tmp_path / "b.npy").read_bytes()[:6]


def test_a_made_set_can_be_learned(limn):
    limn("synth", "checker", "-n", 4000, "-o", "train.csv")
    limn("synth", "checker", "-n", 1000, "--seed", 2, "-o", "test.csv")
    limn("train", "train.csv", "-m", "knn", "-p", "k=1", "-o", "m.limn")
    accuracy = re.search(r"accuracy\s+([\d.]+)",
                         limn("eval", "m.limn", "test.csv", "--no-speed").stdout)
    assert float(accuracy[1]) > 90


def test_the_unbalanced_problem_of_the_paper_is_unbalanced(limn):
    _, rows = table(limn("synth", "checker", "-n", 5000, "-p", "share=0.1", "-o", "-").stdout)
    assert 0.08 < sum(row[2] == "1" for row in rows) / 5000 < 0.12


@pytest.mark.parametrize("args, said", [
    (["checkers", "-n", 5, "-o", "a.csv"], "did you mean checker?"),
    (["zzzzz"], "limn synth lists them"),
    (["linear", "-o", "a.csv"], "needs -n N"),
    (["linear", "-n", 5], "needs -o DATA"),
    (["linear", "-p", "noise=0.1"], "needs -n N"),
    (["-n", 5, "-o", "a.csv"], "needs the NAME"),
    (["linear", "-n", 0, "-o", "a.csv"], "from 1 to"),
    (["linear", "-n", 5, "-o", "a.csv", "-p", "noise=2"], "noise cannot be '2'"),
    (["linear", "-n", 5, "-o", "a.csv", "-p", "nois=0"], "it has angle, share, noise"),
    (["linear", "-n", 5, "-o", "a.csv", "-p", "noise"], "key=value"),
    (["drift", "-n", 5, "-o", "a.csv", "-p", "mode=sudden"], "gradual|abrupt"),
    (["friedman", "-n", 5, "-o", "a.csv", "-p", "dims=4"], "from 5 to 100000"),
])
def test_wrong_usage_says_what_to_do_and_writes_nothing(fails, tmp_path, args, said):
    assert said in fails(2, "synth", *args)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_named(fails):
    assert "nowhere/a.csv" in fails(1, "synth", "linear", "-n", 5, "-o", "nowhere/a.csv")


def test_an_interrupt_leaves_no_file(tmp_path):
    run = subprocess.Popen([LIMN, "synth", "linear", "-n", str(10 ** 12), "-o", "a.csv"],
                           cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + TIMEOUT
    while not any(path.stat().st_size for path in tmp_path.iterdir()):
        assert run.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    assert run.communicate(timeout=TIMEOUT)[1] == "limn: interrupted\n"
    assert run.returncode == 130
    assert list(tmp_path.iterdir()) == []
