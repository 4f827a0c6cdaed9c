# SPDX-License-Identifier: BSD-3-Clause
# What is installed of the Fortran interface: libscrf, scrf.h, scr.mod, scrf.pc and the target
# scr::scrf and scr::scrf-static (find_package(scr COMPONENTS fortran)).
if(NOT TARGET scrf_shared)
    return()
endif()
set_target_properties(scrf_shared PROPERTIES EXPORT_NAME scrf INSTALL_RPATH "$ORIGIN") # libscr is beside it
install(TARGETS scrf_shared EXPORT scrFortranTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT runtime NAMELINK_COMPONENT dev)
set_target_properties(scrf_static PROPERTIES EXPORT_NAME scrf-static)
install(TARGETS scrf_static EXPORT scrStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(FILES bindings/fortran/scrf.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
if(SCR_HAVE_FORTRAN)
    install(FILES ${SCR_MODULE_DIR}/scr.mod DESTINATION ${SCR_FORTRAN_MODDIR} COMPONENT dev)
endif()
install(EXPORT scrFortranTargets NAMESPACE scr:: DESTINATION ${scr_package_dir} COMPONENT dev)
configure_file(cmake/scrf.pc.in ${PROJECT_BINARY_DIR}/scrf.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/scrf.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev
        RENAME scrf${SCR_LIB_SUFFIX}.pc)
