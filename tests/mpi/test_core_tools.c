/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands and jobs on one prefix: what scr_index makes a job restarts from, and what
 * scr have_restart says is what SCR_Have_restart does. */
/* ranks: 4 */
#include "helper_job.h"
#include "helper_prefix.h"
#include "helper_stored.h"

#include <errno.h>
#include <stdarg.h>

#include "base/proc.h"
#include "base/str.h"

static const char *const nodes = "n[1-4]";

static void split(const char *setting, char *pair, size_t size, const char **both)
{
    both[0] = both[1] = both[2] = NULL;
    snprintf(pair, size, "%s", setting != NULL ? setting : "");
    char *blank = strchr(pair, ' ');
    if (*pair != '\0')
        both[0] = pair;
    if (blank != NULL)
        both[1] = blank + 1, *blank = '\0';
}

/* Runs the program scr on rank 0 with these arguments and the job's places; its exit
 * status on all ranks. setting: "K=V", two with a blank between, or NULL. *out: what it
 * printed, without the last newline, on rank 0. */
static int tool(struct job *job, const char *setting, char *out, size_t size, ...)
{
    char pair[256];
    const char *both[3], *argv[16] = { SCR_TOOL };
    split(setting, pair, sizeof pair, both);
    char *prefix = scr_asprintf("SCR_PREFIX=%s", job->prefix);
    char *cntl = scr_asprintf("SCR_CNTL_BASE=%s", job->cache);
    const char *env[] = {
        prefix, cntl, "SCR_USER_NAME=tester", "SCR_JOB_ID=job", both[0], both[1], NULL
    };
    const struct scr_proc_spec spec = { .argv = argv, .env = env };
    int status = -1;
    char *text = NULL;
    va_list ap;
    va_start(ap, size);
    for (int i = 1; i < 15 && (argv[i] = va_arg(ap, const char *)) != NULL; i++)
        ;
    va_end(ap);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        scr_proc_run(&spec, 300, &text, &status, NULL);
    snprintf(out, size, "%s", text ? text : "");
    size_t n = strlen(out);
    out[n > 0 && out[n - 1] == '\n' ? n - 1 : n] = '\0';
    free(text);
    free(prefix);
    free(cntl);
    MPI_Bcast(&status, 1, MPI_INT, 0, job->comm);
    return status;
}

/* --- files written without SCR --- */

/* As in tests/golden/prefix_files.py, so that they are there to be taken. */
static long size_of(int rank, int file, int seed)
{
    (void)seed;
    return file < 2 ? 100 + 10 * rank + file : -1;
}

JOB_CASE(a_job_restarts_from_files_written_without_it, 4)
{
    char out[256], scr[900];
    job->size_of = size_of;
    job_set_prefix(job, SCR_GOLDEN_DIR "/prefix/scr3");
    snprintf(scr, sizeof scr, "%s/.scr", job->prefix);
    if (job->rank == 0)
        mpi_test_remove(scr); /* nothing but the files is left */
    CHECK_INT(tool(job, NULL, out, sizeof out, "have_restart", NULL), 1);
    CHECK_INT(tool(job, NULL, out, sizeof out, "index", "--add-directory", "step.3",
                   "file0.%r", "rank.%r/*", "--ranks", "4", NULL),
              0);
    CHECK_INT(tool(job, NULL, out, sizeof out, "have_restart", NULL), 0);
    if (job->rank == 0)
        CHECK(strcmp(out, "step.3") == 0);
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_check_restart(job, ctx, "step.3", 3);
    job_checkpoint(job, ctx, "next", 2);
    job_end(job, ctx);
}

/* --- the same answer --- */

/* A job of fewer ranks on the files of another. */
static void job_of(struct mpi_test *t, struct job *fewer, const struct job *job, int n)
{
    job_new(t, fewer, n);
    snprintf(fewer->prefix, sizeof fewer->prefix, "%s", job->prefix);
    snprintf(fewer->cache, sizeof fewer->cache, "%s", job->cache);
}

/* What a job would be offered, and what the command says of it before. A start that
 * fails offers nothing. */
static void same_answer(struct mpi_test *t, struct job *job, const char *what,
                        const char *setting)
{
    char said[256], pair[256], offered[SCR_MAX_NAME] = "";
    const char *both[3];
    struct scr_err err = SCR_ERR_INIT;
    int have = 0;
    char ranks[16];
    snprintf(ranks, sizeof ranks, "%d", job->size);
    int status = tool(job, setting, said, sizeof said, "have_restart", "--crc",
                      "--ranks", ranks, NULL);
    struct scr_ctx *ctx;
    split(setting, pair, sizeof pair, both);
    if (job_try_start(job, &ctx, &err, nodes, both) == SCR_OK)
        CHECK_RC(scr_have_restart_all(ctx, &have, offered, &err), SCR_OK, &err);
    job_kill(job, ctx);
    if (status != !have || (job->rank == 0 && strcmp(said, offered) != 0))
        mpi_test_fail(t, __FILE__, __LINE__,
                      "%s: said \"%s\" (%d), offered \"%s\" (%d)", what, said, status,
                      offered, have);
}

static void damage(struct job *job, const char *part)
{
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        int n = 0;
        char **paths = job_find(job->dir, part, &n);
        for (int i = 0; i < n; i++)
            if (strstr(paths[i], ".saved/") == NULL)
                job_flip(paths[i], 50);
        job_find_free(paths, n);
    }
    mpi_test_barrier(job->comm);
}

/* A file was away when scr_index looked. */
static void leave_unfinished(struct job *job)
{
    struct mpi_test *t = job->t;
    char path[900], away[910], out[4096];
    snprintf(path, sizeof path, "%s/step.3/file0.2", job->prefix);
    snprintf(away, sizeof away, "%s.away", path);
    CHECK(job->rank > 0 || rename(path, away) == 0);
    CHECK_INT(tool(job, NULL, out, sizeof out, "index", "--add", "3", NULL), 2);
    CHECK(job->rank > 0 || rename(away, path) == 0);
    CHECK_INT(job_entry(job, 3, NULL, NULL), 0);
}

MPI_CASE(the_command_says_what_a_restart_does)
{
    static const char any_ranks[] = "SCR_RESTART_ANY_RANKS=1";
    static const struct {
        const char *what, *lose; /* virtual nodes lost first */
        const char *flip[4];     /* parts of paths; one byte in each file is flipped */
        const char *current;     /* scr index --current */
        const char *setting;
        int fewer;      /* 1: asked by a run of 3 ranks */
        int unfinished; /* 1: the index has c3 incomplete, of which all files are there
                         */
    } cases[] = {
        { .what = "all in cache" },
        { .what = "one node lost", .lose = "n2" },
        { .what = "a flipped byte in cache",
          .flip = { "scr.dataset.4/rank.1/file0.1" } },
        { .what = "all nodes lost", .lose = "n[1-4]" },
        { .what = "the newest of the prefix is damaged",
          .lose = "n[1-4]",
          .flip = { "prefix/step.3/file0.1" } },
        { .what = "its summary is",
          .lose = "n[1-4]",
          .flip = { "prefix/.scr/scr.dataset.3/summary.scr" } },
        { .what = "its map is",
          .lose = "n[1-4]",
          .flip = { "prefix/.scr/scr.dataset.3/rank2file" } },
        { .what = "an older one is current", .lose = "n[1-4]", .current = "c2" },
        { .what = "an older one is current, and damaged",
          .lose = "n[1-4]",
          .flip = { "prefix/step.2/file0.3" },
          .current = "c2" },
        { .what = "nothing is whole",
          .lose = "n[1-4]",
          .flip = { "prefix/step.1/file0.1", "prefix/step.2/file0.1",
                    "prefix/step.3/file0.1" } },
        { .what = "an unfinished one is whole, and there is an older one",
          .lose = "n[1-4]",
          .unfinished = 1 },
        { .what = "an unfinished one is whole, and nothing else",
          .lose = "n[1-4]",
          .flip = { "prefix/step.1/file0.1", "prefix/step.2/file0.1" },
          .unfinished = 1 },
        { .what = "an unfinished one is not whole, nor is anything else",
          .lose = "n[1-4]",
          .flip = { "prefix/step.1/file0.1", "prefix/step.2/file0.1",
                    "prefix/step.3/file0.1" },
          .unfinished = 1 },
        { .what = "lost from cache, an older one there, not flushed",
          .flip = { "scr.dataset.4/rank.1/file0.1", "scr.dataset.4/rank.2/file0.2" } },
        { .what = "SCR_CURRENT in cache", .setting = "SCR_CURRENT=c3" },
        { .what = "SCR_CURRENT on the prefix", .setting = "SCR_CURRENT=c1" },
        { .what = "SCR_CURRENT unknown", .setting = "SCR_CURRENT=nothing" },
        { .what = "SCR_CURRENT damaged",
          .lose = "n[1-4]",
          .flip = { "prefix/step.2/file0.1" },
          .setting = "SCR_CURRENT=c2" },
        { .what = "three ranks, all in cache", .setting = any_ranks, .fewer = 1 },
        { .what = "three ranks, one node lost",
          .lose = "n4",
          .setting = any_ranks,
          .fewer = 1 },
        { .what = "three ranks, all nodes lost",
          .lose = "n[1-4]",
          .setting = any_ranks,
          .fewer = 1 },
        { .what = "three ranks, two lost from cache, one of them on the prefix",
          .flip = { "scr.dataset.4/rank.1/file0.1", "scr.dataset.4/rank.2/file0.2",
                    "scr.dataset.3/rank.1/file0.1", "scr.dataset.3/rank.2/file0.2" },
          .setting = any_ranks,
          .fewer = 1 },
        { .what = "three ranks that have not asked", .fewer = 1 },
        { .what = "likewise, all nodes lost", .lose = "n[1-4]", .fewer = 1 },
        { .what = "no fetch", .lose = "n[1-4]", .setting = "SCR_FETCH=0" },
        { .what = "kept in cache", .setting = "SCR_DISTRIBUTE=0" },
        { .what = "kept in cache, the newest of the prefix is damaged",
          .flip = { "prefix/step.3/file0.1" },
          .setting = "SCR_DISTRIBUTE=0" },
        { .what = "SCR_CURRENT kept in cache, and on the prefix",
          .setting = "SCR_DISTRIBUTE=0 SCR_CURRENT=c3" },
        { .what = "SCR_CURRENT kept in cache, and nowhere else",
          .setting = "SCR_DISTRIBUTE=0 SCR_CURRENT=c4" },
        { .what = "kept in cache, three ranks",
          .setting = "SCR_DISTRIBUTE=0 SCR_RESTART_ANY_RANKS=1",
          .fewer = 1 },
        { .what = "purged cache", .setting = "SCR_CACHE_PURGE=1" },
        { .what = "SCR_CURRENT damaged, and nothing older",
          .lose = "n[1-4]",
          .flip = { "prefix/step.1/file0.1" },
          .setting = "SCR_CURRENT=c1" },
        { .what = "SCR_CURRENT on the prefix, no fetch",
          .setting = "SCR_FETCH=0 SCR_CURRENT=c1" },
        { .what = "global restart", .setting = "SCR_GLOBAL_RESTART=1" },
        { .what = "global restart of SCR_CURRENT",
          .setting = "SCR_GLOBAL_RESTART=1 SCR_CURRENT=c3" },
        { .what = "global restart, no fetch",
          .setting = "SCR_GLOBAL_RESTART=1 SCR_FETCH=0" },
    };
    struct job job, fewer;
    job_new(t, &job, 4);
    job_of(t, &fewer, &job, 3);
    job.size_of = size_of;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(&job, ctx, "c1", 1);
    job_checkpoint(&job, ctx, "c2", 2);
    job_checkpoint(&job, ctx, "c3", 3);
    job_end(&job, ctx);
    ctx = job_start(&job, nodes, "SCR_FLUSH=0", NULL);
    job_check_restart(&job, ctx, "c3", 3);
    job_checkpoint(&job, ctx, "c4", 4);
    job_kill(&job, ctx);
    job_save(&job);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[256];
        job_go_back(&job);
        if (cases[i].lose != NULL)
            job_lose_node(&job, cases[i].lose);
        for (int f = 0; f < 4 && cases[i].flip[f] != NULL; f++)
            damage(&job, cases[i].flip[f]);
        if (cases[i].unfinished)
            leave_unfinished(&job);
        if (cases[i].current != NULL)
            CHECK_INT(tool(&job, NULL, out, sizeof out, "index", "--current",
                           cases[i].current, NULL),
                      0);
        if (!cases[i].fewer)
            same_answer(t, &job, cases[i].what, cases[i].setting);
        else if (fewer.in)
            same_answer(t, &fewer, cases[i].what, cases[i].setting);
    }
    job_free(&fewer);
    job_free(&job);
}

static void check_told(struct job *job)
{
    struct mpi_test *t = job->t;
    char out[4096];
    CHECK_INT(tool(job, NULL, out, sizeof out, "why", NULL), 0);
    CHECK(job->rank > 0 ||
          strstr(out, "some of its files are not renamed yet") != NULL);
}

/* The job dies at rename n of the files of "c3", which bypasses the cache and replaces
 * those of "c1"; then a byte of those that still lack their names is another. *waits:
 * how often some did. 0: it made no such call. */
static int answer_after_death(struct mpi_test *t, long n, int damaged, int *waits)
{
    static const char bypass[] = "SCR_CACHE_BYPASS=1";
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    job.size_of = size_of;
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, bypass, NULL);
    job_checkpoint(&job, ctx, "c1", 1);
    job_checkpoint(&job, ctx, "c2", 2);
    job_arm(&job, -1, TEST_RENAMEAT, n, EIO, TEST_FOREVER);
    (void)job_write(&job, ctx, "c3", 1, SCR_IS_CKPT, &err);
    job_kill(&job, ctx);
    int fired = job_disarm(&job);
    job.sys = NULL;
    int wait = job_has(&job, ".scr/scr.dataset.3/replacing.scr");
    *waits += wait;
    if (wait)
        check_told(&job);
    if (damaged)
        damage(&job, "/" SCR_PART_DIR "3/file0.2");
    same_answer(t, &job, "names are missing", bypass);
    if (!mpi_test_good(t) && job.rank == 0)
        fprintf(stderr, "died at rename %ld, damaged: %d\n", n, damaged);
    fclose(job.out);
    job_free(&job);
    return fired;
}

MPI_CASE(it_knows_what_a_start_gives_the_names_that_are_missing)
{
    for (int damaged = 0; damaged < 2; damaged++) {
        int waits = 0;
        for (long n = 0; mpi_test_good(t); n++)
            if (!answer_after_death(t, n, damaged, &waits))
                break;
        CHECK(waits > 1);
    }
}

/* The filemaps of a store that all nodes share survive the nodes, and a command that
 * searches a restart finds them where the restart does (invariant C6). */
JOB_CASE(the_command_sees_a_cache_that_all_nodes_share, 4)
{
    static const char *const lost[] = { "n[1-4]", "n2", "n[1-3]" };
    char base[900], path[900];
    job->size_of = size_of;
    snprintf(base, sizeof base, "SCR_CACHE_BASE=%s/world", job->dir);
    snprintf(path, sizeof path, "%s/.scrconf", job->prefix);
    if (job->rank == 0) {
        FILE *f = fopen(path, "w");
        fprintf(f, "STORE=%s/world GROUP=WORLD\n", job->dir);
        fclose(f);
        CHECK(mkdir(strchr(base, '=') + 1, 0700) == 0);
    }
    mpi_test_barrier(job->comm);
    struct scr_ctx *ctx = job_start(job, nodes, base, NULL);
    job_checkpoint(job, ctx, "c1", 1);
    job_kill(job, ctx);
    for (int i = 0; i < 3; i++) {
        char out[256];
        job_lose_node(job, lost[i]);
        CHECK_INT(tool(job, base, out, sizeof out, "have_restart", NULL), 0);
        CHECK_INT(tool(job, base, out, sizeof out, "verify", "--cache", NULL), 0);
        same_answer(t, job, lost[i], base);
    }
    damage(job, "scr.dataset.1/rank.1/file0.1");
    damage(job, "scr.dataset.1/rank.2/file0.2");
    same_answer(t, job, "two files of a set damaged", base);
}

/* --- what a killed job left in cache --- */

JOB_CASE(verify_reads_and_repairs_the_cache_of_a_job, 4)
{
    char out[256];
    job->size_of = size_of;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    job_kill(job, ctx);
    CHECK_INT(tool(job, NULL, out, sizeof out, "verify", "--cache", NULL), 0);
    if (job->rank == 0)
        CHECK(strstr(out, "verified 1 dataset, 8 files") != NULL);
    damage(job, "scr.dataset.1/rank.2/file0.2");
    CHECK_INT(tool(job, NULL, out, sizeof out, "verify", "--cache", NULL), 1);
    if (job->rank == 0)
        CHECK(strstr(out, "dataset 1 (c1): rank 2: ") != NULL);
    CHECK_INT(tool(job, NULL, out, sizeof out, "verify", "--cache", "--repair", NULL),
              0);
    CHECK_INT(tool(job, NULL, out, sizeof out, "verify", "--cache", NULL), 0);
    ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_check_restart(job, ctx, "c1", 1);
    job_end(job, ctx);
}

/* --- a job that lives --- */

JOB_CASE(nothing_is_saved_during_a_run, 4)
{
    static const char *const on_nodes = "SCR_VNODES=n[1-4]";
    char out[256];
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    CHECK_INT(tool(job, on_nodes, out, sizeof out, "postrun", NULL), 2);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    job_checkpoint(job, ctx, "c2", 2);
    job_kill(job, ctx);
    CHECK_INT(tool(job, on_nodes, out, sizeof out, "postrun", NULL), 0);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_check_prefix(job, nodes, "c2", 2);
}

static long size_of_large(int rank, int file, int seed)
{
    (void)seed;
    return file < 2 ? 150000 + 10 * rank + file : -1;
}

/* 1 on all ranks if the JSON of scr status has the text. *done: bytes of its flush, -1:
 * there is none. */
static int status_has(struct job *job, const char *text, long long *done)
{
    struct mpi_test *t = job->t;
    char out[8192];
    int has = 0;
    CHECK_INT(tool(job, NULL, out, sizeof out, "status", "--json", NULL), 0);
    if (job->rank == 0) {
        const char *at = strstr(out, "\"done\": ");
        *done = -1;
        CHECK(at == NULL || sscanf(at, "\"done\": %lld", done) == 1);
        has = strstr(out, text) != NULL;
    }
    MPI_Bcast(&has, 1, MPI_INT, 0, job->comm);
    MPI_Bcast(done, 1, MPI_LONG_LONG, 0, job->comm);
    return has;
}

/* It is slow enough to be looked at on the way. */
JOB_CASE(status_follows_a_flush_in_the_background, 4)
{
    long long done = 0, before = 0;
    job->size_of = size_of_large;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_LOG_ENABLE=1", "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1",
                  "SCR_FLUSH_ASYNC_BW=100KB", NULL);
    CHECK(status_has(job, "\"state\": \"running\"", &done));
    CHECK_INT(done, -1);
    job_checkpoint(job, ctx, "c1", 1);
    for (int i = 0; i < MPI_TEST_PATIENCE_MS && done <= 0; i++)
        CHECK(status_has(job, "\"async\": true", &done));
    CHECK(done < 1200000);
    CHECK(status_has(job, "\"survives\": 1", &before) && before >= done);
    job_kill(job, ctx);
    CHECK(status_has(job, "\"state\": \"died\"", &done));
    ctx = job_start(job, nodes, "SCR_LOG_ENABLE=1", "SCR_FLUSH=1", NULL);
    job_check_restart(job, ctx, "c1", 1);
    job_end(job, ctx);
    CHECK(status_has(job, "\"state\": \"ended\"", &done));
    CHECK_INT(done, -1);
    CHECK(status_has(job, "\"only_in_cache\": 0", &done));
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_job_restarts_from_files_written_without_it),
                  RUN(the_command_says_what_a_restart_does),
                  RUN(it_knows_what_a_start_gives_the_names_that_are_missing),
                  RUN(the_command_sees_a_cache_that_all_nodes_share),
                  RUN(verify_reads_and_repairs_the_cache_of_a_job),
                  RUN(nothing_is_saved_during_a_run),
                  RUN(status_follows_a_flush_in_the_background)));
}
