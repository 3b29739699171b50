"""What the scripts that draw the pictures of docs/ share: the grid, level sets (marching squares), SVG
numbers and paths."""
import csv


def write_rows(path, head, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def grid_points(width, height, cells, left=0.0, bottom=0.0):
    """A grid over a panel, `cells` along its width. It extends one cell beyond the panel on each side, so
    that lines leave the panel before they end. Returns points across, points down, all points."""
    cell = width / cells
    across, down = cells + 3, round(height / cell) + 3
    return across, down, [(left + (i - 1) * cell, bottom + (j - 1) * cell)
                          for j in range(down) for i in range(across)]


def loops(values, across, down):
    """Closed lines around the areas where values (across x down of them) are above 0, in cells. Points
    beyond the grid count as below. Values are interpolated linearly between neighbours. Where they are
    distances from a point, line or polygon, that keeps the lines more than a cell away from it straight
    where they should be, because the distance is linear within a cell of them, on one side of the set."""
    def value(i, j):
        return values[j * across + i] if 0 <= i < across and 0 <= j < down else -1e9

    def crossing(a, b):
        (i, j), (k, l) = sorted((a, b))
        u, v = value(i, j), value(k, l)
        share = u / (u - v)
        return i + (k - i) * share, j + (l - j) * share

    following = {}
    for j in range(-1, down):
        for i in range(-1, across):
            corner = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            inside = [value(*c) > 0 for c in corner]
            if all(inside) or not any(inside):
                continue
            out = [k for k in range(4) if inside[k] and not inside[(k + 1) % 4]]
            back = [k for k in range(4) if not inside[k] and inside[(k + 1) % 4]]
            if len(out) == 2:  # a saddle: the value in the middle decides which corners belong together
                turn = 1 if sum(value(*c) for c in corner) > 0 else -1
                back = [(k + turn) % 4 for k in out]
            for k, l in zip(out, back):
                edge = tuple(sorted((corner[k], corner[(k + 1) % 4])))
                other = tuple(sorted((corner[l], corner[(l + 1) % 4])))
                following[edge] = other
    found = []
    while following:
        edge, line = min(following), []
        while edge in following:
            line.append(crossing(*edge))
            edge = following.pop(edge)
        found.append(line)
    return found


def simplified(line, most):
    """The line without the points that lie within `most` of the line between those kept (Douglas and
    Peucker); the first and last points are kept."""
    keep, open_ranges = {0, len(line) - 1}, [(0, len(line) - 1)]
    while open_ranges:
        first, last = open_ranges.pop()
        (ax, ay), (bx, by) = line[first], line[last]
        length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
        worst, at = most, None
        for k in range(first + 1, last):
            x, y = line[k][0] - ax, line[k][1] - ay
            off = (abs(x * (by - ay) - y * (bx - ax)) / length if length > 1e-9
                   else (x * x + y * y) ** 0.5)
            if off > worst:
                worst, at = off, k
        if at is not None:
            keep.add(at)
            open_ranges += [(first, at), (at, last)]
    return [line[k] for k in sorted(keep)]


def number(value):
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def path_data(values, across, down, pixel, height):
    """A level set as SVG path data: pixels per cell, height of the panel in pixels."""
    words = []
    for line in loops(values, across, down):
        line = [((x - 1) * pixel, height - (y - 1) * pixel) for x, y in line]
        far = max(range(len(line)), key=lambda k: (line[k][0] - line[0][0]) ** 2
                  + (line[k][1] - line[0][1]) ** 2)
        line = simplified(line[:far + 1], 0.06)[:-1] + simplified(line[far:] + line[:1], 0.06)[:-1]
        words.append(closed(line))
    return "".join(words)


def closed(line):
    return "M" + " ".join(f"{number(x)},{number(y)}" for x, y in line) + "Z"
