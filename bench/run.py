#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs bench/ckpt over schemes, sizes and losses, on virtual nodes of this machine.

    run.py --mpirun MPIRUN --ckpt PROGRAM [--cases REGEX] [--rounds N] [--cache DIR]
           [--json FILE]

Figures are ratios measured within one run, so that machines compare:

  encode   bytes of all ranks / (seconds of SCR_Complete_output * memcpy of one core)
  rebuild  seconds of SCR_Init / seconds of a plain write of the dataset's bytes to new
           files by all ranks (write_all; --json also has write_lost: of what was lost
           alone, files and redundancy, by the ranks that lost it)
  verify   bytes of all ranks / (seconds of SCR_Init * memcpy of one core)
  files    seconds of all SCR_Route_file and SCR_Complete_output / seconds in which the
           program creates, writes and closes its files, of 1 KiB each
  refiles  seconds of SCR_Init with a node lost / the same; of a start without loss /
           seconds in which the program opens, reads and closes its files
  plain    seconds of a checkpoint, from SCR_Start_output to the end of SCR_Complete_output / seconds in which
           a program without a library writes its files and copies them to the next rank, without checksums;
           its times are printed below

Under an encode, "reread alone" is the ratio that it would have if it only read the files, all ranks at once:
a bound that depends on the machine, whose cores share the bandwidth of its memory.

Every case runs --rounds times; the table shows the median and the extremes.
"""
import os
import re
import shutil
import statistics

import common

# name: (kind, ranks, MiB a rank, files a rank, repeats, lost ranks, settings of the checkpoint)
XOR, PARTNER, SINGLE = "TYPE=XOR", "TYPE=PARTNER", "TYPE=SINGLE"


PHASES = ("init", "start", "route", "write", "complete", "reread", "reroute", "read", "finalize")


def rs(k):
    return f"TYPE=RS SET_FAILURES={k}"


CASES = {
    "encode.SINGLE.64": ("encode", 4, 64, 1, 12, [], SINGLE),
    "encode.PARTNER.64": ("encode", 4, 64, 1, 12, [], PARTNER),
    "encode.XOR.64": ("encode", 4, 64, 1, 12, [], XOR),
    "encode.XOR.256": ("encode", 4, 256, 1, 8, [], XOR),
    "encode.RS2.64": ("encode", 4, 64, 1, 12, [], rs(2)),
    "encode.RS3.64": ("encode", 4, 64, 1, 12, [], rs(3)),
    "encode.RS2.64.8ranks": ("encode", 8, 64, 1, 8, [], rs(2)),
    "encode.XOR.64.100files": ("encode", 4, 64, 100, 6, [], XOR),
    "encode.XOR.1": ("encode", 4, 1, 1, 12, [], XOR),
    "rebuild.PARTNER.64": ("rebuild", 4, 64, 1, 4, [1], PARTNER),
    "rebuild.XOR.64": ("rebuild", 4, 64, 1, 4, [1], XOR),
    "rebuild.RS2.64.one": ("rebuild", 4, 64, 1, 4, [1], rs(2)),
    "rebuild.RS2.64.two": ("rebuild", 4, 64, 1, 4, [1, 2], rs(2)),
    "verify.XOR.64": ("verify", 4, 64, 1, 4, [], XOR),
    "files.XOR.1000": ("files", 4, 1000 / 1024, 1000, 4, [], XOR),
    "files.XOR.5000": ("files", 4, 5000 / 1024, 5000, 4, [], XOR),
    "files.XOR.20000": ("files", 4, 20000 / 1024, 20000, 2, [], XOR),
    "plain.PARTNER.64": ("plain", 4, 64, 1, 12, [], PARTNER),
    "plain.XOR.64": ("plain", 4, 64, 1, 12, [], XOR),
    "plain.PARTNER.1000files": ("plain", 4, 1000 / 1024, 1000, 6, [], PARTNER),
    "refiles.XOR.1000.lost": ("refiles", 4, 1000 / 1024, 1000, 4, [1], XOR),
    "refiles.XOR.5000.lost": ("refiles", 4, 5000 / 1024, 5000, 4, [1], XOR),
    "refiles.XOR.1000": ("refiles", 4, 1000 / 1024, 1000, 4, [], XOR),
    "refiles.XOR.5000": ("refiles", 4, 5000 / 1024, 5000, 4, [], XOR),
}

def start(args, base, prefix, case, options):
    _, ranks, mib, files, _, _, descriptor = case
    conf = os.path.join(base, "scr.conf")
    with open(conf, "w", encoding="ascii") as f:
        f.write(f"CKPT=0 INTERVAL=1 GROUP=NODE STORE={base}/cache {descriptor}\n")
    settings = {"SCR_CONF_FILE": conf, "SCR_COPY_TYPE": "FILE", "SCR_CACHE_SIZE": "1", "SCR_FLUSH": "0",
                "SCR_VNODES": str(ranks)}
    return common.run_ckpt(args, base, prefix, settings, "--size", str(int(mib * 2**20)), "--files", str(files),
                           *options, ranks=ranks)


def parity_bytes(case):
    """Bytes of redundancy a rank holds, all ranks being one set and of one size."""
    _, ranks, mib, _, _, _, descriptor = case
    losses = int(descriptor.partition("SET_FAILURES=")[2] or 1)
    data = {XOR: ranks - 1, PARTNER: 1, SINGLE: 0}.get(descriptor, ranks - losses)
    return int(mib * 2**20) * losses // data if data else 0


def measure_in(base, prefix, args, case):
    kind, _, _, _, repeats, lost, _ = case
    if kind in ("encode", "files"):
        return start(args, base, prefix, case, ["--repeats", str(repeats)])
    if kind == "plain":
        result = start(args, base, prefix, case, ["--repeats", str(repeats)])
        common.empty_cache(base)
        return {**result, "plain": start(args, base, prefix, case, ["--repeats", str(repeats), "--plain"])}
    before = start(args, base, prefix, case, ["--repeats", str(repeats), "--leave"])
    for rank in sorted(lost, reverse=True):
        shutil.rmtree(common.node_of(base, rank))
    ranks = ",".join(str(r) for r in lost)
    result = start(args, base, prefix, case, ["--restart", "--lost", ranks, "--parity", str(parity_bytes(case))])
    return {**result, "write": before["write"]}


def measure(args, case):
    return common.in_new_place(args.cache, args.cache, measure_in, args, case)


def ratio(case, result):
    kind, ranks, mib, *_ = case
    if kind == "rebuild":
        return result["init"] / result["write_all"]
    if kind == "files":
        return (result["route"] + result["complete"]) / result["write"]
    if kind == "refiles":
        return result["init"] / result["write" if case[5] else "read"]
    if kind == "plain":
        own = ("start", "route", "write", "complete")
        return sum(result[p] for p in own) / sum(result["plain"].get(p, 0) for p in own)
    seconds = result["complete" if kind == "encode" else "init"]
    return ranks * mib * 2**20 / (seconds * result["memcpy"])


def row(name, case, results):
    ratios = sorted(ratio(case, r) for r in results)
    line(name, f"{statistics.median(ratios):6.3f} {ratios[0]:6.3f} {ratios[-1]:6.3f}", results[-1])
    if case[0] == "encode" and "reread" in results[-1]:
        bounds = sorted(case[1] * case[2] * 2**20 / (r["reread"] * r["memcpy"]) for r in results)
        print(f"{'  reread alone':24} {statistics.median(bounds):6.3f} {bounds[0]:6.3f} {bounds[-1]:6.3f}", flush=True)
    if "plain" in results[-1]:
        line("  without a library", "", results[-1]["plain"])


def line(name, ratios, times):
    phases = [f"{1e3 * times[p]:9.2f}" if p in times else f"{'-':>9}" for p in PHASES]
    sent = f"{times['sent'] / 2**20:7.1f}" if "sent" in times else f"{'-':>7}"
    print(f"{name:24} {ratios:20} {''.join(phases)} {sent} {times['library_kib'] / 1024:6.1f} "
          f"{times['memcpy'] / 2**30:6.1f}", flush=True)


def main():
    parser = common.parser(__doc__, rounds=3)
    parser.add_argument("--cases", default="", help="only those whose name matches")
    parser.add_argument("--mib", type=int, help="MiB a rank, instead of the cases' own")
    parser.add_argument("--cache", default="/dev/shm")
    args = parser.parse_args()
    print(f"{'case':24} {'ratio':>6} {'least':>6} {'most':>6} "
          f"{''.join(f'{p:>9}' for p in PHASES)} "
          f"{'sent':>7} {'memory':>6} {'memcpy':>6}\n{'':45} "
          f"{'ms, median of the repeats of the last round':^72} {'MiB':>7} {'MiB':>6} {'GiB/s':>6}", flush=True)
    for name, case in CASES.items():
        if not re.search(args.cases, name):
            continue
        if args.mib:
            case = (*case[:2], args.mib, *case[3:])
        results = []
        for _ in range(args.rounds):
            results.append(measure(args, case))
            common.record(args, name, ratio(case, results[-1]), **results[-1])
        row(name, case, results)


if __name__ == "__main__":
    main()
