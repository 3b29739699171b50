#!/usr/bin/python3
"""Draws docs/methods/hulls.svg: scripts/hulls_picture.py LIMN [OUT]

The picture shows the set that each hull method fits to the same points of two classes. Each method is
trained on the points, and `limn predict --scores` gives the distance of every grid point from the set
of each class. The lines are level sets of these distances (marching squares): the set itself,
d = THICK; the contours, d = STEP, 2 STEP, ..; and the border between the classes, where the two
distances are equal.
"""
import csv
import os
import subprocess
import sys
import tempfile

from drawing import grid_points, number, path_data, write_rows

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A long class, and one that lies across its extension.
POINTS = {
    "a": [(0.62, 1.32), (0.80, 1.83), (1.02, 1.12), (1.23, 1.66), (1.34, 2.10), (1.52, 1.41),
          (1.78, 1.92), (1.93, 2.42), (2.08, 1.60), (2.31, 2.17), (2.46, 1.83), (2.69, 2.56),
          (2.86, 2.02), (3.12, 2.41)],
    "b": [(4.72, 1.07), (4.38, 1.55), (5.02, 1.71), (4.62, 2.16), (4.96, 2.47), (4.28, 2.60),
          (4.66, 2.98), (4.12, 3.32), (4.84, 3.43), (4.36, 3.83), (4.70, 4.22), (4.06, 4.45)],
}
PANELS = [  # method, what it is, parameters
    ("nah", "affine hull", ["dim=1"]),
    ("nhd", "hyperdisk", ["dim=1", "nu=0"]),
    ("nch", "convex hull", []),
    ("nsc", "sphere’s centre", ["nu=0"]),
    ("nrh", "ridge hull", ["neighbors=0", "rho=0.3"]),
]
WIDTH, HEIGHT = 5.6, 5.6  # of a panel, in units of the data
CELLS = 140               # of the grid, along a panel
STEP, THICK = 0.5, 0.055  # THICK is more than a cell: thin sets are exact (see loops in drawing.py)
SCALE = 168 / WIDTH       # pixels per unit
GAP, TOP, BOTTOM, EDGE = 11, 46, 44, 4
NOTES = [
    "Strong colour: the set of each class (nsc: a point, the centre of the dashed sphere; nrh: its "
    "middle). Tint: the predicted class.",
    f"Thin lines: where the nearer set is {STEP:g}, {2 * STEP:g}, {3 * STEP:g} .. away.",
]
INK = {"a": "#2b62ad", "b": "#d2601a"}
TINT = {"a": "#e4edf8", "b": "#fcebdd"}


def measured(limn, folder, method, params, places):
    """The distances of the places from the sets of a and b, as limn prints them."""
    train, model, grid = (os.path.join(folder, name) for name in ("train.csv", "model", "grid.csv"))
    write_rows(train, ["x", "y", "class"], [(*p, c) for c in POINTS for p in POINTS[c]])
    write_rows(grid, ["x", "y"], [(f"{x:.6f}", f"{y:.6f}") for x, y in places])
    words = [word for param in params for word in ("-p", param)]
    subprocess.run([limn, "train", train, "-q", "-m", method, *words, "--scale", "none", "-o", model], check=True)
    done = subprocess.run([limn, "predict", model, grid, "--no-label", "--scores"], check=True,
                          text=True, stdout=subprocess.PIPE)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    return {c: [float(row[f"d_{c}"]) for row in rows] for c in POINTS}


def path(values, across, down):
    """A level set as SVG path data, in pixels of the panel."""
    return path_data(values, across, down, SCALE * WIDTH / CELLS, HEIGHT * SCALE)


# ---- the picture ----

def draw_points(out):
    for c in POINTS:
        out.append(f'<g fill="{INK[c]}" class="points">')
        out += [f'<circle cx="{number(x * SCALE)}" cy="{number((HEIGHT - y) * SCALE)}" r="2.9"/>'
                for x, y in POINTS[c]]
        out.append("</g>")


def panel(limn, folder, index, out):
    method, title, params = PANELS[index]
    across, down, places = grid_points(WIDTH, HEIGHT, CELLS)
    own = [p for c in POINTS for p in POINTS[c]]
    d = measured(limn, folder, method, params, places + own)
    grid = {c: d[c][:len(places)] for c in POINTS}
    size = f'width="{number(WIDTH * SCALE)}" height="{number(HEIGHT * SCALE)}"'
    left = EDGE + index * (WIDTH * SCALE + GAP)
    out.append(f'<g transform="translate({number(left)},{TOP})">')
    out.append(f'<text y="-24" class="name">{method}</text><text y="-8" class="kind">{title}</text>')
    out.append(f'<clipPath id="panel-{method}"><rect {size} rx="5"/></clipPath>')
    border = {"a": [b - a for a, b in zip(grid["a"], grid["b"])]}
    border["b"] = [-v for v in border["a"]]
    out.append(f'<g clip-path="url(#panel-{method})">')
    for c in POINTS:
        area = path(border[c], across, down)
        out.append(f'<clipPath id="area-{method}-{c}"><path d="{area}"/></clipPath>')
        out.append(f'<path d="{area}" fill="{TINT[c]}" stroke="#fff" stroke-width="1.6"/>')
    for c in POINTS:
        out.append(f'<g clip-path="url(#area-{method}-{c})" stroke="{INK[c]}" class="level">')
        level = STEP
        while level < max(grid[c]):
            data = path([level - v for v in grid[c]], across, down)
            if data:
                out.append(f'<path d="{data}"/>')
            level += STEP
        out.append("</g>")
    if method in ("nsc", "nrh"):  # small sets, which the points must not hide
        draw_points(out)
    for c in POINTS:
        thick = {"nsc": 2.4, "nrh": 2}.get(method, 1) * THICK
        data = path([thick - v for v in grid[c]], across, down)
        look = {"nch": "body", "nsc": "spot", "nrh": "spot"}.get(method, "set")
        out.append(f'<path d="{data}" fill="{INK[c]}" stroke="{INK[c]}" class="{look}"/>')
        if method == "nsc":  # the sphere passes through the farthest point
            start = len(places) + (0 if c == "a" else len(POINTS["a"]))
            radius = max(d[c][start:start + len(POINTS[c])])
            data = path([radius - v for v in grid[c]], across, down)
            out.append(f'<path d="{data}" stroke="{INK[c]}" class="sphere"/>')
    if method not in ("nsc", "nrh"):
        draw_points(out)
    out.append(f'</g><rect {size} rx="5" class="frame"/></g>')


def picture(limn):
    width = 2 * EDGE + len(PANELS) * WIDTH * SCALE + (len(PANELS) - 1) * GAP
    height = TOP + HEIGHT * SCALE + BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
           f'width="{number(width)}" height="{number(height)}" '
           'font-family="Helvetica,Arial,sans-serif" role="img">',
           "<title>The sets of the five hull methods around the same points of two classes</title>",
           "<style>.name{font:bold 14px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}"
           ".kind{font-size:12px;fill:#57606a}.note{font-size:11.5px;fill:#57606a}"
           ".level{fill:none;stroke-width:.8;stroke-opacity:.42}"
           ".set{stroke-width:.3}.spot{stroke:#fff;stroke-width:1.1}"
           ".body{fill-opacity:.3;stroke-width:1.4;stroke-linejoin:round}"
           ".sphere{fill:none;stroke-width:1.2;stroke-dasharray:4 3}"
           ".points{stroke:#fff;stroke-width:.9}.frame{fill:none;stroke:#d0d7de}</style>",
           f'<rect width="{number(width)}" height="{number(height)}" fill="#fff"/>']
    with tempfile.TemporaryDirectory() as folder:
        for index in range(len(PANELS)):
            panel(limn, folder, index, out)
    for line, text in enumerate(NOTES):
        out.append(f'<text x="{EDGE}" y="{number(height - BOTTOM + 20 + 16 * line)}" '
                   f'class="note">{text}</text>')
    out.append("</svg>\n")
    return "\n".join(out)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: scripts/hulls_picture.py LIMN [OUT]")
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(ROOT, "docs", "methods", "hulls.svg")
    text = picture(os.path.abspath(sys.argv[1]))
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
