/* SPDX-License-Identifier: BSD-3-Clause */
/* The prefix directory and the transactions on its state files. */
#include "store/prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/str.h"
#include "store/names.h"

enum {
    LOCK_TIMEOUT_MS =
        30000,       /* commands and the job hold these locks for milliseconds */
    DIR_MODE = 0777, /* cut by the umask: the prefix is the user's to share */
    FILE_MODE = 0666,
    STATE_MAX = 1 << 30, /* bytes of a state file that are read */
    ASIDE_MAX = 10000    /* damaged files kept of one name */
};

/* --- the directory --- */

/* A file that comes and goes: an unwritable prefix is found before the first
 * checkpoint. */
static int try_write(const struct scr_env *env, const struct scr_prefix *p,
                     struct scr_err *err)
{
    int fd = -1;
    char *probe = scr_asprintf("%s/.probe.%ld", p->scr, (long)getpid());
    if (probe == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "prefix %s: out of memory", p->path);
    int rc = scr_open(env->sys, probe, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, &fd, err);
    if (rc == SCR_OK)
        rc = scr_close(env->sys, &fd, probe, err);
    if (rc == SCR_OK)
        rc = scr_file_remove(env->sys, probe, err);
    free(probe);
    return rc;
}

/* Checks and makes what scr_prefix_open promises. */
static int prefix_check(const struct scr_env *env, const struct scr_prefix *p,
                        int create, struct scr_err *err)
{
    int rc = scr_dir_make_private(env->sys, p->path, "", 0, err);
    if (rc != SCR_OK) {
        scr_err_prefix(err, "prefix");
        return rc;
    }
    if (!create)
        return SCR_OK;
    if ((rc = scr_dir_make(env->sys, p->scr, DIR_MODE, err)) == SCR_OK)
        rc = try_write(env, p, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "prefix is not writable");
    return rc;
}

int scr_prefix_open(const struct scr_env *env, const char *path, int create,
                    struct scr_prefix *p, struct scr_err *err)
{
    *p = (struct scr_prefix){ 0 };
    if (path == NULL || *path == '\0')
        return scr_fail(err, SCR_E_ARG, 0, "prefix directory: empty path");
    char *cwd = NULL;
    int rc = *path == '/' ? SCR_OK : scr_cwd(&cwd, err);
    if (rc != SCR_OK)
        return rc;
    p->path = scr_path_join(cwd ? cwd : "/", path);
    p->scr = p->path ? scr_path_join(p->path, ".scr") : NULL;
    free(cwd);
    if (p->scr == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "prefix directory %s: out of memory", path);
    else
        rc = prefix_check(env, p, create, err);
    if (rc != SCR_OK)
        scr_prefix_fini(p);
    return rc;
}

void scr_prefix_fini(struct scr_prefix *p)
{
    free(p->path);
    free(p->scr);
    *p = (struct scr_prefix){ 0 };
}

char *scr_prefix_file(const struct scr_prefix *p, const char *name)
{
    return scr_path_join(p->scr, name);
}

char *scr_prefix_dset_dir(const struct scr_prefix *p, int id)
{
    return scr_dset_path(p->scr, id);
}

int scr_prefix_max_dset_dir(const struct scr_env *env, const struct scr_prefix *p,
                            int *max, struct scr_err *err)
{
    int *ids;
    size_t n;
    int rc = scr_dset_ids(env, p->scr, &ids, &n, err);
    *max = rc == SCR_OK && n > 0 ? ids[n - 1] : 0;
    free(ids);
    return rc;
}

/* --- one state file, from lock to unlock --- */

/* What a damaged or lost file means. */
static const struct traits {
    const char *name;
    enum scr_durability how;
    int may_start_anew; /* can be given again, so a damaged one must not stop a job */
} state_traits[] = {
    { "halt.scr", SCR_DURABLE, 1 },
    /* Tells of what is in cache and dies with it: a checkpoint does not wait for the
     * parallel file system to sync it. */
    { "flush.scr", SCR_VOLATILE, 1 },
    { "nodes.scr", SCR_VOLATILE, 1 },
    { NULL, SCR_DURABLE, 0 },
};

static const struct traits *traits_of(const char *name)
{
    const struct traits *t = state_traits;
    while (t->name != NULL && strcmp(t->name, name) != 0)
        t++;
    return t;
}

struct state {
    const struct scr_env *env;
    const struct scr_prefix *p;
    const char *name;
    char *path;
    struct scr_lock lock;
    void *bytes; /* as found; NULL if the file is absent */
    size_t nbytes;
    scr_hash *h;
};

static int state_no_memory(const struct state *s, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "%s/%s: out of memory", s->p->scr, s->name);
}

static int state_init(struct state *s, const struct scr_env *env,
                      const struct scr_prefix *p, const char *name, struct scr_err *err)
{
    *s = (struct state){ .env = env, .p = p, .name = name, .lock = SCR_LOCK_INIT };
    s->path = scr_prefix_file(p, name);
    s->h = scr_hash_new();
    return s->path != NULL && s->h != NULL ? SCR_OK : state_no_memory(s, err);
}

static void state_fini(struct state *s)
{
    scr_lock_release(s->env->sys, &s->lock);
    scr_hash_delete(s->h);
    free(s->bytes);
    free(s->path);
}

static int state_lock(struct state *s, struct scr_err *err)
{
    char *path = scr_asprintf("%s.lock", s->path);
    if (path == NULL)
        return state_no_memory(s, err);
    int rc = scr_lock_acquire(s->env->sys, path, LOCK_TIMEOUT_MS, &s->lock, err);
    free(path);
    return rc;
}

/* The bytes, and the hash in them. SCR_E_CORRUPT: s->bytes is what was found. */
static int state_load(struct state *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc =
        scr_file_load(s->env->sys, s->path, STATE_MAX, &s->bytes, &s->nbytes, &why);
    if (rc == SCR_E_NOENT)
        return SCR_OK;
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "%s", why.text);
    rc = scr_hash_decode(s->bytes, s->nbytes, s->h, NULL, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "%s", s->path);
    return rc;
}

static int state_write(struct state *s, struct scr_err *err)
{
    return scr_hash_file_write(s->env->sys, s->path, s->h, traits_of(s->name)->how,
                               err);
}

/* Copies what was found to "<name>.damaged.<n>". A copy, not a rename: until the
 * repaired file is in place a crash must leave the damaged one, for the next reader to
 * repair. */
static int state_keep_aside(struct state *s, const char *cause, struct scr_err *err)
{
    for (int n = 1; n <= ASIDE_MAX; n++) {
        struct stat st;
        char *aside = scr_asprintf("%s.damaged.%d", s->path, n);
        if (aside == NULL)
            return state_no_memory(s, err);
        int rc = scr_file_stat(s->env->sys, aside, &st, NULL);
        if (rc == SCR_OK) {
            free(aside);
            continue;
        }
        rc = scr_file_replace(s->env->sys, aside, s->bytes, s->nbytes, FILE_MODE,
                              SCR_DURABLE, err);
        if (rc == SCR_OK)
            scr_log(s->env->log, SCR_LOG_WARN, "%s; kept aside as %s", cause, aside);
        free(aside);
        return rc;
    }
    return scr_fail(err, SCR_E_EXIST, 0,
                    "%s.damaged.%d is there already: remove old ones", s->path,
                    ASIDE_MAX);
}

static int state_edit(struct state *s, scr_hash_edit edit, void *arg,
                      struct scr_err *err)
{
    int changed = 0;
    int rc = edit(s->h, arg, &changed, err);
    if (rc != SCR_OK || !changed)
        return rc;
    return scr_hash_ok(s->h) ? state_write(s, err) : state_no_memory(s, err);
}

/* --- the index --- */

/* When the summary was written, which is when the dataset was flushed. */
static time_t summary_time(const struct scr_env *env, const struct scr_prefix *p,
                           int id)
{
    struct stat st = { 0 };
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_path_join(dir, "summary.scr") : NULL;
    if (path != NULL && scr_file_stat(env->sys, path, &st, NULL) != SCR_OK)
        st.st_mtime = 0;
    free(path);
    free(dir);
    return st.st_mtime;
}

static int rebuild_add(struct state *s, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int complete = 0;
    scr_hash *dset = scr_hash_new();
    int rc = scr_prefix_summary_read(s->env, s->p, id, &complete, dset, &why);
    if (rc == SCR_OK)
        rc = scr_index_add(s->h, dset, complete, summary_time(s->env, s->p, id));
    scr_hash_delete(dset);
    if (rc == SCR_OK)
        return SCR_OK;
    if (rc == SCR_E_NOMEM)
        return state_no_memory(s, err);
    /* What cannot be read now may be good: better no index than one that forgot it. */
    if (rc == SCR_E_IO)
        return scr_fail(err, rc, 0, "%s", why.text);
    scr_log(
        s->env->log, SCR_LOG_WARN,
        "%s; to put dataset %d back into the index: scr_index --prefix %s --build %d",
        why.text, id, s->p->path, id);
    return SCR_OK;
}

/* Fills s->h anew from the summaries, oldest first, and makes the newest one current.
 */
static int rebuild(struct state *s, struct scr_err *err)
{
    struct scr_index_entry e;
    int *ids;
    size_t n;
    int rc = scr_dset_ids(s->env, s->p->scr, &ids, &n, err);
    scr_hash_unset_all(s->h);
    if (rc == SCR_OK)
        rc = scr_index_normal(s->h, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = rebuild_add(s, ids[i], err);
    free(ids);
    int newest = scr_index_newest(s->h, 0);
    if (rc == SCR_OK && newest > 0 && scr_index_get(s->h, newest, &e, NULL) == SCR_OK)
        rc = scr_index_set_current(s->h, e.dset.name);
    return rc;
}

/* Loads index.scr into s->h. SCR_E_CORRUPT: it is to be rebuilt. */
static int index_load(struct state *s, struct scr_err *err)
{
    int rc = state_load(s, err);
    if (rc != SCR_OK)
        return rc;
    if (s->bytes != NULL && s->nbytes == 0)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s is empty", s->path);
    if ((rc = scr_index_normal(s->h, err)) != SCR_OK)
        scr_err_prefix(err, "%s", s->path);
    return rc;
}

/* Under the lock: loads the index, and repairs it on disk if it must be. */
static int index_load_mended(struct state *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = index_load(s, &why);
    if (rc == SCR_OK)
        return SCR_OK;
    if (rc != SCR_E_CORRUPT)
        return scr_fail(err, rc, 0, "%s", why.text);
    if ((rc = state_keep_aside(s, why.text, err)) != SCR_OK ||
        (rc = rebuild(s, err)) != SCR_OK || (rc = state_write(s, err)) != SCR_OK)
        return rc;
    scr_log(s->env->log, SCR_LOG_WARN,
            "%s: rebuilt from the dataset directories beside it", s->path);
    return SCR_OK;
}

static int index_transaction(const struct scr_env *env, const struct scr_prefix *p,
                             scr_hash_edit edit, void *arg, struct scr_err *err)
{
    struct state s;
    int rc = state_init(&s, env, p, "index.scr", err);
    if (rc == SCR_OK && (rc = state_lock(&s, err)) == SCR_OK &&
        (rc = index_load_mended(&s, err)) == SCR_OK)
        rc = state_edit(&s, edit, arg, err);
    state_fini(&s);
    return rc;
}

int scr_prefix_index_update(const struct scr_env *env, const struct scr_prefix *p,
                            scr_hash_edit edit, void *arg, struct scr_err *err)
{
    return index_transaction(env, p, edit, arg, err);
}

static int copy_out(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)changed;
    if (scr_hash_merge(arg, h) == SCR_OK)
        return SCR_OK;
    return scr_fail(err, SCR_E_NOMEM, 0, "index: out of memory");
}

int scr_prefix_index_read(const struct scr_env *env, const struct scr_prefix *p,
                          scr_hash *index, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct state s;
    int changed;
    int rc = state_init(&s, env, p, "index.scr", &why);
    if (rc == SCR_OK && (rc = index_load(&s, &why)) == SCR_OK)
        rc = copy_out(s.h, index, &changed, &why);
    state_fini(&s);
    if (rc == SCR_E_CORRUPT)
        return index_transaction(env, p, copy_out, index, err);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
}

/* --- the other state files --- */

int scr_prefix_state_read(const struct scr_env *env, const struct scr_prefix *p,
                          const char *name, scr_hash *h, struct scr_err *err)
{
    struct state s;
    int changed;
    int rc = state_init(&s, env, p, name, err);
    if (rc == SCR_OK && (rc = state_load(&s, err)) == SCR_OK)
        rc = copy_out(s.h, h, &changed, err);
    state_fini(&s);
    return rc;
}

int scr_prefix_state_update(const struct scr_env *env, const struct scr_prefix *p,
                            const char *name, scr_hash_edit edit, void *arg,
                            struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct state s;
    int rc = state_init(&s, env, p, name, err);
    if (rc == SCR_OK && (rc = state_lock(&s, err)) == SCR_OK) {
        rc = state_load(&s, &why);
        if (rc == SCR_E_CORRUPT && traits_of(name)->may_start_anew)
            rc = state_keep_aside(&s, why.text, err);
        else if (rc != SCR_OK)
            scr_fail(err, rc, 0, "%s", why.text);
    }
    if (rc == SCR_OK)
        rc = state_edit(&s, edit, arg, err);
    state_fini(&s);
    return rc;
}

int scr_prefix_state_remove(const struct scr_env *env, const struct scr_prefix *p,
                            const char *name, struct scr_err *err)
{
    struct state s;
    struct stat st;
    int rc = state_init(&s, env, p, name, err);
    if (rc == SCR_OK && scr_file_stat(env->sys, s.path, &st, NULL) != SCR_E_NOENT &&
        (rc = state_lock(&s, err)) == SCR_OK &&
        (rc = scr_file_remove(env->sys, s.path, err)) == SCR_OK)
        rc = scr_dir_sync(env->sys, p->scr, err);
    state_fini(&s);
    return rc;
}
