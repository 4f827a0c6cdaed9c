/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, meetings and end. */
#include "meet.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/places.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "files.h"

static const struct scr_sys *const sys = &scr_sys_posix;
static const double meet_s = 0.1; /* programs that call much meet about so often */

static int64_t min_all(int64_t v)
{
    PMPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT64_T, MPI_MIN, scr_ip.comm);
    return v;
}

static int all_are(int good)
{
    return (int)min_all(good != 0);
}

/* --- one checkpoint --- */

/* The files of one number on all processes, summed. */
enum { FILES, OPEN, STAGED, PLACED, GROWN, OTHERS, RECENT, NCOUNTS };

static int is_of(const struct scr_ip_file *f, int64_t number)
{
    return f->pending && f->number == number;
}

static void count_file(const struct scr_ip_file *f, int64_t number, int64_t *n)
{
    /* Complete under a number, and more files have come. */
    n[GROWN] +=
        !f->pending && number >= 0 && f->number == number && f->where == SCR_IP_CACHED;
    n[OTHERS] += f->pending && f->number != number;
    if (!is_of(f, number))
        return;
    n[FILES]++;
    n[OPEN] += f->nopen > 0;
    n[RECENT] += f->epoch >= scr_ip.epoch - 1;
    n[STAGED] += f->where == SCR_IP_STAGED;
    n[PLACED] += f->where == SCR_IP_PLACED;
}

static void count_all(int64_t number, int64_t *n)
{
    memset(n, 0, NCOUNTS * sizeof *n);
    for (size_t i = 0; i < scr_ip.nfiles; i++)
        count_file(scr_ip.file[i], number, n);
    PMPI_Allreduce(MPI_IN_PLACE, n, NCOUNTS, MPI_INT64_T, MPI_SUM, scr_ip.comm);
}

/* The meeting since which a file has been open and was not seen to change. */
static int64_t idle_since(struct scr_ip_file *f)
{
    struct stat st;
    if (f->place && sys->fstatat(AT_FDCWD, f->place, &st, 0) == 0 &&
        (st.st_mtim.tv_sec != f->changed.tv_sec ||
         st.st_mtim.tv_nsec != f->changed.tv_nsec)) {
        f->changed = st.st_mtim;
        f->active = scr_ip.epoch;
    }
    return f->active;
}

/* 1: file i was closed after that meeting, and is the first of its checkpoint. */
static int is_newer(size_t i, int64_t since)
{
    const struct scr_ip_file *f = scr_ip.file[i];
    int is = f->pending && f->nopen == 0 && f->epoch > since;
    for (size_t k = 0; k < i && is; k++)
        is = !is_of(scr_ip.file[k], f->number) || scr_ip.file[k]->epoch <= since;
    return is;
}

/* Whether this process has closed so many newer checkpoints; one without a number is
 * newer if it is written over and over. */
static int has_passed(int64_t number, int64_t since)
{
    int newer = 0;
    for (size_t i = 0; i < scr_ip.nfiles && newer < SCR_IP_PATIENCE; i++) {
        const struct scr_ip_file *f = scr_ip.file[i];
        if (f->number != number)
            newer += is_newer(i, since);
        else if (number < 0 && f->pending && f->nopen == 0 && f->epoch > since)
            newer += f->rounds;
    }
    return newer >= SCR_IP_PATIENCE;
}

/* Whether those that are open of a checkpoint rest while newer ones come and go. */
static int is_stuck_all(int64_t number)
{
    int64_t since = -1;
    for (size_t i = 0; i < scr_ip.nfiles; i++) {
        struct scr_ip_file *f = scr_ip.file[i];
        int64_t at = is_of(f, number) && f->nopen > 0 ? idle_since(f) : -1;
        since = at > since ? at : since;
    }
    since = -min_all(-since);
    return !all_are(!has_passed(number, since));
}

/* The number of what was closed first, of equals the smallest; 0: nothing is pending.
 */
static int oldest_all(int64_t *number)
{
    int64_t epoch = INT64_MAX, smallest = INT64_MAX;
    for (size_t i = 0; i < scr_ip.nfiles; i++)
        if (scr_ip.file[i]->pending && scr_ip.file[i]->epoch < epoch)
            epoch = scr_ip.file[i]->epoch;
    epoch = min_all(epoch);
    for (size_t i = 0; i < scr_ip.nfiles; i++) {
        const struct scr_ip_file *f = scr_ip.file[i];
        if (f->pending && f->epoch == epoch && f->number < smallest)
            smallest = f->number;
    }
    *number = min_all(smallest);
    return epoch != INT64_MAX;
}

/* Files of this number that are in a dataset already are kept for the one that takes
 * its place: making room may evict the first. */
static int keep_grown(int64_t number, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < scr_ip.nfiles && rc == SCR_OK; i++) {
        struct scr_ip_file *f = scr_ip.file[i];
        if (f->pending || f->number != number || f->where != SCR_IP_CACHED)
            continue;
        char *to = scr_ip_stage_name();
        rc = to ? scr_ip_link(f->place, to, err) : scr_no_memory(err);
        if (rc != SCR_OK) {
            free(to);
            break;
        }
        free(f->place);
        f->place = to;
        f->where = SCR_IP_STAGED;
        f->pending = 1;
    }
    return rc;
}

/* Into the open dataset; *in_cache: where it is then. */
static int hand_in(const struct scr_ip_file *f, char **in_cache)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_FILENAME];
    *in_cache = NULL;
    if (f->bad || SCR_Route_file(f->path, path) != SCR_SUCCESS)
        return 0;
    int rc;
    TRY_OUT(scr_ip_link(f->place, path, &err));
    if ((*in_cache = scr_strdup(path)) == NULL)
        TRY_OUT(scr_no_memory(&err));
out:
    if (rc != SCR_OK)
        scr_ip_tell(0, "%s is not in its checkpoint: %s", f->path, err.text);
    return rc == SCR_OK;
}

static void file_is_cached(struct scr_ip_file *f, char *in_cache)
{
    scr_file_remove(sys, f->place, NULL);
    free(f->place);
    f->place = in_cache;
    f->where = SCR_IP_CACHED;
    f->pending = 0;
}

/* One dataset; SCR has printed the cause, if it fails. */
static int dataset_all(int64_t number)
{
    char name[32], *in_cache;
    char **place = scr_calloc(scr_ip.nfiles, sizeof *place);
    int valid = place != NULL;
    snprintf(name, sizeof name, "ckpt.%lld", (long long)number);
    int rc = SCR_Start_output(number >= 0 ? name : NULL, SCR_FLAG_CHECKPOINT);
    for (size_t i = 0; i < scr_ip.nfiles && rc == SCR_SUCCESS && valid; i++) {
        struct scr_ip_file *f = scr_ip.file[i];
        if (!is_of(f, number))
            continue;
        valid = f->handed_in = hand_in(f, &in_cache);
        place[i] = in_cache;
    }
    if (rc == SCR_SUCCESS)
        rc = SCR_Complete_output(valid);
    for (size_t i = 0; i < scr_ip.nfiles; i++)
        scr_ip.file[i]->handed_in = 0;
    for (size_t i = 0; place && i < scr_ip.nfiles; i++) {
        if (rc == SCR_SUCCESS && place[i])
            file_is_cached(scr_ip.file[i], place[i]);
        else
            free(place[i]);
    }
    free(place);
    return rc;
}

/* Their files go where the program put them. */
static void leave_number(int64_t number)
{
    for (size_t i = scr_ip.nfiles; i-- > 0;)
        if (is_of(scr_ip.file[i], number))
            scr_ip_leave(scr_ip.file[i]);
}

/* One of those that are open is named. */
static void tell_open_all(int64_t number)
{
    const struct scr_ip_file *open = NULL;
    for (size_t i = 0; i < scr_ip.nfiles; i++)
        if (is_of(scr_ip.file[i], number) && scr_ip.file[i]->nopen > 0)
            open = scr_ip.file[i];
    if (min_all(open ? scr_ip.rank : INT64_MAX) == scr_ip.rank && open)
        scr_ip_tell(0, "%s is open still", open->path);
}

static void tell_left_all(int64_t number, const int64_t *n, const char *why)
{
    if (n[STAGED] == 0)
        return; /* none of it was ours */
    if (number >= 0)
        scr_ip_tell_all("the files of checkpoint %lld go to the prefix directory, "
                        "unprotected: %s",
                        (long long)number, why);
    else
        scr_ip_tell_all("the files of a checkpoint go to the prefix directory, "
                        "unprotected: %s",
                        why);
}

static void complete_all(int64_t number, const int64_t *n)
{
    struct scr_err err = SCR_ERR_INIT;
    if (n[GROWN] > 0)
        scr_ip_tell_all("checkpoint %lld was complete, and has got more files: set "
                        "SCR_INTERPOSE_FILES to how many there are",
                        (long long)number);
    int kept = n[GROWN] == 0 || keep_grown(number, &err) == SCR_OK;
    if (!kept)
        scr_ip_tell(0, "%s", err.text);
    int good = all_are(kept) && dataset_all(number) == SCR_SUCCESS;
    if (good) {
        scr_ip.first = scr_ip.datasets++ > 0 ? scr_ip.first : number;
        scr_ip.last = number;
    } else
        tell_left_all(number, n, "see above");
    if (!good)
        leave_number(number);
    scr_ip_prune();
}

/* Why a checkpoint cannot become a dataset, NULL if it can; the same on all ranks. */
static const char *obstacle(const int64_t *n, int at_end)
{
    if (n[PLACED] > 0)
        return "not all of them could be kept in cache";
    if (n[OPEN] > 0)
        return at_end ? "some are open still"
                      : "one stays open while newer checkpoints are written";
    if (scr_ip.want > 0 && n[FILES] < scr_ip.want && (at_end || n[OTHERS] > 0))
        return "there are fewer than SCR_INTERPOSE_FILES says";
    return NULL;
}

/* A checkpoint that may get more files; not for ever, if one of them stays open. */
static int is_growing_all(int64_t number, const int64_t *n)
{
    if (n[OPEN] > 0)
        return !is_stuck_all(number);
    return scr_ip.want > 0 ? n[FILES] < scr_ip.want && n[OTHERS] == 0 : n[RECENT] > 0;
}

/* Completes what is whole, the oldest first, up to one that may grow. */
static void settle_all(int at_end)
{
    int64_t number, n[NCOUNTS];
    while (oldest_all(&number)) {
        count_all(number, n);
        if (!at_end && is_growing_all(number, n))
            return;
        const char *why = obstacle(n, at_end);
        if (why == NULL) {
            complete_all(number, n);
        } else {
            if (n[OPEN] > 0)
                tell_open_all(number);
            tell_left_all(number, n, why);
            leave_number(number);
        }
    }
}

/* --- meetings --- */

/* Collective calls until the next one: the same everywhere, as it follows from what was
 * reduced. Twice as many each time, while nothing happens. */
static int next_period(int period, double seconds)
{
    int next = period < scr_ip.most_calls / 2 ? 2 * period : scr_ip.most_calls;
    double due = seconds > 0 ? meet_s * period / seconds : next;
    return due < 1 ? 1 : due < next ? (int)due : next;
}

static int is_pending(void)
{
    for (size_t i = 0; i < scr_ip.nfiles; i++)
        if (scr_ip.file[i]->pending)
            return 1;
    return 0;
}

/* The first reduction may wait for a process whose call waits for another thread of
 * this one, so the lock is not held there. All are here after it. What was opened or
 * closed meanwhile is news of the next meeting; settle_all counts open files again. */
static void meet_now_all(void)
{
    enum { NEWS, IS_PENDING, USEC, N };
    double now = scr_now_mono();
    pthread_mutex_lock(&scr_ip.lock);
    int64_t v[N] = { scr_ip.news, is_pending(), (int64_t)((now - scr_ip.met) * 1e6) };
    scr_ip.news = 0;
    pthread_mutex_unlock(&scr_ip.lock);
    scr_ip.met = now;
    PMPI_Allreduce(MPI_IN_PLACE, v, N, MPI_INT64_T, MPI_MAX, scr_ip.comm);
    pthread_mutex_lock(&scr_ip.lock);
    scr_ip.epoch++;
    /* A checkpoint that waits for a file to be closed or written waits for news. */
    int busy = v[NEWS] || scr_ip.had_news;
    scr_ip.had_news = v[NEWS] != 0;
    if (v[IS_PENDING] && busy)
        settle_all(0);
    scr_ip.period = v[NEWS] ? 1 : next_period(scr_ip.period, (double)v[USEC] / 1e6);
    pthread_mutex_unlock(&scr_ip.lock);
}

/* Communicators are asked once: the answer stays with them. */
static int has_everybody(MPI_Comm comm)
{
    void *known, *yes = &scr_ip, *no = NULL; /* nothing but marks */
    int found, how;
    if (comm == MPI_COMM_WORLD)
        return 1;
    if (comm == MPI_COMM_NULL || scr_ip.multiple)
        return 0;
    PMPI_Comm_get_attr(comm, scr_ip.keyval, &known, &found);
    if (found)
        return known == yes;
    PMPI_Comm_compare(comm, MPI_COMM_WORLD, &how);
    PMPI_Comm_set_attr(comm, scr_ip.keyval, how == MPI_UNEQUAL ? no : yes);
    return how != MPI_UNEQUAL;
}

void scr_ip_meet_all(MPI_Comm comm)
{
    if (atomic_load(&scr_ip.state) != SCR_IP_ON || scr_ip_inside)
        return;
    if (!has_everybody(comm))
        return;
    atomic_fetch_add(&scr_ip.collective, 1);
    if (++scr_ip.calls < scr_ip.period)
        return;
    scr_ip.calls = 0;
    scr_ip_inside++;
    meet_now_all();
    scr_ip_inside--;
}

void scr_ip_expose_all(MPI_Comm comm, const char *name)
{
    if (atomic_load(&scr_ip.state) != SCR_IP_ON || scr_ip_inside ||
        comm == MPI_COMM_NULL)
        return;
    scr_ip_expose(name);
    scr_ip_inside++;
    PMPI_Barrier(comm); /* a late process would replace what others write */
    scr_ip_inside--;
}

/* --- start --- */

/* No process has this id; one that had ours is gone. */
static int is_gone(long pid)
{
    return pid == (long)getpid() || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

/* Leftovers of killed processes on this node; what was kept for the
 * user has other names. */
static void clear_stages(const char *cache)
{
    char **names = NULL, *dir = scr_path_join(cache, "interpose");
    size_t n = 0;
    if (dir)
        (void)scr_dir_list(sys, dir, &names, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        long pid = strtol(names[i], NULL, 10);
        char *path = scr_path_join(dir, names[i]);
        if (path && pid > 0 && is_gone(pid))
            scr_dir_remove(sys, path, NULL);
        free(path);
    }
    scr_names_free(names, n);
    free(dir);
}

/* Processes of one node may have the same id, in different containers. */
static int make_stage(const char *cache, struct scr_err *err)
{
    char *rel = scr_asprintf("interpose/%ld.%d", (long)getpid(), scr_ip.rank);
    int rc =
        rel ? scr_dir_make_private(sys, cache, rel, 0700, err) : scr_no_memory(err);
    scr_ip.stage = rc == SCR_OK ? scr_path_join(cache, rel) : NULL;
    if (rc == SCR_OK && scr_ip.stage == NULL)
        rc = scr_no_memory(err);
    free(rel);
    return rc;
}

static int set_up(const char *pattern, const struct scr_places *at, struct scr_err *err)
{
    scr_ip.prefix = scr_strdup(at->prefix);
    scr_ip.prefix_real = scr_strdup(at->prefix_real);
    scr_ip.fd = scr_calloc(SCR_IP_MAX_FD, sizeof *scr_ip.fd);
    if (!scr_ip.prefix || !scr_ip.prefix_real || !scr_ip.fd)
        return scr_no_memory(err);
    TRY(scr_ip_patterns_init(&scr_ip.patterns, pattern, scr_ip.prefix, err));
    return make_stage(at->cache, err);
}

/* The value of a parameter, malloc'd, "" if it has none. */
static char *param_all(const char *name)
{
    const char *value = SCR_Config(name);
    return value ? (char *)value : scr_strdup("");
}

/* The same everywhere, even where memory ran out; SCR_Init has checked it. */
static int number_all(const char *name)
{
    char *text = param_all(name);
    int n = 0;
    if (text)
        (void)scr_parse_int(text, &n);
    PMPI_Bcast(&n, 1, MPI_INT, 0, scr_ip.comm);
    free(text);
    return n;
}

/* Files that this process wrote are read where they are in cache; those of others are
 * in the prefix directory, as SCR_FLUSH_ON_RESTART sees to. */
static int take_file(int i, int ranks)
{
    struct scr_err err = SCR_ERR_INIT;
    char file[SCR_MAX_FILENAME], place[SCR_MAX_FILENAME];
    int writer, size, rc = SCR_OK;
    PMPI_Comm_size(scr_ip.comm, &size);
    if (SCR_Restart_file(i, file, &writer) != SCR_SUCCESS)
        return 0;
    char *path = scr_path_join(scr_ip.prefix, file);
    if (path == NULL)
        rc = scr_no_memory(&err);
    else if (ranks == size && writer == scr_ip.rank)
        rc = SCR_Route_file(path, place) == SCR_SUCCESS
                 ? scr_ip_adopt(path, place, &err)
                 : SCR_E_FAILURE;
    if (err.code != SCR_OK)
        scr_ip_tell(0, "restart: %s", err.text);
    free(path);
    return rc == SCR_OK;
}

static void restart_all(void)
{
    char name[SCR_MAX_FILENAME];
    int have, ranks = 0, n = 0, good;
    while (SCR_Have_restart(&have, name) == SCR_SUCCESS && have) {
        if (SCR_Start_restart(name) != SCR_SUCCESS)
            return;
        good = SCR_Restart_ranks(&ranks) == SCR_SUCCESS &&
               SCR_Restart_files(&n) == SCR_SUCCESS;
        for (int i = 0; i < n && good; i++)
            good = take_file(i, ranks);
        if (SCR_Complete_restart(good) == SCR_SUCCESS)
            return;
        scr_ip_files_fini();
    }
}

static int make_comm_all(void)
{
    PMPI_Comm_dup(MPI_COMM_WORLD, &scr_ip.comm);
    PMPI_Comm_set_errhandler(scr_ip.comm, MPI_ERRORS_RETURN);
    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN,
                                   &scr_ip.keyval, NULL);
}

/* Needs the lock where other threads may still open files. */
static void remove_stage(void)
{
    if (scr_ip.stage)
        scr_dir_remove(sys, scr_ip.stage, NULL);
    char *above = scr_ip.stage ? scr_path_dir(scr_ip.stage) : NULL;
    char *cache = above ? scr_path_dir(above) : NULL;
    if (cache)
        scr_dir_prune(sys, above, cache, NULL);
    free(cache);
    free(above);
    free(scr_ip.stage);
    scr_ip.stage = NULL;
}

/* SCR is up. */
static void begin_all(const char *pattern)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_places at = { 0 };
    scr_ip.want = number_all("SCR_INTERPOSE_FILES");
    scr_ip.most_calls = number_all("SCR_INTERPOSE_CALLS");
    int good = scr_places(&at) == SCR_SUCCESS;
    if (good)
        clear_stages(at.cache);
    /* No process makes a stage while others clear. */
    good = all_are(good) && set_up(pattern, &at, &err) == SCR_OK;
    if (err.code != SCR_OK)
        scr_ip_tell(0, "%s", err.text);
    if (!all_are(good)) {
        scr_ip_tell_all("files are not intercepted, the program runs without");
        remove_stage();
        return;
    }
    restart_all();
    scr_ip.period = 1;
    scr_ip.met = scr_now_mono();
    scr_ip_settle_in();
    atomic_store(&scr_ip.state, SCR_IP_ON);
    scr_ip_say_all("active: files that match %s become checkpoints", pattern);
}

enum wish { UNKNOWN, DISABLED, NO_PATTERN, WANTED };

/* Settings of the user; the least of what the processes make of it. */
static enum wish wish_all(char **pattern)
{
    char *enable = param_all("SCR_ENABLE");
    *pattern = param_all("SCR_INTERPOSE_PATTERN");
    enum wish wish = enable == NULL || *pattern == NULL ? UNKNOWN
                     : strcmp(enable, "0") == 0         ? DISABLED
                     : (*pattern)[0] == '\0'            ? NO_PATTERN
                                                        : WANTED;
    free(enable);
    return (enum wish)min_all(wish);
}

static void read_log_time_all(void)
{
    char *text = param_all("SCR_LOG_TIME");
    int set;
    if (text == NULL || !scr_parse_int(text, &set))
        set = -1; /* AUTO */
    scr_ip.has_time = scr_log_time(set);
    free(text);
}

static void start_scr_all(void)
{
    char *pattern;
    read_log_time_all();
    enum wish wish = wish_all(&pattern);
    if (wish == NO_PATTERN)
        scr_ip_tell_all("SCR_INTERPOSE_PATTERN is not set: files are not intercepted");
    if (wish == WANTED) {
        char *quiet = param_all("SCR_QUIET");
        scr_ip.quiet = quiet != NULL && strcmp(quiet, "1") == 0;
        free(quiet);
        free((char *)SCR_Config("SCR_FLUSH_ON_RESTART=1"));
        scr_ip.has_scr = SCR_Init() == SCR_SUCCESS;
        if (scr_ip.has_scr)
            begin_all(pattern);
        else
            scr_ip_tell_all("files are not intercepted, the program runs without");
    }
    free(pattern);
}

/* Libraries that are no Open MPI have the handles of MPICH. */
int scr_ip_is_foreign(void)
{
    enum { ROOM = 16384 }; /* of any library, not only of the one this was built with */
    char version[ROOM] = "";
    int n, ours = 0;
    PMPI_Get_library_version(version, &n);
    int theirs = strstr(version, "Open MPI") || strstr(version, "Spectrum");
#ifdef OPEN_MPI
    ours = 1;
#endif
    version[strcspn(version, ",\n")] = '\0';
    if (ours != theirs)
        scr_ip_tell_all("files are not intercepted: the program uses %s, and this "
                        "library is of an SCR that was built with %s",
                        version, ours ? "Open MPI" : "MPICH");
    return ours != theirs;
}

void scr_ip_start_all(void)
{
    MPI_Comm parent;
    int level;
    if (scr_ip_inside || scr_ip.has_comm || scr_ip_is_foreign())
        return;
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return; /* spawned by a program that may be intercepted itself */
    scr_ip_inside++;
    scr_ip_leave_preload();
    scr_ip.has_comm = 1;
    PMPI_Query_thread(&level);
    scr_ip.multiple = level == MPI_THREAD_MULTIPLE;
    PMPI_Comm_rank(MPI_COMM_WORLD, &scr_ip.rank);
    make_comm_all();
    start_scr_all();
    scr_ip_inside--;
}

/* --- end --- */

static void end_files_all(void)
{
    pthread_mutex_lock(&scr_ip.lock);
    settle_all(1);
    atomic_store(&scr_ip.state, SCR_IP_OFF);
    scr_ip_files_fini();
    remove_stage();
    pthread_mutex_unlock(&scr_ip.lock);
    if (scr_ip.datasets == 0)
        scr_ip_tell_all("this run wrote no checkpoint that SCR_INTERPOSE_PATTERN "
                        "describes");
    else if (scr_ip.first >= 0 && scr_ip.last > scr_ip.first)
        scr_ip_say_all("kept %d checkpoints, ckpt.%lld to ckpt.%lld", scr_ip.datasets,
                       (long long)scr_ip.first, (long long)scr_ip.last);
    else
        scr_ip_say_all("kept %d checkpoint%s", scr_ip.datasets,
                       scr_ip.datasets == 1 ? "" : "s");
}

void scr_ip_end_all(void)
{
    if (scr_ip_inside || !scr_ip.has_comm)
        return;
    scr_ip_inside++;
    if (atomic_load(&scr_ip.state) == SCR_IP_ON)
        end_files_all();
    if (scr_ip.has_scr)
        SCR_Finalize();
    scr_ip.has_scr = 0;
    PMPI_Comm_free_keyval(&scr_ip.keyval);
    PMPI_Comm_free(&scr_ip.comm);
    scr_ip.has_comm = 0;
    scr_ip_inside--;
}

void scr_ip_abandon(void)
{
    /* The library itself may end the process, in the middle of a meeting. */
    int has_lock = scr_ip_inside > 0;
    if (atomic_load(&scr_ip.state) != SCR_IP_ON)
        return;
    scr_ip_inside++;
    if (!has_lock)
        pthread_mutex_lock(&scr_ip.lock);
    atomic_store(&scr_ip.state, SCR_IP_OFF);
    scr_ip_files_fini();
    remove_stage();
    if (!has_lock)
        pthread_mutex_unlock(&scr_ip.lock);
    scr_ip_inside--;
}
