#!/usr/bin/python3
"""Writes the parts of docs/ that the program's own tables say: scripts/docs.py LIMN [--check]

  <!-- params: NAME --> ... <!-- end -->   parameters of a method or generator (limn help NAME --as markdown)
  <!-- commands --> ... <!-- end -->       all verbs with their options (limn help --as markdown)

The table of every method stands once in docs/methods, on a page of its own or on one that describes several methods.

--check writes nothing, prints what would change and exits with 1 when that is anything.
"""
import argparse
import difflib
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"^(<!-- (?:params: (?P<name>[\w-]+)|commands) -->\n).*?^(<!-- end -->)$",
                   re.M | re.S)


def ask(limn, *words):
    done = subprocess.run([limn, *words], text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def filled(text, limn):
    """text with every marked part as the program says it."""

    def fill(block):
        name = [block["name"]] if block["name"] else []
        return block[1] + ask(limn, "help", *name, "--as", "markdown") + block[3]

    return BLOCK.sub(fill, text)


def pages(pattern):
    """The text of each page below docs/ that the pattern names, by its path in the repository."""
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", pattern), recursive=True)):
        with open(path, encoding="utf-8") as file:
            yield os.path.relpath(path, ROOT), file.read()


def misplaced(limn):
    """The methods whose table does not stand once in docs/methods (one page may describe several
    methods), and the page of commands when it lacks its part."""
    places = {method["name"]: [] for method in json.loads(ask(limn, "methods", "--json"))["methods"]}
    for page, text in pages("methods/*.md"):
        for block in BLOCK.finditer(text):
            if block["name"] in places:
                places[block["name"]].append(page)
    for name, found in places.items():
        marker = f"<!-- params: {name} --> ... <!-- end -->"
        if not found:
            yield f"docs/methods: no page has the parameters of {name}: {marker} is missing"
        elif len(found) > 1:
            yield f"{', '.join(found)}: {marker} stands {len(found)} times, once is enough"
    if not any(block[1] == "<!-- commands -->\n" for _, text in pages("commands.md")
               for block in BLOCK.finditer(text)):
        yield "docs/commands.md: <!-- commands --> ... <!-- end --> is missing"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("limn")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    limn = os.path.abspath(args.limn)
    wrong = list(misplaced(limn))
    for page, old in pages("**/*.md"):
        new = filled(old, limn)
        if new == old:
            continue
        if args.check:
            wrong.append("".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True),
                                                      page, page + " (make docs)")))
        else:
            with open(os.path.join(ROOT, page), "w", encoding="utf-8") as file:
                file.write(new)
            print("wrote", page)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
