#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Models what SCR costs on machines of 10^3 to 10^5 nodes.

    model.py [--mpirun MPIRUN --ckpt PROGRAM --count LIBRARY] [--gb N] [--ranks N] [--latency US]

Nothing it prints was measured on those machines: every line says "modelled". What calls of SCR do through MPI
is counted: collective calls and communicators by bench/count.c, preloaded into bench/ckpt, and bytes sent by
bench/ckpt itself, of 8 ranks on 8 virtual nodes in one set. With the three options that is done anew, and the
counts are printed; without, COUNTED has what it gave. The number of these calls does not depend on the number
of ranks (tests/mpi/test_core_budget.c has limits for 4).

The model, for N nodes with R ranks and D bytes each:

  collective call    2 log2(N R) latencies (a reduction and a broadcast), over all ranks even where it is over a set
  communicator       8 bytes of each rank (its color and key) through a node's link besides
  encode             bytes sent / bandwidth of the node + MEMORY_PASSES D / bandwidth of its memory
  flush              N D / bandwidth of the file system + 2 N R creates and renames / its rate
  start, all there   one pass over D in memory: every CRC is verified
  start, node lost   as to encode, with the bytes counted for the rebuild
  start by fetch     N D / bandwidth of the file system, then an encode

No overlap, no contention, no arithmetic, and the file system gives all it has: less than it will take. A call
for which a machine has no public figure is "-"; without a rate of creates that term alone is left out, and the
line says so.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

from common import MPI_ENVIRONMENT

RANKS, BYTES = 8, 4 * 2**20
# Read and copied into a buffer (2), sent, received and read for arithmetic (3), parity written (less than 1).
MEMORY_PASSES = 6
SCHEMES = {"XOR of 8": "TYPE=XOR", "RS 2 of 8": "TYPE=RS SET_FAILURES=2"}

# By scheme and call: collective calls, communicators among them, bytes sent for each byte of data, as counted
# with Open MPI, and with MPICH. A scheme differs in what it sends to encode and to rebuild.
COUNTED = {
    scheme: {
        "Init": (12, 4, 0),
        "Complete": (6, 0, encode),
        "flush": (16, 0, 0),
        "start, all there": (15, 4, 0),
        "start, node lost": (19, 4, rebuild),
        "start by fetch": (24, 4, encode),
    }
    for scheme, encode, rebuild in (("XOR of 8", 1.001, 1.143), ("RS 2 of 8", 1.168, 1.167))
}

# Figures are given only with their source; None: none was found.
#   link, memory: bytes a second of a node · write, read: of the file system · meta: file creates a second of it
MACHINES = {
    "Frontier / Orion": {
        "nodes": 9408,  # https://glennklockwood.com/garden/systems/frontier
        "link": 4 * 200e9 / 8,  # 4 NICs of 200 Gb/s: the same page
        "memory": 205e9,  # DDR4, peak: the same page
        # greybeardsonstorage.com, interview with D. Leverman (ORNL): 11 TB/s of write, 14 TB/s of read
        "write": 11e12,
        "read": 14e12,
        "meta": None,
    },
    "Summit / Alpine": {
        "nodes": 4608,  # https://www.eetimes.com/inside-the-summit-supercomputer/
        "link": 200e9 / 8,  # dual-rail EDR, 200 Gb/s: Wikipedia, Summit (supercomputer)
        "memory": 2 * 120e9,  # POWER9 SO, up to 120 GB/s a socket: Wikipedia, POWER9
        # https://thegreengrid.org/en/newsroom/blog/fastest-storage-fastest-system-summit
        "write": 2.5e12,
        "read": 2.5e12,
        "meta": 2.6e6,  # the same page
    },
    "Omni-Path, Xeon E5 v4": {
        "nodes": None,
        # osu_mbw_mr between two nodes, gist.github.com/hppritcha/8da4436a216c9d96bf10ad9d403da03f
        "link": 12.38e9,
        # 2 sockets, 4 channels of DDR4-2400: hothardware.com, Intel Xeon Processor E5 v4 Family Debut
        "memory": 2 * 4 * 2.4e9 * 8,
        "write": None,
        "read": None,
        # mdtest with 240 threads: Dell HPC Lustre Storage solution with Intel Omni-Path, figure 13
        "meta": 27e3,
    },
}


# --- counting ---


def run_ckpt(args, base, scheme, flush, options):
    """Counts by call, and what bench/ckpt prints."""
    conf = f"{base}/scr.conf"
    with open(conf, "w", encoding="ascii") as f:
        f.write(f"CKPT=0 INTERVAL=1 GROUP=NODE STORE={base}/cache {scheme} SET_SIZE={RANKS}\n")
    for name in ("cache", "prefix"):
        os.makedirs(f"{base}/{name}", exist_ok=True)
    env = dict(os.environ, **MPI_ENVIRONMENT, SCR_CONF_FILE=conf, SCR_COPY_TYPE="FILE", SCR_PREFIX=f"{base}/prefix",
               SCR_CACHE_BASE=f"{base}/cache", SCR_CNTL_BASE=f"{base}/cache", SCR_CACHE_SIZE="1",
               SCR_FLUSH=str(flush), SCR_JOB_ID="bench", SCR_VNODES=str(RANKS))
    # Not into the launcher itself, which has no MPI.
    command = [args.mpirun, "-n", str(RANKS), "env", f"LD_PRELOAD={os.path.abspath(args.count)}",
               os.path.abspath(args.ckpt), "--size", str(BYTES), *options]
    run = subprocess.run(command, env=env, cwd=f"{base}/prefix", text=True, check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    counts = {}
    for line in run.stdout.splitlines():
        if line.startswith("count "):
            call, collectives, splits, _ = line.split()[1:]
            counts[call] = (int(collectives), int(splits))  # the last checkpoint counts
    return counts, json.loads(run.stdout.splitlines()[-1])["sent"] / BYTES


def count(args):
    counted = {}
    for name, scheme in SCHEMES.items():
        with tempfile.TemporaryDirectory(prefix="scr.model.", dir="/dev/shm") as base:
            plain, sent = run_ckpt(args, base, scheme, 0, ["--repeats", "3", "--leave"])
            whole, _ = run_ckpt(args, base, scheme, 0, ["--restart"])
        with tempfile.TemporaryDirectory(prefix="scr.model.", dir="/dev/shm") as base:
            flushed, _ = run_ckpt(args, base, scheme, 1, ["--repeats", "3", "--leave"])
            shutil.rmtree(f"{base}/cache")
            fetched, _ = run_ckpt(args, base, scheme, 1, ["--restart"])
        with tempfile.TemporaryDirectory(prefix="scr.model.", dir="/dev/shm") as base:
            run_ckpt(args, base, scheme, 0, ["--repeats", "3", "--leave"])
            nodes = sorted(n for n in os.listdir(f"{base}/cache") if n.startswith("vnode."))
            shutil.rmtree(f"{base}/cache/{nodes[2]}")
            lost, rebuilt = run_ckpt(args, base, scheme, 0, ["--restart"])
        complete, flush = plain["complete"], flushed["complete"]
        counted[name] = {
            "Init": (*plain["init"], 0),
            "Complete": (*complete, round(sent, 3)),
            "flush": (flush[0] - complete[0], flush[1] - complete[1], 0),
            "start, all there": (*whole["init"], 0),
            "start, node lost": (*lost["init"], round(rebuilt, 3)),
            "start by fetch": (*fetched["init"], round(sent, 3)),
        }
    return counted


# --- the model ---


class Model:
    """Seconds of a call on one machine, and the terms that had to be left out."""

    def __init__(self, args, machine, nodes):
        self.args, self.machine, self.nodes = args, machine, nodes
        self.data = args.gb * 1e9
        self.without = set()

    def per(self, amount, figure):
        if amount > 0 and self.machine[figure] is None:
            self.without.add(figure)
            return 0
        return amount / self.machine[figure] if amount > 0 else 0

    def calls(self, collectives, splits):
        ranks = self.nodes * self.args.ranks
        return (collectives * 2 * math.ceil(math.log2(ranks)) * self.args.latency * 1e-6
                + splits * self.per(8 * ranks, "link"))

    def seconds(self, call, counted):
        collectives, splits, sent = counted
        total = self.nodes * self.data
        passes = {"Init": 0, "flush": 0, "start, all there": 1}.get(call, MEMORY_PASSES)
        files = {"flush": "write", "start by fetch": "read"}.get(call)
        s = self.calls(collectives, splits) + self.per(sent * self.data, "link") + self.per(passes * self.data, "memory")
        if files is not None:
            s += max(self.per(total, files), self.per(self.data, "link"))
        if call == "flush" and self.machine["meta"] is not None:
            s += self.per(2 * self.nodes * self.args.ranks, "meta")
        return s

    def text(self, call, counted):
        self.without = set()
        seconds = self.seconds(call, counted)
        return "-" if self.without else f"{seconds:.3f}"


def show(args, counted):
    print(f"modelled seconds, {args.gb:g} GB and {args.ranks} ranks a node, latency {args.latency:g} us (assumed)")
    calls = list(next(iter(counted.values())))
    print(f"{'':50}" + "".join(f"{c:>18}" for c in calls))
    for name, machine in MACHINES.items():
        for nodes in (1000, 10000, 100000):
            for scheme, counts in counted.items():
                model = Model(args, machine, nodes)
                row = "".join(f"{model.text(c, counts[c]):>18}" for c in calls)
                larger = machine["nodes"] is not None and nodes > machine["nodes"]
                notes = ["larger than it is"] if larger else []
                notes += ["flush without creates"] if machine["meta"] is None else []
                print(f"modelled {name:22} {nodes:>6} {scheme:9}".ljust(50) + row
                      + (f"  ({'; '.join(notes)})" if notes else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpirun")
    parser.add_argument("--ckpt")
    parser.add_argument("--count")
    parser.add_argument("--gb", type=float, default=10, help="of a node")
    parser.add_argument("--ranks", type=int, default=8, help="of a node")
    parser.add_argument("--latency", type=float, default=2, help="of a message, microseconds")
    args = parser.parse_args()
    counted = COUNTED
    if args.mpirun or args.ckpt or args.count:
        if not (args.mpirun and args.ckpt and args.count):
            sys.exit("model.py: --mpirun, --ckpt and --count go together")
        counted = count(args)
        print("counted: collective calls, communicators among them, bytes sent for each byte of data")
        for scheme, counts in counted.items():
            print(f"counted {scheme}: {counts}")
    show(args, counted)


if __name__ == "__main__":
    main()
