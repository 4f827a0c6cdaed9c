/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_compress.h"
#include "helper_stored.h"

long two_large_ones(int rank, int file, int seed)
{
    static const long sizes[] = { 40000, 70000, 100, 0, -1 };
    return file < 4 ? sizes[file] + (file < 2 ? rank + seed : 0) : -1;
}

void begin(struct mpi_test *t, struct job *job)
{
    job_new(t, job, t->comm.size);
    job->size_of = two_large_ones;
    job->even = 1;
}

int count(struct job *job, const char *part)
{
    return job_count(job, job->prefix, part);
}

void check_list(struct job *job, int id, size_t files, size_t packed)
{
    struct mpi_test *t = job->t;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    size_t n = 0;
    mpi_test_barrier(job->comm);
    if (job->rank != 0)
        return;
    CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
    struct scr_catalog c = { .env = &env, .prefix = &p, .id = id };
    CHECK_RC(scr_catalog_read_all(&c, &err), SCR_OK, &err);
    for (SCR_EACH(struct scr_listed, f, &c.files)) {
        uint64_t size = 0;
        uint32_t crc = 0;
        if (!f->is_packed)
            continue;
        char *path = scr_asprintf("%s/%s.zst", job->prefix, f->item.name);
        CHECK_RC(scr_file_crc32(&env, path, 0, &size, &crc, &err), SCR_OK, &err);
        CHECK_INT(size, f->packed.size);
        CHECK_INT(crc, f->packed.crc);
        CHECK(f->has_size && f->size > size);
        free(path);
        n++;
    }
    CHECK_INT(c.files.n, files);
    CHECK_INT(n, packed);
    scr_catalog_fini(&c);
    scr_prefix_fini(&p);
}
