/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of a dataset in the prefix directory, by its entry in rank2file. */
#include "xfer/stored.h"

#include <stdlib.h>

#include "base/path.h"

int scr_stored_job(const char *prefix, const struct scr_listed *f, char **src,
                   struct scr_copy *job, struct scr_err *err)
{
    char *stored = scr_listed_stored(f);
    *src = stored ? scr_path_join(prefix, stored) : NULL;
    free(stored);
    TRY(*src ? SCR_OK : scr_no_memory(err));
    job->src = *src;
    if (f->has_size)
        job->size = &f->size;
    if (f->has_crc)
        job->crc = &f->crc;
    if (f->is_packed) {
        job->code = SCR_COPY_UNPACK;
        job->stored_size = &f->packed.size;
        job->stored_crc = &f->packed.crc;
    }
    return SCR_OK;
}
