/* SPDX-License-Identifier: BSD-3-Clause */
/* Host lists as people and schedulers write them, and as attackers do. */
#include "helper_tmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"

/* The expansion of text joined with commas, malloc'd; NULL if it is refused. */
static char *expanded(const char *text)
{
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    struct scr_str s = SCR_STR_INIT;
    if (scr_hostlist_expand(text, &list, NULL) != SCR_OK) {
        assert_null(list.name);
        assert_int_equal(list.n, 0);
        return NULL;
    }
    for (size_t i = 0; i < list.n; i++)
        scr_str_printf(&s, "%s%s", i ? "," : "", list.name[i]);
    scr_hostlist_free(&list);
    return scr_str_take(&s);
}

static char *compressed(const char *text, int sort)
{
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    char *out = NULL;
    assert_int_equal(scr_hostlist_expand(text, &list, NULL), SCR_OK);
    assert_int_equal(scr_hostlist_compress(&list, sort, &out, NULL), SCR_OK);
    scr_hostlist_free(&list);
    return out;
}

static void is(char *got, const char *want)
{
    assert_non_null(got);
    assert_string_equal(got, want);
    free(got);
}

static void lists_expand_in_order(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "", "" },
        { "atlas[3,5-7,9-11]", "atlas3,atlas5,atlas6,atlas7,atlas9,atlas10,atlas11" },
        { "b,a,b", "b,a,b" },
        { "n[3,1-2,1]", "n3,n1,n2,n1" },
        { "n[08-11]", "n08,n09,n10,n11" },
        { "n[8-11]", "n8,n9,n10,n11" },
        { "n[099-101]", "n099,n100,n101" },
        { "n[998-1001]", "n998,n999,n1000,n1001" },
        { "n[098-101,09-10]", "n098,n099,n100,n101,n09,n10" },
        { "n[01-02,99-100]", "n01,n02,n99,n100" },
        { "n[01,1]", "n01,n1" },
        { "n[0-0]", "n0" },
        { "n[1-2]-ib", "n1-ib,n2-ib" },
        { "r[1-2]n[3-4]", "r1n3,r1n4,r2n3,r2n4" },
        { "[1-2][0-1]", "10,11,20,21" },
        { "n[1-2].site.org, m1 ,\tm2", "n1.site.org,n2.site.org,m1,m2" },
        { "n[999999999999999998-999999999999999999]",
          "n999999999999999998,n999999999999999999" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        is(expanded(rows[i][0]), rows[i][1]);
}

static void bad_lists_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        ",",
        "a,",
        ",a",
        "a,,b",
        " ",
        "n[",
        "n]",
        "n[1",
        "n1]",
        "n[[1]]",
        "n[1-2]]",
        "n[]",
        "n[,]",
        "n[1,]",
        "n[,1]",
        "n[-1]",
        "n[1-]",
        "n[1-2-3]",
        "n[2-1]",
        "n[a-b]",
        "n[1 - 2]",
        "n[1-010]",
        "n[001-10]",
        "n[010-9]",
        "n[+1]",
        "n[1]b[",
        "a b",
        "a\nb",
        "a/b",
        "../x",
        "..",
        ".",
        "-oProxyCommand=x",
        "n[0x1-0x2]",
        "n[1-9999999999999999999]",
        "[1-2]/",
        "\x80host",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *got = expanded(bad[i]);
        if (got != NULL)
            print_message("accepted: %s\n", bad[i]);
        assert_null(got);
    }
}

static void the_error_names_the_item(void **state)
{
    (void)state;
    struct scr_hostlist list;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_hostlist_expand("good1,bad[7-5],good2", &list, &err),
                     SCR_E_ARG);
    assert_string_equal(err.text, "host list: \"bad[7-5]\": range runs backwards");
}

static void lists_are_bounded(void **state)
{
    (void)state;
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_hostlist_expand("n[1-1048576]", &list, NULL), SCR_OK);
    assert_int_equal(list.n, 1048576);
    assert_string_equal(list.name[1048575], "n1048576");
    scr_hostlist_free(&list);
    assert_int_equal(scr_hostlist_expand("n[1-1048577]", &list, &err), SCR_E_ARG);
    assert_non_null(strstr(err.text, "more than 1048576 hosts"));
    assert_int_equal(scr_hostlist_expand("n[0-999999999999999999]", &list, NULL),
                     SCR_E_ARG);
    assert_int_equal(scr_hostlist_expand("[0-9999][0-9999][0-9999]", &list, NULL),
                     SCR_E_ARG);
    assert_null(list.name);

    char text[2000];
    memset(text, 'a', sizeof text);
    text[255] = '\0';
    is(expanded(text), text); /* the longest name */
    memcpy(text + 254, "[10-99]", 8);
    assert_null(expanded(text));
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_null(expanded(text));
    for (size_t i = 0; i + 3 < sizeof text; i += 3) /* brackets all the way down */
        memcpy(text + i, "[1]", 4);
    assert_null(expanded(text));
}

static void neighbours_share_a_bracket(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "", "" },
        { "a", "a" },
        { "atlas3,atlas5,atlas6,atlas7,atlas9,atlas10,atlas11", "atlas[3,5-7,9-11]" },
        { "n1,n1,n2", "n[1,1-2]" },
        { "n3,n2,n1", "n[3,2,1]" },
        { "n08,n09,n10,n11", "n[08-11]" },
        { "n98,n99,n100", "n[98-100]" },
        { "n01,n1", "n01,n1" },
        { "n10,n8,n09", "n[10,8,09]" },
        { "n099,n100", "n[099-100]" },
        { "a1,b1,b2,a2", "a1,b[1-2],a2" },
        { "n1-ib,n2-ib,n3-eth", "n[1-2]-ib,n3-eth" },
        { "n1-ib0,n2-ib0", "n[1-2]-ib0" },
        { "r1n1,r1n2,r2n1,r2n2", "r1n[1-2],r2n[1-2]" },
        { "login,login", "login,login" },
        { "n,n1", "n,n1" },
        { "1,2,3", "[1-3]" },
        { "a1b2,a2b1", "a1b2,a2b1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = compressed(rows[i][0], 0);
        is(expanded(text), rows[i][0]); /* nothing lost */
        is(text, rows[i][1]);
    }
}

static void sorted_lists_are_by_prefix_and_number(void **state)
{
    (void)state;
    is(compressed("atlas11,atlas3,atlas10,atlas5,atlas3", 1), "atlas[3,3,5,10-11]");
    is(compressed("zeus2,atlas10,zeus1,atlas9,login", 1),
       "atlas[9-10],login,zeus[1-2]");
    is(compressed("n10,n9,n09", 1), "n9,n[09-10]");
    is(compressed("n2-ib,n1-ib,n10-ib", 1), "n[1-2,10]-ib");
    is(compressed("r2n1,r1n10,r1n9", 1), "r1n[9-10],r2n1");
}

static void names_that_would_not_come_back_are_not_compressed(void **state)
{
    (void)state;
    char *bad[] = { "a[1", "a,b", "", "a b", "-x" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct scr_hostlist list = { &bad[i], 1 };
        char *text = bad[0];
        assert_int_equal(scr_hostlist_compress(&list, 0, &text, NULL), SCR_E_ARG);
        assert_null(text);
    }
}

/* Every list of a few pseudo-random names comes back as it was. */
static void compression_loses_nothing(void **state)
{
    (void)state;
    uint32_t seed = 12345;
    for (int round = 0; round < 2000; round++) {
        struct scr_str s = SCR_STR_INIT;
        int n = 1 + round % 9;
        for (int i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            scr_str_printf(&s, "%s%s%0*u%s", i ? "," : "", seed >> 31 ? "n" : "r1n",
                           (int)(seed >> 29 & 1) + 1, seed >> 8 & 15,
                           seed >> 28 & 1 ? "" : "-ib0");
        }
        char *text = scr_str_take(&s);
        char *packed = compressed(text, 0);
        is(expanded(packed), text);
        free(packed);
        free(text);
    }
}

/* Whatever stands in a list, it is refused or it comes back. */
static void garbage_is_refused_or_kept(void **state)
{
    (void)state;
    static const char letters[] = "n[],-019]-,[1a.";
    uint32_t seed = 99;
    int accepted = 0;
    for (int round = 0; round < 200000; round++) {
        char text[24];
        seed = seed * 1664525u + 1013904223u;
        size_t n = seed >> 24 & 15;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = letters[(seed >> 16) % (sizeof letters - 1)];
        }
        text[n] = '\0';
        char *got = expanded(text);
        if (got == NULL)
            continue;
        char *packed = compressed(got, 0);
        is(expanded(packed), got);
        free(packed);
        free(got);
        accepted++;
    }
    assert_true(accepted > 1000);
}

static void sets_keep_the_order_of_the_first(void **state)
{
    (void)state;
    struct scr_hostlist a, b, out;
    char *text;
    assert_int_equal(scr_hostlist_expand("n[5,3,5,7,1]", &a, NULL), SCR_OK);
    assert_int_equal(scr_hostlist_expand("n[20,3,7]", &b, NULL), SCR_OK);
    assert_int_equal(scr_hostlist_minus(&a, &b, &out, NULL), SCR_OK);
    assert_int_equal(scr_hostlist_compress(&out, 0, &text, NULL), SCR_OK);
    is(text, "n[5,5,1]");
    scr_hostlist_free(&out);
    assert_int_equal(scr_hostlist_intersect(&a, &b, &out, NULL), SCR_OK);
    assert_int_equal(scr_hostlist_compress(&out, 0, &text, NULL), SCR_OK);
    is(text, "n[3,7]");
    scr_hostlist_free(&out);

    struct scr_hostlist none = SCR_HOSTLIST_INIT;
    assert_int_equal(scr_hostlist_minus(&a, &none, &out, NULL), SCR_OK);
    assert_int_equal(out.n, 5);
    scr_hostlist_free(&out);
    assert_int_equal(scr_hostlist_intersect(&none, &a, &out, NULL), SCR_OK);
    assert_int_equal(out.n, 0);

    assert_int_equal(scr_hostlist_contains(&a, "n7"), 1);
    assert_int_equal(scr_hostlist_contains(&a, "n07"), 0);
    assert_int_equal(scr_hostlist_contains(&none, "n7"), 0);
    scr_hostlist_free(&a);
    scr_hostlist_free(&b);
}

static void the_front_of_a_list_is_expanded(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t most, n;
    } rows[] = { { "n[1-9]", 3, 3 },
                 { "n[1-9]", 9, 9 },
                 { "n[1-9],m[1-9]", 12, 12 },
                 { "a,b,c", 2, 2 },
                 { "r[1-2]n[1-1000000]", 5, 5 },
                 { "", 2, 0 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scr_hostlist list;
        assert_int_equal(
            scr_hostlist_expand_front(rows[i].text, rows[i].most, &list, NULL), SCR_OK);
        assert_int_equal(list.n, rows[i].n);
        scr_hostlist_free(&list);
    }
    struct scr_hostlist list;
    assert_int_equal(scr_hostlist_expand_front("n[1-9],m[", 12, &list, NULL),
                     SCR_E_ARG);
    assert_int_equal(list.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_expand_in_order),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(the_error_names_the_item),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(the_front_of_a_list_is_expanded),
        cmocka_unit_test(neighbours_share_a_bracket),
        cmocka_unit_test(sorted_lists_are_by_prefix_and_number),
        cmocka_unit_test(names_that_would_not_come_back_are_not_compressed),
        cmocka_unit_test(compression_loses_nothing),
        cmocka_unit_test(garbage_is_refused_or_kept),
        cmocka_unit_test(sets_keep_the_order_of_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
