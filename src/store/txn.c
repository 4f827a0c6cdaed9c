/* SPDX-License-Identifier: BSD-3-Clause */
/* One state file of the prefix directory, from lock to unlock. */
#include "store/txn.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/hashfile.h"
#include "base/io.h"
#include "base/str.h"

enum {
    LOCK_TIMEOUT_MS =
        30000,           /* commands and the job hold these locks for milliseconds */
    FILE_MODE = 0666,    /* cut by the umask: the prefix is the user's to share */
    STATE_MAX = 1 << 30, /* bytes of a state file that are read */
    ASIDE_MAX = 10000    /* damaged files kept of one name */
};

/* What a damaged or lost file means. */
static const struct traits {
    const char *name;
    enum scr_durability how;
    int may_start_anew; /* can be given again, so a damaged one must not stop a job */
    int in_place;       /* SCR 3.x locks and rewrites the file itself */
} state_traits[] = {
    { "halt.scr", SCR_DURABLE, 1, 1 },
    /* Tells of what is in cache and dies with it: a checkpoint does not wait for the
     * parallel file system to sync it. */
    { "flush.scr", SCR_VOLATILE, 1, 0 },
    { "nodes.scr", SCR_VOLATILE, 1, 0 },
    { "current.scr", SCR_DURABLE, 1, 0 },
    { "identity.scr", SCR_DURABLE, 1, 0 },
    { NULL, SCR_DURABLE, 0, 0 },
};

static const struct traits *traits_of(const char *name)
{
    const struct traits *t = state_traits;
    while (t->name != NULL && strcmp(t->name, name) != 0)
        t++;
    return t;
}

int scr_txn_may_start_anew(const char *name)
{
    return traits_of(name)->may_start_anew;
}

int scr_txn_init(struct scr_txn *s, const struct scr_env *env,
                 const struct scr_prefix *p, const char *name, struct scr_err *err)
{
    *s = (struct scr_txn){
        .env = env, .p = p, .name = name, .lock = SCR_LOCK_INIT, .own = SCR_LOCK_INIT
    };
    s->path = scr_prefix_file(p, name);
    s->h = scr_hash_new();
    return s->path != NULL && s->h != NULL ? SCR_OK : scr_no_memory(err);
}

void scr_txn_fini(struct scr_txn *s)
{
    scr_lock_release(s->env->sys, &s->own);
    scr_lock_release(s->env->sys, &s->lock);
    scr_hash_delete(s->h);
    free(s->bytes);
    free(s->path);
}

/* A file that is not there, that may not be written or cannot be locked is one that SCR
 * 3.x does not hold either: it is replaced as the others are. */
static int lock_itself(struct scr_txn *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_lock_itself(s->env->sys, s->path, 1, LOCK_TIMEOUT_MS, &s->own, &why);
    return rc == SCR_E_LOCKED ? scr_fail(err, rc, 0, "%s", why.text) : SCR_OK;
}

int scr_txn_lock(struct scr_txn *s, struct scr_err *err)
{
    char *path = scr_asprintf("%s.lock", s->path);
    if (path == NULL)
        return scr_no_memory(err);
    int rc = scr_lock_acquire(s->env->sys, path, LOCK_TIMEOUT_MS, &s->lock, err);
    free(path);
    return rc == SCR_OK && traits_of(s->name)->in_place ? lock_itself(s, err) : rc;
}

int scr_txn_read(struct scr_txn *s, struct scr_err *err)
{
    return scr_txn_read_file(s, s->path, err);
}

void scr_txn_forget(struct scr_txn *s)
{
    free(s->bytes);
    s->bytes = NULL;
    s->nbytes = 0;
}

int scr_txn_read_file(struct scr_txn *s, const char *path, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_file_load(s->env->sys, path, STATE_MAX, &s->bytes, &s->nbytes, &why);
    return rc == SCR_OK || rc == SCR_E_NOENT ? SCR_OK
                                             : scr_fail(err, rc, 0, "%s", why.text);
}

static int load_from(struct scr_txn *s, const char *path, struct scr_err *err)
{
    scr_txn_forget(s);
    int rc = scr_txn_read_file(s, path, err);
    if (rc != SCR_OK || s->bytes == NULL)
        return rc;
    rc = scr_hash_decode(s->bytes, s->nbytes, s->h, NULL, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "%s", path);
    return rc;
}

/* What is written into the file in place is there whole before. */
static char *next_of(const struct scr_txn *s)
{
    return scr_asprintf("%s.next", s->path);
}

/* The file is being rewritten this moment, or who did so has died. */
static int load_in_place(struct scr_txn *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_txn next = { .env = s->env, .h = s->h };
    struct scr_lock lock = SCR_LOCK_INIT;
    char *path = next_of(s);
    if (s->own.fd < 0)
        (void)scr_lock_itself(s->env->sys, s->path, 0, LOCK_TIMEOUT_MS, &lock, NULL);
    int rc = path ? load_from(s, s->path, &why) : scr_no_memory(&why);
    if (rc == SCR_E_CORRUPT && load_from(&next, path, NULL) == SCR_OK &&
        next.bytes != NULL)
        rc = SCR_OK;
    scr_lock_release(s->env->sys, &lock);
    scr_txn_forget(&next);
    free(path);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
}

int scr_txn_load(struct scr_txn *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = load_from(s, s->path, &why);
    if (rc == SCR_E_CORRUPT && traits_of(s->name)->in_place)
        return load_in_place(s, err);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
}

static int rewrite(struct scr_txn *s, const char *next, struct scr_err *err)
{
    const struct scr_sys *sys = s->env->sys;
    int fd = s->own.fd, rc;
    struct scr_str text = SCR_STR_INIT;
    scr_frame_begin(&text);
    scr_hash_append(&text, s->h);
    scr_frame_end(&text);
    const size_t n = text.len;
    if (text.bad)
        rc = scr_no_memory(err);
    else
        rc = scr_file_replace(sys, next, text.p, n, FILE_MODE, SCR_DURABLE, err);
    if (rc == SCR_OK &&
        (rc = scr_pwrite_all(sys, fd, text.p, n, 0, s->path, err)) == SCR_OK &&
        (rc = scr_resize(sys, fd, n, s->path, err)) == SCR_OK &&
        (rc = scr_fsync(sys, fd, s->path, err)) == SCR_OK)
        (void)scr_file_remove(sys, next, NULL);
    scr_str_free(&text);
    return rc;
}

static int write_new(struct scr_txn *s, const char *next, struct scr_err *err)
{
    const struct scr_sys *sys = s->env->sys;
    int rc = scr_hash_file_write(sys, next, s->h, SCR_DURABLE, err);
    if (rc == SCR_OK && (rc = scr_file_rename_new(sys, next, s->path, err)) == SCR_OK)
        rc = scr_dir_sync(sys, s->p->scr, err);
    return rc;
}

/* One that was not there when it was to be locked, and is now, is SCR 3.x's. */
static int check_unlockable(struct scr_txn *s, struct scr_err *err)
{
    int rc = lock_itself(s, err);
    return rc == SCR_OK && s->own.fd >= 0
               ? scr_fail(err, SCR_E_EXIST, 0, "%s was made meanwhile", s->path)
               : rc;
}

static int write_in_place(struct scr_txn *s, struct scr_err *err)
{
    int rc;
    char *next = next_of(s);
    if (next == NULL)
        rc = scr_no_memory(err);
    else if (s->own.fd >= 0)
        rc = rewrite(s, next, err);
    else if (s->bytes == NULL)
        rc = write_new(s, next, err);
    else if ((rc = check_unlockable(s, err)) == SCR_OK)
        rc = scr_hash_file_write(s->env->sys, s->path, s->h, SCR_DURABLE, err);
    free(next);
    return rc;
}

int scr_txn_write(struct scr_txn *s, struct scr_err *err)
{
    const struct traits *t = traits_of(s->name);
    return t->in_place ? write_in_place(s, err)
                       : scr_hash_file_write(s->env->sys, s->path, s->h, t->how, err);
}

/* Copies what was found to "<name>.damaged.<n>". A copy, not a rename: until the
 * repaired file is in place a crash must leave the damaged one, for the next reader to
 * repair. */
int scr_txn_keep_aside(struct scr_txn *s, const char *cause, struct scr_err *err)
{
    for (int n = 1; n <= ASIDE_MAX; n++) {
        char *aside = scr_asprintf("%s.damaged.%d", s->path, n);
        if (aside == NULL)
            return scr_no_memory(err);
        if (scr_file_is_there(s->env->sys, aside)) {
            free(aside);
            continue;
        }
        int rc = scr_file_replace(s->env->sys, aside, s->bytes, s->nbytes, FILE_MODE,
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

int scr_txn_edit(struct scr_txn *s, scr_hash_edit edit, void *arg, struct scr_err *err)
{
    int changed = 0;
    int rc = edit(s->h, arg, &changed, err);
    if (rc != SCR_OK || !changed)
        return rc;
    return scr_hash_ok(s->h) ? scr_txn_write(s, err) : scr_no_memory(err);
}
