# SPDX-License-Identifier: BSD-3-Clause
# The MPI is that of SCR_MPICC; without it that of the C compiler, if this is a wrapper itself (CC=mpicc), that
# of SCR_MPI (Debian installs several side by side), or that of the first mpicc in PATH.
include(CheckSymbolExists)
check_symbol_exists(MPI_Init mpi.h SCR_COMPILER_IS_WRAPPER)
if(SCR_COMPILER_IS_WRAPPER)
    set(SCR_MPICC ${CMAKE_C_COMPILER} CACHE FILEPATH "compiler wrapper of the MPI")
endif()
set(names mpicc mpicc.openmpi mpicc.mpich)
if(SCR_MPI)
    set(names mpicc.${SCR_MPI} mpicc)
endif()
find_program(SCR_MPICC NAMES ${names})
if(NOT SCR_MPICC)
    message(FATAL_ERROR "no mpicc in PATH: install an MPI, load its module, or name its wrapper by -DSCR_MPICC=…")
endif()

# The launcher of the same name: /opt/mpi/bin/mpicc and mpirun, mpicc.mpich and mpirun.mpich.
get_filename_component(mpi_bin ${SCR_MPICC} DIRECTORY)
get_filename_component(mpicc ${SCR_MPICC} NAME)
string(REGEX REPLACE "^mpi[a-z0-9]*" "mpirun" mpirun ${mpicc})
find_program(SCR_MPIRUN NAMES ${mpirun} mpirun HINTS ${mpi_bin})
if(NOT SCR_MPIRUN)
    message(FATAL_ERROR "no mpirun in PATH: name the launcher of ${SCR_MPICC} by -DSCR_MPIRUN=…")
endif()

# scr_mpi_name(<out>): the name that mpi.h gives itself, "mpi" if it is not known here.
function(scr_mpi_name out)
    set(probe ${PROJECT_BINARY_DIR}/CMakeFiles/scr_mpi_name.c)
    file(WRITE ${probe} "#include <mpi.h>\n\
#if defined(OMPI_MAJOR_VERSION)\nscr_mpi=openmpi\n#elif defined(MVAPICH2_VERSION)\nscr_mpi=mvapich2\n\
#elif defined(I_MPI_VERSION)\nscr_mpi=intelmpi\n#elif defined(MPICH_VERSION)\nscr_mpi=mpich\n#endif\n")
    execute_process(COMMAND ${SCR_MPICC} -E ${probe} OUTPUT_VARIABLE text ERROR_QUIET)
    set(${out} mpi PARENT_SCOPE)
    if(text MATCHES "scr_mpi=([a-z0-9]+)")
        set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
endfunction()
scr_mpi_name(mpi_name)
if(NOT SCR_MPI)
    set(SCR_MPI ${mpi_name} CACHE STRING "" FORCE)
elseif(mpi_name MATCHES "^(openmpi|mpich)$" AND SCR_MPI MATCHES "^(openmpi|mpich)$" AND NOT SCR_MPI STREQUAL mpi_name)
    message(FATAL_ERROR "SCR_MPI=${SCR_MPI}, but ${SCR_MPICC} is of ${mpi_name}: install ${SCR_MPI}, "
                        "or name its wrapper by -DSCR_MPICC=…")
endif()
message(STATUS "MPI: ${SCR_MPI} (${SCR_MPICC}, ${SCR_MPIRUN})")
set(MPI_C_COMPILER ${SCR_MPICC})
set(MPIEXEC_EXECUTABLE ${SCR_MPIRUN})
find_package(MPI REQUIRED COMPONENTS C)

# For running tests: many ranks on few cores, so waiting ranks give way. Open MPI refuses root and
# more ranks than cores unless told otherwise, and looks for networks that one machine does not need, which
# takes 0.2 s of each start; MPICH ignores these.
set(SCR_MPI_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none
    OMPI_MCA_pml=ob1)
