#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A node dies in each phase, under scr_srun in an allocation of Slurm."""
import scenario
import strike

strike.everywhere(scenario.Solver.scr_srun)
