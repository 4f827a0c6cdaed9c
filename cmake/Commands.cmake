# SPDX-License-Identifier: BSD-3-Clause
# SCR_COMMAND_LINKS: the names, besides scr itself, under which the program runs, read from
# src/defs/commands.def (one row a line: X(name, "link link…", "summary")).
set(commands_def ${PROJECT_SOURCE_DIR}/src/defs/commands.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${commands_def})
file(STRINGS ${commands_def} command_rows REGEX "^X\\(")
set(SCR_COMMAND_LINKS)
foreach(row ${command_rows})
    string(REGEX REPLACE "^X\\([a-z0-9_]+, *\"([^\"]*)\".*$" "\\1" links "${row}")
    separate_arguments(links UNIX_COMMAND "${links}")
    list(APPEND SCR_COMMAND_LINKS ${links})
endforeach()
