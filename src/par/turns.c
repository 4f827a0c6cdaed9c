/* SPDX-License-Identifier: BSD-3-Clause */
/* At most `width` ranks at a time: a token goes from rank r to rank r + width. */
#include "par/turns.h"

enum { TAG_TURN = 22 };

static int at_least_one(int width)
{
    return width > 0 ? width : 1;
}

int scr_turn_take(const struct scr_comm *c, int width)
{
    int rc = SCR_OK, from = c->rank - at_least_one(width);
    if (from >= 0 && MPI_Recv(&rc, 1, MPI_INT, from, TAG_TURN, c->comm,
                              MPI_STATUS_IGNORE) != MPI_SUCCESS)
        rc = SCR_E_MPI;
    return rc;
}

void scr_turn_pass(const struct scr_comm *c, int width, int rc)
{
    if (c->size - c->rank > at_least_one(width))
        MPI_Send(&rc, 1, MPI_INT, c->rank + at_least_one(width), TAG_TURN, c->comm);
}
