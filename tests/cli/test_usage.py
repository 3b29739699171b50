"""Help, options and every error that shows before a file is read."""

import gzip
import re
import shutil
import subprocess

import pytest
from table import LIMN, Table, blobs, environment

VERBS = ["train", "predict", "eval", "search", "accelerate", "convert", "synth", "info", "methods", "help"]


def test_version(limn):
    assert re.fullmatch(r"limn \d+\.\d+\.\d+\n", limn("--version").stdout)


def test_no_arguments_print_the_overview_on_stderr(limn):
    done = limn(code=2)
    assert done.stdout == ""
    for verb in VERBS:
        assert re.search(rf"^  {verb} ", done.stderr, re.M)


@pytest.mark.parametrize("args", [["help"], ["--help"], ["-h"]])
def test_help_prints_the_overview_on_stdout(limn, args):
    done = limn(*args)
    assert "limn train" in done.stdout and done.stderr == ""


@pytest.mark.parametrize("verb", VERBS)
def test_verb_help_has_examples_before_options_in_80_columns(limn, verb):
    text = limn(verb, "--help").stdout
    assert text == limn("help", verb).stdout == limn(verb, "-h").stdout
    assert text.index("Examples:") < text.index("ptions:")
    assert f"\nusage: limn {verb} " in text
    assert max(map(len, text.splitlines())) <= 80


def test_overview_and_methods_stay_in_80_columns(limn):
    for args in (["help"], ["methods"], ["methods", "knn"]):
        assert max(map(len, limn(*args).stdout.splitlines())) <= 80


def test_help_wins_over_missing_arguments(limn):
    assert "Examples:" in limn("predict", "--help").stdout


@pytest.mark.parametrize("words, suggestion", [
    (["trian"], "train"), (["predcit"], "predict"), (["evaluate"], "eval"), (["method"], "methods"),
    (["help", "serch"], "search"),
    (["train", "d.csv", "--metod", "knn"], "--method"),
    (["train", "d.csv", "--outptu=x"], "--output"),
    (["eval", "m", "d", "--jsn"], "--json"),
    (["predict", "m", "d", "--prob"], "--proba"),
    (["train", "d.csv", "-m", "knm", "-o", "x"], "knn"),
    (["methods", "kn"], "knn"),
    (["train", "d.csv", "-m", "knn", "-p", "metrc=l2", "-o", "x"], "metric"),
])
def test_slips_get_a_suggestion(fails, words, suggestion):
    assert f"did you mean {suggestion}?" in fails(2, *words)


@pytest.mark.parametrize("words, part", [
    (["zzzzzz"], "limn help lists them"),
    (["train", "d.csv", "--zzzzzz"], "limn train --help"),
    (["train", "d.csv", "-Z"], "no option -Z"),
    (["predict", "m"], "usage: limn predict MODEL DATA"),
    (["predict", "m", "d", "more"], "unexpected argument more"),
    (["train", "d.csv", "--seed"], "--seed needs a value"),
    (["train", "d.csv", "--seed", "-1"], "whole number"),
    (["train", "d.csv", "--seed", "1x"], "whole number"),
    (["train", "d.csv", "--threads", "two"], "whole number"),
    (["train", "d.csv", "--subsample", "0"], "above 0 and at most 1"),
    (["train", "d.csv", "--subsample", "1.5"], "above 0 and at most 1"),
    (["train", "d.csv", "--subsample", "nan"], "above 0 and at most 1"),
    (["train", "d.csv", "--subsample-rule", "root"], "one of equal|power"),
    (["train", "d.csv", "--scale", "max"], "one of auto|none|minmax|zscore"),
    (["train", "d.csv", "--task", "class"], "one of classify|regress|search"),
    (["train", "d.csv", "--format", "xls"], "one of auto|csv|libsvm"),
    (["train", "d.csv", "--header", "maybe"], "one of auto|yes|no"),
    (["train", "d.csv", "--delimiter", ",,"], "one character"),
    (["train", "d.csv", "--delimiter", "7"], "one character"),
    (["train", "d.csv", "--label", ""], "not empty"),
    (["train", "d.csv", "--json=yes"], "takes no value"),
    (["train", "d.csv", "--label", "a", "--no-label"], "cannot be used together"),
    (["search", "m", "d"], "needs -k K"),
    (["search", "m", "d", "-k", "0"], "whole number from 1"),
    (["predict", "-", "d.csv"], "cannot be read from standard input"),
    (["methods", "zzzzzz"], "limn methods lists them"),
])
def test_wrong_usage_says_what_is_expected(fails, words, part):
    assert part in fails(2, *words)


@pytest.mark.parametrize("words, part", [
    (["-o", "x"], "needs -m METHOD"),
    (["-m", "knn"], "needs -o MODEL"),
    (["-m", "zzzzzz", "-o", "x"], "no method zzzzzz"),
    (["-m", "knn", "-o", "x", "-p", "k"], "KEY=VALUE"),
    (["-m", "knn", "-o", "x", "-p", "=1"], "KEY=VALUE"),
    (["-m", "knn", "-o", "x", "-p", "zzzzzz=1"], "no parameter zzzzzz"),
    (["-m", "knn", "-o", "x", "-p", "k=0"], "whole number from 1"),
    (["-m", "knn", "-o", "x", "-p", "k=1.5"], "whole number from 1"),
    (["-m", "knn", "-o", "x", "-p", "k="], "whole number from 1"),
    (["-m", "knn", "-o", "x", "-p", "k=nan"], "whole number from 1"),
    (["-m", "knn", "-o", "x", "-p", "metric=l3"], "one of l2|"),
    (["-m", "knn", "-o", "x", "--no-label"], "--task classify needs labels"),
])
def test_train_finds_wrong_options_before_it_looks_for_the_data(fails, tmp_path, words, part):
    sentence = fails(2, "train", "no-such-file.csv", *words)
    assert part in sentence
    assert "cannot open" not in sentence
    assert not (tmp_path / "x").exists()


def test_unknown_instruction_set_is_refused(fails):
    assert "LIMN_ISA" in fails(2, "info", "m.limn", env=environment(LIMN_ISA="mmx"))


def test_options_and_positionals_come_in_any_order_and_form(limn, tmp_path, train_csv, test_csv):
    forms = [
        ["train", "-m", "knn", "-o", "a.limn", train_csv, "-p", "k=3", "-p", "metric=l1"],
        ["train", train_csv, "--method=knn", "--output=a.limn", "--param=k=3", "--param",
         "metric=l1"],
        ["train", "-mknn", "-oa.limn", "-pk=3", "-pmetric=l1", "--", train_csv],
        ["train", "-qmknn", "-oa.limn", "-pk=3", "-pmetric=l1", train_csv],
    ]
    written = set()
    for form in forms:
        limn(*form)
        written.add((tmp_path / "a.limn").read_bytes())
    assert len(written) == 1


def test_a_file_whose_name_starts_with_a_dash_follows_two_dashes(limn, tmp_path, train_table):
    train_table.csv(tmp_path / "-data.csv")
    limn("train", "-m", "knn", "-o", "a.limn", "--", "-data.csv")
    assert (tmp_path / "a.limn").exists()


def files_of_the_examples(folder):
    """Every file that an example reads."""
    irises = blobs(60, seed=3)
    irises.csv(folder / "iris.csv")
    irises.csv(folder / "test.csv")
    irises.csv(folder / "new.csv", labels=False)
    irises.csv(folder / "measurements.csv", labels=False)
    irises.csv(folder / "points.csv", labels=False)
    irises.csv(folder / "queries.csv", labels=False)
    irises.csv(folder / "big.csv")
    irises.csv(folder / "table.csv")
    with gzip.open(folder / "train-images-idx3-ubyte.gz", "wb") as file:
        file.write(bytes([0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 2]) + bytes(range(20)))
    with gzip.open(folder / "train-labels-idx1-ubyte.gz", "wb") as file:
        file.write(bytes([0, 0, 8, 1, 0, 0, 0, 5]) + bytes([1, 2, 1, 2, 3]))
    subprocess.run(["gzip", "-k", "big.csv"], cwd=folder, check=True)
    letters = blobs(60, seed=4, names=["1", "2", "3"])
    for name in "letter.libsvm", "rows.libsvm":
        letters.libsvm(folder / name)
    for name in "train.csv", "holdout.csv", "rows.csv", "raw.csv":
        letters.csv(folder / name)
    for command in (["train", "train.csv", "-m", "svm", "--scale", "none", "-o", "svm.limn"],
                    ["train", "train.csv", "-m", "bforest", "-o", "forest.limn"],
                    ["convert", "svm.limn", "libsvm.model"], ["convert", "svm.limn", "production.model"]):
        subprocess.run([LIMN, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    for name in "letter.range", "my.range":
        (folder / name).write_text("x\n-1 1\n1 0 8\n2 0 8\n3 0 8\n4 0 8\n")
    subprocess.run(["gzip", "letter.libsvm"], cwd=folder, check=True)
    prices = Table(irises.rows, [repr(sum(row)) for row in irises.rows], irises.columns, "price")
    prices.csv(folder / "prices.csv")


@pytest.mark.skipif(not shutil.which("bash") or not shutil.which("gzip"), reason="needs bash, gzip")
def test_every_example_in_the_help_runs(limn, tmp_path):
    files_of_the_examples(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "limn").symlink_to(LIMN)
    env = environment()
    env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
    count = 0
    for verb in VERBS:
        text = limn(verb, "--help").stdout
        for line in text[text.index("Examples:"):text.index("\nusage:")].splitlines()[1:]:
            if not line.strip():
                continue
            command = re.sub(r"\| jq .*", "", line.strip()).replace("tail -f", "cat")
            if verb == "accelerate":  # however slow the machine is
                command = command.replace("500ns", "1s") + " --time-limit 1s"
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, env=env,
                                  capture_output=True, text=True, timeout=120)
            assert done.returncode in (0, 141), (command, done.stderr)  # 141: head has read enough
            count += 1
    assert count >= 2 * len(VERBS)
