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
# Optional: without it files are not compressed (SCR_FLUSH_COMPRESS).
option(SCR_WITH_ZSTD "compress with libzstd if it is there" ON)
if(SCR_WITH_ZSTD)
    find_library(SCR_ZSTD NAMES zstd)
    find_path(SCR_ZSTD_INCLUDE zstd.h)
endif()
if(SCR_WITH_ZSTD AND SCR_ZSTD AND SCR_ZSTD_INCLUDE)
    set(SCR_ZSTD_LIB ${SCR_ZSTD})
    set(SCR_PC_ZSTD "-lzstd ")
else()
    set(SCR_ZSTD_LIB)
    set(SCR_PC_ZSTD)
    message(STATUS "no libzstd: SCR_FLUSH_COMPRESS=ZSTD will have no effect")
endif()

# For running tests: many ranks on few cores, so waiting ranks give way. Open MPI refuses root and
# more ranks than cores unless told otherwise; MPICH ignores these.
set(SCR_MPI_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none)
