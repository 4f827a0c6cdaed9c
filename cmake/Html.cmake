# SPDX-License-Identifier: BSD-3-Clause
# The guide and the manual pages as HTML: target html, where there are pandoc and Python. Not part
# of "all"; what was built is installed.
find_program(SCR_PYTHON python3)
set(html_dir ${PROJECT_BINARY_DIR}/html)
if(SCR_PANDOC AND SCR_PYTHON)
    add_custom_target(html
        COMMAND ${SCR_PYTHON} -B ${PROJECT_SOURCE_DIR}/doc/html/build.py --root ${PROJECT_SOURCE_DIR}
                --filled ${PROJECT_BINARY_DIR}/doc --out ${html_dir} --version ${PROJECT_VERSION}
        VERBATIM)
else()
    message(STATUS "no pandoc or no python3: no manual pages and no HTML guide")
endif()
install(DIRECTORY ${html_dir}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html COMPONENT dev OPTIONAL)
