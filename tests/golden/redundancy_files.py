# SPDX-License-Identifier: BSD-3-Clause
"""Golden redundancy files: scr_redundancy_file(5)."""
import zlib

from encode import hash_file, write


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
