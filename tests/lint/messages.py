#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages that the guide explains are messages of the source: messages.py SOURCE_DIR

Terms of definition lists and the first column of tables of messages are quotes. What stands between
two conversions of a format, or is a whole string, is a fragment. A quote has to be made of whole
fragments, of examples of what is no word (names, numbers, paths), and of … for what is left out,
next to which a fragment may be there in part. One short word put for another may pass. The selftest
at the end shows that a line the source does not have is found."""
import os
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Iterator

STRING = r'"(?:\\.|[^"\\])*"'
LITERAL = re.compile(rf'{STRING}(?:\s*(?:{STRING}|PRI\w+|SCR_[A-Z_]+(?=\s*")))*')
CONVERSION = re.compile(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]")
EXAMPLE = re.compile(rf"[^\s(,:;)]*{CONVERSION.pattern}(?:{CONVERSION.pattern}|(?![a-z]{{3}})[^\s%,:;?)])*")
TOKEN = re.compile(r"…|[(,:;?)]|[^\s…(,:;?)]+")
WORD = re.compile(r"[a-z][a-z'-]*")
LEFT_OUT = "…"
Fragment = tuple[str, ...]


# --- what the source says ---

def strings(root: Path) -> Iterator[str]:
    for path in sorted(p for d in ("src", "tools", "interpose") for s in ("c", "h", "def") for p in (root / d).glob(f"**/*.{s}")):
        text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
        for match in LITERAL.finditer(text):
            yield re.sub(r"\\[nt]", " ", "".join(
                part[1:-1] if part[0] == '"' else "d" if part.startswith("PRI") else "%s"
                for part in re.findall(rf"{STRING}|PRI\w+|SCR_[A-Z_]+", match.group(0))))


def fragments(text: str) -> Iterator[Fragment]:
    """Of "%d rank%s" both "rank" and "ranks"."""
    for ending in ("", "s"):
        for part in EXAMPLE.split(re.sub(r"(?<=[a-z])%s(?![a-z])", ending, text)):
            if part.strip():
                yield tokens(part)


def tokens(text: str) -> Fragment:
    return tuple(TOKEN.findall(text.replace("%%", "%")))


class Said:
    """Fragments by their first word, and parts of them."""
    def __init__(self, texts: list[str]) -> None:
        self.whole: dict[str, set[Fragment]] = {}
        for text in texts:
            for fragment in fragments(text):
                self.whole.setdefault(fragment[0], set()).add(fragment)
        every = {f for group in self.whole.values() for f in group}
        self.heads = {f[:n] for f in every for n in range(1, len(f) + 1)}
        self.tails = {f[n:] for f in every for n in range(len(f))}
        self.inner = {f[a:b] for f in every if len(f) < 40 for a in range(len(f)) for b in range(a + 1, len(f) + 1)}

    def says(self, message: Fragment) -> bool:
        """Whether the message can be put together."""
        def steps(a: int) -> Iterator[int]:
            """Where what begins at a may end."""
            after = a > 0 and message[a - 1] == LEFT_OUT
            if not WORD.fullmatch(message[a]):
                yield a + 1
            yield from (a + len(f) for f in self.whole.get(message[a], ()) if message[a:a + len(f)] == f)
            for b in range(a + 1, len(message) + 1):
                before = b < len(message) and message[b] == LEFT_OUT
                known = self.inner if before and after else self.heads if before else self.tails if after else ()
                if message[a:b] in known:
                    yield b

        @lru_cache(maxsize=None)
        def rest(a: int) -> bool:
            return a == len(message) or any(rest(b) for b in steps(a))
        return rest(0)


# --- what the guide says ---

def quoted(root: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((root / "doc" / "guide").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        lines = re.findall(r"^(`.*)\n:   ", text, re.M) if path.stem != "glossary" else []
        for table in re.findall(r"^\| (?:message|it says) \|.*\n\|[ -|]*\n((?:\|.*\n)+)", text, re.M):
            lines += re.findall(r"^\| (`[^`]+`)", table, re.M)
        for line in lines:
            yield from ((path.name, message) for message in re.findall(r"`([^`]+)`", line))


# --- each of these must be found ---

STRANGERS = [
    "SCR_SET_SIZE=abc (environment): expected a natural number, at least 1",
    "unknown parameter SCR_FLUSHH (environment): was SCR_FLUSH meant?",
    "flush of ckpt.10 failed, it remains in cache: …",
    "no more runs: SCR_RUNS=1 allows one",
    "node n3 is forgotten: …",
    "… the disk of the node is full",
]


def main() -> None:
    root = Path(sys.argv[1])
    said = Said([*strings(root), *(os.strerror(n).lower() for n in range(1, 134))])
    quotes = list(quoted(root))
    findings = [f"{page}: no source says `{message}`" for page, message in quotes if not said.says(tokens(message))]
    findings += [f"selftest: `{message}` is not found" for message in STRANGERS if said.says(tokens(message))]
    if len(quotes) < 60:
        findings.append(f"only {len(quotes)} quotes are read")
    for line in findings:
        print(line)
    print(f"messages: {len(quotes)} quoted, {len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


main()
