/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemaps: what is taken can be written, read again and taken apart completely. */
#include "fuzz.h"

#include "base/str.h"
#include "fmt/filemap.h"
#include <string.h>

static struct scr_str packed(const scr_filemap *map)
{
    struct scr_str s = SCR_STR_INIT;
    scr_filemap_pack(&s, map);
    FUZZ_CHECK(!s.bad && scr_filemap_ok(map));
    return s;
}

/* Packed, unpacked and packed again it is the same bytes. */
static void check_round_trip(const scr_filemap *map)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_filemap *again = scr_filemap_new();
    struct scr_str s = packed(map);
    FUZZ_CHECK(scr_filemap_unpack(s.p, s.len, again, &err) == SCR_OK);
    FUZZ_CHECK(err.code == SCR_OK);
    struct scr_str t = packed(again);
    FUZZ_CHECK(s.len == t.len && memcmp(s.p, t.p, s.len) == 0);
    scr_str_free(&s);
    scr_str_free(&t);
    scr_filemap_delete(again);
}

/* Rank by rank, until nothing is left. */
static void take_apart(scr_filemap *map)
{
    int n, *ranks;
    FUZZ_CHECK(scr_filemap_list_ranks(map, &n, &ranks) == SCR_OK);
    for (int i = 0; i < n; i++) {
        scr_filemap *one = scr_filemap_extract_rank(map, ranks[i]);
        FUZZ_CHECK(one != NULL);
        check_round_trip(one);
        check_round_trip(map);
        scr_filemap_delete(one);
    }
    free(ranks);
    FUZZ_CHECK(map->n == 0);
    FUZZ_CHECK(scr_filemap_list_ranks(map, &n, &ranks) == SCR_OK && n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t size;
    struct scr_err err = SCR_ERR_INIT;
    uint8_t *bytes = fuzz_packed(data, n, &size);
    scr_filemap *map = scr_filemap_new();
    int rc = scr_filemap_unpack(bytes, size, map, &err);
    free(bytes); /* nothing of them is borrowed */
    if (rc == SCR_OK) {
        FUZZ_CHECK(err.code == SCR_OK);
        check_round_trip(map);
        take_apart(map);
    } else {
        FUZZ_CHECK(rc == SCR_E_CORRUPT && err.code == rc && err.text[0] != '\0');
        FUZZ_CHECK(map->n == 0 && map->aside == NULL && scr_filemap_ok(map));
    }
    scr_filemap_delete(map);
    return 0;
}
