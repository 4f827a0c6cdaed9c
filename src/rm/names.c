/* SPDX-License-Identifier: BSD-3-Clause */
/* Host lists with tables of their names and of the first labels of these. */
#include "rm/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "rm/rm_impl.h"

struct place {
    struct scr_item item;
    size_t at; /* of the first that is called so */
};

static int enter(struct scr_table *t, const char *name, size_t at)
{
    size_t before = t->n;
    struct place *p = scr_table_add(t, name);
    if (p != NULL && t->n > before)
        p->at = at;
    return p != NULL;
}

static int enter_label(struct scr_table *t, const char *name, size_t at)
{
    char *label = scr_asprintf("%.*s", (int)strcspn(name, "."), name);
    int ok = label != NULL && (*label == '\0' || enter(t, label, at));
    free(label);
    return ok;
}

static int enter_both(struct scr_rm_names *names, const char *name, size_t at,
                      struct scr_err *err)
{
    return enter(&names->name, name, at) && enter_label(&names->label, name, at)
               ? SCR_OK
               : scr_no_memory(err);
}

int scr_rm_names_init(struct scr_rm_names *names, const struct scr_hostlist *list,
                      struct scr_err *err)
{
    names->list = list;
    scr_table_init(&names->name, sizeof(struct place));
    scr_table_init(&names->label, sizeof(struct place));
    for (size_t i = 0; i < list->n; i++)
        TRY(enter_both(names, list->name[i], i, err));
    return SCR_OK;
}

void scr_rm_names_fini(struct scr_rm_names *names)
{
    scr_table_fini(&names->name);
    scr_table_fini(&names->label);
}

static size_t at(const struct scr_rm_names *names, const struct scr_table *t,
                 const char *name)
{
    const struct place *p = scr_table_find(t, name);
    return p != NULL ? p->at : names->list->n;
}

/* A name without a dot is any of that label; one with a dot is itself, or its label. */
size_t scr_rm_find(const struct scr_rm_names *names, const char *name)
{
    size_t label = strcspn(name, ".");
    if (name[label] == '\0')
        return at(names, &names->label, name);
    char alone[256];
    size_t self = at(names, &names->name, name), other = names->list->n;
    if (label > 0 && label < sizeof alone) { /* no host name is longer */
        memcpy(alone, name, label);
        alone[label] = '\0';
        other = at(names, &names->name, alone);
    }
    return self < other ? self : other;
}

const char *scr_rm_match(const struct scr_rm_names *names, const char *name)
{
    size_t i = scr_rm_find(names, name);
    return i < names->list->n ? names->list->name[i] : NULL;
}

/* --- adding --- */

int scr_rm_names_add(struct scr_rm_names *names, struct scr_hostlist *list,
                     const char *name, struct scr_err *err)
{
    if (scr_table_find(&names->name, name) != NULL)
        return SCR_OK;
    TRY(scr_hostlist_add(list, name, err));
    return enter_both(names, name, list->n - 1, err);
}

int scr_rm_add_nodes(struct scr_hostlist *list, const struct scr_hostlist *more,
                     struct scr_err *err)
{
    struct scr_rm_names names;
    int rc;
    TRY_OUT(scr_rm_names_init(&names, list, err));
    for (size_t i = 0; i < more->n; i++)
        TRY_OUT(scr_rm_names_add(&names, list, more->name[i], err));
out:
    scr_rm_names_fini(&names);
    return rc;
}

int scr_rm_add_words(struct scr_hostlist *list, char *text, struct scr_err *err)
{
    struct scr_rm_names names;
    int rc = scr_rm_names_init(&names, list, err);
    for (char *p = text; *p != '\0'; p++)
        *p = *p == '\n' ? ' ' : *p;
    for (char *word = scr_rm_word(&text); *word && rc == SCR_OK;
         word = scr_rm_word(&text))
        rc = scr_rm_names_add(&names, list, word, err);
    scr_rm_names_fini(&names);
    return rc;
}

/* --- names of nodes --- */

int scr_rm_check_names(const struct scr_hostlist *nodes, struct scr_err *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-.:%";
    for (size_t i = 0; i < nodes->n; i++) {
        const char *name = nodes->name[i];
        if (strspn(name, "-.:%") > 0 || strspn(name, plain) == 0 ||
            name[strspn(name, plain)] != '\0')
            return scr_fail(err, SCR_E_UNSAFE, 0, "\"%s\" is no name of a node", name);
    }
    return SCR_OK;
}
