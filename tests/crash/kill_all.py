#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills all ranks of a checkpointing job at random instants and restarts it.

Each restart must give the newest checkpoint that was acknowledged as complete, or a newer one
that was whole (doc/design/durability.md C4), with every byte right. The seed is printed; give it
as SEED=<n> to replay.

usage: kill_all.py MPIRUN PROGRAM KILLS
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

mpirun, program, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
rng = random.Random(seed)
print(f"seed {seed}", flush=True)

work = tempfile.mkdtemp(prefix="scr-crash.")
ledger = os.path.join(work, "ledger")
tag = f"scr-crash-{os.getpid()}"
env = dict(os.environ, SCR_PREFIX=os.path.join(work, "prefix"), SCR_CACHE_BASE=os.path.join(work, "cache"),
           SCR_CNTL_BASE=os.path.join(work, "cache"), SCR_VNODES="4", SCR_CACHE_SIZE="2", SCR_FLUSH="7",
           SCR_JOB_ID=tag, SCR_USER_NAME="tester")
for name in ("prefix", "cache"):
    os.mkdir(os.path.join(work, name))


def ranks():
    """Pids of the job's ranks, by the job id in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f, open(f"/proc/{pid}/cmdline", "rb") as c:
                if tag.encode() in f.read() and os.path.basename(program).encode() in c.read().split(b"\0")[0]:
                    found.append(int(pid))
        except OSError:
            pass
    return found


def lines():
    if not os.path.exists(ledger):
        return []
    with open(ledger) as f:
        return [line.split() for line in f]


def start(count):
    return subprocess.Popen([mpirun, "-n", "4", program, ledger, str(count)], env=env, cwd=env["SCR_PREFIX"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def restarted_from(before, deadline=60):
    """Waits until the new run says where it restarted from."""
    end = time.time() + deadline
    while time.time() < end:
        new = lines()[before:]
        if new:
            return int(new[0][1])
        time.sleep(0.005)
    return None


def kill(job):
    """All ranks at once: stopped first, so that none sees another die."""
    pids = ranks()
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass
    return job.communicate()[1].decode(errors="replace")


def main():
    failed = 0
    acknowledged = 0
    for i in range(kills + 1):
        before = len(lines())
        job = start(100000)
        step = restarted_from(before)
        if step is None:
            print(f"run {i}: no restart line in time:\n{kill(job)}")
            return 1
        if step < acknowledged:
            print(f"run {i}: restarted from {step}, but {acknowledged} was complete")
            failed += 1
        time.sleep(rng.uniform(0.0, 0.5))
        said = kill(job)
        if "wrong bytes" in said:
            print(f"run {i}: {said}")
            failed += 1
        done = [int(n) for what, n in lines() if what == "done"]
        acknowledged = max([step] + done[-1:]) if done else step
    total = max([int(n) for what, n in lines() if what == "done"], default=0)
    print(f"{kills} kills, {total} checkpoints, {failed} wrong restarts")
    return failed > 0 or total < kills // 2


try:
    status = main()
finally:
    for pid in ranks():
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(work, ignore_errors=True)
sys.exit(status)
