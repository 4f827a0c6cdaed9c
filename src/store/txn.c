/* SPDX-License-Identifier: BSD-3-Clause */
/* One state file of the prefix directory, from lock to unlock. */
#include "store/txn.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/str.h"
#include "fmt/autopilot.h"

enum {
    LOCK_TIMEOUT_MS =
        30000,              /* commands and the job hold these locks for milliseconds */
    SCR3_TIMEOUT_MS = 2000, /* nor does SCR 3.x hold its own for longer */
    FILE_MODE = 0666,       /* cut by the umask: the prefix is the user's to share */
    STATE_MAX = 1 << 30,    /* bytes of a state file that are read */
    ASIDE_MAX = 10000       /* damaged files kept of one name */
};

/* What a damaged or lost file means. */
static const struct traits {
    const char *name;
    enum scr_durability how;
    int may_start_anew; /* can be given again, so a damaged one must not stop a job */
    int is_shared;      /* SCR 3.x locks the file itself, and rewrites it in place */
} state_traits[] = {
    { "halt.scr", SCR_DURABLE, 1, 1 },
    /* Tells of what is in cache and dies with it: a checkpoint does not wait for the
     * parallel file system to sync it. */
    { "flush.scr", SCR_VOLATILE, 1, 0 },
    { "nodes.scr", SCR_VOLATILE, 1, 0 },
    /* Begun anew it costs some advice: nothing waits for it. */
    { SCR_AUTOPILOT_FILE, SCR_VOLATILE, 1, 0 },
    { "current.scr", SCR_DURABLE, 1, 0 },
    { "identity.scr", SCR_DURABLE, 1, 0 },
    { "identity.copy.scr", SCR_DURABLE, 1, 0 },
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
        .env = env, .p = p, .name = name, .lock = SCR_LOCK_INIT, .scr3 = SCR_LOCK_INIT
    };
    s->path = scr_prefix_file(p, name);
    s->h = scr_hash_new();
    return s->path != NULL && s->h != NULL ? SCR_OK : scr_no_memory(err);
}

void scr_txn_fini(struct scr_txn *s)
{
    scr_lock_release(s->env->sys, &s->scr3);
    scr_lock_release(s->env->sys, &s->lock);
    scr_hash_delete(s->h);
    free(s->bytes);
    free(s->path);
}

/* For a while only: if it stays held, its holder hangs, and a job must not hang with
 * it. */
static void lock_scr3(struct scr_txn *s, int exclusive)
{
    if (traits_of(s->name)->is_shared && s->scr3.fd < 0)
        scr_lock_itself(s->env->sys, s->path, exclusive, SCR3_TIMEOUT_MS, &s->scr3);
}

int scr_txn_lock(struct scr_txn *s, struct scr_err *err)
{
    char *path = scr_asprintf("%s.lock", s->path);
    TRY(path ? SCR_OK : scr_no_memory(err));
    int rc = scr_lock_acquire(s->env->sys, path, LOCK_TIMEOUT_MS, &s->lock, err);
    free(path);
    if (rc == SCR_OK)
        lock_scr3(s, 1);
    return rc;
}

void scr_txn_forget(struct scr_txn *s)
{
    free(s->bytes);
    s->bytes = NULL;
    s->nbytes = 0;
}

int scr_txn_read(struct scr_txn *s, const char *path, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_file_load(s->env->sys, path, STATE_MAX, &s->bytes, &s->nbytes, &why);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

static int load(struct scr_txn *s, struct scr_err *err)
{
    scr_txn_forget(s);
    int rc = scr_txn_read(s, s->path, err);
    if (rc != SCR_OK || s->bytes == NULL)
        return rc;
    rc = scr_hash_decode(s->bytes, s->nbytes, s->h, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "%s", s->path);
    return rc;
}

int scr_txn_load(struct scr_txn *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = load(s, &why);
    if (rc == SCR_E_CORRUPT && traits_of(s->name)->is_shared) {
        lock_scr3(s, 0); /* it may be halfway through */
        scr_err_clear(&why);
        rc = load(s, &why);
    }
    return scr_err_take(err, rc, &why);
}

int scr_txn_write(struct scr_txn *s, struct scr_err *err)
{
    return scr_hash_file_write(s->env->sys, s->path, s->h, traits_of(s->name)->how,
                               err);
}

/* Copies what was found to "<name>.damaged.<n>". A copy, not a rename: until the
 * repaired file is in place a crash must leave the damaged one, for the next reader to
 * repair. */
int scr_txn_keep_aside(struct scr_txn *s, const char *cause, struct scr_err *err)
{
    for (int n = 1; n <= ASIDE_MAX; n++) {
        char *aside = scr_asprintf("%s.damaged.%d", s->path, n);
        TRY(aside ? SCR_OK : scr_no_memory(err));
        if (scr_file_is_there(s->env->sys, aside)) {
            free(aside);
            continue;
        }
        int rc = scr_file_replace(s->env->sys, aside, s->bytes, s->nbytes,
                                  (struct scr_replace){ FILE_MODE, SCR_DURABLE }, err);
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
