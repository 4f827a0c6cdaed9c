/* SPDX-License-Identifier: BSD-3-Clause */
/* Journals of routed files, and of files that have landed: a torn tail costs the last
 * record only, and a record that was made is read. */
#include "fuzz.h"

#include "base/str.h"
#include "store/arrival.h"
#include "store/cntl.h"
#include <string.h>

/* What is whole is whole again without what follows it, and less of it is less. */
static void check_decode(const uint8_t *bytes, size_t n)
{
    size_t good, again;
    scr_filemap *map = scr_filemap_new(), *same = scr_filemap_new();
    FUZZ_CHECK(scr_journal_decode(bytes, n, map, &good) == SCR_OK && good <= n);
    FUZZ_CHECK(scr_journal_decode(bytes, good, same, &again) == SCR_OK);
    FUZZ_CHECK(again == good);
    if (good > 0) {
        FUZZ_CHECK(map->n > 0);
        FUZZ_CHECK(scr_journal_decode(bytes, good - 1, NULL, &again) == SCR_OK);
        FUZZ_CHECK(again < good);
    }
    struct scr_str a = SCR_STR_INIT, b = SCR_STR_INIT;
    scr_filemap_pack(&a, map);
    scr_filemap_pack(&b, same);
    FUZZ_CHECK(a.len == b.len && memcmp(a.p, b.p, a.len) == 0);
    scr_str_free(&a);
    scr_str_free(&b);
    scr_filemap_delete(map);
    scr_filemap_delete(same);
}

static void check_encode(const char *path, int dset, int rank)
{
    void *buf;
    size_t n, good;
    scr_filemap *map = scr_filemap_new();
    FUZZ_CHECK(scr_journal_encode(dset, rank, path, &buf, &n) == SCR_OK);
    FUZZ_CHECK(scr_journal_decode(buf, n, map, &good) == SCR_OK && good == n);
    FUZZ_CHECK(map->n == 1 && scr_filemap_ok(map));
    scr_filemap_delete(map);
    free(buf);
}

/* Names of files that were compressed. */
static void check_packed(const char *name)
{
    uint64_t stamp, stamp2;
    struct scr_packed is = { 0 }, is2 = { 0 };
    const char *path, *path2;
    if (!scr_arrival_packed_parse(name, &stamp, &is, &path))
        return;
    char *again = scr_arrival_packed_name(stamp, &is, path);
    FUZZ_CHECK(scr_arrival_packed_parse(again, &stamp2, &is2, &path2));
    FUZZ_CHECK(stamp == stamp2 && strcmp(path, path2) == 0);
    FUZZ_CHECK(is.size == is2.size && is.crc == is2.crc);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    struct scr_str mended = fuzz_records(data, n);
    check_decode(data, n);
    if (mended.len > 0)
        check_decode((const uint8_t *)mended.p, mended.len);
    if (text[0] != '\0')
        check_encode(text, 1 + data[0], data[n - 1]);
    check_packed(text);
    scr_str_free(&mended);
    free(text);
    return 0;
}
