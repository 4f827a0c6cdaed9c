#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command with a terminal for its stderr and prints what it shows there:

    on_tty.py COMMAND [ARGUMENT]...

Its stdout goes nowhere; the exit status is the command's.
"""
import os
import pty
import subprocess
import sys

master, slave = pty.openpty()
job = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=slave)
os.close(slave)
shown = b""
while True:
    try:
        some = os.read(master, 4096)
    except OSError:  # the last one has closed it
        break
    if not some:
        break
    shown += some
sys.stdout.write(shown.decode(errors="replace"))
sys.exit(job.wait())
