# SPDX-License-Identifier: BSD-3-Clause
# libscrf, the Fortran interface. The classic one (scrf.h) is written in C and always there but with
# SCR_FORTRAN=OFF; the module scr needs a Fortran compiler.
set(SCR_FORTRAN AUTO CACHE STRING
    "Fortran interface: AUTO (the module if there is a compiler), ON (it must be there) or OFF")
set(SCR_FORTRAN_MODDIR ${CMAKE_INSTALL_INCLUDEDIR} CACHE STRING "where scr.mod is installed")

# SCR_HAVE_FORTRAN: there is a compiler. SCR_HAVE_MPI_FORTRAN: the MPI has its interface too, which
# examples and tests need, and libscrf does not.
set(SCR_HAVE_FORTRAN OFF)
set(SCR_HAVE_MPI_FORTRAN OFF)
if(SCR_FORTRAN STREQUAL "OFF")
    message(STATUS "Fortran: none (SCR_FORTRAN=OFF)")
    return()
endif()

if(SCR_FORTRAN STREQUAL "ON")
    enable_language(Fortran)
    set(SCR_HAVE_FORTRAN ON)
elseif(NOT CMAKE_C_FLAGS MATCHES "-fsanitize|coverage") # they would need flags of their own
    include(CheckLanguage)
    check_language(Fortran)
    if(CMAKE_Fortran_COMPILER)
        enable_language(Fortran)
        set(SCR_HAVE_FORTRAN ON)
    endif()
endif()
if(SCR_HAVE_FORTRAN)
    find_program(SCR_MPIFORT NAMES mpifort.${SCR_MPI} mpifort HINTS ${mpi_bin})
    if(SCR_MPIFORT)
        set(MPI_Fortran_COMPILER ${SCR_MPIFORT})
        find_package(MPI QUIET COMPONENTS Fortran)
    endif()
    if(MPI_Fortran_FOUND AND MPI_Fortran_HAVE_F08_MODULE)
        set(SCR_HAVE_MPI_FORTRAN ON)
        message(STATUS "Fortran: libscrf with scrf.h and module scr (${CMAKE_Fortran_COMPILER})")
    else()
        message(STATUS "Fortran: libscrf with scrf.h and module scr (${CMAKE_Fortran_COMPILER}); "
                       "no module mpi_f08 of ${SCR_MPI}: no examples and tests")
    endif()
else()
    message(STATUS "Fortran: libscrf with scrf.h only, without module scr (no compiler)")
endif()

set(fortran_dir ${PROJECT_SOURCE_DIR}/bindings/fortran)
add_library(scr_layer_fortran OBJECT ${fortran_dir}/scrf.c)
target_include_directories(scr_layer_fortran PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(scr_layer_fortran PRIVATE ${SCR_WARNINGS})
set(fortran_objects $<TARGET_OBJECTS:scr_layer_fortran>)
add_library(scr_layer_fortran_open OBJECT ${fortran_dir}/openfile_f.c)
target_include_directories(scr_layer_fortran_open PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(scr_layer_fortran_open PRIVATE ${SCR_WARNINGS})
target_compile_definitions(scr_layer_fortran_open PRIVATE ${SCR_DEFINES})

set(SCR_MODULE_DIR ${PROJECT_BINARY_DIR}/fortran)
if(SCR_HAVE_FORTRAN)
    set(SCR_FORTRAN_WARNINGS)
    if(CMAKE_Fortran_COMPILER_ID STREQUAL "GNU")
        set(SCR_FORTRAN_WARNINGS -std=f2008 -Wall -Wextra $<$<BOOL:${SCR_WERROR}>:-Werror>)
    endif()
    add_library(scr_layer_module OBJECT ${fortran_dir}/scr_module.f90)
    set_target_properties(scr_layer_module PROPERTIES Fortran_MODULE_DIRECTORY ${SCR_MODULE_DIR})
    target_compile_options(scr_layer_module PRIVATE ${SCR_FORTRAN_WARNINGS})
    list(APPEND fortran_objects $<TARGET_OBJECTS:scr_layer_module>)
endif()

# The static library holds libscr too, so that -lscrf and what scrf.pc lists as private is all a
# program needs.
add_library(scrf_shared SHARED ${fortran_objects} $<TARGET_OBJECTS:scr_layer_fortran_open>)
add_library(scrf_static STATIC ${fortran_objects} ${all_objects})
foreach(lib scrf_shared scrf_static)
    set_target_properties(${lib} PROPERTIES OUTPUT_NAME scrf${SCR_LIB_SUFFIX} VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C)
    target_include_directories(${lib} INTERFACE $<BUILD_INTERFACE:${fortran_dir}>
        $<BUILD_INTERFACE:${SCR_MODULE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        $<INSTALL_INTERFACE:${SCR_FORTRAN_MODDIR}>)
    if(SCR_HAVE_FORTRAN)
        add_dependencies(${lib} scr_layer_module)
    endif()
endforeach()
target_link_libraries(scrf_shared PRIVATE scr_shared ${CMAKE_DL_LIBS})
target_link_libraries(scrf_static PUBLIC ${SCR_SERIAL_LIBS} MPI::MPI_C)
