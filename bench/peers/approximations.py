"""scikit-learn's approximations of a kernel machine: features of the kernel and a linear svm on them.

The linear part is LinearSVC with the C of the svm, in the primal. LogisticRegression with the same C
errs more on most sets (letter, pendigits, satimage and ijcnn1 with Nystroem(300): 9.9, 2.3, 11.3 and
3.4 % against 11.4, 2.5, 11.8 and 4.3 %; a9a: 14.9 against 14.7 %). With RBFSampler it is the other way
on some (satimage: 13.1 against 11.7 %).
"""
import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.svm import LinearSVC

import flatten
from python_models import scaling

SIZES = (100, 300, 1000)
ROWS = 10000               # that are predicted at a time


class Approximation:
    """Scales its rows as limn does."""

    def __init__(self, features, svm):
        self.c, self.gamma, self.scale = svm
        self.features = features
        self.linear = LinearSVC(C=self.c, dual=False, random_state=1)

    def fit(self, x, y):
        self.low, self.factor = scaling(self.scale, x)
        self.linear.fit(self.features.fit_transform(self.scaled(x)), y)
        return self

    def scaled(self, x):
        return (x.astype(np.float64) - self.low) * self.factor

    def predict(self, x):
        return np.concatenate([self.linear.predict(self.features.transform(self.scaled(x[i:i + ROWS])))
                               for i in range(0, len(x), ROWS)])


class Vectors(Approximation):
    """A kernel expansion: what makes features of the kernels is folded into the weights."""

    def __init__(self, size, svm):
        super().__init__(Nystroem(gamma=svm[1], n_components=size, random_state=1), svm)

    def distinct(self):
        """Vectors without copies, and the number of each component among them."""
        return np.unique(self.features.components_, axis=0, return_inverse=True)

    def size_in_words(self):
        return f"{len(self.distinct()[0])} vectors"

    def flatten(self, path):
        vectors, inverse = self.distinct()
        weight = np.zeros((len(vectors), len(self.linear.coef_)))
        np.add.at(weight, inverse, self.features.normalization_.T @ self.linear.coef_.T)
        first = -self.gamma * (vectors ** 2).sum(axis=1), 2 * self.gamma * vectors.T
        flatten.expansion(self.low, self.factor, first, (self.linear.intercept_, weight),
                          self.linear.classes_, path, self.gamma)


class Waves(Approximation):
    """Random Fourier features: cosines of random directions."""

    def __init__(self, size, svm):
        super().__init__(RBFSampler(gamma=svm[1], n_components=size, random_state=1), svm)

    def size_in_words(self):
        return f"{self.features.n_components} cosines"

    def flatten(self, path):
        first = self.features.random_offset_, self.features.random_weights_
        weight = np.sqrt(2 / self.features.n_components) * self.linear.coef_.T
        flatten.expansion(self.low, self.factor, first, (self.linear.intercept_, weight),
                          self.linear.classes_, path)


def approximations(svm):
    """Kind of bench_front and maker of each model by name."""
    return {**{f"Nystroem({size})": ("expansion", lambda s=size: Vectors(s, svm)) for size in SIZES},
            **{f"RBFSampler({size})": ("fourier", lambda s=size: Waves(s, svm)) for size in SIZES}}
