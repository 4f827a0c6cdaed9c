/* SPDX-License-Identifier: BSD-3-Clause */
/* One state file of the prefix directory, from lock to unlock. Inside store only.
 *
 *     struct scr_txn s;
 *     rc = scr_txn_init(&s, env, p, "halt.scr", err);
 *     if (rc == SCR_OK && (rc = scr_txn_lock(&s, err)) == SCR_OK &&
 *         (rc = scr_txn_load(&s, err)) == SCR_OK)
 *         rc = scr_txn_edit(&s, edit, arg, err);
 *     scr_txn_fini(&s);                                  // in any case; unlocks
 */
#ifndef SCR_STORE_TXN_H
#define SCR_STORE_TXN_H

#include "base/lock.h"
#include "store/prefix.h"

struct scr_txn {
    const struct scr_env *env;
    const struct scr_prefix *p;
    const char *name;
    char *path;
    struct scr_lock lock;
    struct scr_lock scr3; /* of the file itself: what SCR 3.x takes of halt.scr */
    void *bytes;          /* as found; NULL if the file is absent */
    size_t nbytes;
    scr_hash *h;
};

int scr_txn_init(struct scr_txn *s, const struct scr_env *env,
                 const struct scr_prefix *p, const char *name, struct scr_err *err);
void scr_txn_fini(struct scr_txn *s);
int scr_txn_lock(struct scr_txn *s, struct scr_err *err);
/* The bytes of the state file (s->path), or of one elsewhere that was it once; of an
 * absent file there are none, s->bytes is NULL. */
int scr_txn_read(struct scr_txn *s, const char *path, struct scr_err *err);
void scr_txn_forget(struct scr_txn *s); /* the bytes */
/* The bytes, and the hash in them; an absent file is an empty hash. SCR_E_CORRUPT:
 * s->bytes is what was found. */
int scr_txn_load(struct scr_txn *s, struct scr_err *err);
int scr_txn_write(struct scr_txn *s, struct scr_err *err);
/* Copies what was found to "<name>.damaged.<n>" and warns with the cause. */
int scr_txn_keep_aside(struct scr_txn *s, const char *cause, struct scr_err *err);
/* Calls edit on the hash and writes it if it was changed. */
int scr_txn_edit(struct scr_txn *s, scr_hash_edit edit, void *arg, struct scr_err *err);
/* Whether a damaged file of that name may be replaced: what it said can be given again.
 */
int scr_txn_may_start_anew(const char *name);

#endif
