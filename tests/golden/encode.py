# SPDX-License-Identifier: BSD-3-Clause
"""The encoder of generate.py, and what its formats share: hash files, datasets and times."""
import os
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
MAGIC, TYPE, VERSION, FLAG_CRC = 0x951FC3F5, 1, 1, 1
T1, T2, T3 = "2011-02-28T12:36:50", "2011-02-28T12:37:14", "2011-02-28T12:37:36"
NODES = {"NODES": 3}


def packed(tree):
    """tree: a dict of key -> tree, a list of keys with empty trees, or one value."""
    if isinstance(tree, list):
        tree = {key: {} for key in tree}
    elif not isinstance(tree, dict):
        tree = {str(tree): {}}
    out = struct.pack(">I", len(tree))
    for key, below in tree.items():
        out += str(key).encode("utf-8", "surrogateescape") + b"\0" + packed(below)
    return out


def enclosed(body, magic=MAGIC, kind=TYPE, version=VERSION, flags=FLAG_CRC, size=None, crc=None):
    """A hash file around packed bytes; the keyword arguments make it a wrong one."""
    trailer = 4 if flags & FLAG_CRC else 0
    if size is None:
        size = 20 + len(body) + trailer
    head = struct.pack(">IHHQI", magic, kind, version, size, flags) + body
    if crc is None:
        crc = zlib.crc32(head)
    return head + (struct.pack(">I", crc) if trailer else b"")


def hash_file(tree):
    return enclosed(packed(tree))


def write(name, data):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else hash_file(data))


def without(tree, *keys):
    return {k: v for k, v in tree.items() if k not in keys}


def dataset(number, name=None, **more):
    d = {
        "ID": number,
        "NAME": name or "ckpt.%d" % number,
        "USER": "user1",
        "JOBNAME": "simulation123",
        "JOBID": "112573",
        "CLUSTER": "atlas",
        "SIZE": 2097182,
        "FILES": 4,
        "CREATED": 1312850690668536,
        "CKPT": number,
        "COMPLETE": 1,
        "FLAG_CKPT": 1,
        "FLAG_OUTPUT": 0,
    }
    d.update(more)
    return d
