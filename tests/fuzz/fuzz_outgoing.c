/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a flush, and behind it in the input the journal that each of its nodes
 * has. */
#include "fuzz.h"

#include "base/hashfile.h"
#include "fmt/dataset.h"
#include "store/arrival.h"
#include <string.h>

static void check_look(const struct fuzz_piece *disk, int id)
{
    const struct scr_prefix p = { .path = (char[]){ "/p" },
                                  .scr = (char[]){ "/p/.scr" } };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_dataset d;
    scr_hash *dset = scr_hash_new();
    int arrived = -1;
    int rc = scr_arrival_look(fuzz_disk(disk, 2), &p, id, &arrived, dset, &err);
    FUZZ_CHECK(rc == err.code);
    if (rc == SCR_OK && arrived)
        FUZZ_CHECK(scr_dataset_get(dset, &d, NULL) == SCR_OK && d.id == id);
    else
        FUZZ_CHECK(scr_hash_size(dset) == 0);
    scr_hash_delete(dset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct scr_prefix p = { .path = (char[]){ "/p" },
                                  .scr = (char[]){ "/p/.scr" } };
    struct scr_err err = SCR_ERR_INIT;
    size_t used;
    int id = 7;
    struct scr_str file = fuzz_framed(data, n, &used);
    struct scr_str journal = fuzz_records(data + used, n - used);
    scr_hash *h = scr_hash_new(), *plan = scr_hash_new();
    (void)scr_hash_decode(file.p, file.len, h, NULL);
    (void)scr_hash_get_val_int(scr_hash_get(h, "DSET"), "ID", &id);
    const struct fuzz_piece disk[] = { { file.p, file.len },
                                       { journal.p ? journal.p : "", journal.len } };
    int rc = scr_arrival_plan_read(fuzz_disk(disk, 1), &p, id, plan, &err);
    FUZZ_CHECK(rc == err.code);
    if (rc == SCR_OK)
        FUZZ_CHECK(scr_hash_equal(plan, h));
    check_look(disk, id);
    scr_str_free(&journal);
    scr_str_free(&file);
    scr_hash_delete(plan);
    scr_hash_delete(h);
    return 0;
}
