#!/usr/bin/python3
"""Draws docs/methods/borders.svg: scripts/borders_picture.py LIMN [OUT]

Three panels show the same rows of `limn synth curved`. On the left, the support vectors of an svm are
marked, as `limn convert` writes them. The others have the border vectors that `borders` draws from that
svm, with their normals, read from the model file (docs/format.md): on lines between random rows, and
adaptively, at most as many. In each panel the border between the tints is the zero level of what
`limn predict --scores` prints for a grid; the dashed line is the true border of the generator,
v = sin(3 u / 2).
"""
import csv
import math
import os
import subprocess
import sys
import tempfile

from drawing import closed, grid_points, number, path_data, write_rows
from model_file import key_values, numbers, packed, sections

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROWS, SEED, BORDERS = 300, 2, 30
TEACHER = ["gamma=0.5", "C=3"]
SAMPLINGS = {"random": ["sampling=random"], "adaptive": ["sampling=adaptive", "form=borders"]}
LEFT, BOTTOM, WIDTH, HEIGHT = -2.6, -2.9, 5.2, 5.6  # of a panel, in units of the data
CELLS = 156                                         # of the grid, along a panel
SCALE = 288 / WIDTH                                 # pixels per unit
GAP, TOP, FOOT, EDGE = 12, 46, 46, 4
ARROW, SHAFT, BARB, SPOT = 20, 0.55, 2.3, 2.9       # of a normal and its border vector, in pixels
ROW, RING = 1.9, 3.7                                # radii, in pixels
NOTES = [
    "Dots: the rows of two classes. Rings: support vectors. Diamonds with arrows: border vectors and their "
    "normals.",
    "Tint: the predicted class. Dashed: the true border.",
]
INK = {"0": "#2b62ad", "1": "#d2601a"}
TINT = {"0": "#e4edf8", "1": "#fcebdd"}
DARK = "#1f2328"


def run(limn, *words):
    return subprocess.run([limn, *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def table(text):
    return list(csv.DictReader(text.splitlines()))


def params(words):
    return [word for param in words for word in ("-p", param)]


# ---- what limn says ----

def trained(limn, folder):
    """The files of the rows, of the svm, and of its borders."""
    rows, svm, *borders = (os.path.join(folder, name) for name in ("rows.csv", "svm", *SAMPLINGS))
    run(limn, "synth", "curved", "-n", str(ROWS), "--seed", str(SEED), "-q", "-o", rows)
    run(limn, "train", rows, "-q", "-m", "svm", "--scale", "none", *params(TEACHER), "-o", svm)
    for path, sampling in zip(borders, SAMPLINGS.values()):
        run(limn, "train", rows, "-q", "-m", "borders", "--teacher", svm, "-o", path,
            *params([f"borders={BORDERS}", *sampling]))
    return rows, svm, borders


def support_vectors(limn, svm):
    text = svm + ".model"
    run(limn, "convert", svm, text, "-q")
    with open(text, encoding="utf-8") as file:
        lines = file.read().split("\nSV\n")[1].splitlines()
    found = [dict(cell.split(":") for cell in line.split()[1:]) for line in lines]
    return [(float(cells.get("1", 0)), float(cells.get("2", 0))) for cells in found]


def border_vectors(path):
    """Points and unit normals. The model has no scaling, so they are in units of the data."""
    parts = sections(path)
    about = key_values(parts["borders.about"])
    count, scale, centre = about["borders"], about["scale"], numbers(parts["borders.centre"], "d")
    vectors = packed(parts["borders.vectors"], count, 3)
    points = [[c - v / scale for c, v in zip(centre, vector)] for vector in vectors]
    normals = numbers(parts["borders.normals"], "f")
    return [(point, normals[16 * i:16 * i + 2]) for i, point in enumerate(points)]


def asked(limn, model, folder, *what):
    """What limn answers at the places of the grid."""
    file, places = os.path.join(folder, "grid.csv"), grid_points(WIDTH, HEIGHT, CELLS, LEFT, BOTTOM)[2]
    write_rows(file, ["x1", "x2"], [(f"{u:.6f}", f"{v:.6f}") for u, v in places])
    return table(run(limn, "predict", model, file, "--no-label", *what))


def scores(limn, model, folder):
    """The decision values, above 0 for class 0."""
    rows = asked(limn, model, folder, "--scores")
    return [float(row["f_0_1"]) for row in rows]


# ---- the picture ----

def pixel(u, v):
    return (u - LEFT) * SCALE, (BOTTOM + HEIGHT - v) * SCALE


def circles(out, points, radius, look):
    out.append(f"<g {look}>")
    for u, v in points:
        x, y = pixel(u, v)
        if 0 <= x <= WIDTH * SCALE and 0 <= y <= HEIGHT * SCALE:
            out.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{radius}"/>')
    out.append("</g>")


def draw_true_border(out):
    points = [(LEFT + WIDTH * i / 120, math.sin(1.5 * (LEFT + WIDTH * i / 120))) for i in range(121)]
    text = " ".join(",".join(map(number, pixel(*point))) for point in points)
    out.append(f'<polyline points="{text}" class="true"/>')


def draw_normals(out, found):
    """Arrows and diamonds as closed lines."""
    arrows, spots = "", ""
    for (u, v), (a, b) in found:
        x, y = pixel(u, v)
        along = (a / math.hypot(a, b), -b / math.hypot(a, b))

        def at(far, aside, x=x, y=y, along=along):
            return (x + far * along[0] - aside * along[1], y + far * along[1] + aside * along[0])
        neck = ARROW - 2 * BARB
        arrows += closed([at(0, SHAFT), at(neck, SHAFT), at(neck, BARB), at(ARROW, 0),
                          at(neck, -BARB), at(neck, -SHAFT), at(0, -SHAFT)])
        spots += closed([at(SPOT, 0), at(0, SPOT), at(-SPOT, 0), at(0, -SPOT)])
    out.append(f'<path d="{arrows}" class="normal"/><path d="{spots}" class="spot"/>')


def level(values):
    """Path data of the area where values at the places of the grid are above 0."""
    across, down, _ = grid_points(WIDTH, HEIGHT, CELLS)
    return path_data(values, across, down, SCALE * WIDTH / CELLS, HEIGHT * SCALE)


def panel(index, title, kind, rows, values, marks, out, border=draw_true_border):
    size = f'width="{number(WIDTH * SCALE)}" height="{number(HEIGHT * SCALE)}"'
    left = EDGE + index * (WIDTH * SCALE + GAP)
    out.append(f'<g transform="translate({number(left)},{TOP})">')
    out.append(f'<text y="-24" class="name">{title}</text><text y="-8" class="kind">{kind}</text>')
    out.append(f'<clipPath id="panel-{index}"><rect {size} rx="5"/></clipPath>')
    out.append(f'<g clip-path="url(#panel-{index})">')
    for c, sign in (("0", 1), ("1", -1)):
        area = level([sign * v for v in values])
        out.append(f'<path d="{area}" fill="{TINT[c]}" class="area"/>')
    border(out)
    for c in INK:
        own = [(float(row["x1"]), float(row["x2"])) for row in rows if row["label"] == c]
        circles(out, own, ROW, f'fill="{INK[c]}" class="row"')
    marks(out)
    out.append(f'</g><rect {size} rx="5" class="frame"/></g>')


def panels(limn, folder, out):
    file, svm, borders = trained(limn, folder)
    with open(file, encoding="utf-8") as opened:
        rows = table(opened.read())
    kept = support_vectors(limn, svm)
    panel(0, "svm", f"{len(kept)} of the {len(rows)} rows are support vectors", rows,
          scores(limn, svm, folder),
          lambda out: circles(out, kept, RING, 'class="kept"'), out)
    for i, (sampling, path) in enumerate(zip(SAMPLINGS, borders), 1):
        found = border_vectors(path)
        fewer = f" of at most {BORDERS}" if len(found) < BORDERS else ""
        panel(i, f"borders, sampling={sampling}", f"{len(found)} border vectors{fewer}", rows,
              scores(limn, path, folder),
              lambda out, found=found: draw_normals(out, found), out)


def sheet(title, style, notes, count, fill):
    """The picture: fill(folder, out) draws the `count` panels."""
    width = 2 * EDGE + count * WIDTH * SCALE + (count - 1) * GAP
    height = TOP + HEIGHT * SCALE + FOOT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
           f'width="{number(width)}" height="{number(height)}" '
           'font-family="Helvetica,Arial,sans-serif" role="img">',
           f"<title>{title}</title>",
           "<style>.name{font:bold 14px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}"
           ".kind{font-size:12.5px;fill:#57606a}.note{font-size:12.5px;fill:#57606a}"
           ".area{stroke:#fff;stroke-width:2.4}.row{fill-opacity:.6}"
           f".kept{{fill:none;stroke:{DARK};stroke-width:1.1}}"
           ".true{fill:none;stroke:#57606a;stroke-width:1.3;stroke-dasharray:6 4}"
           f"{style}"
           ".frame{fill:none;stroke:#d0d7de}</style>",
           f'<rect width="{number(width)}" height="{number(height)}" fill="#fff"/>']
    with tempfile.TemporaryDirectory() as folder:
        fill(folder, out)
    for line, text in enumerate(notes):
        out.append(f'<text x="{EDGE}" y="{number(height - FOOT + 20 + 17 * line)}" '
                   f'class="note">{text}</text>')
    out.append("</svg>\n")
    return "\n".join(out)


def picture(limn):
    return sheet("The support vectors of an svm, and the border vectors drawn from it",
                 f".normal{{fill:{DARK}}}.spot{{fill:{DARK};stroke:#fff;stroke-width:.8}}",
                 NOTES, 1 + len(SAMPLINGS), lambda folder, out: panels(limn, folder, out))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: scripts/borders_picture.py LIMN [OUT]")
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(ROOT, "docs", "methods", "borders.svg")
    text = picture(os.path.abspath(sys.argv[1]))
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
