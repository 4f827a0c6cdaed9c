/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset in the caches of the nodes that are left, copied to the prefix directory.
 */
#include "scavenge.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attended.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "events.h"
#include "fmt/filemap.h"
#include "ops/progress.h"
#include "ops/stage.h"
#include "reach.h"
#include "store/cntl.h"
#include "store/dset_names.h"

enum {
    LOCK_TIMEOUT_MS = 1000,
    LONGEST_S = 3600, /* for a dataset, if the end of the job is not known */
    SPARE_S = 10,     /* of the job, for what comes after the rounds */
    FLOOR_S = 20, /* for all, however late it is: the job may end later than it says */
    LEAST_S = 10, /* for a round */
    USED_WAIT_S = 5, /* for processes of a run that are ending */
    ARGV_MAX = 24,
    LINES_MAX = 8 /* of what one node complains of */
};
static const char left_out[] = "kept for other nodes left out"; /* reported by
                                                                 * scr_copy */

/* --- time --- */

/* A dataset has its own time, and not more than there is for all of them. */
static void set_deadline(struct scr_scavenge *s)
{
    double end = scr_now_mono() + s->timeout_s;
    s->deadline = end < s->end ? end : s->end;
}

/* A node that hangs takes all of the time for a round, and there may be need of a
 * second one. */
static double time_for_round(const struct scr_scavenge *s)
{
    double half = (s->deadline - scr_now_mono()) / 2, least = s->timeout_s / 2;
    least = least < LEAST_S ? least : LEAST_S;
    return half > least ? half : least;
}

/* --- nodes --- */

/* The nodes of the job; without a manager or a list, this one. */
static int list_nodes(struct scr_scavenge *s, const char *jobset,
                      struct scr_hostlist *nodes, struct scr_err *err)
{
    const struct scr_hostlist none = SCR_HOSTLIST_INIT;
    if (jobset == NULL && s->rm.nodes.n > 0)
        return scr_hostlist_minus(&s->rm.nodes, &none, nodes, err);
    return scr_hostlist_expand(jobset ? jobset : s->rm.host, nodes, err);
}

/* A manager that does not answer: nodes that are lost show soon enough. */
static void ask_manager(struct scr_scavenge *s, const struct scr_hostlist *nodes,
                        struct scr_downs *downs)
{
    struct scr_err why = SCR_ERR_INIT;
    s->rm.ask_by = scr_now_mono() + time_for_round(s);
    if (scr_rm_down(&s->rm, nodes, downs, &why) != SCR_OK)
        scr_log(s->t->env.log, SCR_LOG_WARN,
                "%s does not report which nodes are down: %s", s->rm.ops->name,
                why.text);
    s->rm.ask_by = 0;
}

/* down: those named, and those the manager knows to be dead. Others that it gives no
 * more work have still what they had in cache. */
static int list_down(struct scr_scavenge *s, const char *named,
                     const struct scr_hostlist *nodes, struct scr_err *err)
{
    struct scr_downs downs = SCR_DOWNS_INIT;
    int rc;
    TRY_OUT(scr_hostlist_expand(named ? named : "", &s->down, err));
    ask_manager(s, nodes, &downs);
    for (SCR_EACH(const struct scr_down, d, &downs.why))
        if (d->kind == SCR_NODE_DEAD &&
            !scr_hostlist_contains(&s->down, d->item.name)) {
            scr_log(s->t->env.log, SCR_LOG_NOTE, "node %s is lost: %s", d->item.name,
                    d->reason);
            TRY_OUT(scr_hostlist_add_once(&s->down, d->item.name, err));
        }
out:
    scr_downs_free(&downs);
    return rc;
}

/* Without an option up is all that is not down; with it, down is all that is not up. */
static int take_nodes(struct scr_scavenge *s, const struct scr_scavenge_opts *o,
                      struct scr_err *err)
{
    struct scr_hostlist all = SCR_HOSTLIST_INIT;
    int rc = list_nodes(s, o->jobset, &all, err);
    if (rc == SCR_OK && o->up != NULL) {
        rc = scr_hostlist_expand(o->up, &s->up, err);
        if (rc == SCR_OK)
            rc = scr_hostlist_minus(&all, &s->up, &s->down, err);
    } else if (rc == SCR_OK && (rc = list_down(s, o->down, &all, err)) == SCR_OK)
        rc = scr_hostlist_minus(&all, &s->down, &s->up, err);
    scr_hostlist_free(&all);
    if (rc == SCR_OK && s->up.n == 0)
        rc = scr_fail(err, SCR_E_NOENT, 0, "no node of the job is left to copy from");
    return rc;
}

/* Without the option all have to do with what is left of the job. */
static void take_end(struct scr_scavenge *s)
{
    int64_t end = 0;
    (void)scr_rm_end_time(&s->rm, &end, NULL); /* not known: as good as none */
    double left = (double)end - (double)time(NULL);
    if (end <= 0)
        return;
    if (left < FLOOR_S + SPARE_S)
        scr_log(s->t->env.log, SCR_LOG_WARN,
                left > 0 ? "the job ends in %.0f second%s: files are copied until then"
                         : "the job should have ended %.0f second%s ago: files are "
                           "copied while it lasts",
                left > 0 ? left : -left,
                scr_plural((int64_t)(left > 0 ? left : -left)));
    left = left < FLOOR_S + SPARE_S ? FLOOR_S : left - SPARE_S;
    s->end = scr_now_mono() + left;
}

static int take_timeout(struct scr_scavenge *s, const char *given, struct scr_err *err)
{
    s->timeout_s = LONGEST_S;
    s->end = HUGE_VAL;
    if (given == NULL)
        take_end(s);
    else if (!scr_parse_seconds(given, &s->timeout_s) || s->timeout_s <= 0)
        return scr_tool_usage(s->t, err, "option --timeout: \"%s\" is not a time",
                              given);
    set_deadline(s);
    return SCR_OK;
}

/* The caches in reach from here, by the configuration; scr_copy reads those of the
 * other nodes, and the directory of the option. */
static int check_unused(const struct scr_scavenge *s, const struct scr_reach *reach,
                        struct scr_err *err)
{
    int here = !s->ended && s->cntldir == NULL;
    for (size_t i = 0; here && i < reach->n; i++)
        TRY(scr_cntl_wait_unused(&s->t->env, reach->cntl[i], USED_WAIT_S, err));
    return SCR_OK;
}

static int take_reach(struct scr_scavenge *s, struct scr_err *err)
{
    struct scr_reach reach = { 0 };
    int rc;
    TRY_OUT(scr_tool_reach(s->t, s->t->prefix.path, NULL, &reach, err));
    TRY_OUT(check_unused(s, &reach, err));
out:
    s->shared = reach.nshared > 0;
    scr_reach_fini(&reach);
    return rc;
}

static int take_lock(struct scr_scavenge *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_prefix_lock(&s->t->env, &s->t->prefix, SCR_SCAVENGE_LOCK,
                             LOCK_TIMEOUT_MS, &s->lock, &why);
    if (rc == SCR_E_LOCKED)
        return scr_fail(err, rc, 0, "another scavenge of %s is running: %s",
                        s->t->prefix.path, why.text);
    if (rc == SCR_OK)
        rc = scr_attended_begin(s->t, &s->number, &why);
    return scr_err_take(err, rc, &why);
}

int scr_scavenge_open(struct scr_tool *t, const struct scr_scavenge_opts *o,
                      struct scr_scavenge *s, struct scr_err *err)
{
    *s = (struct scr_scavenge){
        .t = t, .lock = SCR_LOCK_INIT, .cntldir = o->cntldir, .ended = o->ended
    };
    TRY(take_lock(s, err));
    TRY(scr_tool_program(t, &s->program, err));
    TRY(scr_tool_params(t, t->prefix.path, &s->prm, err));
    TRY(scr_rm_open(&t->env, t->cfg, &s->prm, &s->rm, err));
    TRY(take_timeout(s, o->timeout, err));
    TRY(take_nodes(s, o, err));
    s->rm.stop = &s->stop;
    return take_reach(s, err);
}

void scr_scavenge_close(struct scr_scavenge *s)
{
    scr_lock_release(s->t->env.sys, &s->lock);
    free(s->program);
    free(s->trouble);
    scr_hostlist_free(&s->up);
    scr_hostlist_free(&s->down);
    if (s->rm.ops != NULL)
        scr_rm_close(&s->rm);
}

/* --- the index --- */

struct entry {
    const struct scr_prefix *p;
    const scr_hash *dset;
    int id;
};

/* As a flush does it: what is under way is visible, and its id is not used again. */
static int edit_enter(struct scr_index *index, void *arg, int *changed,
                      struct scr_err *err)
{
    const struct entry *e = arg;
    struct scr_dataset d;
    TRY(scr_dataset_get(e->dset, &d, err));
    TRY(scr_prefix_check_owner(e->p, index, &d, err));
    *changed = 1;
    int rc = scr_index_add(index, e->dset, 0, time(NULL));
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "index: dataset %d", e->id);
}

/* --- a round --- */

struct round {
    struct scr_scavenge *s;
    int id, partner, shared;
    const struct scr_hostlist *nodes; /* to run on */
    struct scr_remote_result *res;
    double limit_s; /* seconds; 0: half of what is left */
    sigset_t held;  /* signals that wait until it is over */
    struct scr_err err;
    int rc;
    atomic_int ended;
};

/* SCR copy on the nodes; strings are borrowed or in text. */
struct words {
    const char *argv[ARGV_MAX];
    int n;
    char id[16], buf[32], number[32], created[32];
    char *down;
};

static void add_word(struct words *w, const char *word)
{
    if (word != NULL && w->n < ARGV_MAX - 1)
        w->argv[w->n++] = word;
}

static void add_pair(struct words *w, const char *option, const char *value)
{
    if (value == NULL)
        return;
    add_word(w, option);
    add_word(w, value);
}

static int write_words(const struct round *r, struct words *w, struct scr_err *err)
{
    const struct scr_scavenge *s = r->s;
    *w = (struct words){ .n = 0 };
    snprintf(w->id, sizeof w->id, "%d", r->id);
    snprintf(w->created, sizeof w->created, "%lld", (long long)s->created);
    snprintf(w->number, sizeof w->number, "%lld", (long long)s->number);
    snprintf(w->buf, sizeof w->buf, "%llu", (unsigned long long)s->prm.file_buf_size);
    if (scr_hostlist_compress(&s->down, 0, &w->down, err) != SCR_OK)
        return SCR_E_NOMEM;
    add_word(w, s->program);
    add_word(w, "copy");
    add_pair(w, "--id", w->id);
    add_pair(w, "--prefix", s->t->prefix.path);
    add_pair(w, "--buf", w->buf);
    add_pair(w, "--cntldir", s->cntldir);
    add_pair(w, "--for", w->number);
    add_pair(w, "--created", s->created > 0 ? w->created : NULL);
    add_word(w, s->ended ? NULL : "--alone");
    add_word(w, s->prm.crc_on_flush ? "--crc" : NULL);
    add_word(w, r->partner ? "--partner" : NULL);
    add_word(w, r->shared ? "--shared" : NULL);
    add_word(w, s->down.n > 0 ? w->down : NULL);
    return SCR_OK;
}

static void *run_round(void *arg)
{
    struct round *r = arg;
    struct words w;
    r->rc = write_words(r, &w, &r->err);
    if (r->rc == SCR_OK)
        r->rc =
            scr_remote_run(&r->s->rm, r->nodes, w.argv, r->limit_s, &r->res, &r->err);
    free(w.down);
    atomic_store(&r->ended, 1);
    return NULL;
}

/* Signals that end us; not those that are ignored, as SIGHUP under nohup(1), or blocked
 * by who started us. They wait while a command runs on the nodes: only this process
 * ends it. */
static sigset_t ending_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction now;
    sigset_t set, blocked;
    sigemptyset(&set);
    sigemptyset(&blocked);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL &&
            !sigismember(&blocked, signals[i]))
            sigaddset(&set, signals[i]);
    return set;
}

static int is_asked_to_end(const struct round *r)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigandset(&pending, &pending, &r->held) == 0 &&
           !sigisemptyset(&pending);
}

/* The nodes report nothing while they copy; what they have written does. */
static void watch(struct round *r, uint64_t bytes)
{
    enum { LOOK_MS = 50 };
    struct scr_progress bar;
    char *stage = scr_stage_dir(&r->s->t->prefix, r->id);
    double next = scr_now_mono() + 1;
    scr_progress_start(&bar, r->s->t->log.out, bytes);
    while (!atomic_load(&r->ended)) {
        scr_nap_ms(LOOK_MS);
        r->s->stop |= is_asked_to_end(r);
        if (bar.out == NULL || stage == NULL || scr_now_mono() < next)
            continue;
        struct scr_dir_sum now = { 0 };
        scr_dir_measure(r->s->t->env.sys, stage, &now);
        scr_progress_add(&bar,
                         now.bytes > bar.done ? (size_t)(now.bytes - bar.done) : 0);
        next = scr_now_mono() + 1;
    }
    scr_progress_hide(&bar);
    free(stage);
}

static int run(struct round *r, uint64_t bytes, struct scr_err *err)
{
    pthread_t thread;
    sigset_t before;
    r->held = ending_signals();
    r->err = (struct scr_err)SCR_ERR_INIT;
    atomic_store(&r->ended, 0);
    if (r->limit_s <= 0)
        r->limit_s = time_for_round(r->s);
    pthread_sigmask(SIG_BLOCK, &r->held, &before);
    int started = pthread_create(&thread, NULL, run_round, r) == 0;
    if (started) {
        watch(r, bytes);
        pthread_join(thread, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL); /* one that waited ends us here */
    if (!started)
        return scr_fail(err, SCR_E_FAILURE, 0, "scavenge: no more threads");
    return r->rc == SCR_OK ? SCR_OK : scr_err_take(err, r->rc, &r->err);
}

/* --- rounds --- */

/* What a node wrote to stderr, a line each. */
static void tell_lines(const struct scr_scavenge *s, const char *node, const char *text)
{
    for (int i = 0; *text != '\0' && i < LINES_MAX; i++) {
        int n = (int)strcspn(text, "\n");
        scr_log(s->t->env.log, SCR_LOG_WARN, "node %s: %.*s", node, n, text);
        text += n + (text[n] == '\n');
    }
}

/* Status 1 is about files in cache; above that it is about us: no space, no access. */
static void tell_failure(struct scr_scavenge *s, const char *node,
                         const struct scr_remote_result *res)
{
    if (res->answered && res->status > 1 && s->trouble == NULL)
        s->trouble =
            scr_asprintf("node %s: %.*s", node, (int)strcspn(res->why, "\n"), res->why);
    if (!res->answered)
        scr_log(s->t->env.log, SCR_LOG_WARN, "node %s counts as lost: %.*s", node,
                (int)strcspn(res->why, "\n"), res->why);
    else
        tell_lines(s, node, res->why);
}

/* Those that are down are not asked again. */
static int leave_out_down(struct scr_scavenge *s, struct scr_err *err)
{
    struct scr_hostlist left = SCR_HOSTLIST_INIT;
    TRY(scr_hostlist_minus(&s->up, &s->down, &left, err));
    scr_hostlist_free(&s->up);
    s->up = left;
    return SCR_OK;
}

static int has_files(const struct scr_remote_result *res)
{
    return res->answered && res->status < 2 &&
           strstr(res->out, SCR_COPY_NOTHING) == NULL &&
           strstr(res->out, SCR_COPY_NO_CACHE) == NULL;
}

/* Counts what the nodes have, by the text of scr_copy. */
static void count_nodes(const struct round *r)
{
    for (size_t i = 0; i < r->nodes->n; i++) {
        const struct scr_remote_result *res = &r->res[i];
        if (has_files(res))
            r->s->found++;
        else if (res->answered && strstr(res->out, SCR_COPY_NO_CACHE) != NULL)
            r->s->bare++;
    }
}

/* Nodes that keep copies for others; *failed: how many had nothing good to say. */
static int sort_out(struct round *r, struct scr_hostlist *partners, int *failed,
                    struct scr_err *err)
{
    int rc = SCR_OK;
    *failed = 0;
    for (size_t i = 0; i < r->nodes->n && rc == SCR_OK; i++) {
        const struct scr_remote_result *res = &r->res[i];
        const char *node = r->nodes->name[i];
        if (strstr(res->out, SCR_COPY_IN_USE) != NULL)
            return scr_fail(err, SCR_E_LOCKED, 0, "node %s: %.*s", node,
                            (int)strcspn(res->why, "\n"), res->why);
        if (!res->answered || res->status != 0) {
            tell_failure(r->s, node, res);
            ++*failed;
        }
        if (res->answered && strstr(res->out, left_out) != NULL)
            rc = scr_hostlist_add_once(partners, node, err);
        if (rc == SCR_OK && !res->answered)
            rc = scr_hostlist_add_once(&r->s->down, node, err);
    }
    return rc;
}

/* Of how many ranks the dataset is, by what is known of a file; 0: nothing is. */
static int world_size(const scr_filemap *map, int id)
{
    int ranks = 0;
    for (SCR_ENTRIES(e, map, id))
        if (ranks == 0)
            (void)scr_meta_get_int(
                scr_file_meta((const struct scr_file *)e->files.first), SCR_META_RANKS,
                &ranks);
    return ranks;
}

/* 1 if the filemaps in the dataset's directory are not those of all ranks. */
static int lacks_ranks(const struct scr_scavenge *s, int id)
{
    char **names = NULL, *dir = scr_prefix_dset_dir(&s->t->prefix, id);
    size_t n = 0;
    int have = 0, ranks = 0;
    if (dir == NULL || scr_dir_list(s->t->env.sys, dir, &names, &n, NULL) != SCR_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        if (scr_map_rank(names[i]) < 0)
            continue;
        have++;
        scr_filemap *map = ranks == 0 ? scr_filemap_new() : NULL;
        char *path = map ? scr_path_join(dir, names[i]) : NULL;
        if (path != NULL && scr_filemap_read(s->t->env.sys, path, map, NULL) == SCR_OK)
            ranks = world_size(map, id);
        free(path);
        scr_filemap_delete(map);
    }
    scr_names_free(names, n);
    free(dir);
    return ranks == 0 || have < ranks;
}

/* The first node that can takes what lost nodes had in the caches that all share. */
static int copy_shared(struct scr_scavenge *s, int id, struct scr_err *err)
{
    int rc = SCR_OK, done = 0;
    for (size_t i = 0; i < s->up.n && !done && rc == SCR_OK; i++) {
        const struct scr_hostlist one = { &s->up.name[i], 1 };
        struct round r = { .s = s, .id = id, .partner = 1, .shared = 1, .nodes = &one };
        rc = run(&r, 0, err);
        done = rc == SCR_OK && r.res[0].answered && r.res[0].status < 2;
        if (rc == SCR_OK && !done)
            tell_failure(s, s->up.name[i], &r.res[0]);
        if (done && s->found == 0 && has_files(&r.res[0]))
            s->found = 1;
        if (rc == SCR_OK && !r.res[0].answered)
            rc = scr_hostlist_add_once(&s->down, s->up.name[i], err);
        scr_remote_free(r.res, 1);
    }
    return rc == SCR_OK ? leave_out_down(s, err) : rc;
}

/* 1 if the time was over for most nodes: then there is much to copy, and no node hangs.
 */
static int is_slow(const struct round *r, double start)
{
    size_t late = 0;
    for (size_t i = 0; i < r->nodes->n; i++)
        late += !r->res[i].answered;
    return late > r->nodes->n / 2 && scr_now_mono() - start >= r->limit_s;
}

/* Nodes that get more time do not copy finished files again. */
static int run_first(struct round *r, uint64_t bytes, struct scr_err *err)
{
    double start = scr_now_mono();
    int rc = run(r, bytes, err);
    double left = r->s->deadline - scr_now_mono();
    if (rc != SCR_OK || left <= 0 || !is_slow(r, start))
        return rc;
    scr_tool_print(r->s->t, "dataset %d: most nodes take longer, going on for %.0f s\n",
                   r->id, left);
    scr_remote_free(r->res, r->nodes->n);
    r->res = NULL;
    r->limit_s = left;
    return run(r, bytes, err);
}

static int run_rounds(struct scr_scavenge *s, int id, uint64_t bytes,
                      struct scr_err *err)
{
    struct scr_hostlist partners = SCR_HOSTLIST_INIT;
    struct round r = { .s = s, .id = id, .nodes = &s->up, .partner = s->down.n > 0 };
    int failed = 0, rc = run_first(&r, bytes, err);
    if (rc == SCR_OK)
        rc = sort_out(&r, &partners, &failed, err);
    if (rc == SCR_OK)
        count_nodes(&r);
    scr_remote_free(r.res, s->up.n);
    if (rc == SCR_OK)
        rc = leave_out_down(s, err);
    if (rc == SCR_OK && s->shared && lacks_ranks(s, id))
        rc = copy_shared(s, id, err);
    if (rc == SCR_OK && partners.n > 0 && (failed > 0 || lacks_ranks(s, id))) {
        struct round second = { .s = s, .id = id, .nodes = &partners, .partner = 1 };
        scr_tool_print(s->t,
                       "dataset %d: something is lost, copying what %zu node%s for "
                       "others\n",
                       id, partners.n, partners.n == 1 ? " keeps" : "s keep");
        struct scr_hostlist none = SCR_HOSTLIST_INIT;
        rc = run(&second, bytes, err);
        if (rc == SCR_OK)
            rc = sort_out(&second, &none, &failed, err);
        scr_remote_free(second.res, partners.n);
        scr_hostlist_free(&none);
        if (rc == SCR_OK)
            rc = leave_out_down(s, err);
    }
    scr_hostlist_free(&partners);
    return rc;
}

/* --- the event log --- */

static void log_start(const struct scr_scavenge *s, int id, const scr_hash *dset)
{
    struct scr_event e = SCR_EVENT_INIT;
    e.event = "SCAVENGE_START";
    e.dset = id;
    e.name = scr_hash_get_val(dset, "NAME");
    scr_tool_event_try(s->t, &s->prm, &e);
}

static void log_end(const struct scr_scavenge *s, int id, double secs, int rc,
                    const struct scr_err *err)
{
    struct scr_event e = SCR_EVENT_INIT;
    e.event = "SCAVENGE_END";
    e.dset = id;
    e.secs = secs;
    e.note = rc != SCR_OK && err != NULL ? err->text : s->trouble;
    scr_tool_event_try(s->t, &s->prm, &e);
}

/* --- the dataset --- */

static int begin(struct scr_scavenge *s, int id, const scr_hash *dset,
                 struct scr_err *err)
{
    struct entry e = { &s->t->prefix, dset, id };
    uint64_t landed = 0;
    TRY(dset ? scr_prefix_index_update(&s->t->env, &s->t->prefix, edit_enter, &e, err)
             : SCR_OK);
    TRY(scr_stage_take_landed(&s->t->env, &s->t->prefix, id, &landed, err));
    if (landed > 0)
        scr_tool_print(s->t, "dataset %d: a flush had copied %llu file%s\n", id,
                       (unsigned long long)landed, scr_plural((int64_t)landed));
    return SCR_OK;
}

/* The nodes that answered have no cache of the job: what names the caches is not set as
 * in the run, or they are gone. What was copied before may be enough. */
static int check_caches(const struct scr_scavenge *s, int id, struct scr_err *err)
{
    if (s->bare == 0 || s->bare < s->up.n)
        return SCR_OK;
    char *dir = scr_prefix_dset_dir(&s->t->prefix, id);
    int is_there = dir == NULL || scr_file_is_there(s->t->env.sys, dir);
    free(dir);
    return is_there ? SCR_OK
                    : scr_fail(err, SCR_E_NOENT, 0,
                               "no cache of job %s below %s on %zu node%s; are "
                               "SCR_CNTL_BASE and SCR_CACHE_BASE those of the run?",
                               s->prm.job_id, s->prm.cntl_base, s->bare,
                               s->bare == 1 ? "" : "s");
}

static void tell_copied(const struct scr_scavenge *s, int id, double secs)
{
    if (s->found > 0)
        scr_tool_print(s->t, "dataset %d: copied from %zu node%s in %.1f s\n", id,
                       s->found, s->found == 1 ? "" : "s", secs);
    else
        scr_tool_print(s->t, "dataset %d: copied from no node\n", id);
}

int scr_scavenge_dataset(struct scr_scavenge *s, int id, const scr_hash *dset,
                         struct scr_err *err)
{
    uint64_t bytes = 0;
    free(s->trouble);
    s->trouble = NULL;
    s->created = 0;
    s->found = s->bare = 0;
    (void)scr_hash_get_val_i64(dset, "CREATED", &s->created);
    (void)scr_hash_get_val_u64(dset, "SIZE", &bytes);
    if (scr_stage_is_placing(&s->t->env, &s->t->prefix, id)) {
        scr_tool_print(s->t, "dataset %d: all of it was copied before\n", id);
        return SCR_OK;
    }
    double start = scr_now_mono();
    set_deadline(s);
    log_start(s, id, dset);
    int rc = begin(s, id, dset, err);
    if (rc == SCR_OK)
        scr_stage_sweep(&s->t->env, &s->t->prefix, id);
    if (rc == SCR_OK && s->up.n > 0) /* else by what was copied before */
        rc = run_rounds(s, id, bytes, err);
    if (rc == SCR_OK)
        rc = check_caches(s, id, err);
    double secs = scr_now_mono() - start;
    if (rc == SCR_OK)
        tell_copied(s, id, secs);
    log_end(s, id, secs, rc, err);
    return rc;
}
