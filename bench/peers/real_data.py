"""Where the real data sets are: the folder that LIMN_DATA names, as NAME.svm.gz or NAME.train.svm.gz
and NAME.test.svm.gz. Without it no set is found, and benchmarks leave out what needs them."""
import gzip
import os


def find(name):
    """The path of a part such as "letter.train", or None."""
    folder = os.environ.get("LIMN_DATA")
    path = os.path.join(os.path.abspath(folder), name + ".svm.gz") if folder else None
    return path if path and os.path.exists(path) else None


def find_split(name):
    """The paths of the training and the test part, or None unless both are there."""
    paths = [find(f"{name}.{part}") for part in ("train", "test")]
    return paths if all(paths) else None


def read_lines(name):
    """The rows of a part as lines of LIBSVM text, or None."""
    path = find(name)
    if not path:
        return None
    with gzip.open(path) as file:
        return file.read().splitlines()


def write_lines(path, lines):
    with open(path, "wb") as file:
        file.write(b"\n".join(lines) + b"\n")
    return path
