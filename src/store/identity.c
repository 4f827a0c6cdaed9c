/* SPDX-License-Identifier: BSD-3-Clause */
/* The identity of a prefix directory. */
#include "store/identity.h"

#include <stdio.h>
#include <string.h>

#include "base/io.h"

#define IDENTITY_FILE "identity.scr"

enum { BYTES = 16 };

static int is_hex(const char *text, size_t n)
{
    return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

int scr_identity_is_name(const char *name)
{
    size_t mark = strlen(SCR_IDENTITY_MARK);
    return strncmp(name, SCR_IDENTITY_MARK, mark) == 0 &&
           is_hex(name + mark, SCR_IDENTITY_DIGITS);
}

/* Inode numbers are the same on all nodes, numbers of devices are not. */
static int inode_of(const struct scr_env *env, const struct scr_prefix *p,
                    uint64_t *inode, struct scr_err *err)
{
    struct stat st;
    int rc = scr_file_stat(env->sys, p->scr, &st, err);
    *inode = rc == SCR_OK ? (uint64_t)st.st_ino : 0;
    return rc;
}

/* 1 if h has an identity; it is the original's, too, if the inode is another. */
static int take(const scr_hash *h, uint64_t inode, struct scr_identity *out)
{
    const char *id = scr_hash_get_val(h, "ID");
    uint64_t of = 0;
    *out = (struct scr_identity){ 0 };
    if (id == NULL || !is_hex(id, (size_t)2 * BYTES) ||
        !scr_hash_get_val_u64(h, "INODE", &of))
        return 0;
    snprintf(of == inode ? out->name : out->original, sizeof out->name, "%s%.*s",
             SCR_IDENTITY_MARK, (int)SCR_IDENTITY_DIGITS, id);
    return of == inode;
}

static int draw(const struct scr_env *env, char text[2 * BYTES + 1],
                struct scr_err *err)
{
    static const char source[] = "/dev/urandom";
    unsigned char bytes[BYTES];
    int fd = -1;
    size_t n = 0;
    TRY(scr_open(env->sys, source, O_RDONLY, 0, &fd, err));
    int rc = scr_read_upto(SCR_FD(env->sys, fd, source), bytes, sizeof bytes, &n, err);
    (void)scr_close(env->sys, &fd, source, NULL); /* nothing was written */
    if (rc == SCR_OK && n != sizeof bytes)
        rc = scr_fail(err, SCR_E_IO, 0, "%s: it ended", source);
    for (size_t i = 0; rc == SCR_OK && i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return rc;
}

struct making {
    const struct scr_env *env;
    uint64_t inode;
    struct scr_identity *out;
};

/* Another process may have been here first. */
static int make(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct making *m = arg;
    struct scr_identity old;
    char id[2 * BYTES + 1] = "";
    if (take(h, m->inode, m->out))
        return SCR_OK;
    old = *m->out;
    TRY(draw(m->env, id, err));
    scr_hash_set_val(h, "ID", id);
    scr_hash_set_val_u64(h, "INODE", m->inode);
    *changed = 1;
    (void)take(h, m->inode, m->out); /* without memory the caller finds out */
    memcpy(m->out->original, old.original, sizeof old.original);
    m->out->is_new = 1;
    return SCR_OK;
}

/* SCR_E_NOENT: there is none that fits. */
static int look(const struct scr_env *env, const struct scr_prefix *p, uint64_t inode,
                struct scr_identity *out, struct scr_err *err)
{
    scr_hash *h = scr_hash_new();
    int rc;
    TRY_OUT(h ? scr_prefix_state_read(env, p, IDENTITY_FILE, h, err)
              : scr_no_memory(err));
    if (!take(h, inode, out))
        TRY_OUT(SCR_E_NOENT);
out:
    scr_hash_delete(h);
    return rc;
}

int scr_identity_read(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_identity *out, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    uint64_t inode = 0;
    *out = (struct scr_identity){ 0 };
    int rc = inode_of(env, p, &inode, &why);
    if (rc == SCR_OK)
        rc = look(env, p, inode, out, &why);
    if (rc == SCR_E_CORRUPT)
        scr_log(env->log, SCR_LOG_WARN,
                "%s: what is cached for this prefix directory is not found, and "
                "the next run makes another identity",
                why.text);
    if (rc == SCR_OK || rc == SCR_E_NOENT || rc == SCR_E_CORRUPT)
        return SCR_OK;
    return scr_fail(err, rc, 0, "%s", why.text);
}

int scr_identity_make(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_identity *out, struct scr_err *err)
{
    struct making m = { .env = env, .out = out };
    *out = (struct scr_identity){ 0 };
    int rc = inode_of(env, p, &m.inode, err);
    if (rc != SCR_OK)
        return rc;
    int had = look(env, p, m.inode, out, NULL);
    if (had == SCR_OK)
        return SCR_OK;
    rc = scr_prefix_state_update(env, p, IDENTITY_FILE, make, &m, err);
    out->is_new = out->is_new && had == SCR_E_NOENT;
    return rc;
}

int scr_identity_open(const struct scr_env *env, const char *path, const char *name,
                      struct scr_prefix *p)
{
    struct scr_identity id;
    if (path == NULL || scr_prefix_open(env, path, 0, p, NULL) != SCR_OK)
        return 0;
    if (scr_identity_read(env, p, &id, NULL) == SCR_OK && strcmp(id.name, name) == 0)
        return 1;
    scr_prefix_fini(p);
    return 0;
}
