/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of SCR_INTERPOSE_PATTERN. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pattern.h"

static void paths_and_numbers(void **state)
{
    enum { NO = -2, NONE = SCR_IP_NO_NUMBER };
    static const struct {
        const char *patterns, *rel;
        int64_t number; /* NO: does not match */
    } c[] = {
        { "restart.%d", "restart.100", 100 },
        { "restart.%d", "deep/down/restart.100", 100 },
        { "restart.%d", "restart.", NO },
        { "restart.%d", "restart.100.tmp", NO },
        { "restart.%d", "restart.-1", NO },
        { "restart.%d", "xrestart.1", NO },
        { "restart.%d.*", "restart.0080.base", 80 },
        { "restart.%d.*", "restart.80.", 80 },
        { "restart.%d.*", "restart.80", NO },
        { "*%d", "a12b34", 34 },
        { "*%d*", "a12b34", 12 },
        { "step%d/*", "step7/u.dat", 7 },
        { "step%d/*", "run/step7/u.dat", NO },
        { "step%d/*", "step7/sub/u.dat", NO },
        { "out/*/ck?.%d", "out/x/ckA.5", 5 },
        { "out/*/ck?.%d", "out/ckA.5", NO },
        { "out/ck?%d", "out/ck/5", NO },
        { "./top.%d", "top.3", 3 },
        { "./top.%d", "sub/top.3", NO },
        { "/p/q/top.%d", "top.3", 3 },
        { "/p/q/top.%d", "sub/top.3", NO },
        { "/p/q/sub/top.%d", "sub/top.3", 3 },
        { "a b c", "b", NONE },
        { "  a\tb ", "b", NONE },
        { "x.%d x.*", "x.old", NONE },
        { "x.%d", "x.123456789012345678", 123456789012345678 },
        { "x.%d", "x.1234567890123456789", NO },
        { "100%", "100%", NONE },
        { "100%.%d", "100%.5", 5 },
        { "**a**", "xxayy", NONE },
        { "?", "", NO },
    };
    (void)state;
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        struct scr_ip_patterns p;
        struct scr_err err = SCR_ERR_INIT;
        int64_t number = 0;
        assert_int_equal(scr_ip_patterns_init(&p, c[i].patterns, "/p/q", &err), SCR_OK);
        int match = scr_ip_patterns_match(&p, c[i].rel, &number);
        if (match != (c[i].number != NO) || (match && number != c[i].number))
            fail_msg("%s and %s: match %d, number %lld", c[i].patterns, c[i].rel, match,
                     (long long)number);
        if (match)
            assert_true(scr_ip_patterns_may_match(&p, c[i].rel));
        scr_ip_patterns_fini(&p);
    }
}

static void most_files_are_recognised_at_a_glance(void **state)
{
    struct scr_ip_patterns p;
    (void)state;
    assert_int_equal(scr_ip_patterns_init(&p, "step%d/u.* top.%d", "/p", NULL), SCR_OK);
    assert_true(scr_ip_patterns_may_match(&p, "anywhere/u.dat"));
    assert_true(scr_ip_patterns_may_match(&p, "/x/top.1"));
    assert_false(scr_ip_patterns_may_match(&p, "log.lammps"));
    assert_false(scr_ip_patterns_may_match(&p, "/dev/shm/top"));
    assert_false(scr_ip_patterns_may_match(&p, ""));
    scr_ip_patterns_fini(&p);
}

static void bad_ones_are_named(void **state)
{
    static const char *const c[][2] = {
        { "a.%d b.%d.%d", "b.%d.%d has %d twice" },
        { "xt.%q", "xt.%q has %q, which stands for nothing" },
        { "a.%d xt.%05d", "xt.%05d has %0, which stands for nothing" },
        { "/elsewhere/a", "/elsewhere/a is outside the prefix directory /p" },
        { "/pq/a", "outside" },
        { "/p", "outside" },
        { "/p/", "outside" },
        { "../a", "../a: write it without" },
        { "a/../b", "write it without" },
        { "", "blank" },
        { " \t", "blank" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        struct scr_ip_patterns p;
        struct scr_err err = SCR_ERR_INIT;
        assert_int_equal(scr_ip_patterns_init(&p, c[i][0], "/p", &err), SCR_E_CONFIG);
        if (strstr(err.text, c[i][1]) == NULL)
            fail_msg("%s: %s", c[i][0], err.text);
        assert_int_equal(p.n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_numbers),
        cmocka_unit_test(most_files_are_recognised_at_a_glance),
        cmocka_unit_test(bad_ones_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
