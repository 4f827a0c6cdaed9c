/* SPDX-License-Identifier: BSD-3-Clause */
/* Short names from some ranks to rank 0. */
#include "par/comm/roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "par/comm/mpi_call.h"

enum { TAG_NAME = 30 };

static int send_name(const struct scr_comm *c, const char *mine)
{
    char name[SCR_ROSTER_NAME_MAX];
    MPI_Request req = MPI_REQUEST_NULL;
    int n = snprintf(name, sizeof name, "%s", mine);
    n = n < SCR_ROSTER_NAME_MAX ? n + 1 : SCR_ROSTER_NAME_MAX;
    int code = MPI_Isend(name, n, MPI_CHAR, 0, TAG_NAME, c->comm, &req);
    return scr_mpi_finish(code, &req, "names to rank 0", NULL);
}

static int receive_name(const struct scr_comm *c, char name[SCR_ROSTER_NAME_MAX])
{
    MPI_Request req = MPI_REQUEST_NULL;
    int code = MPI_Irecv(name, SCR_ROSTER_NAME_MAX, MPI_CHAR, MPI_ANY_SOURCE, TAG_NAME,
                         c->comm, &req);
    return scr_mpi_finish(code, &req, "names to rank 0", NULL);
}

/* All are received, also where there is no memory for them. */
static int receive_all(const struct scr_comm *c, int n, struct scr_hostlist *names)
{
    char name[SCR_ROSTER_NAME_MAX];
    int rc = SCR_OK;
    for (; n > 0; n--) {
        TRY(receive_name(c, name));
        rc = rc == SCR_OK ? scr_hostlist_add(names, name, NULL) : rc;
    }
    return rc;
}

static void sort_once(struct scr_hostlist *names)
{
    size_t kept = 0;
    if (names->n > 0)
        qsort(names->name, names->n, sizeof *names->name, scr_by_text);
    for (size_t i = 0; i < names->n; i++)
        if (kept > 0 && strcmp(names->name[i], names->name[kept - 1]) == 0)
            free(names->name[i]);
        else
            names->name[kept++] = names->name[i];
    names->n = kept;
}

int scr_roster_gather(const struct scr_comm *c, const char *mine, int n,
                      struct scr_hostlist *names)
{
    int has = mine != NULL;
    if (c->rank != 0)
        return has ? send_name(c, mine) : SCR_OK;
    int rc = has ? scr_hostlist_add(names, mine, NULL) : SCR_OK;
    rc = scr_first(rc, receive_all(c, n - has, names));
    sort_once(names);
    return rc;
}
