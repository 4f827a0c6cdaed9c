/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces: input for so many ranks, sets of 8, a file a rank. */
#include "scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/unit/helper_protect.h"

#include "base/dir.h"
#include "base/hostlist.h"
#include "base/ids.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "ops/build.h"
#include "ops/scan.h"
#include "ops/stage.h"
#include "par/redundancy/setjudge.h"
#include "par/redundancy/sets.h"
#include "red/redfile.h"
#include "red/survey.h"
#include "rm/rm_impl.h"
#include "store/cache.h"
#include "store/catalog.h"
#include "store/cntl.h"

enum { ID = 7, SET = 8, STEPS = 1000, FILE_BYTES = 64 };
enum { RANKS_PER_DATASET = 10 }; /* of the index: 10^5 datasets for 10^6 ranks */
enum { DOWN_OF = 10 };           /* one node of so many is down */

static struct scr_err err = SCR_ERR_INIT;

/* --- input --- */

/* The ranks set by set, as sets are cut: not ascending. */
static int rank_of(const struct scale *s, int i)
{
    int sets = s->ranks / SET;
    return i % SET * sets + i / SET;
}

static void describe(struct scr_setdesc *d, const struct scale *s, int i)
{
    *d = (struct scr_setdesc){ .scheme = SCR_SCHEME_XOR,
                               .failures = 1,
                               .ranks = s->ranks,
                               .member = i % SET,
                               .id = rank_of(s, i / SET * SET),
                               .n = SET };
    for (int m = 0; m < SET; m++)
        d->world[m] = rank_of(s, i / SET * SET + m);
}

/* The same as a filemap has it. */
static scr_hash *description(const struct scale *s, int i)
{
    struct scr_setdesc d;
    scr_hash *h = scr_hash_new(), *group = scr_hash_set(h, "GROUP", NULL);
    describe(&d, s, i);
    scr_hash_set_val(h, "TYPE", scr_scheme_name(d.scheme));
    scr_hash_set_val_i64(h, "FAILURES", d.failures);
    scr_hash_set_val_i64(h, "RANKS", d.ranks);
    scr_hash_set_val_i64(h, "MEMBER", d.member);
    scr_hash_set_val_i64(group, "RANKS", d.n);
    for (int m = 0; m < d.n; m++)
        scr_hash_setf(group, NULL, "RANK %d %d", m, d.world[m]);
    return h;
}

static scr_hash *dataset(int id, uint64_t ranks)
{
    char name[32];
    scr_hash *h = scr_hash_new();
    snprintf(name, sizeof name, "ckpt.%d", id);
    struct scr_dataset d = { .id = id,
                             .name = name,
                             .user = "user1",
                             .size = ranks * FILE_BYTES,
                             .files = ranks,
                             .created = 1312850690668536,
                             .ckpt = id,
                             .complete = 1,
                             .is_ckpt = 1 };
    scale_need(scr_dataset_set(h, &d) == SCR_OK, "dataset");
    return h;
}

/* Nodes n1 … n<ranks>. */
static struct scr_hostlist nodes;

static void make_nodes(struct scale *s)
{
    char text[64];
    snprintf(text, sizeof text, "n[1-%d]", s->ranks);
    scale_done(scr_hostlist_expand(text, &nodes, &err), &err);
}

/* --- sets --- */

/* Cuts the ranks, lays out a set and plans the rebuild of a member. */
static size_t form_sets(struct scale *s)
{
    uint64_t len[SCR_EC_MAX];
    for (int i = 0; i < STEPS; i++) {
        int sets = scr_set_count(s->ranks, 1, SET), have[SCR_EC_MAX];
        int n = (s->ranks - 1 - i % sets) / sets + 1;
        struct scr_geom g;
        struct scr_plan plan;
        for (int m = 0; m < n; m++) {
            len[m] = 1 << 20;
            have[m] = m == 0 ? 0 : SCR_HAVE_ALL;
        }
        scale_done(scr_geom_init(&g, SCR_SCHEME_XOR, n, 1, len, &err), &err);
        for (int row = 0; row < n; row++) {
            scale_done(scr_plan_row(&g, have, row, &plan, &err), &err);
            scr_plan_fini(&plan);
        }
    }
    return STEPS;
}

static struct scr_parcels told;

/* Each rank has its files, one of a hundred does not. */
static void tell_judge(struct scale *s)
{
    struct scr_comm world = { .size = 1 };
    for (int i = 0; i < s->ranks; i++) {
        struct scr_setdesc is;
        describe(&is, s, i);
        const struct scr_setjudge_told tell = { 1, is.world[is.member],
                                                i % 100 == 0 ? 0 : SCR_HAVE_ALL };
        scale_done(scr_setjudge_tell(&world, &is, &tell, &told, &err), &err);
    }
}

static size_t judge_sets(struct scale *s)
{
    struct scr_table sets;
    int ok = 0, all = 1;
    scale_done(scr_setjudge_hear(&told, &sets, &err), &err);
    for (SCR_EACH(struct scr_judged, set, &sets)) {
        scale_done(scr_setjudge_suffices(set, &ok, &err), &err);
        all &= ok;
    }
    scale_need(all, "a set is lost");
    return (size_t)s->ranks;
}

/* --- numbers and parcels --- */

static size_t deal_parcels(struct scale *s)
{
    struct scr_parcels send = { 0 };
    for (int i = 0; i < s->ranks; i++)
        scale_done(scr_parcel_bytes(&send, rank_of(s, i), &i, sizeof i, &err), &err);
    return send.n;
}

static size_t add_ids(struct scale *s)
{
    struct scr_ids ids = { 0 };
    size_t found = 0;
    for (int i = 0; i < s->ranks; i++)
        scale_done(scr_ids_add(&ids, i, &err), &err);
    for (int i = 0; i < s->ranks; i++)
        found += (size_t)scr_ids_has(&ids, i);
    return found;
}

/* --- lists of files --- */

static struct scr_rank2file files;

static void list_file(struct scale *s, int rank)
{
    char path[64];
    snprintf(path, sizeof path, "ckpt.%d/rank_%d.dat", ID, rank);
    struct scr_listed *f = scr_rank2file_add_file(&files, rank, path);
    scale_need(f != NULL, "out of memory");
    scr_listed_set_size(f, FILE_BYTES);
    scr_listed_set_crc(f, (uint32_t)rank);
    files.ranks = s->ranks;
}

static size_t list_files(struct scale *s)
{
    for (int r = 0; r < s->ranks; r++)
        list_file(s, r);
    return files.n;
}

static void make_list(struct scale *s)
{
    list_files(s);
}

/* As a scan does, set by set. */
static size_t list_by_sets(struct scale *s)
{
    enum { BATCH = 1024 };
    struct scr_rank2file all = { .ranks = s->ranks };
    for (int i = 0; i < s->ranks; i++) {
        list_file(s, rank_of(s, i));
        if (files.n == BATCH || i == s->ranks - 1)
            scr_rank2file_take(&all, &files);
    }
    return all.n;
}

static size_t record(struct scale *s)
{
    scr_hash *dset = dataset(ID, files.n);
    scale_done(scr_build_record(&s->env, &s->prefix, ID, dset, &files, &err), &err);
    return files.n;
}

static void make_record(struct scale *s)
{
    make_list(s);
    record(s);
    scr_rank2file_fini(&files);
}

static size_t read_list(struct scale *s)
{
    scale_done(scr_prefix_rank2file_read(&s->env, &s->prefix, ID, &files, &err), &err);
    return files.n;
}

/* The work of one rank that searches its own file, as with each start on the prefix. */
static size_t find_own(struct scale *s)
{
    enum { LOOKS = 16 };
    for (int i = 0; i < LOOKS; i++) {
        char path[64];
        int rank = (int)((int64_t)s->ranks * i / LOOKS);
        const struct scr_listed *f = NULL;
        struct scr_catalog c = { .env = &s->env,
                                 .prefix = &s->prefix,
                                 .id = ID,
                                 .rank = rank,
                                 .size = s->ranks };
        snprintf(path, sizeof path, "ckpt.%d/rank_%d.dat", ID, rank);
        scale_done(scr_catalog_find(&c, path, &f, &err), &err);
        scale_need(f != NULL, "a file is not found");
        scr_catalog_fini(&c);
    }
    return LOOKS;
}

static size_t use_summary(struct scale *s)
{
    scr_hash *dset = dataset(ID, (uint64_t)s->ranks);
    for (int i = 0; i < STEPS; i++) {
        int complete;
        scr_hash *got = scr_hash_new();
        scale_done(scr_prefix_summary_write(&s->env, &s->prefix, ID, dset, 1, &err),
                   &err);
        scale_done(
            scr_prefix_summary_read(&s->env, &s->prefix, ID, &complete, got, &err),
            &err);
        scr_hash_delete(got);
    }
    return STEPS;
}

static void make_dset_dir(struct scale *s)
{
    scale_done(
        scr_dir_make(s->env.sys, scr_prefix_dset_dir(&s->prefix, ID), 0700, &err),
        &err);
}

/* --- the index --- */

static size_t edit_index(struct scale *s)
{
    struct scr_index index = SCR_INDEX_INIT, again = SCR_INDEX_INIT;
    struct scr_str bytes = SCR_STR_INIT;
    int n = s->ranks / RANKS_PER_DATASET;
    for (int id = 1; id <= n; id++) {
        scr_hash *dset = dataset(id, 1);
        scale_need(scr_index_arrive(&index, dset, 1000000000) == SCR_OK, "index");
        scr_hash_delete(dset);
    }
    scr_index_pack(&bytes, &index);
    scale_done(scr_index_unpack(&again, bytes.p, bytes.len, &err), &err);
    for (int id = 1; id <= n; id++)
        scr_index_mark_fetched(&again, id, 1000000000);
    scr_index_pack(&bytes, &again);
    scale_need(!bytes.bad, "out of memory");
    return (size_t)n;
}

/* --- nodes --- */

static size_t use_hostlist(struct scale *s)
{
    struct scr_hostlist some = SCR_HOSTLIST_INIT, left = SCR_HOSTLIST_INIT;
    char *text = NULL;
    make_nodes(s);
    some.name = scr_calloc(nodes.n, sizeof *some.name);
    for (size_t i = 0; i < nodes.n; i += DOWN_OF)
        some.name[some.n++] = nodes.name[i];
    scale_done(scr_hostlist_minus(&nodes, &some, &left, &err), &err);
    scale_done(scr_hostlist_compress(&left, 1, &text, &err), &err);
    scale_done(scr_hostlist_expand(text, &left, &err), &err);
    return nodes.n;
}

static char *words;

static void make_words(struct scale *s)
{
    struct scr_str text = SCR_STR_INIT;
    make_nodes(s);
    for (size_t i = 0; i < nodes.n; i++)
        scr_str_printf(&text, "%s\n", nodes.name[i]);
    words = scr_str_take(&text);
}

/* As a manager lists the nodes of a job. */
static size_t add_nodes(struct scale *s)
{
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    scale_done(scr_rm_add_words(&list, words, &err), &err);
    scale_need((int)list.n == s->ranks, "a node is missing");
    return list.n;
}

/* The same for the state of each, by its name with a domain. */
static size_t match_nodes(struct scale *s)
{
    struct scr_downs down = SCR_DOWNS_INIT;
    struct scr_rm_names names;
    scale_done(scr_rm_names_init(&names, &nodes, &err), &err);
    for (int i = 0; i < s->ranks; i++) {
        char name[64];
        snprintf(name, sizeof name, "n%d.cluster", i + 1);
        const char *node = scr_rm_match(&names, name);
        scale_need(node != NULL, "a node is not found");
        if (i % DOWN_OF == 0)
            scale_done(scr_downs_add(&down, node, SCR_NODE_DEAD, &err, "it is down"),
                       &err);
    }
    return (size_t)s->ranks;
}

/* --- filemaps --- */

/* Where the redundancy file of the i-th rank would lie. */
static char *redfile_of(const struct scale *s, const char *dir, int i)
{
    char *name =
        scr_redfile_name(SCR_SCHEME_XOR, i % SET, SET, rank_of(s, i / SET * SET));
    char *path = scr_path_join(dir, name);
    free(name);
    return path;
}

static void enter(scr_filemap *map, const struct scale *s, int i)
{
    int rank = rank_of(s, i);
    char *red = redfile_of(s, "/cache/.scr", i);
    scr_hash *desc = description(s, i), *dset = dataset(ID, (uint64_t)s->ranks);
    scr_meta *meta = scr_meta_new();
    scr_meta_set(meta, scr_path_base(red), "XOR", FILE_BYTES,
                 (struct scr_meta_of){ ID, rank, s->ranks }, 1);
    scr_filemap_set_meta(map, ID, rank, red, meta);
    scr_filemap_set_expected_files(map, ID, rank, 1);
    scr_filemap_set_dataset(map, ID, rank, dset);
    scr_filemap_set_desc(map, ID, rank, desc);
    scr_meta_delete(meta);
    scr_hash_delete(desc);
    scr_hash_delete(dset);
    free(red);
}

static size_t use_filemap(struct scale *s)
{
    struct scr_str bytes = SCR_STR_INIT;
    scr_filemap *map = scr_filemap_new(), *again = scr_filemap_new();
    for (int i = 0; i < s->ranks; i++)
        enter(map, s, i);
    scr_filemap_pack(&bytes, map);
    scale_done(scr_filemap_unpack(bytes.p, bytes.len, again, &err), &err);
    return again->n;
}

/* A cache that all nodes share: a filemap a rank, and nothing of what they name. */
static void make_maps(struct scale *s)
{
    for (int i = 0; i < s->ranks; i++) {
        scr_filemap *map = scr_filemap_new();
        char *path = scr_asprintf("%s/filemap_%d.scrinfo", s->dir, rank_of(s, i));
        enter(map, s, i);
        scale_done(scr_filemap_write(s->env.sys, path, map, SCR_VOLATILE, &err), &err);
        scr_filemap_delete(map);
        free(path);
    }
}

static size_t survey(struct scale *s)
{
    struct scr_survey all;
    struct scr_survey_dataset d;
    enum scr_survey_state state;
    struct scr_err reason = SCR_ERR_INIT;
    scale_done(scr_survey_open(&all, &s->env, &s->dir, 1, &err), &err);
    scale_done(scr_survey_dataset(&all, ID, &d, &err), &err);
    scale_done(scr_survey_judge(&all, &d, 0, &state, &reason), &reason);
    return (size_t)d.here;
}

/* --- a scavenged dataset --- */

static void make_empty(const struct scale *s, const char *path)
{
    scale_done(scr_file_replace(s->env.sys, path, "", 0,
                                (struct scr_replace){ 0600, SCR_VOLATILE }, &err),
               &err);
}

/* The names alone. */
static void make_names(struct scale *s)
{
    char *dir = scr_prefix_dset_dir(&s->prefix, ID);
    make_dset_dir(s);
    for (int i = 0; i < s->ranks; i++) {
        char *map = scr_asprintf("%s/%d.scrfilemap", dir, i);
        char *red = redfile_of(s, dir, i);
        make_empty(s, map);
        make_empty(s, red);
        free(map);
        free(red);
    }
    free(dir);
}

static size_t scan_names(struct scale *s)
{
    struct scr_scan scan;
    scale_done(scr_scan_open(&scan, &s->env, &s->prefix, ID, &err), &err);
    scale_need((int)scan.sets.n == s->ranks / SET, "sets are missing");
    return (size_t)s->ranks;
}

/* A rank's file, in cache and in the stage, with its meta data. */
static scr_meta *make_file(const struct scale *s, const char *stage, int rank)
{
    char name[64], where[32], bytes[FILE_BYTES];
    snprintf(name, sizeof name, "rank_%d.dat", rank);
    snprintf(where, sizeof where, "ckpt.%d", ID);
    memset(bytes, rank, sizeof bytes);
    char *staged = scr_asprintf("%s/%s/%s", stage, where, name);
    char *cached = scr_asprintf("%s/%s", s->dir, name);
    scale_done(scr_file_replace(s->env.sys, staged, bytes, sizeof bytes,
                                (struct scr_replace){ 0600, SCR_VOLATILE }, &err),
               &err);
    scale_done(scr_file_replace(s->env.sys, cached, bytes, sizeof bytes,
                                (struct scr_replace){ 0600, SCR_VOLATILE }, &err),
               &err);
    scr_meta *m = scr_meta_new();
    scr_meta_set(m, name, "FULL", sizeof bytes,
                 (struct scr_meta_of){ ID, rank, s->ranks }, 1);
    char *dest = scr_asprintf("%s/%s", where, name);
    scr_meta_set_dest(m, dest);
    free(dest);
    free(staged);
    free(cached);
    return m;
}

static void make_rank_map(const struct scale *s, const char *dir, const scr_hash *dset,
                          const scr_meta *meta, int rank)
{
    scr_filemap *map = scr_filemap_new();
    char *path = scr_asprintf("%s/%d.scrfilemap", dir, rank);
    char *dest = scr_meta_dest(meta);
    scr_filemap_set_meta(map, ID, rank, dest, meta);
    scr_filemap_set_expected_files(map, ID, rank, 1);
    scr_filemap_set_dataset(map, ID, rank, dset);
    scale_done(scr_filemap_write(s->env.sys, path, map, SCR_VOLATILE, &err), &err);
    scr_filemap_delete(map);
    free(dest);
    free(path);
}

/* The set whose first member is the i-th rank. */
static void make_set(const struct scale *s, const char *dir, const char *stage,
                     const scr_hash *dset, int i)
{
    struct test_protect_part part[SET];
    const scr_meta *meta[SET];
    int world[SET];
    for (int m = 0; m < SET; m++) {
        world[m] = rank_of(s, i + m);
        meta[m] = make_file(s, stage, world[m]);
        make_rank_map(s, dir, dset, meta[m], world[m]);
        part[m] = (struct test_protect_part){ 1, &meta[m], s->dir,
                                              redfile_of(s, dir, i + m) };
    }
    const struct test_protect_set set = { .scheme = SCR_SCHEME_XOR,
                                          .k = 1,
                                          .dset_id = ID,
                                          .world_size = s->ranks,
                                          .n = SET,
                                          .world_ranks = world,
                                          .dset = dset };
    scale_done(test_protect(&s->env, &set, part, &err), &err);
    for (int m = 0; m < SET; m++) {
        char *cached = scr_asprintf("%s/rank_%d.dat", s->dir, world[m]);
        scale_done(scr_file_remove(s->env.sys, cached, &err), &err);
        scr_meta_delete((scr_meta *)meta[m]);
        free((char *)part[m].redpath);
        free(cached);
    }
}

static void make_scavenged(struct scale *s)
{
    char *dir = scr_prefix_dset_dir(&s->prefix, ID);
    char *stage = scr_stage_dir(&s->prefix, ID);
    char *below = scr_asprintf("%s/ckpt.%d", stage, ID);
    scr_hash *dset = dataset(ID, (uint64_t)s->ranks);
    make_dset_dir(s);
    scale_done(scr_stage_make(&s->env, &s->prefix, ID, &err), &err);
    scale_done(scr_dir_make(s->env.sys, below, 0700, &err), &err);
    for (int i = 0; i < s->ranks; i += SET)
        make_set(s, dir, stage, dset, i);
    free(below);
    free(stage);
    free(dir);
    scr_hash_delete(dset);
}

/* As scr_index --build does: all files are read, checked and put in place. */
static size_t build(struct scale *s)
{
    struct scr_build_report report;
    scale_done(scr_build_dataset(&s->env, &s->prefix, ID, &report, &err), &err);
    scale_need(report.built && (int)report.files == s->ranks, "files are missing");
    return (size_t)s->ranks;
}

/* With 10^6 ranks these would take 10 to 20 GiB of memory, with their files. */
enum { FILES_MOST = 100000 };

const struct scale_piece scale_pieces[] = {
    { "a set: cut, layout, plan", 0, 0, NULL, form_sets },
    { "a summary: write, read", 0, 0, make_dset_dir, use_summary },
    { "rank2file: a rank's own file", 0, 0, make_record, find_own },
    { "judge sets", 1, 0, tell_judge, judge_sets },
    { "parcels to all ranks", 1, 0, NULL, deal_parcels },
    { "ids", 1, 0, NULL, add_ids },
    { "list files, by rank", 1, 0, NULL, list_files },
    { "list files, by set", 1, 0, NULL, list_by_sets },
    { "rank2file, summary, index: write", 1, 0, make_list, record },
    { "rank2file: read all", 1, 0, make_record, read_list },
    { "index of ranks/10 datasets", 1, 0, NULL, edit_index },
    { "host list: expand, sort, compress", 1, 0, NULL, use_hostlist },
    { "nodes of a job, as words", 1, 0, make_words, add_nodes },
    { "states of nodes", 1, 0, make_nodes, match_nodes },
    { "filemap: add, pack, unpack", 1, FILES_MOST, NULL, use_filemap },
    { "survey of a shared cache", 1, FILES_MOST, make_maps, survey },
    { "scavenged: names", 1, 0, make_names, scan_names },
    { "scavenged: scan, judge, build", 1, FILES_MOST, make_scavenged, build },
};
const size_t scale_npieces = sizeof scale_pieces / sizeof scale_pieces[0];
