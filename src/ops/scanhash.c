/* SPDX-License-Identifier: BSD-3-Clause */
/* The scan hash. */
#include "ops/scanhash.h"

#include <stdlib.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/filemap.h"
#include "red/redfile.h"
#include "store/dset_names.h"

/* --- files --- */

/* Enters a file that is there in the recorded size; 1 if it is. */
static int enter_file(const struct scr_scan *s, scr_hash *rank, const char *name,
                      const scr_meta *meta)
{
    struct stat st;
    uint64_t size = 0;
    uint32_t crc;
    int is_red = scr_meta_text(meta, SCR_META_TYPE) != NULL && !scr_meta_is_full(meta);
    char *path = scr_path_join(is_red ? s->dir : s->root, name);
    int there = path != NULL && scr_meta_get_filesize(meta, &size) == SCR_OK &&
                scr_file_stat(s->env->sys, path, &st, NULL) == SCR_OK &&
                S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
    free(path);
    if (!there)
        return 0;
    scr_hash *file = scr_hash_set_kv(rank, "FILE", name);
    if (is_red)
        scr_hash_set(file, "NOFETCH", NULL);
    scr_hash_set_val_u64(file, "SIZE", size);
    if (scr_meta_get_crc32(meta, &crc) == SCR_OK)
        scr_hash_set_val_crc(file, "CRC", crc);
    return 1;
}

/* One rank by its filemap; *whole: as many files are there as it says. */
static void enter_map(const struct scr_scan *s, scr_hash *d, scr_filemap *map, int rank,
                      int *ranks, int *whole)
{
    int found = 0, expected = scr_filemap_num_expected_files(map, s->id, rank);
    scr_hash *r = scr_hash_setf(d, NULL, "RANK2FILE RANK %d", rank);
    scr_hash_set_val_i64(r, "FILES", expected);
    for (SCR_FILES(f, map, s->id, rank)) {
        const scr_meta *meta = scr_file_meta(f);
        found += enter_file(s, r, f->item.name, meta);
        (void)scr_meta_get_int(meta, SCR_META_RANKS, ranks);
    }
    if (scr_hash_get(d, "DSET") == NULL)
        scr_hash_set(d, "DSET",
                     scr_hash_dup(scr_filemap_get_dataset(map, s->id, rank)));
    *whole = expected >= 0 && found >= expected;
}

/* good: ranks with all their files; *ranks: of the run. */
static int enter_maps(const struct scr_scan *s, scr_hash *d, struct scr_ids *good,
                      int *ranks, struct scr_err *err)
{
    int rc = SCR_OK;
    *ranks = s->files.ranks;
    for (size_t i = 0; i < s->nmaps && rc == SCR_OK; i++) {
        int whole = 0, rank = s->map_rank[i];
        char *path = scr_asprintf("%s/%d" SCR_MAP_SUFFIX, s->dir, rank);
        scr_filemap *map = scr_filemap_new();
        if (path == NULL || map == NULL)
            rc = scr_no_memory(err);
        else if (scr_filemap_read(s->env->sys, path, map, NULL) == SCR_OK)
            enter_map(s, d, map, rank, ranks, &whole);
        if (whole)
            rc = scr_ids_add(good, rank, err);
        scr_filemap_delete(map);
        free(path);
    }
    scr_hash_setf(d, NULL, "RANK2FILE RANKS %d", *ranks);
    return rc;
}

/* --- sets --- */

/* The set, by the first of its headers that can be read and are of the dataset. */
static void read_set(const struct scr_scan *s, const struct scr_scan_set *set,
                     struct scr_setdesc *known)
{
    *known = (struct scr_setdesc){ 0 };
    for (int i = 0; i < set->n && known->n == 0; i++) {
        struct scr_redhead h;
        if (!set->found[i] || scr_redhead_read(s->env, set->red[i], &h, NULL) != SCR_OK)
            continue;
        if (h.info.dset_id == s->id)
            *known = h.info.set;
        scr_redhead_fini(&h);
    }
}

/* The command that rebuilds the set. */
static int add_command(const struct scr_scan_set *set, scr_hash *d, int lost,
                       struct scr_err *err)
{
    struct scr_str text = SCR_STR_INIT;
    scr_str_printf(&text, "scr_rebuild_%s %d %d %s", scr_scheme_suffix(set->scheme),
                   set->n, lost, set->red[lost]);
    for (int i = 0; i < set->n; i++)
        if (i != lost && set->found[i])
            scr_str_printf(&text, " %s", set->red[i]);
    int ok = !text.bad && scr_hash_set_kv(d, "BUILD", text.p) != NULL;
    scr_str_free(&text);
    return ok ? SCR_OK : scr_no_memory(err);
}

static int enter_set(const struct scr_scan *s, const struct scr_scan_set *set,
                     scr_hash *d, const struct scr_ids *good, struct scr_err *err)
{
    struct scr_setdesc known;
    int lost = -1;
    read_set(s, set, &known);
    const char *scheme = scr_scheme_name(set->scheme);
    scr_hash_setf(d, NULL, "%s %d MEMBERS %d", scheme, set->set_id, set->n);
    for (int i = 0; i < set->n; i++) {
        int rank = i < known.n ? known.world[i] : -1;
        if (!set->found[i] || !scr_ids_has(good, rank))
            lost = lost < 0 ? i : lost;
        if (!set->found[i])
            continue;
        scr_hash *m =
            scr_hash_setf(d, NULL, "%s %d MEMBER %d", scheme, set->set_id, i + 1);
        scr_hash_set_val(m, "FILE", scr_path_base(set->red[i]));
        scr_hash_set_val_i64(m, "RANK", rank);
    }
    if (lost < 0)
        return SCR_OK;
    if (scr_scan_can_rebuild_set(s, set, 0))
        return add_command(set, d, lost, err);
    return scr_hash_set(d, "UNRECOVERABLE", NULL) ? SCR_OK : scr_no_memory(err);
}

int scr_scanhash(const struct scr_scan *s, scr_hash *h, struct scr_err *err)
{
    int ranks = 0;
    struct scr_ids good = { 0 };
    scr_hash *d = scr_hash_setf(h, NULL, "DLIST %d", s->id);
    int rc = d ? enter_maps(s, d, &good, &ranks, err) : scr_no_memory(err);
    for (int r = 0; r < ranks && rc == SCR_OK; r++) {
        if (scr_ids_has(&good, r))
            continue;
        scr_hash_set(d, "INVALID", NULL);
        scr_hash_set_kv_int(d, "MISSING", r);
    }
    for (SCR_EACH(const struct scr_scan_set, set, &s->sets))
        if (rc == SCR_OK)
            rc = enter_set(s, set, d, &good, err);
    scr_ids_fini(&good);
    return rc == SCR_OK && !scr_hash_ok(h) ? scr_no_memory(err) : rc;
}
