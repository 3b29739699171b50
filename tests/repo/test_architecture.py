"""docs/architecture.md and CONTRIBUTING.md name only files, functions and folders that exist."""
import os
import re

from test_layers import MAY, ROOT, sources

PAGE = os.path.join(ROOT, "docs", "architecture.md")


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def walks():
    """Rows `file` | `function` of the tables."""
    return re.findall(r"\| `(src/[\w./]+)` \| `(\w+)` \|", text_of(PAGE))


def defines(path, name):
    return re.search(rf"^[\w* ]*\b{name}\b\(|^LM_DEFINE_ARGMAX\({name}\b", text_of(path), re.M)


def test_the_walks_name_functions_that_are_there():
    assert len(walks()) > 15
    for path, function in walks():
        assert os.path.exists(os.path.join(ROOT, path)), path
        assert defines(path, function), f"{path} does not define {function}"


def test_a_function_that_is_not_there_is_found():
    assert not defines("src/api.c", "limn_no_such_function")


def test_names_in_the_text_exist():
    code = "\n".join(text_of(path) for path in sources("src"))
    for name in set(re.findall(r"`((?:lm|limn|lda|bf)_\w+)(?:\.(\w+))?`", text_of(PAGE))):
        assert all(re.search(rf"\b{part}\b", code) for part in name if part), name


def test_paths_in_the_text_exist():
    for page in (PAGE, os.path.join(ROOT, "CONTRIBUTING.md"),
                 os.path.join(ROOT, "docs", "adding-a-method.md")):
        for path in re.findall(r"`((?:src|tests|cli|bench|docs|scripts|include|man)/[\w./-]*\w)`",
                               text_of(page)):
            assert os.path.exists(os.path.join(ROOT, path)), f"{page}: {path}"


def test_every_folder_has_its_line():
    folders = sorted(name for name in os.listdir(os.path.join(ROOT, "src"))
                     if os.path.isdir(os.path.join(ROOT, "src", name)))
    assert set(folders) <= set(MAY)
    for folder in folders:
        assert f"| `{folder}` |" in text_of(PAGE), folder
        assert re.search(rf"^src/{folder}/", text_of("CONTRIBUTING.md"), re.M), folder


# Only the command line may name svm, for svm-train's option letters.
NAMED = re.compile(r'"(knn|lda|svm|vpc|nah|nhd|nch|nsc|nrh|bforest|borders|student|ptree|agf|kde)"')


def named(paths):
    return [f"{path}: {match}" for path in paths for match in NAMED.findall(text_of(path))]


def test_no_method_is_known_by_name_outside_its_folder():
    src = [path for path in sources("src") if not path.startswith("src/methods/")]
    cli = [path for path in sources("cli") if path not in ("cli/options.c", "cli/verbs.c")]
    assert named(src + cli) == []
    assert named(["src/methods/knn/method.c"]) == ["src/methods/knn/method.c: knn"]
