# SPDX-License-Identifier: BSD-3-Clause
"""Golden files of a prefix directory: indexes, summaries, rank2files, and a whole one as SCR 3.x leaves it."""
from encode import FLAG_CRC, NODES, T1, T2, T3, dataset, enclosed, hash_file, packed, without, write


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
