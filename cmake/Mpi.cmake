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

# For running tests: many ranks on few cores, so waiting ranks give way. Open MPI refuses root and
# more ranks than cores unless told otherwise; MPICH ignores these.
set(SCR_MPI_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none)
