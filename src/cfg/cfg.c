/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration object: its life, values after precedence, form for a broadcast. */
#include "cfg/cfg.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cfg/derive.h"
#include "cfg/source.h"
#include "cfg/spec.h"

#ifndef SCR_CONFIG_FILE
#define SCR_CONFIG_FILE "/etc/scr/scr.conf"
#endif

struct scr_cfg *scr_cfg_new(void)
{
    struct scr_cfg *cfg = scr_calloc(1, sizeof *cfg);
    if (cfg == NULL)
        return NULL;
    cfg->environ = scr_hash_new();
    cfg->warned = scr_hash_new();
    cfg->system_file = scr_strdup(SCR_CONFIG_FILE);
    int ok = cfg->environ && cfg->warned && cfg->system_file;
    for (int s = 0; s < SCR_CFG_NSOURCES; s++) {
        cfg->source[s] = scr_hash_new();
        ok = ok && cfg->source[s] != NULL;
    }
    if (ok)
        return cfg;
    scr_cfg_free(cfg);
    return NULL;
}

void scr_cfg_free(struct scr_cfg *cfg)
{
    if (cfg == NULL)
        return;
    for (int s = 0; s < SCR_CFG_NSOURCES; s++)
        scr_hash_delete(cfg->source[s]);
    scr_hash_delete(cfg->environ);
    scr_hash_delete(cfg->warned);
    free(cfg->system_file);
    free(cfg->prefix);
    free(cfg);
}

int scr_cfg_set_system_file(struct scr_cfg *cfg, const char *path)
{
    char *copy = scr_strdup(path);
    if (path != NULL && copy == NULL)
        return SCR_E_NOMEM;
    free(cfg->system_file);
    cfg->system_file = copy;
    return SCR_OK;
}

/* --- environment --- */

/* "NAME=value": the first of a name counts, as in getenv. */
static int keep_variable(struct scr_cfg *cfg, const char *text, struct scr_err *err)
{
    const char *eq = strchr(text, '=');
    if (eq == NULL || eq == text)
        return SCR_OK;
    char *name = scr_asprintf("%.*s", (int)(eq - text), text);
    int rc;
    TRY_OUT(name ? SCR_OK : scr_no_memory(err));
    if (scr_hash_get(cfg->environ, name) == NULL &&
        scr_hash_set_val(cfg->environ, name, eq + 1) == NULL)
        TRY_OUT(scr_no_memory(err));
out:
    free(name);
    return rc;
}

/* A parameter under its own name wins over the same one under an alias. */
static int take_parameter(struct scr_cfg *cfg, const char *name, const char *value,
                          struct scr_err *err)
{
    const char *real = scr_spec_unalias(name);
    if (scr_spec_find(real) == NULL)
        return SCR_OK;
    const char *own = real == name ? NULL : scr_cfg_getenv(cfg, real);
    if (own != NULL && own[0] != '\0')
        return SCR_OK;
    return scr_source_set(cfg->source[SCR_CFG_ENV], name, value, "environment", err);
}

int scr_cfg_set_environ(struct scr_cfg *cfg, char *const *envp, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; envp != NULL && envp[i] != NULL && rc == SCR_OK; i++)
        rc = keep_variable(cfg, envp[i], err);
    for (SCR_HASH_EACH(e, cfg->environ)) {
        const char *name = scr_hash_elem_key(e);
        if (rc == SCR_OK && strncmp(name, "SCR_", 4) == 0)
            rc = take_parameter(cfg, name, scr_cfg_getenv(cfg, name), err);
    }
    return rc == SCR_OK ? scr_cfg_derive(cfg, err) : rc;
}

int scr_cfg_override(struct scr_cfg *cfg, const char *name, const char *value,
                     const char *origin, struct scr_err *err)
{
    return scr_source_set(cfg->source[SCR_CFG_ENV], name, value, origin, err);
}

const char *scr_cfg_getenv(const struct scr_cfg *cfg, const char *name)
{
    return scr_hash_get_val(cfg->environ, name);
}

/* --- values --- */

static const char *default_of(const struct scr_cfg *cfg, const char *name,
                              const char **origin)
{
    const char *value = scr_source_get(cfg->source[SCR_CFG_DEFAULT], name, origin);
    const struct scr_spec *spec = scr_spec_find(name);
    if (value != NULL || spec == NULL || spec->def == NULL)
        return value;
    *origin = "default";
    return spec->def;
}

static const char *get_from(const struct scr_cfg *cfg, const char *name, int source,
                            const char **origin)
{
    if (source == SCR_CFG_DEFAULT)
        return default_of(cfg, name, origin);
    return scr_source_get(cfg->source[source], name, origin);
}

const char *scr_cfg_get_from(const struct scr_cfg *cfg, const char *name,
                             enum scr_cfg_source source, const char **origin)
{
    const char *where = NULL;
    /* In capital letters, as SCR asks, a name costs no memory: where that is short, a
     * parameter would look as if it were not set. */
    int small = strpbrk(name, "abcdefghijklmnopqrstuvwxyz") != NULL;
    char *own = small ? scr_source_name(name) : NULL;
    const char *stored = small ? own : scr_spec_unalias(name);
    const char *value = stored ? get_from(cfg, stored, (int)source, &where) : NULL;
    free(own);
    if (origin != NULL)
        *origin = value ? where : NULL;
    return value;
}

static const char *winner(const struct scr_cfg *cfg, const char *name,
                          const char **origin)
{
    for (int s = 0; s < SCR_CFG_NSOURCES; s++) {
        const char *value = scr_cfg_get_from(cfg, name, (enum scr_cfg_source)s, origin);
        if (value != NULL)
            return value;
    }
    return NULL;
}

const char *scr_cfg_get(const struct scr_cfg *cfg, const char *name)
{
    const char *origin;
    return winner(cfg, name, &origin);
}

const char *scr_cfg_origin(const struct scr_cfg *cfg, const char *name)
{
    const char *origin = NULL;
    (void)winner(cfg, name, &origin);
    return origin;
}

int scr_cfg_is_set(const struct scr_cfg *cfg, const char *name)
{
    int is_set = 0;
    for (int s = 0; s < SCR_CFG_DEFAULT && !is_set; s++)
        is_set = scr_cfg_get_from(cfg, name, (enum scr_cfg_source)s, NULL) != NULL;
    return is_set;
}

/* --- the struct of typed values --- */

static void store_text(const struct scr_spec *spec, struct scr_params *out,
                       const char *text)
{
    memcpy((char *)out + spec->offset, &text, sizeof text);
}

static void store_value(const struct scr_spec *spec, struct scr_params *out,
                        const char *text, const struct scr_value *v)
{
    char *member = (char *)out + spec->offset;
    switch (spec->type) {
    case SCR_TYPE_BOOL:
    case SCR_TYPE_INT:
        memcpy(member, &v->i, sizeof v->i);
        break;
    case SCR_TYPE_SIZE:
        memcpy(member, &v->u, sizeof v->u);
        break;
    case SCR_TYPE_SECONDS:
    case SCR_TYPE_DOUBLE:
        memcpy(member, &v->d, sizeof v->d);
        break;
    case SCR_TYPE_ENUM:
        memcpy((char *)out + spec->id_offset, &v->id, sizeof v->id);
        store_text(spec, out, text);
        break;
    case SCR_TYPE_STR:
        store_text(spec, out, text);
        break;
    case SCR_TYPE_SECTION:
        break;
    }
}

static int convert(const struct scr_cfg *cfg, const struct scr_spec *spec,
                   struct scr_params *out, struct scr_err *err)
{
    char expected[160];
    struct scr_value v;
    const char *origin = NULL;
    const char *text = winner(cfg, spec->name, &origin);
    if (text == NULL)
        return SCR_OK;
    if (!scr_spec_parse(spec, text, &v))
        return scr_fail(err, SCR_E_CONFIG, 0, "%s=%s (%s): expected %s", spec->name,
                        text, origin,
                        scr_spec_expected(spec, expected, sizeof expected));
    store_value(spec, out, text, &v);
    return SCR_OK;
}

int scr_cfg_params(const struct scr_cfg *cfg, struct scr_params *out,
                   struct scr_err *err)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < scr_nspecs; i++) {
        if (scr_specs[i].type == SCR_TYPE_SECTION)
            continue;
        TRY(convert(cfg, &scr_specs[i], out, err));
    }
    if (cfg->prefix != NULL)
        out->prefix = cfg->prefix;
    return SCR_OK;
}

/* --- between ranks --- */

static const char *const source_keys[SCR_CFG_NSOURCES] = { "ENV", "USER", "APP",
                                                           "SYSTEM", "DEFAULT" };

int scr_cfg_pack(const struct scr_cfg *cfg, scr_hash *out, struct scr_err *err)
{
    for (int s = 0; s < SCR_CFG_NSOURCES; s++) {
        scr_hash *copy = scr_hash_dup(cfg->source[s]);
        if (copy == NULL || scr_hash_set(out, source_keys[s], copy) == NULL)
            return scr_no_memory(err);
    }
    if (cfg->prefix != NULL && scr_hash_set_val(out, "PREFIX", cfg->prefix) == NULL)
        return scr_no_memory(err);
    return SCR_OK;
}

static int check_packed(const scr_hash *in, struct scr_err *err)
{
    for (int s = 0; s < SCR_CFG_NSOURCES; s++)
        if (scr_hash_get(in, source_keys[s]) == NULL)
            return scr_fail(err, SCR_E_CORRUPT, 0,
                            "packed configuration: %s is missing", source_keys[s]);
    return SCR_OK;
}

int scr_cfg_unpack(struct scr_cfg *cfg, const scr_hash *in, struct scr_err *err)
{
    int rc = check_packed(in, err);
    for (int s = 0; s < SCR_CFG_NSOURCES && rc == SCR_OK; s++) {
        scr_hash *copy = scr_hash_dup(scr_hash_get(in, source_keys[s]));
        TRY(copy ? SCR_OK : scr_no_memory(err));
        scr_hash_delete(cfg->source[s]);
        cfg->source[s] = copy;
    }
    const char *prefix = scr_hash_get_val(in, "PREFIX");
    if (rc != SCR_OK || prefix == NULL)
        return rc;
    free(cfg->prefix);
    cfg->prefix = scr_strdup(prefix);
    return cfg->prefix ? SCR_OK : scr_no_memory(err);
}
