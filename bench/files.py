#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times many small files against what the same files cost without a library.

    files.py --mpirun MPIRUN --ckpt PROGRAM --scr COMMAND [--files N]... [--cache DIR]... [--rounds N]
             [--cases REGEX] [--json FILE]

4 ranks on virtual nodes of this machine write N files of 1 KiB each (repeatable; 1000, 5000 and 20000 unless
told otherwise), for each cache directory (one in memory, one on disk); the prefix directory is beside it.
Printed are medians and extremes of ratios, each of two timings of one round:

  output       seconds of all SCR_Route_file and of SCR_Complete_output with XOR / seconds in which the
               program creates, writes and closes its files
  init         seconds of SCR_Init that finds a dataset without loss / seconds in which the program opens,
               reads and closes its files
  init lost    the same with one node lost / seconds of creating, writing and closing, as above
  flush        seconds of a synchronous flush / of cp -r and sync of the same files, four at a time
  fetch        seconds of a fetch / of cp of the same files, four at a time
  scavenge     seconds of scr_scavenge, one node of four being lost / of cp -r and sync as above
  rebuild      seconds of scr_index --build after that / of cp -r and sync
  build        the same of a dataset of which nothing was lost
  verify       seconds of scr_verify of a dataset in the prefix directory / of one cp -r of it
  add          seconds of scr_index --add of it / of cp -r
  half         seconds of SCR_Init and of all SCR_Route_file of two ranks that read it / of cp -r
  memory       bytes of memory a file takes in the library of a rank that writes a checkpoint, its name and
               its path in cache left out: the difference of the peaks with N files and with 100 of as many
               bytes together
  memory lost  the same at a start with one node lost
"""
import os
import re
import shutil
import subprocess

import common
import flush
from common import RANKS

FEW = 100 # files that memory is compared with
XOR = {"SCR_COPY_TYPE": "XOR", "SCR_CACHE_SIZE": "1", "SCR_VNODES": str(RANKS)}


class Bench:
    """One number of files and one cache directory."""
    def __init__(self, args, files, cache):
        self.args, self.files, self.cache = args, files, cache
        args.files, args.size, args.cache = files, files * 1024, cache # what flush.py goes by

    def job(self, base, prefix, settings, *options, ranks=RANKS, files=None):
        return common.run_ckpt(self.args, base, prefix, {**XOR, **settings}, "--size", str(self.args.size),
                               "--files", str(files or self.files), *options, ranks=ranks)

    def command(self, base, prefix, *words):
        """Seconds of a command."""
        return common.seconds([self.args.scr, *words], env=common.environment(base, prefix, XOR))

    def place(self, measure, *more):
        return common.in_new_place(self.cache, self.cache, measure, *more)

    # --- what is measured in one place ---

    def checkpoints(self, base, prefix, files=None):
        """Checkpoints, a start without loss and one with a node lost: what ckpt printed."""
        kept = {"SCR_FLUSH": "0"}
        out = self.job(base, prefix, kept, "--repeats", "4", "--leave", files=files)
        whole = self.job(base, prefix, kept, "--restart", "--leave", files=files)
        shutil.rmtree(common.node_of(base, 1))
        return out, whole, self.job(base, prefix, kept, "--restart", "--lost", "1", "--leave", files=files)

    def scavenge(self, base, prefix, lost):
        """Seconds of scr_scavenge and of scr_index --build."""
        self.job(base, prefix, {"SCR_FLUSH": "0"}, "--repeats", "1", "--leave")
        if lost:
            shutil.rmtree(common.node_of(base, 1))
        common.settle(prefix)
        return (self.command(base, prefix, "scavenge", "--id", "1"),
                self.command(base, prefix, "index", "--build", "1"))

    def on_prefix(self, base, prefix):
        """Seconds of scr_verify, of scr_index --add, of half as many ranks, of cp -r."""
        self.job(base, prefix, {"SCR_FLUSH": "1"}, "--repeats", "1", "--leave")
        common.empty_cache(base)
        common.settle(prefix)
        verify = self.command(base, prefix, "verify")
        subprocess.run([self.args.scr, "index", "--prefix", prefix, "--remove", "ckpt.1"], check=True)
        add = self.command(base, prefix, "index", "--add", "1")
        half = self.job(base, prefix, {"SCR_FLUSH": "0", "SCR_RESTART_ANY_RANKS": "1", "SCR_VNODES": "2"},
                        "--restart", "--leave", ranks=2)
        return verify, add, half["init"] + half["reroute"], common.seconds(["cp", "-r", "ckpt.1", "cp"], cwd=prefix)

    # --- rounds of it ---

    def rounds(self, measure, *more):
        return [self.place(measure, *more) for _ in range(self.args.rounds)]

    def row(self, case, pairs):
        """Of pairs of seconds."""
        last = pairs[-1]
        common.row(self.args, case, f"{self.files} files in {self.cache}", [a / b for a, b in pairs],
                   f"{last[0] * 1e3:.1f} ms / {last[1] * 1e3:.1f} ms")

    def starts(self):
        runs = self.rounds(self.checkpoints)
        self.row("output", [(out["route"] + out["complete"], out["write"]) for out, _, _ in runs])
        self.row("init", [(whole["init"], whole["read"]) for _, whole, _ in runs])
        self.row("init lost", [(lost["init"], out["write"]) for out, _, lost in runs])
        few = self.rounds(self.checkpoints, FEW)
        for case, which in ("memory", 0), ("memory lost", 2):
            pairs = [(self.records(a[which]), self.records(b[which])) for a, b in zip(runs, few)]
            common.row(self.args, case, f"{self.files} files in {self.cache}",
                       [(many - few) / (self.files - FEW) for many, few in pairs],
                       f"bytes a file, names left out: {pairs[-1][0]} - {pairs[-1][1]}")

    @staticmethod
    def records(out):
        """Bytes of memory of the library but for the texts that it has to have."""
        return out["library_kib"] * 1024 - out["names"]

    def copies(self):
        flushed = [(flush.in_new_place(self.args, self.cache, flush.flush),
                    flush.in_new_place(self.args, self.cache, flush.copy)[1]) for _ in range(self.args.rounds)]
        self.row("flush", flushed)
        self.row("fetch", [(flush.in_new_place(self.args, self.cache, flush.fetch),
                            flush.in_new_place(self.args, self.cache, flush.copy_back))
                           for _ in range(self.args.rounds)])
        synced = [secs for _, secs in flushed]
        for lost, names in (True, ("scavenge", "rebuild")), (False, ("", "build")):
            runs = self.rounds(self.scavenge, lost)
            for i, name in enumerate(names):
                if name:
                    self.row(name, list(zip([run[i] for run in runs], synced)))

    def prefixes(self):
        runs = self.rounds(self.on_prefix)
        for i, name in enumerate(("verify", "add", "half")):
            self.row(name, [(run[i], run[-1]) for run in runs])


def main():
    parser = common.parser(__doc__, rounds=5)
    parser.add_argument("--scr", required=True, help="the command scr of a build directory")
    parser.add_argument("--files", type=int, action="append", help="files a rank, repeatable")
    parser.add_argument("--cache", action="append", help="a directory for caches, repeatable")
    parser.add_argument("--cases", default="", help="only groups whose name matches: starts, copies, prefixes")
    args = parser.parse_args()
    args.scr = os.path.abspath(args.scr)
    caches, counts = args.cache or ["/dev/shm", "/var/tmp"], args.files or [1000, 5000, 20000]
    for cache in caches:
        for count in counts:
            common.head(f"{cache}: {RANKS} ranks, {count} files of 1 KiB each")
            bench = Bench(args, count, cache)
            for group in bench.starts, bench.copies, bench.prefixes:
                if re.search(args.cases, group.__name__):
                    group()


if __name__ == "__main__":
    main()
