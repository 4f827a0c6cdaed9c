# SPDX-License-Identifier: BSD-3-Clause
"""The promises of SCR as a program: what a start may offer, what it must, and what a prefix directory must have.

    case = Case(number, prefix, style)
    case.run(Run(...))            # a run, with what its ranks have noted
    case.lose(node)  case.ran(words, status, job, spread)   # events between runs
    case.wrong                    # texts; none: every promise was kept

1. Only a dataset that every rank has closed as valid is ever offered, or complete on the prefix. All ranks get the same
   one, with the bytes they wrote.
2. A checkpoint that SCR_Complete_output acknowledged is offered, or a newer one, while no more nodes of a set are lost
   than its scheme survives and nothing made it leave the cache: SCR_CACHE_SIZE newer ones, one as safe (by default),
   a deletion, a restart from an older one.
3. What the index calls complete has every byte, and stays until it is deleted, dropped, replaced at its paths by
   a newer one, or retired by SCR_PREFIX_SIZE. It is offered, or a newer one, if no cache has any.
4. Output, a checkpoint with SCR_FLUSH=1, and what a halt or SCR_Finalize leaves are complete on the prefix when the
   call returns, unless a flush in the background takes them there.
5. What was deleted is not offered again. What was dropped is offered from a cache only.
6. A call ends with the same code on all ranks, and an error has a cause: a fault, a rank that passed 0.
7. A job that is halted does not start; one that is not halted runs to its end.
8. A command that looks changes nothing; one that succeeds has done what it says.

A version is what one call of SCR_Start_output began. Of each is known where it certainly is. What is not certain may be
offered or not: runs that died in a call, or with calls that failed, leave some doubt.
"""
import disk
from caches import Cached
from versions import CKPT, OUTPUT, SHARED_STORE, Version, forget_cache, is_older, is_whole, newest, rivals_of


class Case:
    def __init__(self, number, seed, prefix, style):
        self.number, self.seed, self.prefix, self.style = number, seed, prefix, style
        self.versions, self.wrong, self.reader = [], [], disk.Reader(prefix)
        self.gone = self.current = "" # why the prefix may lack what it had; what the index called current
        self.reason = None # the job that a reason in the halt file stops
        self.left = None   # checkpoints until a halt; "?": not known
        self.sizes = set() # of SCR_PREFIX_SIZE, but 0
        self.guessed = None # job, ranks and name of what a command has said is offered next

    def say(self, text):
        self.wrong.append(text)

    # --- what there is for certain ---

    def in_cache(self, v, job, spread):
        at = v.cached.get(job)
        return at and all(is_whole(v, s, at.lost | (set(s) - set(spread))) for s in at.spreads)

    def can_read(self, v):
        return v.is_ckpt and (v.ranks == len(self.now.spread) or self.env.get("SCR_RESTART_ANY_RANKS") == "1")

    def certain(self):
        """Checkpoints that this run can continue from."""
        has_prefix = self.env.get("SCR_FETCH") != "0"
        if not has_prefix and self.env.get("SCR_GLOBAL_RESTART") == "1":
            return []
        has_cache = self.env.get("SCR_DISTRIBUTE") != "0" and self.env.get("SCR_CACHE_PURGE") != "1"
        return [v for v in self.versions if not v.passed and not v.doubtful and self.can_read(v) and
                (has_prefix and v.stored and not self.is_threatened(v) and not self.may_retire(v) or
                 has_cache and self.in_cache(v, self.job, self.now.spread) and not self.is_in_the_way(v))]

    def is_in_the_way(self, v):
        """A global restart flushes it, but not over a newer one (P15), or one of its number (P14)."""
        return (self.env.get("SCR_GLOBAL_RESTART") == "1" or v.ranks != len(self.now.spread)) and (
            rivals_of(v, self.versions) or any(o.id == v.id for o in self.versions if o is not v))

    def is_threatened(self, v):
        """A start flushes a newer one to its paths, or completes one that waits there for its names, of any job; or
        passes over it, for a dataset of another job in this cache that has its number (P14)."""
        here = [o for o in self.versions if self.job in o.seen and o is not v]
        return any(o.closed and not o.stored and (o in here or o.bypass) for o in rivals_of(v, self.versions)) or \
            any(v.job != self.job and o.id in (0, v.id) for o in here)

    def may_retire(self, v):
        """A global restart flushes newer ones, and SCR_PREFIX_SIZE is what stays then."""
        keep = int(self.env.get("SCR_PREFIX_SIZE", 0)) if self.env.get("SCR_GLOBAL_RESTART") == "1" else 0
        newer = [o for o in self.versions if o.is_ckpt and o.order > v.order and (o.stored or self.job in o.seen)]
        return v.flags == CKPT and 0 < keep <= len(newer)

    # --- events between runs ---

    def lose(self, node):
        for v in self.versions:
            for at in v.cached.values():
                at.lost.add(node)

    def cleaned(self, job, is_forced):
        """scr_clean leaves what is in no prefix directory; job "": of every job."""
        for v in self.versions:
            if is_forced or v.stored or v.was_stored and rivals_of(v, self.versions) or \
                    any(o.stored and o.is_ckpt and is_older(v, o) for o in self.versions):
                for name in [name for name in v.cached if job in ("", name)]:
                    v.cached.pop(name)

    def named(self, name):
        return [v for v in self.versions if v.name == name and v.began]

    def ran(self, words, status, job, spread, beside=False):
        """A command of scr with these words ended; 255: that is not known."""
        what, name = words[0], words[-1]
        done = status == 0
        self.gone = self.gone or "cut" * (status == 255)
        if what == "halt":
            self.set_halt(words, status == 255)
        elif what == "index" and "--current" in words and (done or status == 255):
            self.go_back(name)
        elif what == "index" and ("--drop" in words or "--remove" in words):
            self.leave(self.named(name), "dropped", done)
        elif what == "index" and "--delete" in words:
            deleted = self.named([w for w in words if not w.startswith("--")][-1])
            for v in deleted:
                v.unwanted = done and ("--force" in words or v.stored)
            self.leave(deleted, "deleted", done)
        elif what == "index" and "--drop-after" in words:
            self.drop_after(name, done)
        elif what == "index" and ("--build" in words or "--add" in words):
            self.built(name, done)
        elif what == "postrun" and not beside:
            self.saved(job, spread, status)
        elif what in ("inspect", "why", "status", "verify") and 1 < status < 255:
            self.say(f"scr {' '.join(words)} ended with {status}")

    def drop_after(self, name, done):
        """The newest of that name that the index lists, complete or not, stays."""
        named = self.named(name)
        last = newest([v for v in named if v.stored])
        is_sure = done and last and not any(not v.stored and is_older(last, v) for v in named)
        for v in self.versions:
            if any(is_older(one, v) for one in named) and v is not last:
                v.dropped, v.loose, v.stored = bool(is_sure and v.stored and is_older(last, v)), True, False

    def built(self, id, done):
        for v in self.versions:
            if str(v.id) == id and done and v.closed:
                v.stored, v.dropped, v.unwanted, v.deleted = v.stored or not self.has_clash(v), False, False, False
                v.passed = v.name != self.current # the current one stays that
                for o in self.versions: # of another job: it may be older by its number, and newer by the clock
                    o.doubtful = o.doubtful or o.place == v.place and o.id < v.id
        self.gone = self.gone or "built"

    def guess(self, job, ranks, id):
        self.guessed = (job, ranks, id) if id is not None else None # not known: what a global restart flushes

    def check_guess(self, id):
        (job, ranks, said), self.guessed = self.guessed or ("", 0, 0), None
        if (job, ranks) == (self.job, len(self.now.spread)) and said != id and not self.now.faults and \
                self.env.get("SCR_GLOBAL_RESTART") != "1" and not any(
                    self.is_threatened(v) or self.is_in_the_way(v) for v in self.versions if v.id == said):
            self.say(f"offered dataset {id}, and scr_why said {said}")

    def set_halt(self, words, in_doubt):
        if in_doubt:
            self.reason = self.left = "?"
        elif "--remove" in words:
            self.reason = self.left = None
        elif "--checkpoints" in words:
            self.left = int(words[words.index("--checkpoints") + 1])

    def leave(self, versions, how, done):
        for v in versions:
            if done and (v.stored or how == "deleted"): # what is in cache only may be flushed later
                setattr(v, how, True)
            v.loose = v.loose or how == "dropped" and not v.stored
            v.doubtful = v.doubtful or not done
            v.stored = v.was_stored = False
        self.gone = self.gone or how

    def go_back(self, name, job=""):
        """What is newer is not what a start continues from any more; job: whose cache may have it, too."""
        target = newest([v for v in self.named(name) if v.was_stored or job in v.seen])
        for v in self.versions:
            if target is None or is_older(target, v):
                v.passed = True

    def saved(self, job, spread, status):
        """scr_postrun saves output, and the newest checkpoint that is whole."""
        here = [v for v in self.versions if v.is_ckpt and not (v.dropped or v.loose or v.doubtful or v.passed) and
                self.in_cache(v, job, spread) and not v.bypass]
        last, index = newest(here), disk.index(self.prefix)
        if last and not rivals_of(last, self.versions) and not self.has_clash(last) and \
                max((i for i, e in index.items() if e.complete and e.is_ckpt), default=0) < last.id:
            self.say(f"scr_postrun (status {status}) has not saved {last}")

    def has_clash(self, v):
        return any(o is not v and (o.id == v.id or o.job != v.job) for o in self.versions)

    # --- a run ---

    def run(self, run):
        self.now, self.job, self.env = run, run.job, run.env
        self.open, self.tried, self.offered, self.refused, self.is_fetched = None, None, None, None, False
        self.sizes |= {int(self.env.get("SCR_PREFIX_SIZE", 0))} - {0}
        self.beside, self.started, self.is_up = [], False, False
        self.outputs, self.step, self.limit = 0, 0, self.oldest_owed()
        for word, args in run.entries:
            getattr(self, f"on_{word}")(*args)
        self.end_of_run()
        self.look(f"run {run.serial}")

    def oldest_owed(self):
        """A start may go back before output that it calls lost (P7)."""
        owed = [v.order for v in self.versions if v.flags & OUTPUT and v.began and not v.stored and not v.deleted]
        return None if self.env.get("SCR_RESTART_PAST_LOST_OUTPUT") == "1" else min(owed, default=None)

    def end_of_run(self):
        run = self.now
        while self.beside:
            self.ended_beside(255)
        if not self.is_up and not run.died and not run.faults and self.left is None and \
                self.reason not in (self.job, "?"):
            self.say("SCR_Init ended the program, and nothing has halted the job")
        if (run.died or run.faults) and self.left is not None:
            self.left = "?"
        if not self.is_up and self.reason not in (None, self.job):
            self.reason = "?"
        if run.died and (not self.is_up or self.tried and self.tried[0] == "finalize"):
            self.reason = "?"
        if not self.started and self.env.get("SCR_CACHE_PURGE") == "1":
            forget_cache(self.versions, self.job)
        if not self.started:
            self.may_have_moved()
        if self.open and not run.died and self.open.closed and not run.faults:
            self.halted()
        elif self.open:
            self.died_in_output()
        if self.tried:
            self.forget(*self.tried)
        if run.died or run.faults:
            self.gone = self.gone or "died"

    def on_differ(self, *what):
        self.say(f"ranks differ: {' '.join(what)}")

    def on_init(self, rc):
        self.is_up, self.refused = True, None
        if rc != "0" and not self.now.faults:
            self.say(f"SCR_Init failed with {rc}")
        if rc != "0":
            return
        if self.reason == self.job and self.env.get("SCR_HALT_ENABLED") != "0":
            self.say("SCR_Init started a job that is halted")
        self.reason = None # of another allocation

    def on_bad(self, *what):
        self.say(f"wrong or missing bytes in what is offered: {' '.join(what)}")

    def on_missing(self, name, *what):
        self.offered = None # the program refuses it, and SCR_Complete_restart fails for that
        if not self.now.faults and not any(v.doubtful for v in self.named(name)):
            self.say(f"files are missing in what is offered: {name} {' '.join(what)}")
        for v in self.named(name) if self.now.faults else ():
            v.doubtful = True # the program has refused it: a call failed when it asked for a file

    def bound(self, below=None):
        """The newest that is certain, which no start passes over."""
        some = [v for v in self.certain()
                if (below is None or is_older(v, below) and not rivals_of(v, self.versions)) and
                (self.limit is None or v.order < self.limit)]
        return newest(some)

    def on_offer(self, name, seed, serial, ranks):
        got = next((v for v in self.versions if v.serial == int(serial)), None)
        least = self.bound(self.refused)
        if got is None or int(seed) != self.seed or got.name != name:
            self.say(f"offered {name} of run {int(serial) // 1000}: not of this prefix")
            return
        self.check_may(got)
        if least and is_older(got, least) and "start" not in self.now.faults:
            self.say(f"offered {got}, but there is {least.where()}")
        if self.refused and is_older(self.refused, got):
            self.say(f"offered {got} after the older {self.refused} was refused")
        got.stored = got.stored or got is self.refused # it is offered again for its copy there
        self.offered, self.is_fetched = got, self.job not in got.seen
        got.seen.add(self.job)

    def check_may(self, got):
        job, here = self.job, self.job in got.seen
        self.check_guess(got.id)
        if not got.closed:
            self.say(f"offered {got}, which some rank did not close as valid")
        if not got.is_ckpt:
            self.say(f"offered {got}, which is output")
        if got.deleted and not here:
            self.say(f"offered {got}, which was deleted")
        if got.dropped and not here:
            self.say(f"offered {got}, which was dropped")
        if not self.can_read(got):
            self.say(f"offered {got} to {len(self.now.spread)} ranks that did not ask")
        if not any(job in v.seen for v in self.versions) and not self.now.faults:
            self.check_current(got)

    def check_current(self, got):
        """Without a cache the index decides, by a name that several may have; a start completes a newer one that waits
        for its names first."""
        listed = [v for v in self.versions
                  if v.stored and v.name == self.current and not v.doubtful and not self.is_threatened(v)]
        is_called_so = got in listed or got.doubtful and got.name == self.current
        if not listed or is_called_so or self.limit is not None or self.refused:
            return
        if all(self.can_read(v) for v in listed) and not (
                ("1" in (e.get("SCR_FLUSH_ASYNC") for e in (self.env, got.env)) or got.bypass) and
                is_older(newest(listed), got)):
            self.say(f"offered {got}, and the index calls {self.current} current")

    def on_from(self, rc):
        got = self.offered
        if rc != "0" and got:
            self.say(f"SCR_Complete_restart failed with {rc}, and all bytes were right")
        if got is None:
            return
        self.started, self.step = True, got.step
        for v in self.versions:
            v.passed = v.passed or is_older(got, v)
        self.revived()
        if self.job not in got.cached:
            for v in self.mine():  # it was fetched, and takes a place
                v.cached[self.job].begun += 1

    def on_refused(self, rc):
        self.refused = self.offered
        if self.offered and self.is_fetched: # it has left the cache again
            self.offered.seen.discard(self.job)
        if rc == "0":
            self.say("SCR_Complete_restart succeeded, and a rank had passed 0")

    def on_refuses(self):
        if self.offered:
            self.offered.doubtful = True
            self.offered.cached.pop(self.job, None)
        self.gone = self.gone or "refused"

    def on_none(self):
        least = self.bound(self.refused)
        self.started = True
        if not self.refused:
            self.check_guess(0)
        if least and "start" not in self.now.faults:
            self.say(f"offered nothing, but there is {least.where()}")
        self.revived()

    def mine(self):
        return [v for v in self.versions if self.job in v.cached and v.ranks == len(self.now.spread)]

    def may_have_moved(self):
        for v in self.mine():
            v.cached[self.job].spreads.append(self.now.spread)

    def revived(self):
        """What can be rebuilt is whole now, where the ranks are."""
        if self.env.get("SCR_CACHE_PURGE") == "1":
            forget_cache(self.versions, self.job)
        if "start" in self.now.faults:
            self.may_have_moved()
            return
        for v in self.mine():
            whole, at = self.in_cache(v, self.job, self.now.spread), v.cached.pop(self.job)
            if whole:
                v.cached[self.job] = Cached([self.now.spread], set(), at.begun)

    # --- output ---

    def on_begin(self, name, serial, flags, shape, invalid):
        place = "files" if "f" in self.style else name
        n, self.outputs = self.outputs, self.outputs + 1
        new = Version(self.seed, int(serial), name, place, int(flags), int(shape), self.job, self.now.spread,
                      len(self.versions), self.env, self.now.levels)
        if n < len(self.now.paths):
            new.id, path = self.now.paths[n]
            new.bypass = path.startswith(self.prefix + "/")
            new.in_shared_store = f"/{SHARED_STORE}/" in path
        new.closed = n < len(self.now.closes) and self.now.closes[n] == new.ranks
        self.step += 1 # as promises.c counts
        new.step = self.step
        self.is_valid = invalid == "-1"
        self.open, self.starting = new, True
        self.versions.append(new)

    def on_start(self, rc):
        self.starting, new = False, self.open
        new.began = rc == "0"
        if rc == "0":
            self.take_place(new)
        elif not self.now.faults:
            self.say(f"SCR_Start_output failed with {rc}: {new}")

    def take_place(self, new):
        """What may leave the cache for it."""
        if new.bypass or not new.is_ckpt:
            return
        counts = [level.count for level in self.now.levels if not level.bypass]
        count = min((c for c in counts if c >= 0), default=-1)
        for v in self.versions:
            at = v.cached.get(self.job)
            if at is None or v is new:
                continue
            at.begun += 1
            if v.ranks != new.ranks or count >= 0 and not self.stays(v, at, new, count):
                v.cached.pop(self.job)

    def stays(self, v, at, new, count):
        """COUNT lets first go what a newer one covers, then what the new one covers, then the weakest."""
        others = [o for o in self.versions if self.job in o.seen and o is not v or o is new]
        if len({level for o in (v, *others) for level in o.levels}.union(self.now.levels)) == 1:
            return at.begun < count
        newer = [o for o in others if o.order > v.order]
        return count > 1 and (all(o.strength(max) < v.strength() for o in newer) or
                              newer == [new] and all(o is new or o.strength(max) <= v.strength() for o in others))

    def on_complete(self, rc):
        new, self.open = self.open, None
        is_shared = new.shape == disk.SHARED and not new.bypass and new.ranks > 1 and not new.in_shared_store
        if rc != "0":
            if new.closed and new.began and not is_shared and not self.may_fail():
                self.say(f"SCR_Complete_output failed with {rc}, and all ranks had passed 1: {new}")
            if new.closed:
                new.seen.add(self.job)
            elif self.is_valid and new.began and not self.now.faults:
                self.say(f"some rank could not write its files: {new}")
            return
        if not new.closed:
            self.say(f"SCR_Complete_output succeeded, and some rank had passed 0: {new}")
        if is_shared:
            self.say(f"SCR_Complete_output succeeded, and ranks wrote one file in several places: {new}")
        new.acknowledged = True
        self.current = "" # a flush may have made it current
        if not new.bypass:
            self.become_cached(new)
        if self.is_flushed(new):
            new.stored = True # look() says if it is not
            keep = int(self.env.get("SCR_PREFIX_SIZE", 0)) or len(self.versions)
            for v in self.versions:
                newer = sum(o.stored and o.is_ckpt and o.order > v.order for o in self.versions)
                v.stored = v.stored and (newer < keep or v.flags != CKPT)
        if new.stored or new.bypass: # it has replaced them, even if calls failed in this run and it may be lost
            for v in self.versions:
                v.stored = v.stored and new not in rivals_of(v, self.versions)
        if self.left not in (None, "?") and new.is_ckpt:
            self.left -= 1
            if self.left <= 0 and not self.now.faults and self.env.get("SCR_HALT_ENABLED") != "0":
                self.say(f"the program continues after {new}, and is to halt then")

    def may_fail(self):
        """Ranks that write one file may see another index while it changes."""
        return self.now.faults or any(words[0] == "index" for words, _ in self.beside)

    def is_flushed(self, new):
        """When SCR_Complete_output returns."""
        due = new.flags & OUTPUT or self.env.get("SCR_FLUSH") == "1"
        return not self.now.faults and (new.bypass or due and self.env.get("SCR_FLUSH_ASYNC") != "1")

    def become_cached(self, new):
        new.seen.add(self.job)
        if not new.is_ckpt:
            return
        for v in self.versions:
            at = v.cached.get(self.job)
            if at and v is not new and new.strength(max) >= v.strength() and min(
                    level.count for level in self.now.levels) < 0:
                v.cached.pop(self.job)
        new.cached[self.job] = Cached([self.now.spread], set())

    def halted(self):
        """SCR_Complete_output ended the program: its newest checkpoint is on the prefix."""
        new, self.open = self.open, None
        new.acknowledged = True
        if not new.bypass and new.is_ckpt:
            self.become_cached(new)
        new.stored = True
        if self.left is None:
            self.say(f"SCR_Complete_output ended the program, and nothing has halted the job: {new}")
        self.reason = self.job

    def died_in_output(self):
        new = self.open
        if self.starting:
            self.take_place(new)
            new.began = True
        if not new.closed:
            return
        new.seen.add(self.job)
        for v in self.versions:
            if v is not new and new.strength(max) >= v.strength() or v.ranks != new.ranks:
                v.cached.pop(self.job, None)

    # --- other calls ---

    def on_try(self, what, name):
        self.tried = (what, name)

    def on_tried(self, rc):
        (what, name), self.tried = self.tried, None
        if what == "finalize":
            self.reason = self.reason if rc == "0" else "?"
            if rc == "0":
                self.check_last()
        elif rc != "0":
            if not self.now.faults:
                self.say(f"SCR_{what.capitalize()}({name}) failed with {rc}")
            self.forget(what, name)
        elif what == "current":
            self.went_back(name)
        else:
            reached = [v for v in self.named(name) if v.stored or self.job in v.seen]
            self.leave(reached, "dropped" if what == "drop" else "deleted", True)
            for v in reached:
                if what == "delete":
                    v.cached.pop(self.job, None)
                    if set(v.spread) <= set(self.now.spread):
                        v.seen.discard(self.job)

    def went_back(self, name):
        self.go_back(name, self.job)
        for v in self.versions:
            if v.passed:
                v.cached.pop(self.job, None)
        if self.env.get("SCR_DROP_AFTER_CURRENT") == "1":
            self.drop_after(name, True)

    def forget(self, what, name):
        """Whether it did its work is not known."""
        if what == "finalize":
            return
        for v in self.versions:
            if what == "current" or v.name == name:
                v.cached.pop(self.job, None)
                v.doubtful = v.doubtful or what != "current"
                v.passed = v.passed or what == "current"
        self.gone = self.gone or what

    def check_last(self):
        """SCR_Finalize takes the newest checkpoint to the prefix, unless a refused one was read there and is cached again."""
        self.reason = self.job
        last = newest([v for v in self.mine() if v.is_ckpt])
        again = self.refused and last and self.refused.stored and is_older(last, self.refused)
        if last and not again and self.env.get("SCR_FLUSH") != "0" and self.env.get("SCR_DISTRIBUTE") != "0" and not (
                self.now.faults or last.dropped or last.loose or last.doubtful or rivals_of(last, self.versions) or
                self.has_clash(last)):
            last.stored = True

    def on_exit(self, rc, _):
        self.on_need(rc, _, "SCR_Should_exit")

    def on_need(self, rc, _, call="SCR_Need_checkpoint"):
        if rc != "0":
            self.say(f"{call} failed with {rc}")

    def on_run(self, *words):
        self.beside.append((words[1:], len(self.versions)))
        if "halt" in words and self.left is not None:
            self.left = "?"

    def on_ran(self, status):
        if self.beside:
            self.ended_beside(int(status))

    def ended_beside(self, status):
        """What the run began, dropped or deleted while it ran, it may have met or not."""
        words, known = self.beside.pop()
        unsure = self.versions[known:] + [v for v in self.versions[:known] if v.dropped or v.deleted]
        status = 255 if words[0] == "halt" and known < len(self.versions) else status
        self.ran(words, status, self.job, self.now.spread, True)
        for v in unsure:
            if words[0] == "index" and (v.name in words or str(v.id) in words):
                v.loose, v.stored = True, False
                v.dropped = v.deleted = v.unwanted = False

    # --- the prefix ---

    def owner(self, id, entry):
        """A run that knew nothing of another one may have given its number and name again."""
        some = [v for v in self.versions if v.id == id and v.name == entry.name and v.job == entry.job and v.began]
        return next((v for v in reversed(some) if not self.reader.wrong_file(v)), some[-1] if some else None)

    def look(self, after):
        """Every byte of what is complete now, and what is not any more. A deletion without room takes the summary alone."""
        owners = [(id, self.owner(id, entry)) for id, entry in disk.index(self.prefix).items()
                  if entry.complete and disk.has_summary(self.prefix, id)]
        stored = {v for _, v in owners if v}
        for id, v in owners:
            if v is None:
                self.say(f"after {after} dataset {id} is complete on the prefix, and no run has written it")
            elif not v.closed:
                self.say(f"after {after} {v} is complete on the prefix, and some rank did not close it as valid")
            elif not v.doubtful and (path := self.reader.wrong_file(v)):
                self.say(f"after {after} {v} is complete on the prefix, and {path} has other bytes")
        for v in stored:
            if v.unwanted and "1" not in (self.env.get("SCR_GLOBAL_RESTART"), self.env.get("SCR_RESTART_ANY_RANKS")):
                self.say(f"after {after} {v} is complete on the prefix, from which it was deleted")
        for v in self.versions:
            if v.stored and v not in stored and not self.may_be_gone(v, stored):
                self.say(f"after {after} {v} is not complete on the prefix any more")
            v.stored = v in stored and not v.deleted
            v.was_stored = v.was_stored or v.stored
        self.gone, self.current = "", disk.current(self.prefix)

    def may_be_gone(self, v, stored):
        replaced = any(o in stored or o.acknowledged or self.gone or o.env.get("SCR_FLUSH_ASYNC") == "1"
                       for o in rivals_of(v, self.versions))
        keep = min(self.sizes, default=0)
        retired = keep > 0 and v.flags == CKPT and sum(
            o.order > v.order and (o in stored or o.was_stored or o.acknowledged) for o in self.versions) >= keep
        return replaced or retired or v.doubtful or v.dropped or v.deleted
