/* SPDX-License-Identifier: BSD-3-Clause */
/* One source of settings as a hash. */
#include "cfg/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cfg/spec.h"

#define KEY_VALUE  "VALUE"
#define KEY_ORIGIN "ORIGIN"
#define KEY_LINE   "LINE"
#define KEY_CHILD  "CHILD"

char *scr_source_name(const char *name)
{
    char *copy = scr_conf_upper(name, strlen(name));
    if (copy == NULL)
        return NULL;
    const char *real = scr_spec_unalias(copy);
    if (real == copy)
        return copy;
    free(copy);
    return scr_strdup(real);
}

/* { VALUE, ORIGIN } under name; "" removes it. */
static int set_node(scr_hash *parent, const char *name, const char *value,
                    const char *origin, struct scr_err *err)
{
    if (value[0] == '\0') {
        (void)scr_hash_unset(parent, name);
        return SCR_OK;
    }
    scr_hash *node = scr_hash_set(parent, name, NULL);
    if (scr_hash_set_val(node, KEY_VALUE, value) == NULL ||
        scr_hash_set_val(node, KEY_ORIGIN, origin) == NULL)
        return scr_no_memory(err);
    return SCR_OK;
}

static const char *get_node(const scr_hash *node, const char **origin)
{
    if (origin != NULL)
        *origin = scr_hash_get_val(node, KEY_ORIGIN);
    return scr_hash_get_val(node, KEY_VALUE);
}

int scr_source_set(scr_hash *source, const char *given, const char *value,
                   const char *origin, struct scr_err *err)
{
    char *as_given = scr_conf_upper(given, strlen(given));
    char *name = scr_source_name(given);
    char *alias_origin = NULL;
    int rc = SCR_OK;
    if (as_given == NULL || name == NULL)
        rc = scr_no_memory(err);
    else if (strcmp(name, as_given) != 0) {
        alias_origin = scr_asprintf("%s, as %s", origin, as_given);
        rc = alias_origin ? SCR_OK : scr_no_memory(err);
    }
    if (rc == SCR_OK)
        rc = set_node(source, name, value, alias_origin ? alias_origin : origin, err);
    free(alias_origin);
    free(name);
    free(as_given);
    return rc;
}

const char *scr_source_get(const scr_hash *source, const char *name,
                           const char **origin)
{
    return get_node(scr_hash_get(source, name), origin);
}

/* --- lines --- */

static int check_line(const struct scr_conf_line *line, struct scr_err *err)
{
    const struct scr_conf_item *head = &line->item[0];
    if (head->value == NULL)
        return scr_fail(err, SCR_E_CONFIG, 0, "expected %s=VALUE", head->key);
    if (line->n > 1 && scr_spec_find(scr_spec_unalias(head->key)) != NULL)
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "%s takes one value; put %s on its own line (a value with "
                        "blanks needs quotes)",
                        head->key, line->item[1].key);
    for (size_t i = 1; i < line->n; i++)
        if (line->item[i].value == NULL)
            return scr_fail(err, SCR_E_CONFIG, 0, "expected %s=VALUE",
                            line->item[i].key);
    return SCR_OK;
}

static int add_children(scr_hash *node, const struct scr_conf_line *line,
                        const char *origin, struct scr_err *err)
{
    scr_hash *children = scr_hash_get(node, KEY_CHILD);
    if (children == NULL)
        children = scr_hash_set(node, KEY_CHILD, NULL);
    if (children == NULL || scr_hash_set_val(node, KEY_ORIGIN, origin) == NULL)
        return scr_no_memory(err);
    for (size_t i = 1; i < line->n; i++)
        TRY(set_node(children, line->item[i].key, line->item[i].value, origin, err));
    return SCR_OK;
}

static int add_line(scr_hash *source, const struct scr_conf_line *line,
                    const char *origin, struct scr_err *err)
{
    const struct scr_conf_item *head = &line->item[0];
    if (head->value[0] == '\0') {
        (void)scr_hash_unset(source, head->key);
        return SCR_OK;
    }
    scr_hash *key = scr_hash_get(source, head->key);
    if (key == NULL)
        key = scr_hash_set(source, head->key, NULL);
    scr_hash *node = scr_hash_get_kv(key, KEY_LINE, head->value);
    if (node == NULL)
        node = scr_hash_set_kv(key, KEY_LINE, head->value);
    return node ? add_children(node, line, origin, err) : scr_no_memory(err);
}

int scr_source_add(scr_hash *source, const struct scr_conf_line *line,
                   const char *origin, struct scr_err *err)
{
    TRY(check_line(line, err));
    const struct scr_conf_item *head = &line->item[0];
    if (line->n == 1 && scr_spec_line(head->key) == NULL)
        return scr_source_set(source, head->key, head->value, origin, err);
    return add_line(source, line, origin, err);
}

const scr_hash *scr_source_lines(const scr_hash *source, const char *key)
{
    return scr_hash_get(scr_hash_get(source, key), KEY_LINE);
}

const scr_hash *scr_cfg_line_children(const scr_hash *line)
{
    return scr_hash_get(line, KEY_CHILD);
}

const char *scr_source_lookup(const char *name, void *arg)
{
    const struct scr_cfg *cfg = arg;
    return scr_cfg_getenv(cfg, name);
}

/* --- lines after precedence --- */

const char *scr_cfg_line_get(const scr_hash *line, const char *child,
                             const char **origin)
{
    if (child != NULL)
        return get_node(scr_hash_get(scr_cfg_line_children(line), child), origin);
    if (origin != NULL)
        *origin = scr_hash_get_val(line, KEY_ORIGIN);
    return NULL;
}

/* Adds the lines of a source whose value no earlier source had. 1, or 0 (memory). */
static int add_new_lines(scr_hash *out, const scr_hash *lines)
{
    for (SCR_HASH_EACH(e, lines)) {
        const char *value = scr_hash_elem_key(e);
        if (scr_hash_get(out, value) != NULL)
            continue;
        scr_hash *copy = scr_hash_dup(scr_hash_elem_hash(e));
        if (copy == NULL || scr_hash_set(out, value, copy) == NULL)
            return 0;
    }
    return 1;
}

scr_hash *scr_cfg_lines(const struct scr_cfg *cfg, const char *key)
{
    scr_hash *out = scr_hash_new();
    int first_only = strcmp(key, "CKPT") == 0;
    for (int s = 0; s < SCR_CFG_NSOURCES && out != NULL; s++) {
        if (!add_new_lines(out, scr_source_lines(cfg->source[s], key))) {
            scr_hash_delete(out);
            return NULL;
        }
        if (first_only && scr_hash_size(out) > 0)
            break;
    }
    return out;
}

/* --- as text --- */

static void print_pair(struct scr_str *out, const char *key, const char *value)
{
    scr_str_printf(out, "%s=", key);
    scr_conf_quote(out, value);
}

/* A line of an unknown key whose children are all unset says nothing; alone it would be
 * read as the key's value. */
static void print_lines(struct scr_str *out, const char *key, const scr_hash *lines)
{
    int is_known = scr_spec_line(key) != NULL;
    for (SCR_HASH_EACH(line, lines)) {
        const scr_hash *children = scr_cfg_line_children(scr_hash_elem_hash(line));
        if (!is_known && scr_hash_size(children) == 0)
            continue;
        print_pair(out, key, scr_hash_elem_key(line));
        for (SCR_HASH_EACH(c, children)) {
            scr_str_append(out, " ");
            print_pair(out, scr_hash_elem_key(c),
                       get_node(scr_hash_elem_hash(c), NULL));
        }
        scr_str_append(out, "\n");
    }
}

void scr_source_print(struct scr_str *out, const scr_hash *source)
{
    for (SCR_HASH_EACH(e, source)) {
        const scr_hash *node = scr_hash_elem_hash(e);
        const char *value = get_node(node, NULL);
        if (value != NULL) {
            print_pair(out, scr_hash_elem_key(e), value);
            scr_str_append(out, "\n");
        }
        print_lines(out, scr_hash_elem_key(e), scr_hash_get(node, KEY_LINE));
    }
}
