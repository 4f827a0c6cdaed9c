#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What programs built against libscr rely on, compared with a list.

    abi.py CC SOURCE_DIR libscr.so libscr.a            compares with libscr.abi beside this file
    abi.py --write CC SOURCE_DIR libscr.so libscr.a    writes that file

The list has the soname, the exported symbols, the calls and the values of scr.h, and the numbers
of errors. A line that is gone or differs breaks programs; a line that is new has to be entered.
libscr.a is linked into programs: its global names all begin with scr_ or SCR_."""
import pathlib
import re
import subprocess
import sys
import tempfile

LIST = pathlib.Path(__file__).with_name("libscr.abi")
OF_BINDINGS = "scr_bind_" # for libraries that are built with this one (src/api/bind.h)
OF_THE_LINKER = {"_init", "_fini", "_edata", "_end", "__bss_start"}


def output(*argv: str) -> str:
    return subprocess.run(argv, check=True, text=True, capture_output=True).stdout


def symbols(*argv: str) -> set[str]:
    """First column of nm's portable format; lines of members end in a colon."""
    lines = output("nm", "--format=posix", "--defined-only", *argv).splitlines()
    return {line.split()[0] for line in lines if line and not line.endswith(":")} - OF_THE_LINKER


def soname(lib: str) -> str:
    return re.findall(r"\(SONAME\).*\[(.*)\]", output("readelf", "-d", lib))[0]


def values(cc: str, header: pathlib.Path) -> list[str]:
    """Every constant of the header, as a program sees it."""
    defined = re.findall(r"^#define (SCR_[A-Z_0-9]+) (\S.*)$", output(cc, "-E", "-dM", str(header)), re.M)
    names = sorted(name for name, text in defined if not text.startswith("__attribute__"))
    lines = "".join(f'printf("value {n} %lld\\n", (long long)({n}));' for n in names)
    with tempfile.TemporaryDirectory(prefix="scr-abi.") as tmp:
        source = pathlib.Path(tmp, "values.c")
        source.write_text(f'#include <stdio.h>\n#include "{header}"\nint main(void) {{ {lines} }}\n')
        output(cc, str(source), "-o", f"{tmp}/values")
        return output(f"{tmp}/values").splitlines()


def calls(cc: str, header: pathlib.Path) -> list[str]:
    text = " ".join(output(cc, "-E", "-P", str(header)).split())
    text = re.sub(r"__attribute__ ?\(\(.*?\)\)\)?(?=[ ;])", "", text)
    return [f"call {' '.join(c.split())}" for c in text.split(";") if "SCR_" in c]


def errors(source: pathlib.Path) -> list[str]:
    rows = re.findall(r"^X\((\w+), *(\d+),", (source / "src/defs/errors.def").read_text(), re.M)
    return [f"error SCR_E_{name} {number}" for name, number in rows]


def abi(cc: str, source: pathlib.Path, shared: str) -> list[str]:
    header = source.resolve() / "include/scr.h"
    exported = [f"symbol {name}" for name in sorted(symbols("-D", shared)) if not name.startswith(OF_BINDINGS)]
    return [f"soname {soname(shared)}", *exported, *calls(cc, header), *values(cc, header),
            *errors(source)]


def findings(found: list[str], listed: list[str], static: str) -> list[str]:
    gone = [f"gone or changed, breaks programs built before: {line}" for line in listed if line not in found]
    new = [f"new, not in {LIST.name} (abi.py --write): {line}" for line in found if line not in listed]
    clash = [f"{static}: global name {name} may clash with one of a program"
             for name in sorted(symbols("-g", static)) if not name.startswith(("scr_", "SCR_"))]
    return gone + new + clash


def main() -> int:
    args = [a for a in sys.argv[1:] if a != "--write"]
    if len(args) != 4:
        sys.exit("usage: abi.py [--write] CC SOURCE_DIR libscr.so libscr.a")
    cc, source, shared, static = args
    found = abi(cc, pathlib.Path(source), shared)
    if "--write" in sys.argv:
        LIST.write_text("\n".join(found) + "\n")
    bad = findings(found, LIST.read_text().splitlines(), static)
    print(*bad, f"abi: {len(found)} lines compared, {len(bad)} finding(s)", sep="\n")
    return 1 if bad else 0


sys.exit(main())
