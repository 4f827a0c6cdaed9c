#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of scr report in a headless Chromium: page.py SCR [--shots DIR] [LOG]

Its numbers are those of --json, nothing of the log becomes markup, tables sort, the timeline zooms,
it fits a telephone, loads nothing, and the console stays empty. With --shots it saves pictures of LOG
(runs.log) instead of testing. Exits 77 where chromium or chromedriver is not installed.
"""
import base64
import json
import math
import os
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from browser import Browser

HERE = Path(__file__).resolve().parent
BEGIN = 1769860800.0


def report(scr: str, top: Path, log: Path, name: str) -> tuple[Path, Any]:
    page = top / f"{name}.html"
    subprocess.run([scr, "report", "--logfile", log, "--output", page], check=True, stdout=subprocess.DEVNULL)
    text = subprocess.run([scr, "report", "--logfile", log, "--json"], check=True, stdout=subprocess.PIPE).stdout
    return page, json.loads(text)


def many(path: Path, checkpoints: int) -> None:
    """A log of that many checkpoints in runs of 50, each ended by a failure."""
    at = BEGIN

    def event(kind: str, **more: Any) -> str:
        when = datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="microseconds")
        return json.dumps({"time": when, "host": "n1", "jobid": "9", "event": kind, **more}) + "\n"
    with open(path, "w", encoding="utf-8") as f:
        for i in range(checkpoints):
            if i % 50 == 0:
                at += 60
                f.write(event("FAILURE", **{"class": "process"}) if i else "")
                f.write(event("RUN_START", version="4.0.0", secs=3, run=i // 50 + 1) + event("COMPUTE_START"))
                f.write(event("RESTART_SUCCESS", dset=i, secs=1) if i else "")
            at += 300
            f.write(event("COMPUTE_END", secs=300) + event("CHECKPOINT_START", dset=i + 1, name=f"c{i + 1}"))
            at += 5 + i % 7
            f.write(event("CHECKPOINT_END", dset=i + 1, name=f"c{i + 1}", secs=5 + i % 7, bytes=10**9) + event("COMPUTE_START"))


# --- what is tested ---

TABLE = """return [...document.querySelectorAll(arguments[0] + " table")].map((t) =>
    [...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.dataset.v ?? null)))"""


def near(a: str | None, b: float | None) -> bool:
    return a is None and b is None or a is not None and b is not None and math.isclose(float(a), b, rel_tol=1e-9)


def column(b: Browser, css: str, which: int, table: int = 0) -> list[str | None]:
    return [row[which] for row in b.js(TABLE, css)[table]]


def check_numbers(b: Browser, data: Any) -> None:
    card = b.js("return Object.fromEntries([...document.querySelectorAll('.card')].map((c) => [c.id, c.dataset.v]))")
    best, totals = data["optimum"], data["totals"]
    for name, value in {"efficiency": data["efficiency"], "optimum": best["efficiency"], "interval": best["interval"],
                        "n-runs": totals["runs"], "n-checkpoints": totals["checkpoints"],
                        "n-failures": totals["failures"], "lost": data["time"]["lost"]}.items():
        assert near(card[name], value), (name, card[name], value)
    compared = [
        ("#time", 0, 1, list(data["time"].values())),
        ("#bandwidth", 0, 4, [level["median_rate"] for level in data["levels"] if level["n"]]),
        ("#costs", 0, 3, [c["median"] for c in data["costs"]]), ("#costs", 0, 6, [c["max"] for c in data["costs"]]),
        ("#failures", 0, 5, [f["lost"] for f in data["failures"]]),
        ("#failures", 1, 1, [n["n"] for n in data["nodes"]]),
        ("#runs", 0, 4, [r["wall"] for r in data["runs"]]), ("#runs", 0, 13, [r["time"]["kept"] for r in data["runs"]]),
        ("#datasets", 0, 0, [d["dset"] for d in data["datasets"]]),
        ("#datasets", 0, 5, [d["bytes"] for d in data["datasets"]]),
    ]
    for css, table, which, values in compared:
        there = column(b, css, which, table)
        assert len(there) == len(values) and all(map(near, there, values)), (css, which, there, values)
    text = b.js("return document.getElementById('efficiency').textContent")
    assert text.startswith(f"{100 * data['efficiency']:.1f} %"), text


def check_texts(b: Browser, data: Any) -> None:
    """Names of datasets, nodes and parameters are texts, whatever they hold (S11)."""
    names = column(b, "#datasets", 1)
    assert names == [d["name"] for d in data["datasets"]] and "</script><b" in (names[0] or ""), names
    assert b.js("return document.querySelectorAll('main b[onmouseover], main td i, main dd i, section script').length") == 0
    assert b.js("return [...document.querySelectorAll('#config dd')].map((d) => d.textContent)")[-1] == '"/p/a;b <i>"'
    notes = b.js("return [...document.querySelectorAll('#notes li')].map((n) => n.textContent)")
    assert notes == data["log"]["notes"] and len(notes) == 2, notes
    advice = b.js("return [...document.querySelectorAll('#advice li')].map((n) => n.textContent)")
    assert advice == [a["text"] for a in data["advice"]], advice


def check_sorting(b: Browser) -> None:
    click = "document.querySelectorAll('#datasets thead button')[arguments[0]].click()"
    sort = "return document.querySelectorAll('#datasets th')[0].getAttribute('aria-sort')"
    b.js(click, 0)
    assert column(b, "#datasets", 0) == ["1", "2", "3"] and b.js(sort) == "ascending"
    b.js(click, 0)
    assert column(b, "#datasets", 0) == ["3", "2", "1"] and b.js(sort) == "descending"
    b.js(click, 12) # the flush, of which only dataset 2 has one: what is not known comes last
    assert column(b, "#datasets", 0)[0] == "2" and b.js(sort) is None


def check_zoom(b: Browser, data: Any) -> None:
    def view() -> tuple[float, float]:
        at = b.js("const v = document.getElementById('view').dataset; return [v.from, v.to]")
        return float(at[0]), float(at[1])
    whole = view()
    assert whole[0] < data["begin"] and whole[1] > data["end"]
    b.js("document.querySelector('[aria-label=\"zoom in\"]').click()")
    half = view()
    assert math.isclose(half[1] - half[0], (whole[1] - whole[0]) / 2, rel_tol=1e-6)
    b.press("#view", "\ue014") # the right arrow
    assert view()[0] > half[0] and b.js("return document.getElementById('readout').textContent").startswith("2026-01-31")
    for _ in range(40):
        b.press("#view", "+")
    assert 0.5 < view()[1] - view()[0] < 1.5 # a second, no less
    b.press("#view", "0")
    assert view() == whole
    b.js("document.querySelector('[aria-label^=\"show run 2\"]').click()")
    run = data["runs"][1]
    assert whole[0] < view()[0] < run["begin"] and view()[1] > run["begin"] + run["wall"]
    assert b.js("return document.activeElement.id") == "view"
    b.press("#view", "0")


def check_access(b: Browser) -> None:
    unnamed = b.js("""return [...document.querySelectorAll("svg, button, [role=region], [tabindex='0']")].filter((e) =>
        !(e.getAttribute("aria-label") || e.textContent.trim())).map((e) => e.outerHTML.slice(0, 99))""")
    assert not unnamed, unnamed
    assert b.js("return [...document.querySelectorAll('table')].every((t) => t.caption && t.tHead.rows[0].cells[0].scope)")
    assert b.js("return document.documentElement.lang") == "en"
    assert b.js("return performance.getEntriesByType('resource').length") == 0


def check_width(b: Browser, page: Path) -> None:
    for width in 1280, 400:
        for scheme in "light", "dark":
            b.open(page, width, scheme)
            assert b.js("return document.documentElement.scrollWidth") <= width
            low = b.js("return getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g)[0] < 100")
            assert low == (scheme == "dark")


def test(scr: str, top: Path) -> None:
    b = Browser(str(top))
    try:
        page, data = report(scr, top, HERE / "runs.log", "runs")
        b.open(page)
        check_numbers(b, data)
        check_texts(b, data)
        check_zoom(b, data)
        check_sorting(b)
        check_access(b)
        check_width(b, page)
        many(top / "many.log", 5000)
        page, data = report(scr, top, top / "many.log", "many")
        b.open(page)
        assert data["totals"]["datasets"] == 5000 and len(data["datasets"]) == 5000
        assert column(b, "#datasets", 0) == [str(n) for n in range(3001, 5001)] # the newest
        assert "the newest 2000 of 5000" in b.js("return document.querySelector('#datasets caption').textContent")
        (top / "bypass.log").write_text("".join(
            json.dumps({"time": f"2026-01-31T12:00:0{d}+00:00", "host": "n1", "event": "CHECKPOINT_END", "dset": d,
                        "secs": 1, "bytes": 1, "to": to}) + "\n" for d, to in enumerate(("cache", "prefix"))), encoding="utf-8")
        b.open(report(scr, top, top / "bypass.log", "bypass")[0])
        assert column(b, "#datasets", 14) == ["cache", "prefix"], column(b, "#datasets", 14)
        (top / "none.log").write_text("", encoding="utf-8")
        b.open(report(scr, top, top / "none.log", "none")[0])
        assert "no run" in b.js("return document.getElementById('about').textContent")
        print("report.page: all well")
    finally:
        b.close()


def shots(scr: str, top: Path, out: Path, log: Path) -> None:
    b = Browser(str(top))
    try:
        page, _ = report(scr, top, log, "page")
        for width in 1280, 400:
            for scheme in "light", "dark":
                b.open(page, width, scheme)
                b.picture(out / f"report-{width}-{scheme}.png")
        b.open(page)
        bottom = b.js("return document.getElementById('timeline').getBoundingClientRect().bottom")
        b.picture(out / "report.png", {"x": 0, "y": 0, "width": 1280, "height": bottom + 12, "scale": 1})
        pdf = b.call("POST", "/print", {"page": {"width": 21, "height": 29.7}})
        (out / "report.pdf").write_bytes(base64.b64decode(pdf))
    finally:
        b.close()


def main() -> None:
    scr = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="scr-report.", ignore_cleanup_errors=True) as top:
        if "--shots" in sys.argv:
            rest = sys.argv[sys.argv.index("--shots") + 1:]
            shots(scr, Path(top), Path(rest[0]), Path(rest[1] if len(rest) > 1 else HERE / "runs.log"))
        else:
            test(scr, Path(top))


main()
