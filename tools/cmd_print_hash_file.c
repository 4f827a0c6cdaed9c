/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_print_hash_file, scr_print: any state file for people to read. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/io.h"
#include "red/redfile.h"
#include "tool.h"

enum { OPT_MODE, OPT_JSON };

static const struct scr_opt opts[] = {
    [OPT_MODE] = { "mode", 'm', "MODE",
                   "tree: every key on its own line; "
                   "keyval: \"key = value\" where a key has a single value (default)" },
    [OPT_JSON] = { "json", 'j', NULL, "print JSON" },
    { 0 },
};

/* --- reading --- */

enum { SMALL = 1 << 20 }; /* files up to this size are read whole */

/* Of a big file only the hash at its start is read, so that a redundancy file of any
 * size can be printed. *rest: bytes after the hash. */
static int read_hash(struct scr_tool *t, const char *path, scr_hash *h, uint64_t *rest,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st = { 0 };
    uint64_t used = 0;
    int rc = SCR_E_CORRUPT;
    *rest = 0;
    if (scr_file_stat(t->env.sys, path, &st, NULL) != SCR_OK || st.st_size <= SMALL)
        rc = scr_hash_file_read(t->env.sys, path, h, &why);
    if (rc != SCR_E_CORRUPT)
        return scr_err_take(err, rc, &why);
    struct scr_err of_red = SCR_ERR_INIT;
    rc = scr_redfile_read(&t->env, path, h, &used, &of_red);
    if (rc == SCR_OK)
        *rest = (uint64_t)st.st_size - used;
    else if (why.code == SCR_OK || rc == SCR_E_VERSION)
        rc = scr_err_take(err, rc, &of_red);
    else
        rc = scr_err_take(err, why.code, &why);
    return rc;
}

/* --- JSON --- */

/* The text of a value: the only key below, itself without anything below. Else NULL. */
static const char *value_of(const scr_hash *h)
{
    scr_hash_elem *e = scr_hash_elem_first(h);
    if (scr_hash_size(h) != 1 || scr_hash_size(scr_hash_elem_hash(e)) != 0)
        return NULL;
    return scr_hash_elem_key(e);
}

/* {"KEY": "value"} where there is a single value, {"KEY": {…}} elsewhere. NULL: no
 * memory. */
static json_t *hash_json(const scr_hash *h)
{
    json_t *object = json_object();
    for (SCR_HASH_EACH(e, h)) {
        const scr_hash *below = scr_hash_elem_hash(e);
        const char *value = value_of(below);
        char *key = scr_tool_utf8(scr_hash_elem_key(e));
        json_t *child = value ? scr_tool_json_text(value) : hash_json(below);
        int bad = key == NULL || json_object_set_new(object, key, child) != 0;
        free(key);
        if (bad) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* --- the command --- */

static int read_mode(struct scr_tool *t, const struct scr_args *a, int *is_tree,
                     struct scr_err *err)
{
    const char *mode = a->opt[OPT_MODE];
    *is_tree = mode != NULL && strcmp(mode, "tree") == 0;
    if (mode != NULL && !*is_tree && strcmp(mode, "keyval") != 0)
        return scr_tool_usage(t, err,
                              "option --mode: \"%s\" is neither tree nor keyval", mode);
    return SCR_OK;
}

static int print_file(struct scr_tool *t, const struct scr_args *a, const char *path,
                      int is_tree, int indent, struct scr_err *err)
{
    int is_json = a->opt[OPT_JSON] != NULL;
    uint64_t rest = 0;
    scr_hash *h = scr_hash_new();
    int rc = h ? read_hash(t, path, h, &rest, err) : scr_no_memory(err);
    if (rc == SCR_OK && is_json)
        rc = scr_tool_json(t, hash_json(h), err);
    else if (rc == SCR_OK)
        (is_tree ? scr_hash_fprint_tree : scr_hash_fprint)(t->out, h, indent);
    if (rc == SCR_OK && !is_json && rest > 0)
        scr_tool_print(t, "%*s# %llu bytes of data follow the hash\n", indent, "",
                       (unsigned long long)rest);
    scr_hash_delete(h);
    return rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    int many = a->noperands > 1, is_tree;
    if (a->opt[OPT_JSON] != NULL && many)
        return scr_tool_usage(t, err, "option --json takes one file");
    TRY(read_mode(t, a, &is_tree, err));
    for (int i = 0; i < a->noperands; i++) {
        if (many)
            scr_tool_print_line(t, "%s:", a->operand[i]);
        TRY(print_file(t, a, a->operand[i], is_tree, many ? 2 : 0, err));
    }
    return SCR_OK;
}

const struct scr_cmd scr_cmd_print_hash_file = {
    .usage = "[OPTION]... FILE...",
    .about =
        "Prints state files of SCR (*.scr, *.scrinfo, *.scrfilemap, rank2file,\n"
        "redundancy files) as a tree, two blanks a level; a key with a single value\n"
        "is printed as \"key = value\".",
    .opts = opts,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
