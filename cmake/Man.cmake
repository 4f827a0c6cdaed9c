# SPDX-License-Identifier: BSD-3-Clause
# Man pages: doc/man<n>/<page>.<n>.md through pandoc, where pandoc exists. A page <page>.md.in
# is a template, filled here from the .def files. Every further name in a page's NAME line
# becomes a page of its own that refers to the first (".so").
find_program(SCR_PANDOC pandoc)
set(man_dir ${PROJECT_BINARY_DIR}/man)

# ${SCR_ERRORS_TABLE}: rows of errors.def as definition list entries.
file(STRINGS ${PROJECT_SOURCE_DIR}/src/defs/errors.def error_rows REGEX "^X\\(")
set(SCR_ERRORS_TABLE)
foreach(row ${error_rows})
    string(REGEX REPLACE "^X\\(([A-Z0-9_]+), *([0-9]+), *\"([^\"]*)\".*$"
           "**SCR_E_\\1** (\\2)\n:   \\3\n\n" entry "${row}")
    string(APPEND SCR_ERRORS_TABLE "${entry}")
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/src/defs/errors.def)

# scr_man_page(<markdown>): rule for one page; appends to man_pages.
function(scr_man_page source)
    get_filename_component(page ${source} NAME_WLE) # SCR_Init.3
    string(REGEX REPLACE "^.*\\.([0-9])$" "\\1" section ${page})
    set(out ${man_dir}/man${section}/${page})
    add_custom_command(OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${man_dir}/man${section}
        COMMAND ${SCR_PANDOC} --standalone --from markdown --to man
                --metadata footer=SCR\ ${PROJECT_VERSION} --output ${out} ${source}
        DEPENDS ${source} VERBATIM)
    set(pages ${man_pages} ${out})

    file(STRINGS ${source} name_line REGEX "^[A-Za-z0-9_., -]+ - " LIMIT_COUNT 1)
    string(REGEX REPLACE " - .*$" "" names "${name_line}")
    string(REPLACE "," ";" names "${names}")
    foreach(name ${names})
        string(STRIP "${name}" name)
        if(NOT "${name}.${section}" STREQUAL "${page}")
            file(CONFIGURE OUTPUT ${man_dir}/man${section}/${name}.${section}
                 CONTENT ".so man${section}/${page}\n" @ONLY)
        endif()
    endforeach()
    set(man_pages ${pages} PARENT_SCOPE)
endfunction()

file(GLOB man_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/man[1-8]/*.md)
file(GLOB man_templates CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/man[1-8]/*.md.in)
foreach(template ${man_templates})
    get_filename_component(name ${template} NAME_WLE)
    configure_file(${template} ${PROJECT_BINARY_DIR}/doc/${name} @ONLY)
    list(APPEND man_sources ${PROJECT_BINARY_DIR}/doc/${name})
endforeach()
set(man_pages)
if(SCR_PANDOC)
    foreach(source ${man_sources})
        scr_man_page(${source})
    endforeach()
    add_custom_target(man ALL DEPENDS ${man_pages})
else()
    message(STATUS "no pandoc: no manual pages")
endif()
