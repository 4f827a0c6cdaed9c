/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether what is left of a redundancy set suffices. */
#include "par/setjudge.h"

#include <stdlib.h>

#include "par/restoring.h"
#include "red/geom.h"

static int lowest(const int *members, int n)
{
    int low = members[0];
    for (int i = 1; i < n; i++)
        low = members[i] < low ? members[i] : low;
    return low;
}

int scr_setjudge_tell(const struct scr_comm *world, const scr_hash *known,
                      const struct scr_setjudge_told *told, scr_hash *send,
                      struct scr_err *err)
{
    int n = 0, *members = NULL;
    int rc = scr_restore_members(known, &members, &n, err);
    int set = n > 0 ? lowest(members, n) : -1;
    free(members);
    if (set < 0)
        return rc;
    scr_hash *judge = scr_hash_setf(send, NULL, "%d", set % world->size);
    char name[64];
    snprintf(name, sizeof name, "%s%d", told->prefix, set);
    scr_hash *slot = scr_hash_setf(judge, NULL, "%s", name);
    scr_hash *desc = scr_hash_setf(slot, NULL, "DESC");
    scr_hash *rank = scr_hash_setf(slot, NULL, "RANK %d", told->r);
    if (desc == NULL || scr_hash_size(desc) > 0 ||
        scr_hash_merge(desc, known) == SCR_OK)
        scr_hash_set_val_i64(rank, "HAVE", told->have);
    return rank != NULL && scr_hash_ok(slot)
               ? SCR_OK
               : scr_fail(err, SCR_E_NOMEM, 0, "redundancy set of rank %d", told->r);
}

/* Which rows there are does not depend on lengths. */
int scr_setjudge_suffices(const scr_hash *desc, int n, const int *have, int *ok,
                          struct scr_err *err)
{
    const char *type = scr_hash_get_val(desc, "TYPE");
    enum scr_scheme scheme;
    struct scr_geom geom = { 0 };
    uint64_t none[SCR_EC_MAX] = { 0 };
    int k = 0;
    *ok = 0;
    if (type == NULL || !scr_scheme_parse(type, &scheme) ||
        !scr_hash_get_val_int(desc, "FAILURES", &k))
        return scr_fail(err, SCR_E_CORRUPT, 0, "no scheme of the redundancy");
    int rc = scr_geom_init(&geom, scheme, n, k, none, err);
    if (rc == SCR_OK)
        *ok = scr_geom_recoverable(&geom, have);
    return rc;
}
