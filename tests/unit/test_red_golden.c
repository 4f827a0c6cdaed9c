/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy files are those of a second encoder, byte for byte, and of the manual
 * page. */
#include "helper_protect.h"
#include "helper_tmp.h"

#include "base/path.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct scr_env env = { .sys = &scr_sys_posix };

enum { N = 5, FILES = 3 };

/* The parameters of the sets of tests/golden/redundancy_files.py. */
static const size_t sizes[N][FILES] = {
    { 40, 0, 3 }, { 1, 1, 1 }, { 0, 0, 0 }, { 17, 100, 5 }, { 64, 2, 2 }
};
static const int ranks[N] = { 3, 7, 11, 12, 20 };

static scr_meta *put_file(const char *dir, const char *name, const uint8_t *bytes,
                          size_t n)
{
    char *path = scr_path_join(dir, name);
    scr_meta *m = scr_meta_new();
    test_put(path, bytes, n);
    scr_meta_set_text(m, SCR_META_FILE, name);
    scr_meta_set_filesize(m, n);
    free(path);
    return m;
}

static void expect_golden(const char *set, const char *name, const char *path)
{
    size_t n, want_n;
    char *golden = scr_asprintf("%s/redundancy/%s/%s", SCR_GOLDEN_DIR, set, name);
    uint8_t *got = test_get(path, &n), *want = test_get(golden, &want_n);
    assert_int_equal(n, want_n);
    assert_memory_equal(got, want, n);
    free(got);
    free(want);
    free(golden);
}

static void encode_as_golden(const char *set, enum scr_scheme scheme, int k)
{
    struct test_protect_part parts[N];
    scr_meta *metas[N][FILES];
    char *dirs[N], *reds[N], *names[N];
    uint8_t bytes[100];
    for (int i = 0; i < N; i++) {
        dirs[i] = strdup(test_path("%s.%d", set, i));
        assert_int_equal(mkdir(dirs[i], 0700), 0);
        for (unsigned f = 0; f < FILES; f++) {
            char name[8];
            for (unsigned b = 0; b < sizes[i][f]; b++)
                bytes[b] = (uint8_t)((unsigned)i * 31 + f * 7 + b * b);
            snprintf(name, sizeof name, "f%u", f);
            metas[i][f] = put_file(dirs[i], name, bytes, sizes[i][f]);
        }
        names[i] = scr_redfile_name(scheme, i, N, 3);
        reds[i] = scr_path_join(dirs[i], names[i]);
        parts[i] = (struct test_protect_part){ FILES, (const scr_meta *const *)metas[i],
                                               dirs[i], reds[i] };
    }
    const struct test_protect_set s = { scheme, k, 18, 32, N, ranks, NULL, NULL };
    assert_int_equal(test_protect(&env, &s, parts, NULL), SCR_OK);
    for (int i = 0; i < N; i++) {
        expect_golden(set, names[i], reds[i]);
        for (int f = 0; f < FILES; f++)
            scr_meta_delete(metas[i][f]);
        free(dirs[i]);
        free(reds[i]);
        free(names[i]);
    }
}

static void every_scheme_has_the_bytes_of_a_second_encoder(void **state)
{
    (void)state;
    encode_as_golden("xor", SCR_SCHEME_XOR, 1);
    encode_as_golden("partner", SCR_SCHEME_PARTNER, 1);
    encode_as_golden("partner2", SCR_SCHEME_PARTNER, 2);
    encode_as_golden("rs1", SCR_SCHEME_RS, 1);
    encode_as_golden("rs2", SCR_SCHEME_RS, 2);
    encode_as_golden("rs3", SCR_SCHEME_RS, 3);
    encode_as_golden("rs4", SCR_SCHEME_RS, 4);
}

/* Header and copies of member i, made of what was read of all. */
static void expect_header_again(const struct scr_geom *g,
                                const struct scr_redhead *head, int i)
{
    const struct scr_redowner o = { g, i, 18, 32, ranks };
    struct scr_str s = SCR_STR_INIT, left[N] = { SCR_STR_INIT };
    int copies = scr_redfile_copies(N, g->k);
    for (int j = 1; j <= copies; j++) {
        const struct scr_redcopy *copy = &head[i].copy[j - 1];
        scr_current_pack(&left[j - 1], head[(i + N - j) % N].current);
        assert_int_equal(copy->n, left[j - 1].len);
        assert_memory_equal(copy->p, left[j - 1].p, copy->n);
    }
    scr_redfile_header(&s, &o, head[i].current, left, copies);
    assert_int_equal(s.len, head[i].bytes);
    assert_memory_equal(s.p, head[i].buf, s.len);
    scr_str_free(&s);
    for (int j = 0; j < N; j++)
        scr_str_free(&left[j]);
}

static void read_golden(const char *set, enum scr_scheme scheme, int k)
{
    struct scr_redhead head[N];
    struct scr_geom g;
    uint64_t len[N] = { 0 };
    for (int i = 0; i < N; i++) {
        char *name = scr_redfile_name(scheme, i, N, 3);
        char *path = scr_asprintf("%s/redundancy/%s/%s", SCR_GOLDEN_DIR, set, name);
        assert_int_equal(scr_redhead_read(&env, path, &head[i], NULL), SCR_OK);
        assert_int_equal(head[i].current->files.n, FILES);
        for (int f = 0; f < FILES; f++) {
            assert_int_equal(head[i].current->file[f]->meta.size, sizes[i][f]);
            len[i] += sizes[i][f];
        }
        free(name);
        free(path);
    }
    assert_int_equal(scr_geom_init(&g, scheme, N, k, len, NULL), SCR_OK);
    for (int i = 0; i < N; i++)
        expect_header_again(&g, head, i);
    for (int i = 0; i < N; i++)
        scr_redhead_fini(&head[i]);
}

static void headers_that_are_read_are_written_the_same(void **state)
{
    (void)state;
    read_golden("xor", SCR_SCHEME_XOR, 1);
    read_golden("partner", SCR_SCHEME_PARTNER, 1);
    read_golden("partner2", SCR_SCHEME_PARTNER, 2);
    read_golden("rs1", SCR_SCHEME_RS, 1);
    read_golden("rs2", SCR_SCHEME_RS, 2);
    read_golden("rs3", SCR_SCHEME_RS, 3);
    read_golden("rs4", SCR_SCHEME_RS, 4);
}

static void the_example_is_encoded_so(void **state)
{
    (void)state;
    const char *dir = test_tmp();
    const int world[] = { 0, 1 };
    scr_meta *a = put_file(dir, "a", (const uint8_t *)"abc", 3);
    scr_meta *b = put_file(dir, "b", (const uint8_t *)"hello", 5);
    char *red0 = strdup(test_path("red0")), *red1 = strdup(test_path("red1"));
    const struct test_protect_part parts[] = {
        { 1, (const scr_meta *const *)&a, dir, red0 },
        { 1, (const scr_meta *const *)&b, dir, red1 }
    };
    const struct test_protect_set s = { SCR_SCHEME_XOR, 1, 6, 2, 2, world, NULL, NULL };
    assert_int_equal(test_protect(&env, &s, parts, NULL), SCR_OK);
    expect_golden("example", "1_of_2_in_0.xor", red0);
    expect_golden("example", "2_of_2_in_0.xor", red1);
    scr_meta_delete(a);
    scr_meta_delete(b);
    free(red0);
    free(red1);
}

/* The bytes of one line of hexdump -C at the offset it says; 0 if the line is none. */
static size_t dump_line(const char *line, size_t at, uint8_t *out)
{
    unsigned off, byte;
    int used;
    size_t n = 0;
    if (sscanf(line, "    %8x  %n", &off, &used) != 1 || off != at)
        return 0;
    for (line += used; n < 16 && sscanf(line, "%2x %n", &byte, &used) == 1;
         line += used)
        out[n++] = (uint8_t)byte;
    return n;
}

static void the_manual_page_shows_the_example(void **state)
{
    (void)state;
    uint8_t dump[1024];
    size_t n = 0, want_n;
    char *page =
        test_get(SCR_SOURCE_DIR "/doc/man5/scr_redundancy_file.5.md", &(size_t){ 0 });
    char *save = NULL;
    for (char *line = strtok_r(page, "\n", &save); line != NULL && n < 1000;
         line = strtok_r(NULL, "\n", &save))
        n += dump_line(line, n, dump + n);
    uint8_t *want =
        test_get(SCR_GOLDEN_DIR "/redundancy/example/1_of_2_in_0.xor", &want_n);
    assert_int_equal(n, want_n);
    assert_memory_equal(dump, want, n);
    free(page);
    free(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scheme_has_the_bytes_of_a_second_encoder),
        cmocka_unit_test(headers_that_are_read_are_written_the_same),
        cmocka_unit_test(the_example_is_encoded_so),
        cmocka_unit_test(the_manual_page_shows_the_example),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
