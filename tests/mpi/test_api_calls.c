/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call of scr.h from SCR_Init on, used well and used wrong. The cases run in
 * order: they are one life of the library. A misuse must give its code on all ranks and
 * exactly one line on stderr. */
/* ranks: 1 2 4 5 8 */
#include "helper_memory.h"
#include "helper_misuse.h"

static char prefix[600], cache[600];

static void put(struct mpi_test *t, const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (f == NULL)
        return;
    fputs(text, f);
    CHECK(fclose(f) == 0);
}

static int file_is(const char *path, const char *text)
{
    char got[256] = "";
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    size_t n = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    return n == strlen(text) && memcmp(got, text, n) == 0;
}

/* One checkpoint with one file a rank that holds its name. */
static int checkpoint(struct mpi_test *t, const char *name, int flags)
{
    char file[700], path[SCR_MAX_FILENAME];
    char copy[SCR_MAX_FILENAME];
    snprintf(copy, sizeof copy, "%s", name);
    int rc = SCR_Start_output(copy, flags);
    if (rc != SCR_SUCCESS)
        return rc;
    snprintf(file, sizeof file, "%s/%s/r%d", prefix, name, t->comm.rank);
    CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
    put(t, path, name);
    return SCR_Complete_output(1);
}

static int exists(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int exists(const char *fmt, ...)
{
    char path[1500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    return access(path, F_OK) == 0;
}

static void set_places(void)
{
    SCR_Configf("SCR_PREFIX=%s", prefix);
    SCR_Configf("SCR_CACHE_BASE=%s", cache);
    SCR_Configf("SCR_CNTL_BASE=%s", cache);
    SCR_Config("SCR_VNODES=4");
}

MPI_CASE(init_starts_once)
{
    t->keeps = 1;
    snprintf(prefix, sizeof prefix, "%s/prefix", t->dir);
    snprintf(cache, sizeof cache, "%s/cache", t->dir);
    if (t->comm.rank == 0) {
        mkdir(prefix, 0700);
        mkdir(cache, 0700);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    set_places();
    SCR_Config("SCR_CACHE_SIZE=3");
    SCR_Config("SCR_FLUSH=0");
    SCR_Config("SCR_CHECKPOINT_INTERVAL=2");
    CHECK_INT(SCR_Init(), SCR_SUCCESS);
    MISUSE(SCR_Init(), SCR_E_STATE, "already");
    MISUSE(config_code("SCR_FLUSH=3"), SCR_E_STATE, "before SCR_Init");
    char *value = (char *)(uintptr_t)SCR_Config("SCR_CACHE_SIZE");
    CHECK(value && strcmp(value, "3") == 0);
    free(value);
}

/* --- idle --- */

MPI_CASE(without_a_checkpoint_there_is_no_restart)
{
    int flag = 7;
    char name[SCR_MAX_FILENAME];
    CHECK_INT(SCR_Have_restart(&flag, name), SCR_SUCCESS);
    CHECK_INT(flag, 0);
    CHECK_INT(SCR_Have_restart(&flag, NULL), SCR_SUCCESS);
    MISUSE(SCR_Have_restart(NULL, name), SCR_E_ARG, "NULL");
    MISUSE(SCR_Start_restart(name), SCR_E_STATE, "SCR_Have_restart");
    MISUSE(SCR_Complete_restart(1), SCR_E_STATE, "SCR_Start_restart");
    MISUSE(SCR_Complete_output(1), SCR_E_STATE, "SCR_Start_output");
}

MPI_CASE(route_outside_of_phases_copies)
{
    char path[SCR_MAX_FILENAME] = "";
    char huge[SCR_MAX_FILENAME + 10];
    CHECK_INT(SCR_Route_file("some/relative name", path), SCR_SUCCESS);
    CHECK(strcmp(path, "some/relative name") == 0);
    memset(huge, 'x', sizeof huge);
    huge[sizeof huge - 1] = '\0';
    MISROUTE(huge, path, SCR_E_NAME);
    MISROUTE(NULL, path, SCR_E_ARG);
    MISROUTE("x", NULL, SCR_E_ARG);
    MISROUTE("", path, SCR_E_NAME);
    huge[SCR_MAX_FILENAME - 1] = '\0';
    CHECK_INT(SCR_Route_file(huge, path), SCR_SUCCESS);
}

MPI_CASE(need_checkpoint_follows_the_interval)
{
    int flag = 7;
    CHECK_INT(SCR_Need_checkpoint(&flag), SCR_SUCCESS);
    CHECK_INT(flag, 0);
    CHECK_INT(SCR_Need_checkpoint(&flag), SCR_SUCCESS);
    CHECK_INT(flag, 1);
    MISUSE(SCR_Need_checkpoint(NULL), SCR_E_ARG, "NULL");
    CHECK_INT(SCR_Should_exit(&flag), SCR_SUCCESS);
    CHECK_INT(flag, 0);
    MISUSE(SCR_Should_exit(NULL), SCR_E_ARG, "NULL");
}

MPI_CASE(start_output_refuses_bad_arguments)
{
    char huge[SCR_MAX_FILENAME + 1], a[] = "a", b[] = "b", empty[] = "";
    memset(huge, 'n', sizeof huge);
    huge[sizeof huge - 1] = '\0';
    MISUSE(SCR_Start_output(a, 8), SCR_E_ARG, "flags=8");
    MISUSE(SCR_Start_output(huge, SCR_FLAG_OUTPUT), SCR_E_NAME, "1024 characters");
    if (t->comm.size > 1) {
        int odd = t->comm.rank == t->comm.size - 1;
        MISUSE(SCR_Start_output(odd ? a : b, SCR_FLAG_OUTPUT), SCR_E_MISMATCH,
               "name differs");
        MISUSE(SCR_Start_output(odd ? NULL : b, SCR_FLAG_OUTPUT), SCR_E_MISMATCH,
               "name differs");
        MISUSE(SCR_Start_output(odd ? empty : b, SCR_FLAG_OUTPUT), SCR_E_MISMATCH,
               "name differs");
        MISUSE(SCR_Start_output(a, odd ? SCR_FLAG_OUTPUT : SCR_FLAG_CHECKPOINT),
               SCR_E_MISMATCH, "flags differ");
    }
}

/* A program that overlooks that its dataset was not opened must not write to the
 * prefix directory, over the files of an older one, and gets no more than one
 * message. */
MPI_CASE(a_phase_that_was_not_opened_routes_nothing)
{
    struct capture cap;
    char text[4096], path[SCR_MAX_FILENAME] = "an older file", name[] = "unopened";
    MISUSE(SCR_Start_output(name, 8), SCR_E_ARG, "flags=8");
    capture_start(t, &cap);
    CHECK_INT(SCR_Route_file("state", path), SCR_E_STATE);
    CHECK(strcmp(path, "") == 0);
    check_last(t, SCR_E_STATE, NULL);
    CHECK_INT(SCR_Complete_output(1), SCR_E_STATE);
    CHECK_INT(capture_end(&cap, text, sizeof text), 0);
    CHECK_INT(SCR_Route_file("state", path), SCR_SUCCESS); /* it is over */
    CHECK(strcmp(path, "state") == 0);
    MISUSE(SCR_Complete_output(1), SCR_E_STATE, "SCR_Start_output");
    /* … as it is with any other collective call. */
    MISUSE(SCR_Start_output(name, 8), SCR_E_ARG, "flags=8");
    MISUSE(config_code("SCR_FLUSH=3"), SCR_E_STATE, "before SCR_Init");
    MISUSE(SCR_Init(), SCR_E_STATE, "already");
    int flag = 7;
    CHECK_INT(SCR_Should_exit(&flag), SCR_SUCCESS);
    CHECK_INT(SCR_Route_file("state", path), SCR_SUCCESS);
}

/* --- datasets --- */

MPI_CASE(a_checkpoint_is_cached)
{
    CHECK_INT(checkpoint(t, "one", SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    CHECK(!exists("%s/one/r%d", prefix, t->comm.rank));
}

MPI_CASE(calls_that_do_not_belong_into_an_output_phase)
{
    int flag;
    char name[] = "phase";
    CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    MISUSE(SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT), SCR_E_STATE,
           "SCR_Complete_output");
    MISUSE(SCR_Start_checkpoint(), SCR_E_STATE, "SCR_Complete_output");
    MISUSE(SCR_Have_restart(&flag, NULL), SCR_E_STATE, "SCR_Complete_output");
    MISUSE(SCR_Start_restart(NULL), SCR_E_STATE, "SCR_Complete_output");
    MISUSE(SCR_Complete_restart(1), SCR_E_STATE, "SCR_Complete_output");
    MISUSE(SCR_Need_checkpoint(&flag), SCR_E_STATE, "SCR_Complete_output");
    MISUSE(SCR_Current("one"), SCR_E_STATE, "SCR_Complete_output");
    MISUSE(SCR_Delete("one"), SCR_E_STATE, "SCR_Complete_output");
    MISUSE(SCR_Drop("one"), SCR_E_STATE, "SCR_Complete_output");
    MISUSE(SCR_Finalize(), SCR_E_STATE, "SCR_Complete_output");
    CHECK_INT(SCR_Should_exit(&flag), SCR_SUCCESS);
    CHECK_INT(SCR_Complete_output(1), SCR_E_MISSING); /* it has no files */
}

MPI_CASE(route_in_an_output_phase)
{
    char file[700], path[SCR_MAX_FILENAME], again[SCR_MAX_FILENAME],
        other[SCR_MAX_FILENAME];

    CHECK_INT(SCR_Start_checkpoint(), SCR_SUCCESS);
    snprintf(file, sizeof file, "%s/a/state.%d", prefix, t->comm.rank);
    CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
    CHECK_INT(SCR_Route_file(file, again), SCR_SUCCESS);
    CHECK(strcmp(path, again) == 0);
    CHECK(strncmp(path, cache, strlen(cache)) == 0);
    /* The same base name in another directory is another file. */
    snprintf(file, sizeof file, "%s/b/../b//state.%d", prefix, t->comm.rank);
    CHECK_INT(SCR_Route_file(file, other), SCR_SUCCESS);
    CHECK(strcmp(path, other) != 0);
    put(t, path, "first");
    put(t, other, "second");
    CHECK(file_is(path, "first"));
    CHECK_INT(SCR_Complete_checkpoint(1), SCR_SUCCESS);

    CHECK_INT(SCR_Start_checkpoint(), SCR_SUCCESS);
    MISROUTE("/etc/passwd", path, SCR_E_OUTSIDE);
    MISROUTE(NULL, path, SCR_E_ARG);
    snprintf(file, sizeof file, "%s/../elsewhere", prefix);
    MISROUTE(file, path, SCR_E_OUTSIDE);
    snprintf(file, sizeof file, "%s/.scr/index.scr", prefix);
    MISROUTE(file, path, SCR_E_OUTSIDE);
    MISROUTE(prefix, path, SCR_E_OUTSIDE);
    /* So many lines of a rank are enough: the rest are counted. */
    struct capture more;
    char text[4096];
    capture_start(t, &more);
    CHECK_INT(SCR_Route_file("/etc/group", path), SCR_E_OUTSIDE);
    CHECK_INT(capture_end(&more, text, sizeof text), 0);
    /* A program that continues after that does not get a dataset without its file. */
    MISUSE(
        SCR_Complete_checkpoint(1), SCR_E_OUTSIDE,
        "lacks a file and 5 more: SCR_Route_file: /etc/passwd is outside the prefix");
}

MPI_CASE(names_too_long_for_the_buffer_are_refused)
{
    char huge[2048], path[SCR_MAX_FILENAME] = "untouched";
    int n = snprintf(huge, sizeof huge, "%s/", prefix);
    memset(huge + n, 'd', 1000);
    huge[n + 1000] = '\0';
    CHECK_INT(SCR_Start_checkpoint(), SCR_SUCCESS);
    MISROUTE(huge, path, SCR_E_NAME);
    CHECK(strcmp(path, "") == 0); /* not the path of an older file */
    MISUSE(SCR_Complete_checkpoint(1), SCR_E_NAME, "characters");
}

MPI_CASE(files_never_written_fail_the_dataset)
{
    char file[700], path[SCR_MAX_FILENAME], name[] = "unwritten";
    CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    snprintf(file, sizeof file, "%s/never.%d", prefix, t->comm.rank);
    CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
    if (t->comm.rank != t->comm.size - 1)
        put(t, path, "x");
    MISUSE(SCR_Complete_output(1), SCR_E_MISSING,
           "SCR_Complete_output: unwritten (dataset ");
    char why[SCR_MAX_FILENAME];
    SCR_Last_error(why);
    CHECK(strstr(why, " failed, none for ") != NULL);
    CHECK(strstr(why, "never written") != NULL);
    CHECK(!exists("%s", path));
    MISUSE(SCR_Current("unwritten"), SCR_SUCCESS, "unwritten");
}

MPI_CASE(valid_0_on_one_rank_drops_the_dataset_everywhere)
{
    char name[] = "invalid", why[SCR_MAX_FILENAME], who[32];
    CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    MISUSE(SCR_Complete_output(t->comm.rank != t->comm.size - 1), SCR_E_INVALID,
           "valid=0");
    SCR_Last_error(why); /* the same on all ranks */
    snprintf(who, sizeof who, "(rank %d)", t->comm.size - 1);
    CHECK(t->comm.size == 1 || strstr(why, who) != NULL);
    MISUSE(SCR_Delete("invalid"), SCR_SUCCESS, "invalid");
}

MPI_CASE(output_reaches_the_prefix_and_leaves_the_cache)
{
    char path[700];
    CHECK_INT(checkpoint(t, "result", SCR_FLAG_OUTPUT), SCR_SUCCESS);
    snprintf(path, sizeof path, "%s/result/r%d", prefix, t->comm.rank);
    CHECK(file_is(path, "result"));
    CHECK_INT(checkpoint(t, "both", SCR_FLAG_OUTPUT | SCR_FLAG_CHECKPOINT),
              SCR_SUCCESS);
    snprintf(path, sizeof path, "%s/both/r%d", prefix, t->comm.rank);
    CHECK(file_is(path, "both"));
}

/* --- restart --- */

/* Every rank wrote one file. */
static void check_list(struct mpi_test *t, const char *want)
{
    int n = 0, rank = -1;
    char file[SCR_MAX_FILENAME], expected[700];
    CHECK_INT(SCR_Restart_ranks(&n), SCR_SUCCESS);
    CHECK_INT(n, t->comm.size);
    MISUSE(SCR_Restart_files(NULL), SCR_E_ARG, "NULL");
    CHECK_INT(SCR_Restart_files(&n), SCR_SUCCESS);
    CHECK_INT(n, t->comm.size);
    for (int i = 0; i < n; i++) {
        CHECK_INT(SCR_Restart_file(i, file, &rank), SCR_SUCCESS);
        CHECK_INT(rank, i);
        snprintf(expected, sizeof expected, "%s/%s/r%d", prefix, want, i);
        CHECK(strcmp(file, expected) == 0);
    }
    CHECK_INT(SCR_Restart_file(0, file, NULL), SCR_SUCCESS);
}

static void read_back(struct mpi_test *t, const char *want, int valid)
{
    int flag = 0;
    char name[SCR_MAX_FILENAME] = "", file[700], base[32], path[SCR_MAX_FILENAME];
    CHECK_INT(SCR_Have_restart(&flag, name), SCR_SUCCESS);
    CHECK_INT(flag, 1);
    CHECK(strcmp(name, want) == 0);
    name[0] = '\0';
    CHECK_INT(SCR_Start_restart(name), SCR_SUCCESS);
    CHECK(strcmp(name, want) == 0);
    snprintf(file, sizeof file, "%s/%s/r%d", prefix, want, t->comm.rank);
    CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
    CHECK(file_is(path, want));
    snprintf(base, sizeof base, "r%d", t->comm.rank);
    path[0] = '\0';
    CHECK_INT(SCR_Route_file(base, path), SCR_SUCCESS); /* deprecated, still there */
    CHECK(file_is(path, want));
    MISROUTE("no-such-file", path, SCR_E_NOENT);
    MISROUTE("/etc/passwd", path, SCR_E_OUTSIDE);
    check_list(t, want);
    if (valid)
        CHECK_INT(SCR_Complete_restart(1), SCR_SUCCESS);
    else
        MISUSE(SCR_Complete_restart(t->comm.rank != 0), SCR_E_INVALID, "valid=0");
}

/* As programs ask for it that know no flags, or have no name. */
MPI_CASE(a_dataset_without_flags_is_kept_and_an_empty_name_is_none)
{
    char path[SCR_MAX_FILENAME], file[700];
    CHECK_INT(SCR_Start_output("", SCR_FLAG_NONE), SCR_SUCCESS);
    snprintf(file, sizeof file, "%s/plain/r%d", prefix, t->comm.rank);
    CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
    put(t, path, "plain");
    CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
    CHECK(file_is(file, "plain"));
}

MPI_CASE(restart_falls_back_until_nothing_is_left)
{
    int flag = 7;
    CHECK_INT(checkpoint(t, "r1", SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT), SCR_SUCCESS);
    CHECK_INT(checkpoint(t, "r2", SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    CHECK_INT(checkpoint(t, "r3", SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    char latest[SCR_MAX_FILENAME] = "";
    CHECK_INT(SCR_Have_restart(&flag, latest), SCR_SUCCESS);
    CHECK_INT(flag, 1); /* a program may go back to what it has just written */
    CHECK(strcmp(latest, "r3") == 0);
    CHECK_INT(SCR_Current("r3"), SCR_SUCCESS);
    MISUSE(SCR_Current("nobody"), SCR_SUCCESS, "nobody");
    MISUSE(SCR_Current(NULL), SCR_E_ARG, "NULL");
    if (t->comm.size > 1)
        MISUSE(SCR_Current(t->comm.rank ? "r1" : "r2"), SCR_E_MISMATCH, "differs");
    char name[SCR_MAX_FILENAME];
    CHECK_INT(SCR_Start_restart(name), SCR_SUCCESS);
    MISUSE(SCR_Start_restart(name), SCR_E_STATE, "SCR_Complete_restart");
    MISUSE(SCR_Have_restart(&flag, NULL), SCR_E_STATE, "SCR_Complete_restart");
    CHECK_INT(SCR_Complete_restart(1), SCR_SUCCESS);
    CHECK_INT(checkpoint(t, "between", SCR_FLAG_OUTPUT), SCR_SUCCESS);
    read_back(t, "r3", 1); /* again, with output between */

    CHECK_INT(SCR_Current("r2"), SCR_SUCCESS); /* drops r3 from cache */
    MISUSE(SCR_Current("r3"), SCR_SUCCESS, "r3");
    struct capture cap;
    char text[4096];
    capture_start(t, &cap); /* the fall-back is reported in notes and warnings */
    CHECK_INT(SCR_Start_restart(NULL), SCR_SUCCESS);
    CHECK_INT(SCR_Complete_restart(t->comm.rank != 0), SCR_E_INVALID);
    CHECK(capture_end(&cap, text, sizeof text) >= 2);
    read_back(t, "r1", 1);
}

/* The names a program sees while it refuses what it is offered; the last one is read.
 */
MPI_CASE(a_refused_copy_in_cache_is_followed_by_that_on_the_prefix)
{
    CHECK_INT(checkpoint(t, "p1", SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT), SCR_SUCCESS);
    CHECK_INT(checkpoint(t, "p2", SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    static const char *const names[] = { "p2", "p1", "p1" };
    for (int i = 0; i < 2; i++) {
        struct capture cap;
        char text[4096], name[SCR_MAX_FILENAME] = "";
        int flag = 0;
        CHECK_INT(SCR_Have_restart(&flag, name), SCR_SUCCESS);
        CHECK(flag == 1 && strcmp(name, names[i]) == 0);
        CHECK_INT(SCR_Start_restart(NULL), SCR_SUCCESS);
        capture_start(t, &cap);
        CHECK_INT(SCR_Complete_restart(t->comm.rank != 0), SCR_E_INVALID);
        capture_end(&cap, text, sizeof text);
        if (i == 1 && t->comm.rank == 0)
            CHECK(strstr(text, "its copy on the prefix is loaded") != NULL);
    }
    read_back(t, names[2], 1);
}

MPI_CASE(delete_and_drop)
{
    CHECK_INT(checkpoint(t, "d1", SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT), SCR_SUCCESS);
    CHECK_INT(checkpoint(t, "d2", SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT), SCR_SUCCESS);
    CHECK(exists("%s/d1/r%d", prefix, t->comm.rank));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(SCR_Delete("d1"), SCR_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!exists("%s/d1", prefix));
    MISUSE(SCR_Delete("d1"), SCR_SUCCESS, "d1");
    MISUSE(SCR_Current("d1"), SCR_SUCCESS, "d1");
    MISUSE(SCR_Delete(NULL), SCR_E_ARG, "NULL");
    CHECK_INT(SCR_Drop("d2"), SCR_SUCCESS);
    CHECK(exists("%s/d2/r%d", prefix, t->comm.rank));
    MISUSE(SCR_Drop("d2"), SCR_SUCCESS, "d2");
    MISUSE(SCR_Drop(NULL), SCR_E_ARG, "NULL");
}

/* Also where a rank has no memory left: it is as much at the end as the others. */
MPI_CASE(finalize_ends_it)
{
    int flag, is_short = t->comm.rank > 0 && t->comm.rank == t->comm.size - 1;
    char path[SCR_MAX_FILENAME];
    t->keeps = 0;
    if (is_short)
        test_memory_arm(0, 1);
    int rc = SCR_Finalize();
    CHECK_INT(test_memory_off(), is_short);
    CHECK(rc == SCR_SUCCESS || (rc == SCR_E_NOMEM && t->comm.size > 1));
    MISUSE(SCR_Finalize(), SCR_E_STATE, "SCR_Finalize was called");
    MISUSE(SCR_Start_checkpoint(), SCR_E_STATE, "SCR_Finalize was called");
    MISUSE(SCR_Have_restart(&flag, NULL), SCR_E_STATE, "SCR_Finalize was called");
    CHECK_INT(SCR_Route_file("x", path), SCR_SUCCESS);
    CHECK(strcmp(path, "x") == 0);
    CHECK(exists("%s/.scr/halt.scr", prefix));
    CHECK(SCR_Config("SCR_CACHE_SIZE") == NULL); /* settings are over, too */
}

/* The next run of the job, in the same process: it continues from the newest
 * checkpoint, although a run of the job has ended. */
MPI_CASE(a_process_may_start_another_run)
{
    int flag = 0;
    char name[SCR_MAX_FILENAME];
    const char *const names[] = { "again 1", "again 2" };
    set_places();
    for (int run = 0; run < 2; run++) {
        t->keeps = 1;
        CHECK_INT(SCR_Init(), SCR_SUCCESS);
        MISUSE(SCR_Init(), SCR_E_STATE, "already");
        CHECK_INT(SCR_Have_restart(&flag, name), SCR_SUCCESS);
        if (run > 0) {
            CHECK(flag && strcmp(name, names[run - 1]) == 0);
            CHECK_INT(SCR_Should_exit(&flag), SCR_SUCCESS);
            CHECK_INT(flag, 0);
        }
        CHECK_INT(checkpoint(t, names[run], SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
        t->keeps = 0;
        CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
        set_places();
    }
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(init_starts_once), RUN(without_a_checkpoint_there_is_no_restart),
                  RUN(route_outside_of_phases_copies),
                  RUN(need_checkpoint_follows_the_interval),
                  RUN(start_output_refuses_bad_arguments),
                  RUN(a_phase_that_was_not_opened_routes_nothing),
                  RUN(a_checkpoint_is_cached),
                  RUN(calls_that_do_not_belong_into_an_output_phase),
                  RUN(route_in_an_output_phase),
                  RUN(names_too_long_for_the_buffer_are_refused),
                  RUN(files_never_written_fail_the_dataset),
                  RUN(valid_0_on_one_rank_drops_the_dataset_everywhere),
                  RUN(output_reaches_the_prefix_and_leaves_the_cache),
                  RUN(a_dataset_without_flags_is_kept_and_an_empty_name_is_none),
                  RUN(restart_falls_back_until_nothing_is_left),
                  RUN(a_refused_copy_in_cache_is_followed_by_that_on_the_prefix),
                  RUN(delete_and_drop), RUN(finalize_ends_it),
                  RUN(a_process_may_start_another_run)));
}
