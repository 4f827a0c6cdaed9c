/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameter table: that it is sound, and what each type takes and says. */
#include "helper_tmp.h"

#include <ctype.h>
#include <string.h>

#include "cfg/cfg.h"
#include "cfg/spec.h"

static int takes(const char *name, const char *text)
{
    struct scr_value v;
    const struct scr_spec *spec = scr_spec_find(name);
    assert_non_null(spec);
    return scr_spec_parse(spec, text, &v);
}

/* Every default has to be acceptable, every row documented, every name there once. */
static void test_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < scr_nspecs; i++) {
        const struct scr_spec *spec = &scr_specs[i];
        if (spec->type == SCR_TYPE_SECTION)
            continue;
        struct scr_value v;
        assert_ptr_equal(scr_spec_find(spec->name), spec);
        assert_memory_equal(spec->name, "SCR_", 4);
        assert_true(strlen(spec->doc) > 20 && strlen(spec->since) > 0);
        assert_true(spec->doc[strlen(spec->doc) - 1] == '.');
        if (spec->def == NULL)
            assert_int_equal(spec->type, SCR_TYPE_STR);
        else
            assert_int_equal(scr_spec_parse(spec, spec->def, &v), 1);
    }
}

static void test_fields_are_named_after_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *name, *field;
    } rows[] = {
#define X(NAME, field, type, def, range, unit, since, who, doc) { #NAME, #field },
#include "defs/params.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *name = rows[i].name + strlen("SCR_");
        assert_int_equal(strlen(name), strlen(rows[i].field));
        for (size_t k = 0; name[k] != '\0'; k++)
            assert_int_equal(tolower((unsigned char)name[k]), rows[i].field[k]);
    }
}

static void test_children_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < scr_nchild_specs; i++) {
        const struct scr_spec *spec = &scr_child_specs[i];
        struct scr_value v;
        assert_non_null(scr_spec_line(spec->parent));
        assert_ptr_equal(scr_spec_child(spec->parent, spec->name), spec);
        assert_non_null(spec->def);
        if (spec->def[0] == '$')
            assert_non_null(scr_spec_find(spec->def + 1));
        else
            assert_int_equal(scr_spec_parse(spec, spec->def, &v), 1);
    }
}

static void test_aliases_stand_for_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < scr_naliases; i++) {
        assert_null(scr_spec_find(scr_aliases[i].alias));
        assert_non_null(scr_spec_find(scr_aliases[i].name));
    }
    assert_string_equal(scr_spec_unalias("SCR_HALT_EXIT"), "SCR_HALT_ENABLED");
    assert_string_equal(scr_spec_unalias("SCR_FLUSH"), "SCR_FLUSH");
}

/* --- types --- */

static void test_bad_values_of_the_issue(void **state)
{
    (void)state;
    assert_false(takes("SCR_SET_SIZE", "abc"));
    assert_false(takes("SCR_SET_SIZE", "0"));
    assert_true(takes("SCR_SET_SIZE", "1"));
    assert_false(takes("SCR_MPI_BUF_SIZE", "0"));
    assert_true(takes("SCR_MPI_BUF_SIZE", "1"));
    assert_true(takes("SCR_MPI_BUF_SIZE", "1g"));
    assert_false(takes("SCR_MPI_BUF_SIZE", "1073741825"));
    assert_false(takes("SCR_MPI_BUF_SIZE", "2g"));
    assert_false(takes("SCR_FILE_BUF_SIZE", "0"));
    assert_false(takes("SCR_CACHE_SIZE", "-2"));
    assert_true(takes("SCR_CACHE_SIZE", "-1"));
    assert_false(takes("SCR_COPY_TYPE", "RAID"));
    assert_true(takes("SCR_COPY_TYPE", "partner"));
}

static void test_numbers(void **state)
{
    (void)state;
    assert_false(takes("SCR_FLUSH", "10x"));
    assert_false(takes("SCR_FLUSH", "1.5"));
    assert_false(takes("SCR_FLUSH", "99999999999"));
    assert_true(takes("SCR_RUNS", "-1"));
    assert_false(takes("SCR_RUNS", "-2"));
    assert_true(takes("SCR_CHECKPOINT_OVERHEAD", "2.5"));
    assert_false(takes("SCR_CHECKPOINT_OVERHEAD", "-0.1"));
    assert_false(takes("SCR_CHECKPOINT_OVERHEAD", "nan"));
    assert_false(takes("SCR_CHECKPOINT_OVERHEAD", "inf"));
    assert_false(takes("SCR_FLUSH_ASYNC_PERCENT", "101"));
    assert_true(takes("SCR_HALT_SECONDS", "1.5h"));
    assert_false(takes("SCR_HALT_SECONDS", "-1"));
    assert_false(takes("SCR_MTBF", "0"));
}

static void test_booleans_are_0_and_1(void **state)
{
    (void)state;
    assert_true(takes("SCR_FETCH", "0"));
    assert_true(takes("SCR_FETCH", "1"));
    assert_false(takes("SCR_FETCH", "2"));
    assert_false(takes("SCR_FETCH", "yes"));
    assert_false(takes("SCR_FETCH", ""));
}

static void test_names_that_become_directories(void **state)
{
    (void)state;
    assert_true(takes("SCR_JOB_ID", "1234[5].server"));
    assert_false(takes("SCR_JOB_ID", "../x"));
    assert_false(takes("SCR_USER_NAME", "a/b"));
    assert_false(takes("SCR_USER_NAME", ".."));
    assert_false(takes("SCR_USER_NAME", "."));
}

static void test_choices_have_positions(void **state)
{
    (void)state;
    struct scr_value v;
    const struct scr_spec *type = scr_spec_find("SCR_COPY_TYPE");
    assert_int_equal(scr_spec_parse(type, "SINGLE", &v), 1);
    assert_int_equal(v.id, 0);
    assert_int_equal(scr_spec_parse(type, "rs", &v), 1);
    assert_int_equal(v.id, 3);
    assert_int_equal(scr_spec_parse(type, "XO", &v), 0);
    assert_int_equal(scr_spec_parse(type, "XORR", &v), 0);
    assert_int_equal(scr_spec_parse(type, "", &v), 0);
}

static void test_choice_with_a_level(void **state)
{
    (void)state;
    assert_true(takes("SCR_FLUSH_COMPRESS", "none"));
    assert_true(takes("SCR_FLUSH_COMPRESS", "ZSTD"));
    assert_true(takes("SCR_FLUSH_COMPRESS", "zstd:22"));
    assert_false(takes("SCR_FLUSH_COMPRESS", "ZSTD:0"));
    assert_false(takes("SCR_FLUSH_COMPRESS", "ZSTD:"));
    assert_false(takes("SCR_FLUSH_COMPRESS", "ZSTD:x"));
    assert_false(takes("SCR_FLUSH_COMPRESS", "NONE:3"));
}

/* --- words --- */

static const char *expected(const char *name)
{
    static char buf[160];
    return scr_spec_expected(scr_spec_find(name), buf, sizeof buf);
}

static void test_says_what_it_expects(void **state)
{
    (void)state;
    assert_string_equal(expected("SCR_SET_SIZE"), "an integer from 1 to 2147483647");
    assert_string_equal(expected("SCR_MPI_BUF_SIZE"),
                        "a size in bytes (or k, m, g) from 1 to 1073741824");
    assert_string_equal(expected("SCR_FETCH"), "0 or 1");
    assert_string_equal(expected("SCR_FLUSH_TYPE"), "one of SYNC, PTHREAD, DAEMON");
    assert_string_equal(expected("SCR_HALT_SECONDS"),
                        "a time in seconds (or m, h, d, y), at least 0");
    assert_string_equal(expected("SCR_FLUSH"), "an integer, at least 0, or AUTO");
    assert_string_equal(expected("SCR_JOB_ID"), "a name without '/'");
}

static void test_number_or_word(void **state)
{
    (void)state;
    const struct scr_spec *flush = scr_spec_find("SCR_FLUSH");
    struct scr_value v;
    assert_true(scr_spec_parse(flush, "auto", &v) && v.i == SCR_AUTO);
    assert_true(scr_spec_parse(flush, "7", &v) && v.i == 7);
    assert_false(scr_spec_parse(flush, "-1", &v));
    assert_false(scr_spec_parse(flush, "AUTOMATIC", &v));
    assert_false(scr_spec_parse(scr_spec_find("SCR_SET_SIZE"), "AUTO", &v));
}

static void test_nearest_name(void **state)
{
    (void)state;
    assert_string_equal(scr_spec_nearest("SCR_FLSUH", NULL), "SCR_FLUSH");
    assert_string_equal(scr_spec_nearest("SCR_CACHESIZE", NULL), "SCR_CACHE_SIZE");
    assert_string_equal(scr_spec_nearest("CKTP", NULL), "CKPT");
    assert_string_equal(scr_spec_nearest("INTERVALL", "CKPT"), "INTERVAL");
    assert_null(scr_spec_nearest("SOMETHING_ELSE_ENTIRELY", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_sound),
        cmocka_unit_test(test_fields_are_named_after_parameters),
        cmocka_unit_test(test_children_are_sound),
        cmocka_unit_test(test_aliases_stand_for_parameters),
        cmocka_unit_test(test_bad_values_of_the_issue),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_booleans_are_0_and_1),
        cmocka_unit_test(test_names_that_become_directories),
        cmocka_unit_test(test_choices_have_positions),
        cmocka_unit_test(test_choice_with_a_level),
        cmocka_unit_test(test_says_what_it_expects),
        cmocka_unit_test(test_number_or_word),
        cmocka_unit_test(test_nearest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
