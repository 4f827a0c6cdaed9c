#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""doc/guide/scr3-names.md leads from each name of the existing SCR to what is here: names.py SOURCE_DIR

Its tables are compared with scr.h, scrf.h, the Python package, src/defs and the manual pages, both
ways: what a table names is here, and what is here and not new is in a table. bench/ckpt.c uses no
name that is not on the page, as it is to measure the existing SCR, too. The selftest at the end shows that differences are found."""
import os
import re
import sys
from pathlib import Path
from typing import Iterator

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "doc", "html"))
import defs  # noqa: E402

PAGE = "doc/guide/scr3-names.md"
NEW_CALLS = {"SCR_Restart_ranks", "SCR_Restart_files", "SCR_Restart_file", "SCR_Last_error"}
NEW_PARAMETERS = "4.0" # the version that parameters without a predecessor are since
NOT_FORTRAN = {"SCR_Configf"} # a printf format

Rows = list[list[str]]


def tables(page: str) -> dict[str, Rows]:
    """Rows of cells below each heading, without head and rule."""
    found: dict[str, Rows] = {}
    for part in re.split(r"^## ", page, flags=re.M)[1:]:
        title, _, body = part.partition("\n")
        lines = re.findall(r"^\| (.*) \|$", body.replace("| |", "|  |"), re.M)
        found[title] = [[c.strip() for c in line.split(" | ")] for line in lines[2:]]
    return found


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def references(cell: str) -> list[str]:
    return re.findall(r"\w+\(\d\)", cell)


class Source:
    """What there is."""
    def __init__(self, root: Path) -> None:
        self.calls = defs.calls(root)
        self.commands = defs.commands(root)
        self.command_of = {name: c for c in self.commands for name in c.names}
        params, lines, self.aliases = defs.parameters(root)
        self.params = {p.name: p for p in params if not p.parent}
        self.children = {(p.parent, p.name) for p in params if p.parent}
        self.lines = [line.key for line in lines]
        self.fortran = set(re.findall(r"^! +call (SCR_\w+)\(",
                                      (root / "bindings/fortran/scrf.h").read_text(encoding="utf-8"), re.M))
        self.python = set(re.findall(r"^def ([a-z]\w*)\(", (root / "bindings/python/scr/__init__.py")
                                     .read_text(encoding="utf-8"), re.M))
        self.pages: dict[str, str] = {}
        for path in root.glob("doc/man*/*.md*"):
            text = path.read_text(encoding="utf-8")
            self.pages |= {f"{name}({path.parent.name[3:]})": text for name in defs.names_of(text)}

    def has_option(self, command: str, option: str) -> bool:
        page = self.pages.get(f"{self.command_of[command].names[0]}(1)", "")
        return re.search(rf"\*\*\\{option}\*\*", page) is not None


# --- a table each ---

def check_calls(rows: Rows, here: Source) -> Iterator[str]:
    for call, python, page in rows:
        name, function = codes(call)[0], codes(python)[0].removeprefix("scr.")
        if name not in here.calls:
            yield f"{name} is not in scr.h"
        if name not in NOT_FORTRAN and name.upper() not in here.fortran:
            yield f"{name.upper()} is not in scrf.h"
        if function not in here.python:
            yield f"scr.{function} is not in the Python package"
        if name not in defs.names_of(here.pages.get(page, "")):
            yield f"{page} is not the page of {name}"
    for name in sorted(set(here.calls) - NEW_CALLS - {codes(row[0])[0] for row in rows}):
        yield f"the call {name} is missing"


def check_commands(rows: Rows, here: Source) -> Iterator[str]:
    for names, options, page in rows:
        for name in codes(names):
            if name not in here.command_of:
                yield f"{name} is not in commands.def"
                continue
            if page != f"{here.command_of[name].names[0]}(1)":
                yield f"{page} is not the page of {name}"
            yield from (f"{page} has no option {option}"
                        for option in codes(options) if not here.has_option(name, option))


def check_parameters(rows: Rows, here: Source) -> Iterator[str]:
    for name, had, has in rows:
        param = here.params.get(codes(name)[0])
        if param is None:
            yield f"{name} is not in params.def"
            continue
        default = codes(has) or re.findall("^`([^`]*)`$", had)
        said = default[0] if default else None
        if said != param.default:
            yield f"the default of {name} is {param.default}, not {said}"
    old = {p.name for p in here.params.values() if p.since != NEW_PARAMETERS}
    for missing in sorted(old - {codes(row[0])[0] for row in rows}):
        yield f"the parameter {missing} is missing"


def check_lines(rows: Rows, here: Source) -> Iterator[str]:
    for line, children in rows:
        key = codes(line)[0]
        if key not in here.lines:
            yield f"{key} is not in params.def"
        yield from (f"{key} has no child {child}" for child in codes(children)
                    if (key, child) not in here.children)
    for missing in sorted(set(here.lines) - {codes(row[0])[0] for row in rows}):
        yield f"the line {missing} is missing"


def check_older(rows: Rows, here: Source) -> Iterator[str]:
    for older, now in rows:
        for name in codes(older):
            command, _, option = name.partition(" ")
            if command in here.aliases and here.aliases[command] not in codes(now):
                yield f"{command} is {here.aliases[command]}"
            elif command in here.command_of:
                if not option and references(now) != [f"{here.command_of[command].names[0]}(1)"]:
                    yield f"{command} is {here.command_of[command].names[0]}"
                if option and not here.has_option(command, option):
                    yield f"{command} has no option {option}"
            elif command not in here.calls + list(here.aliases) and not re.search(
                    rf"\b{command}\b", here.params["SCR_COPY_TYPE"].range):
                yield f"{command} is not accepted"
    for missing in sorted(set(here.aliases) - {name for row in rows for name in codes(row[0])}):
        yield f"the older spelling {missing} is missing"


TABLES = {"Calls": check_calls, "Commands": check_commands, "Parameters": check_parameters,
          "Lines of configuration files": check_lines, "Older spellings": check_older}


def findings(page: str, here: Source) -> list[str]:
    found = tables(page)
    texts = [text for title, check in TABLES.items() for text in check(found.get(title, []), here)]
    texts += [f"there is no manual page {ref}" for ref in sorted(set(references(page)) - set(here.pages))]
    texts += [f"the command {name} is missing"
              for name in here.command_of if not re.search(rf"`{name}`|\b{name}\(1\)", page)]
    return texts


def new_names(page: str, program: str) -> Iterator[str]:
    for name in sorted(set(re.findall(r"\bSCR_\w+", program)) - set(codes(page))):
        yield f"bench/ckpt.c uses {name}, which the existing SCR does not have"


# --- each of these must be found ---

CHANGES = [
    ("| `SCR_Drop` | `scr.drop` | SCR_Current(3) |\n", ""),
    ("`scr.drop`", "`scr.dropped`"),
    ("`SCR_Drop` | `scr.drop` | SCR_Current(3)", "`SCR_Drop` | `scr.drop` | SCR_Init(3)"),
    ("| `scr_nodes_file` | `--dir` | scr_nodes_file(1) |\n", ""),
    ("| `scr_nodes_file` | `--dir` |", "| `scr_nodes_file` | `--directory` |"),
    ("| `SCR_FLUSH` | `10` | |", "| `SCR_FLUSH` | `5` | |"),
    ("| `SCR_FLUSH` | `10` | |\n", ""),
    ("`1`: repair depends", "`0`: repair depends"),
    ("`COUNT`", "`COUNTS`"),
    ("| `CNTLDIR` | `BYTES` |\n", ""),
    ("| `SCR_HALT_EXIT` | `SCR_HALT_ENABLED` |\n", ""),
    ("--needflush", "--needs-flush"),
    ("| `scr_flush` | scr_scavenge(1) |", "| `scr_flush` | scr_flush_file(1) |"),
    ("scr_hashfile(5)", "scr_hash_file(5)"),
]


def selftest(page: str, here: Source) -> Iterator[str]:
    for old, new in CHANGES:
        if old not in page:
            yield f"selftest: there is no '{old}' to change"
        elif not findings(page.replace(old, new), here):
            yield f"selftest: '{new}' for '{old}' is not found"
    if not list(new_names(page, "SCR_Init(); SCR_Restart_ranks(&n);")):
        yield "selftest: a new name in bench/ckpt.c is not found"


def main() -> None:
    root = Path(sys.argv[1])
    page, here = (root / PAGE).read_text(encoding="utf-8"), Source(root)
    program = (root / "bench/ckpt.c").read_text(encoding="utf-8")
    texts = [*findings(page, here), *new_names(page, program), *selftest(page, here)]
    for text in texts:
        print(f"{PAGE}: {text}")
    print(f"names: {len(texts)} finding(s)")
    sys.exit(1 if texts else 0)


main()
