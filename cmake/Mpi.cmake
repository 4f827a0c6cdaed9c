# SPDX-License-Identifier: BSD-3-Clause
# Finds the chosen MPI through its own compiler wrapper (Debian installs several side by side).
find_program(SCR_MPICC NAMES mpicc.${SCR_MPI} mpicc REQUIRED)
find_program(SCR_MPIRUN NAMES mpirun.${SCR_MPI} mpirun REQUIRED)
set(MPI_C_COMPILER ${SCR_MPICC})
set(MPIEXEC_EXECUTABLE ${SCR_MPIRUN})
find_package(MPI REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)
find_library(SCR_ISAL NAMES isal REQUIRED)
find_library(SCR_JANSSON NAMES jansson REQUIRED)
