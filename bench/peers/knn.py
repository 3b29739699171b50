"""Batch k-nearest-neighbour search: limn beside faiss IndexFlatL2 and scikit-learn brute force.

One process, one thread, interleaved, best of the rounds.

  knn.py NAME [QUERIES]      NAME: mnist, letter, ... of LIMN_DATA; or ROWSxFEATURES for random data
"""
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import openblas  # noqa: E402  (after the environment, before numpy)

import faiss  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.datasets import load_svmlight_file  # noqa: E402
from sklearn.neighbors import NearestNeighbors  # noqa: E402

from limn_ctypes import Limn  # noqa: E402
from real_data import find_split  # noqa: E402


def load(name, queries):
    if "x" in name and name.replace("x", "").isdigit():
        n, d = map(int, name.split("x"))
        rng = np.random.default_rng(1)
        return (rng.standard_normal((n, d), np.float32),
                rng.standard_normal((queries, d), np.float32))
    files = find_split(name)
    if not files:
        sys.exit(f"{name} is not in LIMN_DATA")
    train = load_svmlight_file(files[0])[0]
    test = load_svmlight_file(files[1], n_features=train.shape[1])[0]
    return train.toarray().astype(np.float32), test[:queries].toarray().astype(np.float32)


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "mnist"
    queries = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    train, test = load(name, queries)
    faiss.omp_set_num_threads(1)
    limn = Limn()
    flat = faiss.IndexFlatL2(train.shape[1])
    flat.add(train)
    brute = NearestNeighbors(algorithm="brute").fit(train)
    print(f"{name}: {len(train)} rows x {train.shape[1]} features, {len(test)} queries in one call,"
          f" one thread, limn on {limn.isa()}, OpenBLAS as {openblas.KERNEL}")
    for k in (1, 10):
        predictor = limn.searcher(train, k)
        peers = {"limn": lambda: limn.search(predictor, test, k),
                 "faiss IndexFlatL2": lambda: flat.search(test, k),
                 "sklearn brute": lambda: brute.kneighbors(test, k)}
        best = {}
        for _ in range(3):
            for peer, call in peers.items():
                start = time.perf_counter()
                call()
                best[peer] = min(best.get(peer, 1e9), time.perf_counter() - start)
        for peer, seconds in best.items():
            flops = len(train) * train.shape[1] * len(test) / seconds / 1e9
            print(f"  k={k:<3} {peer:<18} {1e6 * seconds / len(test):9.1f} us per query"
                  f"  {seconds / best['limn']:5.2f}x limn  {flops:7.1f} G multiply-adds/s")
        same = np.mean(limn.search(predictor, test, k)[0] == flat.search(test, k)[1])
        print(f"  k={k:<3} neighbours equal to faiss: {100 * same:.3f} %")


if __name__ == "__main__":
    main()
