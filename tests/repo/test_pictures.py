"""The pictures of docs/ are what their scripts draw with the built program.

Distances may differ in their last bits between machines, so lines may be cut into different pieces.
The elements and their attributes must be equal, and the lines must coincide."""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.abspath(os.environ.get("LIMN_BIN", os.path.join(ROOT, "build", "limn")))
NEAR = 0.4  # pixels
# picture of docs/methods -> least number of paths, a class of paths
PICTURES = {"hulls": (50, "body"), "borders": (6, "normal"), "student": (10, "unit")}


def elements(path):
    return list(xml.etree.ElementTree.parse(path).iter())


@pytest.fixture(name="picture", scope="module", params=PICTURES)
def fixture_picture(request, tmp_path_factory):
    """The picture's name, its file, and the same picture drawn anew."""
    out = tmp_path_factory.mktemp("pictures") / "new.svg"
    subprocess.run([sys.executable, os.path.join(ROOT, "scripts", f"{request.param}_picture.py"),
                    BINARY, str(out)], check=True)
    return request.param, os.path.join(ROOT, "docs", "methods", f"{request.param}.svg"), out


def lines_of(data):
    """The closed lines of path data, each a list of points."""
    found = [[tuple(map(float, point.split(","))) for point in line.split()]
             for line in re.findall(r"M([^MZ]*)Z", data)]
    assert found and "".join("M" + " ".join(f"{x:g},{y:g}" for x, y in line) + "Z"
                             for line in found) == data
    return found


def distance(point, start, end):
    (x, y), (dx, dy) = ((point[0] - start[0], point[1] - start[1]),
                        (end[0] - start[0], end[1] - start[1]))
    length = dx * dx + dy * dy
    share = min(max((x * dx + y * dy) / length, 0), 1) if length else 0
    return ((x - share * dx) ** 2 + (y - share * dy) ** 2) ** 0.5


def farthest(line, other):
    """Distance of the points of one closed line from another."""
    sides = list(zip(other, other[1:] + other[:1]))
    return max(min(distance(point, *side) for side in sides) for point in line)


def compare(kept, drawn):
    assert len(kept) == len(drawn)
    for a, b in zip(kept, drawn):
        assert a.tag == b.tag and (a.text or "").strip() == (b.text or "").strip()
        assert {**a.attrib, "d": ""} == {**b.attrib, "d": ""}
        ours, theirs = lines_of(a.get("d", "M0,0Z")), lines_of(b.get("d", "M0,0Z"))
        assert len(ours) == len(theirs)
        for line in ours:
            assert min(max(farthest(line, other), farthest(other, line)) for other in theirs) < NEAR


def test_the_picture_is_what_limn_says(picture):
    name, kept, drawn = picture
    compare(elements(kept), elements(drawn))
    assert sum(1 for e in elements(kept) if e.tag.endswith("}path")) >= PICTURES[name][0]
    assert os.path.getsize(kept) < 60000


def test_another_picture_is_not_taken_for_it(picture):
    """A line that is off by a pixel is noticed."""
    name, kept, drawn = picture
    moved = elements(drawn)
    line = next(e for e in moved if e.get("class") == PICTURES[name][1])
    first, *others = lines_of(line.get("d"))
    (x, y), *rest = first
    line.set("d", "".join("M" + " ".join(f"{a:g},{b:g}" for a, b in points) + "Z"
                          for points in [[(x + 1, y + 1), *rest], *others]))
    with pytest.raises(AssertionError):
        compare(elements(kept), moved)


def test_the_front_is_drawn_from_the_kept_figures():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "front_docs.py"), "--check"],
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
