/* SPDX-License-Identifier: BSD-3-Clause */
/* Roots and parts of lists of files: what is taken can be written and read again. */
#include "fuzz.h"

#include "base/str.h"
#include "fmt/rank2file.h"
#include <string.h>

static struct scr_str packed(const struct scr_rank2file *l)
{
    struct scr_str s = SCR_STR_INIT;
    scr_rank2file_pack(&s, l);
    FUZZ_CHECK(!s.bad && scr_rank2file_ok(l));
    return s;
}

/* Sent rank by rank, too, it is the same bytes. */
static void check_round_trip(const struct scr_rank2file *l)
{
    struct scr_rank2file again = { 0 }, sent;
    struct scr_str s = packed(l), parcel = SCR_STR_INIT;
    FUZZ_CHECK(scr_rank2file_unpack(s.p, s.len, &again, NULL) == SCR_OK);
    scr_rank2file_init(&sent, l->ranks);
    for (size_t i = 0; i < l->n; i++)
        scr_rank_files_pack(&parcel, l->of[i]);
    FUZZ_CHECK(scr_rank_files_unpack(parcel.p, parcel.len, &sent, NULL) == SCR_OK);
    struct scr_str t = packed(&again), u = packed(&sent);
    FUZZ_CHECK(s.len == t.len && memcmp(s.p, t.p, s.len) == 0);
    FUZZ_CHECK(s.len == u.len && memcmp(s.p, u.p, s.len) == 0);
    scr_str_free(&parcel);
    scr_str_free(&s);
    scr_str_free(&t);
    scr_str_free(&u);
    scr_rank2file_fini(&again);
    scr_rank2file_fini(&sent);
}

static void check_part(const uint8_t *bytes, size_t n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_rank2file l = { 0 }, sent = { 0 };
    int rc = scr_rank2file_unpack(bytes, n, &l, &err);
    if (rc == SCR_OK) {
        FUZZ_CHECK(err.code == SCR_OK && l.ranks > 0);
        FUZZ_CHECK(l.n == 0 || l.of[l.n - 1]->rank < l.ranks);
        check_round_trip(&l);
    } else {
        FUZZ_CHECK(rc == SCR_E_CORRUPT && err.code == rc && err.text[0] != '\0');
        FUZZ_CHECK(l.n == 0 && l.of == NULL && l.ranks == 0);
    }
    if (scr_rank_files_unpack(bytes, n, &sent, NULL) != SCR_OK)
        FUZZ_CHECK(sent.n == 0 && scr_rank2file_ok(&sent));
    scr_rank2file_fini(&sent);
    scr_rank2file_fini(&l);
}

static void check_root(const uint8_t *bytes, size_t n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_rank2file_root root, again;
    int rc = scr_rank2file_root_unpack(bytes, n, &root, &err);
    if (rc != SCR_OK) {
        FUZZ_CHECK(rc == SCR_E_CORRUPT && err.code == rc && err.text[0] != '\0');
        FUZZ_CHECK(root.part == NULL && root.n == 0);
        return;
    }
    struct scr_str s = SCR_STR_INIT;
    FUZZ_CHECK(err.code == SCR_OK && root.level >= 0 && (root.level > 0 || !root.n));
    scr_rank2file_root_pack(&s, &root);
    FUZZ_CHECK(scr_rank2file_root_unpack(s.p, s.len, &again, NULL) == SCR_OK);
    FUZZ_CHECK(again.level == root.level && again.ranks == root.ranks);
    FUZZ_CHECK(again.n == root.n);
    for (size_t i = 0; i < root.n; i++)
        FUZZ_CHECK(again.part[i] == root.part[i] && root.part[i] < root.ranks);
    scr_str_free(&s);
    scr_rank2file_root_fini(&again);
    scr_rank2file_root_fini(&root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t size;
    uint8_t *bytes = fuzz_packed(data, n, &size);
    check_part(bytes, size);
    check_root(bytes, size);
    free(bytes);
    return 0;
}
