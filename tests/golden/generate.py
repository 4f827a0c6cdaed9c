#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the golden files of the formats, beside this script: <format>/good-*.scr and
<format>/bad-<error>-*.scr.

It is a second encoder, written from the manual pages and sharing nothing with the C code: the
tests decode every good file and must encode it to the same bytes, and every bad file must give
the error in its name. The outputs are committed; run it again only to add files.
"""
import struct

from encode import FLAG_CRC, MAGIC, NODES, T1, TYPE, VERSION, dataset, enclosed, hash_file, packed, without, write
from prefix_files import indexes, rank2files, scr3_prefix, summaries
from redundancy_files import redundancy


# --- hash files ---


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


# --- filemaps ---


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


# --- small files ---


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
