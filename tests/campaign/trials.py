# SPDX-License-Identifier: BSD-3-Clause
"""Trials that begin from one state: runs in a prefix directory and caches, which go back to what they were.

    world = World(args, launcher, seed, nodes, words)      # words: of a line `case` in promises.py
    seen = world.start(nodes, "init; ckpt=0", SCR_FLUSH=1)
    state = State(world.tops())
    ...
    state.go_back()
"""
import argparse
import collections
import concurrent.futures
import os
import time

import promises
import spec
from launcher import Launcher


class State:
    """All files below some directories."""

    def __init__(self, tops):
        self.tops = tops
        self.dirs, self.marks = self.scan()
        self.data = {path: read(path) for path in self.marks}

    def scan(self):
        """Directories, and {file: what changes with it}."""
        dirs, marks = set(), {}
        for top in self.tops:
            for at, _, names in os.walk(top):
                dirs.add(at)
                for path in (os.path.join(at, name) for name in names):
                    st = os.lstat(path)
                    marks[path] = (st.st_ino, st.st_mode, st.st_size, st.st_mtime_ns)
        return dirs, marks

    def go_back(self):
        dirs, marks = self.scan()
        for path in marks.keys() - self.marks.keys():
            os.unlink(path)
        for path in sorted(dirs - self.dirs, reverse=True):
            os.rmdir(path)
        for path in sorted(self.dirs - dirs):
            os.mkdir(path, 0o700)
        for path, mark in self.marks.items():
            if marks.get(path) != mark:
                self.put_back(path, mark)

    def put_back(self, path, mark):
        with open(path, "wb") as f:
            f.write(self.data[path])
        os.chmod(path, mark[1] & 0o7777)
        os.utime(path, ns=(mark[3], mark[3]))
        self.marks[path] = (os.lstat(path).st_ino, *mark[1:])


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Noted(spec.Case):
    """Keeps what a run has noted: the trial judges it."""
    seen = None

    def run(self, run):
        self.seen = run

    def ran(self, *what):
        pass

    def look(self, after):
        pass


class World(promises.History):
    """Of one prefix directory."""
    case_type = Noted

    def __init__(self, args, launcher, seed, nodes, words):
        super().__init__(args, launcher, [], seed)
        self.do_world(",".join(nodes))
        self.do_case(*words)
        self.case = self.cases[0]

    def tops(self):
        return [self.case.prefix, self.path("cache")]

    def start(self, nodes, steps, **env):
        """What the ranks have noted, and the phases they were in."""
        self.nodes, phases = list(nodes), self.path("phases")
        if os.path.exists(phases):
            os.unlink(phases)
        self.told, self.case.wrong = [], []
        env = " ".join(f"{k}={v}" for k, v in dict(env, SCR_PHASE_FILE=phases).items())
        self.do_run(0, "a", len(nodes), f"{env}: {steps}")
        seen = self.case.seen
        seen.phases = read(phases).decode().split()[::2] if os.path.exists(phases) else []
        return seen

    def offered(self, seen, in_place=False):
        """The serial of what the program continued from, 0: nothing; and what no run may do. in_place: files are read
        on the prefix, where SCR_Route_file refuses them."""
        serial, wrong, is_refused = 0, list(self.case.wrong), False
        for word, args in seen.entries:
            if word in ("offer", "none"):
                serial, is_refused = int(args[2]) if args else 0, False
            elif word == "missing" and in_place:
                is_refused = True
            elif word in ("bad", "missing", "differ") or word == "from" and (args == ["0"]) == is_refused:
                wrong.append(f"{word} {' '.join(args)}")
        return serial, wrong

    def begin(self, state, nodes):
        """A trial."""
        state.go_back()
        self.nodes = list(nodes)
        open(self.path("log"), "w", encoding="utf-8").close()

    def said(self):
        """What the runs and commands of the trial have printed."""
        return read(self.path("log")).decode(errors="replace")


def options(text, **numbers):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--seed", type=int, default=1)
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--stay", action="store_true")
    parser.add_argument("--mpi", default="")
    parser.add_argument("--selftest", action="store_true")
    args = promises.find_programs(parser.parse_args())
    args.sabotage = ""
    return args


def run_all(args, work, jobs):
    """The sum of what work(args, launcher, job) counts; "WRONG": failures."""
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        shares = [jobs[i::args.jobs] for i in range(args.jobs)]
        return sum(pool.map(run_some, [args] * args.jobs, [work] * args.jobs, shares), collections.Counter())


def run_some(args, work, jobs):
    launcher, counts = Launcher(args), collections.Counter()
    for job in jobs:
        if not args.until or time.time() < args.until:
            counts += work(args, launcher, job)
    launcher.end()
    return counts


def table(counts):
    """Prints those of `row: column`, and returns the sums of the columns."""
    rows, sums = collections.defaultdict(list), collections.Counter()
    for name, n in sorted(counts.items()):
        row, _, column = name.partition(": ")
        if column:
            rows[row].append(f"{n} {column}")
            sums[column] += n
    for row, columns in rows.items():
        print(f"{row}: {', '.join(columns)}")
    return sums
