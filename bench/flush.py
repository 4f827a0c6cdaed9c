#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times flushes against cp of the same files, on virtual nodes of this machine.

    flush.py --mpirun MPIRUN --ckpt PROGRAM [--mib N] [--files N] [--rounds N] [--cache DIR]
             [--prefix DIR]...

For each prefix directory (one in memory, one on disk, unless told otherwise): in each round
bench/ckpt writes one checkpoint of 4 ranks, N MiB each in so many files, to the cache. A second start flushes it
with CRC (SCR_FLUSH_ON_RESTART). Then the same in another place, where cp copies the files, four at
a time into one directory. Each has a place of its own, as on a virtual machine the second copy in one place finds
memory that has to be asked of the host, which costs several times the copy: whichever it is, it
takes longer. Before each of them nothing is left to be written back. Printed are

  flush/cp     seconds of a synchronous flush / seconds of cp, which leaves to the kernel
               when the bytes reach the disk
  flush/sync   the same / seconds of cp and of sync of what it copied, four at a time
  fetch/cp     seconds of a fetch by a new job / seconds of cp of the same files to the cache
  held         seconds SCR_Complete_output holds the program for an asynchronous flush by
               threads, until its last rank goes on / seconds of a synchronous flush
  zstd even    seconds of a synchronous flush with SCR_FLUSH_COMPRESS=ZSTD / without, of data two
               bytes of eight of which vary; with it the bytes that are stored of those there are
  zstd noise   the same of data that do not compress

and, for the first prefix directory, how SCR_FLUSH_ASYNC_BW is kept:

  bandwidth    bytes a second of an asynchronous flush that should take 5 s / its limit

as medians and extremes. Times are those of the event log.
"""
import datetime
import json
import os
import statistics
import sys

import common
from common import RANKS

LIMITED_SECS = 5
ASYNC = {"SCR_FLUSH_ASYNC": "1", "SCR_FLUSH_TYPE": "PTHREAD"}


def run_job(args, base, prefix, settings, *options):
    """Its events: {name: event}, times as seconds; and what ckpt printed."""
    settings = {"SCR_COPY_TYPE": "SINGLE", "SCR_FLUSH": "1", "SCR_LOG_ENABLE": "1", "SCR_VNODES": str(RANKS),
                **settings}
    printed = common.run_ckpt(args, base, prefix, settings, "--size", str(args.size), "--files", str(args.files),
                              *options)
    events = {}
    with open(f"{prefix}/.scr/log", encoding="utf-8") as log:
        for event in map(json.loads, log):
            event["time"] = datetime.datetime.fromisoformat(event["time"]).timestamp()
            events[event["event"]] = event
    return events, printed


def fill_cache(args, base, prefix, *options):
    """A dataset in cache, and a disk with nothing to do."""
    run_job(args, base, prefix, {"SCR_FLUSH": "0"}, "--repeats", "1", "--leave", *options)
    common.settle(prefix)


def flush(args, base, prefix, settings=None, *options):
    """Seconds of a synchronous flush."""
    fill_cache(args, base, prefix, *options)
    events, _ = run_job(args, base, prefix, {"SCR_FLUSH_ON_RESTART": "1", **(settings or {})}, "--restart",
                        *options)
    return events["FLUSH_SUCCESS"]["secs"]


def stored(prefix):
    """Bytes of the dataset's files in a prefix directory."""
    return sum(os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(prefix) for name in names
               if "/.scr" not in top)


def compress(args, prefix, *options):
    """Seconds of a flush with compression and without, and the share of the bytes that is stored."""
    def packed(args, base, prefix):
        secs = flush(args, base, prefix, {"SCR_FLUSH_COMPRESS": "ZSTD"}, *options)
        return secs, stored(prefix) / (RANKS * args.size)

    def plain(args, base, prefix):
        return flush(args, base, prefix, None, *options)
    return (*in_new_place(args, prefix, packed), in_new_place(args, prefix, plain))


def hold(args, base, prefix):
    """Seconds an asynchronous flush holds the program: from the end of the encoding on."""
    events, printed = run_job(args, base, prefix, ASYNC, "--repeats", "1")
    return printed["returned"] - events["ENCODE"]["time"]


def copy(args, base, prefix):
    """Seconds of cp of cached files, and of cp and sync."""
    fill_cache(args, base, prefix)
    dirs = [top for top, _, names in os.walk(f"{base}/cache") if os.path.basename(top).startswith("rank.")]
    if len(dirs) != RANKS:
        sys.exit(f"flush.py: {len(dirs)} directories of ranks in cache")
    target = f"{prefix}/cp"
    os.mkdir(target)
    secs = common.seconds(*(["cp", "-rp", f"{top}/.", target] for top in dirs))
    synced = (["sh", "-c", f"cd {top} && find . -type f -print0 | (cd {target} && xargs -0 sync)"] for top in dirs)
    return secs, secs + common.seconds(*synced)


def fill_prefix(args, base, prefix):
    """A checkpoint there, an empty cache, and a disk with nothing to do; its directory."""
    run_job(args, base, prefix, {}, "--repeats", "1", "--leave")
    common.empty_cache(base)
    common.settle(prefix)
    return f"{prefix}/ckpt.1"


def fetch(args, base, prefix):
    """Seconds of a fetch."""
    fill_prefix(args, base, prefix)
    events, _ = run_job(args, base, prefix, {"SCR_FLUSH": "0"}, "--restart")
    return events["FETCH_SUCCESS"]["secs"]


def copy_back(args, base, prefix):
    """Seconds of cp of the same files."""
    dataset, commands = fill_prefix(args, base, prefix), []
    for rank in range(RANKS):
        os.mkdir(f"{base}/cache/{rank}")
        commands.append(["sh", "-c", f"cd {dataset} && ls -U | grep '^rank_{rank}[.]' | "
                         f"xargs cp -p -t {base}/cache/{rank}"])
    return common.seconds(*commands)


def in_new_place(args, prefix, measure):
    return common.in_new_place(args.cache, prefix, lambda *place: measure(args, *place))


def flush_and_copy(args, prefix):
    """Seconds of a flush, of cp, of cp and sync."""
    return (in_new_place(args, prefix, flush), *in_new_place(args, prefix, copy))


def compare(args, prefix):
    sync = [flush_and_copy(args, prefix) for _ in range(args.rounds)]
    ms = [f"{s * 1e3:.1f} ms" for s in sync[-1]]
    where = f"{args.files} files to {prefix}"
    common.head(f"{prefix}: {RANKS} ranks, {args.mib} MiB in {args.files} files each")
    common.row(args, "flush/cp", where, [s / c for s, c, _ in sync], f"{ms[0]} / {ms[1]}")
    common.row(args, "flush/sync", where, [s / c for s, _, c in sync], f"{ms[0]} / {ms[2]}")
    back = [(in_new_place(args, prefix, fetch), in_new_place(args, prefix, copy_back)) for _ in range(args.rounds)]
    common.row(args, "fetch/cp", where, [f / c for f, c in back],
               f"{back[-1][0] * 1e3:.1f} ms / {back[-1][1] * 1e3:.1f} ms")
    if args.files > 1:
        return
    held = [in_new_place(args, prefix, hold) for _ in range(args.rounds)]
    base = statistics.median(s for s, _, _ in sync)
    common.row(args, "held", where, [h / base for h in held],
               f"{held[-1] * 1e3:.1f} ms / {base * 1e3:.1f} ms")
    for name, options in (("zstd even", ["--even"]), ("zstd noise", [])):
        both = [compress(args, prefix, *options) for _ in range(args.rounds)]
        packed, share, plain = both[-1]
        common.row(args, name, where, [p / q for p, _, q in both],
                   f"{packed * 1e3:.1f} ms / {plain * 1e3:.1f} ms, {share:.2f} of the bytes stored")


def limited(args, prefix):
    limit = RANKS * args.size // LIMITED_SECS

    def speed(args, base, prefix):
        events, _ = run_job(args, base, prefix, {**ASYNC, "SCR_FLUSH_ASYNC_BW": str(limit)}, "--repeats", "1")
        return events["ASYNC_FLUSH_SUCCESS"]["bytes"] / events["ASYNC_FLUSH_SUCCESS"]["secs"]

    ratios = [in_new_place(args, prefix, speed) / limit for _ in range(args.rounds)]
    common.row(args, "bandwidth", prefix, ratios, f"{limit / 2**20:.1f} MiB/s")


def main():
    parser = common.parser(__doc__, rounds=5)
    parser.add_argument("--mib", type=int, default=256, help="MiB a rank")
    parser.add_argument("--files", type=int, default=1, help="files a rank; of many only copies are timed")
    parser.add_argument("--cache", default="/dev/shm")
    parser.add_argument("--prefix", action="append", help="a directory for prefix directories; may be given again")
    args = parser.parse_args()
    args.size = args.mib * 2**20
    prefixes = args.prefix or [args.cache, "/var/tmp"]
    for prefix in prefixes:
        compare(args, prefix)
    if args.files == 1:
        limited(args, prefixes[0])


if __name__ == "__main__":
    main()
