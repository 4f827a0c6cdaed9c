#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Documents that repeat something of the source: docs.py readme|man SOURCE_DIR

readme  the example printed in README.md is examples/quickstart.c, byte for byte
man     every call of scr.h and every command has a man page, and every page a right NAME line
"""
import glob
import os
import re
import sys


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def readme(root):
    blocks = re.findall(r"^```c\n(.*?)^```$", read(root, "README.md"), re.M | re.S)
    if read(root, "examples", "quickstart.c") not in blocks:
        yield "README.md: its ```c block differs from examples/quickstart.c"


def names_of(path):
    """Names before the dash of the line below '# NAME'."""
    match = re.search(r"^# NAME\n+([^\n]+?) (?:-|--|\\-) \S", read(path), re.M)
    return [n.strip() for n in match.group(1).split(",")] if match else []


def documented(root, section):
    names = {}
    for path in glob.glob(os.path.join(root, "doc", f"man{section}", "*.md*")):
        names[path] = names_of(path)
    return names


def check_pages(pages, wanted, what):
    for path, names in sorted(pages.items()):
        if os.path.basename(path).split(".")[0] not in names:
            yield f"{path}: the NAME line does not name the page"
    have = {n for names in pages.values() for n in names}
    for name in sorted(wanted - have):
        yield f"{what} {name} has no man page"


def man(root):
    calls = set(re.findall(r"^SCR_API [^;(]*?\*?(SCR_\w+)\(", read(root, "include", "scr.h"), re.M))
    rows = re.findall(r'^X\(\w+, *"([^" ]+)', read(root, "src", "defs", "commands.def"), re.M)
    yield from check_pages(documented(root, 3), calls, "call")
    yield from check_pages(documented(root, 1), set(rows), "command")
    for section in (5, 7):
        yield from check_pages(documented(root, section), set(), "")
    for name in sorted({n for p in documented(root, 3).values() for n in p} - calls):
        yield f"doc/man3: {name} is not in scr.h"


RULES = {"readme": readme, "man": man}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in RULES:
        sys.exit(f"usage: docs.py {'|'.join(RULES)} SOURCE_DIR")
    findings = list(RULES[sys.argv[1]](sys.argv[2]))
    for text in findings:
        print(text)
    print(f"{sys.argv[1]}: {len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


main()
