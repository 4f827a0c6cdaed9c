/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks a dataset of the index as one that a restart could not read, or as one whose
 * deletion has begun, or one of the flush file as being copied:
 *
 *     cli_mark PREFIX ID [deleting | flushing] */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "fmt/state.h"
#include "store/prefix.h"

static int edit_doom(struct scr_index *index, void *arg, int *changed,
                     struct scr_err *err)
{
    (void)err;
    *changed = 1;
    scr_index_mark_doomed(index, *(const int *)arg);
    return SCR_OK;
}

static int edit(struct scr_index *index, void *arg, int *changed, struct scr_err *err)
{
    (void)err;
    *changed = 1;
    scr_index_mark_failed(index, *(const int *)arg, time(NULL));
    return SCR_OK;
}

static int edit_flushing(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)err;
    *changed = 1;
    return scr_flush_set_location(h, *(const int *)arg, SCR_LOC_FLUSHING, 1);
}

int main(int argc, char **argv)
{
    static const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_prefix p = { 0 };
    int id;
    if (argc < 3 || argc > 4 || !scr_parse_int(argv[2], &id)) {
        fprintf(stderr, "usage: cli_mark PREFIX ID [deleting | flushing]\n");
        return 1;
    }
    int rc = scr_prefix_open(&env, argv[1], 0, &p, &err);
    if (rc == SCR_OK && argc == 4 && strcmp(argv[3], "flushing") == 0)
        rc = scr_prefix_state_update(&env, &p, "flush.scr", edit_flushing, &id, &err);
    else if (rc == SCR_OK)
        rc = scr_prefix_index_update(&env, &p, argc == 4 ? edit_doom : edit, &id, &err);
    scr_prefix_fini(&p);
    if (rc != SCR_OK)
        fprintf(stderr, "cli_mark: %s\n", err.text);
    return rc != SCR_OK;
}
