#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What programs built before rely on:

    abi.py CC SOURCE_DIR libscr.so libscr.a            compares with libscr.abi beside this file
    abi.py --fortran SOURCE_DIR libscrf.so libscrf.a   compares with libscrf.abi; if the library was built
                                                       without module scr, --classic in place of --fortran
    abi.py --write …                                   writes that file

libscr.abi has the soname, the exported symbols, the calls and the values of scr.h, and the numbers of
errors. libscrf.abi has the soname and the exported symbols, and the arguments and values of scrf.h and
of the module scr, whose symbols are those that GNU Fortran makes. A line that is gone or differs breaks
programs; a line that is new has to be entered. The archives are linked into programs: their global
names all begin with that of a library, but for what wraps a call of MPI."""
import pathlib
import re
import subprocess
import sys
import tempfile

OF_BINDINGS = "scr_bind_" # for libraries that are built with this one (src/api/bind.h)
OF_MODULE = "__scr_MOD_"
WRAPPED = {"MPI_File_open"} # in a member of its own, which a program that has one does not get
OF_THE_LINKER = {"_init", "_fini", "_edata", "_end", "__bss_start"}


def output(*argv: str) -> str:
    return subprocess.run(argv, check=True, text=True, capture_output=True).stdout


def symbols(*argv: str) -> set[str]:
    """First column of nm's portable format; lines of members end in a colon."""
    lines = output("nm", "--format=posix", "--defined-only", *argv).splitlines()
    return {line.split()[0] for line in lines if line and not line.endswith(":")} - OF_THE_LINKER


def exported(lib: str) -> list[str]:
    return [f"symbol {name}" for name in sorted(symbols("-D", lib)) if not name.startswith(OF_BINDINGS)]


def soname(lib: str) -> str:
    return "soname " + re.findall(r"\(SONAME\).*\[(.*)\]", output("readelf", "-d", lib))[0]


# --- C ---

def values(cc: str, header: pathlib.Path) -> list[str]:
    """Every constant of the header, as a program sees it, but for the version."""
    defined = re.findall(r"^#define (SCR_[A-Z_0-9]+) (\S.*)$", output(cc, "-E", "-dM", str(header)), re.M)
    names = sorted(name for name, text in defined if not text.startswith("__attribute__")
                   and not name.endswith("VERSION"))
    lines = "".join(f'printf("value {n} %lld\\n", (long long)({n}));' for n in names)
    with tempfile.TemporaryDirectory(prefix="scr-abi.") as tmp:
        source = pathlib.Path(tmp, "values.c")
        source.write_text(f'#include <stdio.h>\n#include "{header}"\nint main(void) {{ {lines} }}\n')
        output(cc, str(source), "-o", f"{tmp}/values")
        return output(f"{tmp}/values").splitlines()


def calls(cc: str, header: pathlib.Path) -> list[str]:
    with_mpi = "-DMPI_VERSION=3" # as after mpi.h
    text = " ".join(output(cc, "-E", "-P", with_mpi, str(header)).split())
    text = re.sub(r"__attribute__ ?\(\(.*?\)\)\)?(?=[ ;])", "", text)
    return [f"call {' '.join(c.split())}" for c in text.split(";") if "SCR_" in c]


def errors(source: pathlib.Path) -> list[str]:
    rows = re.findall(r"^X\((\w+), *(\d+),", (source / "src/defs/errors.def").read_text(), re.M)
    return [f"error SCR_E_{name} {number}" for name, number in rows]


def abi_of_c(cc: str, source: pathlib.Path, shared: str) -> list[str]:
    header = source / "include/scr.h"
    return [soname(shared), *exported(shared), *calls(cc, header), *values(cc, header), *errors(source)]


# --- Fortran ---

def classic(header: str) -> list[str]:
    """Of '! call SCR_X(A, IERROR)' and '!   INTEGER A' below it; and the parameters."""
    rows = re.findall(r"^! +call (SCR_\w+)(\([^)]*\))(?:\n! {7}(\S.*))?$", header, re.M)
    numbers = re.findall(r"^ {6}parameter \((SCR_\w+) = (-?\d+)\)$", header, re.M)
    calls_of = [f"call {name}{args} {types}".rstrip() for name, args, types in rows]
    return calls_of + [f"value {name} {n}" for name, n in numbers]


def module(text: str) -> list[str]:
    """Generic names, the public procedures with the types of their arguments in order, and constants."""
    public = set(re.findall(r"scr_\w+", " ".join(re.findall(r"^    public :: (.*)$", text, re.M))))
    generic = re.findall(r"^    interface (scr_\w+)\n +module procedure ([\w, ]+)$", text, re.M)
    public |= {name for _, specific in generic for name in specific.split(", ")}
    lines = [f"generic {name} {specific}" for name, specific in generic]
    bodies = re.findall(r"^    subroutine (\w+)\(([^)]*)\)\n(.*?)^    end subroutine", text, re.M | re.S)
    for name, args, body in bodies:
        if name in public:
            types = {arg: what for what, arg in re.findall(r"^ +(\S.*) :: (\w+)$", body, re.M)}
            lines.append(f"procedure {name}({'; '.join(f'{types[a]} :: {a}' for a in args.split(', '))})")
    numbers = re.findall(r"^ +integer, parameter, public :: (SCR_\w+) = (-?\d+)$", text, re.M)
    return lines + [f"constant {name} {n}" for name, n in numbers]


def abi_of_fortran(source: pathlib.Path, shared: str) -> list[str]:
    here = source / "bindings/fortran"
    return [soname(shared), *exported(shared), *classic((here / "scrf.h").read_text()),
            *module((here / "scr_module.f90").read_text())]


# --- what differs ---

def findings(found: list[str], listed: list[str], where: str) -> list[str]:
    gone = [f"gone or changed, breaks programs built before: {line}" for line in listed if line not in found]
    new = [f"new, not in {where} (abi.py --write): {line}" for line in found if line not in listed]
    return gone + new


def clashes(static: str, prefixes: tuple[str, ...]) -> list[str]:
    return [f"{static}: global name {name} may clash with one of a program"
            for name in sorted(symbols("-g", static)) if not name.startswith(prefixes) and name not in WRAPPED]


def without_module(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith(f"symbol {OF_MODULE}")]


def main() -> int:
    args = [a for a in sys.argv[1:] if a != "--write"]
    if len(args) != 4:
        sys.exit("usage: abi.py [--write] CC|--fortran|--classic SOURCE_DIR SHARED STATIC")
    what, source, shared, static = args
    fortran = what in ("--fortran", "--classic")
    root = pathlib.Path(source).resolve()
    found = abi_of_fortran(root, shared) if fortran else abi_of_c(what, root, shared)
    file = pathlib.Path(__file__).with_name("libscrf.abi" if fortran else "libscr.abi")
    if "--write" in sys.argv:
        file.write_text("\n".join(found) + "\n")
    listed = file.read_text().splitlines()
    bad = findings(found, without_module(listed) if what == "--classic" else listed, file.name)
    bad += clashes(static, ("scr_", "SCR_", "scrf_", OF_MODULE) if fortran else ("scr_", "SCR_"))
    print(*bad, f"abi: {len(found)} lines compared, {len(bad)} finding(s)", sep="\n")
    return 1 if bad else 0


sys.exit(main())
