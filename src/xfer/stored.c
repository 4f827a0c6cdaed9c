/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of a dataset in the prefix directory, by its entry in rank2file. */
#include "xfer/stored.h"

#include <stdlib.h>

#include "base/path.h"

int scr_stored_job(const char *prefix, const char *dest, const scr_hash *info,
                   struct scr_stored *s, struct scr_copy *job, struct scr_err *err)
{
    char *stored = scr_rank2file_stored(dest, info);
    s->src = stored ? scr_path_join(prefix, stored) : NULL;
    free(stored);
    if (s->src == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "%s: out of memory", dest);
    job->src = s->src;
    if (scr_hash_get_val_u64(info, "SIZE", &s->size))
        job->size = &s->size;
    if (scr_hash_get_val_crc(info, "CRC", &s->crc))
        job->crc = &s->crc;
    if (scr_rank2file_packed(info, &s->packed)) {
        job->code = SCR_COPY_UNPACK;
        job->stored_size = &s->packed.size;
        job->stored_crc = &s->packed.crc;
    }
    return SCR_OK;
}

void scr_stored_fini(struct scr_stored *s)
{
    free(s->src);
    s->src = NULL;
}
