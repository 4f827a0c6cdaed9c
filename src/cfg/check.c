/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings about unknown names, and the checks of scr param --check. */
#include "cfg/check.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "cfg/desc.h"
#include "cfg/source.h"
#include "cfg/spec.h"

/* --- unknown names --- */

struct warner {
    const struct scr_env *env;
    struct scr_cfg *cfg;
    int count;
};

int scr_cfg_first_time(struct scr_cfg *cfg, const char *key, const char *name)
{
    if (scr_hash_get_kv(cfg->warned, key ? key : "", name) != NULL)
        return 0;
    (void)scr_hash_set_kv(cfg->warned, key ? key : "", name);
    return 1;
}

static void warn_unknown(struct warner *w, const char *key, const char *name,
                         const char *origin)
{
    if (!scr_cfg_first_time(w->cfg, key, name))
        return;
    const char *why = scr_spec_without(key ? key : "", name);
    const char *near = scr_spec_nearest(name, key);
    w->count++;
    if (why != NULL) {
        scr_log(w->env->log, SCR_LOG_WARN, "%s%s%s (%s) has no effect: %s", name,
                key ? " of " : "", key ? key : "", origin ? origin : "?", why);
        return;
    }
    scr_log(w->env->log, SCR_LOG_WARN, "unknown %s %s%s%s (%s)%s%s%s",
            key ? "child" : "parameter", name, key ? " of " : "", key ? key : "",
            origin ? origin : "?", near ? ": did you mean " : "", near ? near : "",
            near ? "?" : "; scr param --list shows the known ones");
}

/* A value of SCR 3.x: which one counts is worth a line. */
static void warn_instead(struct warner *w, const struct scr_spec *spec,
                         const char *text, const char *origin)
{
    const char *instead = spec && text ? scr_spec_instead(spec, text) : NULL;
    const char *key = spec && spec->parent ? spec->parent : "";
    if (instead == NULL || !scr_cfg_first_time(w->cfg, key, text))
        return;
    w->count++;
    scr_log(w->env->log, SCR_LOG_WARN, "%s%s%s=%s (%s) is not supported, %s is used",
            key, key[0] != '\0' ? " " : "", spec->name, text, origin ? origin : "?",
            instead);
}

static void warn_environ(struct warner *w)
{
    for (SCR_HASH_EACH(e, w->cfg->environ)) {
        const char *name = scr_hash_elem_key(e);
        if (strncmp(name, "SCR_", 4) != 0)
            continue;
        const struct scr_spec *spec = scr_spec_find(scr_spec_unalias(name));
        if (spec == NULL)
            warn_unknown(w, NULL, name, "environment");
        warn_instead(w, spec, scr_cfg_getenv(w->cfg, name), "environment");
    }
}

/* Children of GROUPS are names of groups, which are the user's. */
static void warn_children(struct warner *w, const char *key, const scr_hash *line)
{
    if (strcmp(key, "GROUPS") == 0)
        return;
    for (SCR_HASH_EACH(e, scr_cfg_line_children(line))) {
        const char *child = scr_hash_elem_key(e), *origin;
        const char *text = scr_cfg_line_get(line, child, &origin);
        if (scr_spec_child(key, child) == NULL)
            warn_unknown(w, key, child, origin);
        warn_instead(w, scr_spec_child(key, child), text, origin);
    }
}

static const char *origin_of(const scr_hash *source, const char *name)
{
    const char *origin = NULL;
    if (scr_source_get(source, name, &origin) != NULL)
        return origin;
    scr_hash_elem *line = scr_hash_elem_first(scr_source_lines(source, name));
    if (line != NULL)
        (void)scr_cfg_line_get(scr_hash_elem_hash(line), NULL, &origin);
    return origin;
}

static void warn_source(struct warner *w, const scr_hash *source)
{
    for (SCR_HASH_EACH(e, source)) {
        const char *name = scr_hash_elem_key(e);
        if (scr_spec_line(name) == NULL && scr_spec_find(name) == NULL) {
            if (origin_of(source, name) != NULL)
                warn_unknown(w, NULL, name, origin_of(source, name));
            continue;
        }
        const char *origin = NULL, *text = scr_source_get(source, name, &origin);
        warn_instead(w, scr_spec_find(name), text, origin);
        for (SCR_HASH_EACH(line, scr_source_lines(source, name)))
            warn_children(w, name, scr_hash_elem_hash(line));
    }
}

/* The writer of such lines expects them to count. */
static void warn_lines_without_file(struct warner *w)
{
    const char *type = scr_cfg_get(w->cfg, "SCR_COPY_TYPE"), *origin = NULL;
    scr_hash *lines = scr_cfg_lines(w->cfg, "CKPT");
    scr_hash_elem *first = scr_hash_elem_first(lines);
    if (first != NULL && type != NULL && strcasecmp(type, "FILE") != 0 &&
        scr_cfg_first_time(w->cfg, "SCR_COPY_TYPE", "CKPT")) {
        (void)scr_cfg_line_get(scr_hash_elem_hash(first), NULL, &origin);
        w->count++;
        scr_log(w->env->log, SCR_LOG_WARN,
                "CKPT lines (the first: %s) have no effect with SCR_COPY_TYPE=%s (%s): "
                "set SCR_COPY_TYPE=FILE",
                origin ? origin : "?", type, scr_cfg_origin(w->cfg, "SCR_COPY_TYPE"));
    }
    scr_hash_delete(lines);
}

int scr_cfg_warn(const struct scr_env *env, struct scr_cfg *cfg, int user_file_only)
{
    struct warner w = { env, cfg, 0 };
    if (!user_file_only)
        warn_environ(&w);
    warn_source(&w, cfg->source[SCR_CFG_USER]);
    if (!user_file_only) {
        warn_source(&w, cfg->source[SCR_CFG_APP]);
        warn_source(&w, cfg->source[SCR_CFG_SYSTEM]);
    }
    warn_lines_without_file(&w);
    return w.count;
}

/* --- values --- */

/* line: "CKPT=0 " before the name of a child, else "". */
static int check_value(const struct scr_env *env, const struct scr_spec *spec,
                       const char *line, const char *text, const char *origin)
{
    char expected[160];
    struct scr_value v;
    if (spec == NULL || text == NULL || scr_spec_parse(spec, text, &v))
        return 0;
    scr_log(env->log, SCR_LOG_ERROR, "%s%s=%s (%s): expected %s", line, spec->name,
            text, origin, scr_spec_expected(spec, expected, sizeof expected));
    return 1;
}

static int check_line(const struct scr_env *env, const char *key,
                      const scr_hash_elem *of)
{
    int errors = 0;
    const scr_hash *line = scr_hash_elem_hash(of);
    char *label = scr_asprintf("%s=%s ", key, scr_hash_elem_key(of));
    for (SCR_HASH_EACH(e, scr_cfg_line_children(line))) {
        const char *child = scr_hash_elem_key(e), *origin;
        const char *text = scr_cfg_line_get(line, child, &origin);
        errors += check_value(env, scr_spec_child(key, child), label ? label : "", text,
                              origin);
    }
    free(label);
    return errors;
}

int scr_cfg_check_values(const struct scr_env *env, const scr_hash *source)
{
    int errors = 0;
    for (SCR_HASH_EACH(e, source)) {
        const char *name = scr_hash_elem_key(e), *origin;
        const char *text = scr_source_get(source, name, &origin);
        errors += check_value(env, scr_spec_find(name), "", text, origin);
        for (SCR_HASH_EACH(line, scr_source_lines(source, name)))
            errors += check_line(env, name, line);
    }
    return errors;
}

/* --- descriptors --- */

int scr_cfg_check_descs(const struct scr_env *env, struct scr_cfg *cfg)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_params prm;
    struct scr_descs descs;
    int rc;
    TRY_OUT(scr_cfg_params(cfg, &prm, &err));
    TRY_OUT(scr_descs_build(cfg, &prm, &descs, &err));
    scr_descs_fini(&descs);
out:
    scr_log_err(env->log, &err);
    return rc != SCR_OK;
}
