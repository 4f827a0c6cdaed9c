# SPDX-License-Identifier: BSD-3-Clause
# Debian packages by CPack (`make package`), one for each component of the install() rules. The
# libraries belong to one MPI, whose name is part of the packages' version.
#
# A directory whose install() rules name no component sets CMAKE_INSTALL_DEFAULT_COMPONENT_NAME. What
# belongs to no package fails `make package-check`.
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGE_NAME scr)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(SCR_PACKAGE_CONTACT "The SCR developers <scr@scr.invalid>" CACHE STRING "who makes the packages")
set(CPACK_PACKAGE_CONTACT ${SCR_PACKAGE_CONTACT})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1+${SCR_MPI})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/finish.cmake)
set(CPACK_SCR_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)

set(scr_lib_package libscr${PROJECT_VERSION_MAJOR})
set(scr_same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(scr_text "Checkpoints of MPI programs go to storage of the nodes, are protected
over nodes and rebuilt after failures; some are copied to the parallel
file system. Built with ${SCR_MPI}.")
get_cmake_property(scr_components COMPONENTS)
set(CPACK_COMPONENTS_ALL)

# scr_package(<component> <package> <section> <what> [DEPENDS …] [RECOMMENDS …] [SUGGESTS …]): nothing
# if the build has no such component.
macro(scr_package component name section what)
    cmake_parse_arguments(pkg "" "" "DEPENDS;RECOMMENDS;SUGGESTS" ${ARGN})
    if(${component} IN_LIST scr_components)
        string(TOUPPER ${component} upper)
        list(APPEND CPACK_COMPONENTS_ALL ${component})
        set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
        set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
        set(CPACK_DEBIAN_${upper}_DESCRIPTION "scalable checkpoint and restart - ${what}\n${scr_text}")
        foreach(relation DEPENDS RECOMMENDS SUGGESTS)
            list(JOIN pkg_${relation} ", " CPACK_DEBIAN_${upper}_PACKAGE_${relation})
        endforeach()
    endif()
endmacro()

set(scr_mpi_dev lib${SCR_MPI}-dev)
set(scr_mpi_bin mpich)
if(SCR_MPI STREQUAL "openmpi")
    set(scr_mpi_bin openmpi-bin)
endif()
scr_package(runtime ${scr_lib_package} libs "library")
scr_package(dev libscr-dev libdevel "headers and examples"
            DEPENDS "${scr_lib_package} ${scr_same_version}" ${scr_mpi_dev}
            SUGGESTS pkg-config libisal-dev libjansson-dev libzstd-dev)
scr_package(tools scr-tools utils "commands"
            DEPENDS "${scr_lib_package} ${scr_same_version}" RECOMMENDS ${scr_mpi_bin} SUGGESTS pdsh)
scr_package(doc scr-doc doc "guide and manual as web pages")
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
scr_package(python python3-scr python "Python package"
            DEPENDS "${scr_lib_package} ${scr_same_version}" python3 RECOMMENDS python3-mpi4py)
include(CPack)
