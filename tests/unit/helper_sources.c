/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_sources.h"

void app(struct test_cfg *t, const char *text)
{
    char *reply;
    assert_int_equal(scr_cfg_app(t->cfg, text, &reply, &t->err), SCR_OK);
    assert_null(reply);
}
