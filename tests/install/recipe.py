#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""recipe.py SOURCE_DIR MPI MPICC: the Spack recipe, as far as it can be checked without Spack, which is
not in Debian. It is run with stand-ins for what it takes from Spack, with all its variants and with none:
it must call nothing else, its conditions name its own variants, it has a package for every library the
build looks for, and CMake configures with its arguments and uses all of them."""
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
from typing import Any, Callable, Iterator

# The library as CMake looks for it, and the package of Spack that has it.
PACKAGES = {"isal": "isa-l", "jansson": "jansson", "zstd": "zstd"}
DIRECTIVES = ("version", "variant", "depends_on", "extends", "license", "conflicts", "maintainers")
NOT_USED = "Manually-specified variables were not used"


class Prefix(str):
    """prefix.bin is the directory bin in it."""

    def __getattr__(self, name: str) -> "Prefix":
        return Prefix(f"{self}/{name}")


class Spec(dict):
    """Of the packages it is built with; chosen are its variants."""
    chosen: dict[str, bool]

    def satisfies(self, condition: str) -> bool:
        return self.chosen[condition[1:]] == (condition[0] == "+")


class CMakePackage:
    spec: Spec
    prefix: Prefix

    @staticmethod
    def define(name: str, value: Any) -> str:
        return f"-D{name}:BOOL={'ON' if value else 'OFF'}" if isinstance(value, bool) else f"-D{name}:STRING={value}"

    def define_from_variant(self, name: str, variant: str) -> str:
        return self.define(name, self.spec.chosen[variant])


def stand_in(said: dict[str, list[Any]]) -> types.ModuleType:
    """spack.package; what directives are called with goes to said."""
    module = types.ModuleType("spack.package")
    module.CMakePackage = CMakePackage  # type: ignore[attr-defined]
    module.Executable = str  # type: ignore[attr-defined]

    def directive(name: str) -> Callable[..., None]:
        return lambda *args, **more: said[name].append((args, more))

    def decorator(*_args: str, **_more: bool) -> Callable:
        return lambda function: function
    for name in DIRECTIVES:
        setattr(module, name, directive(name))
    for name in ("run_after", "run_before", "on_package_attributes"):
        setattr(module, name, decorator)
    return module


def read(path: pathlib.Path) -> tuple[type, dict[str, list[Any]]]:
    """The class of the recipe, and what its directives say."""
    said: dict[str, list[Any]] = {name: [] for name in DIRECTIVES}
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = stand_in(said)
    names: dict[str, Any] = {"__file__": str(path), "__name__": "recipe"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["Scr"], said  # Spack makes the name from that of the directory


def arguments(recipe: type, variants: list[str], chosen: bool, mpi: types.SimpleNamespace) -> list[str]:
    package = recipe()
    python = types.SimpleNamespace(command=types.SimpleNamespace(path=sys.executable))
    package.spec, package.prefix = Spec(mpi=mpi, python=python), Prefix("/opt/scr")
    package.spec.chosen = {name: chosen for name in variants}
    return package.cmake_args()


def missing(root: pathlib.Path, said: dict[str, list[Any]]) -> Iterator[str]:
    """Packages, and conditions without a variant."""
    variants = {args[0] for args, _ in said["variant"]}
    needs = {args[0].split("@")[0] for args, _ in said["depends_on"]}
    cmake = "".join(f.read_text() for f in root.glob("cmake/*.cmake"))
    for lib in re.findall(r"scr_find\(\w+ (\w+) \S+\.h\)", cmake):
        if PACKAGES.get(lib, lib) not in needs:
            yield f"nothing provides lib{lib}"
    for args, more in itertools.chain(*said.values()):
        for name in re.findall(r"[+~](\w+)", more.get("when", "")):
            if name not in variants:
                yield f"{args[0]}: there is no variant {name}"


def not_configured(root: pathlib.Path, args: list[str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="scr-recipe.") as tmp:
        done = subprocess.run(["cmake", "-S", root, "-B", tmp, *args], text=True, capture_output=True)
    if done.returncode != 0 or NOT_USED in done.stderr:
        yield f"cmake {' '.join(args)}: {done.stderr}"


def findings(root: pathlib.Path, mpi: types.SimpleNamespace) -> Iterator[str]:
    recipe, said = read(root / "packaging/spack/packages/scr/package.py")
    variants = [args[0] for args, _ in said["variant"]]
    yield from missing(root, said)
    every = arguments(recipe, variants, True, mpi)
    none = arguments(recipe, variants, False, mpi)
    if [a.split("=")[0] for a in every] != [a.split("=")[0] for a in none]:
        yield "what is defined depends on the variants, and AUTO would find what the recipe does not name"
    yield from not_configured(root, none)
    if not (root / "packaging/spack/repo.yaml").read_text().startswith("repo:\n  namespace: "):
        yield "repo.yaml: no namespace"


def main() -> int:
    source, name, mpicc = sys.argv[1:]
    mpi = types.SimpleNamespace(name=name, mpicc=mpicc,
                                prefix=Prefix(os.path.dirname(os.path.dirname(mpicc))))
    bad = list(findings(pathlib.Path(source).resolve(), mpi))
    print(*bad, f"recipe: {len(bad)} finding(s)", sep="\n")
    return 1 if bad else 0


sys.exit(main())
