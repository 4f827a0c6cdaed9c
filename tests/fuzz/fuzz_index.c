/* SPDX-License-Identifier: BSD-3-Clause */
/* Index files: every dataset of an accepted one can be asked for, failed, removed. */
#include "fuzz.h"

#include "base/hashfile.h"
#include "fmt/index.h"

static void use(struct scr_index *index)
{
    int *ids;
    size_t n;
    struct scr_index_entry e;
    FUZZ_CHECK(scr_index_ids(index, &ids, &n) == SCR_OK);
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(scr_index_get(index, ids[i], &e, NULL) == SCR_OK);
        FUZZ_CHECK(scr_index_find(index, e.dset.name) >= ids[i]);
    }
    for (int id; (id = scr_index_newest(index)) > 0;)
        scr_index_mark_failed(index, id, 0);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(scr_index_remove(index, ids[i]) == 1);
    FUZZ_CHECK(scr_index_max_id(index) == 0 && !index->lost);
    free(ids);
}

/* What was read is read again as it was written. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct scr_index index = SCR_INDEX_INIT, again = SCR_INDEX_INIT;
    struct scr_str s = SCR_STR_INIT, file = SCR_STR_INIT;
    size_t size;
    uint8_t *packed = fuzz_packed(data, n, &size);
    scr_frame_begin(&file);
    scr_str_append_n(&file, packed, size);
    scr_frame_end(&file);
    if (scr_index_unpack(&index, file.p, file.len, NULL) == SCR_OK) {
        scr_index_pack(&s, &index);
        scr_frame_end(&s);
        FUZZ_CHECK(!s.bad && scr_index_unpack(&again, s.p, s.len, NULL) == SCR_OK);
        FUZZ_CHECK(again.n == index.n && again.current_id == index.current_id);
        use(&index);
    } else {
        FUZZ_CHECK(index.n == 0 && index.current == NULL);
    }
    scr_index_fini(&again);
    scr_index_fini(&index);
    scr_str_free(&s);
    scr_str_free(&file);
    free(packed);
    return 0;
}
