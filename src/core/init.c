/* SPDX-License-Identifier: BSD-3-Clause */
/* Init, Finalize and Config: the life of a context. */
#include <stdlib.h>
#include <string.h>

#include "base/cwd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/current.h"
#include "core/event_note.h"
#include "core/flushctl.h"
#include "core/init.h"
#include "core/restart.h"
#include "core/revive.h"
#include "core/run_events.h"
#include "core/tenancy.h"
#include "core/topo.h"
#include "store/identity.h"
#include "xfer/zst.h"

/* A resource manager may give processes half a minute to end, and file systems notice
 * after one or two that a node that held a lock was lost. */
enum { PATIENCE_MS = 60000, LEASE_MS = 180000 };

static void set_out(struct scr_ctx *ctx)
{
    (void)pthread_mutex_init(&ctx->opens, NULL); /* of this kind it cannot fail */
    ctx->env.sys = &scr_sys_posix;
    ctx->env.log = &ctx->local_log;
    ctx->log.who = ctx->local_log.who = "SCR";
    ctx->log.has_time = ctx->local_log.has_time = scr_cfg_log_time();
    ctx->state = SCR_STATE_NEW;
    ctx->room = SCR_MAX_NAME;
    ctx->world = ctx->node = (struct scr_comm)SCR_COMM_INIT;
    ctx->cntl.jnl_fd = -1;
    ctx->open_key = MPI_KEYVAL_INVALID;
    ctx->run_lock = (struct scr_lock)SCR_LOCK_INIT;
    ctx->patience_ms = PATIENCE_MS;
    ctx->lease_ms = LEASE_MS;
}

struct scr_ctx *scr_ctx_new(void)
{
    struct scr_ctx *ctx = scr_calloc(1, sizeof *ctx);
    if (ctx == NULL)
        return NULL;
    set_out(ctx);
    ctx->cfg = scr_cfg_new();
    ctx->cache.map = scr_filemap_new();
    if (ctx->cfg == NULL || ctx->cache.map == NULL) {
        scr_ctx_free(ctx);
        return NULL;
    }
    return ctx;
}

void scr_ctx_clear(struct scr_ctx *ctx)
{
    int rank = ctx->world.rank;
    scr_async_fini(ctx);
    scr_release_wait(&ctx->cache.release);
    scr_output_fini(&ctx->out);
    scr_restart_fini(&ctx->restart);
    scr_topo_fini(ctx);
    scr_descs_fini(&ctx->descs);
    scr_recall_fini(&ctx->recall);
    scr_tally_fini(&ctx->tally);
    scr_str_free(&ctx->datasets.bytes);
    scr_prefix_fini(&ctx->prefix);
    scr_filemap_delete(ctx->cache.map);
    free(ctx->cache.held);
    free(ctx->cache.leaving);
    scr_cfg_free(ctx->cfg);
    free(ctx->prefix_real);
    free(ctx->choice.gone_before);
    free(ctx->prefix_name);
    free(ctx->original);
    free(ctx->local_who);
    if (ctx->open_key != MPI_KEYVAL_INVALID)
        MPI_Comm_free_keyval(&ctx->open_key);
    scr_comm_free(&ctx->world);
    (void)pthread_mutex_destroy(&ctx->opens);
    memset(ctx, 0, sizeof *ctx);
    set_out(ctx);
    ctx->world.rank = rank; /* for messages */
}

void scr_ctx_turn_off(struct scr_ctx *ctx)
{
    struct scr_cfg *cfg = ctx->cfg;
    struct scr_params prm = ctx->prm;
    struct scr_comm world = ctx->world;
    ctx->cfg = NULL;
    ctx->world.comm = MPI_COMM_NULL;
    scr_ctx_clear(ctx);
    ctx->cfg = cfg;
    ctx->prm = prm;
    ctx->world = world;
    ctx->state = SCR_STATE_OFF;
    ctx->times.compute_start = ctx->times.last_ckpt = scr_now_mono();
}

void scr_ctx_free(struct scr_ctx *ctx)
{
    if (ctx == NULL)
        return;
    scr_ctx_clear(ctx);
    (void)pthread_mutex_destroy(&ctx->opens);
    free(ctx);
}

/* --- configuration --- */

/* The environment is taken once, the files are read again each time: their place may
 * have changed. */
static int load_config(struct scr_ctx *ctx, struct scr_err *err)
{
    int rc = SCR_OK;
    if (!ctx->have_environ)
        rc = scr_cfg_set_environ(ctx->cfg, scr_cfg_process_environ(), err);
    ctx->have_environ = 1;
    return rc == SCR_OK ? scr_cfg_load(&ctx->env, ctx->cfg, err) : rc;
}

/* Known and checked, but without effect in this build: a warning. */
static void warn_without_effect(const struct scr_ctx *ctx)
{
    if (ctx->prm.flush_compress_id > 0 && !scr_zst_have())
        scr_log(&ctx->log, SCR_LOG_WARN,
                "SCR_FLUSH_COMPRESS=%s (%s): this SCR was built without libzstd, files "
                "are flushed as they are",
                ctx->prm.flush_compress,
                scr_cfg_origin(ctx->cfg, "SCR_FLUSH_COMPRESS"));
}

/* Checkpoints that the lines of a store would have kept, and how many lines. */
static int wanted_of(const struct scr_descs *d, int store, int *lines)
{
    int wanted = 0;
    *lines = 0;
    for (int i = 0; i < d->nreds; i++) {
        const struct scr_reddesc *r = &d->red[i];
        if (!r->enabled || r->bypass || r->store != store)
            continue;
        wanted += r->count > 1 ? r->count : 1;
        *lines += 1;
    }
    return wanted;
}

/* Where each line leaves it to a number that is too small, a checkpoint of one drives
 * out another's. */
static void warn_of_small_stores(const struct scr_ctx *ctx)
{
    for (int i = 0; i < ctx->descs.nstores; i++) {
        const struct scr_store *s = &ctx->descs.store[i];
        int lines, wanted = wanted_of(&ctx->descs, i, &lines);
        if (lines > 1 && s->count >= 0 && s->count < wanted)
            scr_log(
                &ctx->log, SCR_LOG_WARN,
                "%d CKPT lines share %s (%s), which is set to keep only %d: set "
                "SCR_CACHE_SIZE, or COUNT of its STORE line, to %d, or leave it out",
                lines, s->path, s->origin, s->count, wanted);
    }
}

/* Lines about the settings, once they are known. */
static int use_config(struct scr_ctx *ctx, struct scr_err *err)
{
    TRY(scr_cfg_params(ctx->cfg, &ctx->prm, err));
    ctx->log.has_time = ctx->local_log.has_time = scr_log_time(ctx->prm.log_time);
    ctx->log.level = ctx->prm.debug;
    ctx->local_log.level = ctx->world.rank == 0 ? ctx->prm.debug : SCR_LOG_WARN;
    /* A job that restarts from the prefix only: what is cached goes there, and is read
     * where it lies then. */
    ctx->prm.flush_on_restart |= ctx->prm.global_restart;
    ctx->prm.fetch_bypass |= ctx->prm.global_restart;
    if (!ctx->prm.enable)
        return scr_fail(err, SCR_E_DISABLED, 0, "SCR is off, SCR_ENABLE=0 (%s)",
                        scr_cfg_origin(ctx->cfg, "SCR_ENABLE"));
    TRY(scr_descs_build(ctx->cfg, &ctx->prm, &ctx->descs, err));
    warn_without_effect(ctx);
    warn_of_small_stores(ctx);
    return SCR_OK;
}

/* A query before SCR_Init: rank 0 knows and sends it to all. */
static int query_all(struct scr_ctx *ctx, const struct scr_comm *comm, const char *text,
                     char **reply, struct scr_err *err)
{
    int rc = SCR_OK;
    if (comm->rank == 0) {
        if (ctx->state == SCR_STATE_NEW)
            rc = load_config(ctx, err);
        if (rc == SCR_OK)
            rc = scr_cfg_app(ctx->cfg, text, reply, err);
    }
    int rc1 = scr_bcast_str_all(comm, 0, reply, rc == SCR_OK ? err : NULL);
    return scr_agree_all(comm, rc == SCR_OK ? rc1 : rc, err);
}

int scr_config_all(struct scr_ctx *ctx, MPI_Comm from, const char *text, char **reply,
                   struct scr_err *err)
{
    struct scr_comm temp = SCR_COMM_INIT;
    const struct scr_comm *comm = &ctx->world;
    *reply = NULL;
    if (ctx->world.comm == MPI_COMM_NULL) {
        int rc = scr_comm_dup_all(from, &temp, err);
        if (rc != SCR_OK)
            return rc;
        comm = &temp;
        ctx->log.quiet = temp.rank != 0;
    }
    int rc = SCR_OK;
    const char *same = text ? text : "";
    if (text == NULL)
        rc = scr_fail(err, SCR_E_ARG, 0, "SCR_Config: the argument is NULL");
    /* a rank that is short of memory does not recognise one */
    struct scr_vote v = { .least = { -scr_cfg_app_is_query(text) } };
    rc = scr_vote_all(comm, rc, &v, err);
    if (rc == SCR_OK && !scr_same_all(comm, same, strlen(same) + 1))
        rc = scr_fail(err, SCR_E_MISMATCH, 0,
                      "SCR_Config: the argument differs between ranks (here \"%s\")",
                      same);
    if (rc == SCR_OK && v.least[0] != 0) {
        rc = query_all(ctx, comm, text, reply, err);
    } else if (rc == SCR_OK) {
        struct scr_err mine = SCR_ERR_INIT;
        rc = scr_state_check(ctx->state, SCR_CALL_CONFIG_SET, err);
        int rc1 = rc;
        if (rc == SCR_OK) /* by its environment, as in a file */
            rc1 = scr_cfg_app(ctx->cfg, text, reply, &mine);
        /* Other ranks' settings count if they are first in that of SCR_Init_comm: they
         * must have them, but their environments are not judged here. */
        if (rc == SCR_OK && (comm->rank == 0 || rc1 == SCR_E_NOMEM) && rc1 != SCR_OK)
            rc = scr_err_take(err, rc1, &mine);
        rc = scr_agree_all(comm, rc, err);
    }
    scr_comm_free(&temp);
    return rc;
}

/* --- the prefix directory --- */

/* Commands see the application's settings through app.conf; a stale one is removed. */
static int write_app_conf(struct scr_ctx *ctx, struct scr_err *err)
{
    char *path = scr_prefix_file(&ctx->prefix, "app.conf");
    char *text = scr_cfg_app_text(ctx->cfg);
    int rc = SCR_OK;
    if (path == NULL || text == NULL)
        rc = scr_no_memory(err);
    else if (text[0] == '\0')
        rc = scr_file_remove(ctx->env.sys, path, err);
    else
        rc = scr_file_replace(ctx->env.sys, path, text, strlen(text),
                              (struct scr_replace){ 0644, SCR_DURABLE }, err);
    free(path);
    free(text);
    return rc;
}

static int set_nodes(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)err;
    *changed = 1;
    return scr_nodes_set(h, *(const int *)arg);
}

/* Absolute prefix as rank 0 sees it. */
static int find_prefix(const struct scr_ctx *ctx, char **path, struct scr_err *err)
{
    char *cwd = NULL;
    int rc;
    TRY_OUT(scr_cwd(&cwd, err));
    *path = scr_path_join(cwd, ctx->prm.prefix ? ctx->prm.prefix : ".");
    TRY_OUT(*path ? SCR_OK : scr_no_memory(err));
out:
    free(cwd);
    return rc;
}

/* Whether SCR 3.x has written the index: it makes no lock file, scr_index here does. */
static int has_index_of_scr3(const struct scr_ctx *ctx)
{
    char *index = scr_prefix_file(&ctx->prefix, "index.scr");
    char *lock = scr_prefix_file(&ctx->prefix, "index.scr.lock");
    int has = index != NULL && lock != NULL && scr_file_is_there(ctx->env.sys, index) &&
              !scr_file_is_there(ctx->env.sys, lock);
    free(index);
    free(lock);
    return has;
}

/* Users of SCR 3.x come from checkpoints that bypass the cache. */
static void greet_newcomer(const struct scr_ctx *ctx, const struct scr_identity *id)
{
    if (id->is_new && id->original[0] == '\0' &&
        !scr_cfg_is_set(ctx->cfg, "SCR_CACHE_BYPASS") && has_index_of_scr3(ctx))
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "%s was used by SCR 3.x, which writes checkpoints straight to it "
                "(SCR_CACHE_BYPASS=1, its default); here they go to the cache first: "
                "set SCR_CACHE_BYPASS to 0 or 1",
                ctx->prefix.path);
}

/* Rank 0 makes what is missing of it. */
static int make_prefix(struct scr_ctx *ctx, const char *path, struct scr_err *err)
{
    struct scr_identity id;
    int rc = scr_prefix_open(&ctx->env, path, 1, &ctx->prefix, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "SCR_PREFIX (%s)", scr_cfg_origin(ctx->cfg, "SCR_PREFIX"));
    TRY(rc);
    TRY(scr_tenancy_take_prefix(ctx, err));
    TRY(scr_identity_make(&ctx->env, &ctx->prefix, &id, err));
    greet_newcomer(ctx, &id);
    ctx->prefix_name = scr_strdup(id.name);
    ctx->original = id.original[0] ? scr_strdup(id.original) : NULL;
    return ctx->prefix_name && (ctx->original || !id.original[0]) ? SCR_OK
                                                                  : scr_no_memory(err);
}

/* --- results of rank 0 for all ranks: {CONFIG/{…}, PATH, NAME} of the prefix, and
 * whether a halt condition is due {HALT} --- */

static int read_config(struct scr_ctx *ctx, scr_hash *found, struct scr_err *err)
{
    TRY(load_config(ctx, err));
    scr_hash *config = scr_hash_set(found, "CONFIG", NULL);
    TRY(config ? SCR_OK : scr_no_memory(err));
    return scr_cfg_pack(ctx->cfg, config, err);
}

static int open_first(struct scr_ctx *ctx, scr_hash *found, struct scr_err *err)
{
    char *path = NULL;
    int rc;
    TRY_OUT(use_config(ctx, err));
    TRY_OUT(find_prefix(ctx, &path, err));
    TRY_OUT(make_prefix(ctx, path, err));
    TRY_OUT(scr_halt_look(ctx, 0, err));
    if ((scr_hash_set_val(found, "PATH", path) == NULL ||
         scr_hash_set_val(found, "NAME", ctx->prefix_name) == NULL ||
         scr_hash_set_val_i64(found, "HALT", ctx->halt) == NULL))
        TRY_OUT(scr_no_memory(err));
out:
    free(path);
    return rc;
}

/* Where rank 0 has failed its error, of the lowest rank, comes before these. */
#define RANK_0_FAILED "rank 0 has failed"

/* The settings count also where SCR is off. */
static int open_as_found(struct scr_ctx *ctx, const scr_hash *found,
                         struct scr_err *err)
{
    const char *path = scr_hash_get_val(found, "PATH");
    const char *name = scr_hash_get_val(found, "NAME");
    scr_cfg_free(ctx->cfg);
    ctx->cfg = scr_cfg_new();
    TRY(ctx->cfg ? scr_cfg_unpack(ctx->cfg, scr_hash_get(found, "CONFIG"), err)
                 : scr_no_memory(err));
    TRY(use_config(ctx, err));
    if (path == NULL || name == NULL)
        return scr_fail(err, SCR_E_FAILURE, 0, RANK_0_FAILED);
    scr_hash_get_val_int(found, "HALT", &ctx->halt);
    ctx->prefix_name = scr_strdup(name);
    return ctx->prefix_name != NULL
               ? scr_prefix_open(&ctx->env, path, 0, &ctx->prefix, err)
               : scr_no_memory(err);
}

/* Rank 0 reads environment and files and makes the prefix directory; all ranks continue
 * with the result of rank 0. The code is each rank's own: an error anywhere is one on
 * rank 0, or rank 0 is well. */
static int open_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int is_first = ctx->world.rank == 0, own = SCR_OK;
    struct scr_err why = SCR_ERR_INIT; /* of own */
    scr_hash *found = scr_hash_new();
    int rc = found != NULL ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK && is_first)
        rc = read_config(ctx, found, err);
    if (rc == SCR_OK && is_first)
        own = open_first(ctx, found, &why);
    rc = scr_hash_bcast_all(&ctx->world, 0, rc, found, err);
    if (rc == SCR_OK && !is_first)
        own = scr_hash_get(found, "CONFIG") != NULL
                  ? open_as_found(ctx, found, &why)
                  : scr_fail(&why, SCR_E_FAILURE, 0, RANK_0_FAILED);
    if (rc == SCR_OK && own == SCR_OK && ctx->prefix.path != NULL)
        own = scr_realpath(ctx->prefix.path, &ctx->prefix_real, &why);
    scr_hash_delete(found);
    return rc == SCR_OK && own != SCR_OK ? scr_err_take(err, own, &why) : rc;
}

/* Data of this run for commands; a halt of an earlier allocation is over. */
static int record_run(struct scr_ctx *ctx, struct scr_err *err)
{
    TRY(write_app_conf(ctx, err));
    TRY(scr_prefix_state_update(&ctx->env, &ctx->prefix, "nodes.scr", set_nodes,
                                &ctx->nodes, err));
    SCR_EVENT(ctx, .event = "START");
    return scr_halt_look(ctx, 1, err);
}

/* --- init and finalize --- */

static int start_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int rc = scr_topo_init_all(ctx, open_all(ctx, err), err);
    if (rc != SCR_OK)
        return rc;
    int halted = ctx->halt && ctx->prm.halt_enabled; /* as all ranks know */
    if (ctx->world.rank == 0)
        rc = record_run(ctx, err);
    if (halted)
        return scr_agree_all(&ctx->world, rc, err);
    rc = scr_cache_revive_all(ctx, rc, err);
    if (rc != SCR_OK || (ctx->halt && ctx->prm.halt_enabled))
        return rc;
    return scr_restart_init_all(ctx, err);
}

int scr_init_all(struct scr_ctx *ctx, MPI_Comm comm, struct scr_err *err)
{
    TRY(scr_comm_dup_all(comm, &ctx->world, err));
    ctx->log.quiet = ctx->world.rank != 0;
    ctx->local_who = scr_asprintf("SCR: rank %d", ctx->world.rank);
    if (ctx->local_who != NULL)
        ctx->local_log.who = ctx->local_who;
    double start = scr_now_mono();
    int rc = start_all(ctx, err);
    ctx->state = rc == SCR_OK ? SCR_STATE_IDLE : SCR_STATE_OFF;
    ctx->times.compute_start = ctx->times.last_ckpt = scr_now_mono();
    if (rc == SCR_OK && ctx->sees_opens &&
        MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &ctx->open_key,
                               NULL) != MPI_SUCCESS)
        ctx->open_key = MPI_KEYVAL_INVALID; /* it is found out each time */
    if (rc == SCR_OK)
        scr_run_begin(ctx, start);
    return rc;
}

/* With SCR_FLUSH=0 the newest checkpoint stays in cache, for the next run of the
 * allocation to continue from. After a halt there is none, so it is copied, as after a
 * halt that a checkpoint meets. If the conditions are not known, it copies, too. */
static int flush_last_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int newest = ctx->prm.flush != 0;
    int rc = newest ? SCR_OK : scr_is_halted_all(ctx, &newest, err);
    int last = scr_flush_pending_all(ctx, newest || rc != SCR_OK, &why);
    if (rc != SCR_OK || last == SCR_OK)
        return rc;
    return scr_fail(err, last, 0,
                    "%s; kept in cache: scr_postrun or the next run tries again",
                    why.text);
}

int scr_finalize_all(struct scr_ctx *ctx, struct scr_err *err)
{
    scr_restart_close_all(ctx, "SCR_Finalize");
    if (ctx->out.id == 0)
        scr_compute_end(ctx, scr_now_mono());
    int rc = flush_last_all(ctx, err);
    scr_cache_spare_for(ctx, 0, 0);
    scr_async_dismiss(ctx);
    scr_wanted_forget_all(ctx);
    scr_pilot_end(ctx);
    struct scr_err second = SCR_ERR_INIT;
    int rc2 =
        scr_halt_reason_all(ctx, SCR_HALT_FINALIZED, rc == SCR_OK ? err : &second);
    ctx->state = SCR_STATE_DONE;
    scr_run_end(ctx, NULL);
    rc = scr_first(rc, rc2);
    if (rc != SCR_OK)
        scr_err_prefix(err, "SCR_Finalize");
    return rc;
}
