# SPDX-License-Identifier: BSD-3-Clause
"""Draws a history for promises.py from a seed: its lines."""
import dataclasses
import itertools
import random
import re

import disk
from versions import SHARED_STORE, Level

LOOKS = ("index --list", "inspect", "why", "status", "have_restart", "verify", "index --long", "halt --list")

# What a user may change from one run to the next.
CHANGES = {"SCR_FLUSH": "0123", "SCR_FLUSH_ASYNC": "01", "SCR_PREFIX_SIZE": "0123", "SCR_PRESERVE_DIRECTORIES": "01",
           "SCR_FETCH_BYPASS": "01", "SCR_GLOBAL_RESTART": "01", "SCR_FLUSH_TYPE": ("SYNC", "PTHREAD", "DAEMON"),
           "SCR_FLUSH_COMPRESS": ("NONE", "ZSTD"), "SCR_FLUSH_ON_RESTART": "01"}


class Draw:
    def __init__(self, seed, ensembles=True):
        self.ensembles = ensembles
        self.rng, self.power = random.Random(seed), random.Random(f"{seed} power")
        self.both = random.Random(f"{seed} ensemble")
        self.lines = []

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *words):
        return self.rng.choice(words)

    def history(self):
        self.ranks = self.pick(2, 3, 4, 4, 4, 4, 5, 6, 8)
        each = self.pick(1, 1, 2, 3)
        self.nodes = [f"n{i // each + 1}" for i in range(self.ranks)]
        self.spares, self.away = itertools.count(1), None
        self.lines = [f"world {','.join(self.nodes)}{' cntl' * (self.both.random() < 0.2)}"]
        self.cases = [self.case() for _ in range(self.pick(1, 1, 2))]
        for _ in range(self.pick(2, 3, 3, 4, 4, 5, 6)):
            self.run()
            self.ensemble()
            self.between()
        self.run()
        self.ensemble()
        has_daemon = any("DAEMON" in line for line in self.lines)
        return self.lines if has_daemon else [self.lose_power(line) for line in self.lines]

    def lose_power(self, line):
        """At the end of some runs. Calls of commands are not traced, nor those of a daemon that copies files."""
        head, colon, steps = line.partition(": ")
        if not line.startswith("run") or re.search("bg=|run=", steps) or self.power.random() > 0.05:
            return line
        return f"{head}{colon}lost={self.power.randrange(1 << 16)}; {steps}"

    def level(self, interval, store, count):
        scheme = self.pick("SINGLE", "PARTNER", "XOR", "XOR", "XOR", "RS")
        failures = self.pick(1, 2, 3) if scheme == "RS" else self.pick(1, 1, 2) if scheme == "PARTNER" else 1
        return Level(scheme, interval, store, count, self.pick(1, 2, 2, 3, 4, 8, 8), failures, self.chance(0.1))

    def levels(self):
        count = self.pick(-1, -1, -1, 1, 2, 2, 3)
        if self.chance(0.6):
            return [self.level(1, "cache", count)]
        own = self.chance(0.5)
        return [self.level(i, f"L{n}" if own else "cache", count)
                for n, i in enumerate([1, self.pick(2, 3), self.pick(4, 6)][:self.pick(2, 2, 3)])]

    def shared_levels(self, levels):
        """Stores where several ranks can write one file."""
        where = self.rng.random()
        if where < 0.12:
            return [dataclasses.replace(level, bypass=True) for level in levels]
        if where < 0.2:
            return [dataclasses.replace(level, store=SHARED_STORE) for level in levels]
        if where < 0.25:
            return [*levels[:-1], dataclasses.replace(levels[-1], store=SHARED_STORE)]
        return levels

    def case(self):
        env = {"SCR_FLUSH": self.pick("0", "1", "1", "2", "3", "10"), "SCR_RESTART_PAST_LOST_OUTPUT": "1"}
        for p, name, value in ((0.3, "SCR_FLUSH_ASYNC", "1"), (0.25, "SCR_FLUSH_COMPRESS", "ZSTD"),
                               (0.1, "SCR_FETCH_BYPASS", "1"), (0.25, "SCR_RESTART_ANY_RANKS", "1"),
                               (0.1, "SCR_GLOBAL_RESTART", "1"), (0.1, "SCR_PRESERVE_DIRECTORIES", "0"),
                               (0.2, "SCR_PREFIX_SIZE", self.pick("1", "2", "3")), (0.15, "SCR_FLUSH_ON_RESTART", "1"),
                               (0.1, "SCR_RESTART_PAST_LOST_OUTPUT", "0"), (0.1, "SCR_HALT_ENABLED", "0"),
                               (0.1, "SCR_MPI_BUF_SIZE", "4096"), (0.1, "SCR_FLUSH_WIDTH", "1"),
                               (0.1, "SCR_FETCH_WIDTH", "1"), (0.05, "SCR_CRC_ON_FLUSH", "0"),
                               (0.08, "SCR_DROP_AFTER_CURRENT", "1"), (0.1, "SCR_FILE_BUF_SIZE", "1000"),
                               (0.1, "SCR_CRC_ON_DELETE", "1")):
            if self.chance(p):
                env[name] = value
        if self.chance(0.3):
            env["SCR_FLUSH_TYPE"] = self.pick("SYNC", "PTHREAD", "PTHREAD", "DAEMON")
        style = self.pick("u", "u", "s", "c") + "f" * self.chance(0.25)
        levels = self.shared_levels(self.levels())
        words = [f"{k}={v}" for k, v in env.items()] + self.spell(levels)
        self.lines.append(f"case {style} {' '.join(words)}")
        return env, levels

    @staticmethod
    def spell(levels):
        return ["level=" + ":".join(str(int(x) if isinstance(x, bool) else x) for x in dataclasses.astuple(level))
                for level in levels]

    # --- a run ---

    def run(self):
        case = self.rng.randrange(len(self.cases))
        ranks = self.ranks
        if self.chance(0.12):
            ranks = max(1, self.ranks - self.pick(1, 2))
        env = []
        for p, setting in ((0.05, "SCR_FETCH=0"), (0.04, "SCR_DISTRIBUTE=0"), (0.02, "SCR_CACHE_PURGE=1")):
            if self.chance(p):
                env.append(setting)
        if self.chance(0.3):
            env += [f"{name}={self.pick(*values)}" for name, values in CHANGES.items() if self.chance(0.3)]
        job = self.pick("a", "a", "a", "a", "b")
        if self.chance(0.3) and ranks == self.ranks:
            self.lines.append(f"guess {case} {job} {ranks} {' '.join(env)}")
        self.lines.append(f"run {case} {job} {ranks} {' '.join(env)}: {'; '.join(self.steps(ranks, case))}")

    def ensemble(self):
        """In place of the run that was drawn last, where there are two cases."""
        if not self.ensembles or len(self.cases) < 2 or self.both.random() > 0.25:
            return
        rng, self.rng = self.rng, self.both
        first = self.rng.randrange(1, self.ranks)
        order = self.pick([0, 1], [1, 0])
        parts = [f"{case} {ranks} : {'; '.join(self.steps(ranks, case))}"
                 for case, ranks in zip(order, [first, self.ranks - first])]
        self.lines[-1] = f"ensemble {self.pick('a', 'a', 'a', 'b')} {' | '.join(parts)}"
        self.rng = rng

    def steps(self, ranks, case):
        steps = ["init", "restart" if not self.chance(0.08) else f"refuse={self.rng.randrange(ranks)}"]
        if self.chance(0.06):
            steps.insert(1, f"current={self.rng.randrange(3)}")
        for _ in range(self.pick(0, 1, 1, 2, 2, 3, 4)):
            steps += self.output(ranks, case)
        if self.chance(0.12):
            self.fault(steps)
        if self.chance(0.35):
            steps.insert(self.rng.randrange(len(steps)), self.death(ranks, 120))
        elif self.chance(0.5):
            is_broken = self.chance(0.05)
            steps += ["broken=0"] * is_broken + ["finalize"]
            if self.chance(0.2) and not is_broken:
                steps += ["run=scr halt --remove", "init", "restart", *self.output(ranks, case)]
        return steps

    def output(self, ranks, case):
        shape = self.rng.choice([0, 0, 0, 1, 2, 3, 4, 5, 7])
        if self.chance(0.3 if all(l.bypass or l.store == SHARED_STORE for l in self.cases[case][1]) else 0.02):
            shape = disk.SHARED
        steps = [self.pick(*[f"ckpt={shape}"] * 9, f"output={shape}", f"both={shape}",
                           f"invalid={self.rng.randrange(ranks)}")]
        for p, step in ((0.06, f"delete={self.rng.randrange(3)}"), (0.05, f"drop={self.rng.randrange(3)}"),
                        (0.1, "need"), (0.1, "exit"), (0.08, f"run=scr {self.pick(*LOOKS)}"),
                        (0.03, f"run=scr halt --checkpoints {self.pick(1, 2)}"),
                        (0.03, f"run=scr index --{self.pick('drop', 'delete', 'current')} @{self.pick(1, 2)}")):
            if self.chance(p):
                steps.append(step)
        if self.chance(0.07):
            n = self.pick(0, 1, 2)
            beside = self.pick(*LOOKS, "clean", "inspect", "halt --remove", "index --adopt", "postrun",
                               "verify --repair", f"index --add {n + 1}", f"index --build {n + 1}",
                               f"index --drop @{n}", f"index --delete @{n}", f"index --current @{n}",
                               f"index --delete @{n} --force", f"index --extract @{n} --to ../extracted")
            steps = [f"bg=scr {beside}", *steps, "wait"]
        if self.chance(0.15):
            steps.insert(0, self.death(ranks, 60))
        return steps

    def death(self, ranks, most):
        return f"{self.pick('die', 'die', 'alone')}={self.rng.randrange(ranks)}:{self.rng.randrange(1, most)}"

    def fault(self, steps):
        at = self.rng.randrange(len(steps))
        where = "prefix" if self.chance(0.4) else self.rng.choice(self.nodes)
        steps.insert(at, f"{self.pick('full', 'readonly')}={where}")
        if self.chance(0.7):
            steps.insert(self.rng.randrange(at + 1, len(steps) + 1), "heal")

    # --- between runs ---

    def between(self):
        if self.chance(0.4):
            self.lose(self.pick(1, 1, 1, 2, 3))
        self.come_and_go()
        if self.chance(0.15):
            self.change_levels(self.rng.randrange(len(self.cases)))
        if self.chance(0.08):
            self.lines.append(f"turn {self.pick(1, 2)}")
        if self.chance(0.04):
            self.lines.append(f"rot {self.rng.randrange(len(self.cases))} {self.pick(0, 0, 1)}")
        if self.chance(0.06):
            self.lines.append(f"damage {self.rng.choice(self.nodes)}")
        for _ in range(self.pick(0, 0, 0, 1, 1, 2)):
            self.command()

    def change_levels(self, case):
        """What is in a shared store is found while the configuration names it."""
        env, old = self.cases[case]
        levels = self.levels()
        if all(level.store != SHARED_STORE for level in old):
            self.cases[case] = env, levels
            self.lines.append(f"conf {case} {' '.join(self.spell(levels))}")

    def come_and_go(self):
        if self.away and self.away[1] in self.nodes and self.chance(0.5):
            node, spare = self.away
            self.lines.append(f"back {spare} {node}")
            self.nodes = [node if n == spare else n for n in self.nodes]
            self.away = None
        elif not self.away and self.chance(0.06):
            node, spare = self.rng.choice(self.nodes), f"s{next(self.spares)}"
            self.lines.append(f"away {node} {spare}")
            self.nodes = [spare if n == node else n for n in self.nodes]
            self.away = node, spare

    def lose(self, count):
        names = list(dict.fromkeys(self.nodes))
        for node in self.rng.sample(names, min(count, len(names))):
            if self.chance(0.5):
                self.lines.append(f"lose {node}")
                continue
            spare = f"s{next(self.spares)}"
            self.lines.append(f"lose {node} {spare}")
            self.nodes = [spare if n == node else n for n in self.nodes]

    def command(self):
        n = self.rng.randrange(3)
        words = self.pick(*LOOKS, f"index --drop @{n}", f"index --remove @{n}", f"index --delete @{n}",
                          f"index --current @{n}", f"index --add #{n}", f"index --drop-after @{n}",
                          f"index --build #{n}", "index --adopt", "postrun", "postrun", "postrun", "postrun",
                          f"scavenge --id #{n}", "clean",
                          "clean --ended --force --jobid JOB", f"index --extract @{n} --to DIR",
                          "halt --checkpoints 1", "halt --remove", "verify --repair", "inspect --json", "why --ranks N")
        job = self.pick("a", "a", "a", "b")
        case = self.rng.randrange(len(self.cases))
        if self.chance(0.12) and not words.startswith(LOOKS):
            self.lines.append(f"cut {self.pick(1, 2, 3, 5, 8, 15, 40)} {case} {job} {words}")
        self.lines.append(f"scr {case} {job} {words}")
        if words.startswith("scavenge") and self.chance(0.8):
            self.lines.append(f"scr {case} {job} index --build #{n}")
