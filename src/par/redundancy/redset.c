/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of encoding and rebuilding a redundancy set. */
#include "par/redundancy/redset.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "base/path.h"
#include "base/str.h"

int scr_redset_init(struct scr_redset *r, const struct scr_protect *p,
                    const struct scr_set *set, int id, const char *dset_dir,
                    struct scr_err *err)
{
    r->p = p;
    r->set = set;
    r->id = id;
    char *dir = scr_asprintf("%s/rank.%d", dset_dir, p->world->rank);
    r->rank_dir = dir != NULL ? scr_path_normal(dir) : NULL;
    free(dir);
    return r->rank_dir ? SCR_OK : scr_no_memory(err);
}

void scr_redset_fini(struct scr_redset *r)
{
    free(r->files);
    scr_current_delete(r->current);
    free(r->redpath);
    free(r->rank_dir);
    *r = (struct scr_redset)SCR_REDSET_INIT;
}

char *scr_redset_path(const struct scr_redset *r, const char *dset_dir)
{
    char *name = scr_redfile_name(r->g.scheme, r->set->me, r->set->n, r->set->id);
    char *path = name != NULL ? scr_asprintf("%s/.scr/%s", dset_dir, name) : NULL;
    free(name);
    return path;
}

static uint64_t packed_length(const struct scr_current *c)
{
    struct scr_drain count = { 0 };
    struct scr_str s = { .drain = &count };
    scr_current_pack(&s, c);
    uint64_t n = s.bad ? 0 : count.taken + s.len;
    scr_str_free(&s);
    return n;
}

int scr_redset_measure(struct scr_redset *r, int rc, struct scr_lengths *mine,
                       struct scr_err *err)
{
    *mine = (struct scr_lengths){ 0 };
    for (size_t i = 0; rc == SCR_OK && i < r->nfiles; i++)
        mine->bytes += r->files[i].size;
    if (rc == SCR_OK && (mine->packed = packed_length(r->current)) == 0)
        rc = scr_no_memory(err);
    mine->failed = rc != SCR_OK;
    return rc;
}

int scr_redset_lay_out(struct scr_redset *r, enum scr_scheme scheme, int k,
                       const struct scr_lengths *all, struct scr_err *err)
{
    uint64_t len[SCR_EC_MAX];
    int n = r->set->n, me = r->set->me;
    for (int i = 0; i < n; i++) {
        len[i] = all[i].bytes;
        r->packed[i] = all[(me - i + n) % n].packed;
    }
    return scr_geom_init(&r->g, scheme, n, k, len, err);
}

int scr_redset_geom_all(struct scr_redset *r, enum scr_scheme scheme, int k, int rc,
                        struct scr_err *err)
{
    struct scr_lengths mine, all[SCR_EC_MAX];
    rc = scr_redset_measure(r, rc, &mine, err);
    int rc1 = scr_allgather_bytes_all(&r->set->comm, &mine, sizeof mine, all, err);
    int failed = rc1 != SCR_OK;
    for (int i = 0; i < r->set->n && !failed; i++)
        failed = all[i].failed != 0;
    return failed ? scr_set_agree_all(r->set, scr_first(rc, rc1), err)
                  : scr_redset_lay_out(r, scheme, k, all, err);
}

static struct scr_redowner owner_of(const struct scr_redset *r)
{
    return (struct scr_redowner){ &r->g, r->set->me, r->id, r->p->world->size,
                                  r->set->world };
}

static int copies_of(const struct scr_redset *r)
{
    return scr_redfile_copies(r->set->n, r->g.k);
}

int scr_redset_header_size(const struct scr_redset *r, uint64_t *n, struct scr_err *err)
{
    const struct scr_redowner o = owner_of(r);
    struct scr_str s = SCR_STR_INIT;
    scr_redfile_header(&s, &o, NULL, NULL, copies_of(r));
    *n = s.len;
    for (int j = 0; j <= copies_of(r); j++)
        *n += r->packed[j];
    int rc = s.bad ? scr_no_memory(err) : SCR_OK;
    scr_str_free(&s);
    return rc;
}

/* CURRENT goes to the j-th right neighbour, and that of the left one is appended to in,
 * of those that get a header. */
static int pass_copy_all(const struct scr_redset *r, const int *have, int j,
                         struct scr_str *in, int rc, struct scr_err *err)
{
    int n = r->set->n, me = r->set->me, to = (me + j) % n;
    int sends = !(have[to] & SCR_HAVE_PARITY), takes = !(have[me] & SCR_HAVE_PARITY);
    struct scr_swap w = { .comm = &r->set->comm,
                          .to = to,
                          .send = sends ? r->packed[0] : 0,
                          .from = (me - j + n) % n,
                          .recv = takes ? r->packed[j] : 0,
                          .in = in,
                          .err = rc == SCR_OK ? err : NULL };
    struct scr_str out = { .drain = scr_swap_begin(&w) };
    if (rc == SCR_OK && sends)
        scr_current_pack(&out, r->current);
    return scr_first(rc, scr_swap_end(&w, &out));
}

int scr_redset_write_header_all(const struct scr_redset *r, const int *have,
                                const char *path, int rc, struct scr_err *err)
{
    const struct scr_sys *sys = r->p->env->sys;
    const struct scr_redowner o = owner_of(r);
    int fd = -1, mine = !(have[r->set->me] & SCR_HAVE_PARITY);
    if (mine && rc == SCR_OK)
        rc = scr_open(sys, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, &fd, err);
    const struct scr_fd to = { sys, fd, path };
    struct scr_frame_out frame = { .to = &to, .size = r->header_bytes, .err = err };
    struct scr_str s = { .bad = 1 }; /* takes nothing unless there is a file */
    if (fd >= 0) {
        scr_frame_out_begin(&frame, &s);
        scr_redfile_front(&s, &o, copies_of(r));
        scr_current_pack(&s, r->current);
    }
    for (int j = 1; j <= copies_of(r); j++) {
        char key[24];
        scr_pack_key(&s, scr_redfile_partner_key(j, key, sizeof key));
        rc = pass_copy_all(r, have, j, &s, rc, err);
    }
    if (fd >= 0)
        rc = scr_first(rc, scr_frame_out_end(&frame, &s));
    return scr_first(rc, scr_close(sys, &fd, path, err));
}

/* The CRC of this member's parity from those of all members' data, which are shared
 * together with their codes. mine: a place for that, then the n of this member; all:
 * room for n of these. */
static int share_crcs_all(const struct scr_redset *r, uint32_t *mine, uint32_t *all,
                          uint32_t *crc, int rc, struct scr_err *err)
{
    size_t n = (size_t)r->set->n;
    mine[0] = rc != SCR_OK;
    int rc1 = scr_allgather_bytes_all(&r->set->comm, mine, (n + 1) * sizeof *mine, all,
                                      rc == SCR_OK ? err : NULL);
    int failed = rc1 != SCR_OK;
    for (size_t i = 0; i < n && !failed; i++) {
        failed = all[i * (n + 1)] != 0;
        memmove(&all[i * n], &all[i * (n + 1) + 1], n * sizeof *all);
    }
    if (failed)
        return scr_set_agree_all(r->set, rc == SCR_OK ? rc1 : rc, err);
    *crc = scr_geom_parity_crc(&r->g, r->set->me, all);
    return SCR_OK;
}

int scr_redset_run_all(const struct scr_redset *r, struct scr_redset_run *run, int rc,
                       struct scr_err *err)
{
    uint32_t *all = NULL, mine[1 + SCR_EC_MAX] = { 0 };
    size_t n = (size_t)r->set->n;
    int sums = r->encoding && run->want_crc && scr_geom_sums(&r->g);
    int no_crc = SCR_MEMBER_NO_DATA_CRC | SCR_MEMBER_NO_PARITY_CRC;
    struct scr_stripe s = {
        .set = r->set, .g = &r->g, .have = run->have, .buf_max = r->p->mpi_buf
    };
    const struct scr_member_def def = { .g = &r->g,
                                        .me = r->set->me,
                                        .flags = run->flags |
                                                 (!run->want_crc ? no_crc
                                                  : sums ? SCR_MEMBER_NO_PARITY_CRC
                                                         : 0),
                                        .files = run->files,
                                        .nfiles = r->nfiles,
                                        .stem = run->stem,
                                        .redpath = run->redpath,
                                        .header_bytes = r->header_bytes };
    if (rc == SCR_OK)
        rc = scr_member_open(r->p->env, &def, &s.m, err);
    if (rc == SCR_OK && sums && (all = scr_calloc(n * (n + 1), sizeof *all)) == NULL)
        rc = scr_no_memory(err);
    rc = scr_stripe_run_all(&s, rc, err);
    run->started = s.started;
    run->stats = s.stats;
    if (rc == SCR_OK && run->want_crc)
        rc = scr_member_finish(s.m, run->files, &run->parity_crc, err);
    if (rc == SCR_OK && sums)
        scr_member_row_crcs(s.m, &mine[1]);
    rc = scr_first(rc, scr_member_close(s.m, err));
    if (s.started && sums)
        rc = share_crcs_all(r, mine, all, &run->parity_crc, rc, err);
    else if (r->encoding)
        rc = scr_set_agree_all(r->set, rc, err);
    free(all);
    return rc;
}

scr_hash *scr_redset_desc(const struct scr_redset *r, const scr_hash *extra)
{
    enum { KEYS = 6 };
    scr_hash *h = scr_hash_new();
    struct scr_str s = SCR_STR_INIT;
    scr_pack_count(&s, KEYS);
    scr_pack_val(&s, "TYPE", scr_scheme_name(r->g.scheme));
    scr_pack_i64(&s, "FAILURES", r->g.k);
    scr_pack_i64(&s, "SET_ID", r->set->id);
    scr_pack_i64(&s, "RANKS", r->p->world->size);
    scr_redfile_pack_group(&s, r->set->world, r->set->n);
    scr_pack_i64(&s, "MEMBER", r->set->me);
    int ok = h != NULL && !s.bad &&
             scr_hash_unpack(s.p, s.len, h, NULL, NULL) == SCR_OK &&
             scr_hash_merge(h, extra) == SCR_OK;
    scr_str_free(&s);
    if (ok)
        return h;
    scr_hash_delete(h);
    return NULL;
}

/* --- the filemap --- */

static void enter_redfile(const struct scr_redset *r, scr_filemap *map)
{
    int me = r->p->world->rank;
    struct scr_file *f = scr_filemap_add_file(map, r->id, me, r->redpath);
    struct scr_entry *e = scr_filemap_entry(map, r->id, me);
    uint64_t size = r->header_bytes + scr_geom_parity_bytes(&r->g, r->set->me);
    if (f != NULL)
        scr_meta_set(scr_file_need_meta(f, &e->files), scr_path_base(r->redpath),
                     scr_scheme_name(r->g.scheme), size,
                     (struct scr_meta_of){ r->id, me, r->p->world->size }, 1);
}

/* The files of current in their order, instead of what there was. Those that are not
 * the filemap's become so. */
static void enter_files(const struct scr_redset *r, scr_filemap *map)
{
    struct scr_current *c = r->current;
    struct scr_entry *e = scr_filemap_add_rank(map, r->id, r->p->world->rank);
    size_t i = 0;
    if (e != NULL && c->files.n > 0) {
        scr_table_fini(&e->files);
        e->files = c->files;
        scr_table_init(&c->files, sizeof(struct scr_file));
        for (SCR_EACH(struct scr_file, f, &e->files))
            f->meta.arena = &e->files.arena;
    }
    for (struct scr_file *f = e != NULL ? (struct scr_file *)e->files.first : NULL,
                         *next;
         f != NULL; f = next) {
        next = scr_file_next(f);
        if (i < c->n && f == c->file[i])
            i++;
        else
            scr_table_remove(&e->files, f);
    }
}

int scr_redset_enter(const struct scr_redset *r, scr_filemap *map, struct scr_err *err)
{
    int me = r->p->world->rank;
    const struct scr_current *c = r->current;
    enter_files(r, map);
    scr_filemap_set_expected_files(map, r->id, me, (int)r->nfiles);
    if (c->dset != NULL)
        scr_filemap_set_dataset(map, r->id, me, c->dset);
    scr_filemap_set_desc(map, r->id, me, c->desc);
    if (c->has_chunk_crc) {
        char crc[16];
        snprintf(crc, sizeof crc, "0x%08x", c->chunk_crc);
        scr_filemap_set_tag(map, r->id, me, "CHUNKCRC", crc);
    }
    enter_redfile(r, map);
    return scr_filemap_ok(map) ? SCR_OK : scr_no_memory(err);
}
