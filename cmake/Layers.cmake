# SPDX-License-Identifier: BSD-3-Clause
# One object library a layer; a layer sees only what lies below it at link time, and tests link
# the closure of the layer they test (tests/lint checks the includes).
set(SCR_WARNINGS -Wall -Wextra -Wshadow -Wconversion)
if(SCR_WERROR)
    list(APPEND SCR_WARNINGS -Werror)
endif()
set(SCR_DEFINES _GNU_SOURCE SCR_VERSION="${PROJECT_VERSION}" SCR_CONFIG_FILE="${SCR_CONFIG_FILE}"
    SCR_CNTL_BASE_DEFAULT="${SCR_CNTL_BASE}" SCR_CACHE_BASE_DEFAULT="${SCR_CACHE_BASE}"
    SCR_BINDIR="${CMAKE_INSTALL_FULL_BINDIR}")

if(SCR_ZSTD_LIB)
    list(APPEND SCR_DEFINES SCR_HAVE_ZSTD)
endif()

function(scr_layer name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c)
    if(NOT sources)
        return()
    endif()
    add_library(scr_layer_${name} OBJECT ${sources})
    target_include_directories(scr_layer_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src
                               ${PROJECT_SOURCE_DIR}/include)
    target_compile_options(scr_layer_${name} PRIVATE ${SCR_WARNINGS})
    target_compile_definitions(scr_layer_${name} PRIVATE ${SCR_DEFINES})
endfunction()

set(SCR_SERIAL_LAYERS base cfg fmt ec store xfer rm red ops)
set(SCR_MPI_LAYERS par core api)
# What each layer links, itself included.
set(SCR_CLOSURE_base base)
set(SCR_CLOSURE_cfg base cfg)
set(SCR_CLOSURE_fmt base fmt)
set(SCR_CLOSURE_ec base ec)
set(SCR_CLOSURE_store base cfg fmt ec store)
set(SCR_CLOSURE_xfer base cfg fmt ec xfer)
set(SCR_CLOSURE_rm base cfg fmt ec rm)
set(SCR_CLOSURE_red base cfg fmt ec store red)
set(SCR_CLOSURE_ops ${SCR_SERIAL_LAYERS})
set(SCR_CLOSURE_tools ${SCR_SERIAL_LAYERS})
set(SCR_CLOSURE_par ${SCR_SERIAL_LAYERS} par)
set(SCR_CLOSURE_core ${SCR_SERIAL_LAYERS} par core)
set(SCR_CLOSURE_api ${SCR_SERIAL_LAYERS} par core api)

foreach(layer ${SCR_SERIAL_LAYERS} ${SCR_MPI_LAYERS})
    scr_layer(${layer})
endforeach()
foreach(layer ${SCR_MPI_LAYERS})
    if(TARGET scr_layer_${layer})
        target_include_directories(scr_layer_${layer} PRIVATE ${MPI_C_INCLUDE_DIRS})
        target_compile_options(scr_layer_${layer} PRIVATE ${MPI_C_COMPILE_OPTIONS})
    endif()
endforeach()
set(SCR_SERIAL_LIBS ${SCR_ISAL} ${SCR_JANSSON} ${SCR_ZSTD_LIB} Threads::Threads m)

# scr_objects(<out> layer...): object expressions of the layers that exist.
function(scr_objects out)
    set(objects)
    foreach(layer ${ARGN})
        if(TARGET scr_layer_${layer})
            list(APPEND objects $<TARGET_OBJECTS:scr_layer_${layer}>)
        endif()
    endforeach()
    set(${out} ${objects} PARENT_SCOPE)
endfunction()

scr_objects(base_objects ${SCR_SERIAL_LAYERS})
add_library(scr_base STATIC ${base_objects})
target_link_libraries(scr_base PUBLIC ${SCR_SERIAL_LIBS})

# Of the work of the commands the library does the sweep alone.
scr_objects(all_objects ${SCR_SERIAL_LAYERS} ${SCR_MPI_LAYERS})
list(REMOVE_ITEM all_objects $<TARGET_OBJECTS:scr_layer_ops>)
list(APPEND all_objects $<FILTER:$<TARGET_OBJECTS:scr_layer_ops>,INCLUDE,/sweep[.]c>)
add_library(scr_shared SHARED ${all_objects})
add_library(scr_static STATIC ${all_objects})
foreach(lib scr_shared scr_static)
    set_target_properties(${lib} PROPERTIES OUTPUT_NAME scr${SCR_LIB_SUFFIX} VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C EXPORT_NAME ${lib})
    target_include_directories(${lib} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_link_libraries(scr_shared PRIVATE ${SCR_SERIAL_LIBS} MPI::MPI_C)
target_link_libraries(scr_static PUBLIC ${SCR_SERIAL_LIBS} MPI::MPI_C)

# The program scr and its links.
include(cmake/Page.cmake)
file(GLOB_RECURSE tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.c)
if(tool_sources)
    add_executable(scr_tool ${tool_sources})
    set_target_properties(scr_tool PROPERTIES OUTPUT_NAME scr)
    target_include_directories(scr_tool PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                               ${PROJECT_SOURCE_DIR}/tools ${SCR_PAGE_DIR})
    target_compile_options(scr_tool PRIVATE ${SCR_WARNINGS})
    target_compile_definitions(scr_tool PRIVATE ${SCR_DEFINES} SCR_MPIRUN="${SCR_MPIRUN}"
        SCR_LIBEXECDIR="${CMAKE_INSTALL_FULL_LIBEXECDIR}/scr")
    target_link_libraries(scr_tool PRIVATE scr_base)
endif()
