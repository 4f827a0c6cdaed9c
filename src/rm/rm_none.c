/* SPDX-License-Identifier: BSD-3-Clause */
/* No resource manager: the nodes are those of the settings, and it is not known which
 * of them are down. */
#include "rm/rm_impl.h"

const struct scr_rm_ops scr_rm_none = {
    .name = "NONE",
    .launcher = "mpirun",
};
