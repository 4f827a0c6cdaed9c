/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_golden.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/str.h"

static int code_of(const char *name)
{
    static const struct {
        const char *start;
        int code;
    } codes[] = {
        { "good-", SCR_OK },
        { "plain-", SCR_OK },
        { "becomes-", SCR_OK },
        { "bad-corrupt-", SCR_E_CORRUPT },
        { "bad-version-", SCR_E_VERSION },
        { "bad-noent-", SCR_E_NOENT },
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strncmp(name, codes[i].start, strlen(codes[i].start)) == 0)
            return codes[i].code;
    fail_msg("golden file %s has a name without meaning", name);
    return -1;
}

size_t test_golden_each(const char *format, const char *start,
                        void (*each)(const struct test_golden *g, void *arg), void *arg)
{
    char **names, *dir = scr_asprintf("%s/%s", SCR_GOLDEN_DIR, format);
    size_t n, seen = 0;
    assert_int_equal(scr_dir_list(&scr_sys_posix, dir, &names, &n, NULL), SCR_OK);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(names[i], start, strlen(start)) != 0)
            continue;
        char *path = scr_asprintf("%s/%s", dir, names[i]);
        struct test_golden g = { names[i], path, NULL, 0, code_of(names[i]) };
        g.bytes = test_get(path, &g.n);
        each(&g, arg);
        free(g.bytes);
        free(path);
        seen++;
    }
    scr_names_free(names, n);
    free(dir);
    assert_true(seen > 0);
    return seen;
}
