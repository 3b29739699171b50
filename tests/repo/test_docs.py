"""Every shell example in README and docs is run, in page order, in a folder of its own."""
import glob
import os
import re
import shutil
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.abspath(os.environ.get("LIMN_BIN", os.path.join(ROOT, "build", "limn")))
PAGES = ["README.md", *sorted(os.path.relpath(p, ROOT)
                              for p in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"),
                                                 recursive=True))]


def blocks(page):
    """The blocks marked ```sh, each with the ```output block directly after it, if there is one;
    other blocks (```text, ```c) are not commands."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```\n(?:```output\n(.*?)^```$)?", file.read(), re.M | re.S)


def comparable(line):
    """A line that reports times, without its numbers and how many rows there was time for; others as
    they are."""
    if not re.search(r" took | us mean, | rows/s$", line):
        return line
    line = re.sub(r" +", " ", re.sub(r"[\d.]+(e[+-]?\d+)?[kM]?", "#", line))
    return line.removesuffix(" (# rows)")


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)])
def test_examples_of_the_page_run(page, tmp_path):
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    os.symlink(BINARY, bin_folder / "limn")
    os.symlink(os.path.join(ROOT, "examples"), tmp_path / "examples")
    env = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}")
    for block, shown in blocks(page):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=tmp_path, env=env,
                              text=True, timeout=600, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        assert done.returncode in (0, 141), f"{block}\n{done.stdout}"
        printed = map(comparable, done.stdout.splitlines())
        for line in shown.splitlines():  # in this order; other lines may come between
            assert comparable(line) in printed, f"{block}\n{done.stdout}\nlacks: {line}"


def test_there_are_examples():
    assert blocks("README.md") and blocks("docs/methods/knn.md")


def test_quickstart_runs_the_commands_of_the_readme():
    with open(os.path.join(ROOT, "scripts", "quickstart.sh"), encoding="utf-8") as file:
        shown = re.findall(r"^show '(.*)'", file.read(), re.M)
    assert len(shown) == 6
    assert shown == [block.strip() for block, _ in blocks("README.md")]


def test_the_readme_is_read_in_minutes():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        assert len(file.read().split()) <= 900


@pytest.mark.parametrize("page", PAGES)
def test_links_of_the_page_lead_somewhere(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        links = re.findall(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)", file.read())
    lost = [link for link in links if "://" not in link
            and not os.path.exists(os.path.join(ROOT, os.path.dirname(page), link))]
    assert not lost


def docs(root, *options):
    return subprocess.run([sys.executable, os.path.join(root, "scripts", "docs.py"), BINARY,
                           *options], text=True, capture_output=True)


def test_generated_parts_are_what_the_program_says():
    done = docs(ROOT, "--check")
    assert done.returncode == 0, done.stdout + done.stderr + "\nmake docs writes them"


@pytest.fixture(name="copy")
def fixture_copy(tmp_path):
    """A copy of what docs.py reads and writes."""
    for folder in ("docs", "scripts"):
        shutil.copytree(os.path.join(ROOT, folder), tmp_path / folder)
    return tmp_path


def test_a_stale_part_is_found_and_written_anew(copy):
    page = copy / "docs" / "methods" / "knn.md"
    fresh = page.read_text()
    stale = fresh.replace("| `k` | 5 |", "| `k` | 6 |")
    page.write_text(stale)
    done = docs(copy, "--check")
    assert done.returncode == 1 and "\n-| `k` | 6 |" in done.stdout
    assert page.read_text() == stale != fresh
    assert docs(copy).returncode == 0
    assert page.read_text() == fresh


def test_a_method_without_its_table_is_found(copy):
    (copy / "docs" / "methods" / "lda.md").write_text("# lda\n")
    done = docs(copy, "--check")
    assert done.returncode == 1
    assert done.stdout == ("docs/methods: no page has the parameters of lda: "
                           "<!-- params: lda --> ... <!-- end --> is missing\n")


def test_a_table_may_stand_on_any_page_of_the_methods(copy):
    methods = copy / "docs" / "methods"
    (methods / "discriminants.md").write_text((methods / "lda.md").read_text())
    (methods / "lda.md").unlink()
    done = docs(copy, "--check")
    assert done.returncode == 1 and "(methods/discriminants.md)" in done.stdout  # the list of methods
    assert docs(copy).returncode == 0
    assert "[`lda`](methods/discriminants.md)" in (copy / "docs" / "commands.md").read_text()
    assert docs(copy, "--check").returncode == 0


def test_a_table_that_stands_twice_is_found(copy):
    methods = copy / "docs" / "methods"
    (methods / "discriminants.md").write_text((methods / "lda.md").read_text())
    done = docs(copy, "--check")
    assert done.returncode == 1
    assert ("docs/methods/discriminants.md, docs/methods/lda.md: <!-- params: lda --> ... <!-- end --> "
            "appears 2 times; keep one\n") in done.stdout


def test_the_page_of_commands_must_have_its_part(copy):
    (copy / "docs" / "commands.md").write_text("# Commands\n")
    done = docs(copy, "--check")
    assert done.returncode == 1 and "docs/commands.md: <!-- commands -->" in done.stdout
