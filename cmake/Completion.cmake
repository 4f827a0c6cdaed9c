# SPDX-License-Identifier: BSD-3-Clause
# Completion of names of commands, options and parameters in shells: the program prints the scripts.
# bash and fish look for a file with the name of the command, so each link has one.
set(completion_dir ${PROJECT_BINARY_DIR}/completion)
if(NOT TARGET scr_tool OR CMAKE_CROSSCOMPILING)
    return()
endif()
file(MAKE_DIRECTORY ${completion_dir}/bash ${completion_dir}/zsh ${completion_dir}/fish)
add_custom_command(TARGET scr_tool POST_BUILD
    COMMAND scr_tool completion bash > ${completion_dir}/bash/scr
    COMMAND scr_tool completion zsh > ${completion_dir}/zsh/_scr
    COMMAND scr_tool completion fish > ${completion_dir}/fish/scr.fish VERBATIM)
foreach(link ${SCR_COMMAND_LINKS})
    file(CREATE_LINK scr ${completion_dir}/bash/${link} SYMBOLIC)
    file(CREATE_LINK scr.fish ${completion_dir}/fish/${link}.fish SYMBOLIC)
endforeach()
install(DIRECTORY ${completion_dir}/bash/ COMPONENT tools
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${completion_dir}/zsh/ COMPONENT tools
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(DIRECTORY ${completion_dir}/fish/ COMPONENT tools
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
