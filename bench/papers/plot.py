"""Plots as SVG: panels side by side with points or lines, each with its name beside it. Names that would
cover each other are moved apart."""
import math

WIDTH, HEIGHT = 380, 300         # of a panel
LEFT, TOP, GAP, BELOW = 46, 66, 150, 46
OWN, OTHER, INK, PALE = "#2b62ad", "#d2601a", "#333", "#bbb"
SIZE, LINE = 10, 12              # of names: font size, line height
NEAR, WIDE = 60, 110             # of points with names in one column; room for the longest name


def text(x, y, words, size=SIZE, anchor="start", colour=INK, more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
            f' fill="{colour}"{more}>{words}</text>')


def steps(low, high, most=6):
    """Round numbers between two."""
    size = 10 ** math.floor(math.log10((high - low) / most))
    size *= next(f for f in (1, 2, 5, 10) if (high - low) / (size * f) <= most)
    first = math.ceil(low / size)
    return [round(size * i, 10) for i in range(first, math.floor(high / size) + 1)]


def spread(places, gap, low, high):
    """Places in the same order, at least a gap apart between low and high. Those that are too near to each
    other are put around their middle."""
    order, groups = sorted(range(len(places)), key=places.__getitem__), []
    for at in order:
        groups.append([at])
        while len(groups) > 1 and top(groups[-1], places, gap, low, high) < gap + bottom(
                groups[-2], places, gap, low, high):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [top(group, places, gap, low, high) + gap * group.index(at)
            for at in range(len(places)) for group in groups if at in group]


def top(group, places, gap, low, high):
    """Where the first of a group is put."""
    middle, half = sum(places[at] for at in group) / len(group), gap * (len(group) - 1) / 2
    return max(low, min(middle - half, high - 2 * half))


def bottom(group, places, gap, low, high):
    return top(group, places, gap, low, high) + gap * (len(group) - 1)


class Panel:
    """Points and lines between two axes; log_x: the axis across is logarithmic."""

    def __init__(self, title, across, up, log_x=False):
        self.title, self.across, self.up, self.log_x = title, across, up, log_x
        self.points, self.lines, self.left = [], [], LEFT

    def point(self, name, x, y, own):
        self.points.append((name, x, y, OWN if own else OTHER))

    def line(self, name, places, colour, dashes):
        self.lines.append((name, places, colour, dashes))

    # ---- scales ----

    def limits(self):
        places = [point[1:3] for point in self.points] + [p for line in self.lines for p in line[1]]
        (x0, x1), (y0, y1) = ((min(values), max(values)) for values in zip(*places))
        if self.log_x:
            x0, x1 = math.log(x0 / 2.4), math.log(x1 * 3.6)
        else:
            x0 = 0
        room = 0.07 * (y1 - y0)
        return x0, x1, y0 - room, y1 + room

    def x(self, value):
        x0, x1, *_ = self.limits()
        return self.left + WIDTH * ((math.log(value) if self.log_x else value) - x0) / (x1 - x0)

    def y(self, value):
        *_, y0, y1 = self.limits()
        return TOP + HEIGHT * (y1 - value) / (y1 - y0)

    # ---- parts ----

    def x_ticks(self):
        x0, x1, *_ = self.limits()
        if not self.log_x:
            return steps(x0, x1)
        return [d * 10 ** p for p in range(5) for d in (1, 2, 5) if x0 <= math.log(d * 10 ** p) <= x1]

    def frame(self):
        *_, y0, y1 = self.limits()
        bottom = TOP + HEIGHT
        yield text(self.left, TOP - 8, self.title, 12, more=' font-weight="bold"')
        for value in self.x_ticks():
            yield f'<path d="M{self.x(value):.1f},{TOP}v{HEIGHT}" stroke="{PALE}" stroke-width="0.5"/>'
            yield text(self.x(value), bottom + 13, f"{value:,}", SIZE, "middle")
        for value in steps(y0, y1):
            yield f'<path d="M{self.left},{self.y(value):.1f}h{WIDTH}" stroke="{PALE}" stroke-width="0.5"/>'
            yield text(self.left - 5, self.y(value) + 3.5, f"{value:g} %", SIZE, "end")
        yield (f'<rect x="{self.left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none"'
               f' stroke="{PALE}"/>')
        yield text(self.left + WIDTH / 2, bottom + 29, self.across, SIZE, "middle")
        yield text(self.left + WIDTH, TOP - 8, self.up, SIZE, "end")

    def draw_lines(self):
        """Names are right of the panel, in the order of the ends."""
        ends = [self.y(places[-1][1]) for _, places, *_ in self.lines]
        for (name, places, colour, dashes), end, at in zip(
                self.lines, ends, spread(ends, LINE, TOP + 4, TOP + HEIGHT - 4)):
            points = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in places)
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            yield (f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.4"'
                   f'{dashed}/>')
            right = self.left + WIDTH
            yield (f'<path d="M{right},{end:.1f}l12,{at - end:.1f}" fill="none" stroke="{colour}"'
                   ' stroke-width="0.7"/>')
            yield text(right + 15, at + 3.5, name, SIZE, colour=colour)

    def beside(self, point):
        """The side on which a point's name is: -1 left, 1 right. The right is for other methods, unless
        another point is there."""
        x, y = self.x(point[1]), self.y(point[2])
        crowded = any(10 < self.x(other) - x < WIDE and abs(self.y(up) - y) < 2 * LINE
                      for _, other, up, _ in self.points)
        return -1 if point[3] == OWN or crowded else 1

    def columns(self):
        """Points whose names stand in one column: those on the same side of points near each other."""
        last = None
        for point in sorted(self.points, key=lambda p: (self.beside(p), p[1])):
            place = self.beside(point), self.x(point[1])
            if last is None or place[0] != last[0] or place[1] > last[1] + NEAR:
                column = []
                yield column
            column.append(point)
            last = place

    def draw_column(self, column):
        side, ends = self.beside(column[0]), [self.y(point[2]) for point in column]
        edge = side * max(side * self.x(point[1]) for point in column)
        for (name, value, _, colour), end, at in zip(
                column, ends, spread(ends, LINE, TOP + 8, TOP + HEIGHT - 8)):
            x = self.x(value)
            yield (f'<path d="M{x:.1f},{end:.1f}L{edge + 16 * side:.1f},{at:.1f}" stroke="{colour}"'
                   ' stroke-width="0.7"/>')
            yield f'<circle cx="{x:.1f}" cy="{end:.1f}" r="3.8" fill="{colour}"/>'
            yield text(edge + 19 * side, at + 3.5, name, SIZE, "start" if side > 0 else "end", colour)

    def draw_points(self):
        """Names are in columns beside the points."""
        for column in list(self.columns()):
            yield from self.draw_column(column)

    def draw(self, left):
        self.left = left
        return [*self.frame(), *self.draw_lines(), *self.draw_points()]


def sheet(title, panels, notes):
    """The plot of panels side by side, with notes below."""
    gap = GAP if any(panel.lines for panel in panels) else LEFT + 24
    width = LEFT + len(panels) * (WIDTH + gap)
    bottom = TOP + HEIGHT + BELOW
    height = bottom + 16 * len(notes)
    parts = [text(LEFT, 24, title, 15, more=' font-weight="bold"')]
    for i, panel in enumerate(panels):
        parts += panel.draw(LEFT + i * (WIDTH + gap))
    parts += [text(LEFT, bottom + 16 * i, note, 11) for i, note in enumerate(notes)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            ' font-family="Helvetica, Arial, sans-serif">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")
