#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples in the man pages of the commands.

    examples.py lint SOURCE_DIR                              every command has one that can be run
    examples.py run SOURCE_DIR BIN_DIR HELPER_DIR [PAGE]...  and they print what the pages say

An example is a block of code in the section EXAMPLE that begins with "$ ": commands after "$ ",
gone on with after "> ", and what they print, "..." standing for anything in a line, or as a line
of its own for any number of lines. Other blocks are files. All of a page are run by one shell, in
an empty prefix directory that the page may call /p/run1. Comments of the page in that section say
what is there before (the names are those of SETUPS), which programs a block cannot do without, and
that sizes count records with paths in them, whose length TMPDIR decides: they are right to a third.

    <!-- setup: cache lost -->
    <!-- needs: mpirun -->
    <!-- sizes: with-paths -->
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

MARK = "\x1e"  # between the outputs of two commands
PREFIX = "/p/run1"
TIMEOUT_S = 300

# What stands for something else is said in a page by its name: "mpirun" runs the program once,
# "slurm" answers as Slurm did when it was recorded.
SETUPS = {
    "cache": """
        mkdir -p "$TOP/node"
        export SCR_VNODES='n[0-3]' SCR_CNTL_BASE="$TOP/node" SCR_CACHE_BASE="$TOP/node"
        export SCR_USER_NAME=user1 SCR_JOB_ID=1234
        cli_cache "$TOP/node" user1 1234 7 XOR 4 4 "$PWD"
    """,
    "lost": 'rm -r "$TOP/node/vnode.n2"',
    "node": """
        mkdir -p "$TOP/node"
        export SCR_CNTL_BASE="$TOP/node" SCR_CACHE_BASE="$TOP/node" SCR_USER_NAME=user1
    """,
    "nodes": "export SCR_VNODES='n[1-4]'",
    "copied": """
        cli_scavenge "$PWD" 7 XOR 3 3
        rm .scr/scr.dataset.7/2_of_3_in_0.xor ckpt.7/rank_1.dat
    """,
    "flushed": """
        for id in 6 12 18; do cli_scavenge "$PWD" $id XOR 3 3; scr_index --build $id; done
        scr_index --current ckpt.18
    """,
    "damaged": """
        printf X | dd of=ckpt.18/rank_1.dat bs=1 seek=5 conv=notrunc
    """,
    "gone": "rm ckpt.18/rank_2.dat .scr/scr.dataset.18/*.xor .scr/scr.dataset.18/*.scrfilemap",
    "failed": 'cli_mark "$PWD" 6',
    "lost-entry": 'cli_scavenge "$PWD" 50 XOR 4 4; rm ckpt.50/rank_1.dat .scr/scr.dataset.50/2_of_4_in_0.xor',
    "ran": 'mkdir .scr; cp "$SOURCE"/tests/golden/nodes/good-4.scr .scr/nodes.scr',
    "run-log": """
        log() { SCR_LOG_ENABLE=1 scr_log_event --type "$@"; }
        log RUN_START -S 1000000 && log CHECKPOINT_END -S 1050000 -L 300 && log RUN_END -S 1086400
    """,
    "before": """
        mkdir step100
        for r in 0 1 2 3; do head -c 1048576 /dev/zero >step100/ckpt.000$r.dat; done
    """,
    "mpirun": """
        mkdir "$TOP/bin"
        printf '%s\\n' '#!/bin/sh' '[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit; }' \\
            'shift 2' 'exec "$@"' >"$TOP/bin/mpirun"
        printf '%s\\n' '#!/bin/sh' '[ -e again ] || { touch again; exit 1; }' 'echo 42' >my_job
        chmod +x "$TOP/bin/mpirun" my_job
        export PATH="$TOP/bin:$PATH" SCR_RUN_SLEEP=0
    """,
    "slurm": """
        export SLURM_JOBID=1234 SLURM_NODELIST='n[1-5]' PATH="$SOURCE/tests/fixtures/rm/slurm/bin:$PATH"
    """,
}


@dataclass
class Step:
    command: str
    output: list[str] = field(default_factory=list)


@dataclass
class Page:
    path: Path
    names: list[str]
    setups: list[str]
    is_rough: bool  # of sizes
    blocks: list[tuple[list[str], list[Step]]]  # programs it needs, steps


def read_block(lines: list[str]) -> list[Step]:
    steps: list[Step] = []
    for line in lines:
        if line.startswith("$ "):
            steps.append(Step(line[2:]))
        elif line.startswith("> ") and not steps[-1].output:
            steps[-1].command += "\n" + line[2:]
        else:
            steps[-1].output.append(line)
    return steps


def code_blocks(text: str) -> list[tuple[str, list[str]]]:
    """(what stands before it, lines) of each block, indented by four blanks or fenced."""
    blocks = []
    pattern = r"^```[^\n]*\n(.*?)^```$|((?:^    [^\n]*\n|^\n(?=    ))+)"
    at = 0
    for match in re.finditer(pattern, text, re.M | re.S):
        body = match.group(1) if match.group(1) is not None else \
            re.sub(r"^    ", "", match.group(2), flags=re.M).strip("\n")
        blocks.append((text[at:match.start()], body.splitlines()))
        at = match.end()
    return blocks


def words_of(text: str, key: str) -> list[str]:
    return " ".join(re.findall(rf"<!-- {key}: ([^>]*) -->", text)).split()


def read_page(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    name = re.search(r"^# NAME\n+([^\n]+?) - ", text, re.M)
    section = re.search(r"^# EXAMPLES?\n(.*?)(?=^# |\Z)", text, re.M | re.S)
    body = section.group(1) if section else ""
    blocks = [(words_of(before, "needs"), read_block(lines))
              for before, lines in code_blocks(body) if lines and lines[0].startswith("$ ")]
    return Page(path, [n.strip() for n in name.group(1).split(",")] if name else [],
                words_of(body, "setup"), words_of(body, "sizes") == ["with-paths"], blocks)


def all_pages(source: Path) -> list[Page]:
    return [read_page(path) for path in sorted((source / "doc" / "man1").glob("*.md"))]


# --- lint ---

def commands_of(source: Path) -> list[str]:
    rows = (source / "src" / "defs" / "commands.def").read_text(encoding="utf-8")
    links = re.findall(r'^X\(\w+, *"([^"]*)"', rows, re.M)
    return ["scr"] + [name for row in links for name in row.split()]


def lint(source: Path) -> list[str]:
    pages = all_pages(source)
    known = {name for page in pages for name in page.names}
    findings = [f"command {name} is in the NAME line of no page of doc/man1"
                for name in commands_of(source) if name not in known]
    for page in pages:
        if not page.blocks:
            findings.append(f"{page.path}: no example that can be run ('    $ command')")
        findings += [f"{page.path}: no set-up is called {name}"
                     for name in page.setups if name not in SETUPS]
    return findings


# --- run ---

def environment(source: Path, path: list[str], top: Path) -> dict[str, str]:
    ours = re.compile(r"(SCR|SLURM|LSB|PBS|FLUX)_")
    env = {k: v for k, v in os.environ.items() if not ours.match(k)}
    env["SCR_LOG_TIME"] = "0"
    env.update(LC_ALL="C", TZ="UTC", TOP=str(top), SOURCE=str(source), HOME=str(top),
               SCR_JOB_ID=top.name,  # nobody else's cache
               PATH=os.pathsep.join(path + [env["PATH"]]))
    return env


SIZE = r"(\d+\.\d\d)(?= KiB)"


def matches(expected: list[str], got: str, is_rough: bool) -> bool:
    def part(text: str) -> str:
        return re.sub(r"\d+\\\.\d\d(?=\\ KiB)", lambda _: SIZE, re.escape(text)) if is_rough else re.escape(text)

    def line(text: str) -> str:
        if text == "...":
            return "(?:.*\n)*"
        return ".*".join(map(part, text.split("..."))) + "\n"
    if got and not got.endswith("\n"):
        got += "\n"
    match = re.fullmatch("".join(map(line, expected)), got)
    sizes = re.findall(SIZE, "\n".join(expected))
    return match is not None and all(abs(float(size) / float(said) - 1) < 1 / 3
                                     for size, said in zip(match.groups(), sizes))


def run_script(script: str, cwd: Path, env: dict[str, str]) -> str:
    with tempfile.TemporaryFile() as out:
        shell = subprocess.Popen(["sh", "-c", script], cwd=cwd, env=env, start_new_session=True,
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            shell.wait(TIMEOUT_S)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # what it left in the background
            except ProcessLookupError:
                pass
            shell.wait()
        out.seek(0)
        return out.read().decode("utf-8", "replace")


def check_page(page: Page, source: Path, path: list[str]) -> list[str]:
    steps = []
    for needs, block in page.blocks:
        lacking = [program for program in needs if shutil.which(program) is None]
        if lacking:
            print(f"{page.path.name}: an example is skipped, there is no {lacking[0]}")
        else:
            steps += block
    with tempfile.TemporaryDirectory(prefix="scr-examples.") as tmp:
        top = Path(os.path.realpath(tmp))
        prefix = top / PREFIX[1:]
        prefix.mkdir(parents=True)
        parts = ["set -e\nexec 3>&1 >/dev/null"] + [SETUPS[name] for name in page.setups] + \
            ["set +e\nexec >&3 3>&-"]
        parts += [f"printf '{MARK}\\n'\n{step.command.replace(PREFIX, str(prefix))}" for step in steps]
        text = run_script("\n".join(parts), prefix, environment(source, path, top))
        setup, *outputs = text.replace(str(prefix), PREFIX).split(MARK + "\n")
    if len(outputs) != len(steps):
        return [f"{page.path}: set-up or an example ended the shell:\n{setup}"]
    return [f"{page.path}: $ {step.command}\n  expected:\n" + "\n".join(step.output) +
            f"\n  printed:\n{got}"
            for step, got in zip(steps, outputs) if not matches(step.output, got, page.is_rough)]


def run(source: Path, path: list[str], only: list[str]) -> list[str]:
    findings = []
    for page in all_pages(source):
        if not only or any(name in page.names for name in only):
            findings += check_page(page, source, path)
    return findings


def main() -> None:
    mode, args = sys.argv[1], sys.argv[2:]
    source = Path(args[0]).resolve()
    findings = lint(source) if mode == "lint" else run(source, args[1:3], args[3:])
    for text in findings:
        print(text)
    print(f"examples: {len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


main()
