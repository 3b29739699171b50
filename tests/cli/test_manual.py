"""Manual pages, Markdown and shell completion agree with the tables of options, methods and
generators.

The expected contents come from the help text and from limn methods --json, which other code prints.
"""

import glob
import json
import os
import re
import shutil
import subprocess

import pytest
from table import LIMN, TIMEOUT, environment


def ask(*words):
    return subprocess.run([LIMN, *words], env=environment(), text=True, check=True, timeout=TIMEOUT,
                          capture_output=True).stdout


def overview_verbs():
    text = ask("help")
    return re.findall(r"^  (\w+) ", text[text.index("\nVerbs:"):], re.M)


VERBS = overview_verbs()
METHODS = {m["name"]: m for m in json.loads(ask("methods", "--json"))["methods"]}
GENERATORS = re.findall(r"^(\w+) ", ask("synth"), re.M)[:-1]  # the last line is a hint


def options(verb):
    """{name: (letter, argument)} according to the help text."""
    found = re.findall(r"^  (?:-(\w), |    )--([\w-]+)(?: (\S+))?", ask("help", verb), re.M)
    return {name: (letter, argument) for letter, name, argument in found}


def generator_keys(name):
    return re.findall(r"^  (\w+)=", ask("synth", name), re.M)


def test_the_tables_were_found():
    assert {"train", "predict", "synth", "help"} <= set(VERBS)
    assert {"knn", "lda"} <= set(METHODS) and "mixture" in GENERATORS
    assert options("train")["method"] == ("m", "METHOD") and options("train")["json"] == ("", "")
    assert all("help" in options(verb) for verb in VERBS)
    assert "classes" in generator_keys("mixture")


# ---- limn help --as ----

@pytest.mark.parametrize("words, part", [
    (["help", "train", "--as", "bash"], "leave out train"),
    (["help", "knn", "--as", "zsh"], "leave out knn"),
    (["help", "knn", "--as", "man"], "limn help methods --as man"),
    (["help", "mixture", "--as", "man"], "limn help synth --as man"),
    (["help", "--as", "html"], "one of text|man|markdown|bash|zsh"),
    (["help", "zzzzzz", "--as", "man"], "no verb zzzzzz"),
])
def test_what_cannot_be_printed_is_refused(fails, words, part):
    assert part in fails(2, *words)


def test_help_of_a_method_or_generator_is_its_parameter_table():
    assert ask("help", "knn") == ask("methods", "knn")
    assert ask("help", "mixture") == ask("synth", "mixture")
    assert ask("help", "train", "--as", "text") == ask("train", "--help")


# ---- manual pages ----

def page_name(verb):
    return f"limn-{verb}.1" if verb else "limn.1"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    for verb in ["", *VERBS]:
        words = ["help", verb, "--as", "man"] if verb else ["help", "--as", "man"]
        (folder / page_name(verb)).write_text(ask(*words))
    return folder


def shown(path):
    """The page as a reader sees it: words separated by single blanks, hyphenation at line ends
    undone."""
    command = (["groff", "-man", "-Tascii", "-P-c", "-ww", "-rHY=0"] if shutil.which("groff")
               else ["mandoc", "-Tascii"])
    done = subprocess.run([*command, path], text=True, capture_output=True, timeout=TIMEOUT)
    assert done.returncode == 0 and done.stderr == "", (path, done.stderr)
    text = re.sub(r"(?<=\w)-\n\s+(?=\w)", "-", re.sub(".\b", "", done.stdout))
    return re.sub(r"\s+", " ", text)


needs_roff = pytest.mark.skipif(not shutil.which("groff") and not shutil.which("mandoc"),
                                reason="needs groff or mandoc")


@needs_roff
@pytest.mark.parametrize("verb", ["", *VERBS])
def test_a_page_is_typeset_without_a_warning_and_has_all_sections(pages, verb):
    text = shown(pages / page_name(verb))
    places = [text.index(f" {section} ") for section in
              ("NAME", "SYNOPSIS", "EXAMPLES", "DESCRIPTION", "OPTIONS", "EXIT STATUS",
               "ENVIRONMENT", "SEE ALSO")]
    assert places == sorted(places)
    assert "LIMN_ISA" in text and "NO_COLOR" in text and " 130 interrupted" in text
    for other in VERBS:
        assert other == verb or f"limn-{other}(1)" in text


@pytest.mark.skipif(not shutil.which("man") or not shutil.which("groff"), reason="needs man-db")
@pytest.mark.parametrize("verb", ["", *VERBS])
def test_man_has_no_warning(pages, verb):
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l",
                           str(pages / page_name(verb))], text=True, capture_output=True,
                          env=environment(LC_ALL="C.UTF-8", MANWIDTH="80"), timeout=TIMEOUT)
    if "unrecognized option" in done.stderr or "minimized" in done.stdout:
        pytest.skip("man is not the one of man-db")
    assert done.stderr == ""


@needs_roff
@pytest.mark.parametrize("verb", VERBS)
def test_a_page_has_every_option_with_its_help_and_the_examples_can_be_copied(pages, verb):
    text, said = shown(pages / page_name(verb)), ask("help", verb)
    for name, (letter, argument) in options(verb).items():
        head = f"-{letter}, --{name}" if letter else f"--{name}"
        assert f" {head} {argument}".rstrip() + " " in text, head
    heads = r"^  (?:-\w, |    )--[\w-]+(?: \S+)?"
    for help_text in re.split(heads, re.split(r"^[\w ]+ptions:$", said, flags=re.M)[1],
                              flags=re.M)[1:]:
        words = re.sub(r"\s+", " ", re.split(r"\n\n", help_text)[0]).strip()
        assert words and words in text
    for example in re.findall(r"^  (.*)$", said[:said.index("\nusage:")], re.M):
        assert re.sub(r"\s+", " ", example.strip()) in text


@needs_roff
def test_methods_and_generators_are_in_the_pages_of_their_verbs(pages):
    text = shown(pages / "limn-methods.1")
    for name, method in METHODS.items():
        assert f" {name} {method['summary']}"[len(name) + 3:] in text
        for param in method["params"]:
            assert f" {param['key']}={param['default']} {param['help']}" in text
    text = shown(pages / "limn-synth.1")
    for name in GENERATORS:
        assert f" {name} " in text
        for key in generator_keys(name):
            assert f" {key}=" in text


def test_roff_source_holds_no_character_that_would_be_changed(pages):
    for path in pages.glob("*.1"):
        for line in path.read_text().splitlines():
            assert line.isascii()
            assert not re.match(r"['.](?!\\\"|TH |ad l$|SH |SS |TP$|PP$|EX$|EE$)", line), line
            # An unescaped hyphen occurs only between letters.
            if line.startswith('.\\"'):
                continue
            bare = re.sub(r"\\-|\\\[u\w+\]", "", line)
            assert not re.search(r"(?<![A-Za-z])-|-(?![A-Za-z])", bare), line


@pytest.mark.skipif(not os.environ.get("LIMN_BUILD"), reason="LIMN_BUILD names no build")
def test_the_build_makes_a_page_for_every_verb_and_both_scripts():
    folder = os.path.join(os.environ["LIMN_BUILD"], "man")
    made = {os.path.basename(path): open(path, encoding="utf-8").read()
            for path in glob.glob(os.path.join(folder, "*")) if os.path.isfile(path)}
    assert {name for name in made if name.endswith(".1")} == {page_name(v) for v in ["", *VERBS]}
    assert made["limn.1"] == ask("help", "--as", "man")
    assert made["limn"] == ask("help", "--as", "bash")
    assert made["_limn"] == ask("help", "--as", "zsh")


# ---- Markdown ----

@pytest.mark.parametrize("verb", VERBS)
def test_markdown_of_a_verb_has_every_option(verb):
    text = ask("help", verb, "--as", "markdown")
    assert text.startswith(f"## limn {verb}\n") and "```sh\n" not in text
    assert text in ask("help", "--as", "markdown")
    for name, (letter, argument) in options(verb).items():
        code = f"--{name} {argument}".strip().replace("|", r"\|")
        assert f"| `-{letter}`, `{code}` |" in text if letter else f"| `{code}` |" in text
    for line in text.splitlines():
        if line.startswith("| `"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 5), line


@pytest.mark.parametrize("name", [*METHODS, *GENERATORS])
def test_markdown_of_a_method_or_generator_is_its_parameter_table(name):
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", ask("help", name, "--as", "markdown"), re.M)
    if name in METHODS:
        assert rows == [(p["key"], p["default"]) for p in METHODS[name]["params"]]
    else:
        assert [key for key, _ in rows] == generator_keys(name)


# ---- bash ----

needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")

DRIVER = """
source "$1"; shift
IFS=,  # whatever the user's shell uses
COMP_WORDBREAKS=$1; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_limn limn "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory):
    path = tmp_path_factory.mktemp("bash") / "limn"
    path.write_text(ask("help", "--as", "bash"))
    return path


def split(line):
    """The words of a line as bash's completion sees them: split at blanks and around =."""
    return [part for word in line.split(" ") for part in re.findall(r"=+|[^=]+", word) or [""]]


@pytest.fixture
def bash(bash_script, tmp_path):
    """What is offered at the end of a line; None: the shell's own file names."""

    def complete(line, equals_breaks=True):
        breaks = " \t\n\"'><=;|&(:" if equals_breaks else " \t\n\"'><;|&(:"
        words = split(line) if equals_breaks else line.split(" ")
        done = subprocess.run([shutil.which("bash"), "--norc", "--noprofile", "-c", DRIVER, "bash",
                               str(bash_script), breaks, *words], cwd=tmp_path, text=True,
                              capture_output=True, timeout=TIMEOUT, env=environment(PATH=""))
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return sorted(done.stdout.split())

    return complete


@needs_bash
def test_bash_reads_the_script_and_it_calls_no_program(bash_script):
    done = subprocess.run(["bash", "-n", str(bash_script)], text=True, capture_output=True)
    assert done.returncode == 0 and done.stderr == ""
    assert "$(limn" not in bash_script.read_text() and "`" not in bash_script.read_text()


@needs_bash
def test_bash_completes_verbs(bash):
    assert bash("limn ") == sorted([*VERBS, "--help", "--version"])
    assert bash("limn tr") == ["train"]
    assert bash("limn help ") == sorted(VERBS)
    assert bash("limn help train ") == []
    assert bash("limn zzzzzz ") == []


@needs_bash
@pytest.mark.parametrize("verb", VERBS)
def test_bash_completes_options_and_choices_of_every_verb(bash, verb):
    known = options(verb)
    wanted = [f"--{name}" for name in known] + [f"-{letter}" for letter, _ in known.values() if letter]
    assert bash(f"limn {verb} -") == sorted(wanted)
    assert bash(f"limn {verb} --q") == ["--quiet"]
    for name, (_, argument) in known.items():
        if "|" in argument:
            choices = argument.split("|")
            assert bash(f"limn {verb} --{name} ") == sorted(choices)
            assert bash(f"limn {verb} --{name}=") == sorted(choices)
            assert bash(f"limn {verb} --{name}={choices[-1]}") == [choices[-1]]
            assert bash(f"limn {verb} --{name}={choices[-1]}", equals_breaks=False) == \
                [f"--{name}={choices[-1]}"]


@needs_bash
def test_bash_completes_methods_and_their_parameters(bash):
    for line in ("limn train -m ", "limn train --method ", "limn train a.csv --method=",
                 "limn methods "):
        assert bash(line) == sorted(METHODS)
    for name, method in METHODS.items():
        keys = sorted(param["key"] + "=" for param in method["params"])
        for line in (f"limn train a.csv -m {name} -p ", f"limn train --method={name} --param ",
                     f"limn train -m{name} -o x -p ", f"limn train -q -m {name} a.csv --param="):
            assert bash(line) == keys, line
        for param in method["params"]:
            choices = (param["choices"] or "").split("|") if param["choices"] else []
            choices += ["auto"] if param["auto"] else []
            assert bash(f"limn train -m {name} -p {param['key']}=") == sorted(choices)
            assert bash(f"limn train -m {name} --param={param['key']}=") == sorted(choices)
    assert bash("limn train -m knn -p me") == ["metric="]
    assert bash("limn train -m knn -p k=3 -p metric=c") == ["cosine"]
    assert bash("limn train -m knn --param=metric=c", equals_breaks=False) == ["--param=metric=cosine"]
    assert bash("limn train -p ") == [] and bash("limn train -m zzzzzz -p ") == []


@needs_bash
def test_bash_completes_generators_and_their_parameters(bash):
    assert bash("limn synth ") == sorted(GENERATORS)
    assert bash("limn synth -n 10 -o x.csv ") == sorted(GENERATORS)
    assert bash("limn synth mixture ") == []
    for name in GENERATORS:
        keys = sorted(key + "=" for key in generator_keys(name))
        assert bash(f"limn synth {name} -p ") == keys
        assert bash(f"limn synth -n 10 --seed=3 {name} -p x=1 --param ") == keys


@needs_bash
def test_bash_leaves_file_names_to_the_shell_and_offers_nothing_for_numbers(bash_script, bash):
    # In real completion the shell knows whether to add file names; here compopt records it.
    spy = 'compopt() { printf "%s " "$@"; }; ' + DRIVER
    def asked(line):
        return subprocess.run(["bash", "--norc", "--noprofile", "-c", spy, "bash", str(bash_script),
                               " =", *split(line)], text=True, capture_output=True,
                              timeout=TIMEOUT).stdout.strip()
    for line in ("limn train ", "limn train -o ", "limn train --label-file=", "limn predict m ",
                 "limn train -m knn -- ", "limn train -- -"):
        assert bash(line) == [] and asked(line) == "", line
    for line in ("limn train --seed ", "limn train --label ", "limn train a.csv ", "limn info m ",
                 "limn train --delimiter="):
        assert bash(line) == [] and asked(line) == "+o default", line
    assert asked("limn train -m knn -p met") == "-o nospace +o default metric="


# ---- zsh ----

@pytest.fixture(scope="module")
def zsh_script(tmp_path_factory):
    path = tmp_path_factory.mktemp("zsh") / "_limn"
    path.write_text(ask("help", "--as", "zsh"))
    return path


def test_the_zsh_script_has_every_verb_option_method_and_generator(zsh_script):
    text = zsh_script.read_text()
    assert text.startswith("#compdef limn\n") and "$(limn" not in text
    for verb in VERBS:
        assert f"        '{verb}:" in text
        begin = text.index(f"_limn_verb_{verb}() {{\n")
        body = text[begin:text.index("\n}\n", begin)]
        for name, (letter, argument) in options(verb).items():
            value = "=" if argument else ""
            assert (f"{{-{letter}{'+' if argument else ''},--{name}{value}}}'[" in body if letter
                    else f"'--{name}{value}[" in body), (verb, name)
            if "|" in argument:
                assert f":{name}:({argument.replace('|', ' ')})'" in body
    for name in [*METHODS, *GENERATORS]:
        assert f"        '{name}:" in text


needs_zsh = pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")


@needs_zsh
def test_zsh_reads_the_script(zsh_script):
    done = subprocess.run(["zsh", "-n", str(zsh_script)], text=True, capture_output=True)
    assert done.returncode == 0 and done.stderr == ""


@needs_zsh
def test_zsh_finds_the_parameters_of_what_the_line_names(zsh_script):
    program = ("compdef() { }; source $1; shift; words=($@); _limn_owner $1; "
               "_limn_items $owner:$key; print -l -- $items")

    def items(line, key=""):
        done = subprocess.run(["zsh", "-f", "-c", f"key={key}; {program}", "zsh", str(zsh_script),
                               *line.split(" ")], text=True, capture_output=True, timeout=TIMEOUT)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return [item.split(":")[0] for item in done.stdout.splitlines() if item]

    for name, method in METHODS.items():
        keys = [param["key"] for param in method["params"]]
        for line in (f"train -m {name} -p", f"train --method={name} -p", f"train -m{name} -p"):
            assert items(line) == keys
    assert items("train -m knn -p metric=", "metric") == ["l2", "l1", "cosine"]
    assert items("train -p") == []
    for name in GENERATORS:
        assert items(f"synth {name} -p") == generator_keys(name)
