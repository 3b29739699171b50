"""Phrases that are certainly wrong do not come back; CONTRIBUTING.md has the rules (Words)."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACES = ["src", "cli", "include", "docs", "examples", "scripts", "tests", "bench/micro", "bench/peers",
          "bench/papers", "Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
EXCEPT = ("tests/models/", "tests/repo/test_words.py")

# phrase -> what to say instead; a blank means GAP
FAULTS = {
    r"told by": "detected from",
    r"of equal ones": "ties go to",
    r"(?:us|ms|ns) a (?:query|row|call)": "us per query, per row, ...",
    r"(?:rows|queries|bytes) a second": "rows per second",
    r"(?:bytes|vectors|directions) a (?:query|row|class)": "vectors per query, ...",
    r"one a (?:line|row|class|column|pair|call|query|thread|category)": "one per line, per row, ...",
    r"(?:a|one) (?:label|row|id|value|answer|linear score) a (?:line|row|class)":
        "one label per line, ...",
    r"a `?(?:lda|svm|arff|idx|rbf)(?![\w.=-])": "an",
    r"an `?(?:knn|vpc|bforest|limn)(?![\w.=-])": "a",
    r"(?<![+*/-]\s)(?<![\w.,])1 (?:rows|classes|columns|features|labels|queries|vectors)":
        "1 row, 1 class, ...",
    r"in the mean over": "on average over",
    r"stands? behind": "comes after",
    r"comes? to no end": "does not terminate",
    r"such a one": "one like that",
}
GAP = r"""["']?\s[\s"'*#/]*"""  # a phrase may be broken over lines, of a comment or a C string too
PATTERNS = [(re.compile(rf"(?<!\w){phrase.replace(' ', GAP)}(?!\w)", re.I), say)
            for phrase, say in FAULTS.items()]


def faults(text):
    """(line, what is said, what to say instead), in the order of the text."""
    return sorted((text.count("\n", 0, match.start()) + 1, re.sub(GAP, " ", match.group()), say)
                  for found, say in PATTERNS for match in found.finditer(text))


def files():
    names = subprocess.run(["git", "ls-files", "-z", *PLACES], cwd=ROOT, text=True,
                           capture_output=True, check=True).stdout.split("\0")
    return [n for n in names if n and not n.startswith(EXCEPT)
            and os.path.exists(os.path.join(ROOT, n))]


def text_of(name):
    """Empty for files that are not text. CONTRIBUTING.md quotes faults as (not "..."): left out."""
    with open(os.path.join(ROOT, name), "rb") as file:
        content = file.read()
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    if name == "CONTRIBUTING.md":
        text = re.sub(r"\(not[^)]*\)", lambda m: "\n" * m.group().count("\n"), text)
    return text


def test_no_fault_is_in_the_tree():
    found = [f'{name}:{line}: "{said}": say {say}'
             for name in files() for line, said, say in faults(text_of(name))]
    assert not found, f"{len(found)} faults:\n" + "\n".join(found)


def test_the_tree_is_searched():
    names = files()
    assert {"README.md", "CONTRIBUTING.md", "include/limn/limn.h", "cli/verbs.c",
            "docs/methods/knn.md", "tests/unit/test_knn.c"} <= set(names)
    assert not [n for n in names if n.startswith(EXCEPT)]
    assert "detected from" in text_of("CONTRIBUTING.md")


@pytest.mark.parametrize("text, line", [
    ("the format is told by the content", 1),
    ("/* the format is told\n * by the content */", 1),
    ('x;\n"the format is told "\n    "by the content"', 2),
    ('x;\n"the format is told"\n    " by the content"', 2),
    ("# the format is told\n# by the content", 1),
    ("Told by the first row", 1),
    ("the nearest, of equal ones the first", 1),
    ("3 us a query", 1), ("| us a row |", 1), ("2 ms a call", 1),
    ("rows a second", 1), ("vectors a query", 1), ("30 directions a class", 1),
    ("ids, one a line", 1), ("one a row", 1), ("one a\nclass", 1),
    ("a label a line", 1), ("one label a line", 1), ("one linear score a class", 1),
    ("a lda model", 1), ("a svm", 1), ("a `svm` model", 1), ("A SVM", 1), ("an knn model", 1),
    ("learned 1 rows", 1), ('"1 rows"', 1), ("(1 classes", 1),
    ("bytes, in the mean over rows", 1), ("text stands behind it", 1),
])
def test_a_fault_is_found(text, line):
    assert [found[0] for found in faults(text)] == [line]


@pytest.mark.parametrize("text", [
    "told bytes", "as told below", "an lda model", "an svm", "a knn model", "1 row", "21 rows",
    "10,001 rows", "0.1 rows", "n - 1 rows", "ROWS + 1 rows", "us per query", "ten times a second",
    "one a day", "learn one row at a time", "one row a time", "a row at a time", "a second row",
    "a svm_type", "a svm.c", "plus a query", "in the mean of", "standard", "an svm-train option",
])
def test_what_is_right_is_left_alone(text):
    assert faults(text) == []
