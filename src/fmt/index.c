/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of datasets in a prefix directory, version 2; version 1 is converted. */
#include "fmt/index.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "base/path.h"
#include "base/str.h"
#include "base/table.h"
#include "base/units.h"

enum { VERSION = 2, STAMP = 32 };

/* --- shared by several --- */

struct scr_index_shared *scr_index_share(struct scr_index *x)
{
    struct scr_index_shared *s = scr_calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    atomic_init(&s->users, 1);
    s->x = *x;
    *x = (struct scr_index)SCR_INDEX_INIT;
    return s;
}

void scr_index_lend(struct scr_index_shared *s, struct scr_index *x)
{
    atomic_fetch_add(&s->users, 1);
    *x = s->x;
    x->of_all = s;
}

int scr_index_unshare(struct scr_index_shared *s, struct scr_index *x)
{
    struct scr_index last = SCR_INDEX_INIT;
    if (s == NULL || atomic_fetch_sub(&s->users, 1) > 1)
        return 0;
    last = s->x;
    free(s);
    if (x != NULL)
        *x = last;
    else
        scr_index_fini(&last);
    return 1;
}

void scr_index_fini(struct scr_index *x)
{
    if (x->of_all != NULL) {
        (void)scr_index_unshare(x->of_all, NULL);
        *x = (struct scr_index)SCR_INDEX_INIT;
        return;
    }
    free(x->of);
    free(x->current);
    free(x->file);
    scr_str_free(&x->rest);
    scr_arena_free(&x->arena);
    *x = (struct scr_index)SCR_INDEX_INIT;
}

/* --- entries by id --- */

/* The place of id among the entries, or where it would be. */
static size_t place_of(const struct scr_index *x, int id)
{
    size_t low = 0, high = x != NULL ? x->n : 0;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (x->of[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct scr_index_entry *entry_of(const struct scr_index *x, int id)
{
    size_t i = place_of(x, id);
    return x != NULL && i < x->n && x->of[i].id == id ? &x->of[i] : NULL;
}

/* Mostly the newest is new. */
static int put_entry(struct scr_index *x, const struct scr_index_entry *e)
{
    size_t i = place_of(x, e->id);
    if (i < x->n && x->of[i].id == e->id) {
        x->of[i] = *e;
        return SCR_OK;
    }
    struct scr_index_entry *of = scr_insert(x->of, i, &x->n, &x->room, sizeof *of);
    if (of == NULL)
        return SCR_E_NOMEM;
    x->of = of;
    of[i] = *e;
    return SCR_OK;
}

/* The hash as packed bytes of ours, for the cursor to read. */
static int repack(struct scr_index *x, const scr_hash *h, struct scr_cursor *c)
{
    struct scr_str s = SCR_STR_INIT;
    scr_hash_append(&s, h);
    char *bytes = s.bad ? NULL : scr_arena_text_n(&x->arena, s.p, s.len);
    scr_cursor_init(c, bytes, s.len);
    scr_str_free(&s);
    return bytes != NULL ? SCR_OK : SCR_E_NOMEM;
}

/* --- reading --- */

static int corrupt(struct scr_err *err, const char *what, const char *where)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "index: %s %s", what, where);
}

/* The last key of the hash, "" if it is empty. */
static const char *take_last(struct scr_cursor *c)
{
    const char *last = "";
    for (size_t left = scr_cursor_enter(c); left > 0 && c->wrong == NULL; left--) {
        last = scr_cursor_key(c);
        scr_cursor_skip(c);
    }
    return last;
}

/* One value of the entry, or its dataset. */
static int take_value(struct scr_cursor *c, const char *key, struct scr_index_entry *e,
                      struct scr_err *err)
{
    const char *val;
    if (strcmp(key, "DSET") == 0)
        return scr_dataset_take(c, &e->dset, err);
    if (strcmp(key, "COMPLETE") == 0) {
        if ((val = scr_cursor_val(c)) == NULL || !scr_parse_int(val, &e->complete))
            return corrupt(err, "bad COMPLETE of", "a dataset");
    } else if (strcmp(key, "FLUSHED") == 0) {
        e->flushed = scr_cursor_val(c);
    } else if (strcmp(key, "DIR") == 0) {
        e->dir = scr_cursor_val(c);
    } else if (strcmp(key, "OWN") == 0) {
        e->own = scr_cursor_val(c);
    } else if (strcmp(key, "FAILED") == 0) {
        e->failed = take_last(c);
    } else {
        e->doomed = e->doomed || strcmp(key, "DELETING") == 0;
        scr_cursor_skip(c);
    }
    return SCR_OK;
}

/* The entry of dataset id that begins at c. */
static int take_entry(struct scr_cursor *c, int id, struct scr_index_entry *e,
                      struct scr_err *err)
{
    int rc = SCR_OK;
    const unsigned char *from = c->p;
    *e = (struct scr_index_entry){ .id = id };
    for (size_t left = scr_cursor_enter(c); left > 0 && rc == SCR_OK; left--)
        rc = take_value(c, scr_cursor_key(c), e, err);
    if (rc == SCR_OK)
        rc = scr_cursor_end(c, 0, err);
    if (rc == SCR_OK && e->dset.id != id)
        rc = corrupt(err, "another id recorded in", "a dataset");
    e->complete = e->complete == 1;
    e->packed.p = from;
    e->packed.n = (size_t)(c->p - from);
    return rc;
}

static int take_entries(struct scr_cursor *c, struct scr_index *x, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t left = scr_cursor_enter(c); left > 0 && rc == SCR_OK; left--) {
        struct scr_index_entry e;
        int id;
        const char *key = scr_cursor_key(c);
        if (!scr_hash_key_int(key, &id) || id < 1)
            rc = corrupt(err, "bad dataset id", key);
        else if (entry_of(x, id) != NULL)
            rc = corrupt(err, "two entries of dataset", key);
        if (rc == SCR_OK && (rc = take_entry(c, id, &e, err)) != SCR_OK)
            scr_err_prefix(err, "dataset %d", id);
        if (rc == SCR_OK && put_entry(x, &e) != SCR_OK)
            rc = scr_no_memory(err);
    }
    return rc;
}

/* CURRENT without a value is none. */
static int take_current(struct scr_cursor *c, struct scr_index *x, struct scr_err *err)
{
    struct scr_cursor ahead = *c;
    if (scr_cursor_enter(&ahead) > 1 || x->current != NULL)
        return corrupt(err, "several values of", "CURRENT");
    const char *name = scr_cursor_val(c);
    if (name != NULL && (x->current = scr_strdup(name)) == NULL)
        return scr_no_memory(err);
    return SCR_OK;
}

static int take_version_2(struct scr_cursor *c, struct scr_index *x,
                          struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t left = scr_cursor_enter(c); left > 0 && rc == SCR_OK; left--) {
        const unsigned char *from = c->p;
        const char *key = scr_cursor_key(c);
        if (strcmp(key, "DSET") == 0) {
            rc = take_entries(c, x, err);
        } else if (strcmp(key, "CURRENT") == 0) {
            rc = take_current(c, x, err);
        } else {
            scr_cursor_skip(c);
            if (strcmp(key, "VERSION") == 0 || strcmp(key, "NAME") == 0)
                continue;
            scr_str_append_n(&x->rest, from, (size_t)(c->p - from));
            x->nrest++;
        }
    }
    if (rc == SCR_OK)
        rc = scr_cursor_end(c, 1, err);
    x->current_id = x->current != NULL ? scr_index_find(x, x->current) : -1;
    return rc == SCR_OK && x->rest.bad ? scr_no_memory(err) : rc;
}

/* --- version 1: CKPT/<id>/DIR/<dir>/{COMPLETE FLUSHED FETCHED FAILED}; its last
 * writers had DSET in the place of CKPT, and a dataset hash in each directory's --- */

/* Of two copies of a checkpoint the one to keep: complete, not failed, flushed last. */
static int better_copy(const scr_hash *a, const scr_hash *b)
{
    int a_done = 0, b_done = 0;
    (void)scr_hash_get_val_int(a, "COMPLETE", &a_done);
    (void)scr_hash_get_val_int(b, "COMPLETE", &b_done);
    if (a_done != b_done)
        return a_done > b_done;
    int a_failed = scr_hash_get(a, "FAILED") != NULL;
    int b_failed = scr_hash_get(b, "FAILED") != NULL;
    if (a_failed != b_failed)
        return a_failed < b_failed;
    const char *a_when = scr_hash_get_val(a, "FLUSHED");
    const char *b_when = scr_hash_get_val(b, "FLUSHED");
    return a_when != NULL && (b_when == NULL || strcmp(a_when, b_when) > 0);
}

static scr_hash_elem *best_copy(const scr_hash *dirs)
{
    scr_hash_elem *best = scr_hash_elem_first(dirs);
    for (SCR_HASH_EACH(e, dirs))
        if (better_copy(scr_hash_elem_hash(e), scr_hash_elem_hash(best)))
            best = e;
    return best;
}

/* Gives the entry the dataset hash that version 1 did not keep, or completes the one it
 * has. */
static void add_dataset(scr_hash *entry, int id, const char *name)
{
    scr_hash *dset = scr_hash_get(entry, "DSET");
    if (dset == NULL) {
        dset = scr_hash_set(entry, "DSET", NULL);
        scr_hash_set_val_i64(dset, "CKPT", id);
        scr_hash_set_val_i64(dset, "FLAG_CKPT", 1);
        scr_hash_set_val_i64(dset, "FLAG_OUTPUT", 0);
    }
    scr_hash_set_val_i64(dset, "ID", id);
    scr_hash_set_val(dset, "NAME", name);
}

static int convert_entry(scr_hash *index, const scr_hash_elem *e, struct scr_err *err)
{
    int id = scr_hash_elem_key_int(e);
    scr_hash_elem *copy = best_copy(scr_hash_get(scr_hash_elem_hash(e), "DIR"));
    const char *dir = scr_hash_elem_key(copy);
    if (id < 1 || dir == NULL || !scr_path_is_safe(dir))
        return corrupt(err, "bad entry of checkpoint", scr_hash_elem_key(e));
    scr_hash *entry = scr_hash_set_kv_int(index, "DSET", id);
    (void)scr_hash_merge(entry, scr_hash_elem_hash(copy));
    scr_hash_set_val(entry, "DIR", dir);
    add_dataset(entry, id, dir);
    return SCR_OK;
}

/* In place. */
static int convert(scr_hash *h, struct scr_err *err)
{
    int rc = SCR_OK;
    scr_hash *old = scr_hash_extract(h, "CKPT");
    if (old == NULL)
        old = scr_hash_extract(h, "DSET");
    (void)scr_hash_unset(h, "DSET");
    (void)scr_hash_unset(h, "DIR");
    for (SCR_HASH_EACH(e, old))
        if (rc == SCR_OK)
            rc = convert_entry(h, e, err);
    scr_hash_delete(old);
    return rc;
}

static int take_version_1(const struct scr_frame *f, struct scr_index *x,
                          struct scr_err *err)
{
    struct scr_cursor c;
    scr_hash *h = scr_hash_new();
    int rc;
    TRY_OUT(h ? scr_hash_unpack(f->packed, f->n, h, NULL, err) : scr_no_memory(err));
    TRY_OUT(convert(h, err));
    TRY_OUT(repack(x, h, &c) == SCR_OK ? SCR_OK : scr_no_memory(err));
    TRY_OUT(take_version_2(&c, x, err));
out:
    scr_hash_delete(h);
    return rc;
}

/* VERSION; 0: there is nothing at all. */
static int find_version(const struct scr_frame *f, int *version, struct scr_err *err)
{
    struct scr_cursor c;
    const char *val = NULL;
    scr_cursor_init(&c, f->packed, f->n);
    size_t n = scr_cursor_enter(&c);
    *version = 0;
    for (size_t i = 0; i < n && val == NULL && c.wrong == NULL; i++) {
        if (strcmp(scr_cursor_key(&c), "VERSION") == 0)
            val = scr_cursor_val(&c);
        else
            scr_cursor_skip(&c);
    }
    int rc = scr_cursor_end(&c, 0, err);
    if (rc != SCR_OK || n == 0)
        return rc;
    if (val == NULL || !scr_parse_int(val, version) || *version < 1)
        return corrupt(err, "bad or missing", "VERSION");
    if (*version > VERSION)
        return scr_fail(err, SCR_E_VERSION, 0,
                        "index: version %d is newer than this reader's %d", *version,
                        VERSION);
    return SCR_OK;
}

int scr_index_unpack(struct scr_index *x, const void *file, size_t n,
                     struct scr_err *err)
{
    struct scr_frame f = { 0 };
    struct scr_cursor c;
    int rc = n > 0 ? scr_frame_open(file, n, &f, err) : SCR_OK;
    if (rc == SCR_OK && f.n > 0)
        rc = find_version(&f, &x->version, err);
    scr_cursor_init(&c, f.packed, f.n);
    if (rc == SCR_OK && x->version == VERSION)
        rc = take_version_2(&c, x, err);
    else if (rc == SCR_OK && x->version == 1)
        rc = take_version_1(&f, x, err);
    if (rc != SCR_OK)
        scr_index_fini(x);
    return rc;
}

/* --- writing --- */

/* Of datasets with one name the newest is the one it leads to. *n: how many names. */
static unsigned char *find_leading(const struct scr_index *x, size_t *n)
{
    struct scr_table names;
    unsigned char *leads = scr_calloc(x->n, 1);
    scr_table_init(&names, sizeof(struct scr_item));
    for (size_t i = x->n; leads != NULL && i-- > 0;) {
        size_t before = names.n;
        (void)scr_table_add(&names, x->of[i].dset.name);
        leads[i] = names.n > before;
    }
    *n = names.n;
    if (!scr_table_ok(&names)) {
        free(leads);
        leads = NULL;
    }
    scr_table_fini(&names);
    return leads;
}

static void pack_entries(struct scr_str *s, const struct scr_index *x)
{
    size_t n;
    unsigned char *leads = find_leading(x, &n);
    scr_pack_key(s, "DSET");
    scr_pack_count(s, x->n);
    for (size_t i = 0; i < x->n; i++) {
        scr_pack_key_int(s, x->of[i].id);
        scr_str_append_n(s, x->of[i].packed.p, x->of[i].packed.n);
    }
    scr_pack_key(s, "NAME");
    scr_pack_count(s, n);
    for (size_t i = 0; leads != NULL && i < x->n; i++)
        if (leads[i]) {
            scr_pack_key(s, x->of[i].dset.name);
            scr_pack_count(s, 1);
            scr_pack_i64(s, "DSET", x->of[i].id);
        }
    if (leads == NULL)
        scr_str_spoil(s);
    free(leads);
}

void scr_index_pack(struct scr_str *s, const struct scr_index *x)
{
    scr_frame_begin(s);
    scr_pack_count(s, 1 + (x->n > 0 ? 2U : 0U) + x->nrest +
                          (x->current != NULL ? 1U : 0U));
    scr_pack_i64(s, "VERSION", VERSION);
    if (x->n > 0)
        pack_entries(s, x);
    scr_str_append_n(s, x->rest.p, x->rest.len);
    if (x->current != NULL)
        scr_pack_val(s, "CURRENT", x->current);
    if (x->lost)
        scr_str_spoil(s);
}

/* --- edits: of one entry as a hash --- */

/* The hash of an entry in which a key is given twice: what is not known is left out. */
static void set_known(scr_hash *h, const struct scr_index_entry *e)
{
    (void)scr_dataset_set(scr_hash_set(h, "DSET", NULL), &e->dset);
    scr_hash_set_val_i64(h, "COMPLETE", e->complete);
    if (e->flushed != NULL)
        scr_hash_set_val(h, "FLUSHED", e->flushed);
    if (e->dir != NULL)
        scr_hash_set_val(h, "DIR", e->dir);
    if (e->failed != NULL)
        scr_hash_set_val(h, "FAILED", e->failed);
    if (e->doomed)
        scr_hash_set_val(h, "DELETING", "1");
}

/* NULL: out of memory. */
static scr_hash *tree_of(const struct scr_index_entry *e)
{
    scr_hash *h = scr_hash_new();
    int rc = h ? scr_hash_unpack(e->packed.p, e->packed.n, h, NULL, NULL) : SCR_E_NOMEM;
    if (rc == SCR_E_CORRUPT)
        set_known(h, e);
    if (rc != SCR_E_NOMEM)
        return h;
    scr_hash_delete(h);
    return NULL;
}

/* Its hash, an empty one of a new entry; NULL: out of memory. */
static scr_hash *open_entry(struct scr_index *x, int id)
{
    const struct scr_index_entry *e = entry_of(x, id);
    scr_hash *h = e != NULL ? tree_of(e) : scr_hash_new();
    x->lost = x->lost || h == NULL;
    return h;
}

/* Takes the hash over. */
static int close_entry(struct scr_index *x, int id, scr_hash *h)
{
    struct scr_index_entry e;
    struct scr_cursor c;
    int rc = h != NULL ? repack(x, h, &c) : SCR_E_NOMEM;
    scr_hash_delete(h);
    if (rc == SCR_OK)
        rc = take_entry(&c, id, &e, NULL);
    if (rc == SCR_OK)
        rc = put_entry(x, &e);
    x->lost = x->lost || rc != SCR_OK;
    return rc;
}

/* Where CURRENT leads, when names have come or gone. */
static void follow_current(struct scr_index *x)
{
    x->current_id = x->current != NULL ? scr_index_find(x, x->current) : -1;
}

int scr_index_mend(struct scr_index *x, const scr_hash *dset, int complete, time_t when)
{
    struct scr_dataset d;
    char stamp[STAMP];
    if (scr_dataset_get(dset, &d, NULL) != SCR_OK)
        return SCR_E_ARG;
    scr_hash *entry = open_entry(x, d.id), *copy = scr_hash_dup(dset);
    if (copy == NULL || scr_hash_set(entry, "DSET", copy) == NULL) {
        scr_hash_delete(entry);
        x->lost = 1;
        return SCR_E_NOMEM;
    }
    scr_hash_set_val_i64(entry, "COMPLETE", complete != 0);
    scr_hash_set_val(entry, "FLUSHED", scr_format_stamp(when, stamp, sizeof stamp));
    (void)scr_hash_unset(entry, "DELETING");
    (void)scr_hash_unset(entry, "OWN");
    int rc = close_entry(x, d.id, entry);
    follow_current(x);
    return rc;
}

int scr_index_add(struct scr_index *x, const scr_hash *dset, int complete, time_t when)
{
    struct scr_dataset d;
    TRY(scr_index_mend(x, dset, complete, when));
    if (complete && scr_dataset_get(dset, &d, NULL) == SCR_OK)
        scr_index_clear_failed(x, d.id);
    return SCR_OK;
}

int scr_index_remove(struct scr_index *x, int id)
{
    size_t i = place_of(x, id);
    if (i == x->n || x->of[i].id != id)
        return 0;
    if (x->current_id == id)
        scr_index_unset_current(x);
    x->n--;
    memmove(&x->of[i], &x->of[i + 1], (x->n - i) * sizeof *x->of);
    return 1;
}

int scr_index_drop_after(struct scr_index *x, int id)
{
    int any = 0;
    while (x->n > 0 && x->of[x->n - 1].id > id)
        any = scr_index_remove(x, x->of[x->n - 1].id);
    return any;
}

int scr_index_set_current(struct scr_index *x, const char *name)
{
    int id = name != NULL ? scr_index_find(x, name) : -1;
    if (id < 0)
        return SCR_E_NOENT;
    char *copy = scr_strdup(name);
    if (copy == NULL)
        return SCR_E_NOMEM;
    free(x->current);
    x->current = copy;
    x->current_id = id;
    return SCR_OK;
}

void scr_index_unset_current(struct scr_index *x)
{
    free(x->current);
    x->current = NULL;
    x->current_id = -1;
}

/* Gives a key of an existing entry the value: in addition to those it has (more), or in
 * place of them; NULL takes the key away. */
static void set(struct scr_index *x, int id, const char *key, const char *val, int more)
{
    if (entry_of(x, id) == NULL)
        return;
    scr_hash *entry = open_entry(x, id);
    if (val == NULL)
        (void)scr_hash_unset(entry, key);
    else if (more)
        scr_hash_set_kv(entry, key, val);
    else
        scr_hash_set_val(entry, key, val);
    (void)close_entry(x, id, entry);
}

void scr_index_mark_fetched(struct scr_index *x, int id, time_t when)
{
    char stamp[STAMP];
    set(x, id, "FETCHED", scr_format_stamp(when, stamp, sizeof stamp), 1);
}

void scr_index_mark_failed(struct scr_index *x, int id, time_t when)
{
    char stamp[STAMP];
    set(x, id, "FAILED", scr_format_stamp(when, stamp, sizeof stamp), 1);
    if (x->current_id == id)
        scr_index_unset_current(x);
}

void scr_index_clear_failed(struct scr_index *x, int id)
{
    set(x, id, "FAILED", NULL, 0);
}

void scr_index_mark_incomplete(struct scr_index *x, int id)
{
    set(x, id, "COMPLETE", "0", 0);
}

void scr_index_mark_doomed(struct scr_index *x, int id)
{
    set(x, id, "COMPLETE", "0", 0);
    set(x, id, "DELETING", "1", 0);
}

void scr_index_set_own(struct scr_index *x, int id, const char *path)
{
    set(x, id, "OWN", path, 0);
}

int scr_index_advance_current(struct scr_index *x, int id)
{
    const struct scr_index_entry *e = entry_of(x, id);
    int now = x->current_id > 0 ? x->current_id : scr_index_newest(x);
    if (e == NULL || !e->complete || e->failed || !e->dset.is_ckpt || now > id ||
        x->current_id == id || scr_index_find(x, e->dset.name) != id)
        return SCR_OK;
    return scr_index_set_current(x, e->dset.name);
}

int scr_index_arrive(struct scr_index *x, const scr_hash *dset, time_t when)
{
    struct scr_dataset d;
    int rc = scr_index_add(x, dset, 1, when);
    return rc == SCR_OK && scr_dataset_get(dset, &d, NULL) == SCR_OK
               ? scr_index_advance_current(x, d.id)
               : rc;
}

/* --- questions --- */

int scr_index_find(const struct scr_index *x, const char *name)
{
    for (size_t i = x != NULL ? x->n : 0; i-- > 0;)
        if (strcmp(x->of[i].dset.name, name) == 0)
            return x->of[i].id;
    return -1;
}

int scr_index_max_id(const struct scr_index *x)
{
    return x != NULL && x->n > 0 ? x->of[x->n - 1].id : 0;
}

int scr_index_get(const struct scr_index *x, int id, struct scr_index_entry *e,
                  struct scr_err *err)
{
    const struct scr_index_entry *is = entry_of(x, id);
    if (is == NULL)
        return scr_fail(err, SCR_E_NOENT, 0, "index: no dataset %d", id);
    *e = *is;
    e->current = x->current_id == id;
    return SCR_OK;
}

int scr_index_has(const struct scr_index *x, int id)
{
    return entry_of(x, id) != NULL;
}

int scr_index_is_complete(const struct scr_index *x, int id)
{
    const struct scr_index_entry *e = entry_of(x, id);
    return e != NULL && e->complete;
}

int scr_index_is_good(const struct scr_index *x, int id)
{
    return scr_index_is_complete(x, id) && !entry_of(x, id)->failed;
}

int scr_index_dataset(const struct scr_index *x, int id, scr_hash *dset)
{
    const struct scr_index_entry *e = entry_of(x, id);
    if (e == NULL)
        return SCR_E_NOENT;
    scr_hash *h = tree_of(e);
    int rc = h ? scr_hash_merge(dset, scr_hash_get(h, "DSET")) : SCR_E_NOMEM;
    scr_hash_delete(h);
    return rc;
}

int scr_index_far_id(int id)
{
    enum { FAR = 1000 };
    return id < INT_MAX - FAR ? id + FAR : id;
}

int scr_index_newest(const struct scr_index *x)
{
    for (size_t i = x != NULL ? x->n : 0; i-- > 0;) {
        const struct scr_index_entry *e = &x->of[i];
        if (e->complete && !e->failed && e->dset.is_ckpt)
            return e->id;
    }
    return -1;
}

int scr_index_ids(const struct scr_index *x, int **ids, size_t *n)
{
    size_t all = x != NULL ? x->n : 0;
    *ids = scr_calloc(all, sizeof **ids);
    *n = *ids != NULL ? all : 0;
    for (size_t i = 0; i < *n; i++)
        (*ids)[i] = x->of[all - 1 - i].id;
    return *ids != NULL ? SCR_OK : SCR_E_NOMEM;
}
