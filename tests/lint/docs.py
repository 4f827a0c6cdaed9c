#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Documents that repeat something of the source: docs.py RULE SOURCE_DIR

readme  the example printed in README.md is examples/quickstart.c, byte for byte
man     every call of scr.h and every command has a man page, and every page a right NAME line
facts   every parameter, error and event is documented, and no name that is not there
code    C code in doc/guide and in the examples of doc/man3 is part of a program in examples/, and
        what a diff there shows is part of two
links   relative links of the Markdown files lead to files
"""
import glob
import os
import re
import sys
from pathlib import Path
from typing import Iterator

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "doc", "html"))
import defs  # noqa: E402

FENCE = re.compile(r"^```[ {.]*(\w*)[^\n]*\n(.*?)^```[ \t]*$", re.M | re.S)

# Names that look like those of the interface and are none: a reason in halt files, whole and where a
# dump of one breaks it, and a slip that a message is about.
OTHER_NAMES = {"SCR_FINALIZE_CALLED", "SCR_FINALIZE_CA", "SCR_FLUSHH"}


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
    if kind == "c":
        yield dedented(text.rstrip("\n").split("\n"))
        return
    for hunk in re.split(r"^@@\n", text, flags=re.M):
        for gone in "+-":
            side = [x[1:] for x in hunk.split("\n") if x and x[0] != gone]
            if side:
                yield dedented(side)


def code(root: str) -> Iterator[str]:
    programs = [p.read_text(encoding="utf-8").split("\n") for p in sorted(Path(root, "examples").glob("**/*.c"))]
    for path in sorted([*Path(root, "doc", "guide").glob("*.md"), *Path(root, "doc", "man3").glob("*.md")]):
        text = path.read_text(encoding="utf-8")
        if path.parent.name == "man3":
            text = text.partition("\n# EXAMPLE")[2]
            if "\n```c\n" not in text:
                yield f"{path.relative_to(root)}: no example"
        for kind, block in FENCE.findall(text):
            if kind not in ("c", "diff"):
                continue
            for part in pieces(kind, block):
                if not any(contains(p, part) for p in programs):
                    yield f"{path.relative_to(root)}: no program in examples/ has the lines that begin with '{part[0]}'"


# --- links ---

def links(root: str) -> Iterator[str]:
    top = Path(root)
    for path in sorted([*top.glob("*.md"), *top.glob("doc/**/*.md"), *top.glob("examples/**/*.md")]):
        prose = FENCE.sub("", path.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", prose):
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                yield f"{path.relative_to(root)}: link to {target}, which is not there"


RULES = {f.__name__: f for f in (readme, man, facts, code, links)}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in RULES:
        sys.exit(f"usage: docs.py {'|'.join(RULES)} SOURCE_DIR")
    findings = list(RULES[sys.argv[1]](sys.argv[2]))
    for text in findings:
        print(text)
    print(f"{sys.argv[1]}: {len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


main()
