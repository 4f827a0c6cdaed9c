/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy descriptors at their limits: user groups, uneven nodes, sets of every size
 * and with every number of failures, and what Init says of those it cannot give. */
/* ranks: 6 */
#include <limits.h>

#include "helper_job.h"
#include "helper_random.h"

#include "base/str.h"
#include "core/weaken.h"

enum { RANKS = 6 };

/* The sets are the same with every MPI: fewer jobs where waiting ranks spin on the
 * cores. */
#ifdef MPICH_VERSION
enum { TOPOLOGIES = 6, STRIDE = 5 };
#else
enum { TOPOLOGIES = 100, STRIDE = 1 };
#endif

/* --- a job whose messages are kept --- */

struct said {
    FILE *file;
    char *text;
    size_t n;
};

/* The user file of the job: its lines have numbers in messages. */
static void configure(struct job *job, const char *text)
{
    char path[800];
    snprintf(path, sizeof path, "%s/.scrconf", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        FILE *f = fopen(path, "w");
        fputs(text, f);
        fclose(f);
    }
    mpi_test_barrier(job->comm);
}

/* From here on all messages of the job go to said->text. */
static void listen(struct job *job, struct said *said)
{
    *said = (struct said){ NULL, NULL, 0 };
    job->out = said->file = open_memstream(&said->text, &said->n);
    fflush(said->file); /* sets the text */
}

static void stop_listening(struct job *job, struct said *said)
{
    fclose(said->file);
    free(said->text);
    job->out = NULL;
}

static int count_warnings(const char *text)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, "warning: ")) != NULL; p++)
        n++;
    return n;
}

/* Rank 0 says `lines` warnings and this among them; the others say nothing. */
static void check_said(const struct job *job, const struct said *said, int lines,
                       const char *what)
{
    struct mpi_test *t = job->t;
    int want = job->rank == 0 ? lines : 0;
    if (count_warnings(said->text) != want ||
        (want > 0 && strstr(said->text, what) == NULL))
        mpi_test_fail(t, __FILE__, __LINE__, "%d warnings and \"%s\" in: %s", want,
                      what, said->text);
}

/* --- what Init says --- */

struct limit {
    int ranks;
    const char *vnodes;
    const char *conf;
    int lines; /* warnings */
    const char *text;
};

#define FILE_TYPE "SCR_COPY_TYPE=FILE\n"

static const struct limit limits[] = {
    /* Possible redundancy is provided without a message. */
    { 6, "n[1-6]", "SCR_COPY_TYPE=XOR\n", 0, "" },
    { 6, "n[1-6]", "SCR_COPY_TYPE=RS\nSCR_SET_FAILURES=5\n", 0, "" },
    { 6, "n[1-6]", FILE_TYPE "CKPT=0 TYPE=RS SET_SIZE=3 SET_FAILURES=2\n", 0, "" },
    { 6, "n[1-6]", FILE_TYPE "CKPT=0 TYPE=PARTNER SET_FAILURES=5\n", 0, "" },
    { 6, "n[1-6]", FILE_TYPE "CKPT=0 TYPE=XOR SET_SIZE=256\n", 0, "" },
    { 6, "n[1-6]", FILE_TYPE "CKPT=0 TYPE=XOR SET_SIZE=2147483647\n", 0, "" },
    { 6, "n1", "SCR_COPY_TYPE=SINGLE\n", 0, "" },
    { 6, "n[1-6]", FILE_TYPE "CKPT=0 TYPE=SINGLE SET_SIZE=1\n", 0, "" },
    /* Fewer failures than asked for. */
    { 6, "n[1-6]", "SCR_COPY_TYPE=RS\nSCR_SET_FAILURES=6\n", 1,
      "SCR_COPY_TYPE, " /* where it was set */ },
    { 6, "n[1-6]", "SCR_COPY_TYPE=RS\nSCR_SET_FAILURES=254\n", 1,
      "RS with SET_FAILURES=254 is reduced to 5 for 6 of 6 ranks in sets of 6 "
      "(SET_SIZE=8; 6 NODE groups of at most 1 rank)" },
    { 6, "n[1-6]", FILE_TYPE "CKPT=0 TYPE=RS SET_SIZE=2 SET_FAILURES=2\n", 1,
      "/.scrconf:2: RS with SET_FAILURES=2 is reduced to 1 for 6 of 6 ranks in sets "
      "of 2 (SET_SIZE=2; 6 NODE groups of at most 1 rank)" },
    { 5, "n[1-5]", FILE_TYPE "CKPT=0 TYPE=RS SET_SIZE=2 SET_FAILURES=3\n", 1,
      "reduced to 1 for 2 of 5 ranks in sets of 2, to 2 for 3 in sets of 3 "
      "(SET_SIZE=2; 5 NODE groups of at most 1 rank)" },
    { 5, "n[1-5]", FILE_TYPE "CKPT=0 TYPE=RS SET_SIZE=2 SET_FAILURES=2\n", 1,
      "reduced to 1 for 2 of 5 ranks in sets of 2 (" },
    { 6, "n[1-6]", FILE_TYPE "CKPT=0 TYPE=PARTNER SET_FAILURES=6\n", 1,
      "PARTNER with SET_FAILURES=6 is reduced to 5 for 6 of 6 ranks in sets of 6" },
    { 6, "n[1-3]", FILE_TYPE "CKPT=0 TYPE=RS SET_FAILURES=3\n", 1,
      "reduced to 2 for 6 of 6 ranks in sets of 3 (SET_SIZE=8; 3 NODE groups of at "
      "most 2 ranks)" },
    /* No other member. */
    { 6, "n[1-6]", FILE_TYPE "CKPT=0 TYPE=XOR SET_SIZE=1\n", 1,
      "/.scrconf:2: SET_SIZE=1 leaves every rank alone: XOR cannot protect them, "
      "checkpoints are cached as SINGLE" },
    { 6, "n1,n1,n1,n1,n2,n3", FILE_TYPE "CKPT=0 TYPE=XOR\n", 1,
      "/.scrconf:2: NODE group n1 has 4 of the 6 ranks: XOR finds no partner in "
      "another group for 2 of them, whose files are cached as SINGLE" },
    { 6, "n3,n1,n1,n1,n1,n2", FILE_TYPE "CKPT=0 TYPE=RS SET_FAILURES=2\n", 2,
      "reduced to 1 for 4 of 6 ranks in sets of 2 (" },
    { 6, "n1", "SCR_COPY_TYPE=XOR\n", 1, "all ranks are in one NODE group" },
    { 1, "n1", "SCR_COPY_TYPE=RS\n", 1, "all ranks are in one NODE group" },
    { 6, "n1",
      FILE_TYPE "CKPT=0 TYPE=XOR\nCKPT=1 INTERVAL=2 TYPE=RS\nCKPT=2 INTERVAL=4 "
                "TYPE=PARTNER SET_SIZE=1\n",
      2, /* and two places in cache are too few for three lines */
      "all ranks are in one NODE group: no redundancy scheme can protect them" },
    { 6, "n[1-6]", "SCR_COPY_TYPE=XOR\nSCR_GROUP=WORLD\n", 1,
      "all ranks are in one WORLD group" },
    { 6, "n[1-2]",
      "GROUPS=n1 POWER=psu1\nGROUPS=n2 POWER=psu1\n" FILE_TYPE
      "CKPT=0 TYPE=XOR\nCKPT=1 INTERVAL=2 GROUP=POWER\n",
      1, "all ranks are in one POWER group" },
    { 6, "n1", FILE_TYPE "CKPT=0 TYPE=SINGLE\nCKPT=1 ENABLED=0 TYPE=RS\n", 0, "" },
    { 6, "n1", "SCR_COPY_TYPE=XOR\nSCR_CACHE_BYPASS=1\n", 0, "" },
    { 6, "n1", FILE_TYPE "CKPT=0 TYPE=XOR BYPASS=1\nCKPT=1 INTERVAL=2 TYPE=RS\n", 1,
      "all ranks are in one NODE group" },
    /* Hosts without a line of a group. */
    { 6, "n[1-6]",
      "GROUPS=n[1-2] POWER=a\nGROUPS=n4 RACK=a\nGROUPS=n[3,6] POWER=b\n" FILE_TYPE
      "CKPT=0 GROUP=POWER\nCKPT=1 INTERVAL=2 GROUP=POWER TYPE=PARTNER\n",
      1, ".scrconf:5: group POWER has no GROUPS line for host n4 (2 of 6 hosts" },
    { 6, "n[1-3]", "GROUPS=n1 POWER=a\n" FILE_TYPE "CKPT=0 GROUP=POWER TYPE=SINGLE\n",
      0, "" },
    { 6, "n[1-3]", "GROUPS=n1 POWER=a\n" FILE_TYPE "CKPT=0 GROUP=POWER BYPASS=1\n", 0,
      "" },
};

/* The reduced scheme works. */
static void check_limit(struct mpi_test *t, const struct limit *l)
{
    struct job job;
    struct said said;
    job_new(t, &job, l->ranks);
    if (job.in) {
        configure(&job, l->conf);
        listen(&job, &said);
        struct scr_ctx *ctx = job_start(&job, l->vnodes, NULL);
        check_said(&job, &said, l->lines, l->text);
        job_checkpoint(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        ctx = job_start(&job, l->vnodes, NULL);
        job_check_restart(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        stop_listening(&job, &said);
    }
    job_free(&job);
}

MPI_CASE(what_cannot_be_given_is_said_once_and_the_rest_works)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i += STRIDE)
        check_limit(t, &limits[i]);
}

/* The message for a job of that many ranks. */
static void check_told(struct mpi_test *t, const struct job *job,
                       const struct said *said, const struct scr_ctx *ctx, int ranks,
                       int lines)
{
    struct scr_ctx larger = *ctx;
    struct scr_comm alone;
    struct scr_err err = SCR_ERR_INIT;
    larger.world.size = ranks;
    CHECK_RC(scr_comm_split_all(&t->comm, job->rank, 0, &alone, &err), SCR_OK, &err);
    int n = ctx->cache.sets[0].n;
    const struct scr_cut cut = { .group = &alone,
                                 .largest = 1,
                                 .least = n > 1 ? n : INT_MAX - 1,
                                 .has_alone = n == 1 };
    CHECK_RC(scr_weaken_report_all(&larger, &ctx->descs.red[0], &ctx->cache.sets[0],
                                   &cut, ctx->node_name, &err),
             SCR_OK, &err);
    check_said(job, said, lines,
               "/.scrconf:2: SET_SIZE=300: a set has at most 255 ranks");
    scr_comm_free(&alone);
}

JOB_CASE(a_set_size_beyond_the_most_is_a_warning_for_jobs_that_would_use_it, RANKS)
{
    struct said said;
    configure(job, FILE_TYPE "CKPT=0 TYPE=XOR SET_SIZE=300\n");
    listen(job, &said);
    struct scr_ctx *ctx = job_start(job, "n[1-6]", NULL);
    check_told(t, job, &said, ctx, 255, 0);
    check_told(t, job, &said, ctx, 600, 1);
    job_kill(job, ctx);
    stop_listening(job, &said);
}

static void check_refused(struct mpi_test *t, const char *conf, const char *text)
{
    struct job job;
    struct scr_ctx *ctx;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, RANKS);
    configure(&job, conf);
    CHECK_RC(job_try_start(&job, &ctx, &err, "n[1-3]", NULL), SCR_E_CONFIG, &err);
    if (strstr(err.text, text) == NULL)
        mpi_test_fail(t, __FILE__, __LINE__, "not \"%s\" in: %s", text, err.text);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(what_no_set_can_have_is_refused_with_its_line)
{
    check_refused(t, FILE_TYPE "CKPT=0 SET_FAILURES=0\n",
                  "/.scrconf:2): expected an integer from 1 to 254");
    check_refused(t, FILE_TYPE "CKPT=0 SET_FAILURES=255\n", "SET_FAILURES=255 (");
    check_refused(t, FILE_TYPE "CKPT=0 SET_SIZE=0\n", "SET_SIZE=0 (");
    check_refused(t, FILE_TYPE "CKPT=0 SET_SIZE=-1\n", "SET_SIZE=-1 (");
    check_refused(t, FILE_TYPE "CKPT=0 SET_SIZE=2147483648\n", "SET_SIZE=2147483648 (");
    check_refused(t, "SCR_SET_SIZE=0\n", "SCR_SET_SIZE=0 (");
    check_refused(t, "GROUPS=n[1-3 POWER=a\n", ".scrconf:1): ");
}

/* --- groups --- */

static const char power[] = "GROUPS=n1 POWER=psu1 SWITCH=0\n"
                            "GROUPS=n2 POWER=psu1 SWITCH=1\n"
                            "GROUPS=n[3-4] POWER=psu2\n"
                            "GROUPS=n[3,5] SWITCH=0\n"
                            "GROUPS=n[4,6] SWITCH=1\n"
                            "GROUPS=n[5-6] POWER=psu3\n" FILE_TYPE;

/* A checkpoint of this descriptor, these nodes lost, and one checkpoint after that. */
static void lose(struct mpi_test *t, const char *line, const char *const *lost,
                 int survives)
{
    struct job job;
    char conf[1024];
    job_new(t, &job, RANKS);
    snprintf(conf, sizeof conf, "%s%s", power, line);
    configure(&job, conf);
    struct scr_ctx *ctx = job_start(&job, "n[1-6]", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    for (; *lost != NULL; lost++)
        job_lose_node(&job, *lost);
    ctx = job_start(&job, "n[1-6]", NULL);
    job_check_restart(&job, ctx, survives ? "one" : NULL, 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_group_of_several_nodes_may_be_lost)
{
    static const char *const psu2[] = { "n3", "n4", NULL };
    static const char *const switch0[] = { "n1", "n3", "n5", NULL };
    lose(t, "CKPT=0 TYPE=XOR GROUP=POWER\n", psu2, 1);
    lose(t, "CKPT=0 TYPE=PARTNER GROUP=POWER\n", psu2, 1);
    lose(t, "CKPT=0 TYPE=XOR GROUP=switch\n", switch0, 1);
    /* The same nodes, but sets that take them for independent. */
    lose(t, "CKPT=0 TYPE=XOR GROUP=NODE\n", psu2, 0);
    lose(t, "CKPT=0 TYPE=XOR GROUP=POWER\n", switch0, 0);
}

/* --- random topologies --- */

struct topology {
    int vnode[RANKS]; /* of each rank, from 1 */
    int psu[RANKS + 1];
    const char *scheme;
    int set_size, failures;
    int sets, alone, largest; /* what is to come of it, by POWER groups */
    char vnodes[64], conf[1024];
};

static void print_topology(struct topology *p)
{
    size_t n = 0, c = 0;
    for (int r = 0; r < RANKS; r++)
        n += (size_t)snprintf(p->vnodes + n, sizeof p->vnodes - n, "%sn%d",
                              r > 0 ? "," : "", p->vnode[r]);
    for (int v = 1; v <= RANKS; v++)
        c += (size_t)snprintf(p->conf + c, sizeof p->conf - c, "GROUPS=n%d POWER=p%d\n",
                              v, p->psu[v]);
    snprintf(p->conf + c, sizeof p->conf - c,
             FILE_TYPE "CKPT=0 GROUP=POWER TYPE=%s SET_SIZE=%d SET_FAILURES=%d\n",
             p->scheme, p->set_size, p->failures);
}

static int psu_of(const struct topology *p, int rank)
{
    return p->psu[p->vnode[rank]];
}

static void foresee(struct topology *p)
{
    int most = 0;
    for (int r = 0; r < RANKS; r++) {
        int n = 0;
        for (int i = 0; i < RANKS; i++)
            n += psu_of(p, i) == psu_of(p, r);
        if (n > most) {
            most = n;
            p->largest = psu_of(p, r);
        }
    }
    p->sets = RANKS / p->set_size > most ? RANKS / p->set_size : most;
    p->sets = p->sets > 1 ? p->sets : 1;
    /* Members are assigned in turn: sets of one are those without a second turn. */
    p->alone = 2 * p->sets > RANKS ? 2 * p->sets - RANKS : 0;
}

static void draw_topology(struct topology *p, struct test_random *r)
{
    static const char *const schemes[] = { "XOR", "PARTNER", "RS" };
    int nodes = 1 + test_below(r, RANKS), psus = 1 + test_below(r, RANKS);
    for (int i = 0; i < RANKS; i++)
        p->vnode[i] = 1 + test_below(r, nodes);
    for (int v = 1; v <= RANKS; v++)
        p->psu[v] = test_below(r, psus);
    p->scheme = schemes[test_below(r, 3)];
    p->set_size = 1 + test_below(r, RANKS + 1);
    p->failures = 1 + test_below(r, RANKS);
    foresee(p);
    print_topology(p);
}

static void check_set(struct mpi_test *t, const struct topology *p,
                      const struct scr_set *set)
{
    CHECK(set->n >= RANKS / p->sets && set->n <= (RANKS + p->sets - 1) / p->sets);
    for (int i = 0; i < set->n; i++)
        for (int j = 0; j < i; j++)
            CHECK(psu_of(p, set->world[i]) != psu_of(p, set->world[j]));
    CHECK_INT(scr_sum_all(&t->comm, set->me == 0), p->sets);
    CHECK_INT(scr_sum_all(&t->comm, set->n == 1), p->alone);
}

/* Everything on the nodes of a group goes. */
static void lose_group(struct job *job, const struct topology *p, int psu)
{
    for (int v = 1; v <= RANKS; v++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", v);
        if (p->psu[v] == psu)
            job_lose_node(job, name);
    }
}

static void check_topology(struct mpi_test *t, const struct topology *p, int psu)
{
    struct job job;
    struct said said;
    char number[32];
    job_new(t, &job, RANKS);
    configure(&job, p->conf);
    listen(&job, &said);
    struct scr_ctx *ctx = job_start(&job, p->vnodes, NULL);
    check_set(t, p, &ctx->cache.sets[0]);
    snprintf(number, sizeof number, "for %d of them", p->alone);
    if (p->alone > 0 && p->alone < RANKS && job.rank == 0)
        CHECK(strstr(said.text, number) != NULL);
    CHECK(job.rank == 0 || said.n == 0);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    lose_group(&job, p, psu);
    ctx = job_start(&job, p->vnodes, NULL);
    int survives = p->alone == 0 || (p->alone < RANKS && psu != p->largest);
    job_check_restart(&job, ctx, survives ? "one" : NULL, 1);
    job_kill(&job, ctx);
    if (!mpi_test_good(t) && job.rank == 0)
        fprintf(stderr, "lost p%d, SCR_VNODES=%s\n%s%s", psu, p->vnodes, p->conf,
                said.text);
    stop_listening(&job, &said);
    job_free(&job);
}

/* Ranks anywhere, nodes in any groups, any scheme: no set has two ranks of a group, so
 * that any group can be lost unless it is that of ranks without a partner. */
MPI_CASE(random_topologies_survive_the_loss_of_a_group)
{
    uint64_t seed = test_seed_all(t);
    struct topology p;
    for (int i = 0; i < TOPOLOGIES && mpi_test_good(t); i++) {
        struct test_random r = test_random_case(seed, i);
        draw_topology(&p, &r);
        check_topology(t, &p, psu_of(&p, test_below(&r, RANKS)));
    }
}

/* --- as many failures as there can be --- */

/* All nodes but one are lost. */
static void leave_one(struct mpi_test *t, int nodes, int left)
{
    struct job job;
    char conf[128], vnodes[32];
    job_new(t, &job, nodes);
    if (job.in) {
        snprintf(conf, sizeof conf,
                 FILE_TYPE "CKPT=0 TYPE=RS SET_SIZE=%d SET_FAILURES=%d\n", nodes,
                 nodes - 1);
        snprintf(vnodes, sizeof vnodes, "n[1-%d]", nodes);
        configure(&job, conf);
        struct scr_ctx *ctx = job_start(&job, vnodes, NULL);
        job_checkpoint(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        for (int v = 1; v <= nodes; v++) {
            char name[16];
            snprintf(name, sizeof name, "n%d", v);
            if (v != left)
                job_lose_node(&job, name);
        }
        ctx = job_start(&job, vnodes, NULL);
        job_check_restart(&job, ctx, "one", 1);
        job_kill(&job, ctx);
    }
    job_free(&job);
}

MPI_CASE(rs_of_all_but_one_survives_the_loss_of_all_but_one)
{
    for (int nodes = 2; nodes <= RANKS; nodes++)
        for (int left = 1; left <= nodes; left += nodes - 1)
            leave_one(t, nodes, left);
    leave_one(t, RANKS, 3);
}

/* --- several descriptors --- */

static const char three[] =
    FILE_TYPE "CKPT=0 INTERVAL=1 TYPE=XOR SET_SIZE=2\n"
              "CKPT=1 INTERVAL=2 TYPE=RS SET_SIZE=6 SET_FAILURES=4\n"
              "CKPT=2 INTERVAL=3 TYPE=PARTNER SET_SIZE=3 SET_FAILURES=2\n";

/* The descriptor stored with dataset id. */
static void check_stored(struct mpi_test *t, const struct scr_ctx *ctx, int id,
                         const char *type, int failures, int members)
{
    int k = 0, n = 0;
    const scr_hash *desc = scr_filemap_get_desc(ctx->cache.map, id, t->comm.rank);
    const char *stored = scr_hash_get_val(desc, "TYPE");
    CHECK(stored != NULL && strcmp(stored, type) == 0);
    CHECK(scr_hash_get_val_int(desc, "FAILURES", &k) && k == failures);
    CHECK(scr_hash_get_val_int(scr_hash_get(desc, "GROUP"), "RANKS", &n) &&
          n == members);
}

JOB_CASE(each_descriptor_has_its_own_sets, RANKS)
{
    configure(job, three);
    struct scr_ctx *ctx = job_start(job, "n[1-6]", "SCR_CACHE_SIZE=4", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_checkpoint(job, ctx, "three", 3);
    check_stored(t, ctx, 1, "XOR", 1, 2);
    check_stored(t, ctx, 2, "RS", 4, 6);
    check_stored(t, ctx, 3, "PARTNER", 2, 3);
    job_kill(job, ctx);
    /* All of the pair (1,4) and of the three (0,2,4) are among these. */
    job_lose_node(job, "n1");
    job_lose_node(job, "n2");
    job_lose_node(job, "n3");
    job_lose_node(job, "n5");
    ctx = job_start(job, "n[1-6]", "SCR_CACHE_SIZE=4", NULL);
    job_check_restart(job, ctx, "two", 2);
    job_kill(job, ctx);
}

JOB_CASE(a_dataset_is_rebuilt_with_the_sets_it_was_written_with, RANKS)
{
    struct scr_ctx *ctx =
        job_start(job, "n[1-6]", "SCR_COPY_TYPE=XOR", "SCR_SET_SIZE=2", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    /* One of each pair (0,3), (1,4), (2,5): too many for the set of six. */
    job_lose_node(job, "n1");
    job_lose_node(job, "n2");
    job_lose_node(job, "n6");
    ctx = job_start(job, "n[1-6]", "SCR_COPY_TYPE=RS", "SCR_SET_FAILURES=1", NULL);
    job_check_restart(job, ctx, "one", 1);
    check_stored(t, ctx, 1, "XOR", 1, 2);
    job_checkpoint(job, ctx, "two", 2);
    check_stored(t, ctx, 2, "RS", 1, 6);
    job_kill(job, ctx);
}

/* --- runs that do not know of each other --- */

static long one_size(int rank, int file, int seed)
{
    (void)seed;
    return file < JOB_FILES ? 1000 + rank * 10 + file : -1;
}

/* The second run finds nothing on its nodes and starts from the beginning; the third
 * sees half of either, with files of the same sizes. */
JOB_CASE(halves_of_two_runs_are_no_checkpoint, RANKS)
{
    job->size_of = one_size;
    struct scr_ctx *ctx = job_start(job, "n[1-6]", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    ctx = job_start(job, "m[1-6]", NULL);
    job_check_restart(job, ctx, NULL, 0);
    job_checkpoint(job, ctx, "other", 2);
    job_kill(job, ctx);
    ctx = job_start(job, "n1,n2,n3,m4,m5,m6", NULL);
    job_check_restart(job, ctx, NULL, 0);
    job_checkpoint(job, ctx, "third", 3);
    job_kill(job, ctx);
    ctx = job_start(job, "n1,n2,n3,m4,m5,m6", NULL);
    job_check_restart(job, ctx, "third", 3);
    job_kill(job, ctx);
}

/* --- sizes of buffers --- */

static size_t longest_write;

static ssize_t note_write(int fd, const void *buf, size_t n)
{
    longest_write = n > longest_write ? n : longest_write;
    return scr_sys_posix.write(fd, buf, n);
}

MPI_CASE(buffers_are_no_longer_than_asked_for)
{
    enum { MOST = 16384 };
    struct job job;
    struct scr_sys sys = scr_sys_posix;
    sys.write = note_write;
    job_new(t, &job, RANKS);
    configure(&job, "SCR_MPI_BUF_SIZE=16k\nSCR_FILE_BUF_SIZE=16k\nSCR_FLUSH=1\n"
                    "SCR_COPY_TYPE=RS\n");
    job.sys = &sys;
    test_longest_isend = 0;
    struct scr_ctx *ctx = job_start(&job, "n[1-3]", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK(scr_max_all(&t->comm, test_longest_isend) <= MOST);
    CHECK(scr_max_all(&t->comm, test_longest_isend) > MOST - 64);
    CHECK_INT(scr_max_all(&t->comm, (int64_t)longest_write), MOST);
    job_kill(&job, ctx);
    /* Moved and rebuilt. */
    job_lose_node(&job, "n1");
    test_longest_isend = 0;
    ctx = job_start(&job, "n4,n3,n2", NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    CHECK(scr_max_all(&t->comm, test_longest_isend) <= MOST);
    CHECK(scr_max_all(&t->comm, test_longest_isend) > MOST - 64);
    /* Fetched. */
    for (int v = 1; v <= 4; v++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", v);
        job_lose_node(&job, name);
    }
    longest_write = 0;
    ctx = job_start(&job, "n[1-3]", NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    CHECK_INT(scr_max_all(&t->comm, (int64_t)longest_write), MOST);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(what_cannot_be_given_is_said_once_and_the_rest_works),
            RUN(a_set_size_beyond_the_most_is_a_warning_for_jobs_that_would_use_it),
            RUN(what_no_set_can_have_is_refused_with_its_line),
            RUN(a_group_of_several_nodes_may_be_lost),
            RUN(random_topologies_survive_the_loss_of_a_group),
            RUN(rs_of_all_but_one_survives_the_loss_of_all_but_one),
            RUN(each_descriptor_has_its_own_sets),
            RUN(a_dataset_is_rebuilt_with_the_sets_it_was_written_with),
            RUN(halves_of_two_runs_are_no_checkpoint),
            RUN(buffers_are_no_longer_than_asked_for)));
}
