/* SPDX-License-Identifier: BSD-3-Clause */
/* zstd frames: a damaged one is refused, and what was packed comes out as it was. */
#include "fuzz.h"

#include "base/str.h"
#include "xfer/zst.h"
#include <string.h>

enum { MOST = 1 << 20 }; /* a few bytes may stand for very many */

static int keep(void *arg, const void *buf, size_t n, struct scr_err *err)
{
    struct scr_str *s = arg;
    scr_str_append_n(s, buf, n);
    return s->len <= MOST ? SCR_OK : scr_fail(err, SCR_E_RANGE, 0, "too long");
}

/* Feeds it in two parts. */
static int stream(struct scr_zst *z, const uint8_t *data, size_t n, struct scr_str *out)
{
    struct scr_err err = SCR_ERR_INIT;
    size_t first = n > 0 ? data[n - 1] % n : 0;
    FUZZ_CHECK(z != NULL);
    int rc = scr_zst_feed(z, data, first, keep, out, &err);
    if (rc == SCR_OK)
        rc = scr_zst_feed(z, data + first, n - first, keep, out, &err);
    if (rc == SCR_OK)
        rc = scr_zst_end(z, keep, out, &err);
    FUZZ_CHECK(rc == err.code);
    FUZZ_CHECK(rc == SCR_OK || rc == SCR_E_CORRUPT || rc == SCR_E_RANGE);
    scr_zst_free(z);
    return rc;
}

static void check_round_trip(const uint8_t *data, size_t n)
{
    struct scr_str packed = SCR_STR_INIT, back = SCR_STR_INIT;
    FUZZ_CHECK(stream(scr_zst_packer(1, n, NULL), data, n, &packed) == SCR_OK);
    FUZZ_CHECK(stream(scr_zst_unpacker(NULL), (const uint8_t *)packed.p, packed.len,
                      &back) == SCR_OK);
    FUZZ_CHECK(back.len == n && (n == 0 || memcmp(back.p, data, n) == 0));
    scr_str_free(&packed);
    scr_str_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct scr_str out = SCR_STR_INIT;
    if (!scr_zst_have() || n > MOST)
        return 0;
    (void)stream(scr_zst_unpacker(NULL), data, n, &out);
    scr_str_free(&out);
    check_round_trip(data, n);
    return 0;
}
