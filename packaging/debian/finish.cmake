# SPDX-License-Identifier: BSD-3-Clause
# Run by CPack between installation and packing: what Debian wants beyond the files of the build.
# Manual pages are compressed, and each package has its copyright and its changelog.
find_program(GZIP gzip REQUIRED)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

foreach(component ${CPACK_COMPONENTS_ALL})
    string(TOUPPER ${component} upper)
    set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
    set(doc ${root}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/${name})

    file(GLOB pages ${root}${CPACK_PACKAGING_INSTALL_PREFIX}/share/man/man*/*.[1-9])
    set(changelog ${doc}/changelog.Debian)
    file(WRITE ${changelog}
"scr (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Built from source by cpack.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
    configure_file(${CPACK_SCR_LICENSE} ${doc}/copyright COPYONLY)
    file(CHMOD ${doc}/copyright ${changelog} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    execute_process(COMMAND ${GZIP} -9nf ${pages} ${changelog} RESULT_VARIABLE status)
    if(status)
        message(FATAL_ERROR "gzip of the documents of ${name}: ${status}")
    endif()
endforeach()
