/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that print JSON, with every allocation of jansson failing in turn: they
 * print all of it, or end with an error. What is printed never lacks a member. */
#include <ctype.h>
#include <jansson.h>

#include "../unit/helper_store.h"

#include "base/proc.h"
#include "tool.h"

static struct {
    long left; /* until one fails; below 0: none does */
    int failed;
} memory = { -1, 0 };

static void *get(size_t n)
{
    if (memory.left >= 0 && memory.left-- == 0) {
        memory.failed = 1;
        return NULL;
    }
    return malloc(n);
}

struct said {
    int status;
    char *out, *err;
};

/* Runs "scr_<command>", its words separated by single blanks. */
static struct said run(const char *line)
{
    char *argv[16], *words = scr_strdup(line), *rest = words;
    char user[] = "SCR_USER_NAME=tester", ckpt[] = "SCR_CNTL_BASE=/no/such";
    char *environment[] = { user, ckpt, NULL };
    struct said s = { 0 };
    size_t nout, nerr;
    int argc = 0;
    FILE *out = open_memstream(&s.out, &nout), *err = open_memstream(&s.err, &nerr);
    for (char *word; argc < 15 && (word = strsep(&rest, " ")) != NULL;)
        argv[argc++] = word;
    argv[argc] = NULL;
    s.status = scr_tool_main(argc, argv, environment, out, err);
    fclose(out);
    fclose(err);
    free(words);
    return s;
}

static void forget(struct said *s)
{
    free(s->out);
    free(s->err);
}

/* Times and ages differ from run to run. */
static void mask_numbers(char *text)
{
    char *to = text;
    for (const char *p = text; *p != '\0'; p++)
        if (!isdigit((unsigned char)*p))
            *to++ = *p;
    *to = '\0';
}

static void check_failed(const char *line, long n, struct said *s,
                         const struct said *all)
{
    mask_numbers(s->out);
    if (s->status == all->status && strcmp(s->out, all->out) == 0)
        return;
    if (s->status != 2 || strstr(s->err, "error: ") == NULL)
        fail_msg("%s: allocation %ld failed: exit status %d, %s%s", line, n, s->status,
                 s->err, s->out);
}

/* Every one of the first, then one in nine: long lists repeat themselves. */
static void walk(const char *line)
{
    enum { EACH = 300, STEP = 9 };
    struct said all = run(line);
    assert_int_equal(all.status, 0);
    assert_true(all.out[0] == '{' || all.out[0] == '[');
    mask_numbers(all.out);
    for (long n = 0;; n += n < EACH ? 1 : STEP) {
        memory.left = n;
        memory.failed = 0;
        struct said s = run(line);
        int failed = memory.failed;
        memory.left = -1;
        check_failed(line, n, &s, &all);
        forget(&s);
        if (!failed)
            break;
    }
    forget(&all);
}

static void no_member_is_missing(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "scr_param --list --json",
        "scr_param --changed --json",
        "scr_param --json SCR_FLUSH",
        "scr_param --json --explain SCR_FLUSH",
        "scr_param --json CKPT",
        "scr_index --list --json",
        "scr_index --long --json",
        "scr_why --json",
        "scr_inspect --json",
        "scr_status --json",
        "scr_halt --list --json",
        "scr_plan --json --explain --nodes 9 --ranks 72 --bytes 4g --cache /dev/shm",
        "scr_have_restart --json",
        "scr_print --json .scr/index.scr",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        walk(lines[i]);
}

/* A dataset in the prefix directory, which is the current one, and settings. */
static int setup(void **state)
{
    (void)state;
    static struct test_store t;
    static const char settings[] = "SCR_COPY_TYPE=FILE\nSTORE=/dev/shm\nCKPT=0 "
                                   "INTERVAL=1 STORE=/dev/shm TYPE=XOR\n";
    test_store_open(&t);
    const char *const scavenge[] = {
        SCR_TEST_SCAVENGE, t.p.path, "7", "XOR", "3", "3", NULL
    };
    const struct scr_proc_spec spec = { .argv = scavenge };
    int status = -1;
    if (scr_proc_run(&spec, 60, NULL, &status, &t.err) != SCR_OK || status != 0 ||
        chdir(t.p.path) != 0)
        return -1;
    FILE *f = fopen(".scrconf", "w");
    if (f == NULL || fputs(settings, f) < 0 || fclose(f) != 0)
        return -1;
    struct said s = run("scr_index --build 7");
    status = s.status;
    forget(&s);
    test_store_close(&t);
    json_set_alloc_funcs(get, free);
    return status;
}

static int teardown(void **state)
{
    (void)state;
    json_set_alloc_funcs(malloc, free);
    test_tmp_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_member_is_missing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
