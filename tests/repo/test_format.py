"""The sources are formatted with clang-format, and no file or function is too long."""
import os
import re
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE_LINES = 750
FUNCTION_LINES = 60


def c_files():
    names = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=ROOT, text=True,
                           capture_output=True, check=True).stdout.split()
    return [n for n in names if os.path.exists(os.path.join(ROOT, n))]


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


@pytest.mark.skipif(not shutil.which("clang-format"), reason="no clang-format")
def test_clang_format_changes_nothing():
    done = subprocess.run(["clang-format", "--dry-run", "--Werror", *c_files()], cwd=ROOT,
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[:2000]


def test_files_stay_within_750_lines():
    for name in c_files():
        assert len(text_of(name).splitlines()) <= FILE_LINES, name


def blank_asides(text):
    """Removes comments, contents of literals and preprocessor lines; line numbers stay the same."""
    def blank(match):
        found = match.group()
        return (found[0] * 2 if found[0] in "\"'" else "") + "\n" * found.count("\n")
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text,
                  flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def functions(text):
    """(line, name, length) of each function, counted from the line that ends with { to the } at
    column 0. Relies on clang-format: a head begins at column 0 and may continue on further lines; if
    a parameter list precedes its { it is a function, otherwise a type or a table."""
    head, opened = [], None
    for number, line in enumerate(blank_asides(text).splitlines(), 1):
        line = line.rstrip()
        if opened:
            if line == "}":
                yield (*opened, number - opened[0] + 1)
                opened = None
        elif not line or line.endswith((";", "}")):
            head = []
        elif head or not line[0].isspace():
            head.append(line)
            if line.endswith("{"):
                whole, head = " ".join(head), []
                if whole.endswith(") {") and "=" not in whole:
                    opened = number, re.search(r"(\w+)\(", whole).group(1)
    assert not opened, f"{opened[1]} has no end"


def test_functions_stay_within_60_lines():
    long = [f"{name}:{line} {function} {length}" for name in c_files()
            for line, function, length in functions(text_of(name)) if length > FUNCTION_LINES]
    assert not long, "\n".join(long)


def test_every_brace_at_column_0_ends_a_function_that_was_seen():
    for name in c_files():
        text = blank_asides(text_of(name))
        ends = len(re.findall(r"^}$", text, re.M)) - len(re.findall(r'^extern "" {$', text, re.M))
        assert len(list(functions(text_of(name)))) == ends, name


def body(lines):
    return "    x++;\n" * (lines - 2) + "}\n"


@pytest.mark.parametrize("text, found", [
    ("int f(void) {\n" + body(61), [(1, "f", 61)]),
    ("/* f(x) {\n */\nint f(void) {\n" + body(60), [(3, "f", 60)]),
    ("static int f(int a,\n             int b) {\n" + body(61), [(2, "f", 61)]),
    ("static struct s *f(void) { /* why */\n" + body(5), [(1, "f", 5)]),
    ("int f(void)\n{\n" + body(61), [(2, "f", 61)]),
    ("static const int t[] = {\n" + "    1,\n" * 90 + "};\nint f(void) {\n" + body(3),
     [(93, "f", 3)]),
    ("static const s t = {.f = g(1),\n" + "    .x = 1,\n" * 90 + "};\n", []),
    ("typedef struct s {\n    int (*f)(void);\n" + "    int x;\n" * 90 + "} s;\n", []),
    ("enum {\n" + "    A,\n" * 90 + "};\n", []),
    ("int g(int a,\n      int b);\nint f(void) {\n    s(\"}\\\"{\");\n" + body(61), [(3, "f", 62)]),
    ("#define M(x) \\\n    f(x) {\n}\nint f(void) {}\nint g(void) {\n" + body(61), [(5, "g", 61)]),
])
def test_lengths_of_functions_are_found(text, found):
    assert list(functions(text)) == found
