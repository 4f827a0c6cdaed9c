/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways in which programs that were written for SCR 1.1 to 3.1 call it:
 * patterns NAME STEP.
 *
 * Each step is a run of the program in the prefix directory: step 1 finds nothing, each
 * later one finds in the files of the step before what that wrote, and writes its own.
 */
#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "patterns.h"
#include "scr.h"

/* As scr.h of SCR 3.1 has them; a call that takes or returns something else does not
 * compile. */
int SCR_Init(void);
int SCR_Finalize(void);
const char *SCR_Config(const char *config);
const char *SCR_Configf(const char *format, ...);
int SCR_Need_checkpoint(int *flag);
int SCR_Start_output(const char *name, int flags);
int SCR_Complete_output(int valid);
int SCR_Start_checkpoint(void);
int SCR_Complete_checkpoint(int valid);
int SCR_Have_restart(int *flag, char *name);
int SCR_Start_restart(char *name);
int SCR_Complete_restart(int valid);
int SCR_Route_file(const char *name, char *file);
int SCR_Should_exit(int *flag);
int SCR_Current(const char *name);
int SCR_Delete(const char *name);
int SCR_Drop(const char *name);
char *SCR_Get_version(void);
_Static_assert(SCR_SUCCESS == 0 && SCR_MAX_FILENAME == 1024 && SCR_FLAG_NONE == 0 &&
                   SCR_FLAG_CHECKPOINT == 1 && SCR_FLAG_OUTPUT == 2,
               "constants of SCR 3.1");

static int me, failures;

#define CHECK(what)                                                                    \
    do {                                                                               \
        if (!(what)) {                                                                 \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, me, #what);    \
            failures++;                                                                \
        }                                                                              \
    } while (0)

/* --- files --- */

static const char *text_of(int step)
{
    static char text[32];
    snprintf(text, sizeof text, "%d.%d", me, step);
    return text;
}

static int put(const char *path, int step)
{
    FILE *f = fopen(path, "w");
    return f != NULL && fputs(text_of(step), f) >= 0 && fclose(f) == 0;
}

static int holds(const char *path, int step)
{
    char got[32] = "";
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    size_t n = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    return n > 0 && strcmp(got, text_of(step)) == 0;
}

static const char *mine(const char *name)
{
    static char file[64];
    snprintf(file, sizeof file, "%s%d", name, me);
    return file;
}

/* --- phases --- */

/* ckpt.<step> */
static const char *name_of(int step)
{
    static char name[32];
    snprintf(name, sizeof name, "ckpt.%d", step);
    return name;
}

static void start(int step)
{
    CHECK(SCR_Start_output(name_of(step), SCR_FLAG_CHECKPOINT) == SCR_SUCCESS);
}

/* One routed file, written under its path. */
static int write_routed(const char *name, int step)
{
    char path[SCR_MAX_FILENAME];
    CHECK(SCR_Route_file(mine(name), path) == SCR_SUCCESS);
    return put(path, step);
}

/* Step's checkpoint is offered, and what name gives in it has its text. */
static void read_routed(const char *name, int step)
{
    int have = 0;
    char dset[SCR_MAX_FILENAME] = "", path[SCR_MAX_FILENAME];
    CHECK(SCR_Have_restart(&have, dset) == SCR_SUCCESS && have);
    CHECK(strcmp(dset, name_of(step)) == 0);
    CHECK(SCR_Start_restart(NULL) == SCR_SUCCESS);
    CHECK(SCR_Route_file(mine(name), path) == SCR_SUCCESS && holds(path, step));
    CHECK(SCR_Complete_restart(1) == SCR_SUCCESS);
}

static void check_no_restart(void)
{
    int have = 1;
    CHECK(SCR_Have_restart(&have, NULL) == SCR_SUCCESS && !have);
}

/* --- the patterns: what a step does between SCR_Init and SCR_Finalize --- */

/* It reads its files where the last run's flush put them. */
static void old_calls_without_have_restart(int step)
{
    char path[SCR_MAX_FILENAME];
    CHECK(SCR_Route_file(mine("old."), path) == SCR_SUCCESS);
    CHECK(strcmp(path, mine("old.")) == 0);
    CHECK(step == 1 ? access(path, F_OK) != 0 : holds(path, step - 1));
    CHECK(SCR_Start_checkpoint() == SCR_SUCCESS);
    CHECK(SCR_Complete_checkpoint(write_routed("old.", step)) == SCR_SUCCESS);
}

static void file_names_without_directory(int step)
{
    if (step > 1)
        read_routed("bare.", step - 1);
    start(step);
    CHECK(SCR_Complete_output(write_routed("bare.", step)) == SCR_SUCCESS);
}

static void directory_in_output_only(int step)
{
    if (step > 1)
        read_routed("part.", step - 1);
    start(step);
    CHECK(SCR_Complete_output(write_routed("deep/er/part.", step)) == SCR_SUCCESS);
}

static void one_buffer_for_both_names(int step)
{
    char path[SCR_MAX_FILENAME];
    if (step > 1)
        read_routed("buffer/", step - 1);
    start(step);
    snprintf(path, sizeof path, "%s", mine("buffer/"));
    CHECK(SCR_Route_file(path, path) == SCR_SUCCESS);
    CHECK(SCR_Complete_output(put(path, step)) == SCR_SUCCESS);
}

static void only_rank_0_writes(int step)
{
    int have = 0;
    char path[SCR_MAX_FILENAME];
    CHECK(SCR_Have_restart(&have, NULL) == SCR_SUCCESS && have == (step > 1));
    if (have) {
        CHECK(SCR_Start_restart(NULL) == SCR_SUCCESS);
        if (me == 0)
            CHECK(SCR_Route_file("all", path) == SCR_SUCCESS && holds(path, step - 1));
        CHECK(SCR_Complete_restart(1) == SCR_SUCCESS);
    }
    start(step);
    if (me == 0)
        CHECK(SCR_Route_file("all", path) == SCR_SUCCESS && put(path, step));
    CHECK(SCR_Complete_output(1) == SCR_SUCCESS);
}

static void temporary_file_renamed_to_the_routed_one(int step)
{
    char path[SCR_MAX_FILENAME], tmp[SCR_MAX_FILENAME + 8];
    if (step > 1)
        read_routed("dir/done.", step - 1);
    start(step);
    CHECK(SCR_Route_file(mine("dir/done."), path) == SCR_SUCCESS);
    snprintf(tmp, sizeof tmp, "%s.tmp", path);
    CHECK(put(tmp, step) && rename(tmp, path) == 0);
    CHECK(SCR_Complete_output(1) == SCR_SUCCESS);
}

/* A routed file that is not there at the end is a file that was not written. */
static void routed_file_renamed_to_another_routed_one(int step)
{
    char tmp[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    check_no_restart();
    start(step);
    CHECK(SCR_Route_file(mine("tmp."), tmp) == SCR_SUCCESS);
    CHECK(SCR_Route_file(mine("name."), path) == SCR_SUCCESS);
    CHECK(put(tmp, step) && rename(tmp, path) == 0);
    CHECK(SCR_Complete_output(1) != SCR_SUCCESS);
}

static void a_name_routed_twice(int step)
{
    char first[SCR_MAX_FILENAME], second[SCR_MAX_FILENAME];
    if (step > 1)
        read_routed("twice/", step - 1);
    start(step);
    CHECK(SCR_Route_file(mine("twice/"), first) == SCR_SUCCESS && put(first, 0));
    CHECK(SCR_Route_file(mine("./twice/../twice/"), second) == SCR_SUCCESS);
    CHECK(strcmp(first, second) == 0);
    CHECK(SCR_Complete_output(put(second, step)) == SCR_SUCCESS);
}

static void chdir_between_route_and_open(int step)
{
    char path[SCR_MAX_FILENAME];
    if (step > 1)
        read_routed("moved.", step - 1);
    start(step);
    CHECK(SCR_Route_file(mine("moved."), path) == SCR_SUCCESS);
    CHECK(chdir("/") == 0);
    CHECK(SCR_Complete_output(put(path, step)) == SCR_SUCCESS);
}

static void chdir_between_init_and_start(int step)
{
    CHECK((mkdir("below", 0700) == 0 || errno == EEXIST) && chdir("below") == 0);
    if (step > 1)
        read_routed("here.", step - 1);
    start(step);
    CHECK(SCR_Complete_output(write_routed("here.", step)) == SCR_SUCCESS);
}

static void chdir_out_of_the_prefix(int step)
{
    char path[SCR_MAX_FILENAME];
    check_no_restart();
    start(step);
    CHECK(chdir("/") == 0);
    CHECK(SCR_Route_file(mine("out."), path) != SCR_SUCCESS);
    CHECK(path[0] == '\0');
    CHECK(SCR_Complete_output(1) != SCR_SUCCESS);
}

static void end_without_scr_finalize(int step)
{
    file_names_without_directory(step);
}

static void exit_without_any_finalize(int step)
{
    file_names_without_directory(step);
}

/* Each run of the three is one of SCR_Init to SCR_Finalize. */
static void init_after_finalize_twice(int step)
{
    for (int run = 3 * step - 2; run <= 3 * step; run++) {
        CHECK(run == 3 * step - 2 || SCR_Init() == SCR_SUCCESS);
        file_names_without_directory(run);
        CHECK(run == 3 * step || SCR_Finalize() == SCR_SUCCESS);
    }
}

#ifdef SCR_TEST_CXX
static void names_of_std_string(int step)
{
    if (step > 1)
        read_routed("strings/", step - 1);
    CHECK(strings_write(me, step) == SCR_SUCCESS);
}
#endif

enum end { FINALIZE, MPI_ONLY, EXIT };

static const struct pattern {
    const char *name;
    void (*step)(int step);
    enum end end;
    const char *file; /* in the prefix directory after SCR_Finalize, before the rank's
                         number; NULL: no file */
} patterns[] = {
#define PATTERN(name, end, file)                                                       \
    {                                                                                  \
#name, name, end, file                                                         \
    }
    PATTERN(old_calls_without_have_restart, FINALIZE, "old."),
    PATTERN(file_names_without_directory, FINALIZE, "bare."),
    PATTERN(directory_in_output_only, FINALIZE, "deep/er/part."),
    PATTERN(one_buffer_for_both_names, FINALIZE, "buffer/"),
    PATTERN(only_rank_0_writes, FINALIZE, NULL),
    PATTERN(temporary_file_renamed_to_the_routed_one, FINALIZE, "dir/done."),
    PATTERN(routed_file_renamed_to_another_routed_one, FINALIZE, NULL),
    PATTERN(a_name_routed_twice, FINALIZE, "twice/"),
    PATTERN(chdir_between_route_and_open, FINALIZE, "moved."),
    PATTERN(chdir_between_init_and_start, FINALIZE, "below/here."),
    PATTERN(chdir_out_of_the_prefix, FINALIZE, NULL),
    PATTERN(end_without_scr_finalize, MPI_ONLY, NULL),
    PATTERN(exit_without_any_finalize, EXIT, NULL),
    PATTERN(init_after_finalize_twice, FINALIZE, NULL),
#ifdef SCR_TEST_CXX
    PATTERN(names_of_std_string, FINALIZE, "strings/"),
#endif
    { NULL, NULL, FINALIZE, NULL }
};

static void run(const struct pattern *p, int step)
{
    char home[SCR_MAX_FILENAME];
    CHECK(getcwd(home, sizeof home) != NULL);
    CHECK(SCR_Init() == SCR_SUCCESS);
    p->step(step);
    if (p->end == FINALIZE)
        CHECK(SCR_Finalize() == SCR_SUCCESS);
    CHECK(chdir(home) == 0);
    if (p->file != NULL)
        CHECK(holds(mine(p->file), step));
}

int main(int argc, char **argv)
{
    const struct pattern *p = patterns;
    for (; argc == 3 && p->name != NULL && strcmp(p->name, argv[1]) != 0; p++)
        ;
    if (argc != 3 || p->name == NULL) {
        for (p = patterns; p->name != NULL; p++)
            puts(p->name);
        return argc == 1 ? 0 : 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    run(p, (int)strtol(argv[2], NULL, 10));
    fflush(stderr);
    if (failures == 0)
        puts("as expected");
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD); /* a launcher kills the rest when one has gone */
    if (p->end != EXIT)
        MPI_Finalize();
    exit(failures > 0);
}
