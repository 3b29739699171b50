#!/usr/bin/python3
"""Runs the benchmarks one after the other and writes what they print to bench/results/.

Nothing else should run on the machine. Names as arguments choose among them: kernels scan knn svm
vpc hulls bforest parse open. The optional real data sets are looked for in LIMN_DATA; without them
random data of the same shape is used (hulls, bforest: what needs them is left out). The first run of
svm trains its machines, which takes some minutes.
"""
import os
import platform
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build-gcc")
RESULTS = os.path.join(ROOT, "bench", "results")
DATA = os.path.abspath(os.environ.get("LIMN_DATA", os.path.join(ROOT, "..", "shared", "data")))


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
    files = [os.path.join(DATA, f"{name}.{part}.svm.gz") for part in ("train", "test")]
    if all(map(os.path.exists, files)):
        return ["--data", *files]
    return shape.split("x")


def record(name, commands):
    """Runs the commands and keeps their output under the benchmark's name."""
    print(f"== {name}", flush=True)
    text = f"make bench: {name}\n{cpu()}\n"
    for command, env in commands:
        done = subprocess.run(command, cwd=ROOT, env=dict(os.environ, LIMN_DATA=DATA, **env),
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout, flush=True)
        if done.returncode:
            sys.exit(f"{command[0]} failed")
        text += "\n" + done.stdout
    with open(os.path.join(RESULTS, name + ".txt"), "w", encoding="utf-8") as file:
        file.write(text.replace(DATA + "/", "").replace(ROOT + "/", ""))


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


def main():
    wanted = sys.argv[1:] or ["kernels", "scan", "knn", "svm", "vpc", "hulls", "bforest",
                              "parse", "open"]
    os.makedirs(RESULTS, exist_ok=True)
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["meson", "setup", BUILD, "--buildtype=release"], cwd=ROOT, check=True)
    subprocess.run(["ninja", "-C", BUILD], check=True, stdout=subprocess.DEVNULL)
    python = "/usr/bin/python3"
    if "kernels" in wanted:
        record("kernels", [([program("kernels")], {})])
    if "scan" in wanted:
        record("scan", [([program("scan"), *data_or_shape("letter", "16000x16")], {}),
                        ([program("scan"), *data_or_shape("mnist", "60000x784")], {})])
    if "knn" in wanted:
        real = os.path.exists(os.path.join(DATA, "mnist.train.svm.gz"))
        names = ["mnist", "letter"] if real else ["60000x784", "16000x16"]
        record("knn", [([python, "bench/peers/knn.py", name], {}) for name in names])
    if "svm" in wanted:
        record("svm", [([python, "bench/peers/svm.py", "--bench", program("svm"), "--cache",
                         os.path.join(BUILD, "bench", "svm-cache")], {})])
    if "vpc" in wanted:
        record("vpc", [([python, "bench/peers/vpc.py", "--limn", os.path.join(BUILD, "limn")],
                        {})])
    if "hulls" in wanted:
        record("hulls", [([python, "bench/papers/hulls.py", "--limn", os.path.join(BUILD, "limn")],
                          {})])
    if "bforest" in wanted:
        record("bforest", [([python, "bench/papers/bforest.py", "--limn",
                             os.path.join(BUILD, "limn")], {})])
    if "parse" in wanted:
        record("parse", [([program("parse")], {}),
                         ([python, "bench/peers/parse.py", "--parse", program("parse")], {})])
    if "open" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            record("open", [([program("open"), big_model(folder)], {})])


if __name__ == "__main__":
    main()
