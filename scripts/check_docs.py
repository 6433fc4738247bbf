#!/usr/bin/env python3
"""Checks what the documents promise: links lead somewhere, snippets are the code that is compiled,
and every Note [Name] that a comment refers to is written somewhere.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
# <!-- path --> before a code block: the block is a part of that file.
SNIPPET = re.compile(r"<!-- (\S+) -->\n```\w*\n(.*?)```", re.S)
NOTE = re.compile(r"Note \[([^\]]+)\]")


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True,
                         check=True)
    return [ROOT / line for line in out.stdout.splitlines()]


def check_document(path):
    text = path.read_text()
    name = path.relative_to(ROOT)
    for link in LINK.findall(text):
        if "://" not in link and not (path.parent / link).exists():
            yield f"{name}: the link '{link}' leads nowhere"
    for source, code in SNIPPET.findall(text):
        if code.strip() not in (ROOT / source).read_text():
            yield f"{name}: the snippet is not what {source} says"


def check_notes(paths):
    told, asked = set(), {}
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for note in NOTE.findall(line):
                # A note begins its line; everything else refers to one.
                if re.match(r"^[\s/#*]*Note \[", line):
                    told.add(note)
                else:
                    asked.setdefault(note, f"{path.relative_to(ROOT)}:{number}")
    for note, where in sorted(asked.items()):
        if note not in told:
            yield f"{where}: Note [{note}] is written nowhere"


def main():
    documents = [p for p in tracked("*.md") if "tests/cases" not in str(p)]
    bad = [fault for path in documents for fault in check_document(path)]
    bad += check_notes(documents + tracked("*.h", "*.cc"))
    print("\n".join(bad) if bad else "docs: ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
