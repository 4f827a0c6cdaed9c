# SPDX-License-Identifier: BSD-3-Clause
# ${SCR_PAGE_DIR}/report_page.h: the page of scr report as bytes, those before its data and those
# behind. tools/report/page.html has the places of page.css, page.js and the data. CMake makes it,
# as nothing else in the build needs Python.
set(SCR_PAGE_DIR ${PROJECT_BINARY_DIR}/page)
set(page_source ${PROJECT_SOURCE_DIR}/tools/report)
foreach(part html css js)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_source}/page.${part})
    file(READ ${page_source}/page.${part} page_${part} HEX)
    string(HEX "@${part}@" page_place_${part})
endforeach()
string(HEX "@data@" page_place_data)
string(REPLACE "${page_place_css}" "${page_css}" page_html "${page_html}")
string(REPLACE "${page_place_js}" "${page_js}" page_html "${page_html}")
string(FIND "${page_html}" "${page_place_data}" page_at)
string(LENGTH "${page_place_data}" page_length)
math(EXPR page_behind "${page_at} + ${page_length}")
string(SUBSTRING "${page_html}" 0 ${page_at} page_head)
string(SUBSTRING "${page_html}" ${page_behind} -1 page_tail)

set(page_text "/* made by cmake/Page.cmake */\n")
foreach(half head tail)
    string(REGEX REPLACE "(..)" "0x\\1," page_bytes "${page_${half}}")
    string(APPEND page_text "static const unsigned char scr_report_page_${half}[] = { ${page_bytes} };\n")
endforeach()
file(CONFIGURE OUTPUT ${SCR_PAGE_DIR}/report_page.h CONTENT "${page_text}" @ONLY)
