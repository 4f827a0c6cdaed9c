/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy files are those of a second encoder, byte for byte, and of the manual
 * page. */
#include "helper_tmp.h"

#include "base/hashfile.h"
#include "base/path.h"
#include "base/str.h"
#include "red/serial.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct scr_env env = { .sys = &scr_sys_posix };

enum { N = 5, FILES = 3 };

/* What tests/golden/generate.py makes its sets of. */
static const size_t sizes[N][FILES] = {
    { 40, 0, 3 }, { 1, 1, 1 }, { 0, 0, 0 }, { 17, 100, 5 }, { 64, 2, 2 }
};
static const int ranks[N] = { 3, 7, 11, 12, 20 };

static scr_hash *put_file(const char *dir, const char *name, const uint8_t *bytes,
                          size_t n)
{
    char *path = scr_path_join(dir, name);
    scr_hash *m = scr_hash_new();
    test_put(path, bytes, n);
    scr_hash_set_val(m, "FILE", name);
    scr_hash_set_val_u64(m, "SIZE", n);
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
    struct scr_serial_part parts[N];
    scr_hash *metas[N][FILES];
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
        parts[i] = (struct scr_serial_part){ FILES, metas[i], dirs[i], reds[i] };
    }
    const struct scr_serial_set s = { scheme, k, 18, 32, N, ranks, NULL, NULL };
    assert_int_equal(scr_protect_serial(&env, &s, parts, NULL), SCR_OK);
    for (int i = 0; i < N; i++) {
        expect_golden(set, names[i], reds[i]);
        for (int f = 0; f < FILES; f++)
            scr_hash_delete(metas[i][f]);
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

static void the_example_is_encoded_so(void **state)
{
    (void)state;
    const char *dir = test_tmp();
    const int world[] = { 0, 1 };
    scr_hash *a = put_file(dir, "a", (const uint8_t *)"abc", 3);
    scr_hash *b = put_file(dir, "b", (const uint8_t *)"hello", 5);
    char *red0 = strdup(test_path("red0")), *red1 = strdup(test_path("red1"));
    const struct scr_serial_part parts[] = { { 1, &a, dir, red0 },
                                             { 1, &b, dir, red1 } };
    const struct scr_serial_set s = { SCR_SCHEME_XOR, 1, 6, 2, 2, world, NULL, NULL };
    assert_int_equal(scr_protect_serial(&env, &s, parts, NULL), SCR_OK);
    expect_golden("example", "1_of_2_in_0.xor", red0);
    expect_golden("example", "2_of_2_in_0.xor", red1);
    scr_hash_delete(a);
    scr_hash_delete(b);
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
        cmocka_unit_test(the_example_is_encoded_so),
        cmocka_unit_test(the_manual_page_shows_the_example),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
