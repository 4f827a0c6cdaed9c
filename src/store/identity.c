/* SPDX-License-Identifier: BSD-3-Clause */
/* The identity of a prefix directory. */
#include "store/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"

/* One flipped bit in the only record of an identity would hide all that is cached. */
#define IDENTITY_FILE "identity.scr"
#define IDENTITY_COPY "identity.copy.scr"

enum { BYTES = 16, PATH = 4096 };

struct record {
    char id[2 * BYTES + 1];
    uint64_t inode;
    char path[PATH]; /* of the prefix when it was used last; "": not known */
};

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

/* 1 if h has an identity. */
static int parse(const scr_hash *h, struct record *r)
{
    const char *id = scr_hash_get_val(h, "ID");
    *r = (struct record){ 0 };
    if (id == NULL || !is_hex(id, (size_t)2 * BYTES) ||
        !scr_hash_get_val_u64(h, "INODE", &r->inode))
        return 0;
    memcpy(r->id, id, sizeof r->id);
    const char *path = scr_hash_get_val(h, "PATH");
    if (path != NULL && strlen(path) < sizeof r->path)
        memcpy(r->path, path, strlen(path) + 1);
    return 1;
}

/* 1 if it is of this directory; else it is the original's. inode: 0: this is a copy. */
static int take(const struct record *r, uint64_t inode, struct scr_identity *out)
{
    *out = (struct scr_identity){ 0 };
    if (r->id[0] == '\0')
        return 0;
    snprintf(r->inode == inode ? out->name : out->original, sizeof out->name, "%s%.*s",
             SCR_IDENTITY_MARK, (int)SCR_IDENTITY_DIGITS, r->id);
    return r->inode == inode;
}

/* --- its files --- */

/* SCR_E_NOENT: it has none. */
static int read_file(const struct scr_env *env, const struct scr_prefix *p,
                     const char *name, struct record *r, struct scr_err *err)
{
    scr_hash *h = scr_hash_new();
    int rc;
    *r = (struct record){ 0 };
    TRY_OUT(h ? scr_prefix_state_read(env, p, name, h, err) : scr_no_memory(err));
    if (!parse(h, r))
        TRY_OUT(SCR_E_NOENT);
out:
    scr_hash_delete(h);
    return rc;
}

/* From the copy if the file itself has none. */
static int read_either(const struct scr_env *env, const struct scr_prefix *p,
                       struct record *r, struct scr_err *err)
{
    int rc = read_file(env, p, IDENTITY_FILE, r, err);
    if (rc != SCR_E_CORRUPT && rc != SCR_E_NOENT)
        return rc;
    if (read_file(env, p, IDENTITY_COPY, r, NULL) != SCR_OK)
        return rc;
    scr_err_clear(err);
    return SCR_OK;
}

static int is_same(const struct record *a, const struct record *b)
{
    return strcmp(a->id, b->id) == 0 && a->inode == b->inode &&
           strcmp(a->path, b->path) == 0;
}

static int edit_record(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct record *r = arg;
    struct record old;
    if (parse(h, &old) && is_same(&old, r))
        return SCR_OK;
    *changed = 1;
    return scr_hash_set_val(h, "ID", r->id) &&
                   scr_hash_set_val_u64(h, "INODE", r->inode) &&
                   scr_hash_set_val(h, "PATH", r->path)
               ? SCR_OK
               : scr_no_memory(err);
}

/* The file of that name has the record afterwards, if it can be written. Most starts
 * only read it. */
static void keep(const struct scr_env *env, const struct scr_prefix *p,
                 const char *name, struct record *r)
{
    const struct scr_env quiet = { .sys = env->sys };
    struct record is;
    if (read_file(&quiet, p, name, &is, NULL) != SCR_OK || !is_same(&is, r))
        (void)scr_prefix_state_update(env, p, name, edit_record, r, NULL);
}

/* --- a new one --- */

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

/* --- copies of the same inode number --- */

/* A file that is created here appears there: one directory is mounted twice. 1 also if
 * that cannot be tried. */
static int is_mounted_twice(const struct scr_env *env, const char *here,
                            const char *there)
{
    char random[2 * BYTES + 1], *mine = NULL, *its = NULL;
    int fd = -1, is = 1;
    if (draw(env, random, NULL) == SCR_OK) {
        mine = scr_asprintf("%s/.identity.%s.tmp", here, random);
        its = scr_asprintf("%s/.identity.%s.tmp", there, random);
    }
    if (mine && its &&
        scr_open(env->sys, mine, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd, NULL) ==
            SCR_OK) {
        is = scr_file_is_there(env->sys, its);
        (void)scr_close(env->sys, &fd, mine, NULL);
        (void)scr_file_remove(env->sys, mine, NULL);
    }
    free(mine);
    free(its);
    return is;
}

/* A snapshot, or a copy in another file system, may have the inode number of the
 * original, which is still where it was. */
static int is_copy(const struct scr_env *env, const struct scr_prefix *p,
                   const struct record *r)
{
    struct stat own, old;
    char *there = r->path[0] != '\0' && strcmp(r->path, p->path) != 0
                      ? scr_path_join(r->path, ".scr")
                      : NULL;
    int is = there != NULL && scr_file_stat(env->sys, p->scr, &own, NULL) == SCR_OK &&
             scr_file_stat(env->sys, there, &old, NULL) == SCR_OK &&
             old.st_ino == own.st_ino && old.st_dev != own.st_dev &&
             !is_mounted_twice(env, p->scr, there);
    free(there);
    return is;
}

static void set_path(struct record *r, const struct scr_prefix *p)
{
    snprintf(r->path, sizeof r->path, "%s", strlen(p->path) < PATH ? p->path : "");
}

struct making {
    const struct scr_env *env;
    const struct scr_prefix *p;
    uint64_t inode;
    struct record r;
    struct scr_identity *out;
};

/* Another process may have been here first. */
static int make(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct making *m = arg;
    struct scr_identity old;
    if (parse(h, &m->r) && !is_copy(m->env, m->p, &m->r) &&
        take(&m->r, m->inode, m->out))
        return SCR_OK;
    old = *m->out;
    m->r.inode = m->inode;
    set_path(&m->r, m->p);
    TRY(draw(m->env, m->r.id, err));
    TRY(edit_record(h, &m->r, changed, err));
    (void)take(&m->r, m->inode, m->out);
    memcpy(m->out->original, old.original, sizeof old.original);
    m->out->is_new = 1;
    return SCR_OK;
}

/* --- what callers get --- */

int scr_identity_read(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_identity *out, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct record r;
    uint64_t inode = 0;
    *out = (struct scr_identity){ 0 };
    int rc = inode_of(env, p, &inode, &why);
    if (rc == SCR_OK && (rc = read_either(env, p, &r, &why)) == SCR_OK)
        (void)take(&r, inode, out);
    if (rc == SCR_E_CORRUPT)
        scr_log(env->log, SCR_LOG_WARN,
                "%s: what is cached for this prefix directory is not found, and "
                "the next run makes another identity",
                why.text);
    if (rc == SCR_OK || rc == SCR_E_NOENT || rc == SCR_E_CORRUPT)
        return SCR_OK;
    return scr_err_take(err, rc, &why);
}

int scr_identity_make(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_identity *out, struct scr_err *err)
{
    struct making m = { .env = env, .p = p, .out = out };
    *out = (struct scr_identity){ 0 };
    TRY(inode_of(env, p, &m.inode, err));
    int had = read_either(env, p, &m.r, NULL);
    if (had != SCR_OK || !take(&m.r, is_copy(env, p, &m.r) ? 0 : m.inode, out)) {
        TRY(scr_prefix_state_update(env, p, IDENTITY_FILE, make, &m, err));
        out->is_new = out->is_new && (had == SCR_OK || had == SCR_E_NOENT);
    }
    set_path(&m.r, p); /* it may have been moved */
    keep(env, p, IDENTITY_FILE, &m.r);
    keep(env, p, IDENTITY_COPY, &m.r);
    return SCR_OK;
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
