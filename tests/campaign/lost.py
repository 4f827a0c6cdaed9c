# SPDX-License-Identifier: BSD-3-Clause
"""What may be left of a directory when the machine loses power: of the changes that strike.c told, those not synced
are lost, kept or torn.

    disk = Disk(top)              # as it is, all of it durable
    disk.replay(trace)            # what was done to it since
    disk.lose(rng)                # makes one of the states that may be left of it

A write is lost, kept or torn at any byte, whatever becomes of others, until its file is synced. Of the entries of
a directory the first of those changed since it was synced are kept. A rename is one change of both directories.
"""
import os
import shutil


class File:
    def __init__(self, data=b"", mode=0o600):
        self.durable, self.mode, self.pending = data, mode, []

    def write(self, at, data):
        self.pending.append((at, data))

    def resize(self, size):
        self.pending.append((size, None))

    def after(self, changes):
        data = bytearray(self.durable)
        for at, new in changes:
            if len(data) < at:
                data += bytes(at - len(data))
            if new is None:
                del data[at:]
            else:
                data[at:at + len(new)] = new
        return bytes(data)

    def sync(self):
        self.durable, self.pending = self.after(self.pending), []

    def left(self, rng, keep):
        """Bytes, and how many changes were lost and torn."""
        some, lost, torn = [], 0, 0
        for at, new in self.pending:
            what = rng.random()
            if what < keep:
                some.append((at, new))
            elif what < keep + (1 - keep) / 2 and new:
                some.append((at, new[:rng.randrange(len(new))]))
                torn += 1
            else:
                lost += 1
        return self.after(some), lost, torn


class Dir:
    def __init__(self, mode=0o700):
        self.now, self.durable, self.mode = {}, {}, mode


class Disk:
    def __init__(self, top):
        self.top, self.pending = top, []
        self.root = self.read(top)
        self.lost = self.torn = 0

    def read(self, at):
        mode = os.lstat(at).st_mode & 0o7777
        if not os.path.isdir(at):
            with open(at, "rb") as f:
                return File(f.read(), mode)
        found = Dir(mode)
        found.now = {name: self.read(os.path.join(at, name)) for name in os.listdir(at)}
        found.durable = dict(found.now)
        return found

    # --- what was done ---

    def at(self, path):
        """(directory, name) of a path; None: it is elsewhere. Of two processes that make a directory, the one that
        failed may tell first what it did there."""
        path = os.path.normpath(path)
        if not path.startswith(self.top + "/"):
            return None
        *above, name = path[len(self.top) + 1:].split("/")
        found = self.root
        for one in above:
            if one not in found.now:
                self.change(((found, one), Dir()))
            found = found.now[one]
        return found, name

    def node(self, path):
        if path == self.top:
            return self.root
        place = self.at(path)
        return place and place[0].now.get(place[1])

    def change(self, *entries):
        """(place, node) of each; node None: removed."""
        entries = [(*place, node) for place, node in entries if place]
        for directory, name, node in entries:
            put(directory.now, name, node)
        if entries:
            self.pending.append(entries)

    def replay(self, trace):
        with open(trace, encoding="utf-8", errors="surrogateescape") as f:
            for line in f:
                _, kind, *rest = line.rstrip("\n").split("\t")
                if rest and int(rest[0]) >= 0 and hasattr(self, f"do_{kind}"):
                    getattr(self, f"do_{kind}")(*rest[1:])

    def do_open(self, path, how):
        if how == "new":
            self.change((self.at(path), File()))
        elif how == "0":
            self.do_size(path, "0")

    def do_write(self, path, what):
        at, _, data = what.partition(" ")
        if data and (node := self.node(path)):
            node.write(int(at), bytes.fromhex(data))

    def do_size(self, path, size):
        if size and (node := self.node(path)):
            node.resize(int(size))

    def do_sync(self, path, _):
        node = self.node(path)
        if isinstance(node, File):
            node.sync()
        for entries in list(self.pending):
            if any(directory is node for directory, _, _ in entries):
                self.pending.remove(entries)
                self.settle(entries)

    @staticmethod
    def settle(entries):
        for directory, name, node in entries:
            put(directory.durable, name, node)

    def do_rename(self, path, to):
        self.change((self.at(path), None), (self.at(to), self.node(path)))

    def do_link(self, path, to):
        self.change((self.at(to), self.node(path)))

    def do_unlink(self, path, _):
        self.change((self.at(path), None))

    def do_mkdir(self, path, _):
        if not self.node(path):
            self.change((self.at(path), Dir()))

    # --- what is left ---

    def lose(self, rng):
        """Some states lose all that may be lost, or nothing but bytes."""
        keep_entries, keep_bytes = rng.choice([0, 0, 0.5, 0.9, 1]), rng.choice([0, 0.5, 0.9])
        stopped = []
        for entries in self.pending:
            touched = [directory for directory, _, _ in entries]
            if any(d is s for d in touched for s in stopped) or rng.random() >= keep_entries:
                stopped += touched
                self.lost += 1
            else:
                self.settle(entries)
        self.make(self.root, self.top, rng, keep_bytes)

    def make(self, node, path, rng, keep):
        """A directory that is there stays: SCR takes one of another inode for a copy of a prefix directory."""
        if isinstance(node, Dir):
            os.makedirs(path, exist_ok=True)
            for name in os.listdir(path):
                remove_other(node.durable.get(name), os.path.join(path, name))
            for name, one in node.durable.items():
                self.make(one, os.path.join(path, name), rng, keep)
        else:
            data, lost, torn = node.left(rng, keep)
            self.lost, self.torn = self.lost + lost, self.torn + torn
            with open(path, "wb") as f:
                f.write(data)
        os.chmod(path, node.mode)


def remove_other(node, path):
    """What is at path, but a directory that is to be one."""
    if not os.path.isdir(path):
        os.unlink(path)
    elif not isinstance(node, Dir):
        shutil.rmtree(path)


def put(entries, name, node):
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node
