/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_cntl.h"

int cntl_teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

void begin(struct fixture *f)
{
    *f = (struct fixture){ .err = SCR_ERR_INIT };
    f->log = (struct scr_log){ .out = open_memstream(&f->text, &f->n), .who = "test" };
    f->env = (struct scr_env){ .sys = &test_fault_sys, .log = &f->log };
    scr_dir_remove(&scr_sys_posix, test_path("cntl"), NULL);
    assert_int_equal(mkdir(test_path("cntl"), 0700), 0);
    assert_int_equal(scr_cntl_open(&f->env, test_path("cntl"), 0, &f->c, &f->err),
                     SCR_OK);
}

void end(struct fixture *f)
{
    scr_cntl_close(&f->env, &f->c);
    fclose(f->log.out);
    free(f->text);
}

int journal(struct fixture *f, int dset, int rank, const char *path)
{
    return scr_cntl_journal(&f->env, &f->c, dset, rank, path, &f->err);
}

scr_filemap *read_all(struct fixture *f)
{
    const struct scr_env env = { .sys = &scr_sys_posix, .log = &f->log };
    scr_filemap *map = scr_filemap_new();
    struct scr_err err = SCR_ERR_INIT;
    if (scr_cntl_read_node(&env, &f->c, map, &err) != SCR_OK)
        fail_msg("%s", err.text);
    return map;
}

int knows(struct fixture *f, int dset, int rank, const char *path)
{
    scr_filemap *map = read_all(f);
    int found = 0;
    for (SCR_FILES(file, map, dset, rank))
        found |= strcmp(file->item.name, path) == 0;
    scr_filemap_delete(map);
    return found;
}
