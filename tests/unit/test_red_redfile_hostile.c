/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of redundancy files that are hostile: impossible, ambiguous, given twice. */
#include "base/hashfile.h"
#include "helper_order.h"
#include "helper_pack.h"
#include "helper_redfile.h"
#include "helper_tmp.h"
#include "red/redfile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_tree(const scr_hash *h, struct scr_redhead *head, struct scr_err *err)
{
    void *bytes;
    size_t n;
    bytes = test_hash_encoded(h, &n);
    assert_non_null(bytes);
    int rc = read_bytes(bytes, n, head, err);
    free(bytes);
    return rc;
}

static scr_hash *descend(scr_hash *h, const char *where)
{
    char buf[200], *save = NULL;
    snprintf(buf, sizeof buf, "%s", where);
    for (char *w = strtok_r(buf, "/", &save); w; w = strtok_r(NULL, "/", &save))
        h = scr_hash_get(h, w);
    return h;
}

static scr_hash *changed(const struct change *c)
{
    scr_hash *h = example_tree();
    scr_hash *at = descend(h, c->where);
    if (c->val == NULL)
        assert_int_equal(scr_hash_unset(at, c->key), 1);
    else
        scr_hash_set_val(at, c->key, c->val);
    return h;
}

static void refuse_tree(const scr_hash *h)
{
    struct scr_redhead head;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(read_tree(h, &head, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, "bytes.xor"));
    assert_no_head(&head);
}

static void impossible_headers_are_refused(void **state)
{
    (void)state;
    const struct change changes[] = {
        { "", "DSET", NULL },
        { "", "DSET", "-1" },
        { "", "DSET", "99999999999" },
        { "", "RANKS", NULL },
        { "", "RANKS", "0" },
        { "", "RANKS", "3" },
        { "", "TYPE", NULL },
        { "", "TYPE", "RAID" },
        { "", "TYPE", "SINGLE" },
        { "", "FAILURES", NULL },
        { "", "FAILURES", "0" },
        { "", "FAILURES", "2" },
        { "", "FAILURES", "-1" },
        { "", "GROUP", NULL },
        { "GROUP", "RANKS", NULL },
        { "GROUP", "RANKS", "0" },
        { "GROUP", "RANKS", "-4" },
        { "GROUP", "RANKS", "5" },
        { "GROUP", "RANKS", "256" },
        { "GROUP", "RANKS", "2147483648" },
        { "GROUP", "RANK", NULL },
        { "GROUP/RANK", "2", NULL },
        { "GROUP/RANK", "2", "1" },
        { "GROUP/RANK", "2", "4" },
        { "GROUP/RANK", "2", "-1" },
        { "GROUP/RANK", "2", "two" },
        { "", "MEMBER", NULL },
        { "", "MEMBER", "4" },
        { "", "MEMBER", "-1" },
        { "", "MEMBER", "1" },
        { "", "CHUNK", NULL },
        { "", "CHUNK", "-1" },
        { "", "CHUNK", "18446744073709551615" },
        { "", "CURRENT", NULL },
        { "", "CURRENT", "0" },
        { "CURRENT", "RANK", NULL },
        { "CURRENT", "RANK", "1" },
        { "CURRENT", "RANK", "-1" },
        { "CURRENT", "RANK", "4294967296" },
        { "CURRENT", "RANK", "zero" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct scr_redinfo info;
        struct scr_err err = SCR_ERR_INIT;
        scr_hash *h = changed(&changes[i]);
        refuse_tree(h);
        int of_set = strcmp(changes[i].where, "CURRENT") != 0 &&
                     strcmp(changes[i].key, "CURRENT") != 0 &&
                     /* MEMBER 1 is one, but CURRENT is not his */
                     (strcmp(changes[i].key, "MEMBER") != 0 || changes[i].val == NULL ||
                      strcmp(changes[i].val, "1") != 0);
        int rc = scr_redinfo_get(h, &info, &err);
        assert_int_equal(rc, of_set ? SCR_E_CORRUPT : SCR_OK);
        assert_int_equal(err.text[0] != '\0', of_set);
        scr_hash_delete(h);
    }
    struct scr_redinfo info;
    assert_int_equal(scr_redinfo_get(NULL, &info, NULL), SCR_E_CORRUPT);
}

/* A number that is two is none. */
static void ambiguous_numbers_are_refused(void **state)
{
    (void)state;
    const char *const where[][2] = { { "", "DSET" },        { "", "RANKS" },
                                     { "", "FAILURES" },    { "", "MEMBER" },
                                     { "", "CHUNK" },       { "GROUP", "RANKS" },
                                     { "GROUP/RANK", "1" }, { "CURRENT", "RANK" },
                                     { "CURRENT", "FILES" } };
    for (size_t i = 0; i < sizeof where / sizeof where[0]; i++) {
        scr_hash *h = example_tree();
        scr_hash_set_kv(descend(h, where[i][0]), where[i][1], "7");
        refuse_tree(h);
        scr_hash_delete(h);
    }
}

/* CURRENT is refused by itself, in the header of its member and, in the place of a
 * neighbour's, when that is wanted. */
static void refuse_current(const scr_hash *current)
{
    struct scr_current *c;
    struct scr_redhead head;
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = example_tree();
    assert_int_equal(unpack_tree(current, &c, &err), SCR_E_CORRUPT);
    assert_true(err.text[0] != '\0');
    assert_null(c);
    scr_hash_set(h, "CURRENT", scr_hash_dup(current));
    refuse_tree(h);
    scr_hash_delete(h);

    h = example_tree();
    scr_hash_set(h, "PARTNER", scr_hash_dup(current));
    assert_int_equal(read_tree(h, &head, NULL), SCR_OK);
    assert_int_equal(scr_current_unpack(head.copy[0].p, head.copy[0].n, &c, NULL),
                     SCR_E_CORRUPT);
    assert_null(c);
    scr_redhead_fini(&head);
    scr_hash_delete(h);
}

static void file_lists_of_another_length_are_refused(void **state)
{
    (void)state;
    const struct change changes[] = {
        { "CURRENT", "FILES", NULL },
        { "CURRENT", "FILES", "2" },
        { "CURRENT", "FILES", "0" },
        { "CURRENT", "FILES", "-1" },
        { "CURRENT", "FILES", "4000000000" },
        { "CURRENT", "FILES", "18446744073709551615" },
        { "CURRENT", "FILES", "one" },
        { "CURRENT", "FILES", "" },
        { "CURRENT", "FILE", NULL },
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        scr_hash *h = changed(&changes[i]);
        refuse_current(scr_hash_get(h, "CURRENT"));
        scr_hash_delete(h);
    }
    refuse_current(NULL);
}

static void files_must_be_numbered_without_a_gap(void **state)
{
    (void)state;
    const char *const lists[][3] = {
        { "1" },
        { "00" },
        { "+0" },
        { "-0" },
        { " 0" },
        { "" },
        { "zero" },
        { "-1" },
        { "0", "2" },
        { "1", "2" },
        { "0", "00" },
        { "0", "01" },
        { "0", "" },
        { "0", "1", "3" },
        { "0", "1", "01" },
        { "2", "1", "3" },
        { "0", "4294967296" },
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        int n = 0;
        scr_hash *h = example_tree();
        scr_hash *current = scr_hash_get(h, "CURRENT");
        scr_hash *meta = scr_hash_dup(scr_hash_getf(current, "FILE 0"));
        scr_hash *list = scr_hash_set(current, "FILE", NULL);
        for (; n < 3 && lists[i][n] != NULL; n++)
            scr_hash_set(list, lists[i][n], scr_hash_dup(meta));
        scr_hash_set_val_i64(current, "FILES", n);
        refuse_current(current);
        scr_hash_delete(meta);
        scr_hash_delete(h);
    }
}

/* A hash packed with a change that no tree can have: at key in `in` the hash becomes
 * raw, or the key is there twice. */
struct graft {
    const scr_hash *in;
    const char *key;
    const struct scr_str *raw; /* NULL: twice */
};

static void pack_grafted(struct scr_str *s, const scr_hash *h, const struct graft *g)
{
    scr_pack_count(s, scr_hash_size(h) + (h == g->in && g->raw == NULL));
    for (SCR_HASH_EACH(e, h)) {
        int here = h == g->in && strcmp(scr_hash_elem_key(e), g->key) == 0;
        scr_pack_key(s, scr_hash_elem_key(e));
        if (here && g->raw != NULL)
            scr_str_append_n(s, g->raw->p, g->raw->len);
        else
            pack_grafted(s, scr_hash_elem_hash(e), g);
        if (here && g->raw == NULL)
            scr_pack_hash(s, scr_hash_elem_key(e), scr_hash_elem_hash(e));
    }
}

static void refuse_graft(scr_hash *h, const struct graft *g)
{
    struct scr_str s = SCR_STR_INIT;
    scr_frame_begin(&s);
    pack_grafted(&s, h, g);
    scr_frame_end(&s);
    assert_false(s.bad);
    refuse_bytes(s.p, s.len, SCR_E_CORRUPT);
    scr_str_free(&s);
}

/* The same of a copy: the header is a good one, which the copy is found not to be. */
static void refuse_graft_of_copy(scr_hash *h, const struct graft *g)
{
    struct scr_str s = SCR_STR_INIT;
    struct scr_redhead head;
    struct scr_current *c;
    scr_frame_begin(&s);
    pack_grafted(&s, h, g);
    scr_frame_end(&s);
    assert_int_equal(read_bytes(s.p, s.len, &head, NULL), SCR_OK);
    assert_int_equal(unpack_bytes(head.copy[0].p, head.copy[0].n, &c, NULL),
                     SCR_E_CORRUPT);
    assert_null(c);
    scr_redhead_fini(&head);
    scr_str_free(&s);
}

/* With all keys that there may be. */
static scr_hash *full_tree(void)
{
    scr_hash *h = example_tree();
    scr_hash_set(h, "CURRENT", current_tree(3, 3));
    scr_hash_set_val(scr_hash_get(h, "CURRENT"), "RANK", "0");
    scr_hash_set(h, "PARTNER", current_tree(3, 3));
    scr_hash_set(h, "PARTNER2", current_tree(2, 3));
    return h;
}

static void keys_given_twice_are_refused(void **state)
{
    (void)state;
    const char *const where[] = { "",
                                  "GROUP",
                                  "GROUP/RANK",
                                  "CURRENT",
                                  "CURRENT/FILE",
                                  "CURRENT/FILE/0",
                                  "CURRENT/FILE/2",
                                  "CURRENT/DESC",
                                  "CURRENT/DSETDESC",
                                  "PARTNER",
                                  "PARTNER/FILE",
                                  "PARTNER/FILE/1",
                                  "PARTNER/DESC" };
    int tried = 0;
    scr_hash *h = full_tree();
    struct scr_redhead head;
    assert_int_equal(read_tree(h, &head, NULL), SCR_OK); /* except for that */
    scr_redhead_fini(&head);
    for (size_t i = 0; i < sizeof where / sizeof where[0]; i++) {
        struct graft g = { descend(h, where[i]), NULL, NULL };
        for (SCR_HASH_EACH(e, g.in)) {
            g.key = scr_hash_elem_key(e);
            if (where[i][0] == 'P')
                refuse_graft_of_copy(h, &g);
            else
                refuse_graft(h, &g);
            tried++;
        }
    }
    assert_true(tried > 70);
    scr_hash_delete(h);
}

/* Keys below each other, more than a reader follows, and packed bytes cut short. */
static void hostile_hashes_within_are_refused(void **state)
{
    (void)state;
    const char *const where[][2] = { { "", "DSET" },
                                     { "", "TYPE" },
                                     { "", "GROUP" },
                                     { "", "CURRENT" },
                                     { "", "PARTNER" },
                                     { "", "PARTNER2" },
                                     { "CURRENT", "RANK" },
                                     { "CURRENT", "FILES" },
                                     { "CURRENT", "FILE" },
                                     { "CURRENT", "DESC" },
                                     { "CURRENT", "DSETDESC" },
                                     { "CURRENT", "CHUNKCRC" },
                                     { "CURRENT/FILE", "0" },
                                     { "CURRENT/FILE/0", "SIZE" } };
    struct scr_str deep = SCR_STR_INIT, huge = SCR_STR_INIT;
    for (int i = 0; i < 100000; i++) {
        scr_pack_count(&deep, 1);
        scr_pack_key(&deep, "k");
    }
    scr_pack_count(&deep, 0);
    scr_pack_count(&huge, 0xffffffff);
    scr_hash *h = full_tree();
    for (size_t i = 0; i < sizeof where / sizeof where[0]; i++) {
        refuse_graft(h, &(struct graft){ descend(h, where[i][0]), where[i][1], &deep });
        refuse_graft(h, &(struct graft){ descend(h, where[i][0]), where[i][1], &huge });
    }
    scr_hash_delete(h);
    scr_str_free(&deep);
    scr_str_free(&huge);
}

/* Only PARTNER, PARTNER2 … are copies. */
static void other_keys_are_no_copies(void **state)
{
    (void)state;
    const char *const names[] = { "PARTNER0",
                                  "PARTNER1",
                                  "PARTNER-1",
                                  "PARTNER02",
                                  "PARTNER+2",
                                  "PARTNER 2",
                                  "PARTNER2x",
                                  "PARTNER256",
                                  "PARTNER2 ",
                                  "partner2",
                                  "PARTNERS",
                                  "XPARTNER",
                                  "PARTNER99999999999999999" };
    struct scr_redhead head;
    scr_hash *h = example_tree();
    scr_hash_unset(h, "PARTNER");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        scr_hash_set(h, names[i], current_tree(3, 1));
    assert_int_equal(read_tree(h, &head, NULL), SCR_OK);
    for (int j = 0; j < SCR_EC_MAX; j++)
        assert_null(head.copy[j].p);
    scr_redhead_fini(&head);
    scr_hash_set(h, "PARTNER255", current_tree(3, 1));
    scr_hash_set(h, "PARTNER2", current_tree(2, 1));
    assert_int_equal(read_tree(h, &head, NULL), SCR_OK);
    for (int j = 0; j < SCR_EC_MAX; j++)
        assert_int_equal(head.copy[j].p != NULL, j == 254 || j == 1);
    scr_redhead_fini(&head);
    scr_hash_delete(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_headers_are_refused),
        cmocka_unit_test(ambiguous_numbers_are_refused),
        cmocka_unit_test(file_lists_of_another_length_are_refused),
        cmocka_unit_test(files_must_be_numbered_without_a_gap),
        cmocka_unit_test(keys_given_twice_are_refused),
        cmocka_unit_test(hostile_hashes_within_are_refused),
        cmocka_unit_test(other_keys_are_no_copies),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
