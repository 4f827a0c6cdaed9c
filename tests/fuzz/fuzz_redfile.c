/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of redundancy files, as files and in part: what is taken can be written, and
 * is the same when it is read again. */
#include "fuzz.h"

#include "base/hashfile.h"
#include "red/redfile.h"
#include <string.h>

static void check_same(const struct scr_str *a, const struct scr_str *b)
{
    FUZZ_CHECK(!a->bad && !b->bad);
    FUZZ_CHECK(a->len == b->len && memcmp(a->p, b->p, a->len) == 0);
}

static void check_files(const struct scr_current *c)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_member_file *files = NULL;
    int has_crc = -1;
    int rc = scr_redfile_files(c, "/d", SCR_LAYOUT_CACHE, &files, &has_crc, &err);
    FUZZ_CHECK(rc == err.code && (rc == SCR_OK || rc == SCR_E_CORRUPT));
    if (rc == SCR_OK)
        FUZZ_CHECK(has_crc == 0 || has_crc == 1);
    for (size_t i = 0; rc == SCR_OK && i < c->n; i++)
        FUZZ_CHECK(strncmp(files[i].path, "/d/", 3) == 0);
    scr_member_files_free(files, c->n);
}

static void check_current(const void *packed, size_t n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_current *c = NULL, *again = NULL;
    struct scr_str a = SCR_STR_INIT, b = SCR_STR_INIT;
    int rc = scr_current_unpack(packed, n, &c, &err);
    if (rc != SCR_OK) {
        FUZZ_CHECK(rc == SCR_E_CORRUPT && err.code == rc && c == NULL);
        return;
    }
    scr_current_pack(&a, c);
    FUZZ_CHECK(scr_current_unpack(a.p, a.len, &again, NULL) == SCR_OK);
    scr_current_pack(&b, again);
    check_same(&a, &b);
    check_files(c);
    scr_current_delete(c);
    scr_current_delete(again);
    scr_str_free(&a);
    scr_str_free(&b);
}

/* Sent to another rank it is the same. */
static void check_set(const struct scr_setdesc *set)
{
    struct scr_setdesc got;
    size_t size = scr_setdesc_size(set);
    void *bytes = malloc(size); /* no byte more: checkers see it */
    FUZZ_CHECK(bytes != NULL && size <= sizeof *set && set->n <= SCR_EC_MAX);
    memcpy(bytes, set, size);
    FUZZ_CHECK(scr_setdesc_take(&got, bytes) == size);
    FUZZ_CHECK(memcmp(&got, set, size) == 0);
    for (int i = 0; i < set->n; i++)
        FUZZ_CHECK(set->world[i] >= set->id && set->world[i] < set->ranks);
    free(bytes);
}

static void check_tree(const struct scr_str *file)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_redinfo info;
    struct scr_setdesc set;
    scr_hash *h = scr_hash_new();
    if (scr_hash_decode(file->p, file->len, h, NULL) == SCR_OK) {
        int rc = scr_redinfo_get(h, &info, &err);
        FUZZ_CHECK(rc == err.code && (rc == SCR_OK || rc == SCR_E_CORRUPT));
        if (rc == SCR_OK)
            FUZZ_CHECK(info.set.member < info.set.n && info.set.failures >= 0);
        if (rc == SCR_OK)
            check_set(&info.set);
        scr_setdesc_get(h, &set);
        check_set(&set);
    }
    scr_hash_delete(h);
}

/* A header of what was read, and of the copies in it. */
static struct scr_str written(const struct scr_redhead *h)
{
    const struct scr_setdesc *set = &h->info.set;
    struct scr_geom g = {
        .scheme = set->scheme, .n = set->n, .k = set->failures, .chunk = h->info.chunk
    };
    const struct scr_redowner o = { &g, set->member, h->info.dset_id, set->ranks,
                                    set->world };
    struct scr_str s = SCR_STR_INIT, copies[SCR_EC_MAX];
    int n = 0;
    while (n < SCR_EC_MAX && h->copy[n].p != NULL) {
        copies[n] = (struct scr_str)SCR_STR_INIT;
        scr_str_append_n(&copies[n], h->copy[n].p, h->copy[n].n);
        n++;
    }
    scr_redfile_header(&s, &o, h->current, copies, n);
    while (n > 0)
        scr_str_free(&copies[--n]);
    FUZZ_CHECK(!s.bad);
    return s;
}

static void check_header(const struct scr_str *file)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_redhead h, again;
    const struct fuzz_piece disk = { file->p, file->len };
    int rc = scr_redhead_read(fuzz_disk(&disk, 1), "red", &h, &err);
    FUZZ_CHECK(rc == err.code && (rc == SCR_OK || h.current == NULL));
    if (rc == SCR_OK) {
        struct scr_str one = written(&h), two;
        const struct fuzz_piece next = { one.p, one.len };
        FUZZ_CHECK(scr_redhead_read(fuzz_disk(&next, 1), "red", &again, NULL) ==
                   SCR_OK);
        two = written(&again);
        check_same(&one, &two);
        FUZZ_CHECK(again.bytes == one.len && again.info.chunk == h.info.chunk);
        for (int j = 0; j < SCR_EC_MAX && h.copy[j].p != NULL; j++)
            check_current(h.copy[j].p, h.copy[j].n);
        scr_redhead_fini(&again);
        scr_str_free(&one);
        scr_str_free(&two);
    }
    scr_redhead_fini(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t size, used;
    struct scr_str file = fuzz_framed(data, n, &used);
    uint8_t *packed = fuzz_packed((const uint8_t *)file.p, file.len, &size);
    check_current(packed, size);
    check_tree(&file);
    check_header(&file);
    free(packed);
    scr_str_free(&file);
    return 0;
}
