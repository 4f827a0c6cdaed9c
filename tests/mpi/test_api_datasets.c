/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_Datasets and SCR_Dataset: what there is agrees with what a restart is offered. */
/* ranks: 1 3 */
#include "mpi_test.h"

#include <fcntl.h>
#include <time.h>

#include "scr.h"

static char prefix[600], cache[600];

static void set(const char *name, const char *value)
{
    char text[800];
    snprintf(text, sizeof text, "%s=%s", name, value);
    (void)SCR_Config(text);
}

static void start(struct mpi_test *t, const char *name, const char *value)
{
    snprintf(prefix, sizeof prefix, "%s/prefix", t->dir);
    snprintf(cache, sizeof cache, "%s/cache", t->dir);
    if (t->comm.rank == 0)
        mkdir(prefix, 0700);
    mpi_test_barrier(t->comm.comm);
    set("SCR_PREFIX", prefix);
    set("SCR_CACHE_BASE", cache);
    set("SCR_CNTL_BASE", cache);
    set("SCR_CACHE_SIZE", "2");
    set("SCR_COPY_TYPE", "SINGLE");
    set("SCR_FLUSH", "3");
    set("SCR_QUIET", "1");
    set(name, value);
    CHECK_INT(SCR_Init(), SCR_SUCCESS);
}

/* A dataset with one byte of each rank. */
static void write_one(struct mpi_test *t, const char *name, int flags)
{
    char file[800], path[SCR_MAX_FILENAME];
    snprintf(file, sizeof file, "%s/%s.%d", prefix, name, t->comm.rank);
    CHECK_INT(SCR_Start_output(name, flags), SCR_SUCCESS);
    CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputc('x', f) == 'x' && fclose(f) == 0);
    CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
}

static void check_row(struct mpi_test *t, int i, const char *name, int id, int flags)
{
    char is[SCR_MAX_FILENAME];
    int id_is, flags_are;
    double bytes, when, now = (double)time(NULL);
    CHECK_INT(SCR_Dataset(i, is, &id_is, &flags_are, &bytes, &when), SCR_SUCCESS);
    if (strcmp(is, name) != 0)
        mpi_test_fail(t, __FILE__, __LINE__, "%d is %s, not %s", i, is, name);
    CHECK_INT(id_is, id);
    CHECK_INT(flags_are, flags);
    CHECK_INT(bytes, t->comm.size);
    CHECK(when > now - 600 && when < now + 60);
}

/* What the program is offered first is the first that is RESTARTABLE. */
static void check_offer(struct mpi_test *t, const char *name)
{
    char offered[SCR_MAX_FILENAME], is[SCR_MAX_FILENAME] = "";
    int have, n, flags = 0;
    CHECK_INT(SCR_Have_restart(&have, offered), SCR_SUCCESS);
    CHECK_INT(have, name != NULL);
    CHECK_INT(SCR_Datasets(&n), SCR_SUCCESS);
    for (int i = 0; i < n && (flags & SCR_FLAG_RESTARTABLE) == 0; i++)
        CHECK_INT(SCR_Dataset(i, is, NULL, &flags, NULL, NULL), SCR_SUCCESS);
    CHECK_INT((flags & SCR_FLAG_RESTARTABLE) != 0, have);
    CHECK(!have || (strcmp(is, name) == 0 && strcmp(offered, name) == 0));
}

enum {
    CKPT = SCR_FLAG_CHECKPOINT | SCR_FLAG_RESTARTABLE,
    CACHED = SCR_FLAG_IN_CACHE,
    STORED = SCR_FLAG_IN_PREFIX
};

MPI_CASE(what_a_run_writes_is_listed)
{
    int n = 7;
    t->keeps = 1;
    CHECK_INT(SCR_Datasets(&n), SCR_E_STATE);
    CHECK_INT(n, 0);
    start(t, "SCR_DEBUG", "0");
    CHECK_INT(SCR_Dataset(0, NULL, NULL, NULL, NULL, NULL), SCR_E_STATE);
    CHECK_INT(SCR_Datasets(&n), SCR_SUCCESS);
    CHECK_INT(n, 0);
    write_one(t, "one", SCR_FLAG_CHECKPOINT);
    write_one(t, "picture", SCR_FLAG_OUTPUT);
    write_one(t, "two", SCR_FLAG_CHECKPOINT);
    write_one(t, "three", SCR_FLAG_CHECKPOINT); /* is flushed; "one" leaves */
    CHECK_INT(SCR_Datasets(&n), SCR_SUCCESS);
    CHECK_INT(n, 3);
    check_row(t, 0, "three", 4, CKPT | CACHED | STORED);
    check_row(t, 1, "two", 3, CKPT | CACHED);
    check_row(t, 2, "picture", 2, SCR_FLAG_OUTPUT | STORED);
    CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
}

MPI_CASE(a_wrong_question_is_an_error)
{
    char name[SCR_MAX_FILENAME] = "x";
    int id = 7;
    t->keeps = 1;
    start(t, "SCR_DEBUG", "0");
    CHECK_INT(SCR_Datasets(NULL), SCR_E_ARG);
    CHECK_INT(SCR_Datasets(&id), SCR_SUCCESS);
    CHECK_INT(SCR_Dataset(3, name, &id, NULL, NULL, NULL), SCR_E_RANGE);
    CHECK(name[0] == '\0' && id == 0);
    CHECK_INT(SCR_Dataset(-1, NULL, NULL, NULL, NULL, NULL), SCR_E_RANGE);
    CHECK_INT(SCR_Dataset(0, NULL, NULL, NULL, NULL, NULL), SCR_SUCCESS);
}

/* A checkpoint that the program refuses is not offered, and not listed as such. */
MPI_CASE(it_agrees_with_what_is_offered)
{
    t->keeps = 1;
    check_offer(t, "three");
    CHECK_INT(SCR_Start_restart(NULL), SCR_SUCCESS);
    CHECK_INT(SCR_Complete_restart(0),
              SCR_E_INVALID); /* the copy on the prefix is next */
    check_offer(t, "three");
    CHECK_INT(SCR_Start_restart(NULL), SCR_SUCCESS);
    CHECK_INT(SCR_Complete_restart(0), SCR_E_INVALID);
    check_offer(t, "two");
    CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
}

/* Without the cache only the prefix has something; SCR_FETCH=0 does not ask it. */
MPI_CASE(settings_count)
{
    int n;
    mpi_test_barrier(t->comm.comm);
    if (t->comm.rank == 0)
        mpi_test_remove(cache);
    mpi_test_barrier(t->comm.comm);
    start(t, "SCR_FETCH", "0");
    check_offer(t, NULL);
    CHECK_INT(SCR_Datasets(&n), SCR_SUCCESS);
    check_row(t, n - 1, "picture", 2, SCR_FLAG_OUTPUT | STORED);
    CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
    set("SCR_ENABLE", "0");
    CHECK_INT(SCR_Init(), SCR_SUCCESS);
    CHECK_INT(SCR_Datasets(&n), SCR_SUCCESS);
    CHECK_INT(n, 0);
    CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
}

int main(int argc, char **argv)
{
    mpi_test_forget_settings();
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(what_a_run_writes_is_listed), RUN(a_wrong_question_is_an_error),
                  RUN(it_agrees_with_what_is_offered), RUN(settings_count)));
}
