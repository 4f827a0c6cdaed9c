#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The web pages of the guide and the manual.

    site.py links SITE WARNINGS    Sphinx had nothing to say; links, anchors and images of all pages lead somewhere in
                                   SITE; nothing is loaded from the network, and no link there is fetched
    site.py pages SITE             in a headless Chromium, on a wide screen and a telephone, light and dark: no page is
                                   wider than the window, the search finds, code has copy buttons, figures are there
    site.py shots SITE DIR PAGE... pictures to look at

Exits 77 where chromium or chromedriver is not installed."""
import os
import re
import sys
import tempfile
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Iterator
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "report"))
from browser import Browser  # noqa: E402

FIGURES = {"levels", "sets", "flush", "scavenge", "run-loop", "layout"}
SEARCHES = {"SCR_Route_file": "SCR_Route_file.3.html", "SCR_FLUSH": "scr_params.5.html#SCR_FLUSH",
            "scavenge": "scr_scavenge.1.html", "lost node": "after-a-failure.html",
            "subfiles": "migrate-large-code.html"}


# --- links ---

class Outline(HTMLParser):
    """Identifiers, what a page links to, and what it loads."""
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = {""}
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key == "id":
                self.ids.add(value or "")
            elif key == "href" and tag == "a":
                self.links.add(value or "")
            elif key in ("href", "src", "srcset", "data"):
                self.loaded.add(value or "")


def check_links(site: Path) -> Iterator[str]:
    pages = {path: Outline(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site)
        yield from (f"{where} loads {ref} from the network" for ref in page.loaded if re.match(r"(\w+:)?//", ref))
        for ref in sorted(page.links | page.loaded):
            target, _, anchor = unquote(ref).partition("#")
            target = target.partition("?")[0]
            if re.match(r"(\w+:|//)", ref):
                continue
            to = Path(os.path.normpath(path.parent / target)) if target else path
            if not to.is_file():
                yield f"{where}: link to {ref}: no such file"
            elif to in pages and anchor not in pages[to].ids:
                yield f"{where}: link to {ref}: no such anchor"
    names = pages[site / "genindex.html"].links if len(pages) > 50 else set()
    if not any(link.endswith("#SCR_FLUSH") for link in names):
        yield "the index has not all names"


# --- pages in a browser ---

def wide(b: Browser) -> str | None:
    """What reaches out of the window, if anything does."""
    return b.js("""const width = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth <= width) return null;
        const out = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1);
        return out.map((e) => e.tagName + "." + e.className).slice(-3).join(" ") || "something";""")


def check_sizes(b: Browser, site: Path) -> Iterator[str]:
    start = site / "index.html" # leads to the first chapter
    every = [path for path in sorted(site.rglob("*.html")) if path != start]
    for width, paths in (400, every), (1280, sorted(site.glob("doc/guide/*.html"))):
        for path in paths:
            b.open(path, width)
            out = wide(b)
            if out:
                yield f"{path.relative_to(site)} at {width}: wider than the window: {out}"
            from_net = b.js("""return performance.getEntriesByType("resource").map((r) => r.name)
                .filter((n) => !n.startsWith("file:") && !n.startsWith("data:"))""")
            yield from (f"{path.relative_to(site)} loads {name}" for name in from_net)


def check_schemes(b: Browser, site: Path) -> Iterator[str]:
    for scheme in "light", "dark":
        b.open(site / "doc/guide/concepts.html", scheme=scheme)
        dark = b.js("return getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g)[0] < 100")
        if dark != (scheme == "dark"):
            yield f"a browser set to {scheme} gets the other colours"
    b.js("document.querySelector('.theme-toggle').click()")
    if b.js("return document.body.dataset.theme") != "light":
        yield "the button does not change the colours"
    b.js("localStorage.clear()")


def check_search(b: Browser, site: Path) -> Iterator[str]:
    found: list[str] = []
    for words, page in SEARCHES.items():
        b.open(site / "doc/guide/concepts.html")
        b.press(".sidebar-search", words + "\n")
        for _ in range(100):
            found = b.js("return [...document.querySelectorAll('#search-results li a')].map((a) => a.href)")
            if any(href.split("?")[0].endswith(page) or href.endswith(page) for href in found):
                break
            time.sleep(0.1)
        else:
            yield f"a search for {words} does not find {page}, but {found[:5]}"


def check_code(b: Browser, site: Path) -> Iterator[str]:
    b.open(site / "doc/guide/quick-start.html")
    without = b.js("""return [...document.querySelectorAll("div.highlight")].filter((d) =>
        !d.querySelector("button.copybtn") !== !!d.closest(".output")).map((d) => d.textContent.slice(0, 60))""")
    yield from (f"quick-start: copy button missing, or on what a command prints: {text}" for text in without)
    if not b.js("return document.querySelectorAll('button.copybtn').length"):
        yield "quick-start: no copy button"


def check_figures(b: Browser, site: Path) -> Iterator[str]:
    seen = set()
    for path in sorted(site.glob("doc/guide/*.html")):
        if "<img" in path.read_text(encoding="utf-8"):
            b.open(path)
            for src, width, text in b.js("return [...document.querySelectorAll('article img')].map((i) => [i.src, i.naturalWidth, i.alt])"):
                seen.add(Path(src).stem)
                if not width or not text:
                    yield f"{path.name}: {src} cannot be shown, or has no text for those who cannot see it"
    yield from (f"no page shows the figure {name}" for name in sorted(FIGURES - seen))


def check_version(b: Browser, site: Path) -> Iterator[str]:
    b.open(site / "doc/guide/concepts.html")
    if not re.search(r"\b\d+\.\d+\.\d+\b", b.js("return document.querySelector('.sidebar-brand').textContent")):
        yield "no version"


def pages(site: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="scr-docs.", ignore_cleanup_errors=True) as top:
        b = Browser(top)
        try:
            for check in check_sizes, check_schemes, check_search, check_code, check_figures, check_version:
                start = time.monotonic()
                yield from check(b, site)
                print(f"{check.__name__}: {time.monotonic() - start:.1f} s")
        finally:
            b.close()


def shots(site: Path, out: Path, names: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="scr-docs.", ignore_cleanup_errors=True) as top:
        b = Browser(top)
        try:
            for name in names:
                for width in 1280, 400:
                    for scheme in "light", "dark":
                        b.open(site / name, width, scheme)
                        time.sleep(0.3)
                        b.picture(out / f"{Path(name).stem}-{width}-{scheme}.png")
        finally:
            b.close()


def main() -> None:
    mode, site = sys.argv[1], Path(sys.argv[2]).resolve()
    if mode == "shots":
        shots(site, Path(sys.argv[3]), sys.argv[4:])
        return
    if mode == "links":
        findings = Path(sys.argv[3]).read_text(encoding="utf-8").splitlines() + list(check_links(site))
    else:
        findings = list(pages(site))
    for text in findings:
        print(text)
    print(f"{mode}: {len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


main()
