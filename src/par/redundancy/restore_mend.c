/* SPDX-License-Identifier: BSD-3-Clause */
/* Restore, third part: the rebuild.
 *
 * Rebuilt files appear under temporary names below .scr, are checked, and only when
 * those of all ranks are good renamed into place; so a death at any point leaves every
 * source as it was, and the next restore starts over. */
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "par/redundancy/restoring.h"

/* Directories for the files of a rank that came to a new node. */
static int make_dirs(const struct scr_restoring *s, struct scr_err *err)
{
    const struct scr_sys *sys = s->p->env->sys;
    int rc = scr_dir_make_private(sys, s->dset_dir, ".scr", 0700, err);
    for (size_t i = 0; i < s->r.nfiles && rc == SCR_OK; i++) {
        const char *path = s->r.files[i].path;
        int outside = 0;
        if (i > 0 && scr_path_same_dir(s->r.files[i - 1].path, path))
            continue;
        char *dir = scr_path_dir(path);
        char *base = scr_path_normal(s->dset_dir);
        char *rel =
            dir != NULL && base != NULL ? scr_path_below(base, dir, &outside) : NULL;
        rc = rel != NULL ? scr_dir_make_private(sys, s->dset_dir, rel, 0700, err)
                         : scr_no_memory(err);
        free(rel);
        free(base);
        free(dir);
    }
    return rc;
}

static int name_temporaries(struct scr_restoring *s, struct scr_err *err)
{
    int me = s->p->world->rank;
    s->tmpred = scr_asprintf("%s/.scr/rebuild.%d.tmp", s->dset_dir, me);
    s->stem = scr_asprintf("%s/.scr/rebuild.%d.", s->dset_dir, me);
    if (s->tmpred != NULL && s->stem != NULL)
        return SCR_OK;
    free(s->tmpred);
    free(s->stem);
    s->tmpred = s->stem = NULL;
    return scr_no_memory(err);
}

/* Of file number i, malloc'd (red/member.h). */
static char *temporary(const struct scr_restoring *s, size_t i)
{
    return scr_asprintf("%s%zu.tmp", s->stem, i);
}

void scr_restore_remove_temporaries(const struct scr_restoring *s)
{
    const struct scr_sys *sys = s->p->env->sys;
    if (s->tmpred != NULL)
        (void)scr_file_remove(sys, s->tmpred, NULL);
    for (size_t i = 0; s->stem != NULL && i < s->r.nfiles; i++) {
        char *path = temporary(s, i);
        if (path != NULL)
            (void)scr_file_remove(sys, path, NULL);
        free(path);
    }
}

/* The same files, to note CRCs in. */
static struct scr_member_file *files_to_sum(const struct scr_restoring *s)
{
    struct scr_member_file *files = scr_calloc(s->r.nfiles, sizeof *files);
    for (size_t i = 0; files != NULL && i < s->r.nfiles; i++)
        files[i] = s->r.files[i];
    return files;
}

/* Bytes read or written by the rebuild must be the protected ones. */
static int check_crcs(const struct scr_restoring *s,
                      const struct scr_member_file *files, uint32_t parity_crc,
                      struct scr_err *err)
{
    const struct scr_current *c = s->r.current;
    uint32_t recorded = c->has_chunk_crc ? c->chunk_crc : parity_crc;
    if (recorded != parity_crc)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "rebuild of %s: crc32 of parity 0x%08x, recorded is 0x%08x",
                        s->r.redpath, parity_crc, recorded);
    for (size_t i = 0; i < s->r.nfiles; i++) {
        if (scr_meta_get_crc32(&c->file[i]->meta, &recorded) == SCR_OK &&
            recorded != files[i].crc)
            return scr_fail(err, SCR_E_CORRUPT, 0,
                            "rebuild of %s: crc32 0x%08x, recorded is 0x%08x",
                            s->r.files[i].path, files[i].crc, recorded);
    }
    return SCR_OK;
}

static int dress_temporaries(const struct scr_restoring *s, struct scr_err *err)
{
    int rc = SCR_OK, has_data = s->have[s->set.me] & SCR_HAVE_DATA;
    for (size_t i = 0; i < s->r.nfiles && !has_data && rc == SCR_OK; i++) {
        char *path = temporary(s, i);
        rc = path != NULL ? scr_redfile_dress(s->p->env, s->r.current, i, path, err)
                          : scr_no_memory(err);
        free(path);
    }
    return rc;
}

static int prepare(struct scr_restoring *s, int *flags, struct scr_err *err)
{
    int have = s->have[s->set.me];
    *flags = have & SCR_HAVE_DATA ? SCR_MEMBER_READ_DATA : SCR_MEMBER_WRITE_DATA;
    *flags |= have & SCR_HAVE_PARITY ? SCR_MEMBER_READ_PARITY : SCR_MEMBER_WRITE_PARITY;
    if (have & SCR_HAVE_PARITY)
        s->r.header_bytes = s->head.bytes;
    if (have == SCR_HAVE_ALL)
        return SCR_OK;
    TRY(make_dirs(s, err));
    if (s->stem == NULL)
        TRY(name_temporaries(s, err));
    if (!(have & SCR_HAVE_PARITY))
        TRY(scr_redset_header_size(&s->r, &s->r.header_bytes, err));
    scr_restore_remove_temporaries(s); /* of a rebuild that died or failed */
    return SCR_OK;
}

/* Collective over the set: leaves the rebuilt files under their temporary names. What
 * is read on the way is verified like what is written. The code is each rank's own. */
static int rebuild_all(struct scr_restoring *s, struct scr_err *err)
{
    int flags = 0, have = s->have[s->set.me];
    struct scr_member_file *sources = files_to_sum(s);
    int rc = sources != NULL ? prepare(s, &flags, err) : scr_no_memory(err);
    struct scr_redset_run run = { .have = s->have,
                                  .flags = flags,
                                  .files = sources,
                                  .stem = have & SCR_HAVE_DATA ? NULL : s->stem,
                                  .redpath =
                                      have & SCR_HAVE_PARITY ? s->r.redpath : s->tmpred,
                                  .want_crc = have != SCR_HAVE_ALL || s->has_crc };
    rc = scr_redset_run_all(&s->r, &run, rc, err);
    if (rc == SCR_OK && run.want_crc)
        rc = check_crcs(s, run.files, run.parity_crc, err);
    free(sources);
    rc = rc == SCR_OK ? dress_temporaries(s, err) : rc;
    if (run.started) /* also where this member failed: others wait for its list */
        rc = scr_redset_write_header_all(&s->r, s->have, s->tmpred, rc, err);
    return rc;
}

/* After a rebuild that failed: what can really be read? 1 if that is less than was
 * thought and still suffices. */
static int worth_another_all(struct scr_restoring *s, int *rc, struct scr_err *err)
{
    int before[SCR_EC_MAX], fewer = 0;
    memcpy(before, s->have, sizeof before);
    *rc = scr_set_agree_all(&s->set, scr_restore_read_all(s, SCR_OK, err), err);
    for (int i = 0; i < s->set.n; i++)
        fewer = fewer || (before[i] & ~s->have[i]) != 0;
    return *rc == SCR_OK && fewer;
}

/* Collective over a set that lacks something, after some set has failed. The first look
 * went by sizes. A source that turns out to be damaged or unreadable in the rebuild is
 * found by a look that reads everything, and counts as lost in the next attempt; every
 * attempt knows of one loss more, so there are few. first: of the attempt before, whose
 * code is rc. */
static int mend_again_all(struct scr_restoring *s, int rc, struct scr_err *first,
                          struct scr_err *err)
{
    int again = SCR_OK;
    rc = scr_set_agree_all(&s->set, rc, first);
    while (rc != SCR_OK && worth_another_all(s, &again, err)) {
        scr_err_clear(first);
        rc = scr_set_agree_all(&s->set, rebuild_all(s, first), first);
    }
    if (rc == SCR_OK || again != SCR_OK)
        return rc == SCR_OK ? SCR_OK : again;
    if (err != NULL && err->code == SCR_OK)
        *err = *first;
    return rc;
}

int scr_restore_put_in_place(const struct scr_restoring *s, struct scr_err *err)
{
    const struct scr_sys *sys = s->p->env->sys;
    int have = s->have[s->set.me], rc = SCR_OK;
    for (size_t i = 0; i < s->r.nfiles && !(have & SCR_HAVE_DATA) && rc == SCR_OK;
         i++) {
        char *path = temporary(s, i);
        rc = path != NULL ? scr_file_rename(sys, path, s->r.files[i].path, err)
                          : scr_no_memory(err);
        free(path);
    }
    if (rc == SCR_OK && !(have & SCR_HAVE_PARITY))
        rc = scr_file_rename(sys, s->tmpred, s->r.redpath, err);
    return rc;
}

/* Where another set cannot be rebuilt, the work is in vain: that is rare, and costs a
 * reduction less where it is not so. */
int scr_restore_mend_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    struct scr_err first = SCR_ERR_INIT;
    int lacks = s->suffices && !scr_restore_is_whole(s);
    int rebuilt = lacks ? rebuild_all(s, &first) : SCR_OK;
    struct scr_vote v = { .least = { rebuilt == SCR_OK } };
    rc = scr_vote_all(s->p->world, rc, &v, err);
    if (rc == SCR_OK && v.least[0])
        return SCR_OK;
    if (rc == SCR_OK) {
        rc = lacks ? mend_again_all(s, rebuilt, &first, err) : SCR_OK;
        rc = scr_agree_all(s->p->world, rc, err);
    }
    if (rc != SCR_OK)
        scr_restore_remove_temporaries(s);
    return rc;
}
