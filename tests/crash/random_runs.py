#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs of two programs, each with a prefix directory, in two jobs that share their nodes: killed at random system
calls, with nodes lost, directories full or read-only, other numbers of ranks, all kinds of flushes, and commands in
between. What each start offers and every byte of it is compared with what model.py says.

A failure prints the history of its world and the words that repeat it. TEST_SEED=<n> repeats a test, TEST_SEED=random
draws new worlds, and TEST_WORLD=<n> repeats one world, with all that its runs print.

usage: random_runs.py MPIRUN PROGRAM SCR RUNS
"""
import concurrent.futures
import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import records
from model import Case, Run, Setup

SEED = "1" # of the suite: its worlds are the same each time, so that what fails is what has changed
RUNS_OF_A_WORLD = 10
AT_ONCE = 2    # worlds
PATIENCE = 240 # seconds of a run
# Many small files are synced, and what is shown does not depend on the disk.
WHERE = os.environ.get("TMPDIR") or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


class Wrong(Exception):
    pass


@dataclasses.dataclass
class Plan:
    """Of a run: events, and which faults there are: at the start, in cache, on the prefix."""
    case: Case
    serial: int
    setup: Setup
    style: str
    more: dict
    events: list
    faults: set

    def __str__(self):
        return (f"case {self.case.number} in {self.setup.job} on {','.join(self.setup.spread)}: "
                f"{' '.join(self.events)}")


class World:
    def __init__(self, mpirun, program, scr, seed, number):
        self.mpirun, self.program, self.scr = mpirun, program, scr
        self.rng = random.Random(f"{seed} {number}")
        self.loud = "TEST_WORLD" in os.environ
        self.dir = tempfile.mkdtemp(prefix="scr-random.", dir=WHERE)
        self.tag = os.path.basename(self.dir)
        self.history, self.said, self.spares = [], {}, 0
        self.away = None  # a node, and the spare in its place
        self.draw()

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def draw(self):
        """What stays as it is in all runs."""
        rng = self.rng
        self.ranks = rng.choice([2, 3, 4, 4, 4])
        each = rng.choice([1, 1, 2])
        self.nodes = [f"n{i // each + 1}" for i in range(self.ranks)]
        self.cases = [Case(i, self.path(f"prefix{i}")) for i in range(2)]
        self.styles = [self.draw_style() for _ in self.cases]
        self.tell(f"{self.ranks} ranks on {','.join(self.nodes)}")
        for case, (setup, style, more) in zip(self.cases, self.styles):
            os.mkdir(case.prefix)
            self.tell(f"case {case.number}: {style} {setup} {more}")

    def draw_style(self):
        """Of a case: parameters of Setup, letters of random_run.c, other settings."""
        rng = self.rng
        scheme, k = rng.choice([("XOR", 1), ("XOR", 1), ("RS", 2), ("PARTNER", 1), ("SINGLE", 0)])
        setup = dict(scheme=scheme, k=k, size=rng.choice([0, 0, 1, 2]), flush=rng.choice([0, 0, 1, 1, 3]))
        more = {}
        if rng.random() < 0.15:
            setup["bypass"] = True
            more["SCR_CACHE_BYPASS"] = "1"
        elif rng.random() < 0.35:
            setup["is_async"] = True
            more.update(SCR_FLUSH_ASYNC="1", SCR_FLUSH_TYPE=rng.choice(["PTHREAD", "PTHREAD", "DAEMON"]))
            setup["is_daemon"] = more["SCR_FLUSH_TYPE"] == "DAEMON"
        if rng.random() < 0.2:
            more["SCR_FLUSH_COMPRESS"] = "ZSTD"
        if rng.random() < 0.1:
            more["SCR_FETCH_BYPASS"] = "1"
        if rng.random() < 0.3:
            setup["any_ranks"] = True
            more["SCR_RESTART_ANY_RANKS"] = "1"
        style = "".join(letter for letter in "ch" if rng.random() < 0.3) or "-"
        setup["has_header"] = "h" in style
        if "h" in style and not setup.get("bypass"):  # a header in cache is on one node only
            setup["on_prefix"] = True
            more["SCR_GLOBAL_RESTART"] = "1"
        return setup, style, more

    # --- what happened ---

    def tell(self, text):
        self.history.append(text)
        if self.loud:
            print(text, flush=True)

    def check(self, wrong):
        if wrong:
            self.fail(*wrong)

    def fail(self, *texts):
        raise Wrong("\n".join([*self.history, *(f"WRONG: {text}" for text in texts), *self.said.values()]))

    # --- processes ---

    def environment(self, setup, case, more):
        return dict(os.environ, TMPDIR=self.dir, SCR_PREFIX=case.prefix, SCR_CACHE_BASE=self.path("cache"),
                    SCR_CNTL_BASE=self.path("cache"), SCR_RESTART_PAST_LOST_OUTPUT=str(int(setup.past_lost)),
                    SCR_USER_NAME="tester", SCR_JOB_ID=setup.job,
                    SCR_COPY_TYPE=setup.scheme, SCR_SET_FAILURES=str(max(setup.k, 1)), SCR_FLUSH=str(setup.flush),
                    SCR_TRANSFER_PROGRAM=f"{self.scr}_transfer", SCR_VNODES=",".join(setup.spread),
                    TEST_RUNS_OF=self.tag, **more, **({"SCR_CACHE_SIZE": str(setup.size)} if setup.size else {}))

    def processes(self):
        """All that were started here, by their environment."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if f"TEST_RUNS_OF={self.tag}".encode() in f.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def kill_all(self):
        while pids := self.processes():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        for case in self.cases:
            case.flushes_ended()

    def call(self, command, environment, cwd, log="said"):
        """Its status; what it said is kept for a failure."""
        with open(self.path(log), "w+", errors="replace") as said:
            process = subprocess.Popen(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=said)
            try:
                status = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                status = "hung"
                self.kill_all()
                process.wait()
            said.seek(0)
            text = said.read()
        self.said[log] = "".join(f"    {line}\n" for line in text.splitlines()[-25:])
        if self.loud:
            print(self.said[log], end="", flush=True)
        if status == "hung":
            self.fail(f"{' '.join(command)} did not end")
        return status

    # --- a run ---

    def nodes_dir(self, node):
        return self.path("cache", f"vnode.{node}")

    def draw_setup(self, case):
        setup, _, _ = self.styles[case.number]
        ranks = self.ranks
        if self.rng.random() < 0.15:
            ranks = self.rng.choice([n for n in (self.ranks - 1, self.ranks + 1) if n > 1])
        nodes = (self.nodes * 2)[:ranks]
        return Setup(job=f"job{self.rng.choice([1, 1, 1, 2])}", spread=tuple(nodes),
                     past_lost=self.rng.random() < 0.4, **setup)

    def draw_events(self, case, ranks):
        """And which faults there are."""
        rng = self.rng
        events, faults = [], set()
        fault_at = rng.choice(["start", "output", "output", "none", "none", "none", "none"])
        fault = self.draw_fault(case, faults)
        if fault_at == "start":
            events += [fault, "init", "restart", "heal"]
            faults.add("start")
        else:
            events += ["init", "restart"]
        if rng.random() < 0.25:
            events.insert(rng.randrange(2), self.draw_death(ranks, 150))
        for i in range(rng.randrange(1, 5)):
            events += self.draw_step(ranks)
        if fault_at == "output":
            at = rng.randrange(events.index("restart") + 1, len(events) + 1)
            events[at:at] = [fault]
            events.insert(rng.randrange(at + 1, len(events) + 1), "heal")
        if fault_at == "none":
            faults.clear()
            events = ["stuck" if event == "output" and rng.random() < 0.6 else event for event in events]
        if rng.random() < 0.25:
            events.append("finalize")
        return events, faults

    def draw_fault(self, case, faults):
        what = self.rng.choice(["full", "readonly"])
        if self.rng.random() < 0.3:
            faults.add("prefix")
            return f"{what}={case.prefix}"
        faults.add("cache")
        return f"{what}={self.nodes_dir(self.rng.choice(self.nodes))}"

    def draw_death(self, ranks, most):
        how = self.rng.choice(["die", "die", "alone"])
        return f"{how}={self.rng.randrange(ranks)}:{self.rng.randrange(1, most)}"

    def draw_step(self, ranks):
        rng = self.rng
        step = [rng.choice(["ckpt"] * 10 + ["invalid"] + ["output"] * 3)]
        if rng.random() < 0.08:
            step.append(f"{rng.choice(['delete', 'drop'])}={rng.randrange(3)}")
        if rng.random() < 0.05:
            step += [f"current={rng.randrange(1, 3)}", "restart"]
        if rng.random() < 0.25:
            step.insert(0, self.draw_death(ranks, 60))
        return step

    def plan(self, case, serial):
        setup = self.draw_setup(case)
        _, style, more = self.styles[case.number]
        events, faults = self.draw_events(case, len(setup.spread))
        if self.rng.random() < 0.1:
            self.command(case, setup, more, "halt", "--checkpoints", "1")
        return Plan(case, serial, setup, style, more, events, faults)

    def launch(self, plan):
        """Its status; the launchers of runs at one time have a directory each for their sessions."""
        setup, case, own = plan.setup, plan.case, self.path(f"launch{plan.case.number}")
        os.makedirs(own, exist_ok=True)
        return self.call([self.mpirun, "-n", str(len(setup.spread)), self.program, self.journal(plan),
                          str(case.number), str(plan.serial * 1000), plan.style, *plan.events],
                         dict(self.environment(setup, case, plan.more), TMPDIR=own), case.prefix,
                         f"said{case.number}")

    def journal(self, plan):
        return self.path(f"journal{plan.serial}")

    def run(self, plans):
        """One, or two at one time, of a case each."""
        for plan in plans:
            self.tell(f"run {plan.serial}{' beside the next' if plan is not plans[-1] else ''}: {plan}")
        self.said = {}
        with concurrent.futures.ThreadPoolExecutor(len(plans)) as pool:
            statuses = list(pool.map(self.launch, plans))
        self.doubt(plans)
        for plan, status in zip(plans, statuses):
            self.judge(plan, status)
        self.doubt(plans)
        for plan, status in zip(plans, statuses):
            self.end_run(plan, status)

    def doubt(self, plans):
        """What another prefix directory has in a cache may leave when that is full."""
        for plan in plans:
            if "cache" in plan.faults:
                self.cases[1 - plan.case.number].doubt(plan.setup.job)

    def judge(self, plan, status):
        lines, faults = [], plan.faults
        journal = self.journal(plan)
        if os.path.exists(journal):
            with open(journal) as f:
                lines = f.read().splitlines()
        self.tell(f"    run {plan.serial}: status {status}: {'; '.join(lines)}")
        if status != 0 and not os.path.exists(f"{journal}.died") and not self.is_halted_unsafe(plan, status):
            self.fail(f"status {status}, and no process died as planned")
        run = Run(plan.setup, plan.serial, status == 0, "start" in faults, "cache" in faults, "prefix" in faults)
        self.check(plan.case.run(run, lines))

    @staticmethod
    def is_halted_unsafe(plan, status):
        """A halt ends a run with 1 where the flush before it failed."""
        return (status == 1 and ("prefix" in plan.faults or "stuck" in plan.events) and
                os.path.exists(os.path.join(plan.case.prefix, ".scr", "halt.scr")))

    def end_run(self, plan, status):
        case, setup, more = plan.case, plan.setup, plan.more
        if status != 0 and self.rng.random() < 0.2:
            self.check(case.saved(setup.job, setup.spread, self.command(case, setup, more, "postrun")))
        if os.path.exists(os.path.join(case.prefix, ".scr", "halt.scr")):
            self.command(case, setup, more, "halt", "--remove")
        if self.rng.random() < 0.1:
            self.list(case, setup, more)

    # --- between runs ---

    def command(self, case, setup, more, *words):
        environment = self.environment(setup, case, more)
        environment["SCR_VNODES"] = ",".join(dict.fromkeys(setup.spread))
        status = self.call([self.scr, *words, "--prefix", case.prefix], environment, case.prefix)
        self.tell(f"    scr {' '.join(words)}: status {status}")
        return status

    def list(self, case, setup, more):
        """Who only looks writes nothing (D5)."""
        self.kill_all()  # transfer processes
        before = records.tree(case.prefix)
        self.command(case, setup, more, "index")
        if records.tree(case.prefix) != before:
            self.fail("scr index changed the prefix directory")

    def spare_for(self, node):
        self.spares += 1
        return self.replace(node, f"s{self.spares}")

    def replace(self, node, spare):
        self.nodes = [spare if name == node else name for name in self.nodes]
        return spare

    def send_away(self):
        """A node that cannot be reached for some runs, and then is there again with what it had."""
        node = self.rng.choice(self.nodes)
        self.kill_all()
        for case in self.cases:
            case.lose(node)
        self.away = node, self.spare_for(node)
        self.tell(f"{node} is away, {self.away[1]} takes its place")

    def bring_back(self):
        node, spare = self.away
        if spare in self.nodes:
            self.kill_all()
            self.replace(spare, node)
            for case in self.cases:
                case.find_again()
            self.tell(f"{node} is back in place of {spare}, with what it had")
        self.away = None

    def lose_nodes(self):
        """One, mostly, with the processes on it; a spare takes its place, or it comes back empty."""
        if self.away and self.rng.random() < 0.4:
            self.bring_back()
        elif not self.away and self.rng.random() < 0.2:
            self.send_away()
        if self.rng.random() > 0.45:
            return
        names = list(dict.fromkeys(self.nodes))
        for node in self.rng.sample(names, min(len(names), self.rng.choice([1, 1, 2]))):
            self.kill_all()
            shutil.rmtree(self.nodes_dir(node), ignore_errors=True)
            for case in self.cases:
                case.lose(node)
            spare = node if self.rng.random() < 0.5 else self.spare_for(node)
            self.tell(f"{node} is lost, {spare} takes its place")

    def live(self):
        os.mkdir(self.path("cache"))
        serial = 0
        while serial < RUNS_OF_A_WORLD:
            cases = [self.rng.choice([self.cases[0], self.cases[0], self.cases[1]])]
            if self.rng.random() < 0.2:
                cases = self.cases
            self.run([self.plan(case, serial + i) for i, case in enumerate(cases, 1)])
            serial += len(cases)
            self.lose_nodes()

    def end(self):
        self.kill_all()
        shutil.rmtree(self.dir)


def try_world(mpirun, program, scr, seed, number):
    """What went wrong, or nothing."""
    world = World(mpirun, program, scr, seed, number)
    try:
        world.live()
        return ""
    except Wrong as wrong:
        return f"{wrong}\nto repeat it: TEST_SEED={seed} TEST_WORLD={number} {' '.join(sys.argv)}\n"
    finally:
        world.end()


def main(mpirun, program, scr, runs):
    given = os.environ.get("TEST_SEED", SEED)
    seed = random.randrange(1 << 30) if given == "random" else int(given)
    only = os.environ.get("TEST_WORLD")
    worlds = [int(only)] if only else range(runs // RUNS_OF_A_WORLD)
    print(f"seed {seed}", flush=True)
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for text in pool.map(lambda n: try_world(mpirun, program, scr, seed, n), worlds):
            wrong += text != ""
            print(text, end="", flush=True)
    print(f"{len(worlds)} worlds of {RUNS_OF_A_WORLD} runs, {wrong} went wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], int(sys.argv[4])))
