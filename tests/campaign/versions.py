# SPDX-License-Identifier: BSD-3-Clause
"""What the promises of spec.py are about: descriptors, runs, what they began, and which lost nodes that survives."""
import dataclasses

from caches import sets_of

CKPT, OUTPUT = 1, 2
EXTRA_LOSSES = 0   # of the check of the check
SHARED_STORE = "W" # all nodes share it: GROUP=WORLD


@dataclasses.dataclass(frozen=True)
class Level:
    """A redundancy descriptor. count: COUNT, -1: automatic."""
    scheme: str = "XOR"
    interval: int = 1
    store: str = "cache"
    count: int = -1
    set_size: int = 8
    failures: int = 1
    bypass: bool = False


@dataclasses.dataclass
class Run:
    """entries: (word, arguments) in the order of the calls; closes: ranks that closed the n-th output as valid;
    paths: of rank 0's first file, for each; faults: where calls were made to fail: start cache prefix."""
    serial: int
    job: str
    spread: tuple
    env: dict
    entries: list
    closes: list
    paths: list
    faults: set
    levels: list
    died: bool    # as planned


@dataclasses.dataclass(eq=False)
class Version:
    seed: int
    serial: int
    name: str
    place: str    # directory of its files
    flags: int
    shape: int
    job: str
    spread: tuple
    order: int
    env: dict
    levels: list  # one of them is its
    step: int = 0
    id: int = 0
    bypass: bool = False
    in_shared_store: bool = False
    began: bool = False
    closed: bool = False      # by all ranks, as valid
    acknowledged: bool = False
    doubtful: bool = False    # a byte of it was changed, or a rank refused it
    deleted: bool = False
    unwanted: bool = False    # … by scr_index, for good: a job copies it again only for a restart that reads it there
    dropped: bool = False
    loose: bool = False       # … when the index may not have had it: a flush may follow, or not
    passed: bool = False      # a start went back behind it
    stored: bool = False      # complete on the prefix
    was_stored: bool = False
    cached: dict = dataclasses.field(default_factory=dict) # by job, where it certainly is
    seen: set = dataclasses.field(default_factory=set)     # jobs that may have it in cache

    def __str__(self):
        return f"{self.name} (run {self.serial // 1000}, id {self.id or '?'}, {self.ranks} ranks)"

    def where(self):
        return f"{self} on {', '.join(['the prefix'] * self.stored + [f'the cache of {j}' for j in self.cached])}"

    @property
    def ranks(self):
        return len(self.spread)

    @property
    def is_flat(self):
        """Its files are in a directory of its own on the prefix."""
        return self.env.get("SCR_PRESERVE_DIRECTORIES") == "0" and not self.bypass

    @property
    def is_ckpt(self):
        return self.flags & CKPT

    def strength(self, of=min):
        return of(losses(level, self.spread) for level in self.levels)


def rivals_of(v, versions):
    """Newer ones with files at the same paths."""
    return [o for o in versions if o is not v and o.place == v.place and o.order > v.order and o.began and
            not v.is_flat]


def forget_cache(versions, job):
    for v in versions:
        v.cached.pop(job, None)


def newest(versions):
    return max(versions, key=lambda v: (v.id or 1 << 30, v.order), default=None)


def is_older(a, b):
    return a.id < b.id if a.id and b.id else a.order < b.order


# --- redundancy ---

def sets(level, spread):
    """Of SET_SIZE members or more, one member of a node at most in each."""
    return sets_of(spread, len(spread) // level.set_size)


def survives(level, members):
    """How many lost members."""
    most = {"SINGLE": 0, "XOR": 1}.get(level.scheme, level.failures)
    return min(most, len(members) - 1) + EXTRA_LOSSES


def losses(level, spread):
    """How many nodes it survives, whichever they are."""
    return min(survives(level, members) for members in sets(level, spread)) if level.store != SHARED_STORE else 0


def is_set_whole(level, members, lost):
    """lost: whether each member is. Copies are with the next members, so more may be lost if they lie apart."""
    most = survives(level, members)
    if level.scheme == "PARTNER":
        return not any(all(lost[(i + j) % len(lost)] for j in range(most + 1)) for i in range(len(lost)))
    return sum(lost) <= most


def is_whole(version, spread, gone):
    return all(level.store == SHARED_STORE or is_set_whole(level, members, [spread[r] in gone for r in members])
               for level in version.levels for members in sets(level, spread))
