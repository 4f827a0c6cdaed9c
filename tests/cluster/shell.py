#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A shell on the head of a test bed: shell.py MPI BUILD_DIR. See `make cluster`."""
import os
import subprocess
import sys
import threading

from bed import Bed, why_not

WELCOME = """\
A shell on "head"; nodes n1 to n5 are under Slurm:  srun -N4 -n8 heat2d    salloc --no-kill -N5
or without it:  mpirun.{mpi} {hosts} n1,n2,n3,n4 heat2d    pdsh -w n[1-5] uptime    ssh n2
Node-private are /tmp and /dev/shm; all see the current directory.
crash n2: it dies    power_off n2: and its peers hear nothing    revive n2: it is back, empty
"""
DEEDS = ("crash", "power_off", "revive")


def obey(bed, control):
    """Does to nodes what the commands in bin/ ask for, a line each."""
    while True:
        with open(control) as requests:
            for line in requests:
                deed, name = line.split()
                try:
                    getattr(bed, deed)(name)
                except (KeyError, TimeoutError) as e:
                    print(f"{deed} {name}: {e!r}")


def offer_deeds(bed):
    control = os.path.join(bed.state, "control")
    os.mkfifo(control)
    for deed in DEEDS:
        bed.write(f"bin/{deed}", f'#!/bin/sh\nfor node; do echo "{deed} $node"; done >{control}\n', 0o755)
    threading.Thread(target=obey, args=(bed, control), daemon=True).start()


def main(mpi, build):
    reason = why_not()
    if reason:
        sys.exit(f"make cluster: {reason}")
    with Bed(shared=[build], path=[build, f"{build}/examples"], mpi=mpi, SCR_PREFIX="/tmp") as bed:
        offer_deeds(bed)
        print(WELCOME.format(mpi=mpi, hosts="-H" if mpi == "openmpi" else "-hosts"))
        shell = bed.on("head", ["bash", "--norc"], None, {"PS1": r"\h:\w\$ "})
        return subprocess.run(shell, env=bed.environment).returncode


sys.exit(main(*sys.argv[1:]))
