"""The few calls of liblimn that the benchmarks need, through ctypes and numpy."""
import ctypes as c
import os

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLASSIFY, SEARCH = 0, 2
SCALES = {"auto": 0, "none": 1, "minmax": 2, "zscore": 3, "rank": 4, "gauss": 5, "learned": 6}


# Structs begin with their size. They may end before the library's own do: the rest are defaults.

class TrainOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("method", c.c_char_p), ("params", c.POINTER(c.c_char_p)),
                ("param_count", c.c_size_t), ("scale", c.c_int)]


class PredictorOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("threads", c.c_int), ("neighbors", c.c_size_t),
                ("vote", c.c_int)]


def address(values):
    return values.ctypes.data_as(c.c_void_p)


class Limn:
    def __init__(self, library=None):
        path = library or os.environ.get("LIMN_LIBRARY",
                                         os.path.join(ROOT, "build-gcc", "src", "liblimn.so"))
        self.lib = c.CDLL(path)
        for name in ("limn_error", "limn_isa", "limn_data_class_name", "limn_model_class_name",
                     "limn_model_stat"):
            getattr(self.lib, name).restype = c.c_char_p
        for name in ("limn_data_rows", "limn_data_features", "limn_data_class_count"):
            getattr(self.lib, name).restype = c.c_size_t
        self.lib.limn_data_values.restype = c.POINTER(c.c_float)
        self.lib.limn_data_classes.restype = c.POINTER(c.c_int32)
        self.context = c.c_void_p()
        self.check(self.lib.limn_context_new(None, c.byref(self.context)))

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.limn_error(self.context).decode())

    def isa(self):
        return self.lib.limn_isa().decode()

    def read(self, path):
        """The rows of a file and the numbers that their labels are."""
        data = c.c_void_p()
        self.check(self.lib.limn_data_read(self.context, path.encode(), None, None, c.byref(data)))
        shape = self.lib.limn_data_rows(data), self.lib.limn_data_features(data)
        x = np.ctypeslib.as_array(self.lib.limn_data_values(data), shape).copy()
        y = np.ctypeslib.as_array(self.lib.limn_data_classes(data), shape[:1]).copy()
        names = [float(self.lib.limn_data_class_name(data, c.c_size_t(i)))
                 for i in range(self.lib.limn_data_class_count(data))]
        self.lib.limn_data_free(data)
        return x, np.array(names)[y].astype(int)

    def train(self, x, y, method, params=(), scale="auto", task=CLASSIFY):
        """A model; y: one number per row, or None. Free it with limn_model_free."""
        x = np.ascontiguousarray(x, np.float32)
        y = None if y is None else np.ascontiguousarray(y, np.float64)
        data, model = c.c_void_p(), c.c_void_p()
        self.check(self.lib.limn_data_from_values(
            self.context, c.c_int(task), address(x), c.c_size_t(x.shape[0]),
            c.c_size_t(x.shape[1]), None if y is None else address(y), c.byref(data)))
        texts = (c.c_char_p * max(1, len(params)))(*[p.encode() for p in params])
        options = TrainOptions(c.sizeof(TrainOptions), method.encode(), texts, len(params),
                               SCALES[scale])
        status = self.lib.limn_train(self.context, data, c.byref(options), c.byref(model))
        self.lib.limn_data_free(data)
        self.check(status)
        return model

    def predictor(self, model, threads=1, neighbors=0):
        predictor = c.c_void_p()
        wanted = PredictorOptions(c.sizeof(PredictorOptions), threads, neighbors)
        self.check(self.lib.limn_predictor_new(self.context, model, c.byref(wanted),
                                               c.byref(predictor)))
        return predictor

    def searcher(self, x, neighbors, threads=1, params=()):
        """A predictor over the rows of x for searches of up to that many neighbors."""
        return self.predictor(self.train(x, None, "knn", params, task=SEARCH), threads, neighbors)

    def search(self, predictor, x, k):
        x = np.ascontiguousarray(x, np.float32)
        rows = np.empty((len(x), k), np.int64)
        distances = np.empty((len(x), k), np.float64)
        self.check(self.lib.limn_search(predictor, address(x), c.c_size_t(len(x)), c.c_size_t(k),
                                        address(rows), address(distances)))
        return rows, distances

    def classifier(self, *how, threads=0, **more):
        """A trained model that answers; arguments as those of train."""
        return Classifier(self, self.train(*how, **more), threads)


class Classifier:
    """A model with its predictor; both end with it."""

    def __init__(self, limn, model, threads):
        self.limn, self.model = limn, model
        self.handle = limn.predictor(model, threads)
        self.names, name = [], limn.lib.limn_model_class_name(model, c.c_size_t(0))
        while name is not None:
            self.names.append(float(name))
            name = limn.lib.limn_model_class_name(model, c.c_size_t(len(self.names)))
        self.names = np.array(self.names)

    def __del__(self):
        if hasattr(self, "handle"):
            self.limn.lib.limn_predictor_free(self.handle)
        self.limn.lib.limn_model_free(self.model)

    def predict(self, x):
        """The labels that the rows of x get, as numbers."""
        x = np.ascontiguousarray(x, np.float32)
        found = np.empty(len(x), np.int32)
        self.limn.check(self.limn.lib.limn_predict(self.handle, address(x), c.c_size_t(len(x)),
                                                   address(found)))
        return self.names[found]

    def stats(self):
        found, value = {}, c.c_double()
        while True:
            name = self.limn.lib.limn_model_stat(self.model, c.c_size_t(len(found)),
                                                 c.byref(value))
            if name is None:
                return found
            found[name.decode()] = value.value
