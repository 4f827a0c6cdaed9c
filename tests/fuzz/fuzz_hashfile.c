/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash files and packed hashes: what is read can be written and read again. */
#include "fuzz.h"

#include "base/hashfile.h"

static void round_trip(const scr_hash *h)
{
    struct scr_str s = SCR_STR_INIT;
    scr_hash *back = scr_hash_new();
    scr_frame_begin(&s);
    scr_hash_append(&s, h);
    scr_frame_end(&s);
    FUZZ_CHECK(!s.bad && scr_hash_decode(s.p, s.len, back, NULL) == SCR_OK);
    FUZZ_CHECK(scr_hash_equal(h, back));
    scr_hash_delete(back);
    scr_str_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    scr_hash *h = scr_hash_new();
    if (scr_hash_decode(data, n, h, NULL) != SCR_OK)
        FUZZ_CHECK(scr_hash_size(h) == 0);
    round_trip(h);
    scr_hash_delete(h);

    h = fuzz_tree(data, n);
    round_trip(h);
    scr_hash_delete(h);
    return 0;
}
