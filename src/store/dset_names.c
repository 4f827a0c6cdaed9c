/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of dataset directories, and of files in them. */
#include "store/dset_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/str.h"
#include "ec/ec.h"

#define PREFIX "scr.dataset."

char *scr_dset_path(const char *dir, int id)
{
    return scr_asprintf("%s/" PREFIX "%d", strcmp(dir, "/") == 0 ? "" : dir, id);
}

int scr_dset_id(const char *name)
{
    const size_t skip = sizeof PREFIX - 1;
    int id;
    if (strncmp(name, PREFIX, skip) != 0 || name[skip] < '1' || name[skip] > '9')
        return -1;
    return scr_parse_int(name + skip, &id) ? id : -1;
}

int scr_dset_ids(const struct scr_env *env, const char *dir, int **ids, size_t *n,
                 struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char **names;
    size_t nnames;
    *ids = NULL;
    *n = 0;
    int rc = scr_dir_list(env->sys, dir, &names, &nnames, &why);
    if (rc == SCR_E_NOENT)
        return SCR_OK;
    TRY(scr_err_take(err, rc, &why));
    *ids = scr_calloc(nnames, sizeof **ids);
    for (size_t i = 0; *ids != NULL && i < nnames; i++) {
        int id = scr_dset_id(names[i]);
        if (id > 0)
            (*ids)[(*n)++] = id;
    }
    scr_names_free(names, nnames);
    TRY(*ids ? SCR_OK : scr_no_memory(err));
    qsort(*ids, *n, sizeof **ids, scr_by_int);
    return SCR_OK;
}

/* --- files of a scavenge --- */

int scr_map_rank(const char *name)
{
    const char *end;
    int rank = scr_parse_front(name, &end);
    return strcmp(end, SCR_MAP_SUFFIX) == 0 ? rank : -1;
}

/* --- redundancy files --- */

static const enum scr_scheme schemes[] = { SCR_SCHEME_SINGLE, SCR_SCHEME_PARTNER,
                                           SCR_SCHEME_XOR, SCR_SCHEME_RS };
enum { NSCHEMES = sizeof schemes / sizeof schemes[0] };

static const char *suffix_of(enum scr_scheme s)
{
    return s == SCR_SCHEME_SINGLE ? "single" : scr_scheme_suffix(s);
}

char *scr_redfile_name(enum scr_scheme s, int member, int n, int set_id)
{
    return scr_asprintf("%d_of_%d_in_%d.%s", member + 1, n, set_id, suffix_of(s));
}

/* A number as it is printed: no sign, no leading zero, at most nine digits. */
static int take_number(const char **p, int *out)
{
    size_t digits = strspn(*p, "0123456789");
    if (digits < 1 || digits > 9 || (**p == '0' && digits > 1))
        return 0;
    *out = 0;
    for (; digits > 0; digits--, (*p)++)
        *out = *out * 10 + (**p - '0');
    return 1;
}

static int take_word(const char **p, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*p, word, n) != 0)
        return 0;
    *p += n;
    return 1;
}

int scr_redfile_parse(const char *name, enum scr_scheme *s, int *member, int *n,
                      int *set_id)
{
    int m;
    if (!take_number(&name, &m) || !take_word(&name, "_of_") ||
        !take_number(&name, n) || !take_word(&name, "_in_") ||
        !take_number(&name, set_id) || !take_word(&name, "."))
        return 0;
    if (m < 1 || m > *n || *n > SCR_EC_MAX)
        return 0;
    *member = m - 1;
    for (int i = 0; i < NSCHEMES; i++) {
        if (strcmp(name, suffix_of(schemes[i])) == 0) {
            *s = schemes[i];
            return 1;
        }
    }
    return 0;
}
