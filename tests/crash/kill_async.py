#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills all ranks of a job at random instants of its asynchronous flushes and restarts it.

After each kill every dataset that the index calls complete has files whose CRCs are those
recorded; after the restart every dataset whose files had all been copied is in the index
(doc/design/durability.md P11), and every one whose flush was cut short goes on (P12).

With DAEMON the transfer processes of the nodes live on: what they were copying becomes complete without
the job (P11), or the restart takes over from them (P17).

usage: kill_async.py MPIRUN PROGRAM SCR KILLS [PTHREAD|DAEMON]
"""
import os
import subprocess
import sys
import time

import records
from victim import Victim

BYTES = 200000 # of a rank's file
RANKS = 4


def copied(job):
    """Steps all of whose files are on the prefix."""
    found = set()
    for name in os.listdir(job.prefix):
        files = [os.path.join(job.prefix, name, f"state.{r}") for r in range(RANKS)]
        if name.startswith("step.") and all(os.path.exists(f) and os.path.getsize(f) == BYTES for f in files):
            found.add(name[len("step."):])
    return found


def names(job):
    """Steps the index calls complete."""
    return {e.name[len("step."):] for e in records.index(job.prefix).values() if e.complete}


def verify(scr, job):
    """What scr says of the complete datasets; empty: all is well."""
    run = subprocess.run([scr, "verify", "--prefix", job.prefix], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if run.returncode == 0 else run.stdout.decode(errors="replace")


def become_indexed(job, wanted, deadline=240):
    end = time.time() + deadline
    while time.time() < end:
        if wanted <= names(job):
            return True
        time.sleep(0.05)
    return False


def become_more(job, deadline=240):
    """Waits until one more is complete, so that however slow it is the job gets on."""
    end, before = time.time() + deadline, len(names(job))
    while len(names(job)) <= before and time.time() < end:
        time.sleep(0.05)


def main(mpirun, program, scr, kills, means="PTHREAD"):
    failed = resumed = 0
    with Victim(mpirun, program, str(BYTES), SCR_FLUSH="1", SCR_FLUSH_ASYNC="1",
                SCR_FLUSH_ASYNC_BW="16m", SCR_FLUSH_TYPE=means,
                SCR_TRANSFER_PROGRAM=f"{scr}_transfer") as job:
        whole = set()
        for i in range(kills + 1):
            job.start()
            if job.restarted_from() is None:
                print(f"run {i}: no restart line in time:\n{job.kill()}")
                return 1
            if not become_indexed(job, whole):
                print(f"run {i}: copied, but not indexed: {sorted(whole - names(job))}")
                failed += 1
            if i % 5 == 0:
                become_more(job)
            time.sleep(job.rng.uniform(0.0, 0.7))
            said = job.kill()
            resumed += "goes on" in said
            if "wrong bytes" in said:
                print(f"run {i}: {said}")
                failed += 1
            problems = verify(scr, job)
            if problems:
                print(f"run {i}: {problems}")
                failed += 1
            whole = copied(job)
        total = len(names(job))
    print(f"{kills} kills, {total} datasets complete, {resumed} flushes resumed, {failed} wrong")
    return failed > 0 or total < kills // 8


sys.exit(main(*sys.argv[1:4], int(sys.argv[4]), *sys.argv[5:]))
