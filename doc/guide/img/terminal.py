#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what a command printed as a picture of a terminal: terminal.py TITLE <captured >picture.svg

A line that begins with "$ " is the command, in bold. Colours of the terminal are left out.
"""
import html
import re
import sys

WIDTH, HEIGHT, MARGIN, BAR = 7.83, 18, 14, 28  # of a character, a line, the border and the title, at 13 px

HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img">
<title>{title}</title>
<style>
text {{ font: 13px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #e6e9ee; white-space: pre; }}
.name {{ font-family: system-ui, "DejaVu Sans", sans-serif; fill: #98a4b3; text-anchor: middle; }}
.typed {{ font-weight: 600; fill: #ffffff; }}
</style>
<rect width="{w}" height="{h}" rx="7" fill="#1d2430"/>
<text class="name" x="{middle}" y="19">{title}</text>
"""


def draw(title, lines):
    w = round(max(len(line) for line in lines) * WIDTH + 2 * MARGIN)
    h = BAR + len(lines) * HEIGHT + MARGIN
    out = HEAD.format(w=w, h=h, middle=w / 2, title=html.escape(title))
    for i, line in enumerate(lines):
        kind = ' class="typed"' if line.startswith("$ ") else ""
        if line:
            out += (f'<text{kind} x="{MARGIN}" y="{BAR + (i + 1) * HEIGHT - 5}" xml:space="preserve">'
                    f"{html.escape(line)}</text>\n")
    return out + "</svg>\n"


text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", sys.stdin.read())
sys.stdout.write(draw(sys.argv[1], text.rstrip("\n").split("\n")))
