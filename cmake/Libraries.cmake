# SPDX-License-Identifier: BSD-3-Clause
# The libraries that SCR needs besides MPI, with their headers, which may be in any prefix, and how an
# archive of SCR is linked with them (SCR_PC_LIBS).
find_package(Threads REQUIRED)
option(SCR_WITH_ZSTD "compress with libzstd if it is there (SCR_FLUSH_COMPRESS)" ON)
set(SCR_PC_LIBS)

# scr_find(<NAME> <library> <header>): SCR_<NAME> and SCR_<NAME>_INCLUDE; the header is looked for beside
# the library first.
macro(scr_find name library header)
    find_library(SCR_${name} NAMES ${library})
    set(beside)
    if(SCR_${name})
        get_filename_component(beside ${SCR_${name}} DIRECTORY)
    endif()
    find_path(SCR_${name}_INCLUDE ${header} HINTS ${beside}/../include ${beside}/../../include)
    mark_as_advanced(SCR_${name} SCR_${name}_INCLUDE)
endmacro()

# scr_use(<NAME> <library>): for all targets, and for those who link the archive.
macro(scr_use name library)
    include_directories(SYSTEM ${SCR_${name}_INCLUDE})
    get_filename_component(beside ${SCR_${name}} DIRECTORY)
    if(NOT beside IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
        string(APPEND SCR_PC_LIBS "-L${beside} ")
    endif()
    string(APPEND SCR_PC_LIBS "-l${library} ")
endmacro()

scr_find(ISAL isal isa-l.h)
scr_find(JANSSON jansson jansson.h)
foreach(library ISAL JANSSON)
    if(NOT SCR_${library} OR NOT SCR_${library}_INCLUDE)
        message(FATAL_ERROR "SCR needs ISA-L (libisal, isa-l.h) and Jansson (libjansson, jansson.h): "
                            "SCR_${library}=${SCR_${library}}, SCR_${library}_INCLUDE=${SCR_${library}_INCLUDE}. Install "
                            "both with their headers, or name the place: -DCMAKE_PREFIX_PATH=DIR;DIR")
    endif()
endforeach()
scr_use(ISAL isal)
scr_use(JANSSON jansson)

set(SCR_ZSTD_LIB)
if(SCR_WITH_ZSTD)
    scr_find(ZSTD zstd zstd.h)
endif()
if(SCR_WITH_ZSTD AND SCR_ZSTD AND SCR_ZSTD_INCLUDE)
    set(SCR_ZSTD_LIB ${SCR_ZSTD})
    scr_use(ZSTD zstd)
else()
    message(STATUS "no libzstd: SCR_FLUSH_COMPRESS=ZSTD will have no effect")
endif()
