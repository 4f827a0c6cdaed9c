/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_Config: one string that sets, unsets or queries. */
#include <string.h>

#include "base/str.h"
#include "cfg/source.h"
#include "cfg/spec.h"

#define APP_ORIGIN "SCR_Config"

/* A key alone asks for its value, and so does a last child without a value. */
static int is_query(const struct scr_conf_line *line)
{
    if (line->n == 1)
        return line->item[0].value == NULL;
    return line->n == 2 && line->item[0].value != NULL && line->item[1].value == NULL;
}

/* The value of the one line a key has. */
static int query_line(const struct scr_cfg *cfg, const char *key, char **reply,
                      struct scr_err *err)
{
    int rc = SCR_OK;
    scr_hash *lines = scr_cfg_lines(cfg, key);
    if (scr_hash_size(lines) > 1)
        rc = scr_fail(err, SCR_E_ARG, 0,
                      "%s has %zu values: ask for a child of one of them", key,
                      scr_hash_size(lines));
    else if (scr_hash_size(lines) == 1)
        *reply = scr_strdup(scr_hash_elem_key(scr_hash_elem_first(lines)));
    scr_hash_delete(lines);
    return rc;
}

static char *query_child(const struct scr_cfg *cfg, const struct scr_conf_line *line)
{
    scr_hash *lines = scr_cfg_lines(cfg, line->item[0].key);
    const scr_hash *node = scr_hash_get(lines, line->item[0].value);
    char *text = scr_strdup(scr_cfg_line_get(node, line->item[1].key, NULL));
    scr_hash_delete(lines);
    return text;
}

static int query(const struct scr_cfg *cfg, const struct scr_conf_line *line,
                 char **reply, struct scr_err *err)
{
    const char *key = line->item[0].key;
    if (line->n == 1 && scr_spec_line(key) != NULL)
        return query_line(cfg, key, reply, err);
    if (line->n == 2)
        *reply = query_child(cfg, line);
    else if (scr_cfg_is_set(cfg, key))
        *reply = scr_strdup(scr_cfg_get(cfg, key));
    return SCR_OK;
}

/* A library reads the environment at its start, after the settings. */
static const char *variable(const char *name, void *arg)
{
    const struct scr_cfg *cfg = arg;
    return scr_hash_size(cfg->environ) > 0 ? scr_cfg_getenv(cfg, name)
                                           : scr_cfg_process_getenv(name);
}

int scr_cfg_app(struct scr_cfg *cfg, const char *text, char **reply,
                struct scr_err *err)
{
    struct scr_conf_line line;
    *reply = NULL;
    if (text == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "SCR_Config: the string is NULL");
    struct scr_err cause = SCR_ERR_INIT;
    int rc = scr_conf_parse(text, strlen(text), variable, cfg, &line, &cause);
    if (rc == SCR_OK && line.n == 0)
        rc = scr_fail(&cause, SCR_E_ARG, 0, "nothing to set or query");
    else if (rc == SCR_OK && is_query(&line))
        rc = query(cfg, &line, reply, &cause);
    else if (rc == SCR_OK)
        rc = scr_source_add(cfg->source[SCR_CFG_APP], &line, APP_ORIGIN, &cause);
    scr_conf_line_free(&line);
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "SCR_Config(\"%.200s\"): %s", text, cause.text);
    return SCR_OK;
}

/* The kind of the call does not depend on the values of variables. */
static const char *any_value(const char *name, void *arg)
{
    (void)name, (void)arg;
    return "x";
}

int scr_cfg_app_is_query(const char *text)
{
    struct scr_conf_line line;
    if (text == NULL ||
        scr_conf_parse(text, strlen(text), any_value, NULL, &line, NULL) != SCR_OK)
        return 0;
    int yes = is_query(&line);
    scr_conf_line_free(&line);
    return yes;
}

char *scr_cfg_app_text(const struct scr_cfg *cfg)
{
    struct scr_str out = SCR_STR_INIT;
    scr_source_print(&out, cfg->source[SCR_CFG_APP]);
    return scr_str_take(&out);
}
