/* SPDX-License-Identifier: BSD-3-Clause */
/* Between libscr and libscr_interpose of the same build; no program calls it. */
#ifndef SCR_API_PLACES_H
#define SCR_API_PLACES_H

#include "scr.h"

struct scr_places {
    const char *prefix;      /* as SCR has it: absolute */
    const char *prefix_real; /* the same without symbolic links */
    const char *cache;       /* directory of this job in the store that most checkpoints
                                are kept in */
};

/* Local, between SCR_Init and SCR_Finalize, to which the strings belong.
 * SCR_FAILURE at another time. */
SCR_API int scr_places(struct scr_places *p);

#endif
