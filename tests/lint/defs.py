# SPDX-License-Identifier: BSD-3-Clause
"""The rows of src/defs/*.def, and what else of the source the documents have to name."""
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[(),]|[^"(),]+')


@dataclass
class Parameter:
    """A row X(…) of params.def, or a child C(…) of a line: then parent is the line's key."""
    name: str
    kind: str
    default: str | None
    range: str
    unit: str
    since: str
    doc: str
    section: str
    parent: str = ""


@dataclass
class Line:
    """A row M(…): a key that has children."""
    key: str
    since: str
    doc: str


@dataclass
class Error:
    name: str
    value: int
    text: str


@dataclass
class Command:
    names: list[str]
    summary: str


def calls_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each macro call at the start of a line, with its arguments as they are written."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for start in re.finditer(r"^([A-Z])\(", text, re.M):
        depth, args = 0, [""]
        for token in TOKEN.finditer(text, start.end() - 1):
            part = token.group(0)
            depth += {"(": 1, ")": -1}.get(part, 0)
            if depth == 0:
                break
            if part == "," and depth == 1:
                args.append("")
            elif not (part == "(" and depth == 1):
                args[-1] += part
        yield start.group(1), [a.strip() for a in args]


def literal(arg: str, macros: dict[str, str]) -> str | None:
    """What the argument is for C: joined literals, the text of a macro, None for NULL."""
    if arg in macros:
        return macros[arg]
    pieces = STRING.findall(arg)
    if pieces:
        return re.sub(r"\\(.)", r"\1", "".join(pieces))
    return None if arg == "NULL" else arg


def defs(root: Path, name: str) -> tuple[list[tuple[str, list[str]]], dict[str, str]]:
    text = (root / "src" / "defs" / name).read_text(encoding="utf-8")
    return list(calls_of(text)), dict(re.findall(r'^#define (\w+) "([^"]*)"', text, re.M))


def range_text(arg: str) -> str:
    if arg.startswith("ATLEAST_OR"):
        low, word = arg[11:-1].split(",")
        return f"at least {low.strip()}, or {STRING.findall(word)[0]}"
    if arg.startswith("ATLEAST"):
        return "at least " + arg[8:-1]
    if arg.startswith("BETWEEN"):
        low, high = arg[8:-1].split(",")
        return f"{low.strip()} to {high.strip()}"
    if arg.startswith("ONEOF"):
        return ", ".join(STRING.findall(arg)[0].split("|"))
    if arg == "MOMENT":
        return "0, or a point in time"
    return "one component of a path" if arg == "COMPONENT" else ""


def parameters(root: Path) -> tuple[list[Parameter], list[Line], dict[str, str]]:
    """Parameters and children; lines with children; aliases."""
    rows, macros = defs(root, "params.def")
    found: list[Parameter] = []
    lines: list[Line] = []
    aliases: dict[str, str] = {}
    section = ""
    for macro, args in rows:
        a = [literal(x, macros) or "" for x in args]
        if macro == "S":
            section = a[0]
        elif macro == "X":
            default = literal(args[3], macros)
            found.append(Parameter(a[0], a[2], default, range_text(args[4]), a[5], a[6],
                                   a[8], section))
        elif macro == "A":
            aliases[a[0]] = a[1]
        elif macro == "M":
            lines.append(Line(a[0], a[1], a[2]))
        elif macro == "C":
            found.append(Parameter(a[1], a[2], literal(args[3], macros), range_text(args[4]),
                                   "", "", a[5], "", a[0]))
    return found, lines, aliases


def without_effect(root: Path) -> dict[tuple[str, str], str]:
    """Parameters (the key is "") and children of SCR 3.x that are known and do nothing, and why."""
    rows, macros = defs(root, "params.def")
    return {(literal(a[0], macros) or "", a[1]): literal(a[2], macros) or ""
            for macro, a in rows if macro == "O"}


def old_defaults(root: Path) -> dict[str, tuple[str, str]]:
    """Defaults of SCR 3.1 that are not ours, and why ours are others."""
    rows, macros = defs(root, "params.def")
    return {a[0]: (literal(a[1], macros) or "", literal(a[2], macros) or "")
            for macro, a in rows if macro == "D"}


def old_values(root: Path) -> list[tuple[str, str, str]]:
    """Values of SCR 3.x, and which count instead."""
    rows, macros = defs(root, "params.def")
    return [(a[0], literal(a[1], macros) or "", literal(a[2], macros) or "")
            for macro, a in rows if macro == "V"]


def old_options(root: Path) -> dict[str, list[str]]:
    """Commands that SCR 1.1 to 3.1 has, and their options."""
    rows, macros = defs(root, "commands.def")
    return {literal(a[0], macros) or "": (literal(a[1], macros) or "").split()
            for macro, a in rows if macro == "H"}


def errors(root: Path) -> list[Error]:
    rows, macros = defs(root, "errors.def")
    return [Error("SCR_E_" + a[0], int(a[1]), literal(a[2], macros) or "") for _, a in rows]


def commands(root: Path) -> list[Command]:
    rows, macros = defs(root, "commands.def")
    return [Command((literal(a[1], macros) or "").split(), literal(a[2], macros) or "")
            for macro, a in rows if macro == "X"]


def prototypes(root: Path) -> dict[str, str]:
    """Functions of scr.h and how they are declared, in the order of the header."""
    header = (root / "include" / "scr.h").read_text(encoding="utf-8")
    found = re.findall(r"^SCR_API ([^;(]*?\*?(SCR_\w+)\([^)]*\))", header, re.M)
    return {name: " ".join(text.split()) for text, name in found}


def calls(root: Path) -> list[str]:
    return list(prototypes(root))


def constants(root: Path) -> list[str]:
    header = (root / "include" / "scr.h").read_text(encoding="utf-8")
    return re.findall(r"^#define (SCR_(?!API|H\b)\w+)", header, re.M)


def events(root: Path) -> list[str]:
    source = (root / "src" / "fmt" / "event.c").read_text(encoding="utf-8")
    table = re.search(r"scr_event_names\[\] = \{(.*?)\}", source, re.S)
    return re.findall(r'"(\w+)"', table.group(1)) if table else []


def names_of(page: str) -> list[str]:
    """Names before the dash of the line below '# NAME' of a manual page."""
    match = re.search(r"^# NAME\n+([^\n]+?) (?:-|--|\\-) \S", page, re.M)
    return [n.strip() for n in match.group(1).split(",")] if match else []
