/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary of a dataset: version 6, and version 5 converted to it. */
#include "base/str.h"
#include "fmt/dataset.h"
#include "fmt/state.h"
#include <stdlib.h>

enum { VERSION = 6, OLD_VERSION = 5 };

static int corrupt(struct scr_err *err, const char *what)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "summary: %s", what);
}

/* --- summary.scr --- */

int scr_summary_set(scr_hash *h, const scr_hash *dset, int complete)
{
    struct scr_dataset d;
    if (h == NULL || scr_dataset_get(dset, &d, NULL) != SCR_OK)
        return SCR_E_ARG;
    scr_hash *copy = scr_hash_dup(dset);
    if (copy == NULL)
        return SCR_E_NOMEM;
    scr_hash_set_val_i64(h, "VERSION", VERSION);
    scr_hash_set_val_i64(h, "COMPLETE", complete != 0);
    scr_hash_set(h, "DSET", copy);
    return scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

/* The dataset hash that version 5 did not keep. It knew no name; callers that do (from
 * the index) set it. */
static int old_dataset(scr_hash *dset, int id, const struct scr_rank2file *files)
{
    struct scr_dataset d = { .id = id, .ckpt = id, .complete = -1, .is_ckpt = 1 };
    char *name = scr_asprintf("scr.dataset.%d", id);
    d.name = name;
    d.files = scr_rank2file_num_files(files);
    d.size = scr_rank2file_bytes(files);
    int rc = name == NULL ? SCR_E_NOMEM : scr_dataset_set(dset, &d);
    free(name);
    return rc;
}

static int get_complete(const scr_hash *h, int *complete)
{
    return scr_hash_get_val_int(h, "COMPLETE", complete) &&
           (*complete == 0 || *complete == 1);
}

/* Gives h, a summary of version 5 of checkpoint id, the shape of version 6. files: what
 * it lists. */
static int reshape(scr_hash *h, int id, int complete, struct scr_rank2file *files,
                   struct scr_err *err)
{
    scr_hash *ckpts = scr_hash_get(h, "CKPT");
    scr_hash *part =
        scr_hash_extract(ckpts, scr_hash_elem_key(scr_hash_elem_first(ckpts)));
    (void)scr_hash_unset(h, "CKPT");
    (void)scr_hash_unset(part, "COMPLETE");
    scr_hash_set_val_i64(part, "LEVEL", 0);
    scr_hash_set_val_i64(h, "VERSION", VERSION);
    scr_hash_set_val_i64(h, "COMPLETE", complete);
    scr_hash *dset = scr_hash_set(h, "DSET", NULL);
    part = scr_hash_set(h, "RANK2FILE", part);
    TRY(scr_hash_ok(h) ? SCR_OK : scr_no_memory(err));
    int rc = scr_rank2file_from_hash(files, part, err);
    return rc == SCR_OK && old_dataset(dset, id, files) != SCR_OK ? scr_no_memory(err)
                                                                  : rc;
}

/* Version 5, CKPT/<id>/{COMPLETE, RANKS, RANK/<r>/FILE/<name>/{SIZE CRC}}, becomes
 * version 6 with the rank/file part under RANK2FILE. */
static int convert_old(scr_hash *h, struct scr_rank2file *files, struct scr_err *err)
{
    const scr_hash *ckpts = scr_hash_get(h, "CKPT");
    const scr_hash_elem *e = scr_hash_elem_first(ckpts);
    int id = scr_hash_elem_key_int(e), complete;
    if (scr_hash_size(ckpts) != 1 || id < 1)
        return corrupt(err, "not of one checkpoint");
    if (!get_complete(scr_hash_elem_hash(e), &complete))
        return corrupt(err, "bad or missing COMPLETE");
    scr_hash *fresh = scr_hash_dup(h);
    int rc;
    TRY_OUT(fresh != NULL ? reshape(fresh, id, complete, files, err)
                          : scr_no_memory(err));
    scr_hash_move(h, fresh);
out:
    scr_hash_delete(fresh);
    return rc;
}

static int check_version(const scr_hash *h, int *version, struct scr_err *err)
{
    if (!scr_hash_get_val_int(h, "VERSION", version) || *version < OLD_VERSION)
        return corrupt(err, "bad or missing VERSION");
    if (*version > VERSION)
        return scr_fail(err, SCR_E_VERSION, 0,
                        "summary: version %d is newer than this reader's %d", *version,
                        VERSION);
    return SCR_OK;
}

int scr_summary_get(scr_hash *h, int *complete, scr_hash **dset,
                    struct scr_rank2file *files, struct scr_err *err)
{
    struct scr_dataset d;
    struct scr_rank2file list = { 0 };
    int version = 0, done = 0;
    int rc;
    TRY_OUT(check_version(h, &version, err));
    if (version == OLD_VERSION)
        TRY_OUT(convert_old(h, &list, err));
    if (!get_complete(h, &done))
        TRY_OUT(corrupt(err, "bad or missing COMPLETE"));
    TRY_OUT(scr_dataset_get(scr_hash_get(h, "DSET"), &d, err));
    const scr_hash *part = scr_hash_get(h, "RANK2FILE");
    if (part != NULL && version != OLD_VERSION)
        TRY_OUT(scr_rank2file_from_hash(&list, part, err));
out:
    if (rc != SCR_OK) {
        scr_rank2file_fini(&list);
        return rc;
    }
    *complete = done;
    *dset = scr_hash_get(h, "DSET");
    *files = list;
    return SCR_OK;
}
