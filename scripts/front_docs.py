#!/usr/bin/python3
"""Writes what the docs show of bench/results/front.json and accelerate.json:
scripts/front_docs.py [--check]

docs/front.svg has one panel per data set: error against the mean time of a single call, both
logarithmic. The line is the front: no model is below and to the left of it. Limn's models on it are
named. Models that err more than FARTHEST times as often as the best one are not shown. docs/performance.md
has a table between <!-- front --> and <!-- end -->, README.md one between <!-- accelerate --> and
<!-- end -->. With --check nothing is written, and the exit code is 1 if something would change.
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
        self.x0, self.x1 = math.log(min(means) / 4), math.log(max(means) * 1.6)
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
            if m["front"] and m["name"].startswith("limn"):
                # To the lower left, where no other model can be.
                yield text(x - 4, y + 11, m["name"].removeprefix("limn "), 9, "end", LIMN)

    def draw(self, title):
        return [*self.frame(title), *self.front(), *self.marks()]


def legend(top):
    x = LEFT
    for shape, words in LEGEND:
        yield mark(shape, x + 4, top)
        yield text(x + 13, top + 3, words, 9.5)
        x += 28 + 5.3 * len(words)


def picture(sets):
    parts, rows = [], -(-len(sets) // COLUMNS)
    for i, (name, found) in enumerate(sets.items()):
        left, top = LEFT + i % COLUMNS * (WIDTH + GAP_X), TOP + i // COLUMNS * (HEIGHT + GAP_Y)
        title = f"{name}: {found['rows']:,} rows × {found['features']}"
        parts += Panel(left, top, measured(found)).draw(title)
    width, bottom = LEFT + COLUMNS * (WIDTH + GAP_X), TOP + rows * (HEIGHT + GAP_Y) - 22
    parts += legend(bottom)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + BOTTOM}"'
            ' font-family="Helvetica, Arial, sans-serif">\n'
            f'<rect width="{width}" height="{bottom + BOTTOM}" fill="white"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


# ---- tables ----


def measured(found):
    return [model for model in found["models"] if "error" in model]


def us(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell(model):
    tail = f" ({us(model['p99'])})" if model["p99"] else ""  # too few rows were asked for one
    return f"{model['error']:.2f} %, {us(model['mean'])}{tail}"


def faster_table(sets):
    """SVMs before and after limn accelerate."""
    yield "| error, mean us per query | LIBSVM | limn, exact | accelerated | faster than LIBSVM |"
    yield "|---" * 5 + "|"
    for name, rows in sorted(sets.items(), key=lambda item: -item[1]["fast"]["times_libsvm"]):
        libsvm, exact, fast = rows["libsvm"], rows["svm"], rows["fast"]
        yield (f"| {name} | {libsvm['error']:.2f} %, {us(libsvm['mean'])} | {us(exact['mean'])} |"
               f" **{fast['error']:.2f} %, {us(fast['mean'])}** | {fast['times_libsvm']:,.0f}x |")


def front_table(sets):
    """What is on the front of each set, the fastest first."""
    yield "| data set | on the front: error, mean us (p99) |"
    yield "|---|---|"
    for name, found in sets.items():
        models = sorted((m for m in measured(found) if m["front"]), key=lambda m: m["mean"])
        yield f"| {name} | " + "; ".join(f"{m['name']} {cell(m)}" for m in models) + " |"


def with_table(path, name, lines):
    """The page with the table between its marks."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        before, mark, rest = file.read().partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not mark or not end:
        sys.exit(f"{path}: <!-- {name} --> ... <!-- end --> is missing")
    return before + mark + "\n".join(lines) + "\n" + end + after


def results(name):
    with open(os.path.join(ROOT, "bench", "results", name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def main():
    front, stale = results("front"), False
    for path, text in {"docs/front.svg": picture(front),
                       "README.md": with_table("README.md", "accelerate",
                                               faster_table(results("accelerate"))),
                       "docs/performance.md": with_table("docs/performance.md", "front",
                                                         front_table(front))}.items():
        full = os.path.join(ROOT, path)
        if os.path.exists(full):
            with open(full, encoding="utf-8") as file:
                if file.read() == text:
                    continue
        stale = True
        if "--check" in sys.argv[1:]:
            print(f"{path} is not what bench/results says; run scripts/front_docs.py")
            continue
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        print("wrote " + path)
    sys.exit(stale and "--check" in sys.argv[1:])


if __name__ == "__main__":
    main()
