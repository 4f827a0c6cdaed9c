/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of nodes in lists of many (rm/names.h): found as a walk would find them, in a
 * number of comparisons that does not grow with the list. Linked with --wrap=strcmp. */
#include "helper_tmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "rm/rm_impl.h"

static size_t comparisons;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b)
{
    comparisons++;
    return __real_strcmp(a, b);
}

static void expand(const char *text, struct scr_hostlist *list)
{
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_hostlist_expand(text, list, &err), SCR_OK);
}

/* What a list of these names has for one. */
static const char *match(const struct scr_rm_names *names, const char *name)
{
    const char *found = scr_rm_match(names, name);
    return found != NULL ? found : "-";
}

static void names_are_the_same_up_to_their_first_dot(void **state)
{
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    struct scr_rm_names names;
    (void)state;
    expand("a.x,a.y,b,c.x,c,d,d.x,e.x", &list);
    assert_int_equal(scr_rm_names_init(&names, &list, NULL), SCR_OK);
    assert_string_equal(match(&names, "a"), "a.x");
    assert_string_equal(match(&names, "a.y"), "a.y");
    assert_string_equal(match(&names, "a.z"), "-");
    assert_string_equal(match(&names, "b"), "b");
    assert_string_equal(match(&names, "b.x"), "b");
    assert_string_equal(match(&names, "c"), "c.x");
    assert_string_equal(match(&names, "c.x"), "c.x");
    assert_string_equal(match(&names, "c.y"), "c");
    assert_string_equal(match(&names, "d.x"), "d");
    assert_string_equal(match(&names, "e.x.y"), "-");
    assert_string_equal(match(&names, ".x"), "-");
    assert_string_equal(match(&names, ""), "-");
    assert_int_equal(scr_rm_find(&names, "c.y"), 4);
    assert_int_equal(scr_rm_find(&names, "f"), list.n);
    scr_rm_names_fini(&names);
    scr_hostlist_free(&list);
}

static void a_name_is_added_once(void **state)
{
    struct scr_hostlist list = SCR_HOSTLIST_INIT, more = SCR_HOSTLIST_INIT;
    char words[] = "b\nc  a.x\nb c\n", *text = NULL;
    (void)state;
    expand("a,b,a", &more);
    assert_int_equal(scr_rm_add_nodes(&list, &more, NULL), SCR_OK);
    assert_int_equal(scr_rm_add_words(&list, words, NULL), SCR_OK);
    assert_int_equal(scr_hostlist_compress(&list, 0, &text, NULL), SCR_OK);
    assert_string_equal(text, "a,b,c,a.x");
    free(text);
    scr_hostlist_free(&list);
    scr_hostlist_free(&more);
}

/* Comparisons that it takes to list n nodes, to find each by its name and by one with a
 * domain, and to note that it is down. */
static size_t count(int n)
{
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    struct scr_downs down = SCR_DOWNS_INIT;
    struct scr_rm_names names;
    struct scr_str words = SCR_STR_INIT;
    for (int i = 0; i < n; i++)
        scr_str_printf(&words, "n%d\n", i);
    comparisons = 0;
    assert_int_equal(scr_rm_add_words(&list, words.p, NULL), SCR_OK);
    assert_int_equal(list.n, n);
    assert_int_equal(scr_rm_names_init(&names, &list, NULL), SCR_OK);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%d.x", i);
        assert_int_equal(scr_rm_find(&names, name), i);
        assert_int_equal(scr_downs_add(&down, list.name[i], SCR_NODE_DEAD, NULL, "x"),
                         SCR_OK);
    }
    size_t made = comparisons;
    assert_int_equal(down.nodes.n, n);
    scr_downs_free(&down);
    scr_rm_names_fini(&names);
    scr_hostlist_free(&list);
    scr_str_free(&words);
    return made;
}

static void comparisons_do_not_grow_with_the_list(void **state)
{
    (void)state;
    assert_in_range(count(1000), 1000, 10 * 1000);
    assert_in_range(count(20000), 20000, 10 * 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_the_same_up_to_their_first_dot),
        cmocka_unit_test(a_name_is_added_once),
        cmocka_unit_test(comparisons_do_not_grow_with_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
