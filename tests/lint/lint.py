#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rules of the source tree that a compiler does not check.

    lint.py RULE SOURCE_DIR        RULE: includes | calls | banned | spdx | words | plain | parameters | rules |
                                   floors | unique | mains

Prints "file:line: what is wrong" for each finding; ends 1 if there is any.
"""
import os
import re
import sys

# What a file of a layer may include, itself aside. ARCHITECTURE.md draws the picture.
BELOW = {
    "base": [],
    "cfg": ["base"],
    "fmt": ["base"],
    "ec": ["base"],
    "store": ["base", "cfg", "fmt", "ec"],
    "xfer": ["base", "cfg", "fmt", "ec"],
    "rm": ["base", "cfg", "fmt", "ec"],
    "red": ["base", "cfg", "fmt", "ec", "store", "xfer", "rm"],
    "ops": ["base", "cfg", "fmt", "ec", "store", "xfer", "rm", "red"],
    "par": ["base", "cfg", "fmt", "ec", "store", "xfer", "rm", "red"],
    "core": ["base", "cfg", "fmt", "ec", "store", "xfer", "rm", "red", "ops", "par"],
    "api": ["base", "cfg", "fmt", "ec", "store", "xfer", "rm", "red", "ops", "par", "core"],
    "interpose": ["base", "api"], # a library of its own, over libscr as programs see it
}
# Where sources are.
SOURCES = ["src", "tools", "interpose"]
MPI_LAYERS = {"par", "core", "api", "interpose"}
TOOLS_BELOW = [layer for layer in BELOW if layer not in MPI_LAYERS]

# Calls that only some places make: names, paths (prefixes) where they are allowed, why.
# api/ ends the process in one place only, the documented halt.
CALLS = [
    ("open open64 openat creat fopen fdopen freopen fopen64 unlink unlinkat remove rename "
     "renameat renameat2 mkdir mkdirat rmdir mkstemp mkostemp mkdtemp tmpfile opendir fdopendir "
     "scandir nftw ftw stat lstat fstat fstatat statvfs truncate ftruncate fsync fdatasync "
     "chmod fchmod chown lchown fchown symlink symlinkat link linkat readlink readlinkat flock "
     "utimensat futimens access faccessat mmap munmap pread pwrite readv writev sendfile "
     "copy_file_range",
     ["src/base/", "interpose/wrap_files.c", "interpose/wrap_names.c"],
     "file-system calls belong to base/, through struct scr_sys"),
    ("getenv secure_getenv setenv unsetenv putenv clearenv",
     ["src/cfg/", "interpose/ip.c"], "only cfg/ knows the environment"),
    ("fork vfork execl execle execlp execv execve execvp execvpe fexecve posix_spawn "
     "posix_spawnp waitpid wait wait4 waitid pipe pipe2",
     ["src/base/proc.c", "src/rm/"], "only base/proc.c and rm/ start processes"),
    ("exit _exit _Exit quick_exit abort MPI_Abort assert __builtin_trap",
     ["tools/main.c", "src/base/proc.c", "src/api/", "interpose/wrap_mpi.c"],
     "nothing ends the process but tools/main.c and the documented halt"),
]
EXIT_IN_API = {"exit"}

# Never, anywhere: no bounds, hidden state, or no errors.
BANNED = ("strcpy strcat sprintf vsprintf strtok atoi atol atoll atof gets system popen "
          "alloca strncpy strncat tmpnam mktemp rand srand "
          "gmtime localtime ctime asctime "
          "strerror_r readdir_r usleep signal")
BANNED_EVERYWHERE = "strcpy strcat sprintf vsprintf strtok atoi atol atoll atof gets tmpnam mktemp"

# Marks of the machine something was written on: pattern, what it is, suffixes or directories
# where it is fine.
WORDS = [
    (r"(?<![\w.$}])/(root|Users|work|export|media)/", "path of one machine", ()),
    (r"(?<![\w.$}])/home/", "path of one machine", ("tests/unit/", "tests/cli/")),
    (r"\b(TODO|FIXME|HACK)\b", "unfinished business: mend it or write it down elsewhere", ()),
    (r"[ \t]+$", "blanks at the end of the line", (".md", ".hex", ".txt")),
]
# What readers of documents and messages have to read twice: vague subjects, sentences
# without one, and words with a plainer twin.
VAGUE = (
    r"\b([Nn]obody|[Ss]omebody|[Ww]hoever|[Ll]ikewise|go(es)? on\b(?! stderr)|for want of|but for\b|"
    r"lies? in\b|looks? after|(is|are|was) told)|(^|[.:*] )(One that|What is|The same but)\b")
# Words that were replaced, by what: the term of the field, or a sentence in the usual order.
DROPPED = (
    r"(?<![\w/.`*-])("
    r"lest|ere|where(of|in|upon)|there(of|in|by|upon)|whence|thence|amiss|anew|upon|nought|anybody|everybody|"
    r"besides?|"                                              # next to, in addition to, except
    r"of (its|their|his|one's) own|"                          # its own …
    r"(is|are|was|were) to be|to be had|"                     # must, should, will; exists
    r"another number of|"                                     # a different number of
    r"(may|might|will) pass|"                                 # a transient error
    r"g(ive|ives|ave|iven) way|lets? go|"                     # is replaced; releases
    r"giv(e|es|en|ing) up|gave up|done with|"                 # cancelled, superseded
    r"mend(s|ed|ing)?|reviv(e|es|ed|ing)|"                    # repair, rebuild, restore
    r"adopt(s|ed|ing|ion)|flee|fled|lends?|lent|"             # import, complete; skip ahead; sends
    r"tenancy|tenant|weaken(s|ed|ing)?|holdings?|"            # job lock; reduced protection; file list
    r"judg(e|es|ed|ing)|go(es)? by|"                          # decide; use
    r"tells?|told|says? so|said so|"                          # report, print, warn
    r"l(ies?|ying|ay) (there|below|under|behind|on|at|in|by)|" # is stored in
    r"forg[eo]t(s|ten)?|takes? stock|sought|dealt|ever after|makes? do|"
    r"(for|in) whose|of which|of whom|out of (its|the|their) way|save for"
    r")(?![\w/]|\.[ch]\b|-)"
    r"|\bNor (do|does|did|is|are|has|have|can)\b"             # a sentence in the usual order
    r"|[;,:.] [Ss]o (is|are|does|do|did|has|have|can) (?!(far|that)\b)"
    r"|(^|\"|[.:;,(*] |\b(and|but|than) )[Ww]ho [a-z]+s\b"       # the rank that …
    r"|\b(is|are|was|were) there(?=[.,;:)]|$)"                # exists
    r"|(^|\"|[.:*] )(What (?!(is|does|do|are|was|to|you|for|a|SCR does)\b)[a-z]+|Whose|Of (those|what))\b(?![^.]*\?)")
PLAIN = ("include/scr.h", "README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "doc/man", "doc/guide/",
         "doc/design/")
# Pages of numbered rules, by the letters of the rules.
NUMBERED = {"doc/design/durability.md": "DCP", "doc/design/security.md": "S"}
VAGUE = re.compile(VAGUE, re.M)
UNCLEAR = re.compile(f"{VAGUE.pattern}|{DROPPED}", re.M)

COLUMNS = 88
PARAMETERS = 6

WORDS_SKIP_DIRS = {".git", "build", "golden", "__pycache__"}


def walk(root, tops, suffixes):
    """Files under root/<top> ending in one of suffixes, relative to root."""
    for top in tops:
        for dirpath, dirs, files in os.walk(os.path.join(root, top)):
            dirs[:] = sorted(d for d in dirs if d not in WORDS_SKIP_DIRS and not d.startswith("build"))
            for name in sorted(files):
                if name.endswith(suffixes):
                    yield os.path.relpath(os.path.join(dirpath, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_lines(text):
    """The lines of a C file with comments and the insides of literals blanked out."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token[0] + token[0]
        return "\n" * token.count("\n") or " "
    return TOKEN.sub(blank, text).split("\n")


def layer_of(path):
    parts = path.split(os.sep)
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return parts[0]


def includes(root):
    for path in walk(root, SOURCES, (".c", ".h")):
        layer = layer_of(path)
        if layer == "defs":
            continue
        if layer != "tools" and layer not in BELOW:
            yield path, 1, f"unknown layer '{layer}'"
            continue
        allowed = TOOLS_BELOW if layer == "tools" else BELOW[layer]
        for number, line in enumerate(read(root, path).split("\n"), 1):
            yield from check_include(path, number, line, layer, allowed)


def check_include(path, number, line, layer, allowed):
    match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
    if not match:
        return
    kind, name = match.groups()
    target = name.split("/")[0]
    if name == "mpi.h" and layer not in MPI_LAYERS:
        yield path, number, f"{layer} includes mpi.h; only {', '.join(sorted(MPI_LAYERS))} may"
    elif kind == '"' and target in BELOW and target != layer and target not in allowed:
        yield path, number, f"{layer} includes {name}, which is not below it"
    elif kind == '"' and "/" not in name and layer not in ("tools", "api", "interpose"):
        yield path, number, f'write "{layer}/{name}": includes are relative to src/'


def words_pattern(names):
    return re.compile(r"(?<![\w.>])(" + "|".join(names.split()) + r")\s*\(")


def is_declaration(line, start):
    """'int (*open)(…)' and 'sys->open(…)' never match; 'int remove(…)' at column 0 does."""
    return re.match(r"^(static |extern )?[a-z][\w ]*[ *]$", line[:start]) is not None \
        and not line.startswith((" ", "\t", "return", "else"))


def find_calls(root, pattern, tops):
    for path in walk(root, tops, (".c", ".h")):
        for number, line in enumerate(code_lines(read(root, path)), 1):
            for match in pattern.finditer(line):
                if not is_declaration(line, match.start(1)):
                    yield path, number, match.group(1)


def calls(root):
    for names, places, why in CALLS:
        for path, number, name in find_calls(root, words_pattern(names), SOURCES):
            if not path.startswith(tuple(places)):
                yield path, number, f"{name}(): {why}"
            elif path.startswith("src/api/") and "src/api/" in places and name not in EXIT_IN_API:
                yield path, number, f"{name}(): {why}"
    environ = re.compile(r"(?<![\w.>])environ\b")
    for path in walk(root, SOURCES, (".c", ".h")):
        if path.startswith(("src/cfg/", "src/base/proc.c", "tools/main.c", "tools/tool.")):
            continue
        for number, line in enumerate(code_lines(read(root, path)), 1):
            if re.search(r"\bextern\b", line) and environ.search(line):
                yield path, number, "environ: only cfg/ knows the environment"


def banned(root):
    for names, tops in ((BANNED, SOURCES), (BANNED_EVERYWHERE, ["tests", "examples", "bindings"])):
        for path, number, name in find_calls(root, words_pattern(names), tops):
            yield path, number, f"{name}() is not used here; see STYLE in CONTRIBUTING.md"


def spdx(root):
    tops = SOURCES + ["include", "tests", "examples", "scripts", "cmake", "bench", "bindings", "packaging"]
    for path in walk(root, tops, (".c", ".h", ".def", ".py", ".sh", ".cmake", ".f", ".f90", ".cpp", ".hpp",
                                  "CMakeLists.txt")):
        if "SPDX-License-Identifier: BSD-3-Clause" not in read(root, path)[:200]:
            yield path, 1, "no line 'SPDX-License-Identifier: BSD-3-Clause' at the top"


def words(root):
    own = os.path.join("tests", "lint") # names what it looks for
    suffixes = (".c", ".h", ".def", ".py", ".sh", ".cmake", ".md", ".txt", ".json", ".in", ".yml", ".f", ".f90", ".cpp", ".hpp",
                "Makefile", "LICENSE", "run", ".conf")
    for path in walk(root, ["."], suffixes):
        if os.path.dirname(path) == own:
            continue
        for number, line in enumerate(read(root, path).split("\n"), 1):
            if path.endswith((".c", ".h", ".hpp")) and len(line) > COLUMNS:  # comments: the formatter leaves them alone
                yield path, number, f"{len(line)} columns, at most {COLUMNS}"
            for pattern, what, fine in WORDS:
                match = re.search(pattern, line)
                if match and not path.startswith(fine) and not path.endswith(fine):
                    yield path, number, f"'{match.group(0)}': {what}"


def literals(text):
    """Texts of a C source with the lines they begin in; neighbours are one."""
    bare = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    for m in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', bare):
        yield bare[:m.start()].count("\n") + 1, re.sub(r'"\s*"', "", m.group())


def plain(root):
    for path in walk(root, ["."], (".md", ".h")):
        if path.startswith(PLAIN):
            for number, line in enumerate(read(root, path).split("\n"), 1):
                for match in UNCLEAR.finditer(line):
                    yield path, number, f"'{match.group(0).strip()}': say who or what"
    for path in walk(root, SOURCES, (".c", ".h", ".def")):
        for number, literal in literals(read(root, path)):
            for match in UNCLEAR.finditer(literal):
                yield path, number, f"'{match.group(0).strip()}': say who or what"
    for path in walk(root, ["tests"], (".c",)):
        text = read(root, path)
        for name in re.finditer(r"^(?:MPI_CASE\(|static void )(\w+)", text, re.M):
            # a test is a sentence; helpers have short names
            if name[1].count("_") > 3 and (match := UNCLEAR.search(name[1].replace("_", " "))):
                yield path, text[:name.start()].count("\n") + 1, f"test {name[1]}: '{match.group(0).strip()}'"
    for tops in (SOURCES, ["tests", "bench"]):
        yield from plain_comments(root, tops)


def plain_comments(root, tops):
    """Comments may have one such word in a thousand lines."""
    lines, seen = 0, []
    for path in walk(root, tops, (".c", ".h", ".def")):
        text = read(root, path)
        lines += text.count("\n")
        for comment in re.finditer(r"/\*.*?\*/", text, flags=re.S):
            for match in UNCLEAR.finditer(comment.group()):
                seen.append((path, text[:comment.start() + match.start()].count("\n") + 1, match.group(0).strip()))
    if len(seen) * 1000 > max(lines, 1000):
        for path, number, word in seen:
            yield path, number, f"'{word}' in a comment, {len(seen)} in {lines} lines: say who or what"


# A function at column 0, or a pointer to one.
FUNCTION = re.compile(r"(?:^[a-zA-Z_][^;{}#()=]*?\b(\w+)|\(\s*\*\s*(\w+)\))\(", re.M)


def parameters_from(text, start):
    """Number of what is in parentheses from start on, and where they end."""
    depth, count, at = 1, 1, start
    while depth > 0 and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        count += text[at] == "," and depth == 1
        at += 1
    return count, at


def parameters(root):
    fixed = ("SCR_", "MPI_")  # the public interface, and the one that is wrapped
    for path in walk(root, SOURCES, (".c", ".h")):
        text = "\n".join(code_lines(read(root, path)))
        for match in FUNCTION.finditer(text):
            count, end = parameters_from(text, match.end())
            name = match[1] or match[2]
            if count > PARAMETERS and not name.startswith(fixed) and \
                    (match[2] or re.match(r"\s*(\{|;|__attribute__)", text[end:])):
                yield path, text[:match.end()].count("\n") + 1, \
                    f"{name}() takes {count} parameters, at most {PARAMETERS}: a struct for what belongs together"


def rules(root):
    """Each rule of these pages is one sentence, then why, perhaps how, then tests that quote its number."""
    for page, letters in NUMBERED.items():
        if os.path.isfile(os.path.join(root, page)):
            yield from ((page, line, what) for line, what in rules_of(root, page, letters))


def rules_of(root, page, letters):
    text = read(root, page)
    form = re.compile(r"\n\nRule: (?P<rule>.+?)\n\nWhy: .+?(?:\n\nHow:[ \n].+?)?\n\nTest: (?P<tests>[^\n]+(?:\n[^\n]+)*)\s*", re.S)
    last = {}
    for head in re.finditer(rf"^### ([{letters}])(\d+): .+$", text, re.M):
        letter, number, line = head[1], int(head[2]), text[:head.start()].count("\n") + 1
        name = f"{letter}{number}"
        if number != last.get(letter, 0) + 1:
            yield line, f"{name} does not follow {letter}{last.get(letter, 0)}"
        last[letter] = number
        match = form.fullmatch(re.split(r"^##", text[head.end():], maxsplit=1, flags=re.M)[0])
        if not match:
            yield line, f"{name}: 'Rule:', 'Why:', perhaps 'How:' and 'Test:' are expected, in this order"
            continue
        if len(re.findall(r"[.!?](?=\s|$)", match["rule"])) != 1 or not match["rule"].endswith("."):
            yield line, f"{name}: the rule is not one sentence"
        yield from ((line, what) for what in check_tests(root, name, match["tests"]))
    if not last:
        yield 1, f"no rule '### {letters[0]}1: …'"


def check_tests(root, name, tests):
    texts = {}
    for test in re.findall(r"`([^`]+)`", tests):
        path = os.path.normpath(os.path.join("tests", test))
        if os.path.isfile(os.path.join(root, path)):
            texts[test] = read(root, path)
        else:
            yield f"{name}: there is no test {path}"
    if not any(re.search(rf"\b{name}\b", text) for text in texts.values()):
        yield f"{name}: no test named quotes it"


DEFINITION = re.compile(r"^(?!static\b)[a-z][\w \*]*?\b(scr_\w+)\([^;{]*\)\s*\{", re.M)
FLOOR = re.compile(r"^\| \w+ \| (.*) \|$", re.M)


def floors_of(root):
    """Files of core by the floors of ARCHITECTURE.md, whose highest comes first: higher numbers are higher."""
    path = os.path.join(root, "ARCHITECTURE.md")
    text = read(root, "ARCHITECTURE.md") if os.path.isfile(path) else ""
    rows = FLOOR.findall(text.partition("## Floors of core")[2].partition("\n## ")[0])
    return {name: len(rows) - n for n, row in enumerate(rows) for name in re.findall(r"`(\w+)`", row)}


def circle_from(graph, at, way, done):
    """A way through graph that comes back to where it was; None: none that begins at `at`."""
    if at in way:
        return way[way.index(at):]
    if at in done:
        return None
    done.add(at)
    ways = (circle_from(graph, to, way + [at], done) for to in sorted(graph[at]))
    return next((circle for circle in ways if circle), None)


def floors(root):
    text = {os.path.basename(path)[:-2]: (path, "\n".join(code_lines(read(root, path))))
            for path in walk(root, ["src/core"], (".c",))}
    home = {name: file for file, (_, code) in text.items() for name in DEFINITION.findall(code)}
    graph = {file: {home[name] for name in re.findall(r"\b(scr_\w+)\(", code) if name in home} - {file}
             for file, (_, code) in text.items()}
    floor = floors_of(root)
    for file, (path, _) in text.items():
        if file not in floor:
            yield path, 1, "no floor of core in ARCHITECTURE.md has this file"
        for other in sorted(graph[file]):
            if floor.get(other, 0) > floor.get(file, 0):
                yield path, 1, f"calls {other}.c, which is on a higher floor (ARCHITECTURE.md)"
    done = set()
    for file in sorted(graph):
        circle = circle_from(graph, file, [], done)
        if circle:
            yield text[file][0], 1, f"calls go in a circle: {' → '.join(circle + circle[:1])}"


def unique(root):
    seen = {}
    for path in walk(root, SOURCES + ["tests", "bindings"], (".c", ".h")):
        other = seen.setdefault(os.path.basename(path), path)
        if other != path:
            yield path, 1, f"{other} has the same name"


def mains(root):
    """A main without a return after its last if ends with 0, and the cases it left out are not missed."""
    for path in walk(root, ["tests"], (".c",)):
        text = "\n".join(code_lines(read(root, path)))
        for match in re.finditer(r"^int main\(.*?^}", text, flags=re.M | re.S):
            if not re.search(r"^    (return|exit|_exit)\b[^;]*;\s*}$", match.group(), flags=re.M):
                yield path, text[:match.start()].count("\n") + 1, "main ends without a return"


RULES = {f.__name__: f for f in
         (includes, calls, banned, spdx, words, plain, parameters, rules, floors, unique, mains)}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in RULES:
        sys.exit(f"usage: lint.py {'|'.join(RULES)} SOURCE_DIR")
    findings = list(RULES[sys.argv[1]](sys.argv[2]))
    for path, line, what in findings:
        print(f"{path}:{line}: {what}")
    print(f"{sys.argv[1]}: {len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


main()
