#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""recipe.py SOURCE_DIR: the Spack recipe, as far as it can be checked without Spack, which is not
in Debian: it is Python, its class is called as Spack expects, and the options and libraries it names
are those of the build."""
import ast
import pathlib
import re
import sys

# The library as CMake looks for it, and the package of Spack that has it.
PACKAGES = {"isal": "isa-l", "jansson": "jansson", "zstd": "zstd"}


def calls(tree: ast.AST, *names: str) -> list[str]:
    """First arguments of the calls with one of these names."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in names:
                found.append(str(node.args[0].value))
    return found


def findings(root: pathlib.Path) -> list[str]:
    path = root / "packaging/spack/packages/scr/package.py"
    tree = ast.parse(path.read_text(), str(path))
    cmake = "".join(f.read_text() for f in [root / "CMakeLists.txt", *root.glob("cmake/*.cmake")])
    options = re.findall(r"(?:option|set|find_program)\((SCR_\w+)", cmake)
    libraries = re.findall(r"find_library\(SCR_\w+ NAMES (\w+)", cmake)
    needs = {need.split("@")[0] for need in calls(tree, "depends_on")}
    bad = [f"{path.name}: {name} is no option of the build"
           for name in calls(tree, "define", "define_from_variant") if name not in options]
    bad += [f"{path.name}: nothing provides lib{lib}"
            for lib in libraries if PACKAGES.get(lib, lib) not in needs]
    classes = [n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    if classes != ["Scr"]:
        bad.append(f"{path.name}: Spack looks for the class Scr")
    if not (root / "packaging/spack/repo.yaml").read_text().startswith("repo:\n  namespace: "):
        bad.append("repo.yaml: no namespace")
    return bad


bad_lines = findings(pathlib.Path(sys.argv[1]))
print(*bad_lines, f"recipe: {len(bad_lines)} finding(s)", sep="\n")
sys.exit(1 if bad_lines else 0)
