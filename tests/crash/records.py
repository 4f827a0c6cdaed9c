# SPDX-License-Identifier: BSD-3-Clause
"""What is in a prefix directory, read without a command, which could change it."""
import dataclasses
import glob
import os
import struct
import subprocess

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


# --- files of random_run.c ---

STAMP = struct.Struct("=7i")
FILES, HEADER_FILE, UINT32 = 2, 2, 0xffffffff


@dataclasses.dataclass
class Written:
    """What all files of a dataset have in their stamps, in order."""
    case: int
    serial: int
    step: int
    ranks: int


def mix(parts):
    """Of written.c."""
    x = 2166136261
    for part in parts:
        x = ((x ^ part) * 16777619 * 31 + 7) & UINT32
    return x


def content(written, rank, file):
    """Every byte of it: of mix(), bytes_of() and fill()."""
    parts = (*dataclasses.astuple(written), rank, file)
    x = mix(parts)
    y = x >> 8
    size = STAMP.size + (70000 + y % 100 if y % 16 == 0 else y % 5000)
    data = b"".join(bytes([(x + i * 2654435761) >> 13 & 255]) * 8 for i in range(size // 8 + 1))
    return STAMP.pack(*parts, size) + data[STAMP.size:size]


def listed(prefix, id):
    """{path: whether it is stored compressed}, by the parts of the dataset's list."""
    found = {}
    for part in glob.glob(os.path.join(glob.escape(prefix), ".scr", f"scr.dataset.{id}", "rank2file.0.*")):
        with open(part, "rb") as f:
            ranks = unpack(f.read(), HEADER)[0].get("RANK", {})
        for files in ranks.values():
            found.update((path, "ZSTD" in file) for path, file in files.get("FILE", {}).items())
    return found


def stored(path, is_packed):
    """What a reader gets of a file; None: there is none."""
    if is_packed:
        return subprocess.run(["zstd", "-dcq", f"{path}.zst"], capture_output=True, check=False).stdout
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def wrong_file(prefix, id, name, written, has_header):
    """The first that is not listed, or whose bytes are not those that were written; None: all are right."""
    packed = listed(prefix, id)
    files = [(f"{name}/file{i}.{rank}", rank, i) for rank in range(written.ranks) for i in range(FILES)]
    for path, rank, i in files + [(f"{name}/header", 0, HEADER_FILE)] * has_header:
        if path not in packed or stored(os.path.join(prefix, path), packed[path]) != content(written, rank, i):
            return path
    return None


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
