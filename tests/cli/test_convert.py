"""limn convert: round trips, checked with readers that are not limn's; files are whole or absent."""

import gzip
import io
import json
import os
import pathlib
import random
import resource
import signal
import struct
import subprocess
import time

import numpy
import pytest
from scipy.io import arff
from sklearn.datasets import load_svmlight_file
from table import COLUMNS, LIMN, NAMES, TIMEOUT, blobs, environment
from test_output import ROWS, on_terminal, shown

EXTENSIONS = ["csv", "tsv", "libsvm", "svm", "npy", "arff"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def odd_values(n, d, seed=3):
    """float32 of every size."""
    source = numpy.random.default_rng(seed)
    bits = source.integers(0, 2**32, size=(n, d), dtype=numpy.uint32)
    values = bits.view(numpy.float32)
    values[~numpy.isfinite(values)] = 0
    values[0, :4] = [0, -0.0, 1e-45, 3.4028235e38]
    values[1] = 0
    return values


def idx(path):
    """An independent reader of IDX."""
    data = gzip.open(path).read() if str(path).endswith(".gz") else path.read_bytes()
    zero, kind, dims = struct.unpack(">HBB", data[:4])
    assert zero == 0
    shape = struct.unpack(f">{dims}I", data[4:4 + 4 * dims])
    types = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
    return numpy.frombuffer(data[4 + 4 * dims:], types[kind]).reshape(shape)


@pytest.fixture
def values(tmp_path):
    x = odd_values(40, 7)
    numpy.save(tmp_path / "in.npy", x)
    numpy.save(tmp_path / "in-labels.npy", numpy.arange(40) % 3 - 1)
    return x


def same_bits(a, b):
    return a.shape == b.shape and (a.view(numpy.uint32) == b.view(numpy.uint32)).all()


# ---- what others read ----


def test_csv_as_python_reads_it(limn, tmp_path, values):
    limn("convert", "in.npy", "out.csv")
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert same_bits(numpy.array([[numpy.float32(cell) for cell in row[:-1]] for row in rows]),
                     values)
    assert [row[-1] for row in rows] == [str(i % 3 - 1) for i in range(40)]


def test_libsvm_as_scikit_learn_reads_it(limn, tmp_path, values):
    limn("convert", "in.npy", "out.libsvm")
    x, y = load_svmlight_file(str(tmp_path / "out.libsvm"), dtype=numpy.float64)
    assert (x.toarray().astype(numpy.float32) == values).all()
    assert (y == numpy.arange(40) % 3 - 1).all()


def test_npy_as_numpy_reads_it(limn, tmp_path, train_table, train_csv):
    limn("convert", train_csv, "out.npy")
    x = numpy.load(tmp_path / "out.npy")
    assert x.dtype == numpy.float32 and x.flags.c_contiguous
    assert same_bits(x, numpy.array(train_table.rows, dtype=numpy.float32))
    y = numpy.load(tmp_path / "out-labels.npy")
    assert y.dtype.kind == "U" and list(y) == train_table.labels


@pytest.mark.parametrize("labels, kind", [
    (["1", "-7", "9223372036854775807"], "<i8"), (["0.5", "1e+20", "-3"], "<f8"),
    (["01", "1"], "<U2"), (["1.0", "2"], "<U3"), (["é", "日本語"], "<U3"),
])
def test_the_type_of_npy_labels(limn, tmp_path, labels, kind):
    (tmp_path / "in.csv").write_text("".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    limn("convert", "in.csv", "out.npy", "--header", "no")
    y = numpy.load(tmp_path / "out-labels.npy")
    assert y.dtype.str == kind
    if kind != "<f8":
        assert [str(v) for v in y] == labels
    else:
        assert list(y) == [float(v) for v in labels]


def test_regression_targets_keep_every_bit(limn, tmp_path):
    source = random.Random(4)
    y = [source.gauss(0, 1) for _ in range(50)]
    (tmp_path / "in.csv").write_text("".join(f"{i},{v!r}\n" for i, v in enumerate(y)))
    for name in ("out.npy", "out.idx", "out.csv", "out.svm"):
        limn("convert", "in.csv", name, "--task", "regress")
    assert list(numpy.load(tmp_path / "out-labels.npy")) == y
    assert list(idx(tmp_path / "out-labels.idx")) == y
    assert [float(l.split(",")[1]) for l in (tmp_path / "out.csv").read_text().split()] == y
    assert list(load_svmlight_file(str(tmp_path / "out.svm"))[1]) == y


def test_idx_of_bytes_and_of_floats(limn, tmp_path, values):
    pixels = numpy.random.default_rng(1).integers(0, 256, (30, 16)).astype(numpy.float32)
    numpy.save(tmp_path / "p-images.npy", pixels)
    numpy.save(tmp_path / "p-labels.npy", numpy.arange(30) % 10)
    limn("convert", "p-images.npy", "p-images-idx3-ubyte.gz")
    image, label = (idx(tmp_path / f"p-{kind}-ubyte.gz") for kind in ("images-idx3", "labels-idx1"))
    assert image.dtype == numpy.uint8 and (image == pixels).all()
    assert label.dtype == numpy.uint8 and (label == numpy.arange(30) % 10).all()
    limn("convert", "in.npy", "out.idx")
    assert same_bits(idx(tmp_path / "out.idx").astype(numpy.float32), values)
    label = idx(tmp_path / "out-labels.idx")
    assert label.dtype == ">i4" and (label == numpy.arange(40) % 3 - 1).all()


def test_arff_as_scipy_reads_it(limn, tmp_path):
    (tmp_path / "in.csv").write_text("width,color,kind\n1.5,red,a\n-2,blue,b\n0.1,red,b\n")
    limn("convert", "in.csv", "out.arff")
    data, meta = arff.loadarff(tmp_path / "out.arff")
    assert meta.name == "out" and meta.names() == ["width", "color", "kind"]
    assert meta["color"] == ("nominal", ("blue", "red")) and meta["width"][0] == "numeric"
    assert [tuple(row) for row in data] == [(1.5, b"red", b"a"), (-2, b"blue", b"b"),
                                            (0.1, b"red", b"b")]


def test_iris_arff_of_named_columns(limn, tmp_path, train_table, train_csv):
    limn("convert", train_csv, "out.arff")
    data, meta = arff.loadarff(tmp_path / "out.arff")
    assert meta.names() == [*COLUMNS, "species"] and meta["species"][1] == tuple(NAMES)
    assert [list(row)[:4] for row in data] == train_table.rows


# ---- round trips ----


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("extension", [*EXTENSIONS, "idx"])
def test_there_and_back(limn, tmp_path, values, extension, packed):
    name = f"mid.{extension}{packed}"
    limn("convert", "in.npy", name)
    assert (gzip.open(tmp_path / name).read() != b"") if packed else (tmp_path / name).exists()
    limn("convert", name, "back.npy")
    assert same_bits(numpy.load(tmp_path / "back.npy"), values)
    assert (tmp_path / "back-labels.npy").read_bytes() == (tmp_path / "in-labels.npy").read_bytes()


def test_a_chain_through_every_format_changes_nothing(limn, tmp_path, train_csv):
    before = "train.csv"
    for i, extension in enumerate(EXTENSIONS):
        limn("convert", before, f"{i}.{extension}")
        before = f"{i}.{extension}"
    limn("convert", before, "end.npy")
    limn("convert", "train.csv", "start.npy")
    for name in ("{}.npy", "{}-labels.npy"):
        assert (tmp_path / name.format("end")).read_bytes() == \
            (tmp_path / name.format("start")).read_bytes()


def test_named_tables_keep_names_categories_and_odd_texts(limn, tmp_path):
    text = ('"the ""width""",color,kind\n1,red,"a, b"\n2,"light;blue","c\nd"\n3,red,"é "\n')
    (tmp_path / "in.csv").write_text(text)
    limn("convert", "in.csv", "mid.arff")
    limn("convert", "mid.arff", "mid.tsv")
    limn("convert", "mid.tsv", "back.csv")
    assert (tmp_path / "back.csv").read_text() == text


def test_a_model_of_what_was_converted_answers_alike(limn, tmp_path, model, test_csv, expected):
    for name in ("q.tsv.gz", "q.arff"):
        limn("convert", test_csv, name)
        assert limn("predict", model, name).stdout.splitlines() == expected


def test_delimiter(limn, tmp_path):
    (tmp_path / "in.csv").write_text("a,b,c\n1,2,x|y\n")
    limn("convert", "in.csv", "out.csv", "--to-delimiter", "|")
    assert (tmp_path / "out.csv").read_text() == 'a|b|c\n1|2|"x|y"\n'
    limn("convert", "in.csv", "out.csv", "--to-delimiter", "tab")
    assert (tmp_path / "out.csv").read_text() == "a\tb\tc\n1\t2\tx|y\n"


def test_the_label_and_missing_cells_as_told(limn, fails, tmp_path):
    (tmp_path / "in.csv").write_text("y2,b,c\n1,2,u\n3,,v\n5,6,u\n")
    assert "1 missing cell" in fails(3, "convert", "in.csv", "out.csv", "--label", "y2")
    assert names(tmp_path) == ["in.csv"]
    limn("convert", "in.csv", "out.csv", "--label", "y2", "--missing", "median")
    assert (tmp_path / "out.csv").read_text() == "b,c,y2\n2,u,1\n4,v,3\n6,u,5\n"
    limn("convert", "in.csv", "out.svm", "--no-label", "--missing", "median")
    assert (tmp_path / "out.svm").read_text() == "1:1 2:2 3:1 4:0\n1:3 2:4 4:1\n1:5 2:6 3:1\n"


# ---- pipes ----


def test_pipes_on_both_sides(limn, tmp_path, train_csv):
    limn("convert", "train.csv", "file.svm")
    done = limn("convert", "-", "-", "--to", "libsvm", input=train_csv.read_text())
    assert done.stdout == (tmp_path / "file.svm").read_text()
    assert done.stderr.startswith("standard output: 90 rows, 4 features, libsvm")
    packed = gzip.compress(done.stdout.encode())
    back = limn("convert", "-", "-", "--quiet", input=packed, text=False)
    assert back.stderr == b""
    rows = back.stdout.decode().splitlines()
    assert rows == train_csv.read_text().splitlines()[1:]


def test_a_named_pipe_is_read_once(limn, tmp_path, train_csv):
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["cp", "train.csv", "pipe"], cwd=tmp_path)
    limn("convert", "pipe", "out.csv")
    assert writer.wait(TIMEOUT) == 0
    assert (tmp_path / "out.csv").read_text() == train_csv.read_text()


def test_binary_formats_on_standard_output(limn, fails, tmp_path, train_csv):
    for kind in ("npy", "idx"):
        sentence = fails(2, "convert", train_csv, "-", "--to", kind)
        assert "labels in a separate file" in sentence
    done = limn("convert", train_csv, "-", "--to", "npy", "--to-labels", "y.npy", text=False)
    assert numpy.load(io.BytesIO(done.stdout)).shape == (90, 4)
    assert numpy.load(tmp_path / "y.npy").shape == (90,)
    (tmp_path / "bare.csv").write_text("1,2\n3,4\n")
    done = limn("convert", "bare.csv", "-", "--to", "npy", "--no-label", text=False)
    assert numpy.load(io.BytesIO(done.stdout)).tolist() == [[1, 2], [3, 4]]


def test_a_reader_that_leaves_is_no_error(tmp_path):
    blobs(20000, seed=21).csv(tmp_path / "big.csv")
    process = subprocess.Popen([LIMN, "convert", "big.csv", "-"], cwd=tmp_path, env=environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (said, process.wait(TIMEOUT)) == (b"", -signal.SIGPIPE)


# ---- the summary ----


def test_summary(limn, tmp_path, train_csv):
    done = limn("convert", train_csv, "out.npy")
    assert (done.stdout, done.stderr) == ("out.npy: 90 rows, 4 features, npy (from csv)\n", "")
    done = limn("convert", train_csv, "out.npy", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")
    (tmp_path / "one.csv").write_text("1,2\n")
    assert limn("convert", "one.csv", "one.svm").stdout == \
        "one.svm: 1 row, 1 feature, libsvm (from csv)\n"


# ---- what is refused ----


def test_the_input_is_never_replaced(fails, limn, tmp_path, train_csv):
    before = train_csv.read_bytes()
    (tmp_path / "link.csv").symlink_to("train.csv")
    for name in ("train.csv", "./train.csv", "link.csv"):
        assert "would replace the input" in fails(2, "convert", "train.csv", name)
    limn("convert", "train.csv", "x.npy")
    old = (tmp_path / "x-labels.npy").read_bytes()
    assert "x-labels.npy" in fails(2, "convert", "x.npy", "y.npy", "--to-labels", "x-labels.npy")
    assert "train.csv" in fails(2, "convert", "train.csv", "y.npy", "--to-labels", "train.csv")
    assert train_csv.read_bytes() == before and (tmp_path / "x-labels.npy").read_bytes() == old
    assert not (tmp_path / "y.npy").exists()


def test_wrong_usage(fails, tmp_path, train_csv, model):
    before = names(tmp_path)
    assert "cannot be exported as text" in fails(1, "convert", model, "out.csv")
    assert "--to" in fails(2, "convert", model, "out.csv", "--to", "csv")
    (tmp_path / "old.model").write_text("svm_type c_svc\nkernel_type linear\n")
    assert "old.model" in fails(4, "convert", "old.model", "out.limn")
    (tmp_path / "old.model").unlink()
    assert ".csv, .tsv" in fails(2, "convert", train_csv, "out.parquet")
    assert "label file" in fails(2, "convert", train_csv, "out.csv", "--to-labels", "y.csv")
    assert "separator" in fails(2, "convert", train_csv, "out.npy", "--to-delimiter", ";")
    (tmp_path / "bare.svm").write_text("1:2 3:4\n2:1\n")
    assert "no labels" in fails(2, "convert", "bare.svm", "out.npy", "--to-labels", "y.npy")
    (tmp_path / "bare.svm").unlink()
    assert names(tmp_path) == before


def test_places_that_cannot_be_written_are_found_before_reading(fails, tmp_path, train_csv):
    for place in ("nowhere/x.csv", "train.csv/x.csv"):
        sentence = fails(1, "convert", "no-such-file.csv", place)
        assert place in sentence and "no-such-file" not in sentence
    assert "nowhere/y.npy" in fails(1, "convert", "no-such-file.csv", "x.npy", "--to-labels",
                                    "nowhere/y.npy")
    assert "no-such-file" in fails(1, "convert", "no-such-file.csv", "x.csv")
    assert names(tmp_path) == ["train.csv"]


def test_labels_that_a_format_cannot_hold(fails, tmp_path):
    (tmp_path / "in.csv").write_text("1,Iris setosa\n2,b\n")
    assert "'Iris setosa' holds a blank" in fails(3, "convert", "in.csv", "out.svm")
    assert "not a 32-bit whole number" in fails(3, "convert", "in.csv", "out.idx")
    assert names(tmp_path) == ["in.csv"]


# ---- whole or absent ----


def limited(size):
    """Limits the size of files, as a full disk would."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.npy", "out.idx"])
def test_a_full_disk_leaves_the_old_files(fails, tmp_path, name):
    x = odd_values(3000, 9)
    numpy.save(tmp_path / "in.npy", x)
    numpy.save(tmp_path / "in-labels.npy", numpy.arange(3000))
    for old in (name, "out-labels.npy", "out-labels.idx"):
        (tmp_path / old).write_text("old")
    before = names(tmp_path)
    assert name in fails(1, "convert", "in.npy", name, preexec_fn=limited(30000))
    assert names(tmp_path) == before
    for old in (name, "out-labels.npy", "out-labels.idx"):
        assert (tmp_path / old).read_text() == "old"


def test_a_full_device(fails, train_csv):
    assert "No space left" in fails(1, "convert", train_csv, "/dev/full", "--to", "csv")


@pytest.mark.parametrize("row", ["1,2\n", "1,2,3,4,5,6\n", "a,2,3,4,setosa\n"])
def test_bad_data_leaves_the_old_file(fails, tmp_path, row):
    (tmp_path / "in.csv").write_text("1,2,3,4,setosa\n" * 40000 + row)
    (tmp_path / "out.npy").write_text("old")
    assert "line 40001" in fails(3, "convert", "in.csv", "out.npy")
    assert (tmp_path / "out.npy").read_text() == "old"
    assert names(tmp_path) == ["in.csv", "out.npy"]


def test_an_interrupt_leaves_no_file(tmp_path):
    def defaults():
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen([LIMN, "convert", "-", "out.npy"], cwd=tmp_path, env=environment(),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=defaults)
    os.write(process.stdin.fileno(), b"1,2,a\n" * 1000)
    end = time.monotonic() + TIMEOUT
    stat = pathlib.Path(f"/proc/{process.pid}/stat")
    time.sleep(0.3)
    while stat.read_text().rsplit(")", 1)[1].split()[0] != "S":
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(TIMEOUT) == 130
    assert process.stderr.read() == b"limn: interrupted\n"
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()
    assert names(tmp_path) == []


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A 256 MB table in a process limited to 128 MB: it cannot be held in memory."""
    rows, limit = 2000000, 128 << 20

    def run(*args):
        return subprocess.run([LIMN, *args], cwd=tmp_path, timeout=TIMEOUT, text=True,
                              env=environment(OPENBLAS_NUM_THREADS="1"), capture_output=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA,
                                                                    (limit, limit)))

    if run("--version").returncode:
        pytest.skip("this build needs more memory at once")
    with gzip.open(tmp_path / "in.csv.gz", "wb", compresslevel=1) as file:
        file.write((",".join("1" * 32) + "\n").encode() * rows)
    command = ["convert", "in.csv.gz", "/dev/null", "--to", "npy", "--no-label"]
    done = run(*command)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"/dev/null: {rows} rows, 32 features, npy (from csv)\n"
    assert run(*command, "--missing", "median").returncode == 1


def test_progress_line_on_a_terminal(tmp_path):
    text = on_terminal(tmp_path, ["convert", "-", "out.csv.gz"], ROWS)
    lines = shown(text)
    assert lines and all(line.startswith(("reading", "writing")) for line in lines)
    assert any("rows/s" in line for line in lines)
    assert text.endswith("\r\x1b[K") and "\n" not in text


@pytest.mark.parametrize("text", ["y,a,y\n1,10,2\n2,20,1\n", "y,a,y\np,10,2\nq,20,1\n",
                                  "a,y,b,y\n1,u,3,4\n5,v,7,8\n"])
def test_a_feature_with_the_labels_name_stays_a_feature(limn, tmp_path, text):
    (tmp_path / "dup.csv").write_text(text)
    twice = limn("convert", "dup.csv", "-", "--quiet").stdout
    assert twice == limn("convert", "-", "-", "--quiet", input=text).stdout
    limn("train", "dup.csv", "-m", "knn", "-p", "k=1", "--scale", "none", "-o", "dup.limn")
    assert json.loads(limn("eval", "dup.limn", "dup.csv", "--no-speed", "--json")
                      .stdout)["accuracy"] == 1


def test_rows_and_labels_never_share_a_file(limn, fails, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "sub").mkdir()
    for other in ("./o.npy", "sub/../o.npy"):
        assert "same file" in fails(2, "convert", "t.csv", "o.npy", "--to-labels", other)
    assert not (tmp_path / "o.npy").exists()


def test_a_warning_tells_of_weights_that_no_column_holds(limn, tmp_path):
    (tmp_path / "w.arff").write_text("@relation w\n@attribute x numeric\n@attribute y {a,b}\n@data\n"
                                     "1,a,{0.5}\n2,b,{3}\n")
    assert "weights" in limn("convert", "w.arff", "w.csv").stderr


def test_a_table_that_begins_like_a_model_is_a_table(limn, tmp_path):
    (tmp_path / "t.csv").write_text("svm_type,b,label\n1,2,u\n3,4,v\n")
    limn("convert", "t.csv", "t.npy")
    (tmp_path / "r.csv").write_text('"@relation x",b,label\n1,2,u\n3,4,v\n')
    limn("convert", "r.csv", "s.csv")
    assert (tmp_path / "s.csv").read_text() == (tmp_path / "r.csv").read_text()
