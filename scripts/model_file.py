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
