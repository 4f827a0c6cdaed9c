/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a dataset in the caches of virtual nodes, one rank a node:
 *
 *     cli_cache BASE USER JOBID ID SCHEME RANKS SET_SIZE [PREFIX [output|host|later]]
 *
 * Rank r is on node n<r>: BASE/vnode.n<r>/USER/scr.JOBID/prefix.<n> is its control and
 * its cache directory, with the identity of PREFIX, else of SCR_PREFIX or the current
 * directory. It wrote rank_<r>.dat of 1000*(r+1)+id bytes, for <prefix>/ckpt.<id>. With
 * PREFIX the flush file there says that the dataset is in cache. It is a checkpoint, or
 * output. host: all ranks are on one node that is not virtual, BASE/USER/... later: it
 * was made after those without this word. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper_protect.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/dataset.h"
#include "fmt/filemap.h"
#include "red/redfile.h"
#include "store/cache.h"
#include "store/cntl.h"
#include "store/identity.h"

enum { MAX = 64 };

static const struct scr_env env = { .sys = &scr_sys_posix };
static int id, ranks, set_size, is_on_host;
static enum scr_scheme scheme;
static scr_hash *dset;
static const scr_meta *metas[MAX];
static char *cntl[MAX], *dir[MAX], *red[MAX];
static struct scr_identity identity;

static void check(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "cli_cache: %s\n", what);
    exit(1);
}

static void done(int rc, const struct scr_err *err)
{
    check(rc == SCR_OK, err->text);
}

static void make_rank(int r, const char *base, const char *user, const char *jobid)
{
    struct scr_err err = SCR_ERR_INIT;
    char *node = scr_asprintf("n%d", r), *name = scr_asprintf("rank_%d.dat", r);
    const struct scr_place place = { user, jobid, is_on_host ? NULL : node,
                                     identity.name };
    size_t n = 1000 * (size_t)(r + 1) + (size_t)id;
    unsigned char *bytes = scr_calloc(n, 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 31 + (size_t)r * 7 + (size_t)id);
    done(scr_place_make(&env, &place, base, 1, &err), &err);
    cntl[r] = scr_place_dir(&place, base, 1);
    done(scr_cache_make(&env, cntl[r], id, r, &err), &err);
    dir[r] = scr_cache_rank_dir(cntl[r], id, r);
    char *path = scr_path_join(dir[r], name), *where = scr_asprintf("ckpt.%d", id);
    done(scr_file_replace(env.sys, path, bytes, n,
                          (struct scr_replace){ 0600, SCR_VOLATILE }, &err),
         &err);
    scr_meta *m = scr_meta_new();
    scr_meta_set(m, name, "FULL", n, (struct scr_meta_of){ id, r, ranks }, 1);
    scr_meta_set_text(m, SCR_META_PATH, where);
    scr_meta_set_text(m, SCR_META_NAME, name);
    metas[r] = m;
    free(node), free(name), free(bytes), free(path), free(where);
}

/* As the library describes it in the filemap. */
static scr_hash *describe(int first, int n, int member)
{
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "TYPE", scr_scheme_name(scheme));
    scr_hash_set_val_i64(h, "FAILURES", scheme != SCR_SCHEME_SINGLE);
    scr_hash_set_val_i64(h, "SET_ID", first);
    scr_hash_set_val_i64(h, "RANKS", ranks);
    scr_hash *group = scr_hash_set(h, "GROUP", NULL);
    scr_hash_set_val_i64(group, "RANKS", n);
    for (int i = 0; i < n; i++)
        scr_hash_setf(group, NULL, "RANK %d %d", i, first + i);
    scr_hash_set_val_i64(h, "MEMBER", member);
    return h;
}

static void make_filemap(int r, const scr_hash *desc)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_cntl c;
    struct scr_redhead h;
    scr_filemap *map = scr_filemap_new();
    scr_meta *of_red = scr_meta_new();
    char *path = scr_asprintf("%s/rank_%d.dat", dir[r], r);
    done(scr_redhead_read(&env, red[r], &h, &err), &err);
    scr_filemap_set_meta(map, id, r, path, &h.current->file[0]->meta);
    scr_meta_set_text(of_red, SCR_META_TYPE, scr_scheme_name(scheme));
    scr_filemap_set_meta(map, id, r, red[r], of_red);
    scr_filemap_set_expected_files(map, id, r, 1);
    scr_filemap_set_dataset(map, id, r, dset);
    scr_filemap_set_desc(map, id, r, desc);
    done(scr_cntl_open(&env, cntl[r], 0, &c, &err), &err);
    done(scr_cntl_read_node(&env, &c, map, &err), &err);
    done(scr_cntl_write(&env, &c, map, &err), &err);
    done(scr_cntl_write_master(&env, &c, 1, &err), &err);
    scr_cntl_close(&env, &c);
    scr_redhead_fini(&h), scr_meta_delete(of_red), scr_filemap_delete(map);
    free(path);
}

static void make_set(int first, int n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct test_protect_part parts[MAX] = { 0 };
    int world[MAX] = { 0 };
    for (int i = 0; i < n; i++) {
        char *name = scr_redfile_name(scheme, i, n, first);
        world[i] = first + i;
        red[first + i] = scr_cache_red_path(cntl[first + i], id, name);
        parts[i] = (struct test_protect_part){ 1, &metas[first + i], dir[first + i],
                                               red[first + i] };
        free(name);
    }
    const struct test_protect_set set = { .scheme = scheme,
                                          .k = 1,
                                          .dset_id = id,
                                          .world_size = ranks,
                                          .n = n,
                                          .world_ranks = world,
                                          .dset = dset };
    done(test_protect(&env, &set, parts, &err), &err);
    for (int i = 0; i < n; i++) {
        scr_hash *desc = describe(first, n, i);
        make_filemap(first + i, desc);
        scr_hash_delete(desc);
    }
}

static int edit_flush(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)arg;
    (void)err;
    *changed = 1;
    return scr_flush_set_dataset(h, dset) == SCR_OK
               ? scr_flush_set_location(h, id, SCR_LOC_CACHE, 1)
               : SCR_E_NOMEM;
}

static void open_prefix(const char *given, struct scr_prefix *p)
{
    struct scr_err err = SCR_ERR_INIT;
    const char *set = getenv("SCR_PREFIX");
    const char *path = given ? given : set ? set : ".";
    done(scr_prefix_open(&env, path, 1, p, &err), &err);
    done(scr_identity_make(&env, p, &identity, &err), &err);
}

static void make_flush_file(const struct scr_prefix *p)
{
    struct scr_err err = SCR_ERR_INIT;
    done(scr_prefix_state_update(&env, p, "flush.scr", edit_flush, NULL, &err), &err);
}

int main(int argc, char **argv)
{
    check(argc >= 8 && argc <= 10 && scr_parse_int(argv[4], &id) &&
              scr_scheme_parse(argv[5], &scheme) && scr_parse_int(argv[6], &ranks) &&
              scr_parse_int(argv[7], &set_size) && ranks <= MAX && set_size >= 1,
          "usage: cli_cache BASE USER JOBID ID SCHEME RANKS SET_SIZE "
          "[PREFIX [output|host|later]]");
    const char *word = argc == 10 ? argv[9] : "";
    const int64_t created = 1312850690668536;
    is_on_host = strcmp(word, "host") == 0;
    char *name = scr_asprintf("ckpt.%d", id);
    const struct scr_dataset d = { .id = id,
                                   .name = name,
                                   .jobid = argv[3],
                                   .files = (uint64_t)ranks,
                                   .ckpt = id,
                                   .complete = 1,
                                   .created = created + id +
                                              (strcmp(word, "later") == 0 ? 1000 : 0),
                                   .is_ckpt = strcmp(word, "output") != 0,
                                   .is_output = strcmp(word, "output") == 0 };
    dset = scr_hash_new();
    check(scr_dataset_set(dset, &d) == SCR_OK, "dataset");
    struct scr_prefix prefix;
    open_prefix(argc > 8 ? argv[8] : NULL, &prefix);
    for (int r = 0; r < ranks; r++)
        make_rank(r, argv[1], argv[2], argv[3]);
    for (int r = 0; r < ranks; r += set_size)
        make_set(r, ranks - r < set_size ? ranks - r : set_size);
    for (int r = 0; r < ranks; r++) {
        scr_meta_delete((scr_meta *)metas[r]);
        free(cntl[r]), free(dir[r]), free(red[r]);
    }
    if (argc > 8)
        make_flush_file(&prefix);
    scr_prefix_fini(&prefix);
    scr_hash_delete(dset);
    free(name);
    return 0;
}
