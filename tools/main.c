/* SPDX-License-Identifier: BSD-3-Clause */
/* The program scr, under all its names. */
#include "cfg/cfg.h"

#include "tool.h"

int main(int argc, char **argv)
{
    return scr_tool_main(argc, argv, scr_cfg_process_environ(), stdout, stderr);
}
