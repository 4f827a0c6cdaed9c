#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The test bed itself: nodes are apart, die, come back empty; nothing is left of it."""
import glob
import os
import re
import subprocess

import scenario
from bed import NET, wait_for


def private_and_shared(bed):
    bed.run("n1", "sh", "-c", "echo one >/tmp/f; echo one >/dev/shm/f; echo all >f")
    assert bed.run("n2", "sh", "-c", "ls /tmp/f /dev/shm/f; cat f", check=False).stdout == "all\n"
    assert bed.run("n2", "hostname").stdout == "n2\n"
    assert not os.path.exists("/tmp/f")


def remote_commands(bed):
    """Between any two nodes, with input, both outputs and the status."""
    script = "tr a-z A-Z; hostname; echo oops >&2; exit 7"
    done = bed.run("n1", "sh", "-c", f'echo text | ssh -x -l root n2 "{script}"', check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "TEXT\nn2\n", "oops\n"), done
    names = bed.run("n3", "pdsh", "-S", "-w", "n[1-5]", "hostname").stdout.split("\n")
    assert sorted(names)[1:] == [f"n{i}: n{i}" for i in range(1, 6)], names


def death(bed):
    sleeping = bed.start("n1", "ssh", "n2", "sleep 900", log="sleeping")
    running = bed.start("n1", "srun", "-w", "n2", "sh", "-c", "touch running; sleep 900", log="running")
    wait_for("a job on n2", lambda: os.path.exists(f"{bed.pfs}/running"))
    bed.crash("n2")
    assert sleeping.wait() == 255
    running.wait()
    wait_for("down", lambda: "down" in bed.run("head", "sinfo", "-h", "-n", "n2", "-o", "%T").stdout)
    bed.revive("n2")
    assert bed.run("n2", "ls", "/tmp/mine", check=False).returncode != 0
    assert bed.run("head", "srun", "-w", "n2", "hostname").stdout == "n2\n"


def silent_death(bed):
    sleeping = bed.start("n1", "ssh", "n3", "sleep 900", log="silent")
    bed.power_off("n3")
    assert sleeping.wait() == 255


def drained(bed):
    bed.run("head", "scontrol", "update", "nodename=n1", "state=drain", "reason=Kill task failed")
    bed.resume_drained()
    assert bed.run("head", "srun", "-w", "n1", "hostname").stdout == "n1\n"


def traces(state):
    """What of a bed is to be seen on this machine: directory, mounts, processes."""
    def holds(path):
        try:
            with open(path, "rb") as f:
                return state.encode() in f.read()
        except OSError:
            return False  # ended meanwhile
    seen = glob.glob("/proc/[0-9]*/mounts") + glob.glob("/proc/[0-9]*/environ")
    return [path for path in seen if holds(path)] + glob.glob(state)


def devices():
    """Of a bed, on this machine's own network; other devices come and go by themselves."""
    shown = subprocess.run(["ip", "-o", "address"], stdout=subprocess.PIPE, text=True).stdout + \
        subprocess.run(["ip", "-o", "link"], stdout=subprocess.PIPE, text=True).stdout
    return [line for line in shown.split("\n") if re.search(rf"\b(br0|to-n\d+|{re.escape(NET)}\.\d+)\b", line)]


def main():
    before = devices()
    with scenario.bed(notice=20) as bed:
        bed.run("n2", "touch", "/tmp/mine")
        for check in (private_and_shared, remote_commands, death, drained, silent_death):
            check(bed)
        assert traces(bed.state) and devices() == before
    assert not traces(bed.state), traces(bed.state)
    assert devices() == before


main()
