# SPDX-License-Identifier: BSD-3-Clause
"""What a start may offer and what it must: the rules of doc/design/durability.md as a program, for one prefix
directory whose runs are told to it one after the other.

    case = Case(number, prefix)
    wrong = case.run(Run(...), journal)     # texts; none: all was as it must be

A version is what one call of SCR_Start_output began. The model knows of each where it is certain to be: in the
cache of which job, with which shares lost, and complete on the prefix. The newest version that is certain to be
somewhere the run can use it is the oldest that may be offered. Whatever is not certain may be offered or not.
"""
import dataclasses

import records
from caches import Cached, sets_of


@dataclasses.dataclass
class Setup:
    """What a run is told: size: SCR_CACHE_SIZE, 0: the default; spread: the node of each rank."""
    job: str
    spread: tuple
    scheme: str = "XOR"
    k: int = 1
    size: int = 0
    flush: int = 0
    is_async: bool = False
    is_daemon: bool = False  # what flushes goes on after the run
    bypass: bool = False
    any_ranks: bool = False
    on_prefix: bool = False  # SCR_GLOBAL_RESTART: what is in cache is flushed, and read there
    has_header: bool = False # among the files
    past_lost: bool = True   # SCR_RESTART_PAST_LOST_OUTPUT


@dataclasses.dataclass
class Run:
    setup: Setup
    serial: int
    ended: bool        # its processes came to the end of their plan
    start_faults: bool # calls were made to fail while it started
    cache_faults: bool # … in cache, at any time
    prefix_faults: bool


@dataclasses.dataclass(eq=False)
class Version:
    serial: int
    step: int
    name: str
    setup: Setup
    order: int
    id: int = 0     # of its dataset; 0: not known
    is_ckpt: bool = True
    begun: bool = False       # SCR_Start_output succeeded
    acknowledged: bool = False
    refused: str = ""         # why it must never be offered
    deleted: bool = False
    half_gone: bool = False   # a deletion of it failed: the index may call complete what no start finds (P3)
    dropped: bool = False     # SCR_Drop took it out of the index
    passed: bool = False      # SCR_Current went back behind it
    stored: bool = False      # complete on the prefix
    was_stored: bool = False  # and was not asked to go
    fading: bool = False      # a flush that goes on after its run may be writing over it (P15)
    owed: bool = False        # output that flush.scr has in cache only, for certain, until its job starts again
    settled: bool = False     # output that was on the prefix, or of which a start has told that it is lost
    gone: set = dataclasses.field(default_factory=set)  # nodes that were lost since
    cached: dict = dataclasses.field(default_factory=dict)
    seen: set = dataclasses.field(default_factory=set)  # jobs that may have it in cache
    ever: set = dataclasses.field(default_factory=set)  # … or had it there at any time

    def __str__(self):
        return f"{self.name} of run {self.serial // 1000} (dataset {self.id or '?'}, {self.ranks} ranks)"

    @property
    def ranks(self):
        return len(self.setup.spread)

    def written(self, case):
        return records.Written(case, self.serial, self.step, self.ranks)


def by_id(version):
    return version.id


# --- redundancy ---

def survives(setup, spread, gone):
    """Whether the ranks that ran on nodes of `gone` can be rebuilt from the others."""
    for members in sets_of(spread):
        lost = sum(spread[r] in gone for r in members)
        k = 0 if setup.scheme == "SINGLE" else setup.k if setup.scheme == "RS" else 1
        if lost > min(k, len(members) - 1):
            return False
    return True


def is_lost(setup, spread, gone):
    """Whether too little is left for certain. PARTNER: it depends on which are lost."""
    for members in sets_of(spread):
        lost = sum(spread[r] in gone for r in members)
        k = {"SINGLE": 0, "XOR": 1, "RS": setup.k}.get(setup.scheme, len(members) - 1)
        if lost > min(k, len(members) - 1):
            return True
    return False


def is_before(version, other):
    return other is not None and (version.id < other.id if version.id else version.order < other.order)


class Case:
    def __init__(self, number, prefix):
        self.number, self.prefix, self.versions = number, prefix, []

    # --- what there is for certain ---

    def is_whole(self, version, job, nodes):
        """In cache, on nodes that the run has."""
        at = version.cached.get(job)
        return at is not None and all(
            survives(version.setup, spread, at.lost | (set(spread) - set(nodes))) for spread in at.spreads)

    def certain(self, setup):
        """Checkpoints that this run can go on from."""
        return [v for v in self.versions if not v.passed and self.can_read(v, setup) and
                (v.stored and not v.fading and not self.is_clash(v, setup) or
                 self.is_whole(v, setup.job, setup.spread) and not self.is_in_the_way(v, setup))]

    def is_in_the_way(self, version, setup):
        """Something newer may have its paths on the prefix, which a flush does not replace (P15)."""
        return setup.on_prefix and any(not self.can_read(v, setup) for v in self.rivals(version))

    def is_clash(self, version, setup):
        """Its number may be that of another job's dataset in this job's cache, of another number of ranks, which
        is passed over (P14)."""
        return version.setup.job != setup.job and any(
            v.id in (0, version.id) and setup.job in v.seen and v.ranks != len(setup.spread) for v in self.versions)

    def can_read(self, version, setup):
        return version.is_ckpt and (version.ranks == len(setup.spread) or setup.any_ranks)

    def rivals(self, version):
        """What has files at the same paths and came later: it may have written over it."""
        return [v for v in self.versions if v is not version and v.name == version.name and v.order > version.order]

    def find(self, serial, step):
        return next((v for v in self.versions if (v.serial, v.step) == (serial, step)), None)

    # --- between runs ---

    def lose(self, node):
        for version in self.versions:
            version.gone.add(node)
            for at in version.cached.values():
                at.lost.add(node)

    def find_again(self):
        """A node came back with what it had: nothing of it is certain to be of use, and some may be."""
        self.forget_owed()
        for version in self.versions:
            version.seen |= version.ever

    def flushes_ended(self):
        """Nothing of this prefix directory is under way any more."""
        index = records.index(self.prefix)
        for version in filter(lambda v: v.fading, self.versions):
            version.fading = False
            version.stored = version.stored and self.listed(version, index)

    def doubt(self, job):
        """Room was short in the caches of that job: what another prefix has there may have left."""
        for version in self.versions:
            version.cached.pop(job, None)

    def saved(self, job, nodes, status):
        """After scr_postrun on these nodes."""
        self.forget_owed()
        index = records.index(self.prefix)
        newest = max((v for v in self.versions if v.is_ckpt and not v.dropped and self.is_whole(v, job, nodes)),
                     key=by_id, default=None)
        self.look(index)
        if newest and max((id for id, e in index.items() if e.complete and e.is_ckpt), default=0) < newest.id:
            return [f"scr_postrun (status {status}) has not saved {newest}"]
        return []

    # --- a run ---

    def run(self, run, journal):
        self.wrong, self.setup, self.now = [], run.setup, run
        self.started = self.finalized = False
        self.open = self.tried = None  # the call that has not ended
        self.index = records.index(self.prefix)
        self.limit = self.oldest_lost()
        for line in journal:
            word, *args = line.split()
            getattr(self, f"on_{word}")(*args)
        if not self.started:
            self.may_have_moved()
            self.forget_owed()
            self.leave_behind(self.limit)
        index = self.index
        if self.open and run.ended:
            self.halted(index)
        elif self.open:
            self.died_in_output()
        if self.tried:
            self.forget(*self.tried)
        self.check_prefix(index)
        return self.wrong

    def died_in_output(self):
        if self.starting:
            self.take_place(self.open)
        self.may_be_cached(self.open)
        for version in self.versions: # it may have been complete (P5)
            if self.is_superseded(version):
                version.cached.pop(self.setup.job, None)

    def may_be_cached(self, version):
        version.seen.add(self.setup.job)
        version.ever.add(self.setup.job)

    def halted(self, index):
        """SCR_Complete_output ended the program (P21)."""
        new = self.open
        new.id = max((id for id, e in index.items() if e.name == new.name and e.complete), default=0)
        if new.id > 0:
            new.acknowledged = True
            if not self.setup.bypass:
                self.become_cached(new)
        elif not self.has_faults():
            self.wrong.append(f"halted, and {new} is not on the prefix")

    def may_have_moved(self):
        for version in self.mine():
            version.cached[self.setup.job].spreads.append(self.setup.spread)

    def mine(self):
        """In the cache of this job and of as many ranks."""
        job, ranks = self.setup.job, len(self.setup.spread)
        return [v for v in self.versions if job in v.cached and v.ranks == ranks]

    def on_differ(self, *what):
        self.wrong.append(f"ranks end a call with different codes: {' '.join(what)}")

    def on_init(self, rc):
        if rc != "0" and not self.now.start_faults:
            self.wrong.append(f"SCR_Init failed with {rc}")

    def on_bad(self, *what):
        self.wrong.append(f"wrong or missing bytes in what is offered: {' '.join(what)}")

    def oldest(self, limit=None):
        """The oldest that may be offered, None: any. Where nothing else is certain, a checkpoint does that another
        was about to replace, while all its files are on the prefix still. limit: of those before it."""
        intact = [v for v in self.versions if v.was_stored and not v.passed and self.can_read(v, self.setup) and
                  records.is_intact(self.prefix, v.name, v.serial, v.ranks)]
        for some in self.certain(self.setup), intact:
            some = [v for v in some if limit is None or 0 < v.id < limit]
            if some:
                return max(some, key=by_id)
        return None

    # --- output that is lost (P7) ---

    def may_owe(self, version):
        """It may be what flush.scr has in the cache of this job only."""
        return not version.is_ckpt and version.begun and version.id > 0 and not version.setup.bypass and \
            version.setup.job == self.setup.job and not version.settled and not self.listed(version, self.index)

    def oldest_lost(self):
        """The number of the oldest output that may be lost, before which this run may begin; None: there is none."""
        return None if self.setup.past_lost else min((v.id for v in self.versions if self.may_owe(v)), default=None)

    def check_lost(self, got):
        """Nothing newer than lost output, where this run can read something older."""
        ranks, nodes = len(self.setup.spread), set(self.setup.spread)
        for out in self.versions:
            if not (out.owed and self.may_owe(out) and out.ranks == ranks and is_before(out, got)):
                continue
            spread = out.setup.spread
            before = [v for v in self.certain(self.setup) if v.ranks == ranks and 0 < v.id < out.id]
            if before and is_lost(out.setup, spread, out.gone | (set(spread) - nodes)):
                self.wrong.append(f"offered {got}, which is newer than {out}, output that is lost, and there is "
                                  f"{self.where(max(before, key=by_id))}")

    def leave_behind(self, id):
        """A start may have gone back behind this number."""
        for version in self.versions:
            if id is not None and (version.id > id or version.id == 0):
                version.passed = True
                version.cached.pop(self.setup.job, None)

    def forget_owed(self):
        for version in self.versions:
            version.owed = False

    def settle(self):
        """A start has told what is lost, unless what is before it is for another number of ranks."""
        ranks = len(self.setup.spread)
        for out in self.versions:
            if self.may_owe(out) and not self.now.start_faults:
                out.settled = all(v.ranks == ranks for v in self.versions if v.is_ckpt and v.id < out.id)

    def revived(self):
        """What can be rebuilt is whole now, where the ranks are. Of what could not be for want of room, say, the
        newest waits for another start (C8)."""
        if self.now.start_faults:
            self.may_have_moved()
            for version in sorted(self.mine(), key=by_id)[:-1]:
                version.cached.pop(self.setup.job)
            return
        for version in self.mine():
            whole = self.is_whole(version, self.setup.job, self.setup.spread)
            at = version.cached.pop(self.setup.job)
            if whole:
                version.cached[self.setup.job] = Cached([self.setup.spread], set(), at.begun)

    def on_offer(self, name, case, serial, step, ranks):
        newest, oldest = self.oldest(), self.oldest(self.limit)
        got = self.find(int(serial), int(step))
        self.started = True
        if got is None or int(case) != self.number or got.name != name:
            self.wrong.append(f"offered {name} of case {case}, run {int(serial) // 1000}: not of this prefix")
            return
        setup = self.setup
        if got.refused or got.deleted and setup.job not in got.seen:
            self.wrong.append(f"offered {got}: {got.refused or 'it was deleted'}")
        if got.ranks != len(setup.spread) and not setup.any_ranks:
            self.wrong.append(f"offered {got} to {len(setup.spread)} ranks that did not ask")
        if not got.is_ckpt:
            self.wrong.append(f"offered {got}, which is output")
        if is_before(got, oldest) and not self.now.start_faults:
            self.wrong.append(f"offered {got}, but there is {self.where(oldest)}")
        if not (self.setup.past_lost or self.now.start_faults):
            self.check_lost(got)
        if self.limit is not None and is_before(got, newest):
            self.leave_behind(got.id)
        self.forget_owed()
        self.revived()
        if setup.job not in got.cached:
            if got.acknowledged or setup.job not in got.seen:
                for version in self.mine():  # it was fetched, and takes a place
                    version.cached[setup.job].begun += 1
            elif not got.setup.bypass:
                self.become_cached(got)
        self.may_be_cached(got)
        got.acknowledged = True  # every byte of it was compared

    def on_from(self, step):
        self.settle()

    def on_none(self):
        oldest = self.oldest()
        self.started = True
        if oldest and not self.now.start_faults:
            self.wrong.append(f"offered nothing, but there is {self.where(oldest)}")
        self.forget_owed()
        self.settle()
        self.revived()

    def where(self, version):
        places = ["the prefix"] * version.stored + [f"the cache of {job}" for job in version.cached]
        return f"{version} on {', '.join(places)}"

    def on_begin(self, name, serial, step):
        self.open = Version(int(serial), int(step), name, self.setup, len(self.versions),
                            is_ckpt=not name.startswith("out."))
        self.versions.append(self.open)
        self.starting = True
        for version in self.versions[:-1]:
            version.fading = version.fading or self.setup.is_daemon and version.name == name

    def take_place(self, new):
        """Start_output succeeded, or was not seen to fail."""
        job, size = self.setup.job, self.setup.size
        for version in self.versions:
            at = version.cached.get(job)
            if at is None or version is new or self.setup.bypass or not new.is_ckpt:
                continue
            at.begun += 1
            if at.begun >= size if size > 0 else self.is_superseded(version):
                version.cached.pop(job)
        if self.setup.bypass:  # it writes over them
            for version in self.versions:
                if version is not new and version.name == new.name:
                    version.stored = False

    def is_superseded(self, version):
        """Of another number of ranks, and not what a start goes on from any more (P5)."""
        if version.ranks == len(self.setup.spread):
            return False
        others = [v for v in self.versions if v.is_ckpt and (v.stored or v.was_stored or self.setup.job in v.seen)]
        return any(v.order > version.order or v is version and v.was_stored for v in others)

    def on_start(self, rc):
        self.starting = False
        self.open.begun = rc == "0"
        if rc == "0":
            self.take_place(self.open)

    def on_id(self, id):
        self.open.id = int(id)

    def become_cached(self, new):
        job = self.setup.job
        if self.setup.size == 0 and new.is_ckpt:  # the default keeps one
            for version in self.versions:
                version.cached.pop(job, None)
        new.cached[job] = Cached([self.setup.spread], set())
        self.may_be_cached(new)

    def on_complete(self, rc, written, id):
        new, self.open = self.open, None
        new.id = int(id)
        new.owed = not new.is_ckpt and written == "1" and not self.has_faults()
        if rc == "0":
            new.acknowledged = True
            if written != "1":
                self.wrong.append(f"{new} is complete, but was not written")
            new.stored = self.setup.bypass or self.is_flushed(new)
            if new.is_ckpt and not self.setup.bypass:
                self.become_cached(new)
        elif written != "1":
            new.refused = "some rank did not write it"
        else:
            self.may_be_cached(new)

    def is_flushed(self, new):
        """Before SCR_Complete_output returned."""
        due = not new.is_ckpt or self.setup.flush == 1
        return due and not self.setup.is_async and not self.has_faults() and not self.is_taken(new)

    def has_faults(self):
        return self.now.prefix_faults or self.now.cache_faults

    def on_try(self, what, name):
        self.tried = (what, name)
        if what != "finalize":
            self.forget_owed()

    def forget(self, what, name):
        """Whether it did its work is not known."""
        job = self.setup.job
        for version in self.versions:
            if what == "current" or version.name == name:
                version.cached.pop(job, None)
                version.passed = version.passed or what == "current"
                version.stored = version.was_stored = False
                version.half_gone = version.half_gone or what == "delete"

    def on_tried(self, rc):
        (what, name), self.tried = self.tried, None
        if what == "finalize":
            self.finalized = rc == "0"
        elif rc != "0":
            if self.has_faults() or what == "current": # newer output could not be flushed first
                self.forget(what, name)
        elif what == "current":
            self.went_back(name)
        else:
            self.left(what, [v for v in self.versions if v.name == name])

    def left(self, what, named):
        """Deleted, or dropped from the index."""
        for version in named:
            version.stored = version.was_stored = False
            version.dropped = version.dropped or what == "drop"
            version.deleted = version.deleted or what == "delete"
            if what == "delete":
                version.cached.pop(self.setup.job, None)
                version.seen.discard(self.setup.job)

    def went_back(self, name):
        """Newer ones leave the cache; on the prefix they are not what a start goes on from."""
        job = self.setup.job  # what only another job has in cache, this one has not seen
        target = max((v for v in self.versions if v.name == name and v.acknowledged and
                      (v.was_stored or job in v.seen)), key=by_id, default=None)
        for version in self.versions:
            version.passed = target is None or version.id > target.id or version.order > target.order
            if version.passed:
                version.cached.pop(self.setup.job, None)

    # --- the prefix after a run ---

    def listed(self, version, index):
        entry = index.get(version.id)
        if any(v.id == version.id and v.name == version.name and v.setup.job == version.setup.job and
               v.order > version.order for v in self.versions):
            return False  # the number was taken anew by a run that could see nothing of it
        return entry is not None and entry.name == version.name and entry.complete and \
            entry.job == version.setup.job and (version.id > 0)

    def check_prefix(self, index):
        for version in self.versions:
            if version.stored and not self.rivals(version) and not self.listed(version, index):
                self.wrong.append(f"{version} was complete on the prefix, and is not any more")
        self.look(index)
        self.check_bytes(index)
        if self.finalized and self.setup.flush > 0 and not self.has_faults():
            newest = max((v for v in self.mine() if v.is_ckpt), key=by_id, default=None)
            if newest and not (newest.stored or newest.dropped or self.is_taken(newest)):
                self.wrong.append(f"SCR_Finalize returned 0, and {newest} is not on the prefix")

    def check_bytes(self, index):
        """Of what the index calls complete, read there."""
        for version in self.versions:
            gone = not version.begun or version.half_gone
            if gone or self.rivals(version) or not self.listed(version, index):
                continue
            if version.refused:
                self.wrong.append(f"{version} is complete on the prefix: {version.refused}")
            wrong = records.wrong_file(self.prefix, version.id, version.name, version.written(self.number),
                                       version.setup.has_header)
            if wrong:
                self.wrong.append(f"{version} is complete on the prefix, and the bytes of {wrong} are others")

    def is_taken(self, version):
        """By another job: its number (P14), or its paths by a newer dataset (P15)."""
        return any(v.setup.job != version.setup.job and (v.id == version.id or v.name == version.name)
                   for v in self.versions)

    def look(self, index):
        """What the index calls complete is certain until it is written over, or deleted."""
        for version in self.versions:
            gone = version.deleted or version.half_gone
            version.stored = version.acknowledged and not gone and self.listed(version, index)
            version.was_stored = version.was_stored or version.stored
            version.settled = version.settled or not version.is_ckpt and self.listed(version, index)
