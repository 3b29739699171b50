"""The few calls of liblimn that the benchmarks need, through ctypes and numpy."""
import ctypes as c
import os

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class TrainOptions(c.Structure):
    _fields_ = [("method", c.c_char_p), ("params", c.POINTER(c.c_char_p)),
                ("param_count", c.c_size_t), ("scale", c.c_int)]


class PredictorOptions(c.Structure):
    _fields_ = [("threads", c.c_int), ("neighbors", c.c_size_t), ("vote", c.c_int)]


class Limn:
    def __init__(self, library=None):
        path = library or os.environ.get("LIMN_LIBRARY",
                                         os.path.join(ROOT, "build-gcc", "src", "liblimn.so"))
        self.lib = c.CDLL(path)
        self.lib.limn_error.restype = c.c_char_p
        self.lib.limn_isa.restype = c.c_char_p
        self.context = c.c_void_p()
        self.check(self.lib.limn_context_new(None, c.byref(self.context)))

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.limn_error(self.context).decode())

    def isa(self):
        return self.lib.limn_isa().decode()

    def searcher(self, x, neighbors, threads=1, params=()):
        """A predictor over the rows of x for searches of up to that many neighbors."""
        x = np.ascontiguousarray(x, np.float32)
        data, model, predictor = c.c_void_p(), c.c_void_p(), c.c_void_p()
        self.check(self.lib.limn_data_from_values(
            self.context, c.c_int(2), x.ctypes.data_as(c.c_void_p), c.c_size_t(x.shape[0]),
            c.c_size_t(x.shape[1]), None, c.byref(data)))
        texts = (c.c_char_p * max(1, len(params)))(*[p.encode() for p in params])
        options = TrainOptions(b"knn", texts, len(params), 0)
        self.check(self.lib.limn_train(self.context, data, c.byref(options), c.byref(model)))
        self.lib.limn_data_free(data)
        wanted = PredictorOptions(threads, neighbors)
        self.check(self.lib.limn_predictor_new(self.context, model, c.byref(wanted),
                                               c.byref(predictor)))
        return predictor

    def search(self, predictor, x, k):
        x = np.ascontiguousarray(x, np.float32)
        rows = np.empty((len(x), k), np.int64)
        distances = np.empty((len(x), k), np.float64)
        self.check(self.lib.limn_search(
            predictor, x.ctypes.data_as(c.c_void_p), c.c_size_t(len(x)), c.c_size_t(k),
            rows.ctypes.data_as(c.c_void_p), distances.ctypes.data_as(c.c_void_p)))
        return rows, distances
