#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Documents that repeat something of the source: docs.py RULE SOURCE_DIR

readme  the example printed in README.md is examples/quickstart.c, byte for byte
man     every call of scr.h and every command has a man page, and every page a right NAME line
facts   every parameter, error and event is documented, and no name that is not there
code    code in C, Fortran and Python in doc/guide and in the examples of doc/man3 and man7 is part of
        a program in examples/, and what a diff there shows is part of two; synopses of doc/man3 have
        the prototypes of scr.h; there is no other kind of block that nothing tests
typed   commands, their options, targets of make and options of cmake in what readers are told to type
links   relative links of the Markdown files lead to files
"""
import glob
import os
import re
import sys
from pathlib import Path
from typing import Iterator

import defs

BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```[ \t]*$", re.M | re.S)
FENCE = re.compile(r"^```[ {.]*(\w*)[^\n]*\n(.*?)^```[ \t]*$", re.M | re.S)

# Names that look like those of the interface and are none: a reason in halt files, whole and where a
# dump of one breaks it, and a slip that a message is about.
OTHER_NAMES = {"SCR_FINALIZE_CALLED", "SCR_FINALIZE_CA", "SCR_FLUSHH", "SCR_CKPT_NAME"}


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def readme(root):
    blocks = re.findall(r"^```c\n(.*?)^```$", read(root, "README.md"), re.M | re.S)
    if read(root, "examples", "quickstart.c") not in blocks:
        yield "README.md: its ```c block differs from examples/quickstart.c"


# --- manual pages ---

def documented(root, section):
    names = {}
    for path in glob.glob(os.path.join(root, "doc", f"man{section}", "*.md*")):
        names[path] = defs.names_of(read(path))
    return names


def check_pages(pages, wanted, what):
    for path, names in sorted(pages.items()):
        if os.path.basename(path).split(".")[0] not in names:
            yield f"{path}: the NAME line does not name the page"
    have = {n for names in pages.values() for n in names}
    for name in sorted(wanted - have):
        yield f"{what} {name} has no man page"


def man(root):
    calls = set(defs.calls(Path(root)))
    commands = {c.names[0] for c in defs.commands(Path(root))}
    yield from check_pages(documented(root, 3), calls, "call")
    yield from check_pages(documented(root, 1), commands, "command")
    for section in (5, 7):
        yield from check_pages(documented(root, section), set(), "")
    for name in sorted({n for p in documented(root, 3).values() for n in p} - calls):
        yield f"doc/man3: {name} is not in scr.h"


# --- names ---

def facts(root: str) -> Iterator[str]:
    top = Path(root)
    params, lines, aliases = defs.parameters(top)
    page = read(root, "doc", "man5", "scr_params.5.md").replace("\\_", "_")
    for name in [p.name for p in params] + [line.key for line in lines] + list(aliases):
        if not re.search(rf"\b{name}\b", page):
            yield f"parameter {name} is not in doc/man5/scr_params.5.md: scr param --markdown"
    errors = read(root, "doc", "guide", "errors.md")
    for error in defs.errors(top):
        if not re.search(rf"^## {error.name}$", errors, re.M):
            yield f"error {error.name} is not in doc/guide/errors.md: what it means and what to do"
    overview = read(root, "doc", "man1", "scr.1.md")
    for command in defs.commands(top):
        if f"**{command.names[0]}**\n:   {command.summary}\n" not in overview:
            yield f"command {command.names[0]} is not in doc/man1/scr.1.md, or not as commands.def has it"
    events = read(root, "doc", "man5", "scr_event_log.5.md")
    for event in defs.events(top):
        if f"**{event}**" not in events:
            yield f"event {event} is not in doc/man5/scr_event_log.5.md"
    known = {p.name for p in params} | set(aliases) | {e.name for e in defs.errors(top)}
    known |= set(defs.calls(top)) | set(defs.constants(top)) | OTHER_NAMES
    known |= {name for key, name in defs.without_effect(top) if not key}
    known |= {call.upper() for call in defs.calls(top)} # in Fortran
    for path in [top / "CMakeLists.txt", *top.glob("cmake/*.cmake"), *top.glob("bindings/*/CMakeLists.txt")]:
        known |= set(re.findall(r"\b(?:set|option|find_program)\((SCR_\w+)", path.read_text(encoding="utf-8")))
    yield from unknown_names(root, known)


def unknown_names(root: str, known: set[str]) -> Iterator[str]:
    """Words SCR_… in prose that the source does not have."""
    for path in sorted(Path(root, "doc").glob("**/*.md")):
        prose = re.sub(r"\A% .*", "", FENCE.sub("", path.read_text(encoding="utf-8")))
        for name in sorted(set(re.findall(r"(?<![\w$-])SCR_\w+", prose)) - known):
            yield f"{path.relative_to(root)}: there is no {name}"


# --- code ---

def dedented(lines: list[str]) -> list[str]:
    indent = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    return [x[indent:].rstrip() for x in lines]


def contains(program: list[str], part: list[str]) -> bool:
    """Whether the lines are some of the program's, one after the other, but for indentation."""
    n = len(part)
    first = part[0].strip()
    return any(line.strip() == first and dedented(program[i:i + n]) == part
               for i, line in enumerate(program))


def pieces(kind: str, text: str) -> Iterator[list[str]]:
    """What has to be found: the block, or of each hunk of a diff what was and what is."""
    if kind != "diff":
        yield dedented(text.rstrip("\n").split("\n"))
        return
    for hunk in re.split(r"^@@\n", text, flags=re.M):
        for gone in "+-":
            side = [x[1:] for x in hunk.split("\n") if x and x[0] != gone]
            if side:
                yield dedented(side)


# Blocks of code and the programs they are part of, and blocks that tests/docs runs or compares.
PROGRAMS = {"c": ("c",), "diff": ("c",), "fortran": ("f90", "f"), "python": ("py",), "cpp": ("cpp",)}
RUN = {"{.sh .run}", "{.text .output}", "{.ini .conf}"}
# Not run: what builds and installs SCR, which has happened when tests run.
TYPED = {"doc/guide/quick-start.md": "sh"}


def programs(root: str, kind: str) -> list[list[str]]:
    return [p.read_text(encoding="utf-8").split("\n") for suffix in PROGRAMS[kind]
            for p in sorted(Path(root, "examples").glob(f"**/*.{suffix}"))]


def synopsis(root: str, where: str, text: str) -> Iterator[str]:
    declared = {" ".join(p.split()) for p in defs.prototypes(Path(root)).values()}
    shown = [" ".join(p.split()) for p in re.findall(r"^([^#\s][^;]*);", text.partition("\n```c\n")[2].partition("\n```")[0], re.M)]
    if not shown:
        yield f"{where}: no synopsis"
    yield from (f"{where}: scr.h has no '{p}'" for p in shown if p not in declared)


def code(root: str) -> Iterator[str]:
    known = {kind: programs(root, kind) for kind in PROGRAMS}
    for path in sorted([*Path(root, "doc").glob("**/*.md"), *Path(root, "examples").glob("**/*.md")]):
        where, text = str(path.relative_to(root)), path.read_text(encoding="utf-8")
        if path.parent.name == "man3":
            yield from synopsis(root, where, text)
        if path.parent.name.startswith("man"):
            text = text.partition("\n# SYNOPSIS")[0] + text.partition("\n# DESCRIPTION")[2]
        if path.parent.name == "man3" and "\n```c\n" not in text:
            yield f"{where}: no example"
        for info, block in BLOCK.findall(text):
            if info in PROGRAMS:
                yield from (f"{where}: no program in examples/ has the lines that begin with '{part[0]}'"
                            for part in pieces(info, block) if not any(contains(p, part) for p in known[info]))
            elif info and info not in RUN and TYPED.get(where) != info:
                yield f"{where}: a block '{info}' that nothing tests"


# --- what readers are told to type ---

def said_to_type(text: str) -> str:
    """Blocks of code and code in lines, their continued lines joined."""
    blocks = [block for _, block in BLOCK.findall(text)] + re.findall(r"^ {4,}\S.*", text, re.M)
    return "\n".join(blocks + re.findall(r"`([^`\n]+)`", text)).replace("\\\n", " ")


def typed(root: str) -> Iterator[str]:
    top = Path(root)
    command_of = {name: c.names[0] for c in defs.commands(top) for name in c.names}
    pages = {p.name.split(".")[0]: p.read_text(encoding="utf-8") for p in top.glob("doc/man1/*.md")}
    pages["scr_param"] += "**\\--markdown**" # is for make html, and not listed
    targets = set(re.findall(r"^([a-z-]+(?: [a-z-]+)*):", read(root, "Makefile"), re.M))
    targets = {t for group in targets for t in group.split()}
    cmake = "".join(p.read_text(encoding="utf-8") for p in [*top.glob("**/CMakeLists.txt"), *top.glob("cmake/*.cmake")])
    for path in sorted([*top.glob("*.md"), *top.glob("doc/**/*.md"), *top.glob("examples/**/*.md")]):
        where, text = path.relative_to(top), said_to_type(path.read_text(encoding="utf-8"))
        for target in re.findall(r"(?:^|&& )make ([a-z-]+)(?!\S)", text, re.M):
            if target not in targets:
                yield f"{where}: the Makefile has no target {target}"
        for option in set(re.findall(r"-D(SCR_\w+)=", text)):
            if option not in cmake:
                yield f"{where}: CMake has no option {option}"
        for name, rest in re.findall(r"\bscr[ _]([a-z_]+\b)([^\n|;&`#]*)", text):
            if f"scr_{name}" in command_of and command_of[f"scr_{name}"] != "scr_run":
                page = pages[command_of[f"scr_{name}"]]
                for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", rest.partition(" -- ")[0]):
                    if f"\\{option}" not in page and option not in ("--help", "--version"):
                        yield f"{where}: scr_{name} has no option {option}"


# --- links ---

def links(root: str) -> Iterator[str]:
    top = Path(root)
    for path in sorted([*top.glob("*.md"), *top.glob("doc/**/*.md"), *top.glob("examples/**/*.md")]):
        prose = FENCE.sub("", path.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", prose):
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                yield f"{path.relative_to(root)}: link to {target}, which is not there"


RULES = {f.__name__: f for f in (readme, man, facts, code, typed, links)}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in RULES:
        sys.exit(f"usage: docs.py {'|'.join(RULES)} SOURCE_DIR")
    findings = list(RULES[sys.argv[1]](sys.argv[2]))
    for text in findings:
        print(text)
    print(f"{sys.argv[1]}: {len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


main()
