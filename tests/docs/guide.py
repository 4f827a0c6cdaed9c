#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does what a page of the guide tells its reader to do.

    guide.py PAGE --build DIR --source DIR --mpicc PROGRAM --mpirun PROGRAM [--mpifort PROGRAM]

Blocks marked {.sh .run} are run one after the other in one shell; every command has to succeed. A
block {.text .output} tells what the one before it prints: its lines are looked for in this order,
and ... stands for anything. A block {.ini .conf} is a configuration file, in which scr_param has to
find no fault. HOME is a new directory with the examples and an installed SCR."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```\{\.\w+ \.(run|output|conf)\}\n(.*?)^```$", re.M | re.S)
CHECK = "cat >checked.conf <<'END'\n{}END\nscr_param --check checked.conf\n"
MARK = "--- block"


def steps(page: str) -> list[tuple[str, list[str]]]:
    """Commands, and the lines that they print."""
    found: list[tuple[str, list[str]]] = []
    for kind, text in BLOCK.findall(page):
        if kind == "run":
            found.append((text, []))
        elif kind == "conf":
            found.append((CHECK.format(text), ["checked.conf: 0 errors, 0 warnings"]))
        elif found:
            found[-1][1].extend(text.rstrip("\n").split("\n"))
    return found


def pattern(line: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(" ".join(part.split())) for part in line.split("...")) + "$")


def missing(wanted: list[str], printed: str) -> str | None:
    """The first line of wanted that does not come after the one before it. SCR's lines and the
    program's come through two pipes of the launcher, which forwards either first."""
    for of_scr in (True, False):
        lines = iter(" ".join(line.split()) for line in printed.split("\n"))
        for want in wanted:
            if want.startswith("SCR") == of_scr and \
                    not any(pattern(want).match(line) for line in lines):
                return want
    return None


def prepare(home: Path, args: argparse.Namespace) -> dict[str, str]:
    """The environment of the reader."""
    installed = home / "scr"
    subprocess.run(["cmake", "--install", args.build, "--prefix", installed], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.copytree(args.source / "examples", home / "examples")
    (home / "bin").mkdir()
    for name, program in (("mpicc", args.mpicc), ("mpirun", args.mpirun), ("mpifort", args.mpifort)):
        if not program:
            continue
        # No link: MPICH's launcher looks for its other half beside the name it was called by.
        script = home / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{shutil.which(program) or program}" "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    config = next(installed.glob("**/pkgconfig"))
    (home / "cache").mkdir()
    return {**{k: v for k, v in os.environ.items() if not k.startswith(("SCR_", "SLURM_"))},
            "HOME": str(home), "PATH": f"{home}/bin:{installed}/bin:{os.environ['PATH']}",
            "PKG_CONFIG_PATH": str(config), "LD_LIBRARY_PATH": str(config.parent),
            "SCR_CACHE_BASE": f"{home}/cache", "SCR_CNTL_BASE": f"{home}/cache",
            "SCR_LOG_TIME": "0"}


def follow(page: Path, home: Path, env: dict[str, str]) -> int:
    todo = steps(page.read_text(encoding="utf-8"))
    script = "".join(f"echo '{MARK} {i}'\n{commands}" for i, (commands, _) in enumerate(todo))
    done = subprocess.run(["sh", "-eu", "-c", script], cwd=home, env=env, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout)
    printed = re.split(rf"^{MARK} \d+\n", done.stdout, flags=re.M)[1:]
    faults = [f"the last block that was begun ends with {done.returncode}"] if done.returncode else []
    for (commands, wanted), text in zip(todo, printed):
        line = missing(wanted, text)
        if line is not None:
            faults.append(f"'{line}' is not what is printed by\n{commands}")
    for fault in faults:
        print(f"{page.name}: {fault}", file=sys.stderr)
    print(f"{page.name}: {len(todo)} blocks, {len(faults)} fault(s)")
    return 1 if faults or not todo else 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=Path)
    for option in ("--build", "--source"):
        parser.add_argument(option, type=Path, required=True)
    for option in ("--mpicc", "--mpirun"):
        parser.add_argument(option, required=True)
    parser.add_argument("--mpifort", default="")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scr-docs.") as home:
        sys.exit(follow(args.page, Path(home), prepare(Path(home), args)))


main()
