#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The package without a job: it has what scr.h has, it finds libscr or says why not, and it is
installed by CMake and by pip so that it can be used. test_package.py SOURCE_DIR"""
import inspect
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict, Optional, Tuple

import scr
from scr import _library

ROOT = Path(sys.argv[1]).resolve()
LIBSCR = os.environ["LIBSCR"]


def header_calls() -> Dict[str, int]:
    """Name and number of arguments of every call in scr.h; -1: printf-like."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "include/scr.h").read_text(encoding="utf-8"), flags=re.S)
    calls = {}
    for name, arguments in re.findall(r"^SCR_API [^;(]*?(SCR_\w+)\(([^)]*)\)", text, re.M):
        n = 0 if arguments.strip() == "void" else arguments.count(",") + 1
        calls[name] = -1 if "..." in arguments else n
    return calls


def python(*arguments: str, **environment: Optional[str]) -> Tuple[int, str]:
    """Another Python with changes to the environment (None: not set); status and output."""
    env = dict(os.environ, **{k: v for k, v in environment.items() if v is not None})
    for name, value in environment.items():
        if value is None:
            env.pop(name, None)
    done = subprocess.run([sys.executable, *arguments], env=env, cwd="/", text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


class Temporary(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="scr-python."))
        self.addCleanup(shutil.rmtree, self.dir)


class Header(unittest.TestCase):
    def test_every_call_is_there(self) -> None:
        calls = header_calls()
        self.assertGreater(len(calls), 20)
        for name in calls:
            function = getattr(scr, name[len("SCR_"):].lower(), None)
            self.assertTrue(inspect.isfunction(function), f"{name} has no function")
            self.assertTrue(inspect.getdoc(function), f"{name} has no docstring")

    def test_prototypes_have_as_many_arguments(self) -> None:
        calls = {name: n for name, n in header_calls().items() if n >= 0}
        self.assertEqual({n: len(a) for n, a in _library.ARGUMENTS.items()}, calls)

    def test_constants_are_those_of_the_source(self) -> None:
        status, said = python(str(ROOT / "bindings/python/generate.py"), "--check")
        self.assertEqual(status, 0, said)
        self.assertEqual((scr.FLAG_CHECKPOINT, scr.FLAG_OUTPUT, scr.MAX_FILENAME), (1, 2, 1024))
        self.assertEqual(scr.get_version(), scr.__version__)


class Errors(unittest.TestCase):
    def test_an_error_has_code_name_and_text(self) -> None:
        error = scr.Error(scr.E_INVALID, "dataset x dropped")
        self.assertEqual((error.code, error.name), (20, "SCR_E_INVALID"))
        self.assertEqual(str(error), "dataset x dropped")
        self.assertIsInstance(error, RuntimeError)
        again = pickle.loads(pickle.dumps(error))  # mpi4py sends exceptions so
        self.assertEqual((again.code, str(again)), (error.code, str(error)))
        self.assertEqual(str(scr.Error(scr.E_IO)), "input/output error")
        self.assertEqual(scr.Error(4711).name, "SCR_E_?")


class Finding(Temporary):
    """Where libscr is looked for. The linker knows none here unless a test says so."""

    def setUp(self) -> None:
        super().setUp()
        self.package = self.dir / "scr"
        shutil.copytree(ROOT / "bindings/python/scr", self.package,
                        ignore=shutil.ignore_patterns("__pycache__"))

    def try_import(self, **environment: Optional[str]) -> Tuple[int, str]:
        environment.setdefault("LIBSCR", None)
        environment.setdefault("PYTHONPATH", str(self.dir))
        return python("-c", "import scr; print(scr.get_version())", **environment)

    def test_the_variable_names_a_file_or_a_directory(self) -> None:
        (self.dir / "lib").mkdir()
        (self.dir / "lib" / _library.SONAME).symlink_to(LIBSCR)
        for place in (LIBSCR, str(self.dir / "lib")):
            self.assertEqual(self.try_import(LIBSCR=place), (0, scr.__version__ + "\n"))

    def test_the_place_it_was_installed_with(self) -> None:
        beside = os.path.relpath(LIBSCR, self.package)
        (self.package / _library.BESIDE).write_text(beside + "\n", encoding="utf-8")
        self.assertEqual(self.try_import(), (0, scr.__version__ + "\n"))

    def test_the_dynamic_linker(self) -> None:
        (self.dir / _library.SONAME).symlink_to(LIBSCR)
        self.assertEqual(self.try_import(LD_LIBRARY_PATH=str(self.dir)), (0, scr.__version__ + "\n"))

    def check_refusal(self, said: Tuple[int, str], *words: str) -> None:
        self.assertEqual(said[0], 1, said[1])
        line = said[1].strip().split("\n")[-1]
        self.assertTrue(line.startswith("ImportError: "), said[1])
        for word in words:
            self.assertIn(word, line)

    def test_nowhere(self) -> None:
        if python("-c", f"import ctypes; ctypes.CDLL('{_library.SONAME}')")[0] == 0:
            self.skipTest("a libscr is installed on this system")
        self.check_refusal(self.try_import(), _library.SONAME, "set LIBSCR to the path")

    def test_the_variable_names_nothing(self) -> None:
        self.check_refusal(self.try_import(LIBSCR="/no/such/libscr.so"), "/no/such/libscr.so")

    def test_the_variable_names_something_else(self) -> None:
        self.check_refusal(self.try_import(LIBSCR="libc.so.6"), "is not libscr", "SCR_Init")


class Installing(Temporary):
    def check_installed(self, where: Path, **environment: Optional[str]) -> None:
        code = "import scr; print(scr.__file__, scr.get_version())"
        status, said = python("-c", code, PYTHONPATH=str(where), **environment)
        self.assertEqual(status, 0, said)
        self.assertIn(scr.__version__, said)
        self.assertTrue((where / "scr" / "py.typed").exists())

    def test_pip_without_a_network(self) -> None:
        for module in ("pip", "setuptools", "wheel"):
            if python("-c", f"import {module}")[0] != 0:
                self.skipTest(f"no {module}")
        source, target = self.dir / "source", self.dir / "target"
        shutil.copytree(ROOT / "bindings/python", source)  # pip leaves files in the source
        status, said = python("-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation",
                              "--no-deps", "--disable-pip-version-check", "--root-user-action=ignore",
                              "--target", str(target), str(source), PYTHONWARNINGS=None)
        self.assertEqual(status, 0, said)
        self.check_installed(target)
        names = {path.name for path in target.iterdir()}
        self.assertEqual(names, {"scr", f"scr-{scr.__version__}.dist-info"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
