#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes scr/_constants.py from the places where its facts stand: include/scr.h (constants),
src/defs/errors.def (errors) and CMakeLists.txt (version).

    generate.py            writes it
    generate.py --check    ends 1 if it is not what would be written
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = HERE / "scr" / "_constants.py"


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    match = re.search(r"^project\(scr VERSION ([\d.]+)", text, re.M)
    if match is None:
        sys.exit("generate.py: no line 'project(scr VERSION …' in CMakeLists.txt")
    return match.group(1)


def constants() -> list[tuple[str, str, str]]:
    """(name without SCR_, value, comment) of every number defined in scr.h."""
    text = (ROOT / "include" / "scr.h").read_text(encoding="utf-8").replace("\\\n", " ")
    rows = re.findall(r"^#define SCR_(\w+)\s+\(?(\d+)\)?[ \t]*(?:/\*(.*?)\*/)?", text, re.M | re.S)
    return [(name, value, " ".join(comment.split())) for name, value, comment in rows]


def errors() -> list[tuple[str, str, str]]:
    """(name, value, text) of every row of errors.def."""
    text = (ROOT / "src" / "defs" / "errors.def").read_text(encoding="utf-8")
    return re.findall(r'^X\((\w+), *(\d+), *"([^"]*)"\)', text, re.M)


def module() -> str:
    lines = [
        "# SPDX-License-Identifier: BSD-3-Clause",
        '"""Constants of scr.h and errors.def. Made by generate.py; do not edit."""',
        "",
        f'VERSION = "{version()}"',
        "",
    ]
    for name, value, comment in constants():
        lines.append(f"{name} = {value}" + (f"  # {comment}" if comment else ""))
    lines.append("")
    for name, value, text in errors():
        lines.append(f"E_{name} = {value}  # {text}")
    lines += ["", "# code: name, meaning", "ERRORS = {"]
    for name, value, text in errors():
        lines.append(f'    {value}: ("SCR_E_{name}", "{text}"),')
    return "\n".join(lines + ["}", ""])


def main() -> None:
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text(encoding="utf-8") != module():
            sys.exit(f"{TARGET.name} is not what scr.h and errors.def say; run {Path(__file__).name}")
    elif sys.argv[1:]:
        sys.exit("usage: generate.py [--check]")
    else:
        TARGET.write_text(module(), encoding="utf-8")


main()
