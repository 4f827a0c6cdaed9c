#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random histories of a program that checkpoints, over all features of SCR, against the promises of spec.py.

A history is some runs and what happens between them: a line each, drawn from one seed. Lines of a history:

    world NODE,… [CNTL]                          the node of each rank, of the widest run; where control directories are
    case STYLE NAME=VALUE… level=SCHEME:…        a prefix directory, of promises.c's style; Level of versions.py
    conf CASE level=SCHEME:…                     other levels from now on
    run CASE JOB RANKS NAME=VALUE… : STEP; …     STEP: of promises.c; trace: its calls are counted; lost=SEED: see strike
    ensemble JOB CASE RANKS : STEP; … | CASE …   several programs in one, each on the next ranks
    lose NODE [SPARE]                            with what it stores; a spare takes its place, or it is empty
    turn N                                       ranks move N nodes on
    away NODE SPARE, back SPARE NODE             a node that cannot be reached, with what it stores, and is back
    damage NODE                                  one byte of the newest file in its cache
    rot CASE N                                   one byte of a file on the prefix, of N datasets before
    cut MS CASE JOB WORD…                        a command that is killed after so many milliseconds
    strike WHAT[,SEED] CASE JOB WORD…            … one of whose system calls kills it or fails (strike.h); SEED: then all
                                                 nodes lose power, and what was not synced is lost (lost.py)
    scr CASE JOB WORD…                           a command; @N: the name of N datasets before, #N: its number

usage: promises.py [--seed N] [--count N] [--shrink] [--sabotage WHAT] [FILE.hist …]
"""
import argparse
import collections
import concurrent.futures
import glob
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import disk
import lost
import versions
from draw import LOOKS, Draw
from launcher import HUNG, PATIENCE, Hung, Launcher, kill_marked
from ledgers import DEADLY, UNNOTICED, Member, faults_of
from spec import Case
from versions import SHARED_STORE, Level

HERE = os.path.dirname(os.path.abspath(__file__))
WHERE = os.environ.get("TMPDIR") or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


# --- running one ---

class History:
    """Runs the lines of one, and collects what is wrong."""
    case_type = Case

    def __init__(self, args, launcher, lines, seed=0):
        self.args, self.launcher, self.lines, self.seed = args, launcher, lines, seed
        self.dir = tempfile.mkdtemp(prefix="scr-promises.", dir=WHERE)
        self.cases, self.told, self.runs = [], [], 0
        self.counts = collections.Counter()
        self.calls = collections.Counter() # (rank or process, kind) of those that were traced
        self.struck = self.lost = self.torn = 0
        self.status = None # of the command that was struck last

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def wrong(self):
        """Texts; none: every promise was kept."""
        try:
            for line in self.lines:
                word, *words = line.split()
                self.told.append(line)
                self.counts[word] += 1
                getattr(self, f"do_{word}")(*words)
                for case in self.cases:
                    case.guessed = case.guessed if word == "guess" else None
                wrong = [text for case in self.cases for text in case.wrong]
                if wrong:
                    return wrong
            return []
        except Hung:
            return [HUNG]
        finally:
            self.end()

    def end(self):
        if self.args.stay:
            print(f"stays: {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def do_world(self, nodes, cntl="cache"):
        self.nodes, self.cntl = nodes.split(","), cntl

    def do_case(self, style, *words):
        number = len(self.cases)
        case = self.case_type(number, self.seed * 4 + number, self.path(f"prefix{number}"), style)
        case.settings = dict(word.split("=", 1) for word in words if not word.startswith("level="))
        os.mkdir(case.prefix)
        self.cases.append(case)
        self.do_conf(number, *(word for word in words if word.startswith("level=")))

    def do_conf(self, number, *words):
        case = self.cases[int(number) % len(self.cases)]
        case.levels = [read_level(word[6:]) for word in words]
        with open(self.path(f"conf{case.number}"), "w", encoding="utf-8") as f:
            f.write(self.configuration(case.levels))

    def configuration(self, levels):
        stores = {level.store: level.count for level in levels}
        lines = [f"STORE={self.path(store)} GROUP={'WORLD' if store == SHARED_STORE else 'NODE'} COUNT={count}"
                 for store, count in stores.items()]
        lines += [f"CKPT={n} INTERVAL={level.interval} TYPE={level.scheme} STORE={self.path(level.store)} "
                  f"SET_SIZE={level.set_size} SET_FAILURES={level.failures} BYPASS={int(level.bypass)}"
                  for n, level in enumerate(levels)]
        return "\n".join(["SCR_COPY_TYPE=FILE", *lines, ""])

    def environment(self, case, job, nodes):
        """Of a command: each node is named once."""
        env = dict(os.environ, SCR_PREFIX=case.prefix, SCR_CACHE_BASE=self.path("cache"),
                   SCR_CNTL_BASE=self.path(self.cntl), SCR_USER_NAME="tester", SCR_JOB_ID=job, SCR_QUIET="1",
                   SCR_CONF_FILE=self.path(f"conf{case.number}"), SCR_VNODES=",".join(dict.fromkeys(nodes)),
                   SCR_RESOURCE_MANAGER="NONE", TEST_SCR=self.args.scr, TEST_RUNS_OF=os.path.basename(self.dir),
                   SCR_TRANSFER_PROGRAM=f"{self.args.scr}_transfer", SCR_TRANSFER_TIMEOUT="5", TMPDIR=self.dir)
        env.update(case.settings)
        if self.args.sabotage == "byte":
            env["TEST_SABOTAGE"] = "byte"
        return env

    # --- a run ---

    def member(self, number, first, ranks, steps):
        """A program that runs on these ranks."""
        case, ranks, self.runs = self.cases[int(number) % len(self.cases)], int(ranks), self.runs + 1
        steps = [step.strip() for step in steps.split(";") if step.strip()]
        self.counts.update(step.split("=")[0] for step in steps)
        return Member(case, self.runs, tuple(self.nodes[first:first + ranks]), steps,
                      self.path(f"script{self.runs}"), self.path(f"ledger{self.runs}"))

    def do_run(self, number, job, ranks, *rest):
        extra, steps = " ".join(rest).split(":", 1)
        extra = dict(word.split("=", 1) for word in extra.split())
        one = self.member(number, 0, ranks, steps)
        env = dict(self.environment(one.case, job, one.spread), SCR_VNODES=",".join(one.spread), **extra)
        seed = next((step[5:] for step in one.steps if step.startswith("lost=")), "")
        before = lost.Disk(one.case.prefix) if seed else None
        if any(step.startswith(("strike", "lost", "trace")) for step in one.steps):
            env.update(self.tracing())
        self.sabotage("before", one.case)
        died = self.launch(job, [one], env, one.steps)
        self.sabotage("after", one.case)
        self.read_trace(before, seed)
        one.tell(job, extra, died)
        self.lost_power(before)
        self.doubt_others(one.case, job, one.steps)

    def do_ensemble(self, job, *rest):
        members = []
        for text in " ".join(rest).split("|"):
            (number, ranks), steps = text.split(":")[0].split(), text.split(":", 1)[1]
            members.append(self.member(number, sum(len(m.spread) for m in members), ranks, steps))
        env, settings = self.environment(members[0].case, job, self.nodes), []
        for m in members:
            own = dict(self.environment(m.case, job, m.spread), SCR_VNODES=",".join(m.spread))
            settings.append([f"config={k}={own[k]}" for k in ("SCR_PREFIX", "SCR_CONF_FILE", "SCR_VNODES",
                                                              *m.case.settings)])
        for setting in itertools.chain(*settings):
            env.pop(setting.split("=")[1], None)
        for m, own in zip(members, settings):
            m.shift(sum(len(o.spread) for o in members[:members.index(m)]), own)
        died = self.launch(job, members, env, [step for m in members for step in m.steps])
        for m in members:
            m.tell(job, {}, died)
            self.doubt_others(m.case, job, m.steps)

    def launch(self, job, members, env, steps):
        """1 if they died, as planned."""
        words = []
        for m in members:
            with open(m.script, "w", encoding="utf-8") as f:
                f.writelines(self.place(step, m.case) + "\n" for step in m.steps
                             if not step.startswith(("lost", "trace")))
            words += [str(len(m.spread)), m.case.prefix, m.script, m.ledger, str(m.case.seed), str(m.serial * 1000),
                      m.case.style]
        case = members[0].case
        statuses = self.launcher.run(sum(len(m.spread) for m in members), case.prefix, self.path("log"), env, words)
        died = os.path.exists(f"{members[0].ledger}.died")
        if any(statuses) and not died and not self.may_fail(case, job, statuses, steps):
            case.say(f"status {statuses}, and no process died as planned")
        for m in members:
            m.read()
            self.told += [f"    {' '.join([word, *args])}" for word, args in m.entries]
        self.told.append(f"    status {' '.join(map(str, statuses))}{' died' * died}")
        return died

    def tracing(self):
        return {"TEST_TRACE": self.path("trace"), "TEST_BELOW": self.dir}

    def read_trace(self, before, seed):
        """before: the prefix directory, which is to lose what was not synced since."""
        trace = self.path("trace")
        if not os.path.exists(trace):
            return
        with open(trace, encoding="utf-8", errors="surrogateescape") as f:
            words = [line.rstrip("\n").split("\t", 2) for line in f]
        self.struck = sum(word[1] == "struck" for word in words)
        self.calls = collections.Counter((word[0], word[1]) for word in words if word[1] != "struck")
        if before:
            before.replay(trace)
            before.lose(random.Random(seed))
            self.lost, self.torn = before.lost, before.torn
        os.unlink(trace)

    def lost_power(self, before):
        """With the caches of all nodes; before, None: it was not lost."""
        for node in set(self.nodes) if before else ():
            self.do_lose(node)

    @staticmethod
    def may_fail(case, job, statuses, steps):
        """A halt ends a run with 1 where the flush before it failed: calls did, or another job has the number of its
        output. The launcher kills the other ranks then."""
        is_clash = case.left is not None and any(v.job != job for v in case.versions)
        return 1 in statuses and set(statuses) <= {0, 1, 128 + signal.SIGKILL} and bool(is_clash or faults_of(steps))

    def doubt_others(self, case, job, steps):
        """What another prefix directory has in a cache may leave when that is full."""
        for other in self.cases:
            if other is not case and "cache" in faults_of(steps):
                versions.forget_cache(other.versions, job)

    def place(self, step, case):
        what, _, where = step.partition("=")
        if what not in ("full", "readonly"):
            return step
        return f"{what}={case.prefix if where == 'prefix' else self.path('cache', f'vnode.{where}')}"

    # --- between runs ---

    def do_lose(self, node, spare=""):
        for top in glob.glob(self.path("*", f"vnode.{node}")):
            shutil.rmtree(top)
        for case in self.cases:
            case.lose(node)
        self.nodes = [spare or node if n == node else n for n in self.nodes]

    def do_away(self, node, spare):
        for case in self.cases:
            case.lose(node)
        self.nodes = [spare if n == node else n for n in self.nodes]

    do_back = do_away

    def do_rot(self, number, back):
        case = self.cases[int(number) % len(self.cases)]
        stored = [v for v in case.versions if v.stored]
        if int(back) >= len(stored) or case.settings.get("SCR_CRC_ON_FLUSH") == "0":
            return
        v = stored[-1 - int(back)]
        for path in disk.files(v):
            path = os.path.join(case.prefix, path)
            if os.path.exists(path) and os.path.getsize(path) > 0:
                flip(path)
                for other in case.versions:
                    other.doubtful = other.doubtful or other.place == v.place
                return

    def do_cut(self, ms, number, job, *words):
        case = self.cases[int(number) % len(self.cases)]
        words = [self.spell(word, case, job) for word in words]
        with open(self.path("log"), "a", encoding="utf-8") as log:
            process = subprocess.Popen([self.args.scr, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       cwd=case.prefix, env=self.environment(case, job, self.nodes))
            time.sleep(int(ms) / 1000)
            process.kill()
            process.wait()
            kill_marked(os.path.basename(self.dir))
        self.ended(case, words, job)

    def do_strike(self, what, number, job, *words):
        case = self.cases[int(number) % len(self.cases)]
        what, _, seed = what.partition(",")
        how = what.split(":")[-1]
        words = [self.spell(word, case, job) for word in words]
        before = lost.Disk(case.prefix) if seed else None
        env = dict(self.environment(case, job, self.nodes), LD_PRELOAD=self.args.strike, **self.tracing())
        if what != "trace":
            env["TEST_STRIKE"] = what
        status = self.command(words, env, case)
        kill_marked(os.path.basename(self.dir))
        if status < 0 and how not in DEADLY:
            case.say(f"scr {' '.join(words)} was ended by signal {-status}")
        self.status = status
        self.told.append(f"    scr {' '.join(words)}: {status}")
        self.read_trace(before, seed)
        self.ended(case, words, job, status if how in UNNOTICED else None)
        self.lost_power(before)

    def do_turn(self, n):
        names = list(dict.fromkeys(self.nodes))
        n = int(n) % len(names)
        turned = dict(zip(names, names[n:] + names[:n]))
        self.nodes = [turned[node] for node in self.nodes]

    def do_damage(self, node):
        files = [path for path in glob.glob(self.path("*", f"vnode.{node}", "**", "*"), recursive=True)
                 if os.path.isfile(path) and "/rank." in path and os.path.getsize(path) > 0]
        if not files:
            return
        path = max(files, key=lambda path: (os.path.getmtime(path), path))
        flip(path)
        for case in self.cases:
            case.lose(node)

    def do_guess(self, number, job, ranks, *extra):
        """What scr_why says a run would begin with, the next run is to."""
        case = self.cases[int(number) % len(self.cases)]
        text = self.why(case, job, self.nodes[:int(ranks)], dict(word.split("=", 1) for word in extra))
        said = re.search(r"^a restart (takes dataset (\d+)|finds nothing)", text, re.M)
        self.told.append("".join(f"    {line}\n" for line in text.splitlines()).rstrip("\n"))
        case.guess(job, int(ranks), int(said[2] or 0) if said and " is not known here; " not in text else None)

    def why(self, case, job, nodes, extra):
        """What scr why prints of a run on these nodes, of all ranks."""
        return subprocess.run([self.args.scr, "why", "--crc", "--ranks", str(len(nodes))], cwd=case.prefix,
                              env=dict(self.environment(case, job, nodes), **extra), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False).stdout

    def do_scr(self, number, job, *words):
        case = self.cases[int(number) % len(self.cases)]
        before = disk.tree(case.prefix)
        words = [self.spell(word, case, job) for word in words]
        status = self.command(words, self.environment(case, job, self.nodes), case)
        self.told.append(f"    scr {' '.join(words)}: {status}")
        self.counts[" ".join(word for word in words[:2] if word.isalpha() or word.startswith("--"))] += 1
        self.ended(case, words, job, status)
        if " ".join(words) in LOOKS and disk.tree(case.prefix) != before:
            case.say(f"scr {' '.join(words)} changed the prefix directory")

    def command(self, words, env, case):
        """The status of a command, below 0: of the signal that ended it."""
        with open(self.path("log"), "a", encoding="utf-8") as log:
            log.write(f"$ scr {' '.join(words)}\n")
            log.flush()
            try:
                return subprocess.run([self.args.scr, *words], env=env, cwd=case.prefix, stdin=subprocess.DEVNULL,
                                      stdout=log, stderr=log, timeout=PATIENCE, check=False).returncode
            except subprocess.TimeoutExpired as late:
                kill_marked(os.path.basename(self.dir))
                raise Hung from late

    def ended(self, case, words, job, status=None):
        """Of a command; without a status it was cut, and whether it did its work is not known."""
        is_cut = status is None
        case.ran(words, 255 if is_cut else status, job, tuple(self.nodes), is_cut)
        if words[0] == "clean":
            for some in self.cases:
                some.cleaned(job if "--jobid" in words and not is_cut else "", "--force" in words)
        case.look(f"{'cut ' * is_cut}scr {' '.join(words)}")

    def spell(self, word, case, job):
        back = re.fullmatch(r"([@#])(\d+)", word)
        if not back:
            return {"JOB": job, "N": str(len(self.nodes)), "DIR": self.path("extracted")}.get(word, word)
        versions = [v for v in case.versions if v.began]
        if int(back[2]) >= len(versions):
            return "none" if back[1] == "@" else "999"
        v = versions[-1 - int(back[2])]
        return v.name if back[1] == "@" else str(v.id)

    # --- checks of the check ---

    def sabotage(self, when, case):
        """What must be reported: see SABOTAGE."""
        what = self.args.sabotage
        if (what, when) == ("cache", "before"):
            for top in glob.glob(self.path("*", "vnode.*")):
                shutil.rmtree(top)
        if (what, when) == ("file", "after"):
            for path in glob.glob(os.path.join(case.prefix, "*", "f0.0*")):
                os.unlink(path)
        if (what, when) == ("index", "before"):
            for name in {v.name for v in case.versions}:
                subprocess.run([self.args.scr, "index", "--prefix", case.prefix, "--drop", name], check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# byte: the program writes another one than it should, in every file. cache: caches are lost, unknown to the model.
# file: a file on the prefix is removed. index: entries leave it. loss: the model believes in more redundancy.
SABOTAGE = ("byte", "cache", "file", "index", "loss")


def is_reported(args, what, seed):
    """Of a history in which nothing else is wrong."""
    wrong = []
    for args.sabotage in what, "":
        versions.EXTRA_LOSSES = int(args.sabotage == "loss")
        launcher = Launcher(args)
        wrong.append(try_one(args, launcher, Draw(seed).history(), seed)[0])
        launcher.end()
    return wrong[0] and not wrong[1]


def check_the_check(args, most=30):
    """Each kind of sabotage is reported by one of the first histories."""
    missed = 0
    for what in SABOTAGE:
        seed = next((seed for seed in range(most) if is_reported(args, what, seed)), None)
        print(f"{what}: {'not reported' if seed is None else f'history {seed}'}", flush=True)
        missed += seed is None
    return missed


def flip(path):
    with open(path, "r+b") as f:
        first = f.read(1)
        f.seek(0)
        f.write(bytes([first[0] ^ 1]))


def read_level(text):
    scheme, interval, store, count, set_size, failures, bypass = text.split(":")
    return Level(scheme, int(interval), store, int(count), int(set_size), int(failures), bypass == "1")


# --- many ---

def try_one(args, launcher, lines, seed):
    history = History(args, launcher, lines, seed)
    return history.wrong(), history


def kind(text):
    """What is wrong, without the datasets and numbers in it."""
    return re.sub(r"\(.*?\)|\S*[\d@]\S*|\b(ckpt|out|state)\b", "", text)


def shrink(args, launcher, lines, seed, wrong):
    """Fewer lines and steps with which the same is wrong."""
    def fails(some):
        return any(kind(text) == kind(wrong[0]) for text in try_one(args, launcher, some, seed)[0])

    def without_lines(lines):
        i = len(lines) - 1
        while i > 0:
            fewer = lines[:i] + lines[i + 1:]
            if not lines[i].startswith("world") and any(l.startswith("case") for l in fewer) and fails(fewer):
                lines = fewer
            i -= 1
        return lines

    def without_words(lines, sign, keep):
        for i, line in enumerate(lines):
            if not line.startswith(keep):
                continue
            head, steps = (line.split(":", 1)[0] + ":", line.split(":", 1)[1].split(sign)) if keep == "run" else \
                ("case", line.split()[1:])
            at = len(steps) - 1
            while at >= 0:
                fewer = steps[:at] + steps[at + 1:]
                new = f"{head} {sign.join(fewer).strip()}"
                may_go = steps[at].strip() != "init" if keep == "run" else "level=" in new
                if may_go and fails([*lines[:i], new, *lines[i + 1:]]):
                    steps = fewer
                    lines = [*lines[:i], new, *lines[i + 1:]]
                at -= 1
        return lines

    while True:
        size = sum(map(len, lines))
        lines = without_lines(lines)
        lines = without_words(lines, ";", "run")
        lines = without_words(lines, " ", "case")
        if sum(map(len, lines)) == size:
            return lines


def report(args, launcher, lines, seed, wrong, history):
    print(f"--- seed {seed}")
    if args.shrink:
        lines = shrink(args, launcher, lines, seed, wrong)
        again, history = try_one(args, launcher, lines, seed)
        wrong = again or wrong
        kept = os.path.join(args.keep, f"{seed}.hist")
        with open(kept, "w", encoding="utf-8") as f:
            f.write("\n".join([f"# seed {seed}", *lines, ""]))
        print(f"kept as {kept}")
    print("\n".join(history.told))
    print("\n".join(f"WRONG: {text}" for text in wrong))
    print(f"to repeat it: {sys.argv[0]} --seed {seed}", flush=True)


def read_history(path):
    with open(path, encoding="utf-8") as f:
        lines = [line.strip() for line in f]
    seed = next((int(line.split()[2]) for line in lines if line.startswith("# seed ")), 0)
    return seed, [line for line in lines if line and not line.startswith("#")]


def work(args, jobs):
    """(histories, runs, kinds of step, failures) of one worker."""
    launcher, counts = Launcher(args), collections.Counter()
    done = runs = failures = 0
    for seed, lines in jobs:
        if args.until and time.time() > args.until:
            break
        # With all ranks of an ensemble killed an mpirun (Open MPI) may wait for itself.
        lines = lines or Draw(seed, ensembles=not args.mpi).history()
        wrong, history = try_one(args, launcher, lines, seed)
        done, runs = done + 1, runs + history.runs
        counts.update(history.counts)
        if wrong:
            failures += 1
            report(args, launcher, lines, seed, wrong, history)
    launcher.end()
    return done, runs, counts, failures


def find_programs(args):
    build = os.path.abspath(args.build) # commands run in the prefix directory
    args.scr = os.path.join(build, "scr")
    args.forked = os.path.join(build, "tests", "campaign", "promises_forked")
    args.launched = os.path.join(build, "tests", "campaign", "promises_launched")
    args.strike = os.path.join(build, "tests", "crash", "libscr_strike.so")
    args.until = time.time() + args.seconds if args.seconds else 0
    return args


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--stay", action="store_true")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--sabotage", default="", choices=SABOTAGE)
    parser.add_argument("--selftest", action="store_true")
    parser.add_argument("--keep", default=tempfile.gettempdir())
    parser.add_argument("--build", required=True)
    parser.add_argument("--mpi", default="")
    parser.add_argument("files", nargs="*")
    return find_programs(parser.parse_args())


def main():
    args, start = options(), time.time()
    jobs = [read_history(path) for path in args.files]
    if args.seed is not None:
        jobs = [(args.seed, None)]
    elif not jobs:
        jobs = [(seed, None) for seed in range(args.first, args.first + args.count)]
    if args.selftest:
        return check_the_check(args)
    if args.print:
        print("\n".join(Draw(args.seed).history()))
        return 0
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        parts = list(pool.map(work, [args] * args.jobs, [jobs[i::args.jobs] for i in range(args.jobs)]))
    histories, runs, failures = (sum(part[i] for part in parts) for i in (0, 1, 3))
    counts = sum((part[2] for part in parts), collections.Counter())
    print(f"steps: {', '.join(f'{name} {n}' for name, n in sorted(counts.items()))}")
    print(f"{histories} histories, {runs} runs, {failures} went wrong, {time.time() - start:.0f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
