/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_shared.h"

enum { PART = 100 }; /* bytes of each rank */

int job_route(struct job *job, struct scr_ctx *ctx, const char *name, char *path,
              struct scr_err *err)
{
    char file[900];
    snprintf(file, sizeof file, "%s/%s", job->prefix, name);
    return scr_route(ctx, file, path, err);
}

static int route_shared(struct job *job, struct scr_ctx *ctx, int seed, char *path)
{
    char name[64];
    struct scr_err err = SCR_ERR_INIT;
    snprintf(name, sizeof name, "shared.%d", seed);
    int rc = job_route(job, ctx, name, path, &err);
    if (rc != SCR_OK)
        fprintf(stderr, "rank %d: %s\n", job->rank, err.text);
    return rc == SCR_OK;
}

int job_write_shared(struct job *job, struct scr_ctx *ctx, int seed)
{
    char path[SCR_MAX_NAME], part[PART];
    MPI_File f;
    memset(part, 'a' + job->rank + seed, sizeof part);
    if (!route_shared(job, ctx, seed, path) ||
        MPI_File_open(job->comm, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &f) != MPI_SUCCESS)
        return 0;
    int ok = MPI_File_write_at_all(f, (MPI_Offset)job->rank * PART, part, PART,
                                   MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    return MPI_File_close(&f) == MPI_SUCCESS && ok;
}

int job_shared_ok(struct job *job, struct scr_ctx *ctx, int seed)
{
    char path[SCR_MAX_NAME];
    int c, i = 0;
    FILE *f = route_shared(job, ctx, seed, path) ? fopen(path, "r") : NULL;
    if (f == NULL)
        return 0;
    while ((c = getc(f)) != EOF && c == 'a' + i / PART + seed)
        i++;
    fclose(f);
    return c == EOF && i == job->size * PART;
}
