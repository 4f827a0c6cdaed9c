/* SPDX-License-Identifier: BSD-3-Clause */
/* The dataset hash and its typed view. */
#include "fmt/dataset.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

enum key {
    ID,
    NAME,
    USER,
    JOBNAME,
    JOBID,
    CLUSTER,
    SIZE,
    FILES,
    CREATED,
    CKPT,
    COMPLETE,
    FLAG_CKPT,
    FLAG_OUTPUT,
    BYPASS,
    SHARED,
    NKEYS
};
static const char *const keys[NKEYS] = {
    "ID",       "NAME",      "USER",        "JOBNAME", "JOBID",
    "CLUSTER",  "SIZE",      "FILES",       "CREATED", "CKPT",
    "COMPLETE", "FLAG_CKPT", "FLAG_OUTPUT", "BYPASS",  "SHARED",
};

/* --- writing --- */

static void set_text(scr_hash *h, enum key key, const char *text)
{
    if (text != NULL)
        scr_hash_set_val(h, keys[key], text);
    else
        (void)scr_hash_unset(h, keys[key]);
}

static void set_if(scr_hash *h, enum key key, int there, int64_t v)
{
    if (there)
        scr_hash_set_val_i64(h, keys[key], v);
    else
        (void)scr_hash_unset(h, keys[key]);
}

int scr_dataset_set(scr_hash *h, const struct scr_dataset *d)
{
    if (h == NULL || d->id < 1 || d->name == NULL || *d->name == '\0')
        return SCR_E_ARG;
    scr_hash_set_val_i64(h, keys[ID], d->id);
    set_text(h, NAME, d->name);
    set_text(h, USER, d->user);
    set_text(h, JOBNAME, d->jobname);
    set_text(h, JOBID, d->jobid);
    set_text(h, CLUSTER, d->cluster);
    scr_hash_set_val_u64(h, keys[SIZE], d->size);
    scr_hash_set_val_u64(h, keys[FILES], d->files);
    scr_hash_set_val_i64(h, keys[CREATED], d->created);
    set_if(h, CKPT, d->ckpt > 0, d->ckpt);
    set_if(h, COMPLETE, d->complete >= 0, d->complete != 0);
    scr_hash_set_val_i64(h, keys[FLAG_CKPT], d->is_ckpt != 0);
    scr_hash_set_val_i64(h, keys[FLAG_OUTPUT], d->is_output != 0);
    set_if(h, BYPASS, d->is_bypass, 1);
    set_if(h, SHARED, d->is_shared, 1);
    return scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

/* --- reading: what was found of each key, then what it means --- */

struct found {
    const char *val; /* the first value, NULL: none */
    size_t n;        /* how many there are */
    int there;       /* the key is */
};

static int bad(struct scr_err *err, enum key key)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "dataset: bad or missing %s", keys[key]);
}

/* An absent key leaves *out; 1 unless the key is there and has no such number. */
static int opt_int(const struct found *f, int *out)
{
    return !f->there || (f->n == 1 && scr_parse_int(f->val, out));
}

static int opt_i64(const struct found *f, int64_t *out)
{
    return !f->there || (f->n == 1 && scr_parse_i64(f->val, out));
}

static int opt_u64(const struct found *f, uint64_t *out)
{
    return !f->there || (f->n == 1 && scr_parse_u64(f->val, out));
}

static int interpret(const struct found f[NKEYS], struct scr_dataset *out,
                     struct scr_err *err)
{
    struct scr_dataset d = { .name = f[NAME].val,
                             .user = f[USER].val,
                             .jobname = f[JOBNAME].val,
                             .jobid = f[JOBID].val,
                             .cluster = f[CLUSTER].val,
                             .complete = -1,
                             .is_bypass = f[BYPASS].there,
                             .is_shared = f[SHARED].there };
    d.is_ckpt = !f[FLAG_CKPT].there && !f[FLAG_OUTPUT].there;
    if (!opt_int(&f[ID], &d.id) || d.id < 1)
        return bad(err, ID);
    if (f[NAME].n != 1 || *d.name == '\0')
        return bad(err, NAME);
    if (!opt_u64(&f[SIZE], &d.size))
        return bad(err, SIZE);
    if (!opt_u64(&f[FILES], &d.files))
        return bad(err, FILES);
    if (!opt_i64(&f[CREATED], &d.created))
        return bad(err, CREATED);
    if (!opt_int(&f[CKPT], &d.ckpt) || d.ckpt < 0)
        return bad(err, CKPT);
    if (!opt_int(&f[COMPLETE], &d.complete) || d.complete < -1 || d.complete > 1)
        return bad(err, COMPLETE);
    if (!opt_int(&f[FLAG_CKPT], &d.is_ckpt))
        return bad(err, FLAG_CKPT);
    if (!opt_int(&f[FLAG_OUTPUT], &d.is_output))
        return bad(err, FLAG_OUTPUT);
    d.is_ckpt = d.is_ckpt != 0;
    d.is_output = d.is_output != 0;
    *out = d;
    return SCR_OK;
}

int scr_dataset_finish(scr_hash *h, uint64_t bytes, uint64_t files)
{
    scr_hash_set_val_u64(h, "SIZE", bytes);
    scr_hash_set_val_u64(h, "FILES", files);
    scr_hash_set_val_i64(h, "COMPLETE", 1);
    return h != NULL && scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

int scr_dataset_get(const scr_hash *h, struct scr_dataset *out, struct scr_err *err)
{
    struct found f[NKEYS];
    for (int i = 0; i < NKEYS; i++) {
        const scr_hash *values = scr_hash_get(h, keys[i]);
        f[i] = (struct found){ scr_hash_elem_key(scr_hash_elem_first(values)),
                               scr_hash_size(values), values != NULL };
    }
    return interpret(f, out, err);
}

static struct found take_values(struct scr_cursor *c)
{
    struct found f = { .n = scr_cursor_enter(c), .there = 1 };
    for (size_t i = 0; i < f.n && c->wrong == NULL; i++) {
        const char *val = scr_cursor_key(c);
        f.val = i == 0 ? val : f.val;
        scr_cursor_skip(c);
    }
    return f;
}

int scr_dataset_take(struct scr_cursor *c, struct scr_dataset *out, struct scr_err *err)
{
    struct found f[NKEYS] = { { 0 } };
    size_t left = scr_cursor_enter(c);
    for (int next = 0; left > 0 && c->wrong == NULL; left--) {
        const char *key = scr_cursor_key(c);
        int i = next;
        for (int tried = 0; tried < NKEYS && strcmp(keys[i], key) != 0; tried++)
            i = (i + 1) % NKEYS;
        if (strcmp(keys[i], key) != 0)
            scr_cursor_skip(c);
        else if (f[i].there)
            scr_cursor_refuse(c, "key given twice");
        else
            f[i] = take_values(c);
        next = (i + 1) % NKEYS; /* they mostly come in this order */
    }
    TRY(scr_cursor_end(c, 0, err));
    return interpret(f, out, err);
}

/* --- one or another --- */

int scr_dataset_is_same(const struct scr_dataset *a, const struct scr_dataset *b)
{
    if (a->created > 0 && b->created > 0 && a->created != b->created)
        return 0;
    return a->jobid == NULL || b->jobid == NULL || strcmp(a->jobid, b->jobid) == 0;
}

int scr_dataset_is_alike(const struct scr_dataset *a, const struct scr_dataset *b)
{
    return a->created == b->created && scr_dataset_is_same(a, b);
}

static int is_better(const struct scr_rival *a, const struct scr_rival *than)
{
    if (than == NULL || a->state != than->state)
        return than == NULL || a->state > than->state;
    return a->created > than->created;
}

const struct scr_rival *scr_rival_choose(const struct scr_rival *rival, size_t n,
                                         int ranks)
{
    const struct scr_rival *best = NULL, *newest = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct scr_rival *r = &rival[i];
        newest = newest == NULL || r->created > newest->created ? r : newest;
        if (r->state != SCR_RIVAL_NOT && (ranks == 0 || r->ranks == ranks) &&
            is_better(r, best))
            best = r;
    }
    return ranks == 0 || (newest != NULL && newest->ranks == ranks) ? best : NULL;
}
