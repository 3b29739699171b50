"""The sources are as clang-format leaves them, and no file has grown beyond reading."""
import os
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def c_files():
    names = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=ROOT, text=True,
                           capture_output=True, check=True).stdout.split()
    return [n for n in names if os.path.exists(os.path.join(ROOT, n))]


@pytest.mark.skipif(not shutil.which("clang-format"), reason="no clang-format")
def test_clang_format_changes_nothing():
    done = subprocess.run(["clang-format", "--dry-run", "--Werror", *c_files()], cwd=ROOT,
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[:2000]


def test_files_stay_under_900_lines():
    for name in c_files():
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            assert sum(1 for _ in file) <= 900, name
