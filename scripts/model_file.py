"""Reads the container of a model file, as docs/format.md specifies it; checks nothing."""
import struct


def sections(path):
    """The payload of each section by name."""
    with open(path, "rb") as file:
        data = file.read()
    found = {}
    for i in range(struct.unpack_from("<I", data, 12)[0]):
        entry = data[64 + 64 * i:128 + 64 * i]
        offset, size = struct.unpack_from("<QQ", entry, 32)
        found[entry[:24].rstrip(b"\0").decode()] = data[offset:offset + size]
    return found


def key_values(payload):
    """Integers, reals, texts, lists of texts and tuples of reals by key."""
    count, at, found = struct.unpack_from("<Q", payload)[0], 8, {}
    for _ in range(count):
        kind, key_size, size = struct.unpack_from("<IIQ", payload, at)
        key = payload[at + 16:at + 15 + key_size].decode()
        value = payload[at + 16 + key_size:at + 16 + key_size + size]
        at += 16 + key_size + size
        found[key] = (struct.unpack("<q", value)[0] if kind == 1 else
                      struct.unpack("<d", value)[0] if kind == 2 else
                      value[:-1].decode() if kind == 3 else
                      value[8:].decode().split("\0")[:-1] if kind == 4 else
                      struct.unpack(f"<{size // 8}d", value))
    return found


def numbers(payload, kind):
    """All numbers of a section: kind is that of the struct module, f, d, i, I or Q."""
    return struct.unpack(f"<{len(payload) // struct.calcsize(kind)}{kind}", payload)


def packed(payload, count, width):
    """The rows of a packed set."""
    values = numbers(payload, "f")
    return [[values[(row // 16 * width + j) * 16 + row % 16] for j in range(width)]
            for row in range(count)]


def layers(payload, sizes):
    """The layers of a network with so many inputs and outputs of each layer: weights by input and output,
    and biases."""
    values, at, found = numbers(payload, "f"), 0, []
    for inputs, outputs in zip(sizes, sizes[1:]):
        width = -(-outputs // 16) * 16
        single = outputs == 1 and 0 < len(found) == len(sizes) - 2
        bias, at = values[at:at + outputs], at + width
        weights = [[] for _ in range(inputs)]
        if single:
            weights = [[value] for value in values[at:at + inputs]]
            at += -(-inputs // 16) * 16
        for first in range(0, 0 if single else width, 128):
            block = min(128, width - first)
            for row in weights:
                row += values[at:at + block]
                at += block
        found.append(([row[:outputs] for row in weights], bias))
    return found
