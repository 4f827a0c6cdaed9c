#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Fortran interfaces have what scr.h has: fortran.py SOURCE_DIR [LIBSCRF]

Constants have its values, calls its arguments and the error code after them, in scrf.h, in the
module scr and, as entries, in scrf.c. Nothing else is in them, and the selftest at the end shows that
differences are found. LIBSCRF has each call by the three names that compilers make of it."""
import os
import re
import subprocess
import sys

# C calls without a counterpart, and why; arguments that stand for what a C call returns.
WITHOUT = {"SCR_Configf"} # a printf format; Fortran writes into a variable and calls SCR_Config
RETURNED = {"SCR_Config": ["val"], "SCR_Config_comm": ["val"], "SCR_Get_version": ["version"]}


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def sources(root):
    return {"scr.h": read(root, "include", "scr.h"),
            **{name: read(root, "bindings", "fortran", name)
               for name in ("scrf.h", "scr_module.f90", "scrf.c")}}


# --- scr.h ---

def c_constants(text):
    joined = re.sub(r"/\*.*?\*/", "", text.replace("\\\n", " "), flags=re.S)
    rows = re.findall(r"^#define (SCR_\w+)[ \t]+\(?(-?\d+)\)?[ \t]*$", joined, re.M)
    return {name: int(value) for name, value in rows}


def c_calls(text):
    """{"SCR_Have_restart": ["flag", "name"]}"""
    calls = {}
    for name, args in re.findall(r"^SCR_API [^;(]*?\*?(SCR_\w+)\(([^)]*)\)", text, re.M):
        names = [] if args.strip() == "void" else re.findall(r"(\w+)(?:,|$)", args)
        calls[name] = names + RETURNED.get(name, [])
    return {name: args for name, args in calls.items() if name not in WITHOUT}


# --- Fortran ---

def header_constants(text):
    rows = re.findall(r"^ {6}parameter \((SCR_\w+) = (-?\d+)\)$", text, re.M)
    return {name: int(value) for name, value in rows}


def header_calls(text):
    """Of '! call SCR_X(A, IERROR) …'."""
    rows = re.findall(r"^! +call (SCR_\w+)\(([A-Z, ]+)\)", text, re.M)
    return {name: [a.strip().lower() for a in args.split(",")] for name, args in rows}


def module_constants(text):
    rows = re.findall(r"^ +integer, parameter, public :: (SCR_\w+) = (-?\d+)$", text, re.M)
    return {name: int(value) for name, value in rows}


def module_calls(text):
    """Arguments of the public subroutines, of every specific one of a generic name."""
    public = re.findall(r"scr_\w+", " ".join(re.findall(r"^    public :: (.*)$", text, re.M)))
    generic = dict(re.findall(r"^    interface (scr_\w+)\n +module procedure ([\w, ]+)$", text, re.M))
    bodies = dict(re.findall(r"^    subroutine (\w+)\(([\w, ]*)\)$", text, re.M))
    return {name: [[a.strip() for a in bodies.get(p.strip(), "").split(",")]
                   for p in generic.get(name, name).split(",")] for name in public}


def entries(text):
    """{"scr_init": ("SCR_INIT", ["ierr"])} of the rows ENTRIES(lower, UPPER, (parameters), …)."""
    rows = re.findall(r"^ENTRIES\((\w+), (\w+),\s*\(([^)]*)\)", text, re.M)
    return {lower: (upper, re.findall(r"(\w+)(?:,|$)", args)) for lower, upper, args in rows}


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split("\n")
    return {line.split()[2] for line in lines if " T " in line}


# --- what differs ---

def compare(where, got, want):
    for name in sorted(set(want) - set(got)):
        yield f"{where}: {name} is missing"
    for name in sorted(set(got) - set(want)):
        yield f"{where}: {name} is not in scr.h"
    for name in sorted(set(got) & set(want)):
        if got[name] != want[name]:
            yield f"{where}: {name} is {got[name]}, in scr.h {want[name]}"


def check_constants(files):
    want = c_constants(files["scr.h"])
    yield from compare("scrf.h", header_constants(files["scrf.h"]), want)
    yield from compare("scr_module.f90", module_constants(files["scr_module.f90"]), want)


def check_calls(files):
    calls = c_calls(files["scr.h"])
    classic = {name.upper(): args + ["ierror"] for name, args in calls.items()}
    yield from compare("scrf.h", header_calls(files["scrf.h"]), classic)

    module = module_calls(files["scr_module.f90"])
    want = {name.lower(): [args + ["ierr"]] * len(module.get(name.lower(), [1]))
            for name, args in calls.items()}
    yield from compare("scr_module.f90", module, want)


def check_entries(files):
    got = entries(files["scrf.c"])
    for name, args in c_calls(files["scr.h"]).items():
        upper, parameters = got.pop(name.lower(), (None, []))
        # lengths of text follow the error code
        if upper != name.upper() or parameters[:len(args) + 1] != args + ["ierr"]:
            yield f"scrf.c: entries of {name} are {upper}{tuple(parameters)}"
    for name in got:
        yield f"scrf.c: {name} is not in scr.h"


def check_bound(files):
    module = files["scr_module.f90"]
    known = set(c_calls(files["scr.h"])) | set(re.findall(r"^SCR_API int (scrf_\w+)\(", files["scrf.c"], re.M))
    for name in sorted(set(re.findall(r"bind\(C, name='(\w+)'\)", module)) - known):
        yield f"scr_module.f90: binds to {name}, which there is not"


def check_library(files, names):
    for name in c_calls(files["scr.h"]):
        for entry in (name.lower() + "_", name.lower() + "__", name.upper()):
            if entry not in names:
                yield f"libscrf: {entry} is missing"


def check_form(files):
    """scrf.h is included in fixed and in free form."""
    for number, line in enumerate(files["scrf.h"].split("\n"), 1):
        if len(line) > 72:
            yield f"scrf.h:{number}: longer than 72 characters"
        if line and line[0] != "!" and not line.startswith(" " * 6):
            yield f"scrf.h:{number}: neither a comment nor indented by 6"


def findings_of(files):
    return [text for check in (check_constants, check_calls, check_entries, check_bound, check_form)
            for text in check(files)]


# --- each of these must be found ---

CHANGES = [
    ("scr.h", "#define SCR_MAX_FILENAME 1024", "#define SCR_MAX_FILENAME 4096"),
    ("scr.h", "#define SCR_FLAG_OUTPUT     2", "#define SCR_FLAG_OUTPUT     4"),
    ("scr.h", "#define SCR_FLAG_CHECKPOINT 1", "#define SCR_FLAG_CHECKPOINT 1\n#define SCR_FLAG_NEW 8"),
    ("scr.h", "int SCR_Drop(const char *name);", "int SCR_Drop(const char *name, int how);"),
    ("scr.h", "SCR_API int SCR_Init(void);", "SCR_API int SCR_Init(void);\nSCR_API int SCR_New(int a);"),
    ("scrf.h", "call SCR_DROP(", "call SCR_DROPS("),
    ("scrf.h", "call SCR_COMPLETE_RESTART(VALID, IERROR)", "call SCR_COMPLETE_RESTART(IERROR)"),
    ("scr_module.f90", "subroutine have_restart_log(flag, name, ierr)", "subroutine have_restart_log(flag, ierr)"),
    ("scr_module.f90", "scr_delete, scr_drop", "scr_delete"),
    ("scr_module.f90", "'SCR_Init'", "'SCR_Start'"),
    ("scrf.c", "SCR_DELETE,", "SCR_DELETED,"),
    ("scrf.c", "(const char *name, int *ierr, scrf_len n),\n        scrf_drop", "(int *ierr, scrf_len n),\n        scrf_drop"),
]


def selftest(files):
    for name, old, new in CHANGES:
        if old not in files[name]:
            yield f"selftest: {name} has no '{old}' to change"
        elif not findings_of({**files, name: files[name].replace(old, new)}):
            yield f"selftest: '{new}' in {name} is not found"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: fortran.py SOURCE_DIR [LIBSCRF]")
    files = sources(sys.argv[1])
    findings = findings_of(files)
    if len(sys.argv) == 3:
        findings += check_library(files, exported(sys.argv[2]))
    findings += selftest(files)
    for text in findings:
        print(text)
    print(f"fortran: {len(c_calls(files['scr.h']))} calls, {len(c_constants(files['scr.h']))} constants, "
          f"{len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


main()
