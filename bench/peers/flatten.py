"""Models of scikit-learn and xgboost as flat arrays, for forest.c, network.c and expansion.c to walk."""
import json

import numpy as np

NODE = np.dtype([("threshold", np.float32), ("feature", np.int32), ("right", np.int32)])
PAIR = np.dtype([("value", np.float64), ("class", np.int32), ("unused", np.int32)])


def at_most(thresholds):
    """The largest floats that are not above: for a float x the same comparison as x <= threshold."""
    thresholds = np.asarray(thresholds, np.float64)
    found = thresholds.astype(np.float32)
    above = found.astype(np.float64) > thresholds
    return np.where(above, np.nextafter(found, np.float32(-np.inf)), found)


class Flat:
    """Trees in depth-first order, their leaves adding to the sums of classes."""

    def __init__(self, labels, start):
        self.labels, self.start = np.asarray(labels, np.int32), np.asarray(start, np.float64)
        self.nodes, self.roots, self.lists, self.pairs = [], [], [0], []

    def add_tree(self, left, right, feature, threshold, leaf):
        """Nodes by number, 0 the root, left < 0 a leaf; leaf(i): its classes and their values."""
        self.roots.append(len(self.nodes))
        waiting = [(0, None)]
        while waiting:
            i, parent = waiting.pop()
            if parent is not None:
                self.nodes[parent][2] = len(self.nodes)
            if left[i] < 0:
                self.nodes.append(self.leaf(*leaf(i)))
            else:
                waiting += [(right[i], len(self.nodes)), (left[i], None)]
                self.nodes.append([threshold[i], feature[i], 0])

    def leaf(self, classes, values):
        if len(classes) == 1 and np.float32(values[0]) == values[0]:
            return [values[0], -1, classes[0]]
        self.pairs += [(value, c, 0) for value, c in zip(values, classes)]
        self.lists.append(len(self.pairs))
        return [0, -2, len(self.lists) - 2]

    def write(self, path):
        head = [len(self.labels), len(self.roots), len(self.nodes), len(self.pairs),
                len(self.lists) - 1]
        with open(path, "wb") as file:
            for part in (np.array(head, np.int32), self.labels, self.start,
                         np.array(self.roots, np.int32),
                         np.array([tuple(node) for node in self.nodes], NODE),
                         np.array(self.lists, np.int32), np.array(self.pairs, PAIR)):
                file.write(part.tobytes())


def sklearn_forest(forest, path):
    """RandomForestClassifier or ExtraTreesClassifier: means of the shares in the leaves."""
    flat = Flat(forest.classes_, np.zeros(len(forest.classes_)))
    for estimator in forest.estimators_:
        tree = estimator.tree_
        value = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)

        def leaf(i, value=value):
            classes = np.flatnonzero(value[i])
            return classes, value[i][classes]

        flat.add_tree(tree.children_left, tree.children_right, tree.feature,
                      at_most(tree.threshold), leaf)
    flat.write(path)


def xgboost_forest(model, labels, path):
    """XGBClassifier: sums of leaf values; of two classes the second has them all."""
    booster = model.get_booster()
    booster.save_model(path + ".model.json")
    with open(path + ".model.json", encoding="utf-8") as file:
        learner = json.load(file)["learner"]
    base = float(learner["learner_model_param"]["base_score"])
    start = [0.0, np.log(base / (1 - base))] if len(labels) == 2 else [base] * len(labels)
    flat = Flat(labels, start)
    trees = learner["gradient_booster"]["model"]
    for tree, group in zip(trees["trees"], trees["tree_info"]):
        # x < threshold goes left: as floats, x at most the float before it.
        value = np.asarray(tree["split_conditions"], np.float32)
        before = np.nextafter(value, np.float32(-np.inf))
        c = 1 if len(labels) == 2 else group
        flat.add_tree(tree["left_children"], tree["right_children"], tree["split_indices"], before,
                      lambda i, value=value, c=c: ([c], [value[i]]))
    flat.write(path)


def blocks_of(bias, weight):
    """A layer by blocks of 16 units: bias[block][16], weight[block][input][16]."""
    units = -(-len(bias) // 16) * 16
    bias = np.pad(bias, (0, units - len(bias)))
    weight = np.pad(weight, ((0, 0), (0, units - weight.shape[1])))
    weight = weight.reshape(len(weight), -1, 16).transpose(1, 0, 2)
    return bias.astype(np.float32).tobytes() + weight.astype(np.float32).tobytes(), units


def sklearn_network(net, mean, scale, path):
    """MLPClassifier with one hidden layer, trained on (x - mean) / scale."""
    first, second = (np.asarray(weights, np.float64) for weights in net.coefs_)
    first = first / scale[:, None]
    layer1, hidden = blocks_of(net.intercepts_[0] - mean @ first, first)
    layer2, _ = blocks_of(net.intercepts_[1], np.pad(second, ((0, hidden - len(second)), (0, 0))))
    head = [*first.shape, second.shape[1], len(net.classes_)]
    with open(path, "wb") as file:
        file.write(np.array(head, np.int32).tobytes())
        file.write(np.asarray(net.classes_, np.int32).tobytes())
        file.write(layer1 + layer2)


def expansion(low, factor, first, second, classes, path, gamma=0.0):
    """Two layers with exponentials (gamma > 0) or cosines between them: (bias, weight) with the inputs
    as rows of weight, for features scaled as (x - low) * factor."""
    layer1, units = blocks_of(*first)
    layer2, _ = blocks_of(second[0], np.pad(second[1], ((0, units - len(second[1])), (0, 0))))
    head = [*first[1].shape, second[1].shape[1], len(classes)]
    doubles = [[gamma], low, factor, first[0], first[1].T, second[0], second[1].T]
    with open(path, "wb") as file:
        file.write(np.array(head, np.int32).tobytes())
        for part in doubles:
            file.write(np.ascontiguousarray(part, np.float64).tobytes())
        file.write(np.asarray(classes, np.int32).tobytes())
        file.write(layer1 + layer2)
