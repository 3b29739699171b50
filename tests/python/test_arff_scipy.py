"""ARFF files written by the test: limn reads the same numbers, values and labels as scipy.io.arff."""
import csv

import numpy as np
import pytest

arff = pytest.importorskip("scipy.io.arff")

COLORS = ["red", "dark blue", "green", "10", "9"]
CLASSES = ["yes", "no", "may be"]


def quoted(text):
    return f"'{text}'" if " " in text else text


def write(path, rows, seed, missing=0.0):
    """A number in every notation, an integer, a nominal attribute and a label."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, 3)) * 10.0 ** random.integers(-12, 12, (rows, 3))
    with open(path, "w", encoding="ascii") as file:
        file.write("% comment\n\n@RELATION 'a b'\n@attribute 'the x' numeric\n"
                   "@Attribute y2 REAL\n% comment\n@attribute z real\n@attribute n integer\n"
                   f"@attribute color {{{', '.join(map(quoted, COLORS))}}}\n"
                   f"@attribute class {{{','.join(map(quoted, CLASSES))}}}\n\n@DATA\n")
        for i, row in enumerate(values):
            cells = [f"{row[0]:.17g}", f"{row[1]:.4e}", f"{row[2]:.7f}",
                     str(random.integers(-1000, 1000)), random.choice(COLORS)]
            cells = ["?" if random.random() < missing else c for c in cells]
            # scipy takes the quotes from the first row and allows no blank before them
            color = cells[4] if cells[4] == "?" else f"'{cells[4]}'"
            file.write((", " if i % 2 else ",").join(cells[:4]) +
                       f",{color},'{CLASSES[i % 3]}'\n")
            if i % 7 == 0:
                file.write("% comment\n")


def read_both(limn, folder, path, *options):
    """scipy's columns, and limn's by name, labels as text."""
    theirs, _ = arff.loadarff(str(path))
    out = folder / "out.csv"
    limn("convert", path, out, *options)
    with open(out, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return theirs, {name: [row[name] for row in rows] for name in rows[0]}


def number(columns, name):
    return np.array(columns[name], np.float64).astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_dense_rows_equal_those_of_scipy(limn, tmp_path, seed):
    path = tmp_path / "t.arff"
    write(path, 400, seed)
    theirs, ours = read_both(limn, tmp_path, path)
    assert len(theirs) == 400 == len(ours["class"])
    for name in ["the x", "y2", "z", "n"]:
        np.testing.assert_array_equal(number(ours, name), theirs[name].astype(np.float32))
    for name in ["color", "class"]:
        assert ours[name] == [value.decode() for value in theirs[name]]


def test_missing_cells_are_those_of_scipy(limn, tmp_path):
    path = tmp_path / "t.arff"
    write(path, 301, 5, missing=0.1)
    theirs, ours = read_both(limn, tmp_path, path, "--missing", "median")
    for name in ["the x", "y2", "z", "n"]:
        column = theirs[name].astype(np.float32)
        gaps = np.isnan(column)
        assert gaps.any()
        column[gaps] = np.float32(np.nanmedian(column.astype(np.float64)))
        np.testing.assert_array_equal(number(ours, name), column)
    colors = [color.decode() for color in theirs["color"]]
    assert "?" in colors
    most = max(sorted(COLORS), key=colors.count)
    assert ours["color"] == [most if color == "?" else color for color in colors]
