#!/usr/bin/python3
"""Draws docs/front.svg from bench/results/front.json: scripts/front_picture.py [OUT]

One panel per data set: error against the mean time of a single call, both logarithmic. The line is
the front: no model is below and to the left of it. Models that err more than FARTHEST times as often
as the best one are not shown.
"""
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FARTHEST = 5
COLUMNS, WIDTH, HEIGHT = 4, 205, 170  # of a panel
LEFT, TOP, GAP_X, GAP_Y, BOTTOM = 34, 30, 38, 62, 30
LIMN, OTHER, INK, PALE = "#2b62ad", "#d2601a", "#333", "#bbb"
# What a name begins with, and the shape of its family.
FAMILIES = [("limn", "circle"), ("LIBSVM", "cross"), ("RandomForest", "triangle"),
            ("ExtraTrees", "triangle"), ("xgboost", "triangle"), ("MLP", "square"),
            ("hnswlib", "diamond"), ("FLANN", "diamond")]
LEGEND = [("circle", "limn"), ("cross", "LIBSVM"), ("triangle", "forests: random, extra trees, xgboost"),
          ("square", "neural nets of 100 and 256 units"), ("diamond", "hnswlib, FLANN")]


def shape_of(name):
    return next(shape for start, shape in FAMILIES if name.startswith(start))


def mark(shape, x, y):
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" fill="{LIMN}"/>'
    corners = {"triangle": [(0, -4), (3.8, 3), (-3.8, 3)], "diamond": [(0, -4), (4, 0), (0, 4), (-4, 0)],
               "square": [(-3, -3), (3, -3), (3, 3), (-3, 3)],
               "cross": [(-3, -3), (3, 3), (0, 0), (3, -3), (-3, 3), (0, 0)]}[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="white" stroke="{OTHER}" stroke-width="1.3"/>'


def text(x, y, words, size=9, anchor="start", colour=INK, more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
            f' fill="{colour}"{more}>{words}</text>')


class Panel:
    """Places of one data set's models."""

    def __init__(self, left, top, models):
        self.left, self.top = left, top
        least = min(model["error"] for model in models)
        self.models = [m for m in models if m["error"] <= FARTHEST * least]
        means = [m["mean"] for m in self.models]
        self.x0, self.x1 = math.log(min(means) / 1.6), math.log(max(means) * 1.6)
        self.y0, self.y1 = math.log(least / 1.2), math.log(1.1 * FARTHEST * least)

    def x(self, mean):
        return self.left + WIDTH * (math.log(mean) - self.x0) / (self.x1 - self.x0)

    def y(self, error):
        return self.top + HEIGHT * (self.y1 - math.log(error)) / (self.y1 - self.y0)

    def frame(self, title):
        yield (f'<rect x="{self.left}" y="{self.top}" width="{WIDTH}" height="{HEIGHT}" fill="none"'
               f' stroke="{PALE}"/>')
        yield text(self.left, self.top - 8, title, 11, more=' font-weight="bold"')
        for power in range(-2, 6):
            if self.x0 <= math.log(10.0 ** power) <= self.x1:
                x = self.x(10.0 ** power)
                yield f'<path d="M{x:.1f},{self.top}v{HEIGHT}" stroke="{PALE}" stroke-width="0.5"/>'
                yield text(x, self.top + HEIGHT + 12, f"{10.0 ** power:g} us", 8.5, "middle")
        for error in (1, 2, 3, 5, 10, 20, 30):
            if self.y0 <= math.log(error) <= self.y1:
                y = self.y(error)
                yield f'<path d="M{self.left},{y:.1f}h{WIDTH}" stroke="{PALE}" stroke-width="0.5"/>'
                yield text(self.left - 4, y + 3, f"{error} %", 8.5, "end")

    def front(self):
        steps = sorted((m["mean"], m["error"]) for m in self.models if m["front"])
        path = f"M{self.x(steps[0][0]):.1f},{self.top}"
        for mean, error in steps:
            path += f"H{self.x(mean):.1f}V{self.y(error):.1f}"
        yield (f'<path d="{path}H{self.left + WIDTH}" fill="none" stroke="{INK}" stroke-width="1"'
               ' stroke-dasharray="3 2"/>')

    def marks(self):
        for m in sorted(self.models, key=lambda m: m["name"].startswith("limn")):
            x, y = self.x(m["mean"]), self.y(m["error"])
            yield mark(shape_of(m["name"]), x, y)
            if m["front"]:
                own = m["name"].startswith("limn")
                room = x > self.left + 50  # to the left, where no other model can be
                yield text(x - 6 if room else x + 2, y + 11, m["name"].removeprefix("limn "), 9,
                           "end" if room else "start", LIMN if own else OTHER)

    def draw(self, title):
        return [*self.frame(title), *self.front(), *self.marks()]


def legend(top):
    x = LEFT
    for shape, words in LEGEND:
        yield mark(shape, x + 4, top)
        yield text(x + 13, top + 3, words, 9.5)
        x += 28 + 5.3 * len(words)


def main():
    with open(os.path.join(ROOT, "bench", "results", "front.json"), encoding="utf-8") as file:
        sets = json.load(file)
    parts, rows = [], -(-len(sets) // COLUMNS)
    for i, (name, found) in enumerate(sets.items()):
        left, top = LEFT + i % COLUMNS * (WIDTH + GAP_X), TOP + i // COLUMNS * (HEIGHT + GAP_Y)
        title = f"{name}: {found['rows']:,} rows × {found['features']}"
        models = [m for m in found["models"] if "error" in m]
        parts += Panel(left, top, models).draw(title)
    width, bottom = LEFT + COLUMNS * (WIDTH + GAP_X), TOP + rows * (HEIGHT + GAP_Y) - 22
    parts += legend(bottom)
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "docs", "front.svg")
    with open(out, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + BOTTOM}"'
                   ' font-family="Helvetica, Arial, sans-serif">\n'
                   f'<rect width="{width}" height="{bottom + BOTTOM}" fill="white"/>\n'
                   + "\n".join(parts) + "\n</svg>\n")
    print("wrote " + os.path.relpath(out))


if __name__ == "__main__":
    main()
