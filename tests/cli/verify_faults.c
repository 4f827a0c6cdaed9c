/* SPDX-License-Identifier: BSD-3-Clause */
/* scr verify --repair with every system call failing in turn, once and for good, as if
 * it had been killed there: what was good stays, byte for byte, and a second try brings
 * back what was lost and leaves nothing behind (invariant C2). */
#include "../unit/helper_fault.h"
#include "../unit/helper_tmp.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/str.h"
#include "red/member.h"

extern const struct scr_cmd scr_cmd_verify;

static const struct scr_env posix = { .sys = &scr_sys_posix };

/* A dataset of three ranks, protected by XOR, and what is damaged of it. */
struct place {
    const char *maker;   /* of the dataset */
    const char *args[9]; /* of the maker */
    const char *dir;     /* it is in here */
    const char *file;    /* of rank 1 */
    const char *redfile; /* of rank 1 */
};

static struct place prefix = { .maker = SCR_TEST_SCAVENGE,
                               .args = { NULL, "7", "XOR", "3", "3" },
                               .file = "ckpt.7/rank_1.dat",
                               .redfile = ".scr/scr.dataset.7/2_of_3_in_0.xor" };
static struct place cache = {
    .maker = SCR_TEST_CACHE,
    .args = { NULL, "tester", "9", "7", "XOR", "3", "3" },
};

static void run(const char *program, const char *const *args)
{
    const char *argv[10] = { program };
    struct scr_err err = SCR_ERR_INIT;
    int status = -1;
    for (int i = 0; args[i] != NULL; i++)
        argv[i + 1] = args[i];
    const struct scr_proc_spec spec = { .argv = argv };
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, &err), SCR_OK);
    assert_int_equal(status, 0);
}

/* Runs the command with calls that may fail; SCR_OK, SCR_TOOL_NO or an error. */
static int verify(const struct place *p, int repair)
{
    char *base = scr_asprintf("SCR_CNTL_BASE=%s", cache.dir);
    char *environment[] = { base, "SCR_USER_NAME=tester", "SCR_JOB_ID=9", NULL };
    char *argv[] = { "verify", "--prefix", (char *)prefix.dir, NULL, NULL, NULL };
    int argc = 3;
    if (p == &cache)
        argv[argc++] = "--cache";
    if (repair)
        argv[argc++] = "--repair";
    FILE *out = fopen("/dev/null", "w");
    struct scr_tool t = { .env = { .sys = &test_fault_sys },
                          .log = { .out = out, .who = "verify" },
                          .cmd = &scr_cmd_verify,
                          .who = "verify",
                          .self = "verify",
                          .environ = environment,
                          .out = out };
    struct scr_args a;
    struct scr_err err = SCR_ERR_INIT;
    enum scr_builtin builtin;
    t.env.log = &t.log;
    assert_int_equal(scr_args_parse(t.cmd, argc, argv, &a, &builtin, &err), SCR_OK);
    int rc = t.cmd->run(&t, &a, &err);
    assert_int_equal(err.code, rc > 0 ? rc : SCR_OK);
    scr_args_fini(&a);
    scr_prefix_fini(&t.prefix);
    scr_cfg_free(t.cfg);
    fclose(out);
    free(base);
    return rc;
}

/* --- what is there --- */

static scr_hash *noting; /* nftw has no argument */

/* State files have times in them, locks the last holder. */
static int is_state(const char *path)
{
    return strstr(path, ".lock") != NULL || strstr(path, "index.scr") != NULL ||
           strstr(path, "summary.scr") != NULL || strstr(path, "rank2file") != NULL;
}

static int note(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    char text[16];
    uint64_t size;
    uint32_t crc = 0;
    (void)st, (void)ftw;
    if (type != FTW_F || is_state(path))
        return 0;
    assert_int_equal(scr_file_crc32(&posix, path, 0, &size, &crc, NULL), SCR_OK);
    snprintf(text, sizeof text, "%08x", crc);
    scr_hash_set_kv(noting, path, text);
    return 0;
}

/* {<path>: {<crc>}} */
static scr_hash *files_of(const struct place *p)
{
    noting = scr_hash_new();
    assert_int_equal(nftw(p->dir, note, 16, FTW_PHYS), 0);
    return noting;
}

/* All of want exist with their bytes, except rank 1's two files, which may still be
 * damaged. */
static void check_good_is_kept(const struct place *p, const scr_hash *want, long n)
{
    scr_hash *now = files_of(p);
    for (SCR_HASH_EACH(e, want)) {
        const char *path = scr_hash_elem_key(e);
        if (strstr(path, p->file) == NULL && strstr(path, p->redfile) == NULL &&
            scr_hash_get_kv(now, path, scr_hash_get_val(want, path)) == NULL)
            fail_msg("call %ld: %s has changed", n, path);
    }
    scr_hash_delete(now);
}

static void check_same(const struct place *p, const scr_hash *want, long n)
{
    scr_hash *now = files_of(p);
    for (SCR_HASH_EACH(e, now)) {
        const char *path = scr_hash_elem_key(e);
        if (scr_hash_get_kv(want, path, scr_hash_get_val(now, path)) == NULL)
            fail_msg("call %ld: %s is new or other than it was", n, path);
    }
    assert_int_equal(scr_hash_size(now), scr_hash_size(want));
    scr_hash_delete(now);
}

/* --- the walk --- */

enum damage { FLIPPED, GONE, REDFILE_FLIPPED, ALL_GONE };

static void flip(const char *path)
{
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    fseek(f, -5, SEEK_END);
    int c = getc(f);
    fseek(f, -5, SEEK_END);
    putc(c ^ 1, f);
    assert_int_equal(fclose(f), 0);
}

static void damage(const struct place *p, enum damage how)
{
    char *file = scr_asprintf("%s/%s", p->dir, p->file);
    char *redfile = scr_asprintf("%s/%s", p->dir, p->redfile);
    if (how == FLIPPED)
        flip(file);
    if (how == REDFILE_FLIPPED)
        flip(redfile);
    if (how == GONE || how == ALL_GONE)
        assert_int_equal(unlink(file), 0);
    if (how == ALL_GONE)
        assert_int_equal(unlink(redfile), 0);
    free(redfile);
    free(file);
}

static void survive(struct place *p, enum damage what, enum test_kind kind, int error,
                    enum test_how how)
{
    scr_hash *want = files_of(p);
    for (long n = 0;; n++) {
        damage(p, what);
        test_fault_arm(kind, n, error, how);
        int rc = verify(p, 1);
        int fired = test_fault_off();
        assert_true(fired || rc == SCR_OK);
        check_good_is_kept(p, want, n);
        if ((rc = verify(p, 1)) != SCR_OK)
            fail_msg("second try after call %ld: %d", n, rc);
        assert_int_equal(verify(p, 0), SCR_OK);
        check_same(p, want, n);
        if (!fired)
            break;
    }
    scr_hash_delete(want);
}

static void survive_all(struct place *p, enum test_kind kind, int error,
                        enum test_how how)
{
    for (int what = FLIPPED; what <= ALL_GONE; what++)
        survive(p, (enum damage)what, kind, error, how);
}

static void one_failing_call_does_no_harm(void **state)
{
    survive_all(*state, TEST_ANY, EIO, TEST_ONCE);
}

static void killed_at_any_call_it_does_no_harm(void **state)
{
    survive_all(*state, TEST_ANY, EIO, TEST_FOREVER);
}

static void a_full_disk_does_no_harm(void **state)
{
    survive_all(*state, TEST_WRITE, ENOSPC, TEST_FOREVER);
    survive_all(*state, TEST_PWRITE, ENOSPC, TEST_FOREVER);
}

#define CACHED "node/vnode.n1/tester/scr.9/prefix.*/scr.dataset.7/"

/* Takes the path over. */
static char *below(const struct place *p, char *path)
{
    char *name = strdup(path + strlen(p->dir) + 1);
    free(path);
    return name;
}

static int make(void **state)
{
    (void)state;
    prefix.dir = prefix.args[0] = strdup(test_path("prefix"));
    cache.dir = cache.args[0] = strdup(test_path("node"));
    assert_int_equal(mkdir(prefix.dir, 0700), 0);
    assert_int_equal(mkdir(cache.dir, 0700), 0);
    run(prefix.maker, prefix.args);
    cache.args[7] = prefix.dir;
    run(cache.maker, cache.args);
    cache.file = below(&cache, test_find(CACHED "rank.1/rank_1.dat"));
    cache.redfile = below(&cache, test_find(CACHED ".scr/2_of_3_in_0.xor"));
    const char *const build[] = {
        "index", "--prefix", prefix.dir, "--build", "7", NULL
    };
    run(SCR_TOOL, build);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    free((char *)prefix.dir);
    free((char *)cache.dir);
    free((char *)cache.file);
    free((char *)cache.redfile);
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

int main(void)
{
#define T(f, place) cmocka_unit_test_prestate(f, &(place))
    const struct CMUnitTest tests[] = {
        T(one_failing_call_does_no_harm, prefix),
        T(killed_at_any_call_it_does_no_harm, prefix),
        T(a_full_disk_does_no_harm, prefix),
        T(one_failing_call_does_no_harm, cache),
        T(killed_at_any_call_it_does_no_harm, cache),
        T(a_full_disk_does_no_harm, cache),
    };
    return cmocka_run_group_tests(tests, make, clean);
}
