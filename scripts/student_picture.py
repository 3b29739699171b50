#!/usr/bin/python3
"""Draws docs/methods/student.svg: scripts/student_picture.py LIMN [OUT]

Three panels show the same rows of `limn synth curved` as docs/methods/borders.svg, and the same svm with
its support vectors. The others have students of that svm. Where a hidden unit of a student switches on
there is a straight line, read from the model file (docs/format.md); between these lines the student's
score is linear. The border between the tints is where `limn predict` changes its answer, found on a grid:
from --scores for the svm, which is drawn dotted in the other panels too, from --proba for the students.
"""
import math
import os
import sys

from borders_picture import (DARK, HEIGHT, RING, ROWS, SCALE, SEED, TEACHER, WIDTH, asked, circles, level,
                             panel, params, pixel, run, scores, sheet, support_vectors, table)
from drawing import closed
from model_file import key_values, layers, sections

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZES = (8, 16)
VISITS = 500000
LARGEST = 30        # of log odds
NOTES = [
    "Dots: the rows of two classes. Rings: support vectors. Lines: where a hidden unit of the student "
    "switches on; between them its score is linear.",
    "Tint: the predicted class. Dashed: the true border. Dotted: the svm's border.",
]
TITLE = "The support vectors of an svm, and the pieces of two students that it taught"


# ---- what limn says ----

def trained(limn, folder):
    """The files of the rows, of the svm, and of its students."""
    rows, svm, *students = (os.path.join(folder, name) for name in
                            ("rows.csv", "svm", *(f"student-{size}" for size in SIZES)))
    run(limn, "synth", "curved", "-n", str(ROWS), "--seed", str(SEED), "-q", "-o", rows)
    run(limn, "train", rows, "-q", "-m", "svm", "--scale", "none", *params(TEACHER), "-o", svm)
    for path, size in zip(students, SIZES):
        run(limn, "train", rows, "-q", "-m", "student", "--teacher", svm, "-o", path,
            *params([f"size={size}", f"visits={VISITS}"]))
    return rows, svm, students


def unit_lines(path):
    """(a, b, c) of each hidden unit: it is on where a u + b v + c > 0, in units of the data."""
    parts = sections(path)
    about, scaler = key_values(parts["student.about"]), key_values(parts["scaler"])
    assert not about["shifted"]
    offset, factor = scaler.get("offset", (0, 0)), scaler.get("factor", (1, 1))
    weights, bias = layers(parts["student.net"], [2, int(about["size"]), 1])[0]
    found = []
    for a, b, c in zip(*weights, bias):
        a, b = a * factor[0], b * factor[1]
        found.append((a, b, c - a * offset[0] - b * offset[1]))
    return found


def odds(limn, model, folder):
    """The log odds of class 0."""
    rows = asked(limn, model, folder, "--proba")
    return [math.log(max(float(row["p_0"]), math.exp(-LARGEST))
                     / max(float(row["p_1"]), math.exp(-LARGEST))) for row in rows]


# ---- the picture ----

def across(a, b, c):
    """The ends of the line a x + b y + c = 0 in the panel, in pixels; None: it passes outside."""
    ends = []
    width, height = WIDTH * SCALE, HEIGHT * SCALE
    for x in (0, width):
        if abs(b) > 0 and 0 <= -(a * x + c) / b <= height:
            ends.append((x, -(a * x + c) / b))
    for y in (0, height):
        if abs(a) > 0 and 0 <= -(b * y + c) / a <= width:
            ends.append((-(b * y + c) / a, y))
    return (ends[0], ends[-1]) if len(ends) > 1 else None


def draw_lines(out, units):
    """The panel's own pixels: v points up, y down."""
    origin, (right, _), (_, up) = pixel(0, 0), pixel(1, 0), pixel(0, 1)
    found = []
    for a, b, c in units:
        a, b = a / (right - origin[0]), b / (up - origin[1])
        line = across(a, b, c - a * origin[0] - b * origin[1])
        found += [closed(line)] if line else []
    out.append(f'<path d="{"".join(found)}" class="unit"/>')


def panels(limn, folder, out):
    file, svm, students = trained(limn, folder)
    with open(file, encoding="utf-8") as opened:
        rows = table(opened.read())
    kept, own = support_vectors(limn, svm), scores(limn, svm, folder)
    panel(0, "svm", f"{len(kept)} of the {len(rows)} rows are support vectors", rows, own,
          lambda out: circles(out, kept, RING, 'class="kept"'), out)
    for i, (size, path) in enumerate(zip(SIZES, students), 1):
        panel(i, f"student, size={size}", f"{size} hidden units", rows,
              odds(limn, path, folder), lambda out, path=path: draw_lines(out, unit_lines(path)),
              out, lambda out: out.append(f'<path d="{level(own)}" class="taught"/>'))


def picture(limn):
    return sheet(TITLE, f".unit{{fill:none;stroke:{DARK};stroke-width:.9;stroke-opacity:.6}}"
                 f".taught{{fill:none;stroke:{DARK};stroke-width:1.6;stroke-dasharray:1.5 3}}", NOTES,
                 1 + len(SIZES), lambda folder, out: panels(limn, folder, out))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: scripts/student_picture.py LIMN [OUT]")
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(ROOT, "docs", "methods", "student.svg")
    text = picture(os.path.abspath(sys.argv[1]))
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
