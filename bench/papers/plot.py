"""Plots as SVG: panels side by side with points or lines, each with its name beside it. Names are put
where they cover no other name, point or line."""
import math

WIDTH, HEIGHT = 380, 300         # of a panel
LEFT, TOP, GAP, BELOW = 46, 66, 150, 46
OWN, OTHER, INK, PALE = "#2b62ad", "#d2601a", "#333", "#bbb"
SIZE, LINE, LETTER = 10, 12, 5.6  # of names: font size, line height, mean width of a letter


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
    """Places in order, moved as little as needed to be a gap apart between low and high."""
    order, found = sorted(range(len(places)), key=places.__getitem__), list(places)
    for before, at in zip([None] + order, order):
        found[at] = max(found[at], low if before is None else found[before] + gap)
    for after, at in zip([None] + order[::-1], order[::-1]):
        found[at] = min(found[at], high if after is None else found[after] - gap)
    return found


def overlap(a, b):
    """Whether two boxes (left, top, right, bottom) do."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


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
            x0, x1 = math.log(x0 / 1.6), math.log(x1 * 1.6)
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

    def inside(self, box):
        return (box[0] > self.left and box[2] < self.left + WIDTH and box[1] > TOP
                and box[3] < TOP + HEIGHT)

    def free_box(self, name, x, y, taken):
        """The nearest free place of a name around a point: a box."""
        wide = LETTER * len(name)
        for far in (7, 14, 22, 32, 44, 58):
            for turn in (0, 6, 3, 9, 1, 11, 5, 7, 2, 10, 4, 8):  # twelfths, from the right
                dx, dy = math.cos(turn * math.pi / 6), math.sin(turn * math.pi / 6)
                left = x + far * dx - wide * (1 - dx) / 2
                top = y + far * dy - LINE / 2 + (dy * LINE / 3)
                box = (left, top, left + wide, top + LINE)
                if self.inside(box) and not any(overlap(box, other) for other in taken):
                    return box
        return (x + 7, y - LINE / 2, x + 7 + wide, y + LINE / 2)

    def draw_points(self):
        places = [(self.x(x), self.y(y)) for _, x, y, _ in self.points]
        taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in places]
        for (name, *_, colour), (x, y) in zip(self.points, places):
            box = self.free_box(name, x, y, taken)
            taken.append(box)
            nearest = min(max(x, box[0]), box[2]), min(max(y, box[1] + 2), box[3] - 2)
            yield (f'<path d="M{x:.1f},{y:.1f}L{nearest[0]:.1f},{nearest[1]:.1f}" stroke="{colour}"'
                   ' stroke-width="0.7"/>')
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.8" fill="{colour}"/>'
            yield text((box[0] + box[2]) / 2, box[3] - 3, name, SIZE, "middle", colour)

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
