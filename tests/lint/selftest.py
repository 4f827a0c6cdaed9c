#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A linter that finds nothing proves nothing: each rule is shown a small tree with one mistake
and a twin of it that is allowed."""
import os
import subprocess
import sys
import tempfile

LINT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lint.py")
HEAD = "/* SPDX-License-Identifier: BSD-3-Clause */\n"

DURABILITY = "doc/design/durability.md"
# Its test is the page itself: a case has one file.
RULE = """# Rules

### D1: once

Rule: It happens once.

Why: Twice costs more.

How:
- quickly

Test: `../doc/design/durability.md`
"""

# Two files of core, and where they are.
A = "void scr_a(void)\n{\n    scr_b();\n}\n"
TO_B = "@@ src/core/b.c\nvoid scr_b(void)\n{\n    scr_c();\n}\n"
FLOORS = "@@ ARCHITECTURE.md\n## Floors of core\n\n| floor | files |\n| --- | --- |\n| high | `a` |\n| low | `b` |\n"
ONE_FLOOR = FLOORS.replace("| high | `a` |\n", "").replace("`b`", "`a`, `b`")

# rule, path, text (after a line "@@ path" that of another file), whether it is to be found
CASES = [
    ("includes", "src/cfg/a.c", '#include "base/err.h"', False),
    ("includes", "src/base/a.c", '#include "cfg/cfg.h"', True),
    ("includes", "src/store/a.c", '#include "rm/rm.h"', True),
    ("includes", "src/red/a.c", "#include <mpi.h>", True),
    ("includes", "src/par/a.c", "#include <mpi.h>", False),
    ("includes", "tools/a.c", '#include "par/comm/comm.h"', True),
    ("includes", "tools/a.c", '#include "tool.h"', False),
    ("includes", "src/core/a.c", '#include "ctx.h"', True),
    ("includes", "src/new/a.c", "", True),
    ("calls", "src/store/a.c", "    fd = open(path, 0);", True),
    ("calls", "src/base/a.c", "    fd = open(path, 0);", False),
    ("calls", "src/store/a.c", "    fd = sys->open(path, 0);", False),
    ("calls", "src/store/a.c", "    scr_open(path);", False),
    ("calls", "src/store/a.c", "    /* open(path) */ log(\"open(x)\");", False),
    ("calls", "src/core/a.c", "    return rename(a, b);", True),
    ("calls", "src/core/a.c", "    s = getenv(\"USER\");", True),
    ("calls", "src/cfg/a.c", "    s = getenv(\"USER\");", False),
    ("calls", "src/base/a.c", "extern char **environ;", True),
    ("calls", "tools/a.c", "    if (fork() == 0)", True),
    ("calls", "src/rm/a.c", "    execvp(argv[0], argv);", False),
    ("calls", "src/core/a.c", "    exit(1);", True),
    ("calls", "src/core/a.c", "    MPI_Abort(comm, 1);", True),
    ("calls", "src/api/a.c", "    exit(0);", False),
    ("calls", "src/api/a.c", "    abort();", True),
    ("calls", "tools/main.c", "    exit(1);", False),
    ("banned", "src/base/a.c", "    strcpy(a, b);", True),
    ("banned", "src/base/a.c", "    n = atoi(text);", True),
    ("banned", "tests/unit/a.c", "    sprintf(a, b);", True),
    ("banned", "src/base/a.c", "    snprintf(a, n, b);", False),
    ("spdx", "src/base/a.c", "", False),
    ("words", "doc/a.md", "see /home/somebody/x", True),
    ("words", "doc/a.md", "see $HOME/x and /tmp/x", False),
    ("words", "src/base/a.c", "/* TODO */", True),
    ("words", "src/base/a.c", "int a; ", True),
    ("words", "src/base/a.c", "/* " + "a" * 86 + " */", True),
    ("words", "src/base/a.c", "/* " + "é" * 82 + " */", False),
    ("plain", "doc/guide/a.md", "The run goes on.", True),
    ("plain", "doc/guide/a.md", "The run continues.", False),
    ("plain", "doc/guide/a.md", "It is kept. One that is damaged is not.", True),
    ("plain", "examples/a.md", "Nobody knows.", False),
    ("plain", "doc/design/durability.md", "A plan is given up.", True),
    ("plain", "CHANGELOG.md", "Whoever reads it.", True),
    ("plain", "tests/unit/a.c", "static void a_run_that_is_told_to_stops(void **state)", True),
    ("plain", "tests/unit/a.c", "static void a_run_that_must_stop_stops(void **state)", False),
    ("plain", "tests/unit/a.c", "/* told */ int a; /* It is told. */", True),
    ("rules", DURABILITY, RULE, False),
    ("rules", DURABILITY, RULE.replace("D1", "D2"), True),
    ("rules", "doc/design/security.md", RULE.replace("D1", "S1").replace("durability", "security"), False),
    ("rules", "doc/design/security.md", RULE.replace("durability", "security"), True),
    ("rules", DURABILITY, RULE.replace("once.", "once. Or twice."), True),
    ("rules", DURABILITY, RULE.replace("Why", "Reason"), True),
    ("rules", DURABILITY, RULE.replace("`../", "`unit/"), True),
    ("rules", DURABILITY, RULE.replace("Test:", "Tests:"), True),
    ("rules", DURABILITY, "# No rules", True),
    ("plain", "src/base/a.c", '    scr_log(log, "the run " "goes on");', True),
    ("plain", "src/base/a.c", '    scr_log(log, "the run continues"); /* nobody */', False),
    ("plain", "src/base/a.c", '    scr_log(log, "give it a directory of its own");', True),
    ("plain", "src/base/a.c", '    scr_log(log, "give it its own directory");', False),
    ("plain", "src/base/a.c", '    scr_log(log, "of another number of ranks");', True),
    ("plain", "src/base/a.c", '    scr_log(log, "Who reads it waits.");', True),
    ("plain", "src/base/a.c", '    scr_log(log, "What the node has is copied.");', True),
    ("plain", "src/base/a.c", "/* nobody */ int a; /* One that is not. */", True),
    ("parameters", "src/base/a.c", "int f(int a, int b, int c, int d, int e,\n      int f, int g)\n{\n}", True),
    ("parameters", "src/base/a.c", "int f(int a, int b, int c, int d, int e, int f)\n{\n}", False),
    ("parameters", "src/base/a.h", "int f(int, int, int, int, int, int, int);", True),
    ("parameters", "src/base/a.h", "typedef int f(int, int (*g)(int, int), int, int, int, int);", False),
    ("parameters", "src/base/a.h", "    int (*f)(int, int, int, int, int, int, int);", True),
    ("parameters", "src/base/a.c", "int f(void)\n{\n    return g(1, 2, 3, 4, 5, 6, 7);\n}", False),
    ("parameters", "interpose/a.c", "int MPI_X(int, int, int, int, int, int, int);", False),
    ("parameters", "tests/unit/a.c", "int f(int, int, int, int, int, int, int);", False),
    ("floors", "src/core/a.c", A + TO_B + FLOORS, False),
    ("floors", "src/core/a.c", A + TO_B + FLOORS.replace("`b`", "b"), True),
    ("floors", "src/core/a.c", A + TO_B.replace("scr_c();", "scr_a();") + FLOORS, True),
    ("floors", "src/core/a.c", A + TO_B.replace("scr_c();", "scr_a();") + ONE_FLOOR, True),
    ("floors", "src/core/a.c", A + TO_B + ONE_FLOOR, False),
    ("unique", "src/core/a.c", "@@ src/par/b.c", False),
    ("unique", "src/core/a.c", "@@ src/par/a.c", True),
    ("mains", "tests/mpi/a.c", "int main(void)\n{\n    if (a())\n        return b();\n}", True),
    ("mains", "tests/mpi/a.c", "int main(void)\n{\n    if (a())\n        return b();\n    return c(1,\n        2);\n}",
     False),
]


def found(rule, path, text):
    with tempfile.TemporaryDirectory(prefix="scr-lint.") as root:
        for part in f"@@ {path}\n{text}".split("@@ ")[1:]:
            name, _, content = part.partition("\n")
            os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                f.write((HEAD if name.endswith(".c") else "") + content + "\n")
        return subprocess.run([sys.executable, "-B", LINT, rule, root],
                              stdout=subprocess.DEVNULL, check=False).returncode == 1


def main():
    wrong = [c for c in CASES if found(*c[:3]) != c[3]]
    for rule, path, text, expected in wrong:
        print(f"{rule}: {path}: '{text}' should{'' if expected else ' not'} be found")
    print(f"selftest: {len(CASES)} cases, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


main()
