"""Dependencies between folders go one way: every #include is checked against the layers."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# layer -> the layers it includes besides itself; dependencies that are not used are not listed
MAY = {
    "base": set(),
    "num": {"base"},
    "data": {"base"},
    "container": {"base"},
    "scale": {"base", "num", "data", "container"},
    "svm": {"base", "num", "data", "container"},
    "fit": {"base", "num", "data", "svm", "contract"},
    "contract": {"base", "container"},
    "registry": {"contract"},
    "methods": {"base", "num", "data", "svm", "fit", "contract"},
    "model": {"base", "num", "data", "scale", "contract"},
    "eval": {"base", "num", "model"},
    "choose": {"base", "data", "svm", "fit", "eval"},
    "api": {"base", "num", "data", "model"},
}


def layer_of(path):
    """The layer of a path under src/."""
    first = path.split("/")[0]
    return {"method.h": "contract", "teacher.h": "contract", "registry.c": "registry", "api.c": "api"}.get(first, first)


def includes(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r'^\s*#\s*include\s*([<"][^>"]+[>"])', file.read(), re.M)


def sources(folder):
    for base, _, names in os.walk(os.path.join(ROOT, folder)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(base, name), ROOT)


def violations():
    found, used = [], {layer: set() for layer in MAY}
    for path in sources("src"):
        inside = path[len("src/"):]
        own = layer_of(inside)
        for text in includes(os.path.join(ROOT, path)):
            if text[0] == "<":
                continue
            target = text[1:-1]
            if not os.path.exists(os.path.join(ROOT, "src", target)):
                found.append(f"{path}: {text} is not a path below src/")
                continue
            other = layer_of(target)
            used[own].add(other)
            if other != own and other not in MAY[own]:
                found.append(f"{path} ({own}) includes {target} ({other})")
            if own == "methods" == other and inside.split("/")[1] != target.split("/")[1]:
                found.append(f"{path}: methods do not include each other: {target}")
    for layer in MAY:
        found += [f"{layer} does not use {other}" for other in sorted(MAY[layer] - used[layer])]
    return found


def test_every_include_points_down_and_every_arrow_is_used():
    assert violations() == []


def test_the_command_line_uses_the_public_header_only():
    own = {os.path.basename(p) for p in sources("cli")}
    for path in sources("cli"):
        for text in includes(os.path.join(ROOT, path)):
            if text[0] == '"':
                assert text[1:-1] in own, f"{path} includes {text}"


def test_every_file_belongs_to_a_known_layer():
    for path in sources("src"):
        assert layer_of(path[len("src/"):]) in MAY, path


def test_no_layer_cycle():
    def reach(layer, seen):
        for below in MAY[layer]:
            assert below not in seen, (layer, below)
            reach(below, seen | {layer})
    for layer in MAY:
        reach(layer, {layer})
