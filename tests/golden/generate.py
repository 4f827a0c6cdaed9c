#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the golden files of the formats, beside this script: <format>/good-*.scr and
<format>/bad-<error>-*.scr.

It is a second encoder, written from the manual pages and sharing nothing with the C code: the
tests decode every good file and must encode it to the same bytes, and every bad file must give
the error in its name. The outputs are committed; run it again only to add files.
"""
import os
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
MAGIC, TYPE, VERSION, FLAG_CRC = 0x951FC3F5, 1, 1, 1


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


# --- hash files ---

NODES = {"NODES": 3}


def nest(depth):
    """Packed bytes of keys below each other."""
    return b"\0\0\0\1k\0" * depth + b"\0\0\0\0"


def hash_files():
    write("hashfile/good-nodes.scr", NODES)
    write("hashfile/good-empty.scr", {})
    write("hashfile/good-empty-keys.scr", {"": {"": {}}, "a": {"": {}}})
    write("hashfile/good-order.scr", {"z": 1, "a": 2, "m": {"9": {}, "10": {}, "1": {}}})
    write("hashfile/good-bytes.scr", {"tab\tnewline\n": "caf\u00e9", "\udcff\udcfe": {}})
    write("hashfile/good-depth-64.scr", enclosed(nest(64)))
    write("hashfile/good-keys-1000.scr", {"KEY": {"%d" % i: i * i for i in range(1000)}})
    write("hashfile/plain-no-crc.scr", enclosed(packed(NODES), flags=0))
    write("hashfile/plain-zero-length.scr", b"")

    nodes = hash_file(NODES)
    bad = {
        "corrupt-header-cut": nodes[:19],
        "corrupt-cut": nodes[:-1],
        "corrupt-one-byte-more": nodes + b"\0",
        "corrupt-crc": enclosed(packed(NODES), crc=0xD64A1F78),
        "corrupt-magic": enclosed(packed(NODES), magic=0x951FC3F4),
        "corrupt-magic-swapped": enclosed(packed(NODES), magic=0xF5C31F95),
        "corrupt-type": enclosed(packed(NODES), kind=2),
        "corrupt-version-0": enclosed(packed(NODES), version=0),
        "corrupt-size-small": enclosed(packed(NODES), size=43),
        "corrupt-size-zero": enclosed(packed(NODES), size=0),
        "corrupt-size-huge": enclosed(packed(NODES), size=2**64 - 1),
        "corrupt-size-header-only": enclosed(b"", flags=0, size=20),
        "corrupt-no-room-for-crc": struct.pack(">IHHQI", MAGIC, TYPE, VERSION, 20, FLAG_CRC),
        "corrupt-count-huge": enclosed(b"\xff\xff\xff\xff" + packed(NODES)[4:]),
        "corrupt-count-one-more": enclosed(b"\0\0\0\2" + packed(NODES)[4:]),
        "corrupt-count-one-less": enclosed(b"\0\0\0\0" + packed(NODES)[4:]),
        "corrupt-count-cut": enclosed(b"\0\0\0"),
        "corrupt-inner-count-huge": enclosed(b"\0\0\0\1NODES\0\x7f\xff\xff\xff"),
        "corrupt-key-unterminated": enclosed(b"\0\0\0\1" + b"NODES" * 9),
        "corrupt-key-twice": enclosed(b"\0\0\0\2A\0\0\0\0\0A\0\0\0\0\0"),
        "corrupt-depth-65": enclosed(nest(65)),
        "corrupt-depth-bomb": enclosed(nest(1000)),
        "corrupt-text": b"NODES=3\n# this is no hash file\n",
        "version-2": enclosed(packed(NODES), version=2),
        "version-65535": enclosed(packed(NODES), version=65535),
        "version-flags": enclosed(packed(NODES), flags=3),
    }
    for name, data in bad.items():
        write("hashfile/bad-%s.scr" % name, data)


# --- datasets, filemaps ---


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


def meta(rank, size, crc):
    name = "rank_%d.ckpt" % rank
    return {
        "FILE": name,
        "ORIG": "ckpt.6/" + name,
        "PATH": "ckpt.6",
        "NAME": name,
        "TYPE": "FULL",
        "COMPLETE": 1,
        "SIZE": size,
        "CRC": crc,
        "RANK": rank,
        "RANKS": 4,
        "DSET": 6,
        "MODE": 33152,
        "UID": 1000,
        "GID": 100,
        "ATIME_SECS": 1312850690,
        "ATIME_NSECS": 668536000,
        "CTIME_SECS": 1312850690,
        "CTIME_NSECS": 668536000,
        "MTIME_SECS": 1312850690,
        "MTIME_NSECS": 668536000,
    }


def filemaps():
    cache = "/tmp/user1/scr.112573/scr.dataset.6/rank.2/rank_2.ckpt"
    entry = {
        "DSETDESC": dataset(6),
        "REDDESC": {"ENABLED": 1, "TYPE": "XOR", "STORE": "/tmp"},
        "FILES": 1,
        "FILE": {cache: {"META": meta(2, 524296, "0x738bb68f")}},
        "PARTNER": "atlas56",
    }
    good = {"DSET": {"6": {"RANK": ["2"]}}, "RANK": {"2": {"DSET": {"6": entry}}}}
    write("filemap/good-one-rank.scr", good)
    # what is copied to a dataset directory: relative names, no redundancy descriptor
    scavenged = {
        "DSETDESC": dataset(6, "scr.dataset.6"),
        "FILES": 2,
        "FILE": {
            "3_of_4_in_0.xor": {
                "META": {
                    "RANKS": 4,
                    "COMPLETE": 1,
                    "SIZE": 175693,
                    "TYPE": "XOR",
                    "FILE": "3_of_4_in_0.xor",
                    "CRC": "0x2ef519a1",
                }
            },
            "rank_2.ckpt": {"META": meta(2, 524296, "0x738bb68f")},
        },
    }
    write(
        "filemap/good-scavenged.scr",
        {"DSET": {"6": {"RANK": ["2"]}}, "RANK": {"2": {"DSET": {"6": scavenged}}}},
    )
    write(
        "filemap/good-no-files.scr",
        {
            "DSET": {"10": {"RANK": ["20"]}, "11": {"RANK": ["20", "28"]}},
            "RANK": {
                "20": {"DSET": {"10": {"FILES": 0}, "11": {}}},
                "28": {"DSET": {"11": {"FILE": ["/ssd/foo_28.ckpt.11"]}}},
            },
        },
    )
    write("filemap/good-empty.scr", {})

    def one(dset, rank, entry):
        return {"DSET": {dset: {"RANK": [rank]}}, "RANK": {rank: {"DSET": {dset: entry}}}}

    bad = {
        "no-entry": {"DSET": {"6": {"RANK": ["2"]}}},
        "no-index": {"RANK": {"2": {"DSET": ["6"]}}},
        "other-rank": {"DSET": {"6": {"RANK": ["3"]}}, "RANK": {"2": {"DSET": ["6"]}}},
        "other-dataset": {"DSET": {"7": {"RANK": ["2"]}}, "RANK": {"2": {"DSET": ["6"]}}},
        "index-without-ranks": {"DSET": ["6"]},
        "rank-not-a-number": one("6", "two", {}),
        "rank-negative": one("6", "-2", {}),
        "rank-huge": one("6", "99999999999", {}),
        "rank-leading-zero": one("6", "02", {}),
        "dataset-plus": one("+6", "2", {}),
        "dataset-not-a-number": one("six", "2", {}),
        "files-negative": one("6", "2", {"FILES": -1}),
        "files-two-values": one("6", "2", {"FILES": ["1", "2"]}),
        "file-dotdot": one("6", "2", {"FILE": ["/tmp/../etc/passwd"]}),
        "file-dotdot-relative": one("6", "2", {"FILE": ["../rank_2.ckpt"]}),
        "file-empty": one("6", "2", {"FILE": [""]}),
        "file-root": one("6", "2", {"FILE": ["/"]}),
    }
    for name, tree in bad.items():
        write("filemap/bad-corrupt-%s.scr" % name, tree)
    write("filemap/bad-corrupt-cut.scr", hash_file(good)[:-5])


# --- prefix directory ---

T1, T2, T3 = "2011-02-28T12:36:50", "2011-02-28T12:37:14", "2011-02-28T12:37:36"


def indexes():
    good = {
        "VERSION": 2,
        "CURRENT": "ckpt.12",
        "NAME": {
            "ckpt.12": {"DSET": 12},
            "ckpt.6": {"DSET": 6},
            "plot.7": {"DSET": 7},
        },
        "DSET": {
            "12": {"DSET": dataset(12), "COMPLETE": 1, "FLUSHED": T2, "FETCHED": [T2, T3]},
            "6": {"DSET": dataset(6), "COMPLETE": 1, "FLUSHED": T1, "FAILED": [T3]},
            "7": {
                "DSET": dataset(7, "plot.7", FLAG_CKPT=0, FLAG_OUTPUT=1),
                "COMPLETE": 0,
                "FLUSHED": T1,
                "FUTURE": {"KEY": "kept"},
            },
        },
    }
    write("index/good-v2.scr", good)
    write("index/good-v2-empty.scr", {"VERSION": 2})

    dirs = ["scr.2011-02-28_12:37:14.1145655.18", "scr.2011-02-28_12:37:36.1145655.18"]
    old6 = "scr.2011-02-28_12:36:50.1145655.6"
    v1 = {
        "VERSION": 1,
        "DIR": {d: {"CKPT": d.rsplit(".", 1)[1]} for d in dirs + [old6]},
        "CKPT": {
            "18": {
                "DIR": {
                    dirs[1]: {"COMPLETE": 1, "FLUSHED": T3},
                    dirs[0]: {"FAILED": [T3], "FETCHED": [T3], "COMPLETE": 1, "FLUSHED": T2},
                }
            },
            "6": {"DIR": {old6: {"FETCHED": [T2], "COMPLETE": 1, "FLUSHED": T1}}},
        },
        "FUTURE": "kept",
    }

    def was(number, name, entry):
        d = {"CKPT": number, "FLAG_CKPT": 1, "FLAG_OUTPUT": 0, "ID": number, "NAME": name}
        return {**entry, "DIR": name, "DSET": d}

    write("index/good-v1.scr", v1)
    write(
        "index/becomes-v1.scr",
        {
            "VERSION": 2,
            "FUTURE": "kept",
            "DSET": {
                "18": was(18, dirs[1], {"COMPLETE": 1, "FLUSHED": T3}),
                "6": was(6, old6, {"FETCHED": [T2], "COMPLETE": 1, "FLUSHED": T1}),
            },
            "NAME": {dirs[1]: {"DSET": 18}, old6: {"DSET": 6}},
        },
    )
    # the last writers of version 1 knew datasets
    late = {"ID": 3, "NAME": "scr.dataset.3", "SIZE": 10, "FILES": 2}
    write(
        "index/good-v1-datasets.scr",
        {
            "VERSION": 1,
            "DIR": {"scr.dataset.3": {"DSET": 3}},
            "DSET": {"3": {"DIR": {"scr.dataset.3": {"DSET": late, "COMPLETE": 1}}}},
        },
    )
    write(
        "index/becomes-v1-datasets.scr",
        {
            "VERSION": 2,
            "DSET": {"3": {"DSET": late, "COMPLETE": 1, "DIR": "scr.dataset.3"}},
            "NAME": {"scr.dataset.3": {"DSET": 3}},
        },
    )
    # a version 1 that somebody gave keys of version 2
    mixed = {"DIR": {"scr.dataset.3": {"DSET": late, "COMPLETE": 1}}}
    write(
        "index/good-v1-mixed.scr",
        {"VERSION": 1, "NAME": {"scr.dataset.3": {"DSET": 4}}, "DSET": {"3": mixed}},
    )
    write(
        "index/becomes-v1-mixed.scr",
        {
            "VERSION": 2,
            "DSET": {"3": {"DSET": late, "COMPLETE": 1, "DIR": "scr.dataset.3"}},
            "NAME": {"scr.dataset.3": {"DSET": 3}},
        },
    )
    # NAME that disagrees with DSET is mended
    mended = dict(good)
    mended["NAME"] = {"gone": {"DSET": 99}, "ckpt.6": {"DSET": 12}, "plot.7": {"DSET": 7}}
    write("index/good-v2-names.scr", mended)
    mended = dict(good)
    mended["NAME"] = {"plot.7": {"DSET": 7}, "ckpt.12": {"DSET": 12}, "ckpt.6": {"DSET": 6}}
    write("index/becomes-v2-names.scr", mended)

    def v2(number, entry):
        return {"VERSION": 2, "DSET": {number: entry}}

    bad = {
        "corrupt-no-version": without(good, "VERSION"),
        "corrupt-version-0": {**good, "VERSION": 0},
        "corrupt-version-text": {**good, "VERSION": "two"},
        "corrupt-version-twice": {**good, "VERSION": ["1", "2"]},
        "version-3": {**good, "VERSION": 3},
        "corrupt-current-twice": {**good, "CURRENT": ["ckpt.12", "ckpt.6"]},
        "corrupt-v1-current-twice": {**v1, "CURRENT": ["ckpt.12", "ckpt.6"]},
        "corrupt-id-0": v2("0", {"DSET": dataset(0)}),
        "corrupt-id-text": v2("six", {"DSET": dataset(6)}),
        "corrupt-id-differs": v2("7", {"DSET": dataset(6)}),
        "corrupt-no-dataset": v2("6", {"COMPLETE": 1}),
        "corrupt-no-name": v2("6", {"DSET": without(dataset(6), "NAME")}),
        "corrupt-size": v2("6", {"DSET": dataset(6, SIZE="-1")}),
        "corrupt-complete": v2("6", {"DSET": dataset(6), "COMPLETE": "yes"}),
        "corrupt-v1-dotdot": {"VERSION": 1, "CKPT": {"6": {"DIR": ["../elsewhere"]}}},
        "corrupt-v1-absolute": {"VERSION": 1, "CKPT": {"6": {"DIR": ["/elsewhere"]}}},
        "corrupt-v1-no-dir": {"VERSION": 1, "CKPT": ["6"]},
        "corrupt-v1-id": {"VERSION": 1, "CKPT": {"x": {"DIR": ["d"]}}},
        "corrupt-other-format": NODES,
        "corrupt-cut": hash_file(good)[:100],
    }
    for name, tree in bad.items():
        write("index/bad-%s.scr" % name, tree)


def summaries():
    good = {"VERSION": 6, "COMPLETE": 1, "DSET": dataset(18)}
    write("summary/good-v6.scr", good)
    part = {
        "RANKS": 4,
        "RANK": {
            "0": {"FILE": {"rank_0.ckpt": {"SIZE": 524294, "CRC": "0x6697d4ef"}}},
            "2": {"FILE": {"rank_2.ckpt": {"SIZE": 524296, "CRC": "0xb6a62246"}}},
            "3": {"FILE": {"rank_3.ckpt": {"SIZE": 524297, "CRC": "0x213c897a"}}},
            "1": {"FILE": {"rank_1.ckpt": {"SIZE": 524295, "CRC": "0x28eeb9e"}}},
        },
    }
    write("summary/good-v6-inner-part.scr", {**good, "RANK2FILE": part})
    write("summary/good-v5.scr", {"VERSION": 5, "CKPT": {"18": {"COMPLETE": 1, **part}}})
    write(
        "summary/becomes-v5.scr",
        {
            "VERSION": 6,
            "COMPLETE": 1,
            "DSET": {
                "ID": 18,
                "NAME": "scr.dataset.18",
                "SIZE": 2097182,
                "FILES": 4,
                "CREATED": 0,
                "CKPT": 18,
                "FLAG_CKPT": 1,
                "FLAG_OUTPUT": 0,
            },
            "RANK2FILE": {**part, "LEVEL": 0},
        },
    )
    outside = {"RANKS": 1, "RANK": {"0": {"FILE": {"../x": {"SIZE": 1}}}}}
    bad = {
        "corrupt-no-version": without(good, "VERSION"),
        "corrupt-version-4": {**good, "VERSION": 4},
        "version-7": {**good, "VERSION": 7},
        "corrupt-no-complete": without(good, "COMPLETE"),
        "corrupt-complete-2": {**good, "COMPLETE": 2},
        "corrupt-no-dataset": without(good, "DSET"),
        "corrupt-dataset-without-id": {**good, "DSET": without(dataset(18), "ID")},
        "corrupt-inner-part": {**good, "RANK2FILE": outside},
        "corrupt-v5-two": {"VERSION": 5, "CKPT": {"1": {}, "2": {}}},
        "corrupt-v5-complete-2": {"VERSION": 5, "CKPT": {"18": {"COMPLETE": 2, **part}}},
        "corrupt-v5-none": {"VERSION": 5},
        "corrupt-v5-no-ranks": {"VERSION": 5, "CKPT": {"1": {"COMPLETE": 1}}},
        "corrupt-v5-outside": {"VERSION": 5, "CKPT": {"1": {"COMPLETE": 1, **outside}}},
        "corrupt-other-format": NODES,
    }
    for name, tree in bad.items():
        write("summary/bad-%s.scr" % name, tree)


def rank2files():
    root = {
        "LEVEL": 1,
        "RANKS": 4,
        "RANK": {
            "0": {"FILE": ".0.0", "OFFSET": 0},
            "2": {"FILE": ".0.2", "OFFSET": 0},
        },
    }
    part = {
        "LEVEL": 0,
        "RANKS": 4,
        "RANK": {
            "0": {"FILE": {"ckpt.18/rank_0.ckpt": {"SIZE": 524294, "CRC": "0x6697d4ef"}}},
            "1": {"FILE": {"ckpt.18/rank_1.ckpt": {"SIZE": 524295, "CRC": "0x028eeb9e"}}},
        },
    }
    write("rank2file/good-root.scr", root)
    more = {w: {**part, "FIRST": w} for w, part in root["RANK"].items()}
    write("rank2file/good-root-more-keys.scr", {**root, "RANK": more})
    write("rank2file/good-root-level-2.scr", {**root, "LEVEL": 2, "RANK": {"0": {"FILE": ".1.0", "OFFSET": 0}}})
    write("rank2file/good-part.scr", part)
    plain = {"LEVEL": 0, "RANKS": 2, "RANK": {"0": {"FILE": ["a/b"]}, "1": {}}}
    write("rank2file/good-part-without-sizes.scr", plain)

    frame = {"SIZE": 61372, "CRC": "0x1c291ca3"}
    all_keys = {"ASKED": "ckpt.18/asked/state", "SHARED": 1, "ZSTD": frame, "SIZE": 524294, "CRC": "0x6697d4ef"}
    ordered = {"ckpt.18/z": {"SIZE": 2**64 - 1, "CRC": "0x028eeb9e"}, "ckpt.18/a": {"SIZE": 1, "CRC": "0x028eeb9e"}}
    ranks = {
        "0": {"FILE": {"ckpt.18/rank_0.ckpt": all_keys, "ckpt.18/shared": {"SHARED": 1, "SIZE": 0}}},
        "1": {},
        "2": {"FILE": ordered},
        "3": {},
    }
    write("rank2file/good-part-all-keys.scr", {"LEVEL": 0, "RANKS": 5, "RANK": ranks})
    write("rank2file/good-root-without-parts.scr", {"LEVEL": 1, "RANKS": 3})
    file = {"SIZE": 524294, "CRC": "0x6697d4ef", "ZSTD": frame}
    write(
        "rank2file/good-part-compressed.scr",
        {"LEVEL": 0, "RANKS": 1, "RANK": {"0": {"FILE": {"ckpt.18/rank_0.ckpt": file}}}},
    )

    def files(tree, ranks=4, rank="0"):
        return {"LEVEL": 0, "RANKS": ranks, "RANK": {rank: {"FILE": tree}}}

    def parts(tree):
        return {"LEVEL": 1, "RANKS": 4, "RANK": tree}

    bad = {
        "no-level": without(part, "LEVEL"),
        "level-negative": {**part, "LEVEL": -1},
        "level-9": {**root, "LEVEL": 9},
        "no-ranks": without(part, "RANKS"),
        "ranks-0": {**part, "RANKS": 0},
        "rank-out-of-range": files({"a": {"SIZE": 1}}, ranks=2, rank="2"),
        "rank-text": files({"a": {"SIZE": 1}}, rank="zero"),
        "path-absolute": files({"/etc/passwd": {"SIZE": 1}}),
        "path-dotdot": files({"a/../../b": {"SIZE": 1}}),
        "path-empty": files({"": {"SIZE": 1}}),
        "size-text": files({"a": {"SIZE": "big"}}),
        "size-negative": files({"a": {"SIZE": -1}}),
        "crc": files({"a": {"SIZE": 1, "CRC": "0x123456789"}}),
        "compressed-no-size": files({"a": {"CRC": "0x6697d4ef", "ZSTD": frame}}),
        "compressed-no-frame-size": files({"a": {"SIZE": 5, "ZSTD": {"CRC": "0x1c291ca3"}}}),
        "compressed-no-frame-crc": files({"a": {"SIZE": 5, "ZSTD": {"SIZE": 4}}}),
        "part-name-slash": parts({"0": {"FILE": "/../../x"}}),
        "part-name-other": parts({"0": {"FILE": ".0.1"}}),
        "part-without-name": parts({"0": {"OFFSET": 0}}),
        "part-offset": parts({"0": {"FILE": ".0.0", "OFFSET": 20}}),
    }
    for name, tree in bad.items():
        write("rank2file/bad-corrupt-%s.scr" % name, tree)


def small_files():
    halt = {
        "CheckpointsLeft": 7,
        "ExitAfter": 1298937600,
        "ExitBefore": 1298944800,
        "HaltSeconds": 1200,
        "ExitReason": "SCR_FINALIZE_CALLED",
    }
    write("halt/good-all.scr", halt)
    write("halt/good-counted-past-0.scr", {"CheckpointsLeft": -1})
    write("halt/bad-corrupt-number.scr", {**halt, "ExitAfter": "noon"})
    write("halt/bad-corrupt-two-numbers.scr", {**halt, "HaltSeconds": ["1", "2"]})
    write("halt/bad-corrupt-two-reasons.scr", {**halt, "ExitReason": ["a", "b"]})
    write("halt/bad-corrupt-overflow.scr", {**halt, "ExitBefore": 2**63})

    write("nodes/good-4.scr", {"NODES": 4})
    write("nodes/bad-noent-other-format.scr", halt)
    write("nodes/bad-corrupt-0.scr", {"NODES": 0})
    write("nodes/bad-corrupt-two.scr", {"NODES": ["3", "4"]})
    write("nodes/bad-corrupt-text.scr", {"NODES": "four"})

    def average(usec, count):
        return {"USEC": usec, "COUNT": count}

    autopilot = {
        "VERSION": 1,
        "UPTIME": 43200000000,
        "FAILURES": {"PROCESS": 2, "NODE": 1},
        "COST": average(12000000, 8),
        "RUN": {"JOB": {"1145655": {"SEEN": 1298937600}}},
    }
    write("autopilot/good-manual.scr", autopilot)
    run = {"JOB": {"1145655": {"SEEN": 1298937600, "END": 1298944800}, "1145656": {"SEEN": 1298937700}}}
    more = {"FLUSH": average(60000000, 3), "BLOCKED": average(250000, 3), "BETWEEN": average(500000, 8)}
    failures = {"PROCESS": 2, "NODE": 1, "SYSTEM": 3}
    write("autopilot/good-all.scr", {"VERSION": 1, "UPTIME": 43200000000,
          "UNFLUSHED": 7200000000, "FAILURES": failures, "COST": average(12000000, 8), **more, "RUN": run})
    write("autopilot/good-closed.scr", without(autopilot, "RUN"))
    write("autopilot/bad-version-newer.scr", {**autopilot, "VERSION": 2})
    write("autopilot/bad-corrupt-no-version.scr", without(autopilot, "VERSION"))
    write("autopilot/bad-corrupt-version-0.scr", {**autopilot, "VERSION": 0})
    write("autopilot/bad-corrupt-uptime.scr", {**autopilot, "UPTIME": -1})
    write("autopilot/bad-corrupt-failures.scr", {**autopilot, "FAILURES": {"NODE": "some"}})
    write("autopilot/bad-corrupt-average.scr", {**autopilot, "COST": {"USEC": ["1", "2"]}})
    write("autopilot/bad-corrupt-run.scr", {**autopilot, "RUN": {"JOB": {"1145655": {"SEEN": "now"}}}})

    def cached(number, places):
        return {
            "NAME": "ckpt.%d" % number,
            "CKPT": 1,
            "DSETDESC": dataset(number),
            "LOCATION": places,
        }

    flush = {"DATASET": {"17": cached(17, ["CACHE"]), "18": cached(18, ["CACHE", "PFS"])}}
    write("flush/good-two.scr", flush)
    outputs = {"%d" % i: {**without(cached(i, ["CACHE"]), "CKPT"), "OUTPUT": 1} for i in (15, 16)}
    write("flush/good-outputs.scr", {"DATASET": {**flush["DATASET"], **outputs}})
    write("flush/bad-corrupt-cut.scr", hash_file(flush)[:60])

    cache, prefix = "/tmp/user1/scr.1001186/scr.dataset.1/rank.0", "/p/user1/simulation123"
    transfer = {
        "FILES": {
            cache + "/rank_0.ckpt": {
                "DESTINATION": prefix + "/ckpt.1/rank_0.ckpt",
                "SIZE": 524294,
                "WRITTEN": 524294,
            },
            cache + "/rank_0.aux": {
                "DESTINATION": prefix + "/ckpt.1/rank_0.aux",
                "SIZE": 124,
                "WRITTEN": 100,
            },
        },
        "PERCENT": "0.000000",
        "BW": "52428800.000000",
        "COMMAND": "RUN",
        "STATE": "STOPPED",
        "FLAG": "DONE",
    }
    write("transfer/good-two.scr", transfer)

    def file(**fields):
        one = {"DESTINATION": "/p/a", "SIZE": 10, "WRITTEN": 0}
        one.update(fields)
        return {"FILES": {"/tmp/a": one}}

    bad = {
        "percent": {**transfer, "PERCENT": "half"},
        "bw-negative": {**transfer, "BW": "-1.0"},
        "bw-infinite": {**transfer, "BW": "inf"},
        "command": {**transfer, "COMMAND": "DANCE"},
        "state": {**transfer, "STATE": "LIMBO"},
        "no-destination": {"FILES": {"/tmp/a": {"SIZE": 1}}},
        "destination-relative": file(DESTINATION="a"),
        "destination-dotdot": file(DESTINATION="/p/../etc/a"),
        "source-relative": {"FILES": {"a": {"DESTINATION": "/p/a", "SIZE": 1}}},
        "written-too-much": file(WRITTEN=11),
        "size-text": file(SIZE="big"),
    }
    for name, tree in bad.items():
        write("transfer/bad-corrupt-%s.scr" % name, tree)


def plans():
    d = {"ID": 18, "NAME": "ckpt.18", "CKPT": 18, "FLAG_CKPT": 1, "FLAG_OUTPUT": 0}
    plan = {"VERSION": 1, "STAMP": 1795302000123456, "DSET": d, "NODE": {"0": 2, "2": 2}}
    write("outgoing/good-manual.scr", plan)
    write("outgoing/good-full.scr", {**plan, "DSET": dataset(18), "NODE": {"0": 4}})
    write("outgoing/bad-version-2.scr", {**plan, "VERSION": 2})
    write("outgoing/bad-corrupt-version-0.scr", {**plan, "VERSION": 0})
    write("outgoing/bad-corrupt-no-version.scr", without(plan, "VERSION"))
    write("outgoing/bad-corrupt-no-dataset.scr", without(plan, "DSET"))
    write("outgoing/bad-corrupt-other-dataset.scr", {**plan, "DSET": {**d, "ID": 17}})
    write("outgoing/bad-corrupt-cut.scr", hash_file(plan)[:90])


# --- redundancy files: scr_redundancy_file(5) ---


def gf_mul(a, b):
    product = 0
    while b:
        if b & 1:
            product ^= a
        a = a << 1 ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return product


def gf_inverse(a):
    return next(x for x in range(1, 256) if gf_mul(a, x) == 1)


def coefficient(scheme, nd, np, parity, symbol):
    if scheme == "PARTNER" or np == 1 or nd == 1:
        return 1
    return gf_inverse((nd + parity) ^ symbol)


def parity_bytes(scheme, k, data):
    """The parity of each member, from the logical files."""
    n = len(data)
    if scheme == "PARTNER":
        return [b"".join(data[(i - 1 - s) % n] for s in range(k)) for i in range(n)]
    nd = n - k
    chunk = max(1, -(-max(map(len, data)) // nd))
    rest = [d.ljust(nd * chunk, b"\0") for d in data]
    parity = [[None] * k for _ in range(n)]
    for row in range(n):
        holders = [(row + p) % n for p in range(k)]
        symbols = []
        for d in range(nd):
            member = (row + k + d) % n
            symbols.append(rest[member][:chunk])
            rest[member] = rest[member][chunk:]
        for p, member in enumerate(holders):
            out = bytearray(chunk)
            for d, symbol in enumerate(symbols):
                c = coefficient(scheme, nd, k, p, d)
                for b, byte in enumerate(symbol):
                    out[b] ^= gf_mul(c, byte)
            parity[member][p] = bytes(out)
    return [b"".join(slots) for slots in parity]


def crc_text(data):
    return "0x%08x" % zlib.crc32(data)


def redundancy_set(name, scheme, k, dset, world, ranks, files):
    """files[i]: list of (name, bytes) of member i."""
    n = len(ranks)
    data = [b"".join(content for _, content in member) for member in files]
    parity = parity_bytes(scheme, k, data)
    chunk = 0 if scheme == "PARTNER" else len(parity[0]) // k

    def current(i):
        metas = {
            str(f): {"FILE": file_name, "SIZE": len(content), "CRC": crc_text(content)}
            for f, (file_name, content) in enumerate(files[i])
        }
        tree = {"RANK": ranks[i], "FILES": len(files[i]), "FILE": metas}
        tree["CHUNKCRC"] = crc_text(parity[i])
        return tree

    for i in range(n):
        tree = {
            "DSET": dset,
            "RANKS": world,
            "TYPE": scheme,
            "FAILURES": k,
            "GROUP": {"RANKS": n, "RANK": {str(m): r for m, r in enumerate(ranks)}},
            "MEMBER": i,
            "CHUNK": chunk,
            "CURRENT": current(i),
        }
        for j in range(1, min(max(1, k), n - 1) + 1):
            tree["PARTNER" + (str(j) if j > 1 else "")] = current((i - j) % n)
        path = "redundancy/%s/%d_of_%d_in_%d.%s" % (name, i + 1, n, min(ranks), scheme.lower())
        write(path, hash_file(tree) + parity[i])


def content(member, file, size):
    return bytes((member * 31 + file * 7 + b * b) & 255 for b in range(size))


def redundancy():
    redundancy_set("example", "XOR", 1, 6, 2, [0, 1], [[("a", b"abc")], [("b", b"hello")]])
    sizes = [[40, 0, 3], [1, 1, 1], [0, 0, 0], [17, 100, 5], [64, 2, 2]]
    files = [
        [("f%d" % f, content(i, f, size)) for f, size in enumerate(member)]
        for i, member in enumerate(sizes)
    ]
    ranks = [3, 7, 11, 12, 20]
    for name, scheme, k in [
        ("xor", "XOR", 1),
        ("partner", "PARTNER", 1),
        ("partner2", "PARTNER", 2),
        ("rs1", "RS", 1),
        ("rs2", "RS", 2),
        ("rs3", "RS", 3),
        ("rs4", "RS", 4),
    ]:
        redundancy_set(name, scheme, k, 18, 32, ranks, files)


# --- the examples printed in the manual pages ---


def examples():
    file = {"/ssd/u/scr.7/scr.dataset.6/rank.2/a": {"META": {"SIZE": 5, "CRC": "0x3610a686"}}}
    entry = {"FILES": 1, "FILE": file}
    write(
        "filemap/good-manual.scr",
        {"DSET": {"6": {"RANK": 2}}, "RANK": {"2": {"DSET": {"6": entry}}}},
    )
    d = {"ID": 6, "NAME": "ckpt.6", "SIZE": 10, "FILES": 2, "FLAG_CKPT": 1, "FLAG_OUTPUT": 0}
    write(
        "index/good-manual.scr",
        {
            "VERSION": 2,
            "DSET": {"6": {"DSET": d, "COMPLETE": 1, "FLUSHED": T1}},
            "NAME": {"ckpt.6": {"DSET": 6}},
            "CURRENT": "ckpt.6",
        },
    )
    write("summary/good-manual.scr", {"VERSION": 6, "COMPLETE": 1, "DSET": d})
    ranks = {
        "0": {"FILE": {"ckpt.6/a": {"SIZE": 5, "CRC": "0x3610a686"}}},
        "1": {"FILE": {"ckpt.6/b": {"SIZE": 5, "CRC": "0x3610a686"}}},
    }
    write("rank2file/good-manual.scr", {"LEVEL": 1, "RANKS": 2, "RANK": {"0": {"FILE": ".0.0", "OFFSET": 0}}})
    write("rank2file/good-manual-part.scr", {"LEVEL": 0, "RANKS": 2, "RANK": ranks})
    write(
        "flush/good-manual.scr",
        {"DATASET": {"18": {"NAME": "ckpt.18", "CKPT": 1, "LOCATION": ["CACHE", "PFS"]}}},
    )
    write("halt/good-manual.scr", {"CheckpointsLeft": 7, "ExitReason": "SCR_FINALIZE_CALLED"})
    write(
        "transfer/good-manual.scr",
        {
            "FILES": {"/ssd/a": {"DESTINATION": "/p/a", "SIZE": 24, "WRITTEN": 0}},
            "PERCENT": "0.000000",
            "BW": "52428800.000000",
            "COMMAND": "RUN",
            "STATE": "STOPPED",
        },
    )


# --- a prefix directory as the existing SCR 3.x leaves it ---


def job_byte(rank, file, seed, i):
    """Contents of the files of tests/mpi/helper_job.c."""
    x = i * 2654435761 + rank * 131 + file * 17 + seed * 7919
    return (x >> 13 ^ x) & 255


def job_file(rank, file, seed):
    """Name and contents: test_core_scr3.c says how long they are."""
    name = "file0.%d" % rank if file == 0 else "rank.%d/state" % rank
    size = 100 + 10 * rank + file
    return "step.%d/%s" % (seed, name), bytes(job_byte(rank, file, seed, i) for i in range(size))


def scr3_prefix():
    """Two checkpoints of four ranks; neither size nor checksum of a file is recorded."""
    top = "prefix/scr3"
    datasets = {}
    for number, writers in ((1, [0]), (3, [0, 2])):
        files = {r: dict(job_file(r, f, number) for f in range(2)) for r in range(4)}
        for contents in files.values():
            for name, data in contents.items():
                write("%s/%s" % (top, name), data)
        size = sum(len(data) for contents in files.values() for data in contents.values())
        d = dataset(number, "ckpt.%d" % number, SIZE=size, FILES=8)
        where = "%s/.scr/scr.dataset.%d" % (top, number)
        datasets[str(number)] = {"DSET": d, "COMPLETE": 1, "FLUSHED": T1 if number == 1 else T2}
        write(where + "/summary.scr", {"VERSION": 6, "COMPLETE": 1, "DSET": d})
        root = {w: {"FILE": ".0.%d" % w, "OFFSET": 0} for w in writers}
        write(where + "/rank2file", {"LEVEL": 1, "RANKS": 4, "RANK": root})
        for w, end in zip(writers, writers[1:] + [4]):
            ranks = {r: {"FILE": list(files[r])} for r in range(w, end)}
            part = {"LEVEL": 0, "RANKS": 4, "RANK": ranks}
            # hash files without a checksum are read as well
            data = enclosed(packed(part), flags=FLAG_CRC if w == 0 else 0)
            write("%s/rank2file.0.%d" % (where, w), data)
    index = {
        "VERSION": 2,
        "DSET": {**datasets, "4": {"DSET": dataset(4), "COMPLETE": 0}},
        "NAME": {"ckpt.%d" % i: {"DSET": i} for i in (1, 3, 4)},
        "CURRENT": "ckpt.3",
    }
    write(top + "/.scr/index.scr", index)


hash_files()
examples()
scr3_prefix()
filemaps()
indexes()
summaries()
rank2files()
small_files()
plans()
redundancy()
