/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration over a prefix directory of the test, whose warnings are kept as text.
 *
 *     struct test_cfg t;
 *     test_cfg_open(&t, "SCR_FLUSH=3", NULL);          // the environment, nothing else
 *     test_cfg_file("user.conf", "SCR_FLUSH=4\n");
 *     assert_int_equal(scr_cfg_load(&t.env, t.cfg, &t.err), SCR_OK);
 *     assert_string_equal(test_cfg_log(&t), "");
 *     test_cfg_close(&t);
 */
#ifndef SCR_TEST_HELPER_CFG_H
#define SCR_TEST_HELPER_CFG_H

#include "helper_tmp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cfg/cfg.h"

struct test_cfg {
    struct scr_cfg *cfg;
    struct scr_env env;
    struct scr_log log;
    struct scr_err err;
    char *text;
    size_t n;
};

/* test_tmp()/prefix, made on first use. */
static inline const char *test_cfg_prefix(void)
{
    const char *path = test_path("prefix");
    (void)mkdir(path, 0700);
    return path;
}

/* A fresh configuration with SCR_PREFIX and these "NAME=value" strings, ended by NULL,
 * as its whole environment, and no system file. */
static inline void test_cfg_open(struct test_cfg *t, ...)
{
    char prefix[1200];
    char *envp[16] = { prefix };
    size_t n = 1;
    va_list ap;
    *t = (struct test_cfg){ .err = SCR_ERR_INIT };
    (void)snprintf(prefix, sizeof prefix, "SCR_PREFIX=%s", test_cfg_prefix());
    va_start(ap, t);
    for (char *s = va_arg(ap, char *); s != NULL; s = va_arg(ap, char *))
        envp[n++] = s;
    va_end(ap);
    t->log.out = open_memstream(&t->text, &t->n);
    t->log.who = "SCR";
    t->env.sys = &scr_sys_posix;
    t->env.log = &t->log;
    t->cfg = scr_cfg_new();
    assert_non_null(t->cfg);
    assert_int_equal(scr_cfg_set_system_file(t->cfg, NULL), SCR_OK);
    assert_int_equal(scr_cfg_set_environ(t->cfg, envp, &t->err), SCR_OK);
}

static inline const char *test_cfg_log(struct test_cfg *t)
{
    fflush(t->log.out);
    return t->text;
}

static inline void test_cfg_close(struct test_cfg *t)
{
    scr_cfg_free(t->cfg);
    fclose(t->log.out);
    free(t->text);
}

/* Writes a file below test_tmp(), "" removes it; returns its path. */
static inline const char *test_cfg_file(const char *name, const char *text)
{
    (void)test_cfg_prefix();
    const char *path = test_path("%s", name);
    if (text[0] == '\0')
        (void)remove(path);
    else
        test_put(path, text, strlen(text));
    return path;
}

static inline int test_cfg_load(struct test_cfg *t)
{
    return scr_cfg_load(&t->env, t->cfg, &t->err);
}

static inline int test_cfg_teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return 0;
}

#define assert_contains(text, part)                                                    \
    do {                                                                               \
        if (strstr((text), (part)) == NULL)                                            \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text));                       \
    } while (0)

#endif
