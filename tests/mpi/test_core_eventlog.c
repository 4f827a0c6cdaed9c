/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log of jobs: which events there are, and that their figures agree. */
/* ranks: 4 */
#include <sys/stat.h>

#include "helper_job.h"
#include "helper_stored.h"
#include "store/eventlog.h"

static const char *const nodes = "n[1-4]";

#define CHECK_STR(got, want)                                                           \
    do {                                                                               \
        if (strcmp(got, want) != 0)                                                    \
            mpi_test_fail(t, __FILE__, __LINE__, "%s = \"%s\", not \"%s\"", #got, got, \
                          want);                                                       \
    } while (0)

/* --- what the log has, on rank 0 --- */

/* The names of events in order, without those of computing, and the last event of a
 * name that is looked for. */
enum { NAME, NODES, NOTE, WHERE };
struct seen {
    char names[4096];
    const char *wanted;
    int skip; /* so many of that name first */
    struct scr_event found;
    char texts[4][256]; /* of found, whose own do not live as long */
    double secs;        /* of all events of that name */
};

static void keep(char to[256], const char *text)
{
    snprintf(to, 256, "%s", text != NULL ? text : "");
}

static int see(void *arg, const struct scr_event *e, struct scr_err *err)
{
    struct seen *s = arg;
    size_t n = strlen(s->names);
    (void)err;
    if (strncmp(e->event, "COMPUTE_", 8) != 0)
        snprintf(s->names + n, sizeof s->names - n, n > 0 ? " %s" : "%s", e->event);
    if (s->wanted == NULL || strcmp(e->event, s->wanted) != 0)
        return SCR_OK;
    s->secs += e->secs;
    if (s->skip-- != 0)
        return SCR_OK;
    s->found = *e;
    keep(s->texts[NAME], e->name);
    keep(s->texts[NODES], e->nodelist);
    keep(s->texts[NOTE], e->note);
    keep(s->texts[WHERE], e->to ? e->to : e->from ? e->from : e->class);
    return SCR_OK;
}

/* Event number n, from 0, of that name. */
static struct seen look(struct job *job, const char *wanted, int n)
{
    struct mpi_test *t = job->t;
    char scr[800];
    struct scr_err err = SCR_ERR_INIT;
    struct seen s = { .wanted = wanted, .skip = n };
    struct scr_eventlog_reader r = { .event = see, .arg = &s };
    const struct scr_env env = { .sys = &scr_sys_posix };
    snprintf(scr, sizeof scr, "%s/.scr", job->prefix);
    const struct scr_prefix p = { .path = job->prefix, .scr = scr };
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        CHECK_RC(scr_eventlog_walk(&env, &p, &r, &err), SCR_OK, &err);
        CHECK_INT((int)r.damaged, 0);
    }
    mpi_test_barrier(job->comm);
    return s;
}

static void check_names(struct job *job, const char *want)
{
    struct mpi_test *t = job->t;
    const struct seen s = look(job, NULL, 0);
    if (job->rank == 0 && strcmp(s.names, want) != 0)
        mpi_test_fail(t, __FILE__, __LINE__, "the log has %s", s.names);
}

/* Bytes of all ranks' files in the prefix directory. */
static void check_figures(struct job *job, const char *event, int n, const char *name,
                          int64_t bytes)
{
    struct mpi_test *t = job->t;
    const struct seen s = look(job, event, n);
    if (job->rank != 0)
        return;
    CHECK_STR(s.texts[NAME], name);
    CHECK(s.found.secs > 0);
    CHECK(s.found.bytes > 0 && (bytes == 0 || s.found.bytes == bytes));
    CHECK_INT((int)s.found.files, JOB_FILES * 4);
}

/* Its events are of the year 2001: no run of them still computes. */
static void make_log_old(struct job *job)
{
    struct mpi_test *t = job->t;
    static const char time[] = "{\"time\":\"";
    char path[800], line[4096];
    if (job->rank == 0) {
        snprintf(path, sizeof path, "%s/.scr/log", job->prefix);
        FILE *log = fopen(path, "r+");
        CHECK(log != NULL);
        for (long at = 0; fgets(line, sizeof line, log) != NULL; at = ftell(log)) {
            long next = ftell(log);
            CHECK(strncmp(line, time, sizeof time - 1) == 0);
            CHECK_INT(fseek(log, at + (long)sizeof time - 1, SEEK_SET), 0);
            CHECK(fputs("2001", log) >= 0);
            CHECK_INT(fseek(log, next, SEEK_SET), 0);
        }
        CHECK_INT(fclose(log), 0);
    }
    mpi_test_barrier(job->comm);
}

/* --- cases --- */

JOB_CASE(a_run_that_ends_well, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=2", "SCR_CACHE_SIZE=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_end(job, ctx);
    check_names(job, "START RUN_START "
                     "CHECKPOINT_START ENCODE CHECKPOINT_END "
                     "DELETE CHECKPOINT_START ENCODE FLUSH_START FLUSH_SUCCESS "
                     "CHECKPOINT_END RUN_END");
    const struct seen start = look(job, "RUN_START", 0),
                      computed = look(job, "COMPUTE_END", 0),
                      written = look(job, "CHECKPOINT_END", 0),
                      flushed = look(job, "FLUSH_SUCCESS", 0),
                      encoded = look(job, "ENCODE", 0), end = look(job, "RUN_END", 0),
                      gone = look(job, "DELETE", 0);
    check_figures(job, "CHECKPOINT_END", 1, "two", flushed.found.bytes);
    check_figures(job, "FLUSH_SUCCESS", 0, "two", flushed.found.bytes);
    if (job->rank != 0)
        return;
    CHECK_INT((int)start.found.ranks, 4);
    CHECK_INT((int)start.found.nodes, 4);
    CHECK_INT((int)start.found.run, 1);
    CHECK_STR(start.texts[NODES], nodes);
    CHECK(start.found.secs > 0);
    CHECK(encoded.found.bytes == written.found.bytes);
    CHECK_STR(encoded.texts[WHERE], "XOR");
    CHECK_STR(flushed.texts[WHERE], "prefix");
    CHECK_STR(gone.texts[NAME], "one");
    CHECK_STR(gone.texts[WHERE], "cache");
    CHECK(gone.texts[NOTE][0] != '\0');
    CHECK(computed.secs + written.secs + flushed.secs <= end.found.secs);
    CHECK_STR(end.texts[NOTE], "");
}

/* XOR where the sets have members on several nodes, SINGLE where they cannot. */
JOB_CASE(the_scheme_is_the_one_that_was_applied, 4)
{
    struct scr_ctx *ctx = job_start(job, "n1", "SCR_COPY_TYPE=XOR", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_end(job, ctx);
    ctx = job_start(job, "n[1-2]", "SCR_COPY_TYPE=XOR", NULL);
    job_checkpoint(job, ctx, "two", 2);
    job_end(job, ctx);
    const struct seen alone = look(job, "ENCODE", 0), set = look(job, "ENCODE", 1);
    if (job->rank != 0)
        return;
    CHECK_STR(alone.texts[WHERE], "SINGLE");
    CHECK_STR(set.texts[WHERE], "XOR");
}

/* A node is lost: the next run says so, and where its files are again. */
JOB_CASE(a_run_that_fails, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, "n2");
    ctx = job_start(job, "n1,n5,n3,n4", "SCR_FLUSH=0", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_end(job, ctx);
    check_names(job, "START RUN_START CHECKPOINT_START ENCODE CHECKPOINT_END "
                     "START REBUILD_SUCCESS FAILURE RUN_START "
                     "RESTART_SUCCESS RUN_END");
    const struct seen failure = look(job, "FAILURE", 0),
                      rebuilt = look(job, "REBUILD_SUCCESS", 0),
                      again = look(job, "RUN_START", 1),
                      restarted = look(job, "RESTART_SUCCESS", 0);
    if (job->rank != 0)
        return;
    CHECK_STR(failure.texts[WHERE], "node");
    CHECK_STR(failure.texts[NODES], "n2");
    CHECK(strstr(failure.texts[NOTE], "run 1 of job ") == failure.texts[NOTE]);
    CHECK_STR(rebuilt.texts[NODES], "n5");
    CHECK_STR(rebuilt.texts[NAME], "one");
    CHECK(rebuilt.found.secs > 0 && rebuilt.found.bytes > 0);
    CHECK_INT((int)again.found.run, 2);
    CHECK_STR(restarted.texts[WHERE], "cache");
    CHECK_STR(restarted.texts[NAME], "one");
    CHECK(restarted.found.secs > 0);
}

/* A process dies, or files come to other nodes: nothing is lost, or rebuilt. */
JOB_CASE(intact_datasets_are_not_rebuilt, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
    ctx = job_start(job, "n2,n1,n4,n3", "SCR_FLUSH=0", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_end(job, ctx);
    check_names(job, "START RUN_START CHECKPOINT_START ENCODE CHECKPOINT_END "
                     "START FAILURE RUN_START RESTART_SUCCESS "
                     "START FAILURE RUN_START RESTART_SUCCESS RUN_END");
}

/* All nodes are lost: it comes from the prefix directory. */
JOB_CASE(a_start_that_fetches, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_end(job, ctx);
    check_names(job,
                "START RUN_START CHECKPOINT_START ENCODE FLUSH_START FLUSH_SUCCESS "
                "CHECKPOINT_END "
                "START FETCH_START FETCH_SUCCESS FAILURE RUN_START "
                "RESTART_SUCCESS RUN_END");
    const struct seen failure = look(job, "FAILURE", 0),
                      restarted = look(job, "RESTART_SUCCESS", 0),
                      flushed = look(job, "FLUSH_SUCCESS", 0);
    check_figures(job, "FETCH_SUCCESS", 0, "one", flushed.found.bytes);
    if (job->rank != 0)
        return;
    CHECK_STR(failure.texts[WHERE], "beyond");
    CHECK_STR(failure.texts[NODES], "");
    CHECK_STR(restarted.texts[WHERE], "prefix");
}

/* A checkpoint that a rank could not write has no bytes and says why. */
JOB_CASE(a_checkpoint_that_fails, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    CHECK_RC(scr_start_output_all(ctx, "one", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(scr_complete_output_all(ctx, job->rank != 3, &err) != SCR_OK);
    job_end(job, ctx);
    check_names(job, "START RUN_START CHECKPOINT_START CHECKPOINT_END RUN_END");
    const struct seen failed = look(job, "CHECKPOINT_END", 0);
    if (job->rank != 0)
        return;
    CHECK_STR(failed.texts[NAME], "one");
    CHECK(failed.found.bytes == -1 && failed.texts[NOTE][0] != '\0');
}

/* The halt is recorded with its reason; a start that is halted has no compute phase. */
JOB_CASE(a_halt, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_HALT_ENABLED=0", NULL);
    if (job->rank == 0) {
        char path[800];
        scr_hash *halt = scr_hash_new();
        scr_hash_set_val(halt, "CheckpointsLeft", "1");
        snprintf(path, sizeof path, "%s/.scr/halt.scr", job->prefix);
        CHECK_RC(scr_hash_file_write(&scr_sys_posix, path, halt, SCR_DURABLE, &err),
                 SCR_OK, &err);
        scr_hash_delete(halt);
    }
    mpi_test_barrier(job->comm);
    job_checkpoint(job, ctx, "one", 1);
    job_end(job, ctx);
    check_names(job, "START RUN_START CHECKPOINT_START ENCODE CHECKPOINT_END HALT "
                     "FLUSH_START FLUSH_SUCCESS RUN_END");
    const struct seen halt = look(job, "HALT", 0);
    CHECK(job->rank != 0 || halt.texts[NOTE][0] != '\0');
}

/* The other job may still compute, and its end is not that of this one's run. */
JOB_CASE(an_open_run_of_another_job_is_no_failure, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_JOB_ID=other", NULL);
    job_end(job, ctx);
    check_names(job, "START RUN_START START RUN_START RUN_END");
    ctx = job_start(job, nodes, "SCR_JOB_ID=other", NULL);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_JOB_ID=other", NULL);
    job_end(job, ctx);
    check_names(job, "START RUN_START START RUN_START RUN_END START RUN_START START "
                     "FAILURE RUN_START RUN_END");
}

/* Of an earlier allocation, which has ended, no node is lost. */
JOB_CASE(nodes_of_an_earlier_job_are_not_lost, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    make_log_old(job);
    ctx = job_start(job, "n[5-8]", "SCR_FLUSH=1", "SCR_JOB_ID=other", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_end(job, ctx);
    const struct seen failure = look(job, "FAILURE", 0);
    if (job->rank != 0)
        return;
    CHECK_STR(failure.texts[WHERE], "beyond");
    CHECK_STR(failure.texts[NODES], "");
    CHECK(strstr(failure.texts[NOTE], "run 1 of job ") == failure.texts[NOTE]);
}

JOB_CASE(output_flushed_by_threads, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH_ASYNC=1", NULL);
    CHECK_RC(job_write(job, ctx, "out", 1, SCR_IS_OUTPUT, &err), SCR_OK, &err);
    job_end(job, ctx);
    check_names(job, "START RUN_START OUTPUT_START ENCODE ASYNC_FLUSH_START OUTPUT_END "
                     "ASYNC_FLUSH_SUCCESS DELETE RUN_END");
    check_figures(job, "OUTPUT_END", 0, "out", 0);
    check_figures(job, "ASYNC_FLUSH_SUCCESS", 0, "out", 0);
}

JOB_CASE(nothing_is_recorded_if_it_is_off, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_LOG_ENABLE=0", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_end(job, ctx);
    CHECK_INT(job_count(job, job->prefix, "/.scr/log"), 0);
}

/* A log that cannot be written is said once, with the cause. */
JOB_CASE(a_log_that_cannot_be_written_costs_a_line, 4)
{
    char path[800];
    job->out = tmpfile();
    CHECK(job->out != NULL);
    if (job->rank == 0) {
        snprintf(path, sizeof path, "%s/.scr", job->prefix);
        CHECK_INT(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/.scr/log", job->prefix);
        CHECK_INT(mkdir(path, 0700), 0);
    }
    mpi_test_barrier(job->comm);
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_check_restart(job, ctx, "one", 1);
    job_end(job, ctx);
    CHECK_INT(job_said(job, "warning: event log: "), 1);
    CHECK_INT(job_said(job, "/.scr/log: "), 1);
    fclose(job->out);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_run_that_ends_well),
                  RUN(the_scheme_is_the_one_that_was_applied), RUN(a_run_that_fails),
                  RUN(intact_datasets_are_not_rebuilt), RUN(a_start_that_fetches),
                  RUN(a_checkpoint_that_fails), RUN(a_halt),
                  RUN(an_open_run_of_another_job_is_no_failure),
                  RUN(nodes_of_an_earlier_job_are_not_lost),
                  RUN(output_flushed_by_threads), RUN(nothing_is_recorded_if_it_is_off),
                  RUN(a_log_that_cannot_be_written_costs_a_line)));
}
