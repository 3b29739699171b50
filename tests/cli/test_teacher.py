"""limn train --teacher: refusals; tests/unit/test_teach.c tests what it does."""

import pytest


@pytest.fixture
def train(fails, train_csv):
    def run(*options, code=2):
        return fails(code, "train", train_csv, "-m", "knn", "-o", "new.limn", *options)
    return run


def test_a_method_that_takes_no_teacher_says_so(train, model, tmp_path):
    sentence = ("limn: knn cannot learn from a teacher; see 'limn methods' for "
                "methods that can (can: teacher)")
    assert train("--teacher", "lda") == sentence
    assert train("--teacher", model) == sentence
    assert train("--teacher", "lda", "-p", "teacher.shrinkage=auto") == sentence
    assert not (tmp_path / "new.limn").exists()


def test_parameters_of_a_teacher_need_a_method_that_teaches(train, model):
    assert "there is no teacher; name its method with --teacher METHOD" in train("-p", "teacher.k=3")
    assert "is not a method but a model file, which is already trained" in train("--teacher", model, "-p", "teacher.k=3")


def test_a_teacher_that_is_not_there(train):
    assert train("--teacher", "nobody.limn", code=1).startswith("limn: nobody.limn: cannot open")


def test_a_teacher_that_is_no_model(train, train_csv):
    assert str(train_csv) in train("--teacher", train_csv, code=4)


def test_what_the_teacher_decides_cannot_be_given(train, model):
    for option in (["--weights", "x"], ["--categorical", "x"], ["--missing", "median"]):
        assert train("--teacher", model, *option).endswith("leave it out")
    assert "add --task classify" in train("--teacher", model, "--task", "regress")


def test_the_teacher_is_not_replaced(fails, train_csv, model):
    assert "would replace" in fails(2, "train", train_csv, "-m", "knn", "-o", model, "--teacher",
                                    model)


def test_a_parameter_of_the_method_is_still_checked(train):
    assert "no parameter" in train("--teacher", "lda", "-p", "teacher.k=3", "-p", "kk=3")
