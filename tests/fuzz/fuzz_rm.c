/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tools of resource managers print. The first byte is the manager's; then
 * follow the list of nodes and what each tool that is asked prints, with a byte of
 * value 1 between. A piece that begins with '!' is the complaint of a tool that failed.
 * (The linker puts the __wrap_ functions in the place of those that find and start
 * tools, of the one that reads the environment, and of the one that expands lists, as a
 * million names take a second.) */
#include "fuzz.h"

#include "rm/many.h"
#include "rm/rm_impl.h"
#include <string.h>

int __wrap_scr_many_run(struct scr_many_task *task, size_t n, size_t width,
                        double timeout_s, const atomic_int *stop, struct scr_err *err);
int __wrap_scr_realpath(const char *path, char **real, struct scr_err *err);
int __wrap_scr_hostlist_expand(const char *text, struct scr_hostlist *out,
                               struct scr_err *err);
const char *__wrap_scr_cfg_getenv(const struct scr_cfg *cfg, const char *name);

static char *answers;
static const char *nodes_text;

int __wrap_scr_many_run(struct scr_many_task *task, size_t n, size_t width,
                        double timeout_s, const atomic_int *stop, struct scr_err *err)
{
    (void)width, (void)timeout_s, (void)stop, (void)err;
    const char *answer = fuzz_piece(&answers);
    int failed = *answer == '!';
    FUZZ_CHECK(n == 1 && task->argv[0] != NULL);
    task->end = SCR_MANY_ENDED;
    task->status = failed;
    task->out = strdup(failed ? "" : answer);
    task->errout = strdup(failed ? answer + 1 : "");
    FUZZ_CHECK(task->out != NULL && task->errout != NULL);
    return SCR_OK;
}

/* Each tool is there. */
int __wrap_scr_realpath(const char *path, char **real, struct scr_err *err)
{
    (void)err;
    *real = strdup(path);
    FUZZ_CHECK(*real != NULL);
    return SCR_OK;
}

int __wrap_scr_hostlist_expand(const char *text, struct scr_hostlist *out,
                               struct scr_err *err)
{
    return scr_hostlist_expand_front(text, 200, out, err);
}

/* Lists that are in the environment, and one that is in a file. */
const char *__wrap_scr_cfg_getenv(const struct scr_cfg *cfg, const char *name)
{
    (void)cfg;
    if (strcmp(name, "PBS_NODEFILE") == 0)
        return "/nodes";
    if (strcmp(name, "PATH") == 0)
        return "/bin";
    return strcmp(name, "LSB_DJOB_HOSTFILE") == 0 ? NULL : nodes_text;
}

/* Each is one of the nodes, and has its reason, on one line. */
static void check_downs(const struct scr_downs *down, const struct scr_hostlist *nodes)
{
    size_t n = 0;
    FUZZ_CHECK(down->nodes.n == down->why.n);
    for (SCR_EACH(struct scr_down, d, &down->why)) {
        FUZZ_CHECK(strcmp(d->item.name, down->nodes.name[n++]) == 0);
        FUZZ_CHECK(scr_hostlist_contains(nodes, d->item.name));
        FUZZ_CHECK(*d->reason != '\0' && strpbrk(d->reason, "\n\r\t\033") == NULL);
    }
}

static void check_names(const struct scr_hostlist *l)
{
    for (size_t i = 0; i < l->n; i++)
        FUZZ_CHECK(l->name[i] != NULL && l->name[i][0] != '\0');
}

/* Whether the step was done; what failed has filled the error, with one line. */
static int is_done(int rc, struct scr_err *err)
{
    FUZZ_CHECK((rc == SCR_OK) == (err->code == SCR_OK));
    FUZZ_CHECK((rc == SCR_OK) == (err->text[0] == '\0'));
    FUZZ_CHECK(strpbrk(err->text, "\n\r\t\033") == NULL);
    scr_err_clear(err);
    return rc == SCR_OK;
}

static void ask(const struct scr_rm *rm)
{
    struct scr_hostlist nodes = SCR_HOSTLIST_INIT, steps = SCR_HOSTLIST_INIT;
    struct scr_downs down = SCR_DOWNS_INIT;
    struct scr_err err = SCR_ERR_INIT;
    char *job = NULL;
    int64_t end = 0;
    if (rm->ops->job != NULL)
        (void)is_done(rm->ops->job(rm, &job, &err), &err);
    if (is_done(rm->ops->nodes(rm, &nodes, &err), &err)) {
        check_names(&nodes);
        (void)is_done(rm->ops->down(rm, &nodes, &down, &err), &err);
        check_downs(&down, &nodes);
    }
    if (is_done(rm->ops->end_time(rm, &end, &err), &err))
        FUZZ_CHECK(end >= 0);
    if (rm->ops->steps != NULL)
        (void)is_done(rm->ops->steps(rm, &steps, &err), &err);
    check_names(&steps);
    scr_downs_free(&down);
    scr_hostlist_free(&nodes);
    scr_hostlist_free(&steps);
    free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct scr_rm_ops *const managers[] = { &scr_rm_slurm, &scr_rm_lsf,
                                                         &scr_rm_flux, &scr_rm_pbs };
    if (n == 0)
        return 0;
    char *text = fuzz_text(data + 1, n - 1);
    answers = text;
    nodes_text = fuzz_piece(&answers);
    const struct fuzz_piece file = { nodes_text, strlen(nodes_text) };
    const struct scr_rm rm = { .ops = managers[data[0] % 4],
                               .env = fuzz_disk(&file, 1),
                               .job = (char[]){ "7" } };
    ask(&rm);
    free(text);
    return 0;
}
