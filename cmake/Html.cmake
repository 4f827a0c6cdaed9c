# SPDX-License-Identifier: BSD-3-Clause
# The guide and the manual pages as web pages: target html, by Sphinx (scripts/install-deps.sh docs). Made with
# everything else where Sphinx and what doc/site/conf.py asks for are there; the library never waits for it.
option(SCR_DOCS "make the web pages if Sphinx is there" ON)

# The python3 of PATH may be a different one from that which has Debian's packages.
if(SCR_DOCS AND NOT SCR_SPHINX_PYTHON)
    foreach(python python3 /usr/bin/python3)
        execute_process(COMMAND ${python} -c "import sphinx, myst_parser, furo, sphinx_copybutton"
                        RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
        if(status EQUAL 0 AND NOT SCR_SPHINX_PYTHON)
            set(SCR_SPHINX_PYTHON ${python} CACHE STRING "python3 that has Sphinx, MyST, Furo and copy buttons")
        endif()
    endforeach()
endif()
if(NOT SCR_DOCS OR NOT SCR_SPHINX_PYTHON)
    message(STATUS "no web pages: SCR_DOCS=OFF, or no Sphinx (scripts/install-deps.sh docs)")
    return()
endif()

set(SCR_HTML_DIR ${PROJECT_BINARY_DIR}/html)
set(SCR_HTML_WARNINGS ${PROJECT_BINARY_DIR}/html.warnings)
file(GLOB html_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md ${PROJECT_SOURCE_DIR}/doc/site/*)
file(GLOB_RECURSE html_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/*.md* ${PROJECT_SOURCE_DIR}/doc/*.svg
     ${PROJECT_SOURCE_DIR}/doc/*.png ${PROJECT_SOURCE_DIR}/examples/*.md)
add_custom_command(OUTPUT ${SCR_HTML_DIR}/index.html
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${SCR_HTML_DIR}
    COMMAND ${SCR_SPHINX_PYTHON} -B -m sphinx -q -E -a -b html -c doc/site -d ${PROJECT_BINARY_DIR}/html.doctrees
            -D release=${PROJECT_VERSION} "-Dhtml_title=SCR ${PROJECT_VERSION}" -D scr_filled=${PROJECT_BINARY_DIR}/doc
            -w ${SCR_HTML_WARNINGS} . ${SCR_HTML_DIR}
            || ${CMAKE_COMMAND} -E echo "no web pages: Sphinx failed, see ${SCR_HTML_WARNINGS}"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DEPENDS ${html_sources} ${html_texts}
    COMMENT "Web pages" VERBATIM)
add_custom_target(html ALL DEPENDS ${SCR_HTML_DIR}/index.html)
install(DIRECTORY ${SCR_HTML_DIR}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html OPTIONAL)
