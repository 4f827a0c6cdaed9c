#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs fuzz targets one after the other, each for some seconds (make fuzz).

    run.py [-s SECONDS] [-r RUNS] [--seed N] [--only REGEX] [--found DIR] BUILD

BUILD has the targets in tests/fuzz, with libFuzzer or with driver.c, and their corpora in
tests/fuzz/corpora. What libFuzzer finds goes into a temporary directory; an input that crashes a
target, leaks, or takes long is kept in --found (BUILD/tests/fuzz/found), and the command that repeats it
printed. Ends with one line of figures a target, and one of all; status 1 if anything was found."""
import argparse
import os
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
import time

SAN = {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1",
       "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def arguments():
    parser = argparse.ArgumentParser(description="runs fuzz targets")
    parser.add_argument("-s", "--seconds", type=int, default=5, help="a target")
    parser.add_argument("-r", "--runs", type=int, default=0,
                        help="executions after which a target of libFuzzer ends before its time")
    parser.add_argument("--seed", type=int, default=0, help="0: one that is drawn and printed")
    parser.add_argument("--only", default="", help="targets whose name matches")
    parser.add_argument("--found", help="directory for inputs that were found")
    parser.add_argument("build")
    args = parser.parse_args()
    args.seed = args.seed or secrets.randbelow(2**31 - 1) + 1
    args.dir = os.path.join(os.path.abspath(args.build), "tests", "fuzz")
    args.found = os.path.abspath(args.found or os.path.join(args.dir, "found"))
    return args


def targets(args):
    """Pairs of a target's name and its corpus, read before a build can write them anew."""
    chosen = []
    with open(os.path.join(args.dir, "corpora"), encoding="utf-8") as lines:
        for line in lines:
            what, *corpus = line.rstrip("\n").split(";")
            if re.search(args.only, what):
                chosen.append((what, [path for path in corpus if path]))
    return chosen


def command(args, what, corpus, scratch):
    """The command line, and 1 if it is one of libFuzzer's."""
    program = os.path.join(args.dir, "fuzz_" + what)
    with open(program, "rb") as binary:
        if b"LLVMFuzzerRunDriver" not in binary.read():
            kept = os.path.join(args.found, f"{what}-crash-{args.seed}")
            return [program, "-t", str(args.seconds), "-s", str(args.seed), "-k", kept] + corpus, False
    # Single files are not read for their changes: all of a corpus lies in one directory.
    seeds = os.path.join(scratch, "seeds")
    os.makedirs(seeds)
    for number, path in enumerate(files(corpus)):
        os.symlink(path, os.path.join(seeds, f"{number}"))
    news = os.path.join(scratch, "new")
    os.makedirs(news)
    return [program, f"-max_total_time={args.seconds}", f"-runs={args.runs or -1}",
            f"-seed={args.seed}", "-print_final_stats=1", "-timeout=20", "-rss_limit_mb=2048", "-max_len=16384",
            f"-artifact_prefix={args.found}/{what}-", news, seeds], True


def files(corpus):
    for path in corpus:
        if os.path.isdir(path):
            for name in sorted(os.listdir(path)):
                yield from files([os.path.join(path, name)])
        elif os.path.exists(path):
            yield path
        else:
            sys.exit(f"{path}: no such corpus; configure the build anew")


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run(args, what, corpus):
    """Executions, executions a second, new units and 1 if it was found wanting."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="scr-fuzz.") as scratch:
        line, is_libfuzzer = command(args, what, corpus, scratch)
        done = subprocess.run(line, capture_output=True, text=True, errors="replace",
                              env={**os.environ, **SAN}, check=False)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        sys.stderr.write("\n".join(said.splitlines()[-60:]) + "\n")
        kept = re.findall(r"Test unit written to (\S+)", said)
        if "input kept" in said:
            kept = [line[line.index("-k") + 1]]
        again = [line[0], kept[-1]] if kept else line
        print(f"{what}: again: {shlex.join(again)}", flush=True)
    if is_libfuzzer:
        runs = number(r"number_of_executed_units: *(\d+)", said)
        new = number(r"new_units_added: *(\d+)", said)
    else:
        runs, new = number(r"and (\d+) changes", said), 0
    return runs, int(runs / (time.monotonic() - begun)), new, int(done.returncode != 0)


def main():
    args = arguments()
    os.makedirs(args.found, exist_ok=True)
    print(f"seed {args.seed}, {args.seconds} s a target", flush=True)
    sums = [0, 0, 0, 0]
    n = 0
    for what, corpus in targets(args):
        got = run(args, what, corpus)
        print(f"{what}: {got[0]} executions, {got[1]}/s, {got[2]} new units, {got[3]} crashes", flush=True)
        sums = [a + b for a, b in zip(sums, got)]
        n += 1
    if n == 0:
        sys.exit(f"no target matches {args.only}")
    print(f"all: {n} targets, {sums[0]} executions, {sums[2]} new units, {sums[3]} crashes")
    sys.exit(sums[3] > 0)


main()
