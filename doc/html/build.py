#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The guide and the manual pages as HTML, through pandoc.

    build.py --root SOURCE_DIR --filled DIR --version TEXT --out DIR

Pages are doc/guide/*.md, in the order of the links of index.md, the manual pages of doc/man*, and
what either links to in the source tree. --filled has the manual pages that are made from
templates. Names of calls, commands, parameters and errors become links. What is wrong (a page
that pandoc warns of, a link, an anchor or an image that does not exist, a manual page that is
not there, an identifier given twice, markup that was not understood) is printed, and the status is 1."""
import argparse
import html
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from string import Template

import defs
import reference

HERE = Path(__file__).resolve().parent
SECTIONS = {"1": "commands.html", "3": "calls.html", "5": "files.html", "7": "man/scr.7.html"} # where they are listed
CODE = {".c": "c", ".h": "c", ".cpp": "cpp", ".py": "python", ".sh": "bash", ".f90": "fortranfree",
        ".F90": "fortranfree", ".f": "fortranfixed", ".cmake": "cmake", ".conf": "ini"}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#]+)(#[^)\s]*)?\)")
NAME = re.compile(r"(?<![\w/.$-])((?:scr|libscr)(?:_\w+)?|SCR_\w+)(?:\((\d)\))?(?![\w/])")
TAG = re.compile(r"(<[^>]*>)")
VERBATIM = ("code", "pre", "script")
LEFTOVER = re.compile(r"\*\*(?=\w)|(?<=\w)\*\*|(?<!\w)_\w+_(?!\w)|(?<!\w)–(?=\w)") # emphasis, and options with a dash for --


@dataclass
class Page:
    source: Path         # where its links start from
    href: str            # below the output directory
    title: str
    text: str            # markdown, or "" if the body is given
    body: str = ""
    kind: str = "guide"  # guide, man, tree or made
    names: list[str] = field(default_factory=list)

    @property
    def up(self) -> str:
        return "../" * self.href.count("/")


class Findings:
    """What is wrong, told at the end."""
    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, where: str, what: str) -> None:
        self.lines.append(f"{where}: {what}")


# --- what pages there are ---

def guide_page(path: Path, errors: dict[str, defs.Error]) -> Page:
    text = path.read_text(encoding="utf-8")
    title = re.match(r"# (.+)\n", text)
    text = re.sub(r"^(#+ (SCR_E_\w+))$",
                  lambda m: f"{m.group(1)}\n\n*{errors[m.group(2)].value}: {errors[m.group(2)].text}*"
                  if m.group(2) in errors else m.group(0), text, flags=re.M)
    return Page(path, path.stem + ".html", title.group(1) if title else path.stem, text)


def man_page(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    stem, section = path.name.removesuffix(".md").rsplit(".", 1)
    return Page(path, f"man/{stem}.{section}.html", f"{stem}({section})", text, kind="man",
                names=[f"{n}({section})" for n in defs.names_of(text)])


def tree_page(root: Path, path: Path) -> Page:
    """A file of the source tree that some page links to."""
    inside = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8")
    title = inside
    if path.suffix == ".md":
        title = next(iter(re.findall(r"^# (.+)$", text, re.M)), inside)
    else:
        text = f"# {inside}\n\n~~~~~~~~{{.{CODE.get(path.suffix, 'default')}}}\n{text}\n~~~~~~~~\n"
    return Page(path, f"tree/{inside}.html", title, text, kind="tree")


def targets(page: Page) -> list[Path]:
    """Files in reach of the page's relative links."""
    fenced = re.sub(r"^(```|~~~).*?^\1", "", page.text, flags=re.M | re.S)
    return [(page.source.parent / m.group(1)).resolve() for m in LINK.finditer(fenced)
            if not re.match(r"[a-z]+:", m.group(1))]


def follow(root: Path, pages: dict[Path, Page], images: set[Path]) -> None:
    """Adds the files of the tree that pages link to, and those that these link to."""
    todo = list(pages.values())
    while todo:
        page = todo.pop()
        for path in targets(page):
            if path.is_file() and path.is_relative_to(root) and path not in pages | dict.fromkeys(images):
                if path.suffix in (".svg", ".png"):
                    images.add(path)
                    continue
                pages[path] = tree_page(root, path)
                todo.append(pages[path])


def chapters(index: Page, pages: dict[Path, Page]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The parts of index.md, and the links of the lists below them."""
    parts: list[tuple[str, list[tuple[str, str]]]] = []
    for line in index.text.split("\n"):
        head, item = re.match(r"## (.+)", line), re.match(r"- \[([^\]]+)\]\(([^)#]+)\)", line)
        page = pages.get((index.source.parent / item.group(2)).resolve()) if item else None
        if head:
            parts.append((head.group(1), []))
        elif item and page and parts:
            parts[-1][1].append((item.group(1), page.href))
    return [p for p in parts if p[1]]


# --- from markdown to a body ---

def render(page: Page) -> tuple[str, str]:
    """The page's body, and what pandoc complains about."""
    if not page.text:
        return page.body, ""
    shift = ["--shift-heading-level-by=1"] if page.kind == "man" else []
    text = re.sub(r"^```fortran\n( {6})?", lambda m: f"```fortran{'fixed' if m.group(1) else 'free'}\n{m.group(1) or ''}",
                  page.text, flags=re.M)
    done = subprocess.run(["pandoc", "--from=markdown-tex_math_dollars", "--to=html5", "--wrap=none",
                           "--columns=1000", "--fail-if-warnings", *shift],
                          input=text, capture_output=True, text=True, check=False)
    body = done.stdout
    if page.kind == "man":
        body = f"<h1>{page.title}</h1>\n{body}"
    return body, done.stderr.strip() or ("" if done.returncode == 0 else "pandoc failed")


class Names:
    """Where the names of calls, commands, parameters and errors lead to."""
    def __init__(self, pages: dict[Path, Page], errors: list[defs.Error],
                 params: list[defs.Parameter], aliases: dict[str, str]) -> None:
        self.manual = {n: p.href for p in pages.values() for n in p.names}
        self.plain = {n.split("(")[0]: href for n, href in self.manual.items()
                      if n.endswith(("(3)", "(1)")) and n != "scr(1)"}
        self.plain |= {e.name: f"errors.html#{e.name.lower()}" for e in errors}
        self.plain |= {p.name: f"parameters.html#{p.name}" for p in params if not p.parent}
        self.plain |= {a: f"parameters.html#{n}" for a, n in aliases.items()}
        self.calls = {n.lower(): href for n, href in self.manual.items() if n.endswith("(3)")}

    def find(self, page: Page, name: str, section: str | None) -> str | None:
        if section:
            return self.manual.get(f"{name}({section})")
        if any(own.startswith(f"{name}(") for own in page.names):
            return None
        call = self.calls.get(f"{name.lower()}(3)") if "fortran" in page.title.lower() else None
        return call or self.plain.get(name)


def link_names(page: Page, body: str, names: Names, findings: Findings) -> str:
    """The first time a name comes in a section it becomes a link."""
    body = re.sub(r"<(strong|em)>([\w.]+)</\1>\((\d)\)", r"\2(\3)", body)
    quiet, seen, out = 0, set(), []

    def linked(match: re.Match[str]) -> str:
        name, section = match.group(1), match.group(2)
        href = names.find(page, name, section)
        if href is None and section in SECTIONS:
            findings.add(page.href, f"there is no manual page {name}({section})")
        if href is None or (name, href) in seen or href.split("#")[0] == page.href:
            return match.group(0)
        seen.add((name, href))
        return f'<a class="auto" href="{page.up}{href}">{match.group(0)}</a>'

    for part in TAG.split(body):
        tag = re.match(r"</?(\w+)", part)
        if tag and tag.group(1) in ("a", "pre", "h1", "h2", "h3", "figcaption"):
            quiet += -1 if part.startswith("</") else 1
            if tag.group(1) == "h2":
                seen = set()
        out.append(NAME.sub(linked, part) if not part.startswith("<") and quiet == 0 else part)
    return "".join(out)


def link_files(page: Page, body: str, pages: dict[Path, Page], images: set[Path], root: Path) -> str:
    """Links to files of the tree become links to their pages."""
    def moved(match: re.Match[str]) -> str:
        attr, target, anchor = match.groups()
        path = (page.source.parent / html.unescape(target)).resolve()
        if path in pages:
            return f'{attr}="{page.up}{pages[path].href}{anchor or ""}"'
        if path.suffix in (".svg", ".png") and path.is_file():
            images.add(path)
            return f'{attr}="{page.up}{image_name(path, root)}"'
        return match.group(0)
    return re.sub(r'(href|src)="([^"#:]+)(#[^"]*)?"', moved, body)


def image_name(path: Path, root: Path) -> str:
    return "img/" + path.relative_to(root).as_posix().replace("/", "-")


def anchors(page: Page, body: str) -> str:
    """Entries of definition lists of manual pages get identifiers; headings show theirs."""
    given = set(re.findall(r'id="([^"]*)"', body))

    def entry(match: re.Match[str]) -> str:
        name = match.group(1)
        if page.kind != "man" or name in given:
            return match.group(0)
        given.add(name)
        return f'<dt id="{name}">{match.group(0)[4:]}'
    body = re.sub(r"<dt><strong>([A-Za-z_]\w+)</strong>", entry, body)
    return re.sub(r'(<h([234]) [^>]*id="([^"]*)"[^>]*>.*?)(</h\2>)',
                  r'\1<a class="anchor" href="#\3" aria-label="link to this section">#</a>\4', body)


# --- from a body to a page ---

def nav(page: Page, parts: list[tuple[str, list[tuple[str, str]]]]) -> str:
    lines = []
    listed = SECTIONS.get(page.title[-2:-1], "") if page.kind == "man" else page.href
    for title, items in parts:
        lines.append(f"<h2>{html.escape(title)}</h2>\n<ul>")
        for label, href in items:
            here = ' aria-current="page"' if href == listed else ""
            lines.append(f'<li><a href="{page.up}{href}"{here}>{html.escape(label)}</a></li>')
        lines.append("</ul>")
    return "\n".join(lines)


def toc(body: str) -> str:
    heads = re.findall(r'<h2 [^>]*id="([^"]*)"[^>]*>(.*?)<a class="anchor"', body)
    if len(heads) < 2:
        return ""
    items = "\n".join(f'<li><a href="#{i}">{re.sub("<[^>]*>", "", t)}</a></li>' for i, t in heads)
    return f'<div class="toc"><p>On this page</p><ul>\n{items}\n</ul></div>'


def turn(page: Page, parts: list[tuple[str, list[tuple[str, str]]]]) -> str:
    """Links to the chapter before and the one after."""
    order = [item for _, items in parts for item in items]
    here = next((i for i, (_, href) in enumerate(order) if href == page.href), None)
    if here is None:
        return ""
    before = order[here - 1] if here > 0 else None
    after = order[here + 1] if here + 1 < len(order) else None
    left = f'<a href="{page.up}{before[1]}">← {html.escape(before[0])}</a>' if before else "<span></span>"
    right = f'<a href="{page.up}{after[1]}">{html.escape(after[0])} →</a>' if after else ""
    return f'<div class="turn">{left}{right}</div>'


def breakable(cell: re.Match[str]) -> str:
    """A name in a table may be broken after its underscores where the window is narrow."""
    return cell.group(1) + "".join(part if part.startswith("<") else part.replace("_", "_<wbr>")
                                   for part in TAG.split(cell.group(2)))


def finish(page: Page, body: str, parts: list[tuple[str, list[tuple[str, str]]]], version: str) -> str:
    body = re.sub(r"<colgroup>.*?</colgroup>", "", body, flags=re.S)
    body = re.sub(r"<table[^>]*>", "<table>", body)
    body = re.sub(r"<code>([^<\n]{1,24})</code>", r'<code class="short">\1</code>', body)
    body = re.sub(r"(<td[^>]*>.*?<code[^>]*>)(.*?)(?=</code>)", breakable, body)
    page_template = Template((HERE / "page.html").read_text(encoding="utf-8"))
    main = f'<div class="{page.kind}">\n{body}\n</div>'
    return page_template.substitute(title=html.escape(re.sub("[`*]", "", page.title)), version=version,
                                    up=page.up, nav=nav(page, parts), body=main, toc=toc(body),
                                    turn=turn(page, parts))


# --- is it right ---

class Outline(HTMLParser):
    """Identifiers, references and what is left of markup of a page."""
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.refs: list[str] = []
        self.leftovers: list[str] = []
        self.verbatim = 0 # open tags whose text is no prose
        self.after = ""   # the tag that has just been opened

    def handle_data(self, data: str) -> None:
        if not self.verbatim and LEFTOVER.search(data):
            self.leftovers.append(data.strip())
        if data.strip():
            self.after = ""

    def handle_endtag(self, tag: str) -> None:
        self.verbatim -= tag in VERBATIM

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "ol" and self.after == "dd":
            self.leftovers.append("a definition that begins with a number became a list")
        self.verbatim += tag in VERBATIM
        self.after = tag
        for key, value in attrs:
            if key == "id":
                self.ids.append(value or "")
            elif key in ("href", "src"):
                self.refs.append(value or "")


def check(out: Path, hrefs: list[str], findings: Findings) -> None:
    outlines: dict[str, Outline] = {}
    for href in hrefs:
        outlines[href] = Outline()
        outlines[href].feed((out / href).read_text(encoding="utf-8"))
    for href, outline in outlines.items():
        for twice in sorted({i for i in outline.ids if outline.ids.count(i) > 1}):
            findings.add(href, f"identifier '{twice}' given twice")
        for text in outline.leftovers:
            findings.add(href, f"markup in the text: {text}")
        for ref in sorted(set(outline.refs)):
            if re.match(r"(https?|mailto):", ref):
                continue
            target, _, anchor = ref.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(href), target)) if target else href
            if path in outlines:
                if anchor and anchor not in outlines[path].ids:
                    findings.add(href, f"link to {ref}: no such anchor")
            elif not (out / path).is_file():
                findings.add(href, f"link to {ref}: no such file")


# --- all of it ---

def collect(root: Path, filled: Path) -> dict[Path, Page]:
    errors = {e.name: e for e in defs.errors(root)}
    pages = {p: guide_page(p, errors) for p in sorted((root / "doc" / "guide").glob("*.md"))}
    for where in (root / "doc", filled):
        for path in sorted(where.glob("man[1-8]/*.md") if where != filled else where.glob("*.[1-8].md")):
            pages[path] = man_page(path)
    return pages


def contents(pages: dict[Path, Page], index: Page) -> list[tuple[str, list[tuple[str, str]]]]:
    """What the left column shows: chapters, those index.md forgot, the reference."""
    parts = chapters(index, pages)
    listed = {href for _, items in parts for _, href in items}
    more = [(p.title, p.href) for p in pages.values()
            if p.kind == "guide" and p.href not in listed and p is not index]
    if more:
        parts.append(("More", more))
    parts.append(("Reference", [("Overview", "man/scr.7.html"), ("Calls", "calls.html"), ("Commands", "commands.html"),
                                ("Parameters", "parameters.html"), ("Errors", "errors.html"),
                                ("Files and events", "files.html"), ("All names", "names.html")]))
    return [(title, [i for i in items if title == "Reference" or i[1] != "errors.html"])
            for title, items in parts]


def build(root: Path, filled: Path, out: Path, version: str) -> Findings:
    findings = Findings()
    images: set[Path] = set()
    pages = collect(root, filled)
    index = pages[root / "doc" / "guide" / "index.md"]
    follow(root, pages, images)
    params, lines, aliases = defs.parameters(root)
    names = Names(pages, defs.errors(root), params, aliases)
    for name, title, body in reference.pages(root, params, lines, aliases, names.manual, names.plain):
        path = root / "doc" / "guide" / name
        pages[path] = Page(path, name + ".html", title, "", body, kind="made")
    parts = contents(pages, index)
    hrefs = [href for _, items in parts for _, href in items]
    for twice in sorted({h for h in hrefs if hrefs.count(h) > 1}):
        findings.add("doc/guide/index.md", f"{twice} is listed twice")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bodies = list(pool.map(render, pages.values()))
    shutil.rmtree(out, ignore_errors=True)
    for page, (body, complaint) in zip(pages.values(), bodies):
        if complaint:
            findings.add(page.href, complaint)
        body = link_files(page, body, pages, images, root)
        body = anchors(page, link_names(page, body, names, findings))
        to = out / page.href
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(finish(page, body, parts, version), encoding="utf-8")
    shutil.copy(HERE / "style.css", out / "style.css")
    for image in images:
        (out / "img").mkdir(exist_ok=True)
        shutil.copy(image, out / image_name(image, root))
    check(out, [p.href for p in pages.values()], findings)
    print(f"html: {len(pages)} pages, {len(findings.lines)} finding(s)")
    return findings


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    for option in ("--root", "--filled", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--version", required=True)
    args = parser.parse_args()
    findings = build(args.root.resolve(), args.filled.resolve(), args.out, args.version)
    for line in findings.lines:
        print(line, file=sys.stderr)
    sys.exit(1 if findings.lines else 0)


main()
