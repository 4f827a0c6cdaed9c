/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_datasets.h"

void datasets_write_ok(struct job *job, struct scr_ctx *ctx, int seed, int flags)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[16];
    snprintf(name, sizeof name, "d%d", seed);
    CHECK_RC(job_write(job, ctx, name, seed, flags, &err), SCR_OK, &err);
}

void write_some(struct job *job, struct scr_ctx *ctx, int from, int to)
{
    for (int i = from; i <= to; i++)
        datasets_write_ok(job, ctx, i, CKPT);
}

int complete_are(struct job *job, const char *want)
{
    char got[200] = "";
    for (int id = 1; id < 20; id++)
        if (job_entry(job, id, NULL, NULL) == 1)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d",
                     *got ? " " : "", id);
    if (strcmp(got, want) != 0 && job->rank == 0)
        fprintf(stderr, "complete are %s, not %s\n", got, want);
    return strcmp(got, want) == 0;
}

void put(struct job *job, const char *name, const char *text)
{
    char path[900];
    snprintf(path, sizeof path, "%s/%s", job->prefix, name);
    mpi_test_barrier(job->comm);
    if (job->rank == 0 && text != NULL) {
        FILE *f = fopen(path, "w");
        fputs(text, f);
        fclose(f);
    } else if (job->rank == 0) {
        unlink(path);
    }
    mpi_test_barrier(job->comm);
}
