/* SPDX-License-Identifier: BSD-3-Clause */
/* Serial rebuild of one set: read what is left, believe nothing, compute the rest under
 * temporary names, and only then put it in place. */
#include "red/redfile.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "red/serial.h"
#include "store/prefix.h"
#include <stdlib.h>
#include <string.h>

/* A member, and its replacement. */
struct part {
    struct scr_redhead head; /* current NULL: no good redundancy file */
    uint64_t header_bytes;
    struct scr_current *copy;          /* from a neighbour's header, owned */
    const struct scr_current *current; /* of its own header, or that */
    struct scr_member_file *files;
    size_t nfiles;
    int has_crc;
    uint8_t *good; /* good[f]: file f is what was recorded */
    int have;      /* SCR_HAVE_* */
    struct scr_member_file
        *tmp;     /* files under temporary names, while data is rebuilt */
    char *redtmp; /* temporary; NULL: not rebuilt */
    const char *redout;
    struct scr_member *member;
};

struct rebuild {
    const struct scr_env *env;
    const struct scr_rebuild_set *set;
    enum { MEND, LOOK, GLANCE } what; /* LOOK: nothing is written; GLANCE: nor read */
    int n;
    const struct scr_redinfo *info; /* of the first good header; NULL: none so far */
    struct part *part;              /* n of them */
    struct scr_geom g;
    struct scr_err *passing; /* gets the first that may pass; NULL: not asked */
};

static void warn(const struct rebuild *r, struct scr_err *why)
{
    scr_log(r->env->log, SCR_LOG_WARN, "%s: counts as lost", why->text);
    if (scr_err_may_pass(why->code))
        scr_err_take(r->passing, why->code, why);
    scr_err_clear(why);
}

/* --- headers --- */

/* The header of member i, if it is one of this set. */
static int read_header(struct rebuild *r, int i, struct scr_err *err)
{
    struct part *p = &r->part[i];
    const struct scr_redinfo *info = &p->head.info;
    int rc = scr_redhead_read(r->env, r->set->red[i], &p->head, err);
    if (rc == SCR_OK && (info->set.n != r->n || info->set.member != i)) {
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s: member %d of %d, not %d of %d",
                      r->set->red[i], info->set.member + 1, info->set.n, i + 1, r->n);
        scr_redhead_fini(&p->head);
    }
    p->header_bytes = p->head.bytes;
    return rc;
}

static int same_set(const struct scr_redinfo *a, const struct scr_redinfo *b)
{
    return a->dset_id == b->dset_id && a->set.ranks == b->set.ranks &&
           a->set.n == b->set.n && a->set.failures == b->set.failures &&
           a->set.scheme == b->set.scheme && a->chunk == b->chunk &&
           memcmp(a->set.world, b->set.world, (size_t)a->set.n * sizeof(int)) == 0;
}

/* A damaged header is a lost one; two valid headers that disagree are an error. */
static int load_header(struct rebuild *r, int i, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = read_header(r, i, &why);
    if (rc == SCR_E_NOMEM)
        return scr_err_take(err, rc, &why);
    if (rc != SCR_OK) {
        warn(r, &why);
        return SCR_OK;
    }
    if (r->info == NULL)
        r->info = &r->part[i].head.info;
    if (same_set(r->info, &r->part[i].head.info))
        return SCR_OK;
    return scr_fail(err, SCR_E_CORRUPT, 0,
                    "%s: belongs to another set or dataset than the others",
                    r->set->red[i]);
}

static int load_headers(struct rebuild *r, struct scr_err *err)
{
    for (int i = 0; i < r->n; i++) {
        TRY(r->set->red[i] != NULL ? load_header(r, i, err) : SCR_OK);
    }
    if (r->info != NULL)
        return SCR_OK;
    return scr_fail(err, SCR_E_LOST, 0,
                    "redundancy set of %d members: no redundancy file is left", r->n);
}

/* --- meta data --- */

/* CURRENT of member i: its own, or the copy a right neighbour keeps. */
static int find_current(struct rebuild *r, int i, struct scr_err *err)
{
    struct part *p = &r->part[i];
    int copies = scr_redfile_copies(r->n, r->info->set.failures), rc = SCR_OK;
    p->current = p->head.current;
    for (int j = 1; j <= copies && p->current == NULL && rc != SCR_E_NOMEM; j++) {
        struct scr_err why = SCR_ERR_INIT;
        const struct scr_redcopy *copy = &r->part[(i + j) % r->n].head.copy[j - 1];
        rc = copy->p ? scr_current_unpack(copy->p, copy->n, &p->copy, &why) : SCR_OK;
        if (p->copy != NULL && p->copy->rank == r->info->set.world[i]) {
            p->current = p->copy;
        } else {
            scr_current_delete(p->copy);
            p->copy = NULL;
        }
    }
    if (rc == SCR_E_NOMEM)
        return scr_fail(err, rc, 0, "redundancy header: list of files");
    if (p->current != NULL)
        return SCR_OK;
    return scr_fail(err, SCR_E_LOST, 0,
                    "rank %d: the meta data of its files is lost, its own "
                    "redundancy file and those that hold a copy of it are gone",
                    r->info->set.world[i]);
}

static const char *dir_of(const struct rebuild *r, int i)
{
    static const char nowhere[] = "/dev/null"; /* no file lies below it */
    const char *dir = r->set->prefix ? r->set->prefix : r->set->dir[i];
    return dir ? dir : nowhere;
}

static int list_files(struct rebuild *r, int i, uint64_t *len, struct scr_err *err)
{
    struct part *p = &r->part[i];
    TRY(find_current(r, i, err));
    enum scr_layout layout = r->set->prefix ? SCR_LAYOUT_PREFIX : SCR_LAYOUT_CACHE;
    TRY(scr_redfile_files(p->current, dir_of(r, i), layout, &p->files, &p->has_crc,
                          err));
    p->nfiles = p->current->n;
    for (size_t f = 0; f < p->nfiles; f++)
        *len += p->files[f].size;
    p->good = scr_calloc(p->nfiles, sizeof *p->good);
    return p->good ? SCR_OK : scr_no_memory(err);
}

static int make_geometry(struct rebuild *r, struct scr_err *err)
{
    uint64_t len[SCR_EC_MAX] = { 0 };
    for (int i = 0; i < r->n; i++) {
        TRY(list_files(r, i, &len[i], err));
    }
    TRY(scr_geom_init(&r->g, r->info->set.scheme, r->n, r->info->set.failures, len,
                      err));
    if (r->g.chunk == r->info->chunk)
        return SCR_OK;
    return scr_fail(err, SCR_E_CORRUPT, 0,
                    "redundancy set %d: chunks of %llu bytes do not fit its files",
                    r->info->set.id, (unsigned long long)r->info->chunk);
}

/* --- what is left --- */

/* SCR_OK if the bytes of path from off on are size bytes with this CRC. */
static int check_bytes(const struct rebuild *r, const char *path, uint64_t off,
                       uint64_t size, const uint32_t *crc, struct scr_err *err)
{
    struct stat st;
    uint64_t got;
    uint32_t is;
    TRY(scr_file_stat(r->env->sys, path, &st, err));
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != off + size)
        return scr_fail(err, SCR_E_MISSING, 0, "%s: not a file of %llu bytes", path,
                        (unsigned long long)(off + size));
    if (crc == NULL || r->what == GLANCE)
        return SCR_OK;
    TRY(scr_file_crc32(r->env, path, off, &got, &is, err));
    if ((got != size || is != *crc))
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: CRC is 0x%08x, recorded is 0x%08x",
                        path, is, *crc);
    return SCR_OK;
}

/* A file of a member that is elsewhere is lost: no later look finds it. */
static int check_file(const struct rebuild *r, const struct part *p, size_t f,
                      struct scr_err *err)
{
    const struct scr_member_file *file = &p->files[f];
    if (r->set->prefix == NULL && r->set->dir[p - r->part] == NULL)
        return scr_fail(err, SCR_E_MISSING, 0, "%s is on no node in reach",
                        scr_path_base(file->path));
    return check_bytes(r, file->path, 0, file->size, p->has_crc ? &file->crc : NULL,
                       err);
}

/* A member's data counts as a whole: one bad file and all its symbols are computed. */
static int check_data(const struct rebuild *r, struct part *p, struct scr_err *err)
{
    p->have |= SCR_HAVE_DATA;
    for (size_t f = 0; f < p->nfiles; f++) {
        struct scr_err why = SCR_ERR_INIT;
        int rc = check_file(r, p, f, &why);
        if (rc == SCR_E_NOMEM)
            return scr_err_take(err, rc, &why);
        p->good[f] = rc == SCR_OK;
        if (rc != SCR_OK) {
            p->have &= ~SCR_HAVE_DATA;
            warn(r, &why);
        }
    }
    return SCR_OK;
}

static int check_parity(const struct rebuild *r, int i, struct scr_err *err)
{
    struct part *p = &r->part[i];
    struct scr_err why = SCR_ERR_INIT;
    const struct scr_current *c = p->head.current;
    if (c == NULL)
        return SCR_OK;
    int rc =
        check_bytes(r, r->set->red[i], p->header_bytes, scr_geom_parity_bytes(&r->g, i),
                    c->has_chunk_crc ? &c->chunk_crc : NULL, &why);
    if (rc == SCR_E_NOMEM)
        return scr_err_take(err, rc, &why);
    if (rc == SCR_OK)
        p->have |= SCR_HAVE_PARITY;
    else
        warn(r, &why);
    return SCR_OK;
}

static int check_parts(struct rebuild *r, struct scr_err *err)
{
    for (int i = 0; i < r->n; i++) {
        TRY(check_data(r, &r->part[i], err));
        TRY(check_parity(r, i, err));
    }
    return SCR_OK;
}

static void list_have(const struct rebuild *r, int *have)
{
    for (int i = 0; i < r->n; i++)
        have[i] = r->part[i].have;
}

/* Ranks that lost something, for the error message. */
static int refuse(const struct rebuild *r, struct scr_err *err)
{
    struct scr_str ranks = SCR_STR_INIT;
    for (int i = 0; i < r->n; i++)
        if (r->part[i].have != SCR_HAVE_ALL)
            scr_str_printf(&ranks, "%s%d", ranks.len > 0 ? ", " : "",
                           r->info->set.world[i]);
    char *text = scr_str_take(&ranks);
    int rc = scr_fail(err, SCR_E_LOST, 0,
                      "redundancy set %d: lost or damaged on ranks %s: more than %s of "
                      "%d members can rebuild",
                      r->info->set.id, text != NULL ? text : "?",
                      scr_scheme_name(r->info->set.scheme), r->n);
    free(text);
    return rc;
}

static int check_tolerance(struct rebuild *r, int *lost, struct scr_err *err)
{
    int have[SCR_EC_MAX];
    list_have(r, have);
    if (!scr_geom_recoverable(&r->g, have))
        return refuse(r, err);
    *lost = 0;
    for (int i = 0; i < r->n; i++) {
        struct part *p = &r->part[i];
        p->redout = r->set->out && r->set->out[i] ? r->set->out[i] : r->set->red[i];
        *lost |= p->have != SCR_HAVE_ALL;
        if (!(p->have & SCR_HAVE_PARITY) && p->redout == NULL && r->what == MEND)
            return scr_fail(err, SCR_E_ARG, 0,
                            "rank %d: no path for its redundancy file",
                            r->info->set.world[i]);
    }
    return SCR_OK;
}

/* --- temporary files --- */

/* A name of constant form next to path: the next rebuild reuses files of a failed one.
 */
static char *tmp_name(const struct rebuild *r, int i, const char *path, long file)
{
    char *dir = scr_path_dir(path);
    char *tmp = dir == NULL ? NULL
                            : scr_asprintf("%s/.scr_rebuild_%d_%ld.tmp", dir,
                                           r->info->set.world[i], file);
    free(dir);
    return tmp;
}

/* Files below a directory: the prefix, so that no link leads writes out of it
 * (invariant P20). NULL: anywhere. */
static int make_parent(const struct rebuild *r, const char *path, const char *below,
                       struct scr_err *err)
{
    mode_t mode = r->set->prefix ? 0777 : 0700; /* less the umask */
    struct scr_err why = SCR_ERR_INIT;
    char *dir = scr_path_dir(path);
    TRY(dir ? SCR_OK : scr_no_memory(err));
    int rc = below != NULL ? scr_path_check_inside(below, dir, &why) : SCR_OK;
    if (rc == SCR_OK)
        rc = scr_dir_make(r->env->sys, dir, mode, err);
    else
        scr_fail(err, rc, 0, "rebuild %s: %s", path, why.text);
    free(dir);
    return rc;
}

static int name_files(struct rebuild *r, int i, struct scr_err *err)
{
    struct part *p = &r->part[i];
    int rc = SCR_OK;
    p->tmp = scr_calloc(p->nfiles, sizeof *p->tmp);
    for (size_t f = 0; rc == SCR_OK && p->tmp != NULL && f < p->nfiles; f++) {
        p->tmp[f] = p->files[f];
        p->tmp[f].path = tmp_name(r, i, p->files[f].path, (long)f);
        rc = p->tmp[f].path == NULL
                 ? scr_no_memory(err)
                 : make_parent(r, p->files[f].path, r->set->prefix, err);
    }
    TRY(p->tmp ? SCR_OK : scr_no_memory(err));
    return rc;
}

/* The header as the encode wrote it, into the temporary redundancy file. */
static int start_redfile(struct rebuild *r, int i, struct scr_err *err)
{
    struct part *p = &r->part[i];
    struct scr_redowner o = { &r->g, i, r->info->dset_id, r->info->set.ranks,
                              r->info->set.world };
    struct scr_str header = SCR_STR_INIT, left[SCR_EC_MAX] = { SCR_STR_INIT };
    int copies = scr_redfile_copies(r->n, r->g.k);
    int rc;
    TRY(make_parent(r, p->redout, NULL, err));
    for (int j = 1; j <= copies; j++)
        scr_current_pack(&left[j - 1], r->part[(i + r->n - j) % r->n].current);
    scr_redfile_header(&header, &o, p->current, left, copies);
    p->header_bytes = header.len;
    p->redtmp = tmp_name(r, i, p->redout, -1);
    if (header.bad || p->redtmp == NULL)
        rc = scr_no_memory(err);
    else
        rc = scr_redfile_write(r->env, p->redtmp, &header, err);
    for (int j = 1; j <= copies; j++)
        scr_str_free(&left[j - 1]);
    scr_str_free(&header);
    return rc;
}

static int open_part(struct rebuild *r, int i, struct scr_err *err)
{
    struct part *p = &r->part[i];
    int data = p->have & SCR_HAVE_DATA, parity = p->have & SCR_HAVE_PARITY;
    int flags = (data ? SCR_MEMBER_READ_DATA : SCR_MEMBER_WRITE_DATA) |
                (parity ? SCR_MEMBER_READ_PARITY : SCR_MEMBER_WRITE_PARITY);
    if (!data)
        TRY(name_files(r, i, err));
    if (!parity)
        TRY(start_redfile(r, i, err));
    const struct scr_member_def def = { .g = &r->g,
                                        .me = i,
                                        .flags = flags,
                                        .files = data ? p->files : p->tmp,
                                        .nfiles = p->nfiles,
                                        .redpath = parity ? r->set->red[i] : p->redtmp,
                                        .header_bytes = p->header_bytes };
    return scr_member_open(r->env, &def, &p->member, err);
}

static int compute(struct rebuild *r, struct scr_err *err)
{
    struct scr_member *members[SCR_EC_MAX];
    int have[SCR_EC_MAX];
    for (int i = 0; i < r->n; i++) {
        TRY(open_part(r, i, err));
        members[i] = r->part[i].member;
    }
    list_have(r, have);
    return scr_rows_run(&r->g, have, members, err);
}

/* --- into place --- */

/* What was rebuilt must have the CRCs that were recorded when it was whole. */
static int verify_part(struct rebuild *r, int i, struct scr_err *err)
{
    struct part *p = &r->part[i];
    uint32_t parity = 0;
    if (p->have == SCR_HAVE_ALL)
        return SCR_OK;
    TRY(scr_member_finish(p->member, p->tmp, p->redtmp != NULL ? &parity : NULL, err));
    for (size_t f = 0; p->tmp != NULL && f < p->nfiles; f++)
        if (p->has_crc && p->tmp[f].crc != p->files[f].crc)
            return scr_fail(err, SCR_E_CORRUPT, 0,
                            "%s: rebuilt with CRC 0x%08x, recorded is 0x%08x",
                            p->files[f].path, p->tmp[f].crc, p->files[f].crc);
    if (p->redtmp != NULL && p->current->has_chunk_crc &&
        parity != p->current->chunk_crc)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "%s: rebuilt with CRC 0x%08x, recorded is 0x%08x", p->redout,
                        parity, p->current->chunk_crc);
    return SCR_OK;
}

static int close_parts(struct rebuild *r, struct scr_err *err)
{
    int rc = SCR_OK;
    for (int i = 0; i < r->n; i++) {
        int closed = scr_member_close(r->part[i].member, err);
        r->part[i].member = NULL;
        rc = scr_first(rc, closed);
    }
    return rc;
}

/* Files that were good all the time stay as they are, with their times and modes. Their
 * copies go first: so a temporary file left by a crash always belongs to something that
 * still counts as lost, and the next rebuild uses its name again. */
static int drop_good(const struct rebuild *r, struct scr_err *err)
{
    int rc = SCR_OK;
    for (int i = 0; i < r->n; i++) {
        struct part *p = &r->part[i];
        for (size_t f = 0; rc == SCR_OK && p->tmp != NULL && f < p->nfiles; f++) {
            if (!p->good[f])
                continue;
            rc = scr_file_remove(r->env->sys, p->tmp[f].path, err);
            if (rc == SCR_OK) {
                free(p->tmp[f].path);
                p->tmp[f].path = NULL;
            }
        }
    }
    return rc;
}

/* A rebuilt file is as it was, and not only its bytes. */
static int dress_files(const struct rebuild *r, struct scr_err *err)
{
    for (int i = 0; i < r->n; i++) {
        const struct part *p = &r->part[i];
        for (size_t f = 0; p->tmp != NULL && f < p->nfiles; f++)
            if (p->tmp[f].path != NULL)
                TRY(scr_redfile_dress(r->env, p->current, f, p->tmp[f].path, err));
    }
    return SCR_OK;
}

/* Calls fn with every temporary file and its destination: the data of all members, then
 * their redundancy files, which mark the data as complete. */
typedef int (*each_fn)(const struct rebuild *r, const char *tmp, const char *path,
                       struct scr_err *err);

static int each_file(const struct rebuild *r, const struct part *p, each_fn fn,
                     struct scr_err *err)
{
    for (size_t f = 0; p->tmp != NULL && f < p->nfiles; f++)
        if (p->tmp[f].path != NULL)
            TRY(fn(r, p->tmp[f].path, p->files[f].path, err));
    return SCR_OK;
}

static int each_rebuilt(const struct rebuild *r, each_fn fn, struct scr_err *err)
{
    for (int i = 0; i < r->n; i++)
        TRY(each_file(r, &r->part[i], fn, err));
    for (int i = 0; i < r->n; i++)
        if (r->part[i].redtmp != NULL)
            TRY(fn(r, r->part[i].redtmp, r->part[i].redout, err));
    return SCR_OK;
}

static int sync_one(const struct rebuild *r, const char *tmp, const char *path,
                    struct scr_err *err)
{
    (void)path;
    return scr_file_sync(r->env->sys, tmp, err);
}

static int rename_one(const struct rebuild *r, const char *tmp, const char *path,
                      struct scr_err *err)
{
    return scr_file_rename(r->env->sys, tmp, path, err);
}

static int sync_dir_of(const struct rebuild *r, const char *tmp, const char *path,
                       struct scr_err *err)
{
    (void)tmp;
    return scr_dir_sync_parent(r->env->sys, path, err);
}

static int remove_one(const struct rebuild *r, const char *tmp, const char *path,
                      struct scr_err *err)
{
    (void)path, (void)err;
    (void)scr_file_remove(r->env->sys, tmp, NULL); /* another error is reported */
    return SCR_OK;
}

static int publish(struct rebuild *r, struct scr_err *err)
{
    int rc = SCR_OK;
    for (int i = 0; rc == SCR_OK && i < r->n; i++)
        rc = verify_part(r, i, err);
    TRY(scr_first(rc, close_parts(r, err)));
    TRY(drop_good(r, err));
    TRY(dress_files(r, err));
    TRY(each_rebuilt(r, sync_one, err));
    TRY(each_rebuilt(r, rename_one, err));
    return each_rebuilt(r, sync_dir_of, err);
}

/* --- all of it --- */

static int rebuild_set(struct rebuild *r, struct scr_err *err)
{
    int rc, lost;
    TRY(load_headers(r, err));
    TRY(make_geometry(r, err));
    TRY(check_parts(r, err));
    TRY(check_tolerance(r, &lost, err));
    if (!lost || r->what != MEND)
        return SCR_OK;
    TRY_OUT(compute(r, err));
    TRY_OUT(publish(r, err));
out:
    if (rc != SCR_OK) {
        (void)close_parts(r, NULL);
        (void)each_rebuilt(r, remove_one, NULL);
    }
    return rc;
}

static void free_parts(struct rebuild *r)
{
    for (int i = 0; r->part != NULL && i < r->n; i++) {
        struct part *p = &r->part[i];
        scr_redhead_fini(&p->head);
        scr_current_delete(p->copy);
        scr_member_files_free(p->files, p->nfiles);
        scr_member_files_free(p->tmp, p->nfiles);
        free(p->good);
        free(p->redtmp);
    }
    free(r->part);
}

static int run(struct rebuild *r, int *rebuilt, struct scr_err *err)
{
    if (r->n < 1 || r->n > SCR_EC_MAX)
        return scr_fail(err, SCR_E_RANGE, 0,
                        "redundancy set of %d members: must have 1 to %d", r->n,
                        SCR_EC_MAX);
    r->part = scr_calloc((size_t)r->n, sizeof *r->part);
    int rc = r->part != NULL ? rebuild_set(r, err) : scr_no_memory(err);
    for (int i = 0; rebuilt != NULL && i < r->n; i++)
        rebuilt[i] = rc == SCR_OK ? SCR_HAVE_ALL & ~r->part[i].have : 0;
    free_parts(r);
    return rc;
}

int scr_rebuild_serial(const struct scr_env *env, const struct scr_rebuild_set *set,
                       int *rebuilt, struct scr_err *err)
{
    struct rebuild r = { .env = env, .set = set, .n = set->n };
    return run(&r, rebuilt, err);
}

int scr_rebuild_check(const struct scr_env *env, const struct scr_rebuild_set *set,
                      int with_crc, int *lost, struct scr_err *err)
{
    struct scr_err passing = SCR_ERR_INIT, why = SCR_ERR_INIT;
    struct rebuild r = { .env = env,
                         .set = set,
                         .what = with_crc ? LOOK : GLANCE,
                         .n = set->n,
                         .passing = &passing };
    int rc = run(&r, lost, &why);
    if (rc == SCR_E_LOST && passing.code != SCR_OK)
        return scr_err_take(err, passing.code, &passing);
    return scr_err_take(err, rc, &why);
}
