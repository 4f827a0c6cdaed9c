#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every system call on files of a run, of each rank, and of the commands that change something: it kills them, before
and after the call; it fails, in all the ways in which it can; or power is lost then, and with it what was not synced.
What follows is compared with the promises of spec.py: no call hangs, aborts or ends with other codes on other ranks,
and a restart offers the newest complete dataset, byte for byte.

A point is a history of promises.py; one that fails is kept as a file, which promises.py repeats.

usage: points.py --build DIR [--most N] [--seed N] [--only WORD] [--jobs N] [--check] [--keep DIR] [crash|fault|lost …]
"""
import argparse
import collections
import concurrent.futures
import os
import random
import sys
import tempfile
import time

import promises
from launcher import HUNG, Launcher

CRASH, FAULT, LOST = "crash", "fault", "lost"
CHANGES = ("write", "sync", "size", "rename", "link", "unlink", "mkdir")
FAULTS = {"open": ("EIO", "EINTR", "ENOSPC", "EIO+"), "close": ("EIO", "ENOSPC", "EDQUOT"),
          "read": ("EIO", "EINTR", "short", "EIO+"), "write": ("EIO", "EINTR", "short", "ENOSPC+", "EDQUOT+"),
          "sync": ("EIO", "ENOSPC", "EIO+"), "size": ("EIO", "ENOSPC+"), "rename": ("EIO", "EDQUOT", "EIO+"),
          "link": ("EIO", "ENOSPC"), "unlink": ("EIO", "EIO+"), "mkdir": ("EIO", "ENOSPC+", "EDQUOT"),
          "stat": ("EIO", "EIO+"), "list": ("EIO", "ENOMEM")}

# --- what is struck: lines of a history; @ is the strike ---

RANKS = 3
LOST_ALL = [f"lose n{i + 1}" for i in range(RANKS)]
AFTER = ["scr 0 a halt --remove", f"run 0 a {RANKS} : init; restart; ckpt=0; finalize", *LOST_ALL,
         "scr 0 a halt --remove", f"run 0 a {RANKS} : init; restart; ckpt=5"]
CACHED = f"run 0 a {RANKS} : init; restart; ckpt=0; ckpt=5"
SAVED = [f"run 0 a {RANKS} : init; restart; ckpt=0; output=2; ckpt=5; finalize", "scr 0 a halt --remove"]
XOR, SINGLE, PARTNER, RS = (f"level={s}:1:cache:2:8:{k}:0" for s, k in
                            (("XOR", 1), ("SINGLE", 1), ("PARTNER", 1), ("RS", 2)))
STORE = "level=SINGLE:1:W:2:8:1:0" # all nodes share it


def run(*steps, ranks=RANKS):
    return f"run 0 a {ranks} : @; init; {'; '.join(steps)}"


def command(words):
    return f"strike @ 0 a {words}"


# {name: (case, lines before, the line that is struck)}
SUBJECTS = {
    "run": (f"u SCR_FLUSH=2 {XOR}", [], run("restart", "ckpt=0", "ckpt=5", "output=2", "finalize")),
    "run.partner": (f"u SCR_FLUSH=1 {PARTNER}", [], run("restart", "ckpt=0", "ckpt=7", "finalize")),
    "run.rs": (f"u SCR_FLUSH=1 {RS}", [], run("restart", "ckpt=1", "finalize")),
    "run.async": (f"u SCR_FLUSH=1 SCR_FLUSH_ASYNC=1 SCR_FLUSH_TYPE=PTHREAD {XOR}", [],
                  run("restart", "ckpt=0", "ckpt=5", "finalize")),
    "run.packed": (f"u SCR_FLUSH=1 SCR_FLUSH_COMPRESS=ZSTD {SINGLE}", [], run("restart", "ckpt=0", "finalize")),
    "run.bypass": ("c SCR_FLUSH=1 level=SINGLE:1:cache:-1:8:1:1", [f"run 0 a {RANKS} : init; ckpt=0"],
                   run("restart", "ckpt=0", "ckpt=6", "finalize")),
    "run.replaces": (f"c SCR_FLUSH=1 {XOR}", [f"run 0 a {RANKS} : init; ckpt=0"],
                     run("restart", "ckpt=0", "finalize")),
    "run.retires": (f"u SCR_FLUSH=1 SCR_PREFIX_SIZE=1 {XOR}", [f"run 0 a {RANKS} : init; ckpt=0"],
                    run("restart", "ckpt=0", "delete=1", "drop=0", "ckpt=0")),
    "run.store": (f"u SCR_FLUSH=1 {STORE}", [], run("restart", "ckpt=6", "ckpt=0", "finalize")),
    "run.levels": (f"u SCR_FLUSH=3 {SINGLE} level=RS:2:L1:2:8:2:0", [],
                   run("restart", "ckpt=0", "ckpt=0", "ckpt=0", "finalize")),
    "run.flat": (f"u SCR_FLUSH=1 SCR_PRESERVE_DIRECTORIES=0 {XOR}", [], run("restart", "ckpt=5", "finalize")),
    "run.current": (f"u SCR_FLUSH=1 SCR_DROP_AFTER_CURRENT=1 {XOR}", [],
                    run("restart", "ckpt=0", "ckpt=0", "current=1", "ckpt=0")),
    "revive": (f"u SCR_FLUSH=10 {XOR}", [CACHED], run("restart", "ckpt=0")),
    "revive.store": (f"u SCR_FLUSH=10 {STORE}", [CACHED], run("restart", "ckpt=6")),
    "revive.global": (f"u SCR_FLUSH=10 SCR_GLOBAL_RESTART=1 SCR_PREFIX_SIZE=1 {XOR}", [CACHED, "lose n1"],
                      run("restart", "ckpt=0")),
    "revive.flush": (f"u SCR_FLUSH=10 SCR_FLUSH_ON_RESTART=1 {XOR}", [CACHED, "lose n2"], run("restart", "ckpt=0")),
    "revive.ranks": (f"u SCR_FLUSH=10 SCR_RESTART_ANY_RANKS=1 {XOR}", [CACHED], run("restart", "ckpt=0", ranks=2)),
    "rebuild": (f"u SCR_FLUSH=10 {XOR}", [CACHED, "lose n2"], run("restart", "ckpt=0")),
    "rebuild.rs": (f"u SCR_FLUSH=10 {RS}", [CACHED, "lose n1", "lose n2"], run("restart", "ckpt=0")),
    "move": (f"u SCR_FLUSH=10 {XOR}", [CACHED, "turn 1"], run("restart", "ckpt=0")),
    "move.rebuild": (f"u SCR_FLUSH=10 {XOR}", [CACHED, "lose n2", "turn 1"], run("restart", "ckpt=0")),
    "fetch": (f"u SCR_FLUSH=1 {XOR}", [*SAVED, *LOST_ALL], run("restart", "ckpt=0")),
    "fetch.packed": (f"u SCR_FLUSH=1 SCR_FLUSH_COMPRESS=ZSTD {XOR}", [*SAVED, *LOST_ALL], run("restart")),
    "fetch.bypass": (f"u SCR_FLUSH=1 SCR_FETCH_BYPASS=1 {XOR}", [*SAVED, *LOST_ALL], run("restart", "ckpt=0")),
    "fetch.refused": (f"u SCR_FLUSH=1 {XOR}", [*SAVED, *LOST_ALL], run("refuse=1", "ckpt=0")),
    "fetch.ranks": (f"u SCR_FLUSH=1 SCR_RESTART_ANY_RANKS=1 {XOR}", SAVED, run("restart", "ckpt=0", ranks=2)),
    "index.drop": (f"u SCR_FLUSH=1 {XOR}", SAVED, command("index --drop @0")),
    "index.delete": (f"u SCR_FLUSH=1 {XOR}", SAVED, command("index --delete @2")),
    "index.current": (f"u SCR_FLUSH=1 {XOR}", SAVED, command("index --current @2")),
    "index.drop-after": (f"u SCR_FLUSH=1 {XOR}", SAVED, command("index --drop-after @2")),
    "index.build": (f"u SCR_FLUSH=10 {XOR}", [CACHED, "scr 0 a scavenge --id #0"], command("index --build #0")),
    "index.add": (f"u SCR_FLUSH=1 {XOR}", [*SAVED, "scr 0 a index --drop @0"], command("index --add #0")),
    "scavenge": (f"u SCR_FLUSH=10 {XOR}", [CACHED, "lose n2"], command("scavenge --id #0")),
    "postrun": (f"u SCR_FLUSH=10 {XOR}", [CACHED, "lose n2"], command("postrun")),
    "postrun.packed": (f"u SCR_FLUSH=10 SCR_FLUSH_COMPRESS=ZSTD {PARTNER}", [CACHED], command("postrun")),
    "clean": (f"u SCR_FLUSH=10 {XOR}", [CACHED], command("clean")),
    "clean.force": (f"u SCR_FLUSH=10 {XOR}", [CACHED], command("clean --ended --force --jobid JOB")),
    "halt": (f"u SCR_FLUSH=10 {XOR}", [CACHED], command("halt --checkpoints 1")),
    "halt.remove": (f"u SCR_FLUSH=10 {XOR}", [CACHED, "scr 0 a halt --checkpoints 1"], command("halt --remove")),
    "prerun": (f"u SCR_FLUSH=10 {XOR}", [], command("prerun")),
    "verify": (f"u SCR_FLUSH=1 {XOR}", [*SAVED, "rot 0 0"], command("verify --repair")),
    "extract": (f"u SCR_FLUSH=1 SCR_FLUSH_COMPRESS=ZSTD {XOR}", SAVED, command("index --extract @0 --to DIR")),
}


def history(subject, strike, seed=""):
    """strike: (rank, KIND:N:HOW), None: the calls are only counted. seed: power is lost."""
    case, before, line = SUBJECTS[subject]
    who, what = strike or (0, "trace")
    if line.startswith("run"):
        text = "; ".join(([f"strike={who}:{what}"] if strike else ["trace"]) + [f"lost={seed}"] * bool(seed))
    else:
        text = f"{what},{seed}" if seed else what
    words = line.split(" 0 a ")[1]
    again = [] if line.startswith("run") else [f"scr 0 a {words}"]
    return [f"world {','.join(f'n{i + 1}' for i in range(RANKS))}", f"case {case}", *before,
            line.replace("@", text, 1), *again, *AFTER]


# --- points ---

Point = collections.namedtuple("Point", "kind subject strike seed")


def is_command(subject):
    return not SUBJECTS[subject][2].startswith("run")


def counted(args, subject):
    """{(rank, kind): calls}; what happens when nothing is struck is right."""
    launcher = Launcher(args)
    wrong, done = promises.try_one(args, launcher, history(subject, None), 0)
    launcher.end()
    if wrong:
        promises.report(args, launcher, history(subject, None), 0, wrong, done)
        sys.exit(f"{subject} goes wrong undisturbed")
    args.undisturbed[subject] = done.status
    calls = collections.Counter()
    for (who, kind), n in done.calls.items(): # of a command's processes each may be the one
        key = (0 if is_command(subject) else int(who), kind)
        calls[key] = max(calls[key], n)
    return calls


def points(args, subject):
    calls = counted(args, subject)
    found = []
    for (who, kind), n in sorted(calls.items()):
        for i in range(1, n + 1):
            for how in ("before", "after") if kind in CHANGES else ():
                found.append(Point(CRASH, subject, (who, f"{kind}:{i}:{how}"), ""))
                found.append(Point(LOST, subject, (who, f"{kind}:{i}:{how}"), f"{args.seed}.{i}"))
            for how in FAULTS[kind]:
                found.append(Point(FAULT, subject, (who, f"{kind}:{i}:{how}"), ""))
    found += [Point(LOST, subject, None, f"{args.seed}.{i}") for i in range(10)]
    return [point for point in found if point.kind in args.kinds]


def chosen(args, found):
    """At most so many of each kind, as evenly over the subjects as they have some."""
    some = []
    for kind in args.kinds:
        of = collections.defaultdict(list)
        for point in found:
            if point.kind == kind:
                of[point.subject].append(point)
        for points_of in of.values():
            random.Random(args.seed).shuffle(points_of)
        turns = [points_of[i] for i in range(max(map(len, of.values()), default=0))
                 for points_of in of.values() if i < len(points_of)]
        some += turns[:args.most or None]
    return some


def try_point(args, launcher, point):
    """(whether it was met, texts of what is wrong)."""
    lines = history(point.subject, point.strike, point.seed)
    wrong, done = promises.try_one(args, launcher, lines, 0)
    if point.strike and point.strike[1].endswith(promises.UNNOTICED) and done.status != args.undisturbed[point.subject]:
        wrong = [*wrong, f"status {done.status}, and what was struck is to be tried again"]
    if wrong:
        name = "-".join([point.kind, point.subject, *map(str, point.strike or ()), point.seed]).replace(":", "-")
        kept = os.path.join(args.keep, f"{name.rstrip('-')}.hist")
        with open(kept, "w", encoding="utf-8") as f:
            f.write("\n".join([*lines, ""]))
        print("\n".join([f"--- {kept}", *done.told, *(f"WRONG: {text}" for text in wrong),
                         f"to repeat it: promises.py --build {args.build} {kept}"]), flush=True)
    return bool(done.struck or point.strike is None), wrong


def check(args):
    """Whether it is noticed that nothing is synced any more."""
    text = "; ".join(f"strike={rank}:sync:1:lie+" for rank in range(RANKS))
    wrong, launcher = [], Launcher(args)
    for seed in range(10):
        lines = [line.replace("trace", text) for line in history("run", None, str(seed))]
        wrong += promises.try_one(args, launcher, lines, 0)[0]
    launcher.end()
    print(f"nothing is synced: {wrong[0] if wrong else 'not noticed'}")
    return bool(wrong)


def work(args, some):
    """{(kind of point, kind of call): [tried, met, passed]}"""
    launcher, figures = Launcher(args), {}
    for point in some:
        if args.until and time.time() > args.until:
            break
        met, wrong = try_point(args, launcher, point)
        call = point.strike[1].split(":")[0] if point.strike else "end"
        figure = figures.setdefault((point.kind, call), [0, 0, 0])
        for i, one in enumerate((True, met, not wrong)):
            figure[i] += one
        if wrong and HUNG in wrong:
            launcher.end()
            launcher = Launcher(args)
    launcher.end()
    return figures


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=(CRASH, FAULT, LOST))
    parser.add_argument("--build", required=True)
    parser.add_argument("--most", type=int, default=0, help="points of each kind; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of what is left when power is lost, and of the order")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--only", default="", help="the beginning of subjects")
    parser.add_argument("--check", action="store_true", help="at first, that losses are noticed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--mpi", default="")
    parser.add_argument("--keep", default=tempfile.gettempdir())
    args = promises.find_programs(parser.parse_args())
    args.undisturbed = {} # statuses of commands
    args.sabotage, args.stay, args.shrink = "", False, False
    return args


def main():
    args, start = options(), time.time()
    if args.check and not check(args):
        return 1
    found = [point for subject in SUBJECTS if subject.startswith(args.only) for point in points(args, subject)]
    some = chosen(args, found)
    random.Random(args.seed).shuffle(some)
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        parts = list(pool.map(work, [args] * args.jobs, [some[i::args.jobs] for i in range(args.jobs)]))
    failed = 0
    for kind in args.kinds:
        figures = collections.defaultdict(lambda: [0, 0, 0])
        for part in parts:
            for (of, call), figure in part.items():
                for name in ([call, ""] if of == kind else []):
                    figures[name] = [a + b for a, b in zip(figures[name], figure)]
        tried, met, passed = figures.pop("", [0, 0, 0])
        failed += tried - passed
        by_call = ", ".join(f"{call} {one[2]}/{one[0]}" for call, one in sorted(figures.items()))
        print(f"{kind}: {tried} of {sum(p.kind == kind for p in found)} points tried, {met} met, {passed} passed: "
              f"{by_call}")
    print(f"seed {args.seed}, {time.time() - start:.0f} s")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
