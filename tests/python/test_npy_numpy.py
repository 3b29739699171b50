"""limn reads what numpy.save writes: every type, byte order, memory order, shape and version."""
import gzip
import io
import os
import struct
import subprocess

import numpy as np
import pytest

TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]


@pytest.fixture
def values(limn, tmp_path):
    """What limn finds in a file: float32 values and the labels, or None."""

    def read(path, *options, labelled=False):
        out = tmp_path / "read.csv"
        limn("convert", path, out, *options)
        cells = [line.split(",") for line in out.read_text(encoding="utf-8").splitlines()]
        labels = [row.pop() for row in cells] if labelled else None
        return np.array(cells, dtype=np.float64).astype(np.float32), labels

    return read


@pytest.fixture
def refusal(tmp_path):
    """The message with which limn refuses a file as bad data."""

    def read(path, *options):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        binary = os.environ.get("LIMN_BIN", os.path.join(root, "build", "limn"))
        done = subprocess.run([binary, "convert", path, tmp_path / "read.csv", *options], text=True,
                              capture_output=True)
        assert done.returncode == 3, done.stderr
        assert not (tmp_path / "read.csv").exists()
        return done.stderr

    return read


def sample(dtype, shape, seed=1):
    """Values over the range of the type, including both ends."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        flat = rng.integers(info.min, info.max, count, dtype=dtype.newbyteorder("="), endpoint=True)
        ends = [info.min, info.max, 0, 1]
    else:
        info = np.finfo(np.float32 if dtype.itemsize > 4 else dtype)
        flat = rng.standard_normal(count) * 10.0 ** rng.integers(-4, 4, count)
        ends = [info.max, info.min, info.tiny, info.smallest_subnormal, -0.0]
    flat = flat.astype(dtype)
    flat[:len(ends)] = ends[:count]
    return flat.reshape(shape)


def same(found, array):
    expected = np.ascontiguousarray(array).reshape(len(array), -1).astype(np.float32)
    np.testing.assert_array_equal(found, expected)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("memory", ["C", "F"])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", TYPES)
def test_every_type_in_every_order(values, tmp_path, kind, order, memory):
    array = np.array(sample(np.dtype(kind).newbyteorder(order), (37, 5)), order=memory)
    np.save(tmp_path / "x.npy", array)
    same(values(tmp_path / "x.npy")[0], array)


@pytest.mark.parametrize("memory", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 1), (4, 3, 2), (5, 1, 3, 2), (3, 2, 2, 2, 2),
                                   (2000, 3), (3, 20000)])
def test_every_shape(values, tmp_path, shape, memory):
    array = np.array(sample("f4", shape), order=memory)
    np.save(tmp_path / "x.npy", array)
    same(values(tmp_path / "x.npy")[0], array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("packed", [False, True])
def test_every_version_plain_and_gzip(values, tmp_path, version, packed):
    array = sample("<f4", (20, 4))
    data = io.BytesIO()
    np.lib.format.write_array(data, array, version=version)
    raw = data.getvalue()
    path = tmp_path / "x.npy.gz"
    path.write_bytes(gzip.compress(raw) if packed else raw)
    same(values(path)[0], array)


@pytest.mark.parametrize("labels", [
    np.array([3, -1, 2**63 - 1, -2**63, 0]),
    np.array([0, 1, 2**64 - 1, 5, 5], dtype=">u8"),
    np.array([1, 2, 3, 2, 1], dtype="f4"),
    np.array([0.25, -1.5, 1e-3, 0.1, 12345.678]),
    np.array([[1], [0], [1], [1], [2]], dtype="i2"),
    np.array([True, False, True, True, False]),
    np.array(["cat", "dog", "a longer name", "cat", "x"]),
    np.array(["é", "ß", "日本", "😀", "é"]),
    np.array(["é", "ß", "日本", "😀", "é"], dtype=">U9"),
    np.array([b"cat", b"dog", b"x", b"yy", b"cat"]),
], ids=lambda a: a.dtype.str + "x".join(map(str, a.shape)))
def test_labels_beside_the_data(values, tmp_path, labels):
    array = sample("f8", (5, 3))
    np.save(tmp_path / "x.npy", array)
    np.save(tmp_path / "x-labels.npy", labels)
    found, read = values(tmp_path / "x.npy", labelled=True)
    same(found, array)
    flat = labels.reshape(-1)
    if labels.dtype.kind == "f":
        expected = [repr(int(v)) if v == int(v) else repr(float(v)) for v in flat]
    elif labels.dtype.kind in "iub":
        expected = [str(int(v)) for v in flat]
    else:
        expected = [v.decode() if isinstance(v, bytes) else str(v) for v in flat]
    assert read == expected
    # the same file under another name
    os.rename(tmp_path / "x-labels.npy", tmp_path / "y.npy")
    assert values(tmp_path / "x.npy", "--label-file", tmp_path / "y.npy",
                  labelled=True)[1] == expected
    same(values(tmp_path / "x.npy", "--no-label")[0], array)


def test_a_label_column_of_the_array(values, tmp_path):
    array = sample("i4", (8, 4))
    np.save(tmp_path / "x.npy", array)
    found, labels = values(tmp_path / "x.npy", "--label", "2", labelled=True)
    same(found, np.delete(array, 1, axis=1))
    assert labels == [str(v) for v in array[:, 1]]


@pytest.mark.parametrize("code,kind", [(8, "u1"), (9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"),
                                       (14, ">f8")])
@pytest.mark.parametrize("shape", [(6, 3), (6, 2, 2)])
def test_idx(values, tmp_path, code, kind, shape):
    array = sample(kind, shape)
    header = struct.pack(f">HBB{len(shape)}I", 0, code, len(shape), *shape)
    images = tmp_path / "some-images-idx3-ubyte"
    images.write_bytes(header + array.tobytes())
    same(values(images)[0], array)
    labels = bytes([3, 1, 4, 1, 5, 9])
    (tmp_path / "some-labels-idx1-ubyte").write_bytes(struct.pack(">HBBI", 0, 8, 1, 6) + labels)
    found, read = values(images, labelled=True)
    same(found, array)
    assert read == [str(v) for v in labels]


@pytest.mark.parametrize("array,words", [
    (np.array([[1, "a"], [2, "b"]], dtype=object), "Python objects"),
    (np.zeros(3, dtype=[("a", "f4"), ("b", "i4")]), "structured"),
    (np.zeros(3, dtype=("f4", (2,))), "ends after"),  # numpy makes it two-dimensional: cut below
    (np.zeros((3, 2), dtype="c16"), "complex"),
    (np.zeros((3, 2), dtype="M8[s]"), "dates or times"),
    (np.zeros((3, 2), dtype="m8[ns]"), "dates or times"),
    (np.zeros((3, 2), dtype="f16"), "float32"),
    (np.zeros((3, 2), dtype="V4"), "float32"),
    (np.array([["a", "b"]]), "text"),
    (np.zeros(3), "one dimension"),
    (np.zeros(()), "no dimension"),
    (np.zeros((0, 3)), "no rows"),
    (np.zeros((3, 0)), "no features"),
    (np.array([[1.0, 2.0], [np.inf, 0]]), "row 2, column 1: 'inf'"),
    (np.array([[1.0, np.nan], [3.0, 0]]), "missing cell, in row 1, column 2"),
    (np.array([[1.0, 2.0], [3.0, -3.5e38]]), "row 2, column 2: '-3.5e+38'"),
])
def test_what_cannot_be_read_is_refused(refusal, tmp_path, array, words):
    path = tmp_path / "x.npy"
    np.save(path, array, allow_pickle=True)
    if words == "ends after":
        path.write_bytes(path.read_bytes()[:-1])
    assert words in refusal(path)


def test_several_arrays_in_one_file_are_refused(refusal, tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        np.save(file, np.zeros((3, 2)))
        np.save(file, np.zeros((3, 2)))
    assert "one array per file" in refusal(tmp_path / "x.npy")


def test_weights_beside_labels_of_their_own_file(limn, tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    x = np.column_stack([np.ones(60), rng.normal(size=60) + 3 * y, rng.normal(size=60)])
    np.save(tmp_path / "w.npy", x.astype("f4"))
    np.save(tmp_path / "w-labels.npy", y)
    model = tmp_path / "w.limn"
    limn("train", tmp_path / "w.npy", "--weights", "1", "-m", "lda", "-o", model)
    # the training file, with its weights, and the same without them
    np.save(tmp_path / "plain.npy", x[:, 1:].astype("f4"))
    answers = limn("predict", model, tmp_path / "w.npy")
    assert answers == limn("predict", model, tmp_path / "plain.npy")
    assert np.mean(np.array(answers.split(), int) == y) > 0.85
    for labels in ([], ["--label-file", tmp_path / "w-labels.npy"]):
        assert "accuracy" in limn("eval", model, tmp_path / "w.npy", "--no-speed", *labels)
