#!/usr/bin/python3
"""Writes the parts of docs/ that are generated from the program's tables: scripts/docs.py LIMN [--check]

  <!-- params: NAME --> ... <!-- end -->   parameters of a method or generator (limn help NAME --as markdown)
  <!-- commands --> ... <!-- end -->       all verbs with their options (limn help --as markdown)

The table of every method appears once in docs/methods, on its own page or on a page about several methods.

--check writes nothing; it prints what would change and exits with 1 if anything would.
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


def pages(pattern):
    """Path in the repository and text of each page below docs/ that matches the pattern."""
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", pattern), recursive=True)):
        with open(path, encoding="utf-8") as file:
            yield os.path.relpath(path, ROOT), file.read()


def tables():
    """For each method, the pages of docs/methods that have its table, once per occurrence."""
    places = {}
    for page, text in pages("methods/*.md"):
        for block in BLOCK.finditer(text):
            if block["name"]:
                places.setdefault(block["name"], []).append(page)
    return places


def filled(text, limn, places):
    """text with every marked part generated; links to methods lead to the page with their table."""

    def link(match):
        page = places.get(match[1], [f"docs/methods/{match[1]}.md"])[0]
        return f"(methods/{os.path.basename(page)})"

    def fill(block):
        name = [block["name"]] if block["name"] else []
        said = ask(limn, "help", *name, "--as", "markdown")
        return block[1] + re.sub(r"\(methods/([\w-]+)\.md\)", link, said) + block[3]

    return BLOCK.sub(fill, text)


def misplaced(limn, places):
    """Errors for methods whose table does not appear exactly once in docs/methods (one page may describe
    several methods), and for the page of commands if its part is missing."""
    for method in json.loads(ask(limn, "methods", "--json"))["methods"]:
        name, found = method["name"], places.get(method["name"], [])
        marker = f"<!-- params: {name} --> ... <!-- end -->"
        if not found:
            yield f"docs/methods: no page has the parameters of {name}: {marker} is missing"
        elif len(found) > 1:
            yield f"{', '.join(found)}: {marker} appears {len(found)} times; keep one"
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
    places = tables()
    wrong = list(misplaced(limn, places))
    for page, old in pages("**/*.md"):
        new = filled(old, limn, places)
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
