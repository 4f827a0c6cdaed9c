#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times flushes against cp of the same files, on virtual nodes of this machine.

    flush.py --mpirun MPIRUN --ckpt PROGRAM [--mib N] [--rounds N] [--cache DIR] [--prefix DIR]

In each round bench/ckpt writes one checkpoint of 4 ranks, N MiB each, which is flushed with CRC;
then cp copies the same files, four at a time, to the same file system. Printed are

  flush/cp   seconds of a synchronous flush / seconds of cp
  held       seconds SCR_Complete_output holds the program for an asynchronous flush by
             threads / seconds it does for a synchronous one

as medians and extremes. Times are those of the event log: from the end of the encoding on.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from run import MPI_ENVIRONMENT

RANKS = 4
SYNC = {"SCR_FLUSH_ASYNC": "0"}
ASYNC = {"SCR_FLUSH_ASYNC": "1", "SCR_FLUSH_TYPE": "PTHREAD"}


def checkpoint(args, base, prefix, settings):
    """Events of one checkpoint and its flush: {name: time}, and the seconds of the flush."""
    env = dict(os.environ, **MPI_ENVIRONMENT, **settings, SCR_PREFIX=prefix, SCR_CACHE_BASE=f"{base}/cache",
               SCR_CNTL_BASE=f"{base}/cache", SCR_COPY_TYPE="SINGLE", SCR_FLUSH="1", SCR_LOG_ENABLE="1",
               SCR_JOB_ID="bench", SCR_VNODES=str(RANKS))
    command = [args.mpirun, "-n", str(RANKS), os.path.abspath(args.ckpt), "--size", f"{args.mib}M", "--repeats", "1"]
    run = subprocess.run(command, env=env, cwd=prefix, stdout=subprocess.PIPE, check=False)
    if run.returncode != 0:
        sys.exit(f"flush.py: {' '.join(command)}: exit {run.returncode}")
    times = {}
    with open(f"{prefix}/.scr/log", encoding="utf-8") as log:
        for event in map(json.loads, log):
            if event["event"] in ("ENCODE", "CHECKPOINT_END"):
                times[event["event"]] = datetime.datetime.fromisoformat(event["time"]).timestamp()
    return times["CHECKPOINT_END"] - times["ENCODE"]


def copy(base, prefix):
    """Seconds of cp of the cached files, all at once."""
    files = [os.path.join(top, name) for top, _, names in os.walk(f"{base}/cache") for name in names
             if "/rank." in top]
    os.mkdir(f"{prefix}/cp")
    start = time.monotonic()
    jobs = [subprocess.Popen(["cp", "-p", name, f"{prefix}/cp/{i}"]) for i, name in enumerate(files)]
    if len(jobs) != RANKS or any([job.wait() for job in jobs]):
        sys.exit("flush.py: cp failed")
    return time.monotonic() - start


def measure(args, settings, with_cp):
    with tempfile.TemporaryDirectory(prefix="scr.bench.", dir=args.cache) as base, \
            tempfile.TemporaryDirectory(prefix="scr.bench.", dir=args.prefix or args.cache) as prefix:
        os.mkdir(f"{base}/cache")
        held = checkpoint(args, base, prefix, settings)
        return held, copy(base, prefix) if with_cp else None


def row(name, ratios, last):
    ratios = sorted(ratios)
    print(f"{name:10} {statistics.median(ratios):7.3f} {ratios[0]:7.3f} {ratios[-1]:7.3f}   {last}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--ckpt", required=True)
    parser.add_argument("--mib", type=int, default=256, help="MiB a rank")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache", default="/dev/shm")
    parser.add_argument("--prefix", help="another file system for the prefix directory")
    args = parser.parse_args()
    sync = [measure(args, SYNC, True) for _ in range(args.rounds)]
    held = [measure(args, ASYNC, False)[0] for _ in range(args.rounds)]
    base = statistics.median(s for s, _ in sync)
    print(f"{'':10} {'ratio':>7} {'least':>7} {'most':>7}   {RANKS} ranks, {args.mib} MiB each")
    row("flush/cp", [s / c for s, c in sync], f"{sync[-1][0] * 1e3:.1f} ms / {sync[-1][1] * 1e3:.1f} ms")
    row("held", [h / base for h in held], f"{held[-1] * 1e3:.1f} ms / {base * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
