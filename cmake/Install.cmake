# SPDX-License-Identifier: BSD-3-Clause
# What is installed, and where: libraries, headers, program and links, the drill's solver, the CMake package, scr.pc,
# completion for shells, the man pages, the modulefile, examples and files for a
# cluster to copy.
include(CMakePackageConfigHelpers)
include(cmake/Commands.cmake)
include(cmake/Man.cmake)
include(cmake/Completion.cmake)

set(scr_libexec ${CMAKE_INSTALL_LIBEXECDIR}/scr)
set(scr_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/scr${SCR_LIB_SUFFIX})

set_target_properties(scr_shared PROPERTIES EXPORT_NAME scr)
set_target_properties(scr_static PROPERTIES EXPORT_NAME scr-static)
install(TARGETS scr_shared EXPORT scrTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT runtime NAMELINK_COMPONENT dev)
install(TARGETS scr_static EXPORT scrStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT dev)
install(FILES include/scr.h include/scr.hpp include/scr_calls.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

# The program, and its other names as links beside it, in the build directory too.
if(TARGET scr_tool)
    install(TARGETS scr_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
    foreach(link ${SCR_COMMAND_LINKS})
        set(made ${PROJECT_BINARY_DIR}/${link})
        add_custom_command(TARGET scr_tool POST_BUILD
            COMMAND ${CMAKE_COMMAND} -E create_symlink scr ${made} VERBATIM)
        install(FILES ${made} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
    endforeach()
endif()

# The solver finds libscr beside it wherever the tree is moved to; the system's tree is not.
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    file(RELATIVE_PATH libexec_to_lib /${scr_libexec} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(heat2d PROPERTIES INSTALL_RPATH "$ORIGIN/${libexec_to_lib}")
endif()
install(TARGETS heat2d RUNTIME DESTINATION ${scr_libexec} COMPONENT tools)

# find_package(scr)
install(EXPORT scrTargets NAMESPACE scr:: DESTINATION ${scr_package_dir} COMPONENT dev)
install(EXPORT scrStaticTargets NAMESPACE scr:: DESTINATION ${scr_package_dir} COMPONENT dev)
configure_package_config_file(cmake/scrConfig.cmake.in ${PROJECT_BINARY_DIR}/scrConfig.cmake
                              INSTALL_DESTINATION ${scr_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/scrConfigVersion.cmake
                                 COMPATIBILITY AnyNewerVersion) # programs ask for 3.0
if(SCR_LIB_SUFFIX) # beside that of another MPI, which the project may have found
    file(APPEND ${PROJECT_BINARY_DIR}/scrConfigVersion.cmake "
set(scr_mpi_found \"\${MPI_C_COMPILER};\${MPI_C_INCLUDE_DIRS};\${MPI_C_LIBRARIES}\")
if(MPI_C_FOUND AND scr_mpi_found MATCHES openmpi|mpich AND NOT scr_mpi_found MATCHES ${SCR_MPI})
    set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
")
endif()
install(FILES ${PROJECT_BINARY_DIR}/scrConfig.cmake ${PROJECT_BINARY_DIR}/scrConfigVersion.cmake
        DESTINATION ${scr_package_dir} COMPONENT dev)

# pkg-config; the prefix is found from the place of scr.pc, so the tree may be moved
file(RELATIVE_PATH SCR_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" SCR_PC_UP "${SCR_PC_UP}")
set(CMAKE_INSTALL_FORTRAN_MODDIR ${SCR_FORTRAN_MODDIR})
foreach(dir INCLUDEDIR LIBDIR FORTRAN_MODDIR)
    if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
        set(SCR_PC_${dir} ${CMAKE_INSTALL_${dir}})
    else()
        set(SCR_PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    endif()
endforeach()
configure_file(cmake/scr.pc.in ${PROJECT_BINARY_DIR}/scr.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/scr.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev
        RENAME scr${SCR_LIB_SUFFIX}.pc)
include(cmake/InstallFortran.cmake)

if(SCR_PANDOC)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR}
            COMPONENT dev)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}
            COMPONENT tools PATTERN man3 EXCLUDE)
endif()

# module load scr: the place of the tree is found from that of the file. Its name has the MPI, as a site that
# has several collects their files in one directory.
set(scr_module_dir ${CMAKE_INSTALL_DATADIR}/modulefiles/scr)
file(RELATIVE_PATH SCR_MODULE_UP /${scr_module_dir} /)
configure_file(packaging/modules/scr.in ${PROJECT_BINARY_DIR}/modulefile @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/modulefile DESTINATION ${scr_module_dir}
        RENAME ${PROJECT_VERSION}-${SCR_MPI} COMPONENT module)

install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
        COMPONENT dev PATTERN CMakeLists.txt EXCLUDE)

# To copy by those who run a machine: scripts for slurmd, configurations, directories for systemd-tmpfiles.
install(DIRECTORY packaging/slurm packaging/site packaging/tmpfiles.d DESTINATION ${CMAKE_INSTALL_DATADIR}/scr
        COMPONENT tools USE_SOURCE_PERMISSIONS)
