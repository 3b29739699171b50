#!/usr/bin/python3
"""Writes the parts of docs/ that the program's own tables say: scripts/docs.py LIMN [--check]

  <!-- params: NAME --> ... <!-- end -->   parameters of a method or generator (limn help NAME --as markdown)
  <!-- commands --> ... <!-- end -->       all verbs with their options (limn help --as markdown)

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


def unmarked(limn):
    """The methods whose page lacks the table, and the page of commands when it lacks its part."""
    wanted = {f"docs/methods/{method['name']}.md": f"<!-- params: {method['name']} -->"
              for method in json.loads(ask(limn, "methods", "--json"))["methods"]}
    wanted["docs/commands.md"] = "<!-- commands -->"
    for page, marker in wanted.items():
        path = os.path.join(ROOT, page)
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        if not any(block[1] == marker + "\n" for block in BLOCK.finditer(text)):
            yield f"{page}: {marker} ... <!-- end --> is missing"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("limn")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    limn = os.path.abspath(args.limn)
    wrong = list(unmarked(limn))
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            old = file.read()
        new, page = filled(old, limn), os.path.relpath(path, ROOT)
        if new == old:
            continue
        if args.check:
            wrong.append("".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True),
                                                      page, page + " (make docs)")))
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
            print("wrote", page)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
