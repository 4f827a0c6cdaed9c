/* SPDX-License-Identifier: BSD-3-Clause */
/* A resource manager over settings of the test and the fake tools of
 * tests/fixtures/rm/<which>/bin.
 *
 *     struct test_rm m;
 *     test_rm_open(&m, "slurm", "SLURM_JOBID=1234", "SLURM_NODELIST=n[1-5]", NULL);
 *     … m.rm, m.t.err …
 *     test_rm_close(&m); */
#ifndef SCR_TEST_HELPER_RM_H
#define SCR_TEST_HELPER_RM_H

#include "helper_cfg.h"

#include "rm/rm.h"

#define TEST_RM_FIXTURES SCR_SOURCE_DIR "/tests/fixtures/rm"

struct test_rm {
    struct test_cfg t;
    struct scr_params prm;
    struct scr_rm rm;
    char path[2048]; /* PATH=… of the fake tools */
};

static inline int test_rm_try(struct test_rm *m, const char *which, const char *a,
                              const char *b, const char *c)
{
    (void)snprintf(m->path, sizeof m->path,
                   "PATH=" TEST_RM_FIXTURES "/%s/bin:/usr/bin:/bin", which);
    test_cfg_open(&m->t, m->path, "SCR_USER_NAME=user1",
                  a ? a : "A=", b ? b : "B=", c ? c : "C=", NULL);
    assert_int_equal(test_cfg_load(&m->t), SCR_OK);
    assert_int_equal(scr_cfg_params(m->t.cfg, &m->prm, &m->t.err), SCR_OK);
    return scr_rm_open(&m->t.env, m->t.cfg, &m->prm, &m->rm, &m->t.err);
}

static inline void test_rm_open(struct test_rm *m, const char *which, const char *a,
                                const char *b, const char *c)
{
    if (test_rm_try(m, which, a, b, c) != SCR_OK)
        fail_msg("%s", m->t.err.text);
}

static inline void test_rm_close(struct test_rm *m)
{
    scr_rm_close(&m->rm);
    test_cfg_close(&m->t);
}

#endif
