#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table in doc/guide/scr3-names.md of each name of SCR 1.1 to 3.1, and what became of it.

    names.py SOURCE_DIR             the page has the table that scr.h, src/defs and the manual pages
                                    make, and what its other tables name is here
    names.py SOURCE_DIR --write     writes it
    names.py SOURCE_DIR --run DIR   with the commands in DIR, sets every parameter and gives every
                                    option of the table, and looks for what that promises

bench/ckpt.c is to measure the existing SCR, too: it uses no other names."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator

import defs

PAGE = "doc/guide/scr3-names.md"
MARKS = "<!-- made by tests/lint/names.py -->\n", "<!-- end -->\n"
NEW_CALLS = {"SCR_Init_comm", "SCR_Config_comm", "SCR_Datasets", "SCR_Dataset", "SCR_Restart_ranks", "SCR_Restart_files", "SCR_Restart_file", "SCR_Last_error"}
NEW_CONSTANTS = {"SCR_FAILURE", # of 3.0, but not of 3.1
                 "SCR_FLAG_IN_CACHE", "SCR_FLAG_IN_PREFIX", "SCR_FLAG_RESTARTABLE"}
NEW_PARAMETERS = "4.0" # the version that parameters without a predecessor are since
NEW_CHILDREN = {("CKPT", "COUNT")}
NOT_FORTRAN = {"SCR_Configf"} # a printf format
OLD_VALUES = [("SCR_COPY_TYPE", "LOCAL", "SINGLE")] # taken without a word


class Source:
    """What there is."""
    def __init__(self, root: Path) -> None:
        self.calls = defs.calls(root)
        self.constants = [c for c in defs.constants(root) if "VERSION" not in c]
        self.page_of_command = {n: f"{c.names[0]}(1)" for c in defs.commands(root) for n in c.names}
        self.options = defs.old_options(root)
        params, self.lines, self.aliases = defs.parameters(root)
        self.params = {p.name: p for p in params if not p.parent}
        self.children = [(p.parent, p.name, p.default or "") for p in params if p.parent]
        self.without = defs.without_effect(root)
        self.was = defs.old_defaults(root)
        self.values = defs.old_values(root)
        self.pages: dict[str, str] = {}
        for path in root.glob("doc/man*/*.md*"):
            text = path.read_text(encoding="utf-8")
            self.pages |= {f"{name}({path.parent.name[3:]})": text for name in defs.names_of(text)}

    def page_of_call(self, call: str) -> str:
        """The page of a call that has a page for itself is the first of those on it."""
        text = self.pages.get(f"{call}(3)", "")
        return f"{defs.names_of(text)[0]}(3)" if text else "no page"

    def old_params(self) -> Iterator[tuple[str, str, str, str]]:
        """Name, default of 3.1, ours, why."""
        for p in self.params.values():
            if p.since != NEW_PARAMETERS:
                default = p.default or ""
                was, why = self.was.get(p.name, (default, ""))
                yield p.name, was, default, why


# --- the table ---

def code(text: str) -> str:
    return f"`{text}`" if text else ""


def call_rows(here: Source) -> Iterator[tuple[str, str, str]]:
    for call in here.calls:
        if call not in NEW_CALLS:
            but = "" if call not in NOT_FORTRAN else ", not in Fortran"
            yield code(call), "", f"same prototype{but}: {here.page_of_call(call)}, `scr.{call[4:].lower()}` in Python"
    for name in here.constants:
        if name not in NEW_CONSTANTS:
            yield code(name), "", "same value"


def command_rows(here: Source) -> Iterator[tuple[str, str, str]]:
    for name, options in here.options.items():
        yield code(name), " ".join(map(code, options)), here.page_of_command.get(name, "gone")


def parameter_rows(here: Source) -> Iterator[tuple[str, str, str]]:
    for name, was, default, why in here.old_params():
        yield code(name), code(was), f"{code(default)}: {why}" if why else "same default"
        for alias, of in here.aliases.items():
            if of == name:
                yield code(alias), code(was), f"as {code(name)}"
    for name, value, instead in here.values:
        yield code(f"{name}={value}"), "", f"as {code(instead)}, with a warning"
    for name, value, instead in OLD_VALUES:
        yield code(f"{name}={value}"), "", f"as {code(instead)}"
    for (key, name), why in here.without.items():
        shown = f"{key}=… {name}=" if key else name
        yield code(shown), code(here.was.get(name, ("", ""))[0]), f"no effect, with a warning: {why}"
    for line in here.lines:
        children = [c for key, c, _ in here.children if key == line.key and (key, c) not in NEW_CHILDREN]
        yield code(line.key), " ".join(map(code, children)), "same children"


def table(here: Source) -> str:
    rows = [*call_rows(here), *command_rows(here), *parameter_rows(here)]
    return "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in
                   [("name", "options, children, default of 3.1", "here"), ("---", "---", "---"), *rows])


def made(page: str, here: Source) -> str:
    start, end = (page.index(mark) for mark in MARKS)
    return page[:start] + MARKS[0] + "\n" + table(here) + "\n" + page[end:]


# --- the page ---

def findings(page: str, here: Source) -> Iterator[str]:
    if made(page, here) != page:
        yield "the table is not what names.py --write makes"
    for ref in sorted(set(re.findall(r"\w+\(\d\)", page)) - set(here.pages)):
        yield f"there is no manual page {ref}"
    for name in here.page_of_command:
        if not re.search(rf"`{name}`|\b{name}\(1\)", page):
            yield f"the command {name} is missing"


def new_names(page: str, program: str) -> Iterator[str]:
    for name in sorted(set(re.findall(r"\bSCR_\w+", program)) - set(re.findall(r"`([^`]+)`", page))):
        yield f"bench/ckpt.c uses {name}, which the existing SCR does not have"


# --- what the commands make of it ---

class Commands:
    """Runs them in an empty directory, with no settings but those given."""
    def __init__(self, directory: str, home: str) -> None:
        self.directory, self.home = Path(directory).absolute(), home

    def run(self, command: str, *args: str, **settings: str) -> tuple[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("SCR_")} | settings
        done = subprocess.run([self.directory / command, *args], env=env, cwd=self.home, text=True,
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        return done.stdout.strip(), done.stderr.strip()

    def value(self, name: str, **settings: str) -> tuple[str, str]:
        return self.run("scr_param", name, **settings)

    def check(self, text: str) -> str:
        Path(self.home, "conf").write_text(text + "\n", encoding="utf-8")
        return " ".join(self.run("scr_param", "--check", "conf"))


def run_parameters(here: Source, commands: Commands) -> Iterator[str]:
    aliases = {of: alias for alias, of in here.aliases.items()}
    for name, was, default, _ in here.old_params():
        if commands.value(name) != (default, "") and default:
            yield f"{name} is {commands.value(name)} where nothing sets it, not {default}"
        value = was or ("1000000000" if here.params[name].unit == "seconds since 1970" else "1")
        if name == "SCR_CONF_FILE":
            commands.check("")
            value = "conf"
        for spelling in [name, aliases.get(name, name)]:
            got, said = commands.value(name, **{spelling: value})
            if got != value or said:
                yield f"{spelling}={value}: {name} is {got} {said}"


def run_values(here: Source, commands: Commands) -> Iterator[str]:
    for name, value, instead in here.values + OLD_VALUES:
        got, said = commands.value(name, **{name: value})
        if got not in (value, instead) or (value not in said) == ((name, value, instead) in here.values):
            yield f"{name}={value}: {got} {said}"
    for (key, name), why in here.without.items():
        text = f"{key}=/tmp {name}=1" if key else f"{name}=1"
        if not re.search(rf"{name} .*has no effect: {re.escape(why)}", commands.check(text)):
            yield f"{text}: {commands.check(text)}"


def run_lines(here: Source, commands: Commands) -> Iterator[str]:
    for key, child, default in here.children:
        value = (here.params[default[1:]].default or "") if default.startswith("$") else default
        value = "SYNC" if child == "FLUSH" and key == "STORE" else value
        line = {"CKPT": "SCR_COPY_TYPE=FILE\nCKPT=0", "STORE": "STORE=/tmp"}.get(key, f"{key}=/tmp")
        if "0 errors, 0 warnings" not in commands.check(f"{line} {child}={value}"):
            yield f"{line} {child}={value}: {commands.check(f'{line} {child}={value}')}"


def run_options(here: Source, commands: Commands) -> Iterator[str]:
    """What comes after an option that is known is read: there is an unknown one. What is for the
    launcher is not read: there the help has the option."""
    for command, options in here.options.items():
        help_text = commands.run(command, "--help")[0]
        for option in options:
            if re.search(rf"(?<!\S){option}\b", help_text):
                continue
            unknown = "--no-such-option"
            said = [commands.run(command, *args)[1] for args in
                    ([option, unknown], [option, "1", unknown], [f"{option}=1", unknown])]
            if not any(f"unknown option {unknown}" in text for text in said):
                yield f"{command} {option}: {said[1]}"


def run_all(here: Source, directory: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as home:
        commands = Commands(directory, home)
        for part in (run_parameters, run_values, run_lines, run_options):
            yield from part(here, commands)


# --- each of these must be found ---

CHANGES = [("| `SCR_Drop` | |", "| `SCR_Dropped` | |"), ("`scr.drop`", "`scr.dropped`"), ("`--drop-after`", ""),
           ("| `SCR_FLUSH` | `10` |", "| `SCR_FLUSH` | `5` |"), ("repair depends on it", "repair"),
           ("scr_hashfile(5)", "scr_hash_file(5)")]


def selftest(page: str, here: Source) -> Iterator[str]:
    for old, new in CHANGES:
        if old not in page:
            yield f"selftest: there is no '{old}' to change"
        elif not list(findings(page.replace(old, new), here)):
            yield f"selftest: '{new}' for '{old}' is not found"
    if not list(new_names(page, "SCR_Init(); SCR_Restart_ranks(&n);")):
        yield "selftest: a new name in bench/ckpt.c is not found"


def main() -> None:
    root, options = Path(sys.argv[1]), sys.argv[2:]
    page, here = (root / PAGE).read_text(encoding="utf-8"), Source(root)
    if options[:1] == ["--write"]:
        (root / PAGE).write_text(made(page, here), encoding="utf-8")
        return
    program = (root / "bench/ckpt.c").read_text(encoding="utf-8")
    texts = (list(run_all(here, options[1])) if options[:1] == ["--run"] else
             [*findings(page, here), *new_names(page, program), *selftest(page, here)])
    for text in texts:
        print(f"{PAGE}: {text}")
    print(f"names: {len(texts)} finding(s)")
    sys.exit(1 if texts else 0)


main()
