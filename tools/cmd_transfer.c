/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_transfer: the process that copies files of a node to the prefix directory in the
 * background. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/cwd.h"
#include "base/hashfile.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/units.h"
#include "cfg/desc.h"
#include "fmt/transfer.h"
#include "ops/transferd.h"
#include "reach.h"
#include "store/cache.h"
#include "tool.h"
#include "xfer/daemon.h"

enum {
    OPT_BACKGROUND,
    OPT_DETACHED,
    OPT_ONCE,
    OPT_IDLE,
    OPT_STATUS,
    OPT_RUN,
    OPT_STOP,
    OPT_EXIT,
    OPT_JSON
};

static const struct scr_opt opts[] = {
    [OPT_BACKGROUND] = { "background", 'b', NULL,
                         "return as soon as the process runs in the background" },
    [OPT_DETACHED] = { "detached", 0, NULL, NULL }, /* the process of --background */
    [OPT_ONCE] = { "once", 'o', NULL, "end when nothing is left to be copied" },
    [OPT_IDLE] = { "idle", 'i', "TIME",
                   "end after this time without work (default: 10m; 0: never)" },
    [OPT_STATUS] = { "status", 's', NULL, "say what the process of DIR does" },
    [OPT_RUN] = { "run", 0, NULL, "give the command RUN: copy" },
    [OPT_STOP] = { "stop", 0, NULL, "give the command STOP: wait" },
    [OPT_EXIT] = { "exit", 0, NULL, "give the command EXIT: end" },
    [OPT_JSON] = { "json", 'j', NULL, "print the status as JSON" },
    { 0 },
};

static const double IDLE = 600, READY = 15; /* seconds */

/* --- which control directory --- */

/* That of this job and prefix directory on this node, made like the library does it. */
static int own_dir(struct scr_tool *t, char **dir, struct scr_err *err)
{
    struct scr_params prm;
    struct scr_descs d = { 0 };
    int rc;
    TRY(scr_tool_params(t, NULL, &prm, err));
    if (prm.vnodes != NULL)
        return scr_fail(err, SCR_E_USAGE, 0,
                        "with SCR_VNODES the control directory must be given");
    TRY(scr_descs_build(t->cfg, &prm, &d, err));
    struct scr_identity id;
    const char *prefix = prm.prefix ? prm.prefix : ".";
    struct scr_place place = { prm.user_name, prm.job_id, NULL, id.name };
    TRY_OUT(scr_prefix_open(&t->env, prefix, 1, &t->prefix, err));
    TRY_OUT(scr_identity_make(&t->env, &t->prefix, &id, err));
    TRY_OUT(scr_place_make(&t->env, &place, d.store[d.cntl_store].path, 1, err));
    if ((*dir = scr_place_dir(&place, d.store[d.cntl_store].path, 1)) == NULL)
        TRY_OUT(scr_no_memory(err));
out:
    scr_descs_fini(&d);
    return rc;
}

/* The directory of the transfer file, if that is what was given. */
static char *without_file(const char *given)
{
    int is_file = strcmp(scr_path_base(given), SCR_TRANSFER_FILE) == 0;
    return is_file ? scr_path_dir(given) : scr_strdup(given);
}

/* Absolute and ours; malloc'd. */
static int given_dir(struct scr_tool *t, const char *given, char **dir,
                     struct scr_err *err)
{
    struct scr_reach r = { 0 };
    char *cwd = NULL, *path = without_file(given);
    int rc;
    TRY_OUT(path ? scr_tool_reach(t, NULL, path, &r, err) : SCR_E_NOMEM);
    TRY_OUT(scr_cwd(&cwd, err));
    TRY_OUT((*dir = scr_path_join(cwd, path)) != NULL ? SCR_OK : scr_no_memory(err));
out:
    scr_reach_fini(&r);
    free(cwd);
    free(path);
    return rc;
}

/* --- in the background --- */

static int read_failure(struct scr_tool *t, const char *log, struct scr_err *err)
{
    void *text = NULL;
    size_t n = 0;
    int rc = scr_file_load(t->env.sys, log, 1 << 20, &text, &n, NULL);
    if (rc == SCR_OK)
        ((char *)text)[strcspn(text, "\n")] = '\0';
    scr_fail(err, SCR_E_FAILURE, 0, "the process ended at once%s%s",
             rc == SCR_OK && n > 0 ? ": " : "", rc == SCR_OK ? (char *)text : "");
    free(text);
    return SCR_E_FAILURE;
}

/* Until it, or another one, holds the lock of the directory. */
static int wait_ready(struct scr_tool *t, const char *dir, const char *log, pid_t pid,
                      struct scr_err *err)
{
    double end = scr_now_mono() + READY;
    struct scr_lock_holder who;
    int status = 0;
    for (;;) {
        int ended = scr_proc_wait(pid, 0.02, &status, NULL) == SCR_OK;
        int rc = scr_daemon_look(t->env.sys, dir, &who, err);
        if (rc != SCR_OK || who.held)
            return rc;
        if (ended)
            return status == 0 ? SCR_OK : read_failure(t, log, err);
        if (scr_now_mono() >= end)
            return scr_fail(err, SCR_E_LOCKED, 0,
                            "process %ld does not begin to work in %.0f seconds",
                            (long)pid, READY);
    }
}

static int spawn(struct scr_tool *t, const struct scr_args *a, const char *dir,
                 const char *log, struct scr_err *err)
{
    const char *argv[8] = { t->self };
    int n = 1;
    pid_t pid;
    if (strchr(t->who, ' ') != NULL) /* "scr transfer" */
        argv[n++] = "transfer";
    argv[n++] = "--detached";
    if (a->opt[OPT_ONCE] != NULL)
        argv[n++] = "--once";
    argv[n++] = "--idle";
    argv[n++] = a->opt[OPT_IDLE] != NULL ? a->opt[OPT_IDLE] : "10m";
    argv[n++] = dir;
    const struct scr_proc_spec spec = {
        .argv = argv, .out_path = log, .err_path = log, .new_session = 1
    };
    TRY(scr_proc_start(&spec, &pid, err));
    return wait_ready(t, dir, log, pid, err);
}

static int go_background(struct scr_tool *t, const struct scr_args *a, const char *dir,
                         struct scr_err *err)
{
    struct scr_lock_holder who;
    int rc = scr_daemon_look(t->env.sys, dir, &who, err);
    if (rc != SCR_OK || who.held)
        return rc;
    char *log = scr_path_join(dir, SCR_TRANSFER_LOG);
    rc = log ? spawn(t, a, dir, log, err) : scr_no_memory(err);
    free(log);
    return rc;
}

/* --- its state, and its commands --- */

static int read_file(struct scr_tool *t, const char *dir, scr_hash *h,
                     struct scr_transfer *tr, uint64_t *left, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *file = scr_path_join(dir, SCR_TRANSFER_FILE);
    int rc =
        file && h ? scr_hash_file_read(t->env.sys, file, h, &why) : scr_no_memory(&why);
    if (rc == SCR_E_NOENT)
        rc = SCR_OK;
    if (rc == SCR_OK)
        rc = scr_transfer_get(h, tr, &why);
    if (rc == SCR_OK)
        rc = scr_transfer_left(h, left, &why);
    free(file);
    return scr_err_take(err, rc, &why);
}

static int print_json(struct scr_tool *t, const struct scr_lock_holder *who,
                      const struct scr_transfer *tr, size_t files, uint64_t left,
                      struct scr_err *err)
{
    return scr_tool_json(t,
                         json_pack("{s:b, s:I, s:b, s:b, s:I, s:I}", "alive", who->held,
                                   "pid", (json_int_t)who->pid, "running",
                                   who->held && tr->running, "done", tr->done, "files",
                                   (json_int_t)files, "bytes_left", (json_int_t)left),
                         err);
}

static int print_status(struct scr_tool *t, int json, const char *dir,
                        struct scr_err *err)
{
    struct scr_lock_holder who = { 0 };
    struct scr_transfer tr = { 0 };
    scr_hash *h = scr_hash_new();
    uint64_t left = 0;
    char size[32];
    int rc = scr_daemon_look(t->env.sys, dir, &who, err);
    if (rc == SCR_OK)
        rc = read_file(t, dir, h, &tr, &left, err);
    size_t files = scr_hash_size(scr_hash_get(h, "FILES"));
    if (rc == SCR_OK && json)
        rc = print_json(t, &who, &tr, files, left, err);
    else if (rc == SCR_OK && who.held)
        scr_tool_print(t, "process %ld, %s; %zu file%s listed, %s left to copy\n",
                       who.pid, tr.running ? "copying" : "waiting", files,
                       scr_plural((int64_t)files),
                       scr_format_size(left, size, sizeof size));
    else if (rc == SCR_OK)
        scr_tool_print(t, "no process; %zu file%s listed, %s left to copy\n", files,
                       scr_plural((int64_t)files),
                       scr_format_size(left, size, sizeof size));
    scr_hash_delete(h);
    return rc != SCR_OK || who.held ? rc : SCR_TOOL_NO;
}

static int edit_command(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_transfer t;
    TRY(scr_transfer_get(h, &t, err));
    t.command = *(const enum scr_transfer_command *)arg;
    *changed = 1;
    return scr_transfer_set(h, &t) == SCR_OK ? SCR_OK : scr_no_memory(err);
}

/* Only a running process can be asked; a later one copies the listed files. */
static int give_command(struct scr_tool *t, enum scr_transfer_command command,
                        const char *dir, struct scr_err *err)
{
    struct scr_lock_holder who;
    int rc = scr_daemon_look(t->env.sys, dir, &who, err);
    if (rc != SCR_OK || (!who.held && command == SCR_TRANSFER_EXIT))
        return rc != SCR_OK ? rc : SCR_TOOL_NO;
    char *file = scr_path_join(dir, SCR_TRANSFER_FILE);
    rc = file ? scr_hash_file_update(t->env.sys, file, SCR_TRANSFER_LOCK_MS,
                                     edit_command, &command, err)
              : scr_no_memory(err);
    free(file);
    return rc;
}

/* --- all of it --- */

static int copy(struct scr_tool *t, const struct scr_args *a, const char *dir,
                struct scr_err *err)
{
    struct scr_transferd_opts o = { .dir = dir,
                                    .idle = IDLE,
                                    .once = a->opt[OPT_ONCE] != NULL };
    const char *idle = a->opt[OPT_IDLE];
    if (idle != NULL && !scr_parse_seconds(idle, &o.idle))
        return scr_tool_usage(t, err,
                              "option --idle: \"%s\" is not a time such as 90 "
                              "or 10m",
                              idle);
    if (a->opt[OPT_BACKGROUND] != NULL)
        return go_background(t, a, dir, err);
    return scr_transferd_run(&t->env, &o, err);
}

static int act(struct scr_tool *t, const struct scr_args *a, const char *dir,
               struct scr_err *err)
{
    static const struct {
        int row;
        enum scr_transfer_command command;
    } told[] = { { OPT_RUN, SCR_TRANSFER_RUN },
                 { OPT_STOP, SCR_TRANSFER_STOP },
                 { OPT_EXIT, SCR_TRANSFER_EXIT } };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (a->opt[told[i].row] != NULL)
            return give_command(t, told[i].command, dir, err);
    if (a->opt[OPT_STATUS] != NULL || a->opt[OPT_JSON] != NULL)
        return print_status(t, a->opt[OPT_JSON] != NULL, dir, err);
    return copy(t, a, dir, err);
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    static const int one_of[] = { OPT_BACKGROUND, OPT_DETACHED, OPT_STATUS, OPT_RUN,
                                  OPT_STOP,       OPT_EXIT,     -1 };
    char *dir = NULL;
    if (a->opt[OPT_DETACHED] != NULL)
        scr_proc_detach();
    int rc;
    TRY_OUT(scr_tool_exclusive(t, a, err, one_of));
    TRY_OUT(a->noperands > 0 ? given_dir(t, a->operand[0], &dir, err)
                             : own_dir(t, &dir, err));
    TRY_OUT(act(t, a, dir, err));
out:
    free(dir);
    return rc;
}

const struct scr_cmd scr_cmd_transfer = {
    .usage = "[OPTION]... [DIR]",
    .about =
        "Copies what the file transfer.scrinfo in the control directory DIR lists, "
        "for\n"
        "as long as that file says COMMAND=RUN: one process a node, for flushes with\n"
        "SCR_FLUSH_TYPE=DAEMON. It continues when the job that listed the files has "
        "died,\n"
        "and completes the dataset with its last file. Without DIR it is the control\n"
        "directory of this job on this node, which is made if need be.",
    .opts = opts,
    .notes = "--status and --exit end with status 1 if no process serves DIR.\n",
    .max_operands = 1,
    .run = run,
};
