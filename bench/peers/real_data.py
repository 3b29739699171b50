"""Where the real data sets are: the folder that LIMN_DATA names, as NAME.svm.gz or NAME.train.svm.gz
and NAME.test.svm.gz. Without it no set is found, and benchmarks leave out what needs them."""
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
