/* SPDX-License-Identifier: BSD-3-Clause */
/* Random jobs from beginning to end: any scheme, any spread of ranks over nodes, files
 * of any number and size, nodes lost, files damaged, ranks moved and spares taken. Each
 * start offers the newest checkpoint that its redundancy carries, as worked out here
 * from the rules of sets and schemes, with every byte right; what is beyond is refused
 * by all ranks, and no good file goes.
 *
 * TEST_SEED repeats a run, TEST_CASE one case of it. */
/* ranks: 8 */
#include "helper_job.h"
#include "helper_stored.h"

#include "base/str.h"
#include "helper_random.h"
#include "helper_tolerance.h"
#include "red/redfile.h"

/* Each case is one of a kind: where waiting ranks spin on the cores some will do, but
 * enough that there are some of both outcomes in any run. */
#ifdef MPICH_VERSION
enum { CASES = 40 };
#else
enum { CASES = 300 };
#endif

enum { MAX_RANKS = 8, MAX_NODES = 8 + 2 * 8, ROUNDS = 2, DATASETS = 3, MAX_HURTS = 2 };

/* Where each rank runs: numbers of nodes. A number is never used for another node. */
struct spread {
    int node[MAX_RANKS];
};

/* A checkpoint and the sets it was protected in. */
struct dataset {
    int id, seed;
    const char *name;
    int set[MAX_RANKS];     /* of each rank */
    int members[MAX_RANKS]; /* of each set */
    int member[MAX_RANKS];  /* number of each rank in its set */
    int lost;               /* found beyond tolerance by a start */
    int vague;              /* once refused, but unnamed files exist */
    scr_hash *files;        /* as they were, see job_cached */
};

struct trial {
    struct mpi_test *t;
    struct job job;
    struct test_random r;
    int ranks;
    enum scr_scheme scheme;
    int k, set_size, flush, buf;
    int nodes; /* numbers given away so far */
    struct spread now;
    struct dataset dset[DATASETS];
    int ndsets;
    /* SCR_HAVE_* of each rank's share: what is on disk, and what of it is known to be
     */
    int there[DATASETS][MAX_RANKS], known[DATASETS][MAX_RANKS];
    scr_hash *hurt;       /* paths: a second flip may undo the first */
    struct scr_str story; /* for who has to find out what went wrong */
};

/* --- nodes --- */

static int uses(const struct trial *c, const struct spread *s, int node)
{
    for (int i = 0; i < c->ranks; i++)
        if (s->node[i] == node)
            return 1;
    return 0;
}

/* Blocks on as many nodes as there may be, or anything. */
static void spread_first(struct trial *c)
{
    int n = 1 + test_below(&c->r, c->ranks), blocks = test_below(&c->r, 2);
    for (int i = 0; i < c->ranks; i++)
        c->now.node[i] = 1 + (blocks ? i * n / c->ranks : test_below(&c->r, n));
    c->nodes = n;
}

static void shuffle(struct trial *c, int *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = test_below(&c->r, i + 1), was = list[i];
        list[i] = list[j];
        list[j] = was;
    }
}

/* The nodes of the next run: those that are left, spares for the others. In half of the
 * cases every rank stays on its node or moves to its spare; else ranks move about, and
 * a node that was left may go unused. */
static void spread_next(struct trial *c, const struct spread *was, const int *lost)
{
    int spare[MAX_NODES + 1] = { 0 };
    for (int i = 0; i < c->ranks; i++) {
        int node = was->node[i];
        if (lost[node] && spare[node] == 0)
            spare[node] = ++c->nodes;
        c->now.node[i] = lost[node] ? spare[node] : node;
    }
    int move = test_below(&c->r, 4);
    if (move >= 2)
        shuffle(c, c->now.node, c->ranks);
    if (move == 3)
        c->now.node[test_below(&c->r, c->ranks)] =
            c->now.node[test_below(&c->r, c->ranks)];
}

static char *node_list(const struct trial *c)
{
    struct scr_str text = SCR_STR_INIT;
    for (int i = 0; i < c->ranks; i++)
        scr_str_printf(&text, "%sn%d", i ? "," : "", c->now.node[i]);
    return scr_str_take(&text);
}

/* --- files --- */

/* None to three files, of 0, 1, a few, and about as many bytes as others. */
static long random_size(int rank, int file, int seed)
{
    static const long sizes[] = { 0, 1, 100, 101, 102, 303, 4095, 4096, 70000 };
    struct test_random r = test_random_case((uint64_t)seed, rank * 4 + file);
    struct test_random files = test_random_case((uint64_t)seed, -1 - rank);
    if (file >= test_below(&files, 4))
        return -1;
    return test_below(&r, 3) ? sizes[test_below(&r, 9)] : test_below(&r, 3000);
}

/* --- the sets, by the rule of par/redundancy/sets.h --- */

static void number_ranks(const struct trial *c, int *position, int *largest)
{
    int next = 0;
    *largest = 0;
    for (int lead = 0; lead < c->ranks; lead++) {
        int first = 1, size = 0;
        for (int i = 0; i < lead; i++)
            first = first && c->now.node[i] != c->now.node[lead];
        for (int i = lead; first && i < c->ranks; i++)
            if (c->now.node[i] == c->now.node[lead]) {
                position[i] = next++;
                size++;
            }
        *largest = size > *largest ? size : *largest;
    }
}

static void divide(const struct trial *c, struct dataset *d)
{
    int position[MAX_RANKS], largest;
    int size = c->scheme == SCR_SCHEME_SINGLE ? 1 : c->set_size;
    number_ranks(c, position, &largest);
    int sets = c->ranks / size > largest ? c->ranks / size : largest;
    for (int i = 0; i < sets; i++)
        d->members[i] = 0;
    for (int i = 0; i < c->ranks; i++) {
        d->set[i] = position[i] % sets;
        d->member[i] = position[i] / sets;
        d->members[d->set[i]]++;
    }
}

static int set_tolerates(const struct trial *c, const struct dataset *d, int set,
                         const int *have)
{
    enum scr_scheme scheme = c->scheme;
    int k = c->k, of[MAX_RANKS];
    scr_geom_weaken(&scheme, &k, d->members[set]);
    for (int i = 0; i < c->ranks; i++)
        if (d->set[i] == set)
            of[d->member[i]] = have[i];
    return test_tolerates(scheme, k, d->members[set], of);
}

static int all_sets_tolerate(const struct trial *c, const struct dataset *d,
                             const int *have)
{
    int can = !d->lost;
    for (int i = 0; i < c->ranks; i++)
        can = can && set_tolerates(c, d, d->set[i], have);
    return can;
}

enum expected { REFUSED, RESTORED, EITHER };

/* What a start makes of the dataset. Files that no filemap names are not looked for,
 * but may be found where a neighbour says they should be; a rank without files has lost
 * none with its node, if a record of that is left. */
static enum expected expect(const struct trial *c, int dset)
{
    const struct dataset *d = &c->dset[dset];
    int best[MAX_RANKS];
    for (int i = 0; i < c->ranks; i++) {
        int none = random_size(i, 0, d->seed) < 0;
        best[i] = c->there[dset][i] | (none ? SCR_HAVE_DATA : 0);
    }
    if (!all_sets_tolerate(c, d, best))
        return REFUSED;
    return d->vague || !all_sets_tolerate(c, d, c->known[dset]) ? EITHER : RESTORED;
}

/* --- checkpoints --- */

/* Written, or rebuilt by a start. A dataset that is not keeps its losses. */
static void make_whole(struct trial *c, int dset)
{
    for (int i = 0; i < c->ranks; i++)
        c->there[dset][i] = c->known[dset][i] = SCR_HAVE_ALL;
}

static int has_a_file(const struct trial *c, int seed)
{
    for (int i = 0; i < c->ranks; i++)
        if (random_size(i, 0, seed) >= 0)
            return 1;
    return 0;
}

static void checkpoint(struct trial *c, struct scr_ctx *ctx)
{
    struct mpi_test *t = c->t;
    static const char *const names[DATASETS] = { "one", "two", "three" };
    struct dataset *d = &c->dset[c->ndsets];
    *d = (struct dataset){ .id = ctx->last_id + 1, .name = names[c->ndsets] };
    do
        d->seed = test_below(&c->r, 1000000);
    while (!has_a_file(c, d->seed)); /* a checkpoint without any is refused */
    make_whole(c, c->ndsets++);
    divide(c, d);
    job_checkpoint(&c->job, ctx, d->name, d->seed);
    d->files = job_cached(&c->job, d->id);
    CHECK(c->job.rank > 0 || (int)scr_hash_size(d->files) >= c->ranks);
}

/* --- damage --- */

/* One file, changed a little or removed; says how. A place is chosen as a part of the
 * size, which in files with times in them is not the same in every run. */
static const char *hurt_file(struct test_random *r, const char *path)
{
    struct stat st;
    int how = test_below(r, 5);
    long at = 0;
    if (stat(path, &st) == 0 && st.st_size > 0)
        at = (long)((double)st.st_size * test_below(r, 10000) / 10000);
    if (how == 0 && unlink(path) == 0)
        return "removed";
    if (how == 1 && st.st_size > 0 && truncate(path, st.st_size - 1) == 0)
        return "cut";
    if (how != 2 && st.st_size > 0) {
        job_flip(path, at);
        return "flipped";
    }
    FILE *f = fopen(path, "ab");
    if (f != NULL && fputc('x', f) != EOF && fclose(f) == 0)
        return "lengthened";
    return "left";
}

/* The rank whose redundancy file this is. */
static int rank_of_red(const struct trial *c, const struct dataset *d, const char *base)
{
    enum scr_scheme scheme;
    int member = -1, n, lowest;
    if (!scr_redfile_parse(base, &scheme, &member, &n, &lowest))
        return -1;
    for (int i = 0; i < c->ranks; i++)
        if (d->set[i] == d->set[lowest] && d->member[i] == member)
            return i;
    return -1;
}

static int number_after(const char *path, const char *mark)
{
    const char *at = strstr(path, mark);
    return at != NULL ? (int)strtol(at + strlen(mark), NULL, 10) : -1;
}

/* A share; `left` of it is not lost. */
static void note(struct trial *c, int dset, int rank, int left)
{
    c->there[dset][rank] &= left;
    c->known[dset][rank] &= left;
}

/* Without its filemap a rank's files are not known to be there. The list of filemaps
 * and the journals, empty by now, can be done without. */
static void note_control(struct trial *c, int node, int local)
{
    int rank = -1;
    for (int i = 0; i < c->ranks && local >= 0; i++)
        if (c->now.node[i] == node && local-- == 0)
            rank = i;
    for (int d = 0; d < c->ndsets && rank >= 0; d++)
        c->known[d][rank] = 0;
}

static void note_hurt(struct trial *c, const char *path)
{
    const char *base = strrchr(path, '/') + 1;
    int id = number_after(path, "/scr.dataset."), rank = number_after(path, "/rank.");
    if (id < 0 && strstr(base, ".jnl") == NULL)
        note_control(c, number_after(path, "/vnode.n"),
                     number_after(path, "/filemap_"));
    for (int d = 0; d < c->ndsets; d++) {
        int is_red = strstr(path, "/.scr/") != NULL;
        if (c->dset[d].id != id)
            continue;
        if (is_red)
            rank = rank_of_red(c, &c->dset[d], base);
        /* What a filemap was lost with lies about on nodes that were left. */
        if (rank >= 0 && c->now.node[rank] == number_after(path, "/vnode.n"))
            note(c, d, rank, is_red ? SCR_HAVE_DATA : SCR_HAVE_PARITY);
    }
}

/* Some file of any kind, on any node that is left, that was not hurt before. */
static void hurt(struct trial *c)
{
    int n = 0;
    uint64_t pick = test_draw(&c->r);
    char path[1200] = "";
    mpi_test_barrier(c->job.comm);
    if (c->job.rank == 0) {
        char **paths = job_find(c->job.cache, "", &n);
        if (n > 0)
            snprintf(path, sizeof path, "%s", paths[pick % (uint64_t)n]);
        job_find_free(paths, n);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, c->job.comm);
    if (path[0] == '\0' || scr_hash_get(c->hurt, path) != NULL)
        return;
    scr_hash_set(c->hurt, path, NULL);
    const char *how = "";
    struct test_random r = { pick };
    if (c->job.rank == 0)
        how = hurt_file(&r, path);
    scr_str_printf(&c->story, "; %s %s", path + strlen(c->job.cache), how);
    note_hurt(c, path);
    mpi_test_barrier(c->job.comm);
}

/* --- a round: losses, another spread, a start --- */

static void lose(struct trial *c, struct spread *was, int *lost)
{
    int most = c->k + 2, n = test_below(&c->r, most);
    *was = c->now;
    for (int i = 0; i < n; i++)
        lost[c->now.node[test_below(&c->r, c->ranks)]] = 1;
    for (int node = 1; node <= c->nodes; node++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", node);
        if (!lost[node] || !uses(c, was, node))
            continue;
        job_lose_node(&c->job, name);
        scr_str_printf(&c->story, "; %s lost", name);
    }
    for (int d = 0; d < c->ndsets; d++)
        for (int i = 0; i < c->ranks; i++)
            if (lost[was->node[i]])
                note(c, d, i, 0);
}

/* Nodes the next run does not use are as good as lost, and do not come back. */
static void leave_unused(struct trial *c, const struct spread *was)
{
    for (int i = 0; i < c->ranks; i++)
        for (int d = 0; d < c->ndsets && !uses(c, &c->now, was->node[i]); d++)
            note(c, d, i, 0);
}

static void forget_unused(struct trial *c, const struct spread *was)
{
    for (int i = 0; i < c->ranks; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", was->node[i]);
        if (!uses(c, &c->now, was->node[i]))
            job_lose_node(&c->job, name);
    }
}

/* The number of the dataset this start offers, -1: none. It must be the newest that can
 * be made whole. */
static int check_offer(struct trial *c, struct scr_ctx *ctx)
{
    struct mpi_test *t = c->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME] = "";
    int have = 0, got = -1, low, high;
    CHECK_RC(scr_have_restart_all(ctx, &have, name, &err), SCR_OK, &err);
    for (int d = 0; d < c->ndsets && have; d++)
        got = strcmp(c->dset[d].name, name) == 0 ? d : got;
    MPI_Allreduce(&got, &low, 1, MPI_INT, MPI_MIN, c->job.comm);
    MPI_Allreduce(&got, &high, 1, MPI_INT, MPI_MAX, c->job.comm);
    CHECK_INT(low, high);
    CHECK_INT(have, got >= 0);
    for (int d = c->ndsets - 1; d > got; d--)
        CHECK(expect(c, d) != RESTORED && !c->flush);
    CHECK(got < 0 || c->flush || expect(c, got) != REFUSED);
    return got;
}

static int is_known(const struct trial *c, int dset)
{
    for (int i = 0; i < c->ranks; i++)
        if (c->known[dset][i] != 0)
            return 1;
    return 0;
}

/* All of a dataset that was made whole is as it was, redundancy too; of another one
 * nothing good is gone, unless no filemap is left that names it. */
static void check_cache(struct trial *c, struct scr_ctx *ctx, scr_hash *const *before)
{
    struct mpi_test *t = c->t;
    for (int i = 0; i < c->ndsets; i++) {
        struct dataset *d = &c->dset[i];
        int ready = scr_cache_is_ready(ctx, d->id);
        scr_hash *now = job_cached(&c->job, d->id);
        if (!c->flush && expect(c, i) != EITHER)
            CHECK_INT(ready, expect(c, i) == RESTORED);
        if (!c->flush && is_known(c, i))
            CHECK(job_has_kept(&c->job, d->files, ready ? NULL : before[i], now));
        d->vague = !ready && expect(c, i) == EITHER;
        d->lost = !ready && !d->vague;
        if (ready)
            make_whole(c, i);
        scr_hash_delete(now);
    }
}

static struct scr_ctx *start(struct trial *c)
{
    char scheme[80], buf[40], *nodes = node_list(c);
    const char *flush = c->flush ? "SCR_FLUSH=1" : "SCR_FLUSH=0";
    snprintf(scheme, sizeof scheme, "CKPT=0 TYPE=%s SET_SIZE=%d SET_FAILURES=%d",
             scr_scheme_name(c->scheme), c->set_size, c->k > 0 ? c->k : 1);
    snprintf(buf, sizeof buf, "SCR_MPI_BUF_SIZE=%d", c->buf);
    scr_str_printf(&c->story, "; on %s", nodes);
    struct scr_ctx *ctx = job_start(&c->job, nodes, "SCR_COPY_TYPE=FILE", scheme, flush,
                                    buf, "SCR_CACHE_SIZE=3", NULL);
    free(nodes);
    return ctx;
}

/* 1 if there is a run to continue with. */
static int run_round(struct trial *c, int *restored)
{
    struct spread was;
    int lost[MAX_NODES + 1] = { 0 }, hurts = test_below(&c->r, MAX_HURTS + 3) - 2;
    scr_hash *before[DATASETS] = { NULL };
    lose(c, &was, lost);
    for (int i = 0; i < hurts; i++)
        hurt(c);
    spread_next(c, &was, lost);
    leave_unused(c, &was);
    for (int d = 0; d < c->ndsets; d++)
        before[d] = job_cached(&c->job, c->dset[d].id);
    struct scr_ctx *ctx = start(c);
    int got = check_offer(c, ctx);
    check_cache(c, ctx, before);
    if (got >= 0)
        job_check_restart(&c->job, ctx, c->dset[got].name, c->dset[got].seed);
    *restored = got == c->ndsets - 1;
    if (*restored && c->ndsets < DATASETS)
        checkpoint(c, ctx);
    job_kill(&c->job, ctx);
    forget_unused(c, &was);
    for (int d = 0; d < DATASETS; d++)
        scr_hash_delete(before[d]);
    return got >= 0 && !c->flush;
}

/* --- a case --- */

static void draw(struct trial *c)
{
    static const enum scr_scheme schemes[] = { SCR_SCHEME_XOR, SCR_SCHEME_RS,
                                               SCR_SCHEME_RS, SCR_SCHEME_PARTNER,
                                               SCR_SCHEME_SINGLE };
    c->ranks = 1 + test_below(&c->r, test_below(&c->r, 2) ? MAX_RANKS : 5);
    c->scheme = schemes[test_below(&c->r, test_below(&c->r, 8) ? 4 : 5)];
    c->k = c->scheme == SCR_SCHEME_SINGLE ? 0
           : c->scheme == SCR_SCHEME_XOR  ? 1
                                          : 1 + test_below(&c->r, 4);
    c->set_size = 1 + test_below(&c->r, MAX_RANKS);
    c->flush = test_below(&c->r, 8) == 0;
    c->buf = test_below(&c->r, 2) ? 262144 : 500; /* one message a row, or many */
    spread_first(c);
    scr_str_printf(&c->story, "%d ranks, %s(%d), sets of %d%s", c->ranks,
                   scr_scheme_name(c->scheme), c->k, c->set_size,
                   c->flush ? ", flushed" : "");
}

/* Starts that restored the newest and starts that could not. */
struct tally {
    int restored, refused;
};

static void run_case(struct trial *c, struct tally *tally)
{
    struct scr_ctx *ctx = start(c);
    for (int i = 1 + test_below(&c->r, 2); i > 0; i--)
        checkpoint(c, ctx);
    job_kill(&c->job, ctx);
    for (int round = 0, go_on = 1; round < ROUNDS && go_on; round++) {
        int restored = 0;
        go_on = run_round(c, &restored);
        tally->restored += restored;
        tally->refused += !restored;
    }
    for (int d = 0; d < c->ndsets; d++)
        scr_hash_delete(c->dset[d].files);
}

static void one_case(struct mpi_test *t, uint64_t seed, int number, FILE *quiet,
                     struct tally *tally)
{
    struct trial c = { .t = t, .r = test_random_case(seed, number) };
    c.hurt = scr_hash_new();
    draw(&c);
    job_new(t, &c.job, c.ranks);
    c.job.out = quiet;
    c.job.size_of = random_size;
    if (c.job.in)
        run_case(&c, tally);
    job_free(&c.job);
    scr_hash_delete(c.hurt);
    char *story = scr_str_take(&c.story);
    if (!mpi_test_good(t) && t->comm.rank == 0)
        fprintf(stderr, "  in case %d of seed %llu (TEST_CASE=%d): %s\n", number,
                (unsigned long long)seed, number, story);
    free(story);
}

MPI_CASE(random_jobs_restart_with_what_the_rules_promise)
{
    const char *only = getenv("TEST_CASE");
    int first = only != NULL ? (int)strtol(only, NULL, 10) : 0;
    int last = only != NULL ? first : CASES - 1;
    uint64_t seed = test_seed_all(t);
    struct tally tally = { 0, 0 };
    FILE *quiet = only != NULL ? NULL : fopen("/dev/null", "w");
    for (int i = first; i <= last && mpi_test_good(t); i++)
        one_case(t, seed, i, quiet, &tally);
    if (quiet != NULL)
        fclose(quiet);
    if (t->comm.rank > 0)
        return;
    printf("       %d starts restored the newest checkpoint, %d could not\n",
           tally.restored, tally.refused);
    CHECK(only != NULL || (tally.restored > CASES / 8 && tally.refused > CASES / 16));
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv, MPI_CASES(RUN(random_jobs_restart_with_what_the_rules_promise)));
}
