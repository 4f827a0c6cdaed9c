# SPDX-License-Identifier: BSD-3-Clause
"""What promises.c writes, and what a prefix directory has of it, read without a command."""
import functools
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "crash"))
import records  # noqa: E402
from records import UINT32, index, listed, mix, stored, tree  # noqa: E402,F401

PLAIN, LARGE, MANY, EMPTY, SOME, DEEP, SHARED, HEADER = range(8)
COUNTS = {PLAIN: 2, LARGE: 1, MANY: 40, EMPTY: 3, SOME: 2, DEEP: 3, SHARED: 1, HEADER: 1}
STAMP, PERIOD, BLOCK = struct.Struct("=8i"), 509, 1000


def bytes_of(x, shape, file, ranks):
    x, head = x >> 8, STAMP.size if file == 0 else 0
    return {LARGE: head + 100000 + x % 100000, MANY: head + x % 64, EMPTY: 0 if file == 1 else head,
            SHARED: BLOCK * ranks}.get(shape, head + x % 5000)


def part(x, stamp, size):
    block = bytearray()
    for _ in range(min(size, PERIOD)):
        x = (x * 1664525 + 1013904223) & UINT32
        block.append(x >> 24)
    data = (block * (size // PERIOD + 1))[:size]
    if stamp and size >= STAMP.size:
        data[:STAMP.size] = stamp
    return bytes(data)


@functools.lru_cache(maxsize=512)
def content(seed, serial, step, ranks, rank, file, shape):
    """Every byte of a file: of mix(), bytes_of() and fill() in promises.c."""
    x = mix((seed, serial, step, ranks, rank, file, shape))
    size = bytes_of(x, shape, file, ranks)
    if shape == SHARED:
        return b"".join(block(seed, serial, step, ranks, r, size) for r in range(ranks))
    stamp = STAMP.pack(seed, serial, step, ranks, rank, file, shape, size) if file == 0 else b""
    return part(x, stamp, size)


def block(seed, serial, step, ranks, rank, size):
    return part(mix((seed, serial, step, ranks, rank, 0, SHARED)),
                STAMP.pack(seed, serial, step, ranks, rank, 0, SHARED, size), BLOCK)


def file_name(place, shape, rank, file):
    if shape == SHARED:
        return f"{place}/shared"
    if shape == HEADER and file == 1:
        return f"{place}/header"
    if shape == DEEP:
        return f"{place}/d{file}/deep/f{file}.{rank}"
    return f"{place}/f{file}.{rank}"


def files(version):
    """{path: (rank, file)}"""
    found = {}
    for rank in range(version.ranks):
        count = 0 if version.shape == SOME and rank % 2 else COUNTS[version.shape]
        for file in range(count + (version.shape == HEADER and rank == 0)):
            found.setdefault(file_name(version.place, version.shape, rank, file), (rank, file))
    return found


class Reader:
    """Reads a file again only when it has changed."""

    def __init__(self, prefix):
        self.prefix, self.seen = prefix, {}

    def wrong_file(self, version):
        """The first that is not listed, or whose bytes are not those that were written; None: all are right."""
        packed = listed(self.prefix, version.id)
        flat = {os.path.basename(path): path for path in packed} if version.is_flat else {}
        for path, (rank, file) in files(version).items():
            path = flat.get(os.path.basename(path), path)
            if path not in packed or not self.is_right(version, path, rank, file, packed[path]):
                return path
        return None

    def is_right(self, version, path, rank, file, is_packed):
        full = os.path.join(self.prefix, path)
        try:
            st = os.stat(f"{full}.zst" if is_packed else full)
        except OSError:
            return False
        mark = (version.serial, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
        if self.seen.get(path) != mark:
            want = content(version.seed, version.serial, version.step, version.ranks, rank, file, version.shape)
            if stored(full, is_packed) != want:
                return False
            self.seen[path] = mark
        return True


def has_summary(prefix, id):
    return os.path.exists(os.path.join(prefix, ".scr", f"scr.dataset.{id}", "summary.scr"))


def current(prefix):
    """The name that the index calls current; "": none."""
    try:
        with open(os.path.join(prefix, ".scr", "index.scr"), "rb") as f:
            return records.value(records.unpack(f.read(), records.HEADER)[0], "CURRENT")
    except FileNotFoundError:
        return ""
