/* SPDX-License-Identifier: BSD-3-Clause */
/* The dataset hash and its typed view. */
#include "fmt/dataset.h"

#include <stddef.h>
#include <string.h>

/* The texts of a dataset that may be left out. */
static const struct {
    const char *key;
    size_t at; /* of the pointer in struct scr_dataset */
} texts[] = {
    { "USER", offsetof(struct scr_dataset, user) },
    { "JOBNAME", offsetof(struct scr_dataset, jobname) },
    { "JOBID", offsetof(struct scr_dataset, jobid) },
    { "CLUSTER", offsetof(struct scr_dataset, cluster) },
};
enum { NTEXTS = sizeof texts / sizeof texts[0] };

static const char **text_at(struct scr_dataset *d, size_t i)
{
    return (const char **)(void *)((char *)d + texts[i].at);
}

static void set_or_unset(scr_hash *h, const char *key, int there, int64_t v)
{
    if (there)
        scr_hash_set_val_i64(h, key, v);
    else
        (void)scr_hash_unset(h, key);
}

int scr_dataset_set(scr_hash *h, const struct scr_dataset *d)
{
    struct scr_dataset copy = *d;
    if (h == NULL || d->id < 1 || d->name == NULL || *d->name == '\0')
        return SCR_E_ARG;
    scr_hash_set_val_i64(h, "ID", d->id);
    scr_hash_set_val(h, "NAME", d->name);
    for (size_t i = 0; i < NTEXTS; i++) {
        if (*text_at(&copy, i) != NULL)
            scr_hash_set_val(h, texts[i].key, *text_at(&copy, i));
        else
            (void)scr_hash_unset(h, texts[i].key);
    }
    scr_hash_set_val_u64(h, "SIZE", d->size);
    scr_hash_set_val_u64(h, "FILES", d->files);
    scr_hash_set_val_i64(h, "CREATED", d->created);
    set_or_unset(h, "CKPT", d->ckpt > 0, d->ckpt);
    set_or_unset(h, "COMPLETE", d->complete >= 0, d->complete != 0);
    scr_hash_set_val_i64(h, "FLAG_CKPT", d->is_ckpt != 0);
    scr_hash_set_val_i64(h, "FLAG_OUTPUT", d->is_output != 0);
    return scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

static int bad(struct scr_err *err, const char *key)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "dataset: bad or missing %s", key);
}

/* Absent leaves *out; 1 unless the field is there and no such number. */
static int opt_int(const scr_hash *h, const char *key, int *out)
{
    return scr_hash_get(h, key) == NULL || scr_hash_get_val_int(h, key, out);
}

static int opt_u64(const scr_hash *h, const char *key, uint64_t *out)
{
    return scr_hash_get(h, key) == NULL || scr_hash_get_val_u64(h, key, out);
}

static int get_flags(const scr_hash *h, struct scr_dataset *d, struct scr_err *err)
{
    int has_flags =
        scr_hash_get(h, "FLAG_CKPT") != NULL || scr_hash_get(h, "FLAG_OUTPUT") != NULL;
    d->is_ckpt = !has_flags;
    if (!opt_int(h, "FLAG_CKPT", &d->is_ckpt))
        return bad(err, "FLAG_CKPT");
    if (!opt_int(h, "FLAG_OUTPUT", &d->is_output))
        return bad(err, "FLAG_OUTPUT");
    d->is_ckpt = d->is_ckpt != 0;
    d->is_output = d->is_output != 0;
    return SCR_OK;
}

int scr_dataset_get(const scr_hash *h, struct scr_dataset *out, struct scr_err *err)
{
    struct scr_dataset d = { .complete = -1 };
    if (!scr_hash_get_val_int(h, "ID", &d.id) || d.id < 1)
        return bad(err, "ID");
    d.name = scr_hash_get_val(h, "NAME");
    if (d.name == NULL || *d.name == '\0' ||
        scr_hash_size(scr_hash_get(h, "NAME")) != 1)
        return bad(err, "NAME");
    for (size_t i = 0; i < NTEXTS; i++)
        *text_at(&d, i) = scr_hash_get_val(h, texts[i].key);
    if (!opt_u64(h, "SIZE", &d.size))
        return bad(err, "SIZE");
    if (!opt_u64(h, "FILES", &d.files))
        return bad(err, "FILES");
    if (scr_hash_get(h, "CREATED") != NULL &&
        !scr_hash_get_val_i64(h, "CREATED", &d.created))
        return bad(err, "CREATED");
    if (!opt_int(h, "CKPT", &d.ckpt) || d.ckpt < 0)
        return bad(err, "CKPT");
    if (!opt_int(h, "COMPLETE", &d.complete) || d.complete < -1 || d.complete > 1)
        return bad(err, "COMPLETE");
    int rc = get_flags(h, &d, err);
    if (rc == SCR_OK)
        *out = d;
    return rc;
}

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
