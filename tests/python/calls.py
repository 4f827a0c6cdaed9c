#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One life of the library through the package, used well and used wrong, on any number of
processes: calls.py DIRECTORY ctypes|mpi4py. Every check is made on every process."""
import os
import sys
from contextlib import contextmanager
from typing import Callable, Iterator, List

from tiny_mpi import world

import scr

mpi = world(sys.argv[2])
prefix = os.path.join(sys.argv[1], "prefix")
cache = os.path.join(sys.argv[1], "cache")
last = mpi.size - 1
failures = 0


def check(good: object, what: str) -> None:
    global failures
    if not good:
        failures += 1
        print(f"FAIL: rank {mpi.rank}: {what}", file=sys.stderr, flush=True)


@contextmanager
def fails(code: int, word: str) -> Iterator[None]:
    """The body must raise this Error, with the word in its text."""
    try:
        yield
    except scr.Error as error:
        check(error.code == code, f"{error!r} instead of code {code}")
        check(error.name.startswith("SCR_E_") and word in str(error), f"no '{word}' in: {error}")
    else:
        check(False, f"no error, '{word}' expected")


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def read(path: str) -> str:
    with open(path, encoding="utf-8") as f:
        return f.read()


def mine(name: str) -> str:
    return f"{prefix}/{name}/rank_{mpi.rank}.txt"


def before_init() -> None:
    check(scr.last_error() is None, "an error before any call")
    check(scr.get_version() == scr.__version__, "versions differ")
    calls: List[Callable[[], object]] = [
        scr.finalize, scr.need_checkpoint, scr.start_output, scr.complete_output,
        scr.have_restart, scr.start_restart, scr.complete_restart, scr.should_exit,
        scr.start_checkpoint, scr.complete_checkpoint, scr.restart_ranks, scr.restart_files,
    ]
    for call in calls:
        with fails(scr.E_STATE, "call SCR_Init first"):
            call()
    named: List[Callable[[str], object]] = [scr.current, scr.delete, scr.drop]
    for call_named in named:
        with fails(scr.E_STATE, "call SCR_Init first"):
            call_named("x")
    check(scr.route_file("x") == "x", "a file of the program's own")
    with fails(scr.E_STATE, "call SCR_Init first"):
        scr.finalize()
    error = scr.last_error()
    check(error is not None and error.code == scr.E_STATE, f"last_error {error!r}")


def configured() -> None:
    check(scr.config("SCR_FLUSH=7") is None, "setting returns None")
    check(scr.config("SCR_FLUSH") == "7", "query")
    check(scr.configf("SCR_FLUSH=%d", 0) is None and scr.config("SCR_FLUSH") == "0", "configf")
    check(scr.config("CKPT=0 TYPE=PARTNER") is None, "descriptor")
    check(scr.config("CKPT=0 TYPE") == "PARTNER", "child")
    scr.config("CKPT=0 TYPE=")
    check(scr.config("SCR_NODELIST") is None, "a parameter without a value")
    if mpi.size > 1:
        with fails(scr.E_MISMATCH, "differs between ranks"):
            scr.config(f"SCR_FLUSH={mpi.rank}")
    try:
        scr.config("SCR_FLUSH\0=1")
        check(False, "a NUL passed")
    except ValueError:
        pass
    if mpi.rank == 0:
        os.mkdir(prefix)
        os.mkdir(cache)
    mpi.barrier()
    for setting in (f"SCR_PREFIX={prefix}", f"SCR_CACHE_BASE={cache}", f"SCR_CNTL_BASE={cache}",
                    "SCR_VNODES=2", "SCR_CACHE_SIZE=3", "SCR_CHECKPOINT_INTERVAL=2"):
        scr.config(setting)


def started() -> None:
    if mpi.size > 1:
        scr.config_comm(mpi.comm(), "SCR_CACHE_SIZE=4")
        check(scr.config_comm(mpi.comm(), "SCR_CACHE_SIZE") == "4", "query of a communicator")
        scr.config_comm(mpi.comm(), "SCR_CACHE_SIZE=3")
        scr.init_comm(mpi.comm())
    else:
        scr.init()
    with fails(scr.E_STATE, "already"):
        scr.init()
    with fails(scr.E_STATE, "before SCR_Init only"):
        scr.config("SCR_FLUSH=3")
    check(scr.config("SCR_CACHE_SIZE") == "3", "query after init")
    check(scr.have_restart() is None, "nothing to restart from")
    with fails(scr.E_STATE, "SCR_Have_restart"):
        with scr.restart():
            check(False, "the body of a phase that did not start")
    with fails(scr.E_STATE, "SCR_Start_output"):
        scr.complete_output()
    check([scr.need_checkpoint(), scr.need_checkpoint()] == [False, True], "need_checkpoint")
    check(scr.should_exit() is False, "should_exit")
    check(scr.route_file("some/name") == "some/name", "outside of phases")


def written() -> None:
    scr.start_output("one", scr.FLAG_CHECKPOINT)
    path = scr.route_file(mine("one"))
    check(path.startswith(cache), path)
    write(path, "one")
    with fails(scr.E_STATE, "SCR_Complete_output"):
        scr.start_output("other")
    check(scr.complete_output(True) is True, "complete_output")

    with scr.output("two", scr.FLAG_CHECKPOINT | scr.FLAG_OUTPUT) as out:
        check(out.name == "two", "name")
        write(out.route(mine("two")), "two")
    check(read(mine("two")) == "two", "output reaches the prefix")

    with scr.output("ünïcode") as out:  # any text
        write(out.route(mine("ünïcode")), "u")
    scr.delete("ünïcode")
    scr.delete("ünïcode")  # told, and nothing is changed


def refused() -> None:
    for flags in (8, -1, scr.FLAG_CHECKPOINT | 64):
        with fails(scr.E_ARG, f"flags={flags}"):
            scr.start_output("x", flags)
    try:
        scr.start_output("x", 2**32 + scr.FLAG_CHECKPOINT)
        check(False, "flags that C cannot hold")
    except OverflowError:
        pass
    for handle in (2**64 + 1, -(2**31) - 1):
        try:
            scr.config_comm(handle, "SCR_CACHE_SIZE")
            check(False, "a communicator that C cannot hold")
        except OverflowError:
            pass
    with fails(scr.E_NAME, "characters"):
        scr.start_output("x" * (2 * scr.MAX_FILENAME))
    # the older functions, and a process that says no
    scr.start_checkpoint()
    check(scr.complete_checkpoint(mpi.rank != last) is False, "valid=False on one process")
    error = scr.last_error()
    check(error is not None and error.code == scr.E_INVALID, f"{error!r}")
    check(mpi.size == 1 or f"(rank {last})" in str(error), f"{error}")


def raised_by_all() -> None:
    """Each gets its own exception back, whatever it is, and the dataset is gone."""
    for kind in (ZeroDivisionError, KeyboardInterrupt, SystemExit, GeneratorExit):
        try:
            with scr.output("broken") as out:
                write(out.route(mine("broken")), "x")
                raise kind(mpi.rank)
        except BaseException as error:
            check(type(error) is kind and error.args == (mpi.rank,), f"{error!r}")
        check(scr.have_restart() != "broken", "the dataset is there")
    # a phase in a phase: the inner one is refused, the outer one gets that exception
    with fails(scr.E_STATE, "SCR_Complete_output"):
        with scr.output("broken") as out:
            write(out.route(mine("broken")), "x")
            with scr.output("inner"):
                check(False, "the body of a phase that did not start")
    check(scr.have_restart() != "broken", "the dataset is there")


def left_early() -> None:
    """Neither return, nor break, nor a second use of the object is an exception."""
    phase = scr.output("early")

    def leave() -> None:
        with phase as out:
            write(out.route(mine("early")), "x")
            return

    leave()
    scr.delete("early")
    for _ in range(2):
        with phase as out:
            write(out.route(mine("early")), "x")
            break
    scr.delete("early")
    with fails(scr.E_STATE, "SCR_Start_output"):  # the body has ended the phase
        with phase as out:
            write(out.route(mine("early")), "x")
            check(scr.complete_output(True), "complete_output")
    scr.delete("early")


def exceptions() -> None:
    """One process fails: its exception there, E_INVALID elsewhere, and nobody waits."""
    try:
        with scr.output("broken") as out:
            write(out.route(mine("broken")), "x")
            if mpi.rank == last:
                raise ZeroDivisionError("mine")
        check(False, "no exception")
    except ZeroDivisionError:
        check(mpi.rank == last, "another's exception")
    except scr.Error as error:
        check(mpi.rank != last and error.code == scr.E_INVALID, f"{error!r}")
    check(scr.have_restart() != "broken", "the dataset is there")

    # a file outside of the prefix: the refused process has its own error
    try:
        with scr.output("outside") as out:
            path = out.route(mine("outside") if mpi.rank != last else "/etc/passwd")
            write(path, "x")
        check(False, "no exception")
    except scr.Error as error:
        # the refused process has its own error, and all of them drop the dataset
        check(error.code in (scr.E_OUTSIDE, scr.E_INVALID), f"{error!r}")
        check(mpi.rank != last or error.code == scr.E_OUTSIDE, f"{error!r}")

    # routed, never written: one error for all
    with fails(scr.E_MISSING, "never written"):
        with scr.output("unwritten") as out:
            out.route(mine("unwritten"))


def restarted() -> None:
    """The newest is refused by an exception on one process, the next older one is read."""
    check(scr.have_restart() == "two", "the newest")
    known = [scr.dataset(i) for i in range(scr.datasets())]
    check(next(d.name for d in known if d.flags & scr.FLAG_RESTARTABLE) == "two", f"{known}")
    check(all(d.id > 0 and d.bytes > 0 and d.when > 1.6e9 for d in known), f"{known}")
    with fails(scr.E_RANGE, "SCR_Dataset"):
        scr.dataset(len(known))
    try:
        with scr.restart() as r:
            check(r.name == "two", "name")
            check(r.ranks == mpi.size, "ranks")
            files = r.files()
            check(files == [(f"{prefix}/two/rank_{i}.txt", i) for i in range(mpi.size)],
                  f"{files}")
            for i in (mpi.size, -1):
                with fails(scr.E_RANGE, "SCR_Restart_file"):
                    scr.restart_file(i)
            try:
                scr.restart_file(2**32)
                check(False, "a file that C cannot count to")
            except OverflowError:
                pass
            with fails(scr.E_NOENT, "no-such"):
                r.route("no-such")
            if mpi.rank == last:
                raise EOFError
        check(False, "no exception")
    except EOFError:
        check(mpi.rank == last, "another's exception")
    except scr.Error as error:
        check(mpi.rank != last and error.code == scr.E_INVALID, f"{error!r}")
    # what was refused in cache is offered once more, from the prefix directory
    names = []
    while name := scr.have_restart():
        names.append(name)
        check(scr.start_restart() == name, "start_restart")
        check(read(scr.route_file(mine(name))) == name, f"bytes of {name}")
        if scr.complete_restart(name == "one" or mpi.rank != last):
            break
    check(names[-1] == "one", f"{names}")
    scr.current("one")
    scr.drop("two")


def ended() -> None:
    scr.finalize()
    with fails(scr.E_STATE, "SCR_Finalize was called"):
        scr.finalize()
    check(os.path.exists(f"{prefix}/.scr/halt.scr"), "halt file")


for part in (before_init, configured, started, written, refused, raised_by_all, left_early, exceptions,
             restarted, ended):
    part()
    mpi.barrier()
bad = mpi.max(failures)
mpi.finalize()
sys.exit(1 if bad else 0)
