"""What a call of scikit-learn's costs before anything happens."""
import numpy as np
from sklearn.base import BaseEstimator


class Empty(BaseEstimator):
    """Checks its rows as scikit-learn's classifiers do, and makes a label for each."""

    def fit(self, x, y):
        self._validate_data(x, y)
        self.classes_ = np.unique(y)
        return self

    def predict(self, x):
        x = self._validate_data(x, reset=False)
        return self.classes_[np.zeros(len(x), int)]
