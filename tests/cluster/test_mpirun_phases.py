#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A node dies in each phase, under scr_run with mpirun and a list of hosts, without a manager."""
import sys

import scenario
import strike

strike.everywhere(scenario.Solver.scr_mpirun, sys.argv[1:])
