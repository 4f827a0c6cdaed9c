/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration files: which are read, and their lines as settings with an origin. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "cfg/check.h"
#include "cfg/derive.h"
#include "cfg/source.h"
#include "cfg/spec.h"

/* Bytes: the GROUPS lines of the largest machines fit many times. */
enum { MAX_FILE = 64 << 20 };

/* The mark that some editors put before UTF-8. */
enum { MARK_BYTES = 3 };
static const char byte_order_mark[] = "\xEF\xBB\xBF";

/* A file being read into a source. */
struct reader {
    const struct scr_env *env;
    struct scr_cfg *cfg;
    scr_hash *source;
    const char *path;
    int line;
    int own;     /* <prefix>/.scrconf, which cannot move the prefix it was found by */
    int saved;   /* app.conf, which may name the user file but not the prefix */
    int *errors; /* NULL: the first error ends it; else log and count them all */
    int warnings;
};

/* A setting that comes too late, because the file it is in was found by it; or names a
 * program, in a directory that others may write to. */
static int is_out_of_place(const struct reader *r, const char *key)
{
    const struct scr_spec *spec = scr_spec_find(key);
    if (strcmp(key, "SCR_PREFIX") == 0 || strcmp(key, "SCR_TRANSFER_PROGRAM") == 0)
        return r->own || r->saved;
    return spec != NULL && spec->who == SCR_WHO_EARLY && !r->saved;
}

/* --- settings that are probably not meant --- */

static void warn_of_mark(struct reader *r)
{
    if (!scr_cfg_first_time(r->cfg, "mark", r->path))
        return;
    r->warnings++;
    scr_log(
        r->env->log, SCR_LOG_WARN,
        "%s:1: begins with a byte order mark, which is skipped; save it without one",
        r->path);
}

/* CKPT=0 on an earlier line of the file: their children are put together. For GROUPS
 * that is a way to write it, a line a group. */
static void warn_of_same_line(struct reader *r, const struct scr_conf_item *head,
                              const char *origin)
{
    const char *before = NULL;
    const scr_hash *same =
        scr_hash_get(scr_source_lines(r->source, head->key), head->value);
    if (same == NULL || strcmp(head->key, "GROUPS") == 0 ||
        !scr_cfg_first_time(r->cfg, "line", origin))
        return;
    (void)scr_cfg_line_get(same, NULL, &before);
    r->warnings++;
    scr_log(
        r->env->log, SCR_LOG_WARN,
        "%s=%s (%s) was given before (%s): both apply, the later one takes precedence",
        head->key, head->value, origin, before ? before : "?");
}

static int is_repeated(const struct scr_conf_line *line, size_t i)
{
    for (size_t later = i + 1; later < line->n; later++)
        if (strcmp(line->item[i].key, line->item[later].key) == 0)
            return 1;
    return 0;
}

static void warn_of_same_child(struct reader *r, const struct scr_conf_line *line,
                               const char *origin)
{
    const struct scr_conf_item *head = &line->item[0];
    for (size_t i = 1; i < line->n; i++) {
        if (!is_repeated(line, i) || !scr_cfg_first_time(r->cfg, "child", origin))
            continue;
        r->warnings++;
        scr_log(r->env->log, SCR_LOG_WARN,
                "%s=%s (%s) has %s more than once: the last one is used", head->key,
                head->value, origin, line->item[i].key);
    }
}

/* app.conf is not looked at: a program may call SCR_Config as often as it likes. */
static void warn_of_repeats(struct reader *r, const struct scr_conf_line *line,
                            const char *origin)
{
    if (r->saved || line->item[0].value[0] == '\0')
        return;
    warn_of_same_line(r, &line->item[0], origin);
    warn_of_same_child(r, line, origin);
}

/* --- lines --- */

static int add_line(struct reader *r, const struct scr_conf_line *line,
                    const char *origin, struct scr_err *err)
{
    const char *key = line->item[0].key;
    if (line->item[0].value == NULL)
        return scr_fail(err, SCR_E_CONFIG, 0, "expected NAME=VALUE");
    if (!is_out_of_place(r, key)) {
        warn_of_repeats(r, line, origin);
        return scr_source_add(r->source, line, origin, err);
    }
    if (!r->saved)
        scr_log(r->env->log, SCR_LOG_WARN,
                "%s (%s) is ignored: it cannot be set in this file", key, origin);
    return SCR_OK;
}

static int read_line(struct reader *r, const char *text, size_t n, struct scr_err *err)
{
    struct scr_conf_line line;
    char *origin = scr_asprintf("%s:%d", r->path, r->line);
    TRY(origin ? SCR_OK : scr_no_memory(err));
    struct scr_err cause = SCR_ERR_INIT;
    int rc;
    TRY_OUT(scr_conf_parse(text, n, scr_source_lookup, r->cfg, &line, &cause));
    if (line.n > 0)
        TRY_OUT(add_line(r, &line, origin, &cause));
out:
    scr_conf_line_free(&line);
    if (rc != SCR_OK)
        (void)scr_fail(err, rc, 0, "%s: \"%.*s\": %s", origin, n > 200 ? 200 : (int)n,
                       text, cause.text);
    free(origin);
    return rc;
}

static int read_line_or_count(struct reader *r, const char *text, size_t n,
                              struct scr_err *err)
{
    struct scr_err one = SCR_ERR_INIT;
    if (r->errors == NULL)
        return read_line(r, text, n, err);
    if (read_line(r, text, n, &one) != SCR_OK) {
        scr_log_err(r->env->log, &one);
        ++*r->errors;
    }
    return SCR_OK;
}

static int read_lines(struct reader *r, const char *text, size_t n, struct scr_err *err)
{
    int rc = SCR_OK;
    const char *end = text + n;
    if (n >= MARK_BYTES && memcmp(text, byte_order_mark, MARK_BYTES) == 0) {
        warn_of_mark(r);
        text += MARK_BYTES;
    }
    for (r->line = 1; text < end && rc == SCR_OK; r->line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        rc = read_line_or_count(r, text, (size_t)(stop - text), err);
        text = newline ? newline + 1 : end;
    }
    return rc;
}

static int read_file(struct reader *r, struct scr_err *err)
{
    void *text = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_file_load(r->env->sys, r->path, MAX_FILE, &text, &n, err));
    TRY_OUT(read_lines(r, text, n, err));
out:
    free(text);
    return rc;
}

/* A missing file, or one below something that is no directory, says nothing. */
static int read_if_there(struct reader *r, struct scr_err *err)
{
    struct scr_err cause = SCR_ERR_INIT;
    int rc = read_file(r, &cause);
    if (rc == SCR_OK || cause.sys == ENOENT || cause.sys == ENOTDIR)
        return SCR_OK;
    return scr_err_take(err, rc, &cause);
}

/* --- the files --- */

static int read_system_file(const struct scr_env *env, struct scr_cfg *cfg,
                            struct scr_err *err)
{
    struct reader r = { .env = env,
                        .cfg = cfg,
                        .source = cfg->source[SCR_CFG_SYSTEM],
                        .path = cfg->system_file };
    return cfg->system_file ? read_if_there(&r, err) : SCR_OK;
}

static int read_named_file(struct reader *r, struct scr_err *err)
{
    struct scr_err cause = SCR_ERR_INIT;
    r->path = scr_cfg_get(r->cfg, "SCR_CONF_FILE");
    int rc = read_file(r, &cause);
    if (rc == SCR_E_NOENT)
        return scr_fail(err, SCR_E_CONFIG, 0, "SCR_CONF_FILE=%s (%s): no such file",
                        r->path, scr_cfg_origin(r->cfg, "SCR_CONF_FILE"));
    if (rc == SCR_E_UNSAFE)
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "SCR_CONF_FILE=%s (%s): not a regular file", r->path,
                        scr_cfg_origin(r->cfg, "SCR_CONF_FILE"));
    return scr_err_take(err, rc, &cause);
}

static int read_own_file(struct reader *r, struct scr_err *err)
{
    TRY(scr_cfg_derive_prefix(r->cfg, err));
    char *path = scr_path_join(r->cfg->prefix, ".scrconf");
    TRY(path ? SCR_OK : scr_no_memory(err));
    r->path = path;
    r->own = 1;
    int rc = read_if_there(r, err);
    free(path);
    return rc;
}

static int read_user_file(const struct scr_env *env, struct scr_cfg *cfg,
                          struct scr_err *err)
{
    struct reader r = { .env = env, .cfg = cfg, .source = cfg->source[SCR_CFG_USER] };
    if (scr_cfg_get(cfg, "SCR_CONF_FILE") != NULL)
        return read_named_file(&r, err);
    return read_own_file(&r, err);
}

int scr_cfg_load(const struct scr_env *env, struct scr_cfg *cfg, struct scr_err *err)
{
    scr_hash_unset_all(cfg->source[SCR_CFG_USER]);
    scr_hash_unset_all(cfg->source[SCR_CFG_SYSTEM]);
    TRY(scr_cfg_derive(cfg, err));
    TRY(read_system_file(env, cfg, err));
    TRY(read_user_file(env, cfg, err));
    TRY(scr_cfg_derive_prefix(cfg, err));
    (void)scr_cfg_warn(env, cfg, 0);
    return SCR_OK;
}

/* --- app.conf --- */

static int read_app_conf(const struct scr_env *env, struct scr_cfg *cfg, scr_hash *into,
                         struct scr_err *err)
{
    char *path = scr_path_join(cfg->prefix, ".scr/app.conf");
    if (path == NULL || into == NULL) {
        free(path);
        return scr_no_memory(err);
    }
    struct reader r = {
        .env = env, .cfg = cfg, .source = into, .path = path, .saved = 1
    };
    int rc = read_if_there(&r, err);
    free(path);
    return rc;
}

int scr_cfg_load_app_conf(const struct scr_env *env, struct scr_cfg *cfg,
                          struct scr_err *err)
{
    TRY(cfg->prefix ? SCR_OK : scr_cfg_derive_prefix(cfg, err));
    scr_hash *settings = scr_hash_new();
    int rc = read_app_conf(env, cfg, settings, err);
    if (rc != SCR_OK) {
        scr_hash_delete(settings);
        return rc;
    }
    scr_hash_delete(cfg->source[SCR_CFG_APP]);
    cfg->source[SCR_CFG_APP] = settings;
    int names_user_file =
        scr_source_get(cfg->source[SCR_CFG_ENV], "SCR_CONF_FILE", NULL) == NULL &&
        scr_source_get(settings, "SCR_CONF_FILE", NULL) != NULL;
    return names_user_file ? scr_cfg_load(env, cfg, err) : SCR_OK;
}

/* --- scr param --check --- */

int scr_cfg_check_file(const struct scr_env *env, struct scr_cfg *cfg, const char *path,
                       int *errors, int *warnings, struct scr_err *err)
{
    struct reader r = { .env = env,
                        .cfg = cfg,
                        .source = cfg->source[SCR_CFG_USER],
                        .path = path,
                        .errors = errors };
    *errors = 0;
    *warnings = 0;
    scr_hash_unset_all(cfg->source[SCR_CFG_ENV]); /* the file alone is looked at */
    TRY(read_file(&r, err));
    *errors += scr_cfg_check_values(env, cfg->source[SCR_CFG_USER]);
    *warnings = r.warnings + scr_cfg_warn(env, cfg, 1);
    if (*errors > 0)
        return SCR_OK;
    /* A user's CKPT line may name a store or group of the system file. */
    TRY(read_system_file(env, cfg, err));
    *errors = scr_cfg_check_descs(env, cfg);
    return SCR_OK;
}
