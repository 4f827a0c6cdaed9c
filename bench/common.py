# SPDX-License-Identifier: BSD-3-Clause
"""What the timings share: how they run bench/ckpt, and what they write down."""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RANKS = 4
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_rmaps_base_mapping_policy": "core:OVERSUBSCRIBE",
    "OMPI_MCA_hwloc_base_binding_policy": "core:overload-allowed",
}


def parser(doc, rounds):
    """With the options of every script, of whose documentation the first line is the summary. Whoever ends the
    script gets its directories removed, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = argparse.ArgumentParser(description=doc.splitlines()[0])
    options.add_argument("--mpirun", required=True)
    options.add_argument("--ckpt", required=True, help="bench/ckpt of a build directory")
    options.add_argument("--rounds", type=int, default=rounds)
    options.add_argument("--json", help="one line a round and case is appended to this file")
    return options


def environment(base, prefix, settings):
    """Of jobs and commands with their cache below base."""
    return dict(os.environ, **MPI_ENVIRONMENT, SCR_PREFIX=prefix, SCR_CACHE_BASE=f"{base}/cache",
                SCR_CNTL_BASE=f"{base}/cache", SCR_JOB_ID="bench", TMPDIR=base, **settings)


def run_ckpt(args, base, prefix, settings, *options, ranks=RANKS):
    """What bench/ckpt prints."""
    command = [args.mpirun, "-n", str(ranks), os.path.abspath(args.ckpt), *options]
    run = subprocess.run(command, env=environment(base, prefix, settings), cwd=prefix, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {run.returncode}\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def node_of(base, rank):
    """The storage of the virtual node a rank runs on (one rank a node)."""
    nodes = [n for n in os.listdir(f"{base}/cache") if n.startswith("vnode.")]
    return os.path.join(base, "cache", sorted(nodes, key=lambda name: (len(name), name))[rank])


def in_new_place(cache, prefix_base, measure, *more):
    """What measure(base, prefix, *more) returns, both new directories that are removed after it."""
    with tempfile.TemporaryDirectory(prefix="scr.bench.", dir=cache) as base, \
            tempfile.TemporaryDirectory(prefix="scr.bench.", dir=prefix_base) as prefix:
        os.mkdir(f"{base}/cache")
        return measure(base, prefix, *more)


def seconds(*commands, **more):
    """Until all have ended that were started at once."""
    start = time.monotonic()
    jobs = [subprocess.Popen(command, **more, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for command in commands]
    try:
        said = [job.communicate()[1] for job in jobs]
    finally:
        for job in jobs:
            job.kill() # of no effect on one that has ended
    took = time.monotonic() - start
    for job, text in zip(jobs, said):
        if job.returncode != 0:
            sys.exit(f"{' '.join(job.args)}: exit {job.returncode}\n{text.decode()}")
    return took


def settle(prefix):
    """Nothing is left to be written back."""
    subprocess.run(["sync", "-f", prefix], check=True)


def empty_cache(base):
    shutil.rmtree(f"{base}/cache")
    os.mkdir(f"{base}/cache")


def record(args, case, ratio, **figures):
    """A line of --json, which bench/compare reads."""
    if args.json:
        with open(args.json, "a", encoding="ascii") as file:
            print(json.dumps({"case": case, "ratio": ratio, **figures}), file=file)


def head(what):
    print(f"{what}\n{'':14} {'ratio':>7} {'least':>7} {'most':>7}", flush=True)


def row(args, case, where, ratios, last):
    """Prints median and extremes of the rounds' ratios, and of the last one what it is made of."""
    for ratio in ratios:
        record(args, f"{case}, {where}", ratio)
    print(f"{case:14} {statistics.median(ratios):7.3f} {min(ratios):7.3f} {max(ratios):7.3f}   {last}", flush=True)
