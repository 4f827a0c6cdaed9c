#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No writable variables of file scope: globals.py [--but NAME,NAME] OBJECT...

Reads the symbol tables of the object files with nm. Constant tables that hold pointers lie in
.data.rel.ro and are fine; anything in .data, .bss, .tdata, .tbss or common is not, but for the names given."""
import subprocess
import sys

WRITABLE = (".data", ".bss", ".tdata", ".tbss", "*COM*")
FINE = (".data.rel.ro", ".data.ro")


def writable(section):
    return section.startswith(WRITABLE) and not section.startswith(FINE)


def symbols(path):
    """(name, section) of every symbol; the last column of nm's sysv format is the section."""
    out = subprocess.run(["nm", "-f", "sysv", path], check=True, text=True, capture_output=True)
    for line in out.stdout.split("\n"):
        columns = [c.strip() for c in line.split("|")]
        if len(columns) == 7:
            yield columns[0], columns[6]


def main():
    bad = 0
    paths, but = sys.argv[1:], set()
    if paths[:1] == ["--but"]:
        but, paths = set(paths[1].split(",")), paths[2:]
    for path in paths:
        for name, section in symbols(path):
            if writable(section) and name not in but:
                print(f"{path}: {name} is writable ({section}); keep state in a struct that is passed")
                bad += 1
    print(f"globals: {len(paths)} object files, {bad} finding(s)")
    sys.exit(1 if bad or not paths else 0)


main()
