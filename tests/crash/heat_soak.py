#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The heat solver, again and again, under a supervisor that kills it at random moments and starts it again until it
is done: ranks, whole jobs, nodes with their storage, processes that flush, and commands beside and between the runs.

    heat_soak.py [--restarts 500] [--seconds N] [--seed 1] [--life N] MPIRUN HEAT2D WITNESS SCR

A life is a prefix directory with its settings and all runs in it. At its end the field has the bytes of that of an
undisturbed run, every complete dataset its checksums, and history.py finds that all answers kept what was promised.
--life repeats one of a seed; moments are drawn, but what happens in them differs.
"""
import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import history
from victim import Victim, kill_at_once, send

STEPS, EVERY = 400, 10
SOLVER = ["--steps", str(STEPS), "--size", "512"]
SCHEMES = (("XOR", 1), ("XOR", 1), ("RS", 2), ("PARTNER", 1), ("SINGLE", 0))
STRIKES = ("rank",) * 5 + ("job",) * 3 + ("node",) * 7 + ("two nodes",) * 3
BESIDE = (("index", "--adopt"), ("index", "--add"), ("halt", "--seconds=1"), ("verify",))
BETWEEN = (("postrun",), ("postrun",), ("index", "--adopt"))
LATEST = 2.5    # seconds after its start that a run is killed
PATIENCE = 240  # seconds that nothing takes
ENOUGH = 5      # lives that went wrong


def draw_settings(rng):
    """Those of SCR, and the losses of nodes that a set survives."""
    scheme, survived = rng.choice(SCHEMES)
    more = {"SCR_COPY_TYPE": scheme, "SCR_SET_FAILURES": str(max(survived, 1)),
            "SCR_FLUSH": str(rng.choice([0, 1, 2, 3])), "SCR_PREFIX_SIZE": str(rng.choice([0, 3]))}
    if rng.random() < 0.6:
        more.update(SCR_FLUSH_ASYNC="1", SCR_FLUSH_ASYNC_BW="8m", SCR_FLUSH_TYPE=rng.choice(["PTHREAD", "DAEMON"]))
    if rng.random() < 0.2:
        more["SCR_FLUSH_COMPRESS"] = "ZSTD"
    if rng.random() < 0.5:
        more["SCR_CACHE_SIZE"] = "-1"
    return more, survived


def rank_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as f:
        for word in f.read().split(b"\0"):
            if word.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")):
                return int(word.split(b"=")[1])
    return -1


def names_node(pid, node):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
        return f"/vnode.{node}/".encode() in f.read()
    return False


class Life(Victim):
    def __init__(self, programs, rng):
        settings, self.survived = draw_settings(rng)
        super().__init__(programs.mpirun, programs.heat2d, rng=rng, SCR_TRANSFER_PROGRAM=f"{programs.scr}_transfer",
                         **settings)
        self.scr, self.witness = programs.scr, programs.witness
        self.spread = rng.choice([["n1", "n2", "n3", "n4"]] * 2 + [["n1", "n1", "n2", "n2", "n3", "n3"]])
        self.env.update(TMPDIR=self.work, TEST_LEDGER=self.ledger)
        self.spares, self.counts, self.command = 0, collections.Counter(), None
        print(f"{','.join(self.spread)} {settings}", flush=True)

    def note(self, *words):
        with open(self.ledger, "a") as f:
            f.write(f"{time.time():.6f} - {' '.join(map(str, words))}\n")

    def answers(self, what):
        return sum(line[2] == what for line in self.lines())

    # --- runs ---

    def launch(self):
        self.note("run", ",".join(self.spread), self.survived)
        self.env["SCR_VNODES"] = ",".join(self.spread)
        preload = ":".join(filter(None, [self.witness, os.environ.get("LD_PRELOAD")]))
        with open(os.path.join(self.work, "said"), "w") as said:
            self.job = subprocess.Popen(
                [self.mpirun, "-n", str(len(self.spread)), "env", f"LD_PRELOAD={preload}", self.program, *SOLVER,
                 "--every", str(EVERY), "--sleep-ms", "5", "--output", "field.bin"],
                env=self.env, cwd=self.prefix, stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def pause(self, until):
        """Whether the run is still alive then."""
        while self.job.poll() is None and time.time() < until:
            time.sleep(0.005)
        return self.job.poll() is None

    def disturb(self):
        """A run is struck once, at last; mostly something else happens to it before. Now and then it gets on first,
        however slow the machine."""
        rng, begin = self.rng, time.time()
        if rng.random() < 0.35:
            before = self.answers("complete")
            while self.pause(time.time() + 0.02) and self.answers("complete") == before:
                pass
            begin = time.time() - 0.7 * LATEST
        at = sorted(begin + rng.uniform(0, LATEST) for _ in range(2))
        beside = rng.choice([None, self.kill_daemons, self.start_command])
        if beside and self.pause(at[0]):
            beside()
        if self.pause(at[1]):
            self.strike(rng.choice(STRIKES))

    def end_run(self):
        """Its status; nothing of the run is left but processes that flush. A launcher may fail to notice that a rank
        was killed before all had started."""
        try:
            status = self.job.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            status = "hung"
            self.counts["hung"] += 1
            print(f"hung: {[(rank_of(pid), self.said_last(rank_of(pid))) for pid in self.ranks()]}", flush=True)
            send(signal.SIGKILL, self.processes())
            self.job.wait()
        self.end_all(os.path.basename(self.program))
        self.end_command()
        return status

    def said_last(self, rank):
        """The last line of a rank in this run."""
        return next((line[1:] for line in reversed(self.lines()[self.before:]) if line[1] == str(rank)), None)

    # --- what is done to them ---

    def kill_of(self, ranks):
        self.note("kill", f"ranks.{','.join(map(str, ranks))}", 0)
        kill_at_once([pid for pid in self.ranks() if rank_of(pid) in ranks])

    def strike(self, what):
        self.counts[what] += 1
        if what == "rank":
            self.kill_of([self.rng.randrange(len(self.spread))])
        elif what == "job":
            self.kill_of(range(len(self.spread)))
        else:
            self.lose(2 if what == "two nodes" else 1)

    def lose(self, count):
        """A node comes back empty, or a spare takes its place."""
        nodes = self.rng.sample(sorted(set(self.spread)), count)
        self.kill_of([rank for rank, node in enumerate(self.spread) if node in nodes])
        for node in nodes:
            while pids := [pid for pid in self.processes() if names_node(pid, node)]:
                send(signal.SIGKILL, pids)
            while os.path.exists(path := os.path.join(self.cache, f"vnode.{node}")):
                shutil.rmtree(path, ignore_errors=True)
            self.note("lose", node, 0)
            self.spares += 1
            spare = self.rng.choice([node, f"s{self.spares}"])
            self.spread = [spare if name == node else name for name in self.spread]

    def kill_daemons(self):
        pids = self.processes("scr_transfer")
        self.counts["daemon"] += bool(pids)
        send(signal.SIGKILL, pids)

    def start_command(self):
        self.run_command(*self.rng.choice(BESIDE))

    def run_command(self, *words):
        """Killed after a while, or when the run has ended, if it is not finished then."""
        if "--add" in words:
            done = [line[3] for line in self.lines() if line[2] == "complete"]
            words += tuple(done[-1:] or ["heat2d.step.10"])
        self.counts["command"] += 1
        env = {**self.env, "SCR_VNODES": ",".join(dict.fromkeys(self.spread))}
        self.command = subprocess.Popen([self.scr, *words, "--prefix", self.prefix], env=env, cwd=self.prefix,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def end_command(self):
        if self.command:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.command.wait(self.rng.choice([self.rng.uniform(0, 0.1), PATIENCE]))
            self.command.kill()
            self.counts["of them killed"] += self.command.wait() < 0
            self.command = None

    # --- from the first run to the last ---

    def live(self, restarts):
        """At most so many; what is wrong at the end."""
        while True:
            self.launch()
            if self.counts["restarts"] < restarts:
                self.disturb()
            killed = any(line[2] == "kill" for line in self.lines()[self.before:])
            status = self.end_run()
            self.before = len(self.lines())
            if status == 0 or not killed:
                return self.judge(status)
            self.counts["restarts"] += 1
            if self.rng.random() < 0.25:
                self.run_command(*self.rng.choice(BETWEEN))
                self.end_command()

    def judge(self, status):
        record = history.check_files(self.ledger, self.prefix)
        self.counts.update(record.counts)
        wrong = record.wrong + [f"the last run ended with {status}"] * (status != 0)
        run = subprocess.run([self.scr, "verify", "--prefix", self.prefix], env=self.env, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, check=False)
        if run.returncode != 0:
            wrong.append(run.stdout.decode(errors="replace"))
        return wrong

    def tell(self, wrong):
        """What went wrong, and what happened before."""
        for name in ("said", "ledger", "prefix/.scr/log"):
            with contextlib.suppress(OSError), open(os.path.join(self.work, name), errors="replace") as f:
                print(f"--- {name}\n{''.join(f.readlines()[-400:])}")
        print("\n".join(f"WRONG: {text}" for text in wrong), flush=True)


def expected_field(heat2d):
    """The bytes that an undisturbed run ends in."""
    with tempfile.TemporaryDirectory(prefix="scr-crash.") as top:
        path = os.path.join(top, "field.bin")
        subprocess.run([heat2d, *SOLVER, "--every", str(STEPS), "--output", path], check=True, cwd=top,
                       env={**os.environ, "SCR_ENABLE": "0", "TMPDIR": top}, stdout=subprocess.DEVNULL)
        with open(path, "rb") as f:
            return f.read()


def try_life(args, number, restarts, expected):
    """Its figures, and what went wrong."""
    print(f"life {number}: ", end="")
    with Life(args, random.Random(f"{args.seed} {number}")) as life:
        wrong = life.live(restarts)
        with contextlib.suppress(OSError), open(os.path.join(life.prefix, "field.bin"), "rb") as f:
            life.counts["same field"] = f.read() == expected
        if not life.counts["same field"]:
            wrong.append("the field differs from that of an undisturbed run")
        if wrong:
            life.tell(wrong)
            print(f"to repeat it: {' '.join(sys.argv)} --seed {args.seed} --life {number}", flush=True)
        return life.counts, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--restarts", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=7200, help="no life begins after them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--life", type=int)
    for name in ("mpirun", "heat2d", "witness", "scr"):
        parser.add_argument(name, type=os.path.abspath)
    args = parser.parse_args()
    if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"  # much is synced, and what is shown does not depend on the disk
    expected, total, lives, failed = expected_field(args.heat2d), collections.Counter(), 0, 0
    end = time.monotonic() + args.seconds
    while (total["restarts"] < args.restarts and failed < ENOUGH and not (args.life and lives) and
           time.monotonic() < end):
        lives += 1
        counts, wrong = try_life(args, args.life or lives, args.restarts - total["restarts"], expected)
        print(f"    {counts['restarts']} restarts, {counts['acknowledged']} checkpoints", flush=True)
        total.update(counts)
        failed += wrong != []
    print(", ".join(f"{name} {n}" for name, n in sorted(total.items())))
    print(f"{total['restarts']} restarts in {lives} lives, {lives - total['same field']} fields differ, "
          f"{failed} lives went wrong")
    return failed > 0


sys.exit(main())
