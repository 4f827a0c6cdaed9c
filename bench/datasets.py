#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times what many datasets in the prefix directory cost, against a few.

    datasets.py --mpirun MPIRUN --ckpt PROGRAM --scr COMMAND [--few N] [--many N]... [--rounds N] [--dir DIR]

A job writes a dataset of 4 small files with a flush. Its records are copied under other numbers and
names, as output, until there are so many. Then, in each round and for each number, on a copy of that
directory:

  init      seconds of SCR_Init
  flush     seconds of SCR_Complete_output of a checkpoint of 4 x 4 KiB with a synchronous flush
  retain    the same when SCR_PREFIX_SIZE=3 deletes a checkpoint each time
  list      seconds of scr_index --list
  current   seconds of scr_index --current

Printed are milliseconds for the few, and for each larger number how many times that, as medians and extremes.
"""
import os
import shutil
import statistics
import struct
import subprocess
import tempfile
import time
import zlib

import common
from common import RANKS

HEADER = struct.Struct(">IHHQI")  # magic, type, version, size, flags: scr_hashfile(5)
CRC_BYTES = 4


def packed(items):
    """The packed hash of a dictionary: of values those that are none stand for one key."""
    text = struct.pack(">I", len(items))
    for key, value in items.items():
        value = value if isinstance(value, dict) else {str(value): {}}
        text += str(key).encode() + b"\0" + packed(value)
    return text


def write(path, body):
    head = HEADER.pack(0x951FC3F5, 1, 1, HEADER.size + len(body) + CRC_BYTES, 1) + body
    with open(path, "wb") as file:
        file.write(head + struct.pack(">I", zlib.crc32(head)))


def body_of(path):
    with open(path, "rb") as file:
        return file.read()[HEADER.size:-CRC_BYTES]


def run_job(args, base, prefix, settings, repeats):
    """What bench/ckpt prints."""
    settings = {"SCR_COPY_TYPE": "SINGLE", "SCR_FLUSH": "1", "SCR_FETCH": "0", **settings}
    printed = common.run_ckpt(args, base, prefix, settings, "--size", "4096", "--repeats", str(repeats))
    shutil.rmtree(f"{base}/cache")
    return printed


def fill(first, prefix, count):
    """A prefix directory with so many datasets like the one in first."""
    os.makedirs(f"{prefix}/.scr")
    shutil.copy(f"{first}/.scr/identity.scr", f"{prefix}/.scr")
    root = body_of(f"{first}/.scr/scr.dataset.1/rank2file")
    part = body_of(f"{first}/.scr/scr.dataset.1/rank2file.0.0")
    entries, names = {}, {}
    for dataset in range(1, count + 1):
        name = f"old.{dataset}"
        records = f"{prefix}/.scr/scr.dataset.{dataset}"
        what = {"ID": dataset, "NAME": name, "JOBID": "bench", "SIZE": RANKS * 4096, "FILES": RANKS,
                "CREATED": 1700000000000000 + dataset, "COMPLETE": 1, "FLAG_CKPT": 0, "FLAG_OUTPUT": 1}
        os.mkdir(records)
        write(f"{records}/rank2file", root)
        write(f"{records}/rank2file.0.0", part.replace(b"ckpt.1/", f"{name}/".encode()))
        write(f"{records}/summary.scr", packed({"VERSION": 6, "COMPLETE": 1, "DSET": what}))
        shutil.copytree(f"{first}/ckpt.1", f"{prefix}/{name}")
        entries[dataset] = {"DSET": what, "COMPLETE": 1, "FLUSHED": "2026-01-01T00:00:00"}
        names[name] = {"DSET": dataset}
    write(f"{prefix}/.scr/index.scr", packed({"VERSION": 2, "DSET": entries, "NAME": names}))


def command_secs(args, prefix, *options):
    secs = []
    for _ in range(5):
        start = time.monotonic()
        subprocess.run([args.scr, "index", "--prefix", prefix, *options], stdout=subprocess.DEVNULL, check=True)
        secs.append(time.monotonic() - start)
    return statistics.median(secs)


def measure(args, base, filled):
    """Seconds by name."""
    secs = {}
    prefix = f"{base}/prefix"
    for name, settings in ("flush", {}), ("retain", {"SCR_PREFIX_SIZE": "3"}):
        shutil.copytree(filled, prefix)
        common.settle(prefix)
        times = run_job(args, base, prefix, settings, 15)
        secs[name] = times["complete"]
        secs["init"] = times["init"]
        secs["list"] = command_secs(args, prefix, "--list")
        secs["current"] = command_secs(args, prefix, "--current", "old.1")
        shutil.rmtree(prefix)
    return secs


def main():
    parser = common.parser(__doc__, rounds=3)
    parser.add_argument("--scr", required=True, help="the command scr of a build directory")
    parser.add_argument("--few", type=int, default=10)
    parser.add_argument("--many", type=int, action="append", help="repeatable; default 1000 and 10000")
    parser.add_argument("--dir", help="where the directories are made; default: that of temporary files")
    args = parser.parse_args()
    base = tempfile.mkdtemp(prefix="scr-bench.", dir=args.dir)
    counts = [args.few, *(args.many or [1000, 10000])]
    try:
        os.mkdir(f"{base}/first")
        run_job(args, base, f"{base}/first", {}, 1)
        for count in counts:
            fill(f"{base}/first", f"{base}/{count}", count)
        rounds = [{count: measure(args, base, f"{base}/{count}") for count in counts} for _ in range(args.rounds)]
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(f"{'':8} {args.few:>8} datasets, ms" + "".join(f" {count:>10} (least most)" for count in counts[1:]))
    for name in "init", "flush", "retain", "list", "current":
        line = f"{name:8} {1e3 * statistics.median(one[args.few][name] for one in rounds):>8.1f}" + " " * 13
        for count in counts[1:]:
            ratios = [one[count][name] / one[args.few][name] for one in rounds]
            for ratio in ratios:
                common.record(args, f"{name}, {count} datasets", ratio)
            line += f" {statistics.median(ratios):>9.1f}x ({min(ratios):.1f} {max(ratios):.1f})".ljust(24)
        print(line)


if __name__ == "__main__":
    main()
