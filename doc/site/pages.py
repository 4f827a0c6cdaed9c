# SPDX-License-Identifier: BSD-3-Clause
"""What Sphinx has to know of these sources: headings of manual pages, lists that are tables of contents, and the
names of calls, commands, parameters and errors, which become links and entries of the index."""
import re
from pathlib import Path
from typing import Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

LOG = logging.getLogger(__name__)
MAN = re.compile(r"doc/man(\d)/(\w+)\.\d$")
NAME = re.compile(r"(?<![\w/.$-])((?:scr|libscr)(?:_\w+)?(?:\.py)?|SCR_\w+)(?:\((\d)\))?(?![\w/])")
FENCED = re.compile(r"^(```.*?^```$)", re.M | re.S)
ITEM = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\.md\)", re.M)
UNLINKED = (nodes.reference, nodes.literal_block, nodes.title, nodes.image, addnodes.toctree)
REFERENCE = "Look up", ["/doc/site/calls", "/doc/site/commands", "/doc/site/files", "/doc/site/overview",
                        "All names </genindex>"]


# --- Markdown as Sphinx reads it ---

def toctree(caption: str, entries: list[str]) -> str:
    options = [":hidden:"] + [f":caption: {caption}"] * bool(caption)
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])


def contents(text: str) -> str:
    """A toctree behind each list of chapters, one of them with the reference."""
    parts = re.split(r"^(?=## )", text, flags=re.M)
    for i, part in enumerate(parts[1:], 1):
        title = part[3:].split("\n", 1)[0]
        entries = [f"{label} <{target}>" for label, target in ITEM.findall(part)]
        entries += REFERENCE[1] if title == REFERENCE[0] else []
        parts[i] = part.rstrip() + "\n" + (toctree(title, entries) if entries else "") + "\n"
    return "".join(parts)


def name_line(text: str) -> tuple[list[str], str]:
    """Names and what they are for, as the section NAME of a manual page has them."""
    match = re.search(r"^#+ NAME\n+([^\n]+?) - ([^\n]+)", text, re.M)
    return ([n.strip() for n in match.group(1).split(",")], match.group(2)) if match else ([], "")


def manual(root: Path, section: str) -> str:
    """A table of the manual pages of a section, and their toctree."""
    rows, entries = ["| page | what it is for |", "| --- | --- |"], []
    for path in sorted((root / "doc" / section).glob("*.md*"), key=lambda p: p.name.lower()):
        names, purpose = name_line(path.read_text(encoding="utf-8"))
        rows.append(f"| {', '.join(f'{n}({section[-1]})' for n in names)} | {purpose} |")
        entries.append(f"/doc/{section}/{path.name.split('.md')[0]}")
    return "\n".join(rows) + "\n" + toctree("", entries)


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    filled = Path(app.config.scr_filled, docname.split("/")[-1] + ".md")
    man, text = MAN.match(docname), source[0]
    if man and filled.is_file():
        text = filled.read_text(encoding="utf-8")
    if docname == app.config.root_doc:
        text = contents(text)
    text = re.sub(r"<!-- pages of doc/(man\d) -->", lambda m: manual(Path(app.srcdir), m.group(1)), text)
    text = re.sub(r"^```\{\.(\w+) \.(\w+)\}$", r"```{code-block} \1\n:class: \2", text, flags=re.M)
    text = re.sub(r"^```fortran\n(?= {6})", "```fortranfixed\n", text, flags=re.M)
    if man:
        parts = FENCED.split(re.sub(r"\A%[^\n]*\n", "", text))
        parts[::2] = [re.sub(r"^(#+ )", r"#\1", part, flags=re.M) for part in parts[::2]]
        app.env.temp_data["names"] = name_line(text)[0]
        text = f"# {man.group(2)}({man.group(1)})\n\n" + "".join(parts)
    source[0] = text


# --- names: where they are explained ---

def explained(docname: str, names: list[str], doctree: nodes.document) -> Iterator[tuple[str, str]]:
    """Names and identifiers of the places of this document that explain them."""
    man = MAN.match(docname)
    if man:
        yield from ((f"{name}({man.group(1)})", "") for name in names)
        for term in doctree.findall(nodes.term):
            first = next(child for child in term.children if child.astext())
            name = first.astext() if isinstance(first, nodes.strong) else ""
            if re.fullmatch(r"[A-Za-z_]\w+", name) and name not in doctree.ids:
                doctree.ids[name] = term
                term["ids"].append(name)
                if name.startswith("SCR_") and (man.group(2) == "scr_params" or man.group(1) == "3"):
                    yield name, name
    if docname == "doc/guide/errors":
        for section in doctree.findall(nodes.section):
            name = section.children[0].astext()
            if name.startswith("SCR_E_"):
                yield name, section["ids"][0]


def note(app: Sphinx, doctree: nodes.document) -> None:
    docname, std, names = app.env.docname, app.env.get_domain("std"), app.env.temp_data.get("names", [])
    found = {name: place for name, place in explained(docname, names, doctree)
             if ("name", name) not in std.objects}
    for name, place in found.items():
        std.note_object("name", name, place)
    entries = app.env.get_domain("index").entries
    entries[docname] = entries.get(docname, []) + [("single", n, place, "", None) for n, place in found.items()]


# --- names: links to these places ---

def place_of(app: Sphinx, name: str, section: str | None) -> tuple[str, str] | None:
    objects = app.env.get_domain("std").objects
    for key in [f"{name}({section})"] if section else [name, f"{name}(3)", f"{name}(1)"]:
        if ("name", key) in objects and (section or name != "scr"):
            return objects["name", key]
    if section and section in "1357":
        LOG.warning("there is no manual page %s(%s)", name, section)
    return None


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The first time a name comes in a section it becomes a link, in a list of names each time."""
    seen: set[tuple[str, ...]] = set()
    for node in list(doctree.findall()):
        if isinstance(node, nodes.section):
            seen = set()
        elif isinstance(node, nodes.Text) and not quiet(node):
            pieces, at, text = [], 0, node.astext()
            for match in NAME.finditer(text):
                code = isinstance(node.parent, nodes.literal) # where (1) is an argument
                place = place_of(app, match.group(1), None if code else match.group(2))
                again = match.groups() in seen and not docname.startswith("doc/site/")
                if place and place[0] != docname and not again:
                    seen.add(match.groups())
                    uri = app.builder.get_relative_uri(docname, place[0]) + (f"#{place[1]}" if place[1] else "")
                    pieces += [nodes.Text(text[at:match.start()]),
                               nodes.reference("", match.group(0), internal=True, refuri=uri)]
                    at = match.end()
            if pieces:
                node.parent.replace(node, [*pieces, nodes.Text(text[at:])])


def quiet(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, UNLINKED):
            return True
    return False


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("scr_filled", "", "env")
    app.add_object_type("name", "name", objname="name")
    app.connect("source-read", read)
    app.connect("doctree-read", note)
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
