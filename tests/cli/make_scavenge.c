/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes what a scavenge leaves of one dataset in a prefix directory:
 *
 *     cli_scavenge PREFIX ID SCHEME RANKS SET_SIZE [EMPTY [PATH [SHARED]]]
 *
 * Rank r wrote ckpt.<id>/rank_<r>.dat of 1000*(r+1)+id bytes, and EMPTY (1) additional
 * empty files, with long names if there are several. With PATH the meta data name that
 * directory as the destination, wherever it leads; "" stands for none. With SHARED they
 * say that other ranks wrote rank_0.dat, too. Redundancy files and <rank>.scrfilemap
 * files are in .scr/scr.dataset.<id>. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "helper_protect.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/dataset.h"
#include "fmt/filemap.h"
#include "red/redfile.h"

enum { MAX = 64, MAX_FILES = 128 };

static const struct scr_env env = { .sys = &scr_sys_posix };
static const char *prefix;
static const char *path_in_meta;
static int is_shared;
static int id, ranks, set_size, nfiles = 1;
static enum scr_scheme scheme;
static char *dset_dir, *cache;
static scr_hash *dset;
static const scr_meta *metas[MAX][MAX_FILES];

static void check(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "cli_scavenge: %s\n", what);
    exit(1);
}

static void done(int rc, const struct scr_err *err)
{
    check(rc == SCR_OK, err->text);
}

static size_t size_of(int rank, int file)
{
    return file == 0 ? 1000 * (size_t)(rank + 1) + (size_t)id : 0;
}

/* In the cache the file has another name than at its destination. */
static void make_file(int rank, int file)
{
    struct scr_err err = SCR_ERR_INIT;
    struct stat st;
    size_t n = size_of(rank, file);
    unsigned char *bytes = scr_calloc(n, 1);
    char *name = file == 0   ? scr_asprintf("rank_%d.dat", rank)
                 : file == 1 ? scr_asprintf("empty_%d", rank)
                             : scr_asprintf("empty_%d_%0200d", rank, file);
    char *where = scr_asprintf("ckpt.%d", id), *key = scr_asprintf("%d/%s", rank, name);
    char *dest = scr_asprintf("%s/%s/%s", prefix, where, name);
    char *cached = scr_asprintf("%s/%s", cache, key);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 31 + (size_t)rank * 7 + (size_t)id);
    done(scr_file_replace(&scr_sys_posix, dest, bytes, n,
                          (struct scr_replace){ 0640, SCR_VOLATILE }, &err),
         &err);
    done(scr_file_replace(&scr_sys_posix, cached, bytes, n,
                          (struct scr_replace){ 0640, SCR_VOLATILE }, &err),
         &err);
    done(scr_file_stat(&scr_sys_posix, dest, &st, &err), &err);

    scr_meta *m = scr_meta_new();
    scr_meta_set(m, key, "FULL", n, (struct scr_meta_of){ id, rank, ranks }, 1);
    scr_meta_set_text(m, SCR_META_ORIG, dest);
    scr_meta_set_text(m, SCR_META_PATH, path_in_meta ? path_in_meta : where);
    scr_meta_set_text(m, SCR_META_NAME, name);
    scr_meta_set_stat(m, &st);
    if (is_shared && rank == 0 && file == 0)
        scr_meta_set_shared(m);
    metas[rank][file] = m;
    free(bytes), free(name), free(where), free(key), free(dest), free(cached);
}

static void make_rank(int rank)
{
    struct scr_err err = SCR_ERR_INIT;
    char *dir = scr_asprintf("%s/%d", cache, rank);
    done(scr_dir_make(&scr_sys_posix, dir, 0700, &err), &err);
    for (int f = 0; f < nfiles; f++)
        make_file(rank, f);
    free(dir);
}

static char *red_path(int first, int n, int member)
{
    char *name = scr_redfile_name(scheme, member, n, first);
    char *path = scr_path_join(dset_dir, name);
    free(name);
    return path;
}

/* One set of n ranks, from `first` on. */
static void make_set(int first, int n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct test_protect_part parts[MAX];
    int world[MAX];
    for (int i = 0; i < n; i++) {
        world[i] = first + i;
        parts[i] = (struct test_protect_part){ (size_t)nfiles, metas[first + i], cache,
                                               red_path(first, n, i) };
    }
    const struct test_protect_set set = { .scheme = scheme,
                                          .k = 2,
                                          .dset_id = id,
                                          .world_size = ranks,
                                          .n = n,
                                          .world_ranks = world,
                                          .dset = dset };
    done(test_protect(&env, &set, parts, &err), &err);
    for (int i = 0; i < n; i++)
        free((char *)parts[i].redpath);
}

static void make_filemap(int rank)
{
    struct scr_err err = SCR_ERR_INIT;
    char *path = scr_asprintf("%s/%d.scrfilemap", dset_dir, rank);
    scr_filemap *map = scr_filemap_new();
    for (int f = 0; f < nfiles; f++) {
        char *dest =
            path_in_meta ? scr_asprintf("%d", f) : scr_meta_dest(metas[rank][f]);
        scr_filemap_set_meta(map, id, rank, dest, metas[rank][f]);
        free(dest);
    }
    scr_filemap_set_expected_files(map, id, rank, nfiles);
    scr_filemap_set_dataset(map, id, rank, dset);
    done(scr_filemap_write(&scr_sys_posix, path, map, SCR_VOLATILE, &err), &err);
    scr_filemap_delete(map);
    free(path);
}

static void make_dirs(void)
{
    struct scr_err err = SCR_ERR_INIT;
    char *dest = scr_asprintf("%s/ckpt.%d", prefix, id);
    dset_dir = scr_asprintf("%s/.scr/scr.dataset.%d", prefix, id);
    cache = scr_asprintf("%s/.cache.%d", prefix, id);
    done(scr_dir_make(&scr_sys_posix, dest, 0755, &err), &err);
    done(scr_dir_make(&scr_sys_posix, dset_dir, 0755, &err), &err);
    free(dest);
}

int main(int argc, char **argv)
{
    struct scr_err err = SCR_ERR_INIT;
    check(
        argc >= 6 && scr_parse_int(argv[2], &id) &&
            scr_scheme_parse(argv[3], &scheme) && scr_parse_int(argv[4], &ranks) &&
            scr_parse_int(argv[5], &set_size) &&
            (argc < 7 || scr_parse_int(argv[6], &nfiles)) && ranks <= MAX &&
            set_size >= 1 && nfiles++ < MAX_FILES,
        "usage: cli_scavenge PREFIX ID SCHEME RANKS SET_SIZE [EMPTY [PATH [SHARED]]]");
    path_in_meta = argc >= 8 && argv[7][0] != '\0' ? argv[7] : NULL;
    is_shared = argc >= 9;
    prefix = argv[1];
    char *name = scr_asprintf("ckpt.%d", id);
    dset = scr_hash_new();
    struct scr_dataset d = { .id = id,
                             .name = name,
                             .user = "user1",
                             .ckpt = id,
                             .complete = 1,
                             .is_ckpt = 1,
                             .created = 1312850690668536 };
    make_dirs();
    for (int r = 0; r < ranks; r++) {
        make_rank(r);
        d.size += size_of(r, 0);
        d.files += (uint64_t)nfiles;
    }
    check(scr_dataset_set(dset, &d) == SCR_OK, "dataset");
    for (int r = 0; r < ranks; r += set_size)
        make_set(r, ranks - r < set_size ? ranks - r : set_size);
    for (int r = 0; r < ranks; r++) {
        make_filemap(r);
        for (int f = 0; f < nfiles; f++)
            scr_meta_delete((scr_meta *)metas[r][f]);
    }
    done(scr_dir_remove(&scr_sys_posix, cache, &err), &err);
    scr_hash_delete(dset);
    free(name), free(dset_dir), free(cache);
    return 0;
}
