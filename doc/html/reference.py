# SPDX-License-Identifier: BSD-3-Clause
"""Pages made from src/defs/*.def, scr.h and the NAME lines of the manual pages."""
import html
import re
from pathlib import Path
from typing import Iterator

import defs

KINDS = {"BOOL": "0 or 1", "INT": "whole number", "SIZE": "size (k, m, g, t)",
         "SECONDS": "time (s, m, h, d)", "DOUBLE": "number", "STR": "text", "ENUM": "one of"}


def text(plain: str) -> str:
    return html.escape(plain)


def table(head: list[str], rows: list[tuple[str, list[str]]]) -> str:
    """rows: identifier of the row or "", and its cells as HTML."""
    lines = ["<table>", "<thead><tr>" + "".join(f"<th>{h}</th>" for h in head) + "</tr></thead>", "<tbody>"]
    for ident, cells in rows:
        mark = f' id="{ident}"' if ident else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    return "\n".join(lines + ["</tbody>", "</table>"])


def heading(title: str) -> str:
    ident = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f'<h2 id="sec-{ident}">{text(title)}</h2>'


# --- parameters ---

def takes(p: defs.Parameter) -> str:
    if p.kind == "ENUM":
        return text(p.range)
    what = KINDS[p.kind]
    return text(what + (f", {p.range}" if p.range else "")) + (f"<br><small>{text(p.unit)}</small>" if p.unit else "")


def default(p: defs.Parameter) -> str:
    return f"<code>{text(p.default)}</code>" if p.default else "<small>not set</small>"


def parameters(params: list[defs.Parameter], lines: list[defs.Line], aliases: dict[str, str]) -> str:
    also: dict[str, list[str]] = {}
    for alias, name in aliases.items():
        also.setdefault(name, []).append(alias)
    parts = ["<h1>Parameters</h1>",
             "<p>Where settings come from, and the syntax of files: scr_params(5). "
             "<code>scr param --list</code> shows the values in force, <code>scr param --explain NAME</code> "
             "where one is from.</p>"]
    for section in dict.fromkeys(p.section for p in params if not p.parent):
        rows = [(p.name, [f"<code>{p.name}</code><br><small>since {p.since}</small>", default(p), takes(p),
                          text(p.doc) + "".join(f" <small>Also <code>{a}</code>.</small>" for a in also.get(p.name, []))])
                for p in params if p.section == section and not p.parent]
        parts += [heading(section), table(["Name", "Default", "Takes", "Meaning"], rows)]
    parts.append(heading("Lines with children"))
    for line in lines:
        parts.append(f'<h3 id="{line.key}">{line.key}</h3>\n<p>{text(line.doc)}</p>')
        rows = [(f"{line.key}-{p.name}", [f"<code>{p.name}</code>", default(p), takes(p), text(p.doc)])
                for p in params if p.parent == line.key]
        if rows:
            parts.append(table(["Child", "Default", "Takes", "Meaning"], rows))
    return "\n".join(parts)


# --- the rest ---

def summary(root: Path, href: str) -> str:
    """What the NAME line of a manual page says behind the dash."""
    page, section = href.removeprefix("man/").removesuffix(".html").rsplit(".", 1)
    for path in (root / "doc" / f"man{section}").glob(f"{page}.{section}.md*"):
        match = re.search(r"^# NAME\n+[^\n]+? (?:-|--|\\-) (\S[^\n]*)", path.read_text(encoding="utf-8"), re.M)
        return match.group(1) if match else ""
    return ""


def linked(name: str, href: str) -> str:
    return f'<a href="{href}">{text(name)}</a>'


def calls(root: Path, manual: dict[str, str]) -> str:
    rows = []
    for name, declared in defs.prototypes(root).items():
        href = manual.get(f"{name}(3)", "man/.3.html")
        before, after = text(declared).split(name)
        rows.append(("", [f"<code>{before}{linked(name, href)}{after}</code>", text(summary(root, href))]))
    names = " ".join(f"<code>{c}</code>" for c in defs.constants(root))
    return ("<h1>Calls</h1>\n<p>The functions of <code>scr.h</code>. Each has a manual page: "
            "<code>man SCR_Route_file</code>.</p>\n" + table(["Call", "What it is for"], rows)
            + f"\n<p>Constants: {names}</p>")


def commands(root: Path, manual: dict[str, str]) -> str:
    rows = [("", [" ".join(linked(n, manual.get(f"{c.names[0]}(1)", "")) for n in c.names), text(c.summary)])
            for c in defs.commands(root)]
    return ("<h1>Commands</h1>\n<p>One program, <code>scr</code>, with a link for each: <code>scr index</code> "
            "is <code>scr_index</code>. What they have in common: scr(1).</p>\n"
            + table(["Command", "What it does"], rows))


def files(root: Path, manual: dict[str, str]) -> str:
    rows = [("", [linked(n, href), text(summary(root, href))])
            for n, href in sorted(manual.items()) if n.endswith("(5)")]
    kinds = "".join(f"<li><code>{e}</code></li>" for e in defs.events(root))
    return ("<h1>Files and events</h1>\n<h2 id=\"sec-files\">Files</h2>\n" + table(["Page", "What it describes"], rows)
            + "\n<h2 id=\"sec-events\">Events</h2>\n<p>What runs and commands record, "
            f"one line of JSON each (scr_event_log(5)):</p>\n<ul>{kinds}</ul>")


def all_names(manual: dict[str, str], plain: dict[str, str]) -> str:
    """Every name there is, by its first letter after SCR_."""
    known = {**plain, **manual}
    for name in manual:
        known.pop(name.split("(")[0], None)
    letters: dict[str, list[str]] = {}
    for name in known:
        letters.setdefault(re.sub(r"^(SCR_E_|SCR_|scr_)", "", name)[0].upper(), []).append(name)
    parts = ["<h1>All names</h1>", "<p>Calls (3), commands (1), files (5), overviews (7), parameters and errors.</p>"]
    for letter in sorted(letters):
        items = " · ".join(linked(n, known[n]) for n in sorted(letters[letter], key=str.lower))
        parts += [f'<h2 id="letter-{letter}">{letter}</h2>', f"<p>{items}</p>"]
    return "\n".join(parts)


def pages(root: Path, params: list[defs.Parameter], lines: list[defs.Line], aliases: dict[str, str],
          manual: dict[str, str], plain: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Name, title and body of each."""
    yield "parameters", "Parameters", parameters(params, lines, aliases)
    yield "calls", "Calls", calls(root, manual)
    yield "commands", "Commands", commands(root, manual)
    yield "files", "Files and events", files(root, manual)
    yield "names", "All names", all_names(manual, plain)
