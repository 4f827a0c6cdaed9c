# SPDX-License-Identifier: BSD-3-Clause
"""What is in a prefix directory, read without a command, which could change it."""
import dataclasses
import os
import struct

HEADER = 20 # bytes of a hash file before the packed hash


@dataclasses.dataclass
class Entry:
    name: str
    job: str
    complete: bool
    is_ckpt: bool


def unpack(data, at=0):
    """A packed hash, scr_hashfile(5), as nested dicts, and where it ends."""
    count, at, tree = int.from_bytes(data[at:at + 4], "big"), at + 4, {}
    for _ in range(count):
        end = data.index(b"\0", at)
        tree[data[at:end].decode()], at = unpack(data, end + 1)[:2]
    return tree, at


def value(tree, key):
    return next(iter(tree.get(key, {})), "")


def index(prefix):
    """{number of the dataset: Entry}"""
    try:
        with open(os.path.join(prefix, ".scr", "index.scr"), "rb") as f:
            entries = unpack(f.read(), HEADER)[0].get("DSET", {})
    except FileNotFoundError:
        entries = {}
    return {int(id): Entry(value(e["DSET"], "NAME"), value(e["DSET"], "JOBID"),
                           value(e, "COMPLETE") == "1" and "FAILED" not in e, "CKPT" in e["DSET"])
            for id, e in entries.items()}


STAMP = struct.Struct("=7i")  # random_run.c


def is_written(path, serial):
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError:
        return False
    if len(data) < STAMP.size:
        return False
    _, number, _, _, _, _, size = STAMP.unpack(data[:STAMP.size])
    return number == serial and size == len(data)


def is_intact(prefix, name, serial, ranks):
    """Whether the files of a checkpoint of random_run.c are all there, and not compressed."""
    return all(is_written(os.path.join(prefix, name, f"file{i}.{rank}"), serial)
               for rank in range(ranks) for i in range(2))


def tree(top):
    """All files below it, with what changes when they are written."""
    found = {}
    for at, _, names in os.walk(top):
        for name in names:
            st = os.lstat(os.path.join(at, name))
            found[os.path.join(at, name)] = (st.st_ino, st.st_size, st.st_mtime_ns)
    return found
