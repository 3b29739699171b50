"""Every shell example in README and docs is run, in the order of the page, in a folder of its own."""
import glob
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ["README.md", *sorted(os.path.relpath(p, ROOT)
                              for p in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"),
                                                 recursive=True))]


def blocks(page):
    """The blocks marked ```sh; what else is shown (```text, ```c) is not a command."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```$", file.read(), re.M | re.S)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)])
def test_examples_of_the_page_run(page, tmp_path):
    binary = os.path.abspath(os.environ.get("LIMN_BIN", os.path.join(ROOT, "build", "limn")))
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    os.symlink(binary, bin_folder / "limn")
    os.symlink(os.path.join(ROOT, "examples"), tmp_path / "examples")
    env = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}")
    for block in blocks(page):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=tmp_path, env=env,
                              text=True, capture_output=True, timeout=120)
        assert done.returncode in (0, 141), f"{block}\n{done.stdout}\n{done.stderr}"


def test_there_are_examples():
    assert blocks("README.md") and blocks("docs/methods/knn.md")


@pytest.mark.parametrize("method", ["knn", "lda"])
def test_the_parameter_table_is_what_the_program_says(method):
    binary = os.environ.get("LIMN_BIN", os.path.join(ROOT, "build", "limn"))
    said = subprocess.run([binary, "methods", method], text=True, capture_output=True,
                          check=True).stdout
    with open(os.path.join(ROOT, "docs", "methods", method + ".md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", file.read(), re.M)
    assert rows
    for key, default in rows:
        assert re.search(rf"^\s*{key}={re.escape(default)}$", said, re.M), (key, default, said)
