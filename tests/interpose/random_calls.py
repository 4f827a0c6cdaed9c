#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random programs with libscr_interpose and without: every call returns the same, and the same files are left.

random_calls.c draws what each rank does from a seed. Settings of SCR are drawn, too. With SCR_FLUSH=1 all files must be
in the prefix directory at the end; with another value those of no checkpoint, and what the program sees is the same
as long as the cache keeps all. Nothing may be left in the stage.

usage: random_calls.py --program FILE --library FILE --mpirun FILE [--first SEED] [--count N] [--jobs N] [--keep]
"""
import argparse
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import tempfile

RANKS = 3
PATTERN = "ck.%d.* run.*.0 run.*.1"


def settings(r):
    """Some of SCR's parameters."""
    s = {"SCR_INTERPOSE_CALLS": r.choice("1112") if r.random() < 0.8 else "16", "SCR_FLUSH": "1",
         "SCR_CACHE_SIZE": r.choice(["1", "2", "3", "50"]), "SCR_COPY_TYPE": r.choice(["SINGLE", "PARTNER", "XOR", "RS"])}
    if r.random() < 0.25:
        s.update(SCR_FLUSH=r.choice(["0", "2", "10"]), SCR_CACHE_SIZE="500")
    if r.random() < 0.15:
        s["SCR_CACHE_BYPASS"] = "1"
    if r.random() < 0.15:
        s["SCR_INTERPOSE_FILES"] = str(r.randint(1, 8))
    return s


def read(path):
    with open(path, "rb") as f:
        return f.read()


def tree(top):
    """path -> bytes and mode of all files but those of SCR."""
    found = {}
    for base, dirs, files in os.walk(top):
        dirs[:] = [d for d in dirs if d != ".scr"]
        for name in files:
            path = os.path.join(base, name)
            found[os.path.relpath(path, top)] = read(path), oct(os.stat(path).st_mode)
    return found


def first_difference(a, b):
    """Of two logs, None if they are equal."""
    if a == b:
        return None
    a, b = (text.decode(errors="replace").split("\n") for text in (a, b))
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return f"without SCR: {a[at:at + 1]}, with it: {b[at:at + 1]}"


class History:
    """One program, in a directory."""

    def __init__(self, args, seed, work):
        r = random.Random(seed)
        self.args, self.work = args, work
        self.settings = settings(r)
        self.call = [args.program, str(seed), str(r.randint(2, 7))]
        self.last = ["open"] if r.random() < 0.2 else []
        for name in ("plain", "scr", "storage"):
            os.makedirs(f"{work}/{name}")

    def run(self):
        """What is wrong, a list of lines."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("SCR_")}
        for rank in range(RANKS):
            subprocess.run([*self.call, f"{self.work}/plain.log", str(rank), *self.last], cwd=f"{self.work}/plain", env=env,
                           check=True, timeout=100)
        storage = f"{self.work}/storage"
        env.update(self.settings, SCR_PREFIX=f"{self.work}/scr", SCR_CACHE_BASE=storage, SCR_CNTL_BASE=storage,
                   SCR_USER_NAME="u", SCR_JOB_ID="j", SCR_VNODES="n1,n2,n3", SCR_QUIET="1", SCR_INTERPOSE_PATTERN=PATTERN)
        preload = ":".join(filter(None, [self.args.library, env.get("LD_PRELOAD")]))
        try:
            job = subprocess.run([self.args.mpirun, "-n", str(RANKS), "env", f"LD_PRELOAD={preload}", *self.call,
                                  f"{self.work}/scr.log", *self.last], cwd=f"{self.work}/scr", env=env, timeout=200,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        except subprocess.TimeoutExpired:
            return ["it hangs"]
        if job.returncode != 0:
            return [f"status {job.returncode}: {job.stdout.decode(errors='replace')}"]
        return self.logs() or self.files()

    def logs(self):
        bad = [first_difference(read(f"{self.work}/plain.log.{rank}"), read(f"{self.work}/scr.log.{rank}"))
               for rank in range(RANKS)]
        return [f"rank {rank}: {what}" for rank, what in enumerate(bad) if what]

    def files(self):
        want, have = tree(f"{self.work}/plain"), tree(f"{self.work}/scr")
        bad = []
        for name in sorted(set(want) | set(have)):
            is_flushed = self.settings["SCR_FLUSH"] == "1" or not os.path.basename(name).startswith(("ck.", "run."))
            if is_flushed and want.get(name) != have.get(name):
                sizes = [len(t[name][0]) if name in t else None for t in (want, have)]
                bad.append(f"{name}: {sizes[0]} bytes without SCR, {sizes[1]} with it, or other bytes or modes")
        left = [base for base, _, files in os.walk(f"{self.work}/storage") if "/interpose" in base and files]
        return bad + [f"{base} is left" for base in left]


def judge(args, seed):
    """seed and what is wrong with it."""
    work = tempfile.mkdtemp(prefix=f"scr-random.{seed}.", dir=os.environ.get("TMPDIR"))
    history = History(args, seed, work)
    bad = history.run()
    if not (bad and args.keep):
        shutil.rmtree(work)
    given = " ".join(f"{k}={v}" for k, v in sorted(history.settings.items()))
    return seed, [f"seed {seed} in {work} ({given}): {line}" for line in bad]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--program", required=True, help="random_calls")
    p.add_argument("--library", required=True, help="libscr_interpose.so")
    p.add_argument("--mpirun", required=True)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--keep", action="store_true", help="the directories of histories that are wrong")
    args = p.parse_args()
    args.program, args.library = os.path.abspath(args.program), os.path.abspath(args.library)
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for _, bad in pool.map(lambda seed: judge(args, seed), range(args.first, args.first + args.count)):
            wrong += bool(bad)
            for line in bad:
                print(line, flush=True)
    print(f"random calls: {args.count} histories, {wrong} not as without SCR")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
