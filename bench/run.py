#!/usr/bin/python3
"""Runs the benchmarks one after the other and writes what they print to bench/results/.

Nothing else should run on the machine. Names as arguments choose among them: kernels scan knn svm
front student accelerate scaling vpc hulls bforest borders borders-tables ptree parse open. The optional real data
sets are looked for in the folder that LIMN_DATA names; without them random data of the same shape is used
(front, student, accelerate, scaling, hulls, bforest, borders, ptree: what needs them is left out). ptree draws the
plots of docs/methods/ptree.md too. The first run of svm and front trains their models, which takes half an
hour; student trains its own again for each new limn, which may take longer. The first run of accelerate has
dlib reduce machines, up to three minutes for each of nine.
"""
import os
import platform
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build-gcc")
RESULTS = os.path.join(ROOT, "bench", "results")
PYTHON = sys.executable

sys.path.insert(0, os.path.join(ROOT, "bench", "peers"))
from real_data import find_split  # noqa: E402


def program(name):
    return os.path.join(BUILD, "bench", "bench_" + name)


def cpu():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        lines = file.read().splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    text = {k.strip(): v.strip() for k, v in fields.items()}
    return (f"{text.get('model name', platform.machine())}, family {text.get('cpu family')}, "
            f"model {text.get('model')}, {os.cpu_count()} cores")


def data_or_shape(name, shape):
    """The arguments of bench_scan for a real data set, or a random one of its shape."""
    files = find_split(name)
    return ["--data", *files] if files else shape.split("x")


def record(name, *commands):
    """Runs the commands and keeps their output under the benchmark's name."""
    print(f"== {name}", flush=True)
    text = f"make bench: {name}\n{cpu()}\n"
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        print(done.stdout, flush=True)
        if done.returncode:
            sys.exit(f"{command[0]} failed")
        text += "\n" + done.stdout
    with open(os.path.join(RESULTS, name + ".txt"), "w", encoding="utf-8") as file:
        file.write(text.replace(ROOT + "/", ""))


def big_model(folder):
    """A model of about 100 MB."""
    path, data = os.path.join(folder, "big.limn"), os.path.join(folder, "big.csv")
    with open(data, "w", encoding="ascii") as file:
        for i in range(250000):
            file.write(",".join(str((i * 7919 + j * 104729) % 1000) for j in range(100)) + "\n")
    subprocess.run([os.path.join(BUILD, "limn"), "train", data, "--task", "search", "-m", "knn",
                    "-o", path, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    os.unlink(data)
    return path


def cached(name):
    return os.path.join(BUILD, "bench", name + "-cache")


def run_contest(name, *more):
    """A script that has bench_front time its models; whether it could run."""
    if not os.path.exists(program("front")) or not find_split("letter"):
        print(f"{name} is left out: it needs LIMN_DATA, g++, hnswlib and FLANN (scripts/deps.sh bench)")
        return False
    record(name, [PYTHON, f"bench/peers/{name}.py", "--limn", os.path.join(BUILD, "limn"), "--front",
                  program("front"), "--cache", cached(name), *more])
    return True


def run_front():
    if run_contest("front", "--json", os.path.join(RESULTS, "front.json")):
        subprocess.run([PYTHON, "scripts/front_docs.py"], cwd=ROOT, check=True)


def run_accelerate():
    if run_contest("accelerate", "--json", os.path.join(RESULTS, "accelerate.json")):
        subprocess.run([PYTHON, "scripts/front_docs.py"], cwd=ROOT, check=True)


def run_knn():
    names = ["mnist", "letter"] if find_split("mnist") else ["60000x784", "16000x16"]
    record("knn", *([PYTHON, "bench/peers/knn.py", name] for name in names))


def run_open():
    with tempfile.TemporaryDirectory() as folder:
        record("open", [program("open"), big_model(folder)])


def benchmarks():
    """The benchmarks by name, in the order of a full run."""
    limn = os.path.join(BUILD, "limn")
    return {
        "kernels": lambda: record("kernels", [program("kernels")]),
        "scan": lambda: record("scan", [program("scan"), *data_or_shape("letter", "16000x16")],
                               [program("scan"), *data_or_shape("mnist", "60000x784")]),
        "knn": run_knn,
        "svm": lambda: record("svm", [PYTHON, "bench/peers/svm.py", "--bench", program("svm"),
                                      "--cache", cached("svm")]),
        "front": run_front,
        "student": lambda: run_contest("student"),
        "accelerate": run_accelerate,
        "scaling": lambda: record("scaling", [PYTHON, "bench/scaling.py", "--limn", limn, "--bench",
                                              program("scaling")]),
        "vpc": lambda: record("vpc", [PYTHON, "bench/peers/vpc.py", "--limn", limn]),
        "hulls": lambda: record("hulls", [PYTHON, "bench/papers/hulls.py", "--limn", limn]),
        "bforest": lambda: record("bforest", [PYTHON, "bench/papers/bforest.py", "--limn", limn]),
        "borders": lambda: record("borders", [PYTHON, "bench/papers/borders.py", "--limn", limn]),
        "borders-tables": lambda: record(
            "borders-tables", [PYTHON, "bench/papers/borders_tables.py", "--limn", limn]),
        "ptree": lambda: record("ptree", [PYTHON, "bench/papers/ptree.py", "--limn", limn, "--pictures",
                                          os.path.join("docs", "methods")]),
        "parse": lambda: record("parse", [program("parse")],
                                [PYTHON, "bench/peers/parse.py", "--parse", program("parse")]),
        "open": run_open,
    }


def main():
    known = benchmarks()
    unknown = set(sys.argv[1:]) - set(known)
    if unknown:
        sys.exit(f"there is no benchmark {', '.join(sorted(unknown))}; there are: {' '.join(known)}")
    os.makedirs(RESULTS, exist_ok=True)
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["meson", "setup", BUILD, "--buildtype=release"], cwd=ROOT, check=True)
    subprocess.run(["ninja", "-C", BUILD], check=True, stdout=subprocess.DEVNULL)
    for name in sys.argv[1:] or known:
        known[name]()


if __name__ == "__main__":
    main()
