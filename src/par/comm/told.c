/* SPDX-License-Identifier: BSD-3-Clause */
/* File lists that ranks exchange. */
#include "par/comm/told.h"

int scr_told_new(struct scr_told *t, int id, int rank, struct scr_err *err)
{
    t->map = scr_filemap_new();
    t->entry = scr_filemap_add_rank(t->map, id, rank);
    return t->entry != NULL ? SCR_OK : scr_no_memory(err);
}

void scr_told_fini(struct scr_told *t)
{
    scr_filemap_delete(t->map);
    *t = (struct scr_told){ NULL, NULL };
}

int scr_told_post(const struct scr_told *t, int to, struct scr_parcels *send,
                  struct scr_err *err)
{
    struct scr_str *bytes = scr_parcel_to(send, to);
    if (bytes != NULL)
        scr_filemap_pack(bytes, t->map);
    return bytes != NULL && !bytes->bad ? SCR_OK : scr_no_memory(err);
}

int scr_told_take(struct scr_told *t, const struct scr_str *bytes, int id, int rank,
                  struct scr_err *err)
{
    t->map = scr_filemap_new();
    t->entry = NULL;
    TRY(scr_filemap_unpack(bytes->p, bytes->len, t->map, err));
    if ((t->entry = scr_filemap_add_rank(t->map, id, rank)) == NULL)
        return scr_no_memory(err);
    return SCR_OK;
}
