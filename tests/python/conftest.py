import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))


@pytest.fixture(scope="session")
def limn():
    """Runs the binary; returns its standard output."""
    binary = os.environ.get("LIMN_BIN", os.path.join(ROOT, "build", "limn"))

    def call(*args):
        done = subprocess.run([binary, *map(str, args)], text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return call


@pytest.fixture(scope="session")
def shared_data():
    """The folder of the optional real data sets; without it the test is skipped."""
    path = os.environ.get("LIMN_DATA", "")
    if not os.path.isdir(path):
        pytest.skip("no optional data sets (LIMN_DATA)")
    return path
