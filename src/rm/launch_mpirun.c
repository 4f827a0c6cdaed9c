/* SPDX-License-Identifier: BSD-3-Clause */
/* mpirun of Open MPI, and that of MPICH and its relatives, whose process manager is
 * called Hydra: both take the nodes to run on with the option --host or -hosts. */
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/str.h"
#include "rm/launch_impl.h"
#include "rm/rm_impl.h"

enum { MAX_HOSTFILE = 64 << 20, MAX_SLOTS = 1 << 20 };

/* --- slots --- */

static int number_of(const struct scr_launcher_ops *ops, const char *const *args,
                     enum scr_launch_opt opt)
{
    const char *value = scr_launch_find(ops, args, opt);
    int n;
    return value && scr_parse_int(value, &n) && n > 0 && n < MAX_SLOTS ? n : 0;
}

/* Processes a node has to take when `need` of them hold all; 0: not known. */
static int slots_for(const struct scr_launcher_ops *ops, const struct scr_launch *what)
{
    int per_node = number_of(ops, what->args, SCR_OPT_PER_NODE);
    int procs = number_of(ops, what->args, SCR_OPT_PROCS);
    int need = what->need > 0 && what->need < MAX_SLOTS ? (int)what->need : 1;
    return per_node ? per_node : (procs + need - 1) / need;
}

/* Slots in the text after a node's name: ":2", " slots=2", or nothing. */
static int slots_in(const char *text)
{
    const char *at = *text == ':' ? text + 1 : strstr(text, "slots=");
    if (at == NULL)
        return 0;
    int n = scr_parse_front(*text == ':' ? at : at + strlen("slots="), &at);
    return n > 0 ? n : 0;
}

/* --- the list --- */

struct list {
    struct scr_str text;
    const char *slots0; /* how a node is written whose slots are not known */
};

static void add(struct list *l, const char *node, int slots)
{
    scr_str_append(&l->text, l->text.len ? "," : "");
    scr_str_append(&l->text, node);
    if (slots > 0)
        scr_str_printf(&l->text, ":%d", slots);
    else
        scr_str_append(&l->text, l->slots0);
}

/* The user's own list: "n1:2,n2:2". A node keeps the name it has there: the launcher
 * may know it by no other, while the manager's may be shorter, or longer. */
static void add_list(struct list *l, const char *list, const struct scr_rm_names *good)
{
    for (const char *p = list; *p != '\0';) {
        size_t n = strcspn(p, ","), name = strcspn(p, ":,");
        char *item = scr_asprintf("%.*s", (int)n, p);
        char *node = scr_asprintf("%.*s", (int)name, p);
        if (item == NULL || node == NULL)
            l->text.bad = 1;
        else if (scr_rm_match(good, node) != NULL)
            add(l, node, slots_in(item + name));
        free(node);
        free(item);
        p += n + (p[n] == ',');
    }
}

static int add_file(struct list *l, const struct scr_rm *rm, const char *path,
                    const struct scr_rm_names *good, struct scr_err *err)
{
    void *text = NULL;
    size_t n;
    int rc = scr_file_load(rm->env->sys, path, MAX_HOSTFILE, &text, &n, err);
    char *rest = text;
    for (char *line; rc == SCR_OK && (line = scr_rm_line(&rest)) != NULL;) {
        line[strcspn(line, "#\r")] = '\0';
        line += strspn(line, " \t");
        size_t len = strcspn(line, ": \t");
        char *node = scr_asprintf("%.*s", (int)len, line);
        if (node == NULL)
            rc = scr_no_memory(err);
        else if (len > 0 && scr_rm_match(good, node) != NULL)
            add(l, node, slots_in(line + len));
        free(node);
    }
    free(text);
    return rc;
}

/* The first `need` good nodes: ranks are spread over all the virtual nodes there are.
 */
static void set_vnodes(const struct scr_launch *what, struct scr_strv *env)
{
    size_t n = what->need < what->good->n ? what->need : what->good->n;
    scr_strv_join(env, "SCR_VNODES=", what->good->name, n);
}

/* A program on this host alone needs no list, and gets none: it may well be that the
 * launcher could not even resolve the name. */
static int is_here_alone(const struct scr_rm *rm, const struct scr_launch *what)
{
    return what->bad->n == 0 && what->good->n == 1 &&
           (strcmp(what->good->name[0], rm->host) == 0 ||
            strcmp(what->good->name[0], "localhost") == 0);
}

/* Without any list the launcher would take nodes as it likes, bad ones, too. */
static int make_list(const struct scr_rm *rm, const struct scr_launcher *l,
                     const struct scr_launch *what, struct list *list,
                     struct scr_err *err)
{
    const char *hosts = scr_launch_find(l->ops, what->args, SCR_OPT_HOSTS);
    const char *file = scr_launch_find(l->ops, what->args, SCR_OPT_HOSTFILE);
    if (hosts != NULL && file != NULL)
        return scr_fail(err, SCR_E_ARG, 0,
                        "both a list of hosts and a host file are given to %s",
                        l->name);
    if (file == NULL && hosts == NULL) {
        for (size_t i = 0; i < what->good->n && !is_here_alone(rm, what); i++)
            add(list, what->good->name[i], slots_for(l->ops, what));
        return SCR_OK;
    }
    struct scr_rm_names good;
    int rc = scr_rm_names_init(&good, what->good, err);
    if (rc == SCR_OK && file != NULL)
        rc = add_file(list, rm, file, &good, err);
    else if (rc == SCR_OK)
        add_list(list, hosts, &good);
    scr_rm_names_fini(&good);
    if (rc == SCR_OK && list->text.len == 0 && !list->text.bad)
        rc = scr_fail(err, SCR_E_ARG, 0,
                      "none of the hosts given to %s can be used (%s)", l->name,
                      file ? file : hosts);
    return rc;
}

static int choose_nodes(const struct scr_rm *rm, const struct scr_launcher *l,
                        const struct scr_launch *what, struct list *list,
                        struct scr_strv *env, struct scr_err *err)
{
    if (!rm->is_virtual)
        return make_list(rm, l, what, list, err);
    set_vnodes(what, env);
    return SCR_OK;
}

/* The list as the value of option, and what the user gave but his own; frees it. */
static void put_line(const struct scr_launcher *l, const struct scr_launch *what,
                     const char *option, struct list *list, struct scr_strv *argv)
{
    if (list->text.bad)
        argv->bad = 1;
    if (list->text.len > 0) {
        scr_strv_add(argv, option);
        scr_strv_add(argv, list->text.p);
    }
    scr_launch_copy(l->ops, what->args, 1u << SCR_OPT_HOSTS | 1u << SCR_OPT_HOSTFILE,
                    argv);
    scr_str_free(&list->text);
}

/* --- Open MPI --- */

static const struct scr_launch_row openmpi_rows[] = {
    { "-n -np -c --n --np", SCR_OPT_PROCS },
    { "-npernode --npernode -N", SCR_OPT_PER_NODE },
    { "-H -host --host", SCR_OPT_HOSTS },
    { "-hostfile --hostfile -machinefile --machinefile -default-hostfile "
      "--default-hostfile",
      SCR_OPT_HOSTFILE },
    { "-wd -wdir --wd --wdir", SCR_OPT_CHDIR },
    { NULL, SCR_OPT_OTHER },
};

static int is_setting(const char *entry)
{
    return strncmp(entry, "SCR_", 4) == 0 && strncmp(entry, "SCR_TEST_", 9) != 0;
}

static int is_set_by(const struct scr_strv *env, const char *entry)
{
    size_t n = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < env->n; i++)
        if (strncmp(env->v[i], entry, n) == 0)
            return 1;
    return 0;
}

/* Without -x a process on another node does not see them, and the first rank, which
 * reads the configuration, may be on any. */
static void forward_settings(struct scr_strv *argv, const struct scr_strv *env)
{
    struct scr_strv names = SCR_STRV_INIT;
    for (char *const *e = scr_cfg_process_environ(); e != NULL && *e != NULL; e++)
        if (is_setting(*e) && !is_set_by(env, *e))
            scr_strv_printf(&names, "%.*s", (int)strcspn(*e, "="), *e);
    for (size_t i = 0; i < env->n; i++)
        scr_strv_printf(&names, "%.*s", (int)strcspn(env->v[i], "="), env->v[i]);
    for (size_t i = 0; i < names.n; i++) {
        scr_strv_add(argv, "-x");
        scr_strv_add(argv, names.v[i]);
    }
    argv->bad |= names.bad;
    scr_strv_free(&names);
}

static int openmpi_line(const struct scr_rm *rm, const struct scr_launcher *l,
                        const struct scr_launch *what, struct scr_strv *argv,
                        struct scr_strv *env, struct scr_err *err)
{
    if (!rm->is_virtual && !is_here_alone(rm, what))
        forward_settings(argv, env);
    struct list list = { SCR_STR_INIT, ":auto" };
    int rc = choose_nodes(rm, l, what, &list, env, err);
    put_line(l, what, "--host", &list, argv);
    return rc;
}

const struct scr_launcher_ops scr_launch_openmpi = {
    .names = "mpirun mpiexec orterun prterun mpirun.openmpi mpiexec.openmpi",
    .version_marks = { "Open MPI", "OpenRTE" },
    .rows = openmpi_rows,
    .with_value = "-x -path --path -prefix --prefix -report-uri "
                  "--report-uri -rf --rankfile -rankfile --map-by -map-by --rank-by "
                  "-rank-by --bind-to -bind-to -output-filename --output-filename "
                  "-stdin --stdin -timeout --timeout --app -app --am -am -cpu-set "
                  "--cpu-set -cpu-list --cpu-list -display --display -npersocket "
                  "--npersocket -ppr --ppr --output -output --runtime-options "
                  "--personality -personality --tune -tune -max-restarts "
                  "--max-restarts --xml-file",
    .with_two = "--mca -mca --gmca -gmca --pmixmca --prtemca --omca",
    .line = openmpi_line,
};

/* --- Hydra --- */

static const struct scr_launch_row hydra_rows[] = {
    { "-n -np", SCR_OPT_PROCS },
    { "-ppn -perhost -grr", SCR_OPT_PER_NODE },
    { "-hosts -host", SCR_OPT_HOSTS },
    { "-f -hostfile -machine -machinefile", SCR_OPT_HOSTFILE },
    { "-wdir", SCR_OPT_CHDIR },
    { NULL, SCR_OPT_OTHER },
};

static int hydra_line(const struct scr_rm *rm, const struct scr_launcher *l,
                      const struct scr_launch *what, struct scr_strv *argv,
                      struct scr_strv *env, struct scr_err *err)
{
    struct list list = { SCR_STR_INIT, "" };
    int rc = choose_nodes(rm, l, what, &list, env, err);
    put_line(l, what, "-hosts", &list, argv);
    return rc;
}

const struct scr_launcher_ops scr_launch_hydra = {
    .names = "mpirun mpiexec mpiexec.hydra mpirun.mpich mpiexec.mpich",
    .version_marks = { "HYDRA", "Intel(R) MPI" },
    .rows = hydra_rows,
    .with_value =
        "-genvlist -envlist -configfile -launcher -launcher-exec -rmk "
        "-bind-to -map-by -membind -iface -prepend-pattern -outfile-pattern "
        "-errfile-pattern -nameserver -disable-x -enable-x -order-nodes -localhost "
        "-usize -pmi-port -ckpoint-interval -ckpoint-prefix -ckpoint-num -ckpointlib "
        "-demux -topolib -skip-launch-node -gpus-per-proc",
    .with_two = "-genv -env",
    .line = hydra_line,
};
