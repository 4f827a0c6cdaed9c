/* SPDX-License-Identifier: BSD-3-Clause */
/* The façade: SCR_* calls over the one context of this process. Checks the state table,
 * calls core, prints the error once. The only file with writable variables.
 */
#include <mpi.h>

#include "scr.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/bind.h"
#include "api/openfile.h"
#include "api/places.h"
#include "base/str.h"
#include "core/ctx.h"
#include "core/datasets.h"
#include "core/flushctl.h"
#include "core/foreign.h"
#include "core/init.h"
#include "core/manage.h"
#include "core/off.h"
#include "core/restart.h"
#include "core/route.h"
#include "core/run_events.h"
#include "core/shared.h"
#include "core/tenancy.h"

_Static_assert((int)SCR_MAX_NAME == SCR_MAX_FILENAME, "one limit");
_Static_assert((int)SCR_IS_CKPT == SCR_FLAG_CHECKPOINT &&
                   (int)SCR_IS_OUTPUT == SCR_FLAG_OUTPUT &&
                   (int)SCR_IS_CACHED == SCR_FLAG_IN_CACHE &&
                   (int)SCR_IS_STORED == SCR_FLAG_IN_PREFIX &&
                   (int)SCR_IS_OFFERED == SCR_FLAG_RESTARTABLE,
               "the same flags");
_Static_assert((int)SCR_E_FAILURE == SCR_FAILURE, "one generic failure");

static struct scr_ctx *the_ctx;
static MPI_Comm the_comm;       /* of the last SCR_Init, the program's */
static struct scr_err the_last; /* of SCR_Last_error */
/* For the_last: an MPI_File_open of another thread may be refused meanwhile. */
static pthread_mutex_t the_last_lock = PTHREAD_MUTEX_INITIALIZER;
static int the_key = MPI_KEYVAL_INVALID; /* on MPI_COMM_SELF while SCR runs */

static int mpi_is_up(void)
{
    int up = 0, down = 0;
    MPI_Initialized(&up);
    MPI_Finalized(&down);
    return up && !down;
}

/* Among the ranks that call together, as far as they are known. */
static int my_rank(void)
{
    int rank = the_ctx != NULL ? the_ctx->world.rank : -1;
    if (rank < 0 && mpi_is_up())
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank > 0 ? rank : 0;
}

static enum scr_state state_now(void)
{
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended)
        return SCR_STATE_ENDED;
    return the_ctx != NULL ? the_ctx->state : SCR_STATE_NEW;
}

/* Collective errors are the same everywhere: where they come from is worth saying. */
static struct scr_err with_origin(int rc, const struct scr_err *err)
{
    enum { WHERE = 64 };
    struct scr_err last = SCR_ERR_INIT;
    if (rc == SCR_OK)
        return last;
    if (err->others > 0 && err->text[0] != '\0')
        scr_fail(&last, rc, 0, "%.*s (rank %d and %d other rank%s)",
                 SCR_ERR_TEXT - WHERE, err->text, err->rank, err->others,
                 err->others > 1 ? "s" : "");
    else if (err->rank > 0 && err->text[0] != '\0')
        scr_fail(&last, rc, 0, "%.*s (rank %d)", SCR_ERR_TEXT - WHERE, err->text,
                 err->rank);
    else
        scr_fail(&last, rc, 0, "%s",
                 err->text[0] != '\0' ? err->text : scr_err_meaning(rc));
    return last;
}

/* Keeps it for SCR_Last_error, and gives it, to print. */
static struct scr_err remember(int rc, const struct scr_err *err)
{
    const struct scr_err last = with_origin(rc, err);
    (void)pthread_mutex_lock(&the_last_lock);
    the_last = last;
    (void)pthread_mutex_unlock(&the_last_lock);
    return last;
}

/* SCR_Init, or SCR_Start_output, has said why; a program that continues does not get
 * the message again from every call of every process. */
static int is_told(void)
{
    int told = the_ctx != NULL && the_ctx->is_told;
    if (told)
        the_ctx->is_told = 0;
    return told;
}

static struct scr_log speaker(int quiet)
{
    int has_time = the_ctx != NULL ? the_ctx->log.has_time : scr_cfg_log_time();
    return (struct scr_log){ .who = "SCR", .quiet = quiet, .has_time = has_time };
}

/* Every collective call: the result, and if it is an error one line from rank 0. */
static int leave_as(int rank, int rc, const struct scr_err *err)
{
    const struct scr_log log = speaker(0);
    const struct scr_err last = remember(rc, err);
    if (rc != SCR_OK && !is_told() && rank == 0)
        scr_log(&log, SCR_LOG_ERROR, "%s", last.text);
    return rc;
}

static int leave(int rc, const struct scr_err *err)
{
    return leave_as(my_rank(), rc, err);
}

/* Every local call: the rank it happened on speaks. */
static int leave_local(int rc, const struct scr_err *err)
{
    const struct scr_log log = speaker(0);
    const struct scr_err last = remember(rc, err);
    if (rc != SCR_OK && !is_told())
        scr_log(&log, SCR_LOG_ERROR, "rank %d: %s", my_rank(), last.text);
    return rc;
}

/* Calls that do something for the application's own files where SCR does not run. */
static int works_without_scr(enum scr_call call)
{
    return call == SCR_CALL_ROUTE || call == SCR_CALL_NEED || call == SCR_CALL_START ||
           call == SCR_CALL_COMPLETE || call == SCR_CALL_FINALIZE;
}

static int is_off(void)
{
    return the_ctx != NULL && scr_state_is_off(the_ctx->state);
}

static int is_running(void)
{
    enum scr_state state = state_now();
    return state != SCR_STATE_NEW && !scr_state_is_off(state) &&
           state != SCR_STATE_DONE && state != SCR_STATE_ENDED;
}

/* The context if the call is allowed now and there is something to do. */
static struct scr_ctx *enter(enum scr_call call, struct scr_err *err, int *rc)
{
    enum scr_state state = state_now();
    *rc = scr_state_check(state, call, err);
    if (the_ctx != NULL) {
        the_ctx->is_told = *rc != SCR_OK && scr_state_is_told(state);
        the_ctx->state = scr_state_after(state, call);
    }
    int nothing = is_off() && !works_without_scr(call);
    return *rc == SCR_OK && !nothing ? the_ctx : NULL;
}

static size_t room_of(size_t size)
{
    return size < SCR_MAX_FILENAME ? size : SCR_MAX_FILENAME;
}

/* The same for calls that return a name or a path in size bytes. */
static struct scr_ctx *enter_with(enum scr_call call, size_t size, struct scr_err *err,
                                  int *rc)
{
    struct scr_ctx *ctx = enter(call, err, rc);
    if (ctx != NULL)
        ctx->room = room_of(size);
    return ctx;
}

/* Frees everything; the empty context that stays knows that the run is over. */
static void forget(void)
{
    scr_ctx_clear(the_ctx);
    the_ctx->state = SCR_STATE_DONE;
}

/* --- MPI_Finalize without SCR_Finalize --- */

/* MPI_Finalize frees MPI_COMM_SELF before all else. Collective calls would wait for
 * ranks that may have failed: rank 0 speaks of what it knows. */
static int on_self_freed(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    if (!is_running())
        return MPI_SUCCESS;
    char *unsaved = my_rank() == 0 ? scr_ctx_unsaved(the_ctx) : NULL;
    if (my_rank() == 0)
        scr_log(&the_ctx->log, SCR_LOG_WARN,
                "MPI_Finalize was called without SCR_Finalize: %s; call SCR_Finalize "
                "before it",
                unsaved ? unsaved : "data that is only in cache may be lost");
    free(unsaved);
    the_key = MPI_KEYVAL_INVALID;
    forget();
    return MPI_SUCCESS;
}

/* A run that cannot be watched continues. */
static void watch(void)
{
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_self_freed, &the_key, NULL) !=
        MPI_SUCCESS)
        the_key = MPI_KEYVAL_INVALID;
    else
        MPI_Comm_set_attr(MPI_COMM_SELF, the_key, &the_key);
}

/* When SCR does not run any more. */
static void stop_watching(void)
{
    if (the_key == MPI_KEYVAL_INVALID)
        return;
    MPI_Comm_delete_attr(MPI_COMM_SELF, the_key);
    MPI_Comm_free_keyval(&the_key);
}

static void end_the_run(int status)
{
    scr_ctx_free(the_ctx);
    the_ctx = NULL;
    stop_watching();
    MPI_Finalize();
    exit(status);
}

/* The documented halt: a condition is due, the newest checkpoint is flushed, the run
 * ends. If that failed, the status shows a script that datasets must still be saved.
 */
static void halt_if_due(struct scr_ctx *ctx)
{
    if (!ctx->halt || !ctx->prm.halt_enabled)
        return;
    scr_run_end(ctx, "halt");
    scr_barrier_all(&ctx->world);
    end_the_run(ctx->halt_unsafe ? 1 : 0);
}

/* The context's own communicator; comm where it has none, before SCR_Init or because
 * MPI could not duplicate comm. */
static struct scr_comm get_world(MPI_Comm comm)
{
    struct scr_comm world = { .comm = comm };
    if (the_ctx != NULL && the_ctx->world.comm != MPI_COMM_NULL)
        return the_ctx->world;
    MPI_Comm_rank(world.comm, &world.rank);
    MPI_Comm_size(world.comm, &world.size);
    return world;
}

/* 1 if comm is a handle that MPI knows. Some MPIs find that out by its number, others
 * return an error, which is raised on the world, or since MPI 4 on MPI_COMM_SELF: there
 * it must not end the program. */
static int is_known(MPI_Comm comm, int *is_inter)
{
    MPI_Comm raised_on[] = { MPI_COMM_WORLD, MPI_COMM_SELF };
    MPI_Errhandler before[2];
    for (int i = 0; i < 2; i++) {
        MPI_Comm_get_errhandler(raised_on[i], &before[i]);
        MPI_Comm_set_errhandler(raised_on[i], MPI_ERRORS_RETURN);
    }
    int known = PMPI_Comm_f2c(PMPI_Comm_c2f(comm)) == comm &&
                MPI_Comm_test_inter(comm, is_inter) == MPI_SUCCESS;
    for (int i = 0; i < 2; i++) {
        MPI_Comm_set_errhandler(raised_on[i], before[i]);
        MPI_Errhandler_free(&before[i]);
    }
    return known;
}

/* Local: the ranks of what is no communicator cannot agree. */
static int check_comm(const char *call, MPI_Comm comm, struct scr_err *err)
{
    int is_inter = 0;
    if (comm == MPI_COMM_WORLD)
        return SCR_OK;
    if (comm == MPI_COMM_NULL)
        return scr_fail(err, SCR_E_ARG, 0,
                        "%s: the communicator is MPI_COMM_NULL: processes outside of "
                        "the communicator do not call SCR",
                        call);
    if (!is_known(comm, &is_inter))
        return scr_fail(err, SCR_E_ARG, 0,
                        "%s: the argument is no communicator, or one that was freed",
                        call);
    return is_inter ? scr_fail(err, SCR_E_ARG, 0,
                               "%s: SCR cannot run on an inter-communicator: merge it, "
                               "or pass that of one side",
                               call)
                    : SCR_OK;
}

/* Makes the context where there is none, or a run of this process is over: on all such
 * ranks of comm or on none. Other ranks may have one from SCR_Config. */
static int make_ctx_all(const char *call, MPI_Comm comm, struct scr_err *err)
{
    enum scr_state state = state_now();
    if (state != SCR_STATE_NEW && state != SCR_STATE_DONE)
        return SCR_OK;
    struct scr_comm world = get_world(comm);
    int rc = SCR_OK, again = state == SCR_STATE_DONE;
    struct scr_ctx *fresh = the_ctx == NULL || again ? scr_ctx_new() : the_ctx;
    if (fresh == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "%s: out of memory", call);
    rc = scr_agree_all(&world, rc, err);
    if (fresh != NULL && rc == SCR_OK)
        fresh->world.rank = world.rank; /* for messages */
    if (fresh == the_ctx)
        return rc;
    if (rc != SCR_OK) {
        scr_ctx_free(fresh);
        return rc;
    }
    fresh->again = again || (the_ctx != NULL && the_ctx->again);
    scr_ctx_free(the_ctx);
    the_ctx = fresh;
    return rc;
}

/* The last words of the line that is about to be printed. */
static void end_last_with(const char *words)
{
    size_t n = strlen(the_last.text), most = sizeof the_last.text - strlen(words) - 1;
    memcpy(the_last.text + (n < most ? n : most), words, strlen(words) + 1);
}

/* The program may free it: then each process is on its own. */
static int on_comm_freed(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    if (comm == the_comm)
        the_comm = MPI_COMM_SELF;
    return MPI_SUCCESS;
}

/* Of the program's communicator, where MPI could not duplicate it. */
static void watch_comm(void)
{
    int key;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_comm_freed, &key, NULL) !=
        MPI_SUCCESS)
        return;
    MPI_Comm_set_attr(the_comm, key, NULL);
    MPI_Comm_free_keyval(&key); /* when the attribute has gone */
}

/* SCR_Init has failed: the program continues with its own files, if it may. */
static int leave_without_scr(int rc, const struct scr_err *err)
{
    const struct scr_log log = speaker(my_rank() != 0);
    struct scr_comm world = get_world(the_comm);
    int required = scr_off_is_refused_all(the_ctx, &world);
    (void)remember(rc, err);
    end_last_with(required ? "; SCR_REQUIRED is set, the job ends"
                           : "; this run makes no checkpoints");
    scr_log(&log, SCR_LOG_ERROR, "%s", the_last.text);
    if (required)
        end_the_run(1);
    scr_ctx_turn_off(the_ctx);
    if (the_ctx->world.comm == MPI_COMM_NULL)
        watch_comm();
    return rc;
}

/* SCR_ENABLE=0 is what the user wants. */
static int leave_disabled(const struct scr_err *err)
{
    const struct scr_log log = speaker(my_rank() != 0);
    scr_log(&log, SCR_LOG_NOTE, "%s; this run makes no checkpoints", err->text);
    (void)remember(SCR_OK, err);
    scr_ctx_turn_off(the_ctx);
    return SCR_SUCCESS;
}

/* The wrapper asks all ranks of a communicator: SCR_Init finds out whether all ranks
 * have it. */
#pragma weak scr_open_is_wrapped
static int sees_opens(void)
{
    return scr_open_is_wrapped != NULL && scr_open_is_wrapped();
}

/* In a child made by fork, which may outlive this process: the next run is not to wait
 * for it. */
static void let_go_in_child(void)
{
    if (the_ctx != NULL)
        scr_tenancy_forget(the_ctx);
}

static int check_mpi(const char *call, struct scr_err *err)
{
    return mpi_is_up() ? SCR_OK
                       : scr_fail(err, SCR_E_STATE, 0, "%s: call MPI_Init first", call);
}

static int init_all(const char *call, MPI_Comm comm)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc = scr_state_check(state_now(), SCR_CALL_INIT, &err);
    if (rc == SCR_OK)
        rc = check_mpi(call, &err);
    if (rc != SCR_OK)
        return leave(rc, &err);
    rc = check_comm(call, comm, &err);
    if (rc != SCR_OK)
        return leave_local(rc, &err);
    rc = make_ctx_all(call, comm, &err);
    if (rc != SCR_OK)
        return leave_as(get_world(comm).rank, rc, &err);
    if (!the_ctx->again) /* without memory for that a child may be waited for */
        (void)pthread_atfork(NULL, NULL, let_go_in_child);
    the_comm = comm;
    the_ctx->sees_opens = sees_opens();
    rc = scr_init_all(the_ctx, comm, &err);
    if (rc == SCR_E_DISABLED)
        return leave_disabled(&err);
    if (rc != SCR_OK)
        return leave_without_scr(rc, &err);
    halt_if_due(the_ctx);
    watch();
    return leave(rc, &err);
}

int SCR_Init(void)
{
    return init_all("SCR_Init", MPI_COMM_WORLD);
}

int SCR_Init_comm(MPI_Comm comm)
{
    return init_all("SCR_Init_comm", comm);
}

int scr_bind_init_comm(int comm)
{
    return SCR_Init_comm(mpi_is_up() ? PMPI_Comm_f2c((MPI_Fint)comm) : MPI_COMM_NULL);
}

int SCR_Finalize(void)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    struct scr_ctx *ctx = enter(SCR_CALL_FINALIZE, &err, &rc);
    if (ctx == NULL)
        return leave(rc, &err);
    if (!is_off())
        rc = scr_finalize_all(ctx, &err);
    rc = leave(rc, &err);
    forget();
    stop_watching();
    return rc;
}

/* A value that does not fit on one rank is given to none. */
static int check_value_all(MPI_Comm comm, const char *config, size_t size, char **value,
                           struct scr_err *err)
{
    struct scr_comm world = get_world(comm);
    size_t n = *value != NULL ? strlen(*value) : 0;
    int rc = SCR_OK;
    if (*value != NULL && n >= size)
        rc = scr_fail(err, SCR_E_NAME, 0,
                      "SCR_Config: the value of %.64s has %zu characters, at most %zu "
                      "fit",
                      config, n, size - 1);
    rc = scr_agree_all(&world, rc, err);
    if (rc != SCR_OK) {
        free(*value);
        *value = NULL;
    }
    return rc;
}

/* comm is that of the ranks up to SCR_Init only. */
static int config_all(const char *call, MPI_Comm comm, const char *config, size_t size,
                      char **value)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc = SCR_OK;
    *value = NULL;
    TRY_OUT(scr_state_check(state_now(), SCR_CALL_CONFIG_GET, &err));
    TRY_OUT(check_mpi(call, &err));
    rc = check_comm(call, comm, &err);
    if (rc != SCR_OK)
        return leave_local(rc, &err);
    rc = make_ctx_all(call, comm, &err);
    if (rc != SCR_OK)
        return leave_as(get_world(comm).rank, rc, &err);
    if (is_off()) /* MPI could not duplicate it: its ranks alone are here */
        comm = the_comm;
    TRY_OUT(scr_config_all(the_ctx, comm, config, value, &err));
    TRY_OUT(check_value_all(comm, config, size, value, &err));
out:
    return leave(rc, &err);
}

int scr_bind_config(const char *config, size_t size, char **value)
{
    return config_all("SCR_Config", MPI_COMM_WORLD, config, size, value);
}

int scr_bind_config_comm(int comm, const char *config, size_t size, char **value)
{
    return config_all("SCR_Config_comm",
                      mpi_is_up() ? PMPI_Comm_f2c((MPI_Fint)comm) : MPI_COMM_NULL,
                      config, size, value);
}

const char *SCR_Config(const char *config)
{
    char *value;
    scr_bind_config(config, SIZE_MAX, &value);
    return value;
}

const char *SCR_Config_comm(MPI_Comm comm, const char *config)
{
    char *value;
    config_all("SCR_Config_comm", comm, config, SIZE_MAX, &value);
    return value;
}

const char *SCR_Configf(const char *format, ...)
{
    if (format == NULL)
        return SCR_Config(NULL);
    struct scr_str s = SCR_STR_INIT;
    va_list ap;
    va_start(ap, format);
    scr_str_vprintf(&s, format, ap);
    va_end(ap);
    char *text = scr_str_take(&s);
    const char *reply = SCR_Config(text);
    free(text);
    return reply;
}

/* The path for programs that ignore the error of SCR_Route_file. Where SCR does not run
 * they continue with their own files. Where it does they must not open anything: the
 * buffer may hold the path of an older file, which they would write over, or take for
 * good. */
static void give_instead(const char *name, char *file, size_t size)
{
    const char *text = name != NULL && !is_running() ? name : "";
    size_t n = strlen(text);
    if (file == NULL)
        return;
    if (n >= size || n >= SCR_MAX_FILENAME)
        n = 0;
    memcpy(file, text, n);
    file[n] = '\0';
}

int scr_bind_route_file(const char *name, char *file, size_t size)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    struct scr_ctx *ctx = enter_with(SCR_CALL_ROUTE, size, &err, &rc);
    if (rc == SCR_OK && (is_running() || is_off()))
        rc = scr_route(ctx, name, file, &err);
    else if (rc == SCR_OK)
        rc = scr_route_outside(name, file, room_of(size), &err);
    if (rc != SCR_OK)
        give_instead(name, file, size);
    return leave_local(rc, &err);
}

int SCR_Route_file(const char *name, char *file)
{
    return scr_bind_route_file(name, file, SCR_MAX_FILENAME);
}

int SCR_Need_checkpoint(int *flag)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    if (flag)
        *flag = 0;
    struct scr_ctx *ctx = enter(SCR_CALL_NEED, &err, &rc);
    if (ctx != NULL && is_off()) {
        struct scr_comm world = get_world(the_comm);
        rc = scr_off_need_checkpoint_all(ctx, &world, flag, &err);
    } else if (ctx != NULL)
        rc = scr_need_checkpoint_all(ctx, flag, &err);
    return leave(rc, &err);
}

int SCR_Start_output(const char *name, int flags)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    struct scr_ctx *ctx = enter(SCR_CALL_START, &err, &rc);
    if (ctx != NULL && is_off())
        scr_off_start_output(ctx);
    else if (ctx != NULL)
        rc = scr_start_output_all(ctx, name, flags, &err);
    if (ctx != NULL && rc != SCR_OK)
        ctx->state = SCR_STATE_UNOPENED;
    return leave(rc, &err);
}

int SCR_Complete_output(int valid)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    struct scr_ctx *ctx = enter(SCR_CALL_COMPLETE, &err, &rc);
    if (ctx == NULL)
        return leave(rc, &err);
    if (is_off()) {
        struct scr_comm world = get_world(the_comm);
        rc = scr_off_complete_output_all(ctx, &world, valid, &err);
        return leave(rc, &err);
    }
    rc = scr_complete_output_all(ctx, valid, &err);
    rc = leave(rc, &err);
    halt_if_due(ctx);
    return rc;
}

int scr_open_is_refused_all(MPI_Comm comm, const char *name)
{
    const struct scr_log log = speaker(0);
    struct scr_err err = SCR_ERR_INIT;
    int rank = 0;
    if (the_ctx == NULL || !the_ctx->sees_opens ||
        scr_check_open_all(the_ctx, comm, name, &err) == SCR_OK)
        return 0;
    const struct scr_err last = remember(err.code, &err);
    PMPI_Comm_rank(comm, &rank);
    if (rank == 0)
        scr_log(&log, SCR_LOG_ERROR, "%s", last.text);
    return 1;
}

int SCR_Start_checkpoint(void)
{
    return SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT);
}

int SCR_Complete_checkpoint(int valid)
{
    return SCR_Complete_output(valid);
}

int scr_bind_have_restart(int *flag, char *name, size_t size)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    if (flag)
        *flag = 0;
    struct scr_ctx *ctx = enter_with(SCR_CALL_HAVE, size, &err, &rc);
    if (ctx != NULL)
        rc = scr_have_restart_all(ctx, flag, name, &err);
    return leave(rc, &err);
}

int SCR_Have_restart(int *flag, char *name)
{
    return scr_bind_have_restart(flag, name, SCR_MAX_FILENAME);
}

int scr_bind_start_restart(char *name, size_t size)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    struct scr_ctx *ctx = enter_with(SCR_CALL_START_RESTART, size, &err, &rc);
    if (ctx != NULL)
        rc = scr_start_restart_all(ctx, name, &err);
    return leave(rc, &err);
}

int SCR_Start_restart(char *name)
{
    return scr_bind_start_restart(name, SCR_MAX_FILENAME);
}

int SCR_Complete_restart(int valid)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    struct scr_ctx *ctx = enter(SCR_CALL_COMPLETE_RESTART, &err, &rc);
    if (ctx != NULL)
        rc = scr_complete_restart_all(ctx, valid, &err);
    return leave(rc, &err);
}

int SCR_Restart_ranks(int *ranks)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    if (ranks)
        *ranks = 0;
    struct scr_ctx *ctx = enter(SCR_CALL_RESTART_RANKS, &err, &rc);
    if (ctx != NULL)
        rc = scr_restart_ranks(ctx, ranks, &err);
    return leave_local(rc, &err);
}

/* A collective call that answers with a number, 0 after an error. */
static int ask_all(enum scr_call call, int *answer,
                   int (*work_all)(struct scr_ctx *ctx, int *answer,
                                   struct scr_err *err))
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    if (answer)
        *answer = 0;
    struct scr_ctx *ctx = enter(call, &err, &rc);
    if (ctx != NULL)
        rc = work_all(ctx, answer, &err);
    return leave(rc, &err);
}

int SCR_Restart_files(int *n)
{
    return ask_all(SCR_CALL_RESTART_FILES, n, scr_restart_files_all);
}

int scr_bind_restart_file(int i, char *file, size_t size, int *rank)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    struct scr_ctx *ctx = enter_with(SCR_CALL_RESTART_FILE, size, &err, &rc);
    if (ctx != NULL)
        rc = scr_restart_file(ctx, i, file, rank, &err);
    return leave_local(rc, &err);
}

int SCR_Restart_file(int i, char *file, int *rank)
{
    return scr_bind_restart_file(i, file, SCR_MAX_FILENAME, rank);
}

int SCR_Datasets(int *n)
{
    return ask_all(SCR_CALL_DATASETS, n, scr_datasets_all);
}

/* row is empty after an error. */
static int dataset_of(int i, char *name, size_t size, struct scr_dataset_row *row)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    struct scr_ctx *ctx = enter_with(SCR_CALL_DATASET, size, &err, &rc);
    if (ctx != NULL)
        rc = scr_dataset_of(ctx, i, name, row, &err);
    if (rc != SCR_OK)
        *row = (struct scr_dataset_row){ 0 };
    if (rc != SCR_OK && name != NULL)
        name[0] = '\0';
    return leave_local(rc, &err);
}

int SCR_Dataset(int i, char *name, int *id, int *flags, double *bytes, double *when)
{
    struct scr_dataset_row row = { 0 };
    int rc = dataset_of(i, name, SCR_MAX_FILENAME, &row);
    if (id != NULL)
        *id = row.id;
    if (flags != NULL)
        *flags = row.flags;
    if (bytes != NULL)
        *bytes = row.bytes;
    if (when != NULL)
        *when = row.when;
    return rc;
}

int scr_bind_dataset_name(int i, char *name, size_t size)
{
    struct scr_dataset_row row;
    return dataset_of(i, name, size, &row);
}

int SCR_Should_exit(int *flag)
{
    return ask_all(SCR_CALL_EXIT, flag, scr_should_exit_all);
}

/* A call about the dataset of that name. */
static int do_with(enum scr_call call, const char *name,
                   int (*work_all)(struct scr_ctx *ctx, const char *name,
                                   struct scr_err *err))
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    struct scr_ctx *ctx = enter(call, &err, &rc);
    if (ctx != NULL)
        rc = work_all(ctx, name, &err);
    return leave(rc, &err);
}

int SCR_Current(const char *name)
{
    return do_with(SCR_CALL_CURRENT, name, scr_current_all);
}

int SCR_Delete(const char *name)
{
    return do_with(SCR_CALL_DELETE, name, scr_delete_all);
}

int SCR_Drop(const char *name)
{
    return do_with(SCR_CALL_DROP, name, scr_drop_all);
}

int scr_places(struct scr_places *p)
{
    const struct scr_reddesc *red =
        the_ctx && the_ctx->cache.dirs ? scr_descs_select(&the_ctx->descs, 1, 0) : NULL;
    if (red == NULL)
        return SCR_FAILURE;
    *p = (struct scr_places){ .prefix = the_ctx->prefix.path,
                              .prefix_real = the_ctx->prefix_real,
                              .cache = the_ctx->cache.dirs[red->store] };
    return SCR_SUCCESS;
}

char *SCR_Get_version(void)
{
    static char version[] = SCR_VERSION;
    return version;
}

int SCR_Last_error(char *text)
{
    (void)pthread_mutex_lock(&the_last_lock);
    const struct scr_err last = the_last;
    (void)pthread_mutex_unlock(&the_last_lock);
    if (text != NULL)
        memcpy(text, last.text, strlen(last.text) + 1);
    return last.code;
}

int scr_bind_get_version(char *version, size_t size)
{
    struct scr_err err = SCR_ERR_INIT;
    size_t n = strlen(SCR_VERSION);
    if (n >= size)
        scr_fail(&err, SCR_E_NAME, 0,
                 "SCR_Get_version: the version has %zu characters, at most %zu fit", n,
                 size - 1);
    else
        memcpy(version, SCR_VERSION, n + 1);
    return leave_local(err.code, &err);
}
