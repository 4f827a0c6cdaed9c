/* SPDX-License-Identifier: BSD-3-Clause */
/* scr plan: how to run SCR on a machine that is described. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/str.h"
#include "base/units.h"
#include "cfg/grammar.h"
#include "fmt/autopilot.h"
#include "ops/plan.h"
#include "plan_runs.h"
#include "tool.h"

/* --- inputs --- */

enum kind { COUNT, SIZE, RATE, TIME, PERCENT };

/* The options that are figures, first in the table of options, in this order. */
static const struct {
    enum kind kind;
    size_t at;
    const char *assumed; /* NULL: it has to be given or measured */
} inputs[] = {
#define AT(member) offsetof(struct scr_machine, member)
    { COUNT, AT(nodes), NULL },        { COUNT, AT(ranks), NULL },
    { SIZE, AT(bytes), NULL },         { SIZE, AT(memory), "256g" },
    { RATE, AT(memory_speed), "10g" }, { SIZE, AT(program), "128g" },
    { SIZE, AT(disk), "0" },           { RATE, AT(disk_speed), "2g" },
    { RATE, AT(writing), "0" },        { RATE, AT(network), "12g" },
    { RATE, AT(files), "100g" },       { TIME, AT(mtbf), "5y" },
    { PERCENT, AT(several), "1" },     { TIME, AT(restart), "2m" },
    { TIME, AT(allocation), "24h" },
};
enum {
    OPT_NODES,
    OPT_RANKS,
    OPT_BYTES,
    OPT_MEMORY,
    OPT_MEMORY_BW,
    OPT_PROGRAM,
    OPT_DISK,
    OPT_DISK_BW,
    OPT_WRITE_BW,
    OPT_NETWORK,
    OPT_FILES,
    OPT_MTBF,
    OPT_SEVERAL,
    OPT_RESTART,
    OPT_ALLOCATION,
    NINPUTS,
    OPT_ASYNC = NINPUTS,
    OPT_CACHE,
    OPT_PREFIX,
    OPT_EXPLAIN,
    OPT_JSON
};

static const struct scr_opt opts[] = {
    [OPT_NODES] = { "nodes", 'N', "N", "nodes of the job" },
    [OPT_RANKS] = { "ranks", 'n', "N", "processes of the job" },
    [OPT_BYTES] = { "bytes", 'b', "SIZE", "checkpoint of one process" },
    [OPT_MEMORY] = { "memory", 'm', "SIZE", "memory of a node (256g)" },
    [OPT_MEMORY_BW] = { "memory-bandwidth", 0, "RATE",
                        "at which a node writes files in memory (10g/s)" },
    [OPT_PROGRAM] = { "program", 0, "SIZE",
                      "memory of a node that the program needs (128g)" },
    [OPT_DISK] = { "disk", 0, "SIZE", "local storage of a node for the cache (none)" },
    [OPT_DISK_BW] = { "disk-bandwidth", 0, "RATE", "of that (2g/s)" },
    [OPT_WRITE_BW] = { "write-bandwidth", 0, "RATE",
                       "at which the program writes on a node (as fast as that)" },
    [OPT_NETWORK] = { "network", 0, "RATE", "bandwidth of a node (12g/s)" },
    [OPT_FILES] = { "file-system", 'f', "RATE",
                    "the job's bandwidth of the parallel file system (100g/s)" },
    [OPT_MTBF] = { "mtbf", 'M', "TIME", "mean time between failures of a node (5y)" },
    [OPT_SEVERAL] = { "several", 0, "PERCENT",
                      "lost nodes that take another of their set along (1)" },
    [OPT_RESTART] = { "restart", 0, "TIME",
                      "from a failure until the program runs again (2m)" },
    [OPT_ALLOCATION] = { "allocation", 'a', "TIME", "the longest allocation (24h)" },
    [OPT_ASYNC] = { "flush-async", 0, NULL, "the program runs during flushes" },
    [OPT_CACHE] = { "cache", 'c', "DIR",
                    "cache directory (SCR_CACHE_BASE, or /dev/shm without --disk)" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "take figures from runs of that prefix" },
    [OPT_EXPLAIN] = { "explain", 'e', NULL,
                      "print formulas, and what wrong inputs cost" },
    [OPT_JSON] = { "json", 0, NULL, "print JSON" },
    { 0 },
};

enum origin { ASSUMED, MEASURED, GIVEN };
static const char *const origin_names[] = { "assumed", "measured", "given" };

struct task {
    struct scr_machine m;
    enum origin from[NINPUTS];
    struct scr_outlook o;
    const char *cache;
};

static double *input_of(struct scr_machine *m, int i)
{
    return (double *)(void *)((char *)m + inputs[i].at);
}

static int parse_rate(const char *text, uint64_t *bytes)
{
    size_t n = strlen(text);
    char *size = scr_strdup(text);
    if (size != NULL && n > 2 && strcmp(text + n - 2, "/s") == 0)
        size[n - 2] = '\0';
    int ok = size != NULL && scr_parse_size(size, bytes);
    free(size);
    return ok;
}

/* Only disk, program, write-bandwidth, several and allocation may be 0. */
static int parse_input(int i, const char *text, double *value)
{
    uint64_t u = 0;
    int count = 0, ok = 0;
    double v = 0;
    if (inputs[i].kind == COUNT) {
        ok = scr_parse_int(text, &count);
        v = count;
    } else if (inputs[i].kind == SIZE || inputs[i].kind == RATE) {
        ok = inputs[i].kind == SIZE ? scr_parse_size(text, &u) : parse_rate(text, &u);
        v = (double)u;
    } else if (inputs[i].kind == TIME) {
        ok = scr_parse_seconds(text, &v);
    } else {
        ok = scr_parse_f64(text, &v) && v >= 0 && v <= 100;
        v /= 100;
    }
    int may_be_0 = i == OPT_DISK || i == OPT_PROGRAM || i == OPT_WRITE_BW ||
                   i == OPT_SEVERAL || i == OPT_ALLOCATION;
    *value = v;
    return ok && (may_be_0 ? v >= 0 : v > 0);
}

static int take_option(struct scr_tool *t, struct task *k, int i, const char *text,
                       struct scr_err *err)
{
    static const char *const words[] = {
        [COUNT] = "a whole number above 0",   [SIZE] = "a size, as in 64g",
        [RATE] = "a bandwidth, as in 10g/s",  [TIME] = "a time, as in 90s, 24h or 5y",
        [PERCENT] = "a number from 0 to 100",
    };
    k->from[i] = GIVEN;
    if (parse_input(i, text, input_of(&k->m, i)))
        return SCR_OK;
    return scr_tool_usage(t, err, "option --%s: \"%s\" is not %s", opts[i].name, text,
                          words[inputs[i].kind]);
}

/* Figures that the runs do not have stay assumed. */
static int take_runs(struct scr_tool *t, const char *prefix, int has_disk,
                     struct task *k, struct scr_err *err)
{
    struct scr_plan_runs r;
    TRY(scr_plan_runs_read(t, prefix, &r, err));
    const double values[NINPUTS] = {
        [OPT_NODES] = r.nodes,
        [OPT_RANKS] = r.ranks,
        [OPT_BYTES] = r.bytes,
        [OPT_WRITE_BW] = r.writing,
        [OPT_NETWORK] = r.network,
        [OPT_FILES] = r.files,
        [OPT_MTBF] = r.mtbf,
        [OPT_MEMORY_BW] = has_disk ? 0 : r.cache,
        [OPT_DISK_BW] = has_disk ? r.cache : 0,
    };
    for (int i = 0; i < NINPUTS; i++)
        if (values[i] > 0) {
            *input_of(&k->m, i) = values[i];
            k->from[i] = MEASURED;
        }
    return SCR_OK;
}

static int take_inputs(struct scr_tool *t, const struct scr_args *a, struct task *k,
                       struct scr_err *err)
{
    if (a->opt[OPT_PREFIX] != NULL)
        TRY(take_runs(t, a->opt[OPT_PREFIX], a->opt[OPT_DISK] != NULL, k, err));
    for (int i = 0; i < NINPUTS; i++) {
        if (a->opt[i] != NULL) {
            TRY(take_option(t, k, i, a->opt[i], err));
        } else if (k->from[i] == ASSUMED) {
            if (inputs[i].assumed == NULL)
                return scr_tool_usage(t, err, "option --%s is needed%s", opts[i].name,
                                      a->opt[OPT_PREFIX] == NULL
                                          ? ""
                                          : ": the event log has no run that says it");
            (void)parse_input(i, inputs[i].assumed, input_of(&k->m, i));
        }
    }
    if (a->opt[OPT_PROGRAM] == NULL && a->opt[OPT_MEMORY] != NULL)
        k->m.program = k->m.memory / 2;
    k->m.is_async = a->opt[OPT_ASYNC] != NULL;
    if (k->m.ranks < k->m.nodes)
        return scr_tool_usage(t, err, "--ranks %.0f are fewer than --nodes %.0f",
                              k->m.ranks, k->m.nodes);
    return SCR_OK;
}

/* --- text --- */

/* "36.57 GiB", into 32 bytes. */
static const char *size_text(double bytes, char *buf)
{
    return scr_format_size((uint64_t)fmax(bytes, 0), buf, 32);
}

static const char *input_text(const struct task *k, int i, char *buf)
{
    struct scr_machine m = k->m;
    double v = *input_of(&m, i);
    if (inputs[i].kind == SIZE || inputs[i].kind == RATE)
        (void)size_text(v, buf);
    if (inputs[i].kind == RATE)
        memcpy(buf + strlen(buf), "/s", 3);
    if (inputs[i].kind == TIME)
        (void)scr_format_duration(v, buf, 32);
    if (inputs[i].kind == COUNT)
        (void)snprintf(buf, 32, "%.0f", v);
    if (inputs[i].kind == PERCENT)
        (void)snprintf(buf, 32, "%g %%", 100 * v);
    return buf;
}

/* The times that people plan by. */
struct words {
    char cost[32], every[32], flush[32], flush_every[32], failure[32];
    char stored[32], all[32], room[32];
};

static struct words words_of(const struct task *k)
{
    const struct scr_outlook *o = &k->o;
    struct words w;
    size_t n = sizeof w.cost;
    scr_format_duration(o->cost, w.cost, n);
    scr_format_duration(o->pace.interval, w.every, n);
    scr_format_duration(o->flush, w.flush, n);
    scr_format_duration(o->pace.every * (o->pace.interval + o->cost), w.flush_every, n);
    scr_format_duration(k->m.mtbf / k->m.nodes, w.failure, n);
    size_text(o->stored, w.stored);
    size_text(o->copies * o->stored, w.all);
    size_text(o->room, w.room);
    return w;
}

static void print_summary(struct scr_tool *t, const struct task *k)
{
    const struct scr_outlook *o = &k->o;
    const struct words w = words_of(k);
    char set[64] = "";
    if (o->set_failures > 0)
        (void)snprintf(set, sizeof set, ", sets of %d that survive %d lost node%s",
                       o->set_size, o->set_failures, o->set_failures > 1 ? "s" : "");
    scr_tool_print(t, "# scheme      %s%s\n", scr_scheme_name(o->scheme), set);
    scr_tool_print_line(t, "# cache       %s: %d checkpoint%s of %s, %s of %s a node",
                        k->cache, o->copies, o->copies > 1 ? "s" : "", w.stored, w.all,
                        w.room);
    scr_tool_print(t, "# checkpoint  %s, after every %s of computing\n", w.cost,
                   w.every);
    scr_tool_print(t, "# flush       %s%s, one checkpoint out of %d, every %s\n",
                   w.flush, k->m.is_async ? " in the background" : "", o->pace.every,
                   w.flush_every);
    scr_tool_print(t,
                   "# failures    one every %s; %.3g %% of lost nodes go beyond the "
                   "scheme,\n#             %.3g %% of all failures need a flushed "
                   "checkpoint\n",
                   w.failure, 100 * o->beyond, 100 * o->far / (o->far + o->near));
    scr_tool_print(t, "# efficiency  %.1f %% of the time computes\n",
                   100 * o->efficiency);
}

static void print_assumed(struct scr_tool *t, const struct task *k)
{
    char buf[40];
    const char *before = "# assumed     ";
    for (int i = 0; i < NINPUTS; i++) {
        if (k->from[i] != ASSUMED || (i == OPT_DISK_BW && k->m.disk <= 0) ||
            (i == OPT_DISK && k->m.disk <= 0) || i == OPT_WRITE_BW)
            continue;
        scr_tool_print(t, "%s--%s %s\n", before, opts[i].name, input_text(k, i, buf));
        before = "#             ";
    }
}

/* --- the configuration --- */

/* Lines, without an end; JSON has them one by one. */
static void write_config(const struct task *k, struct scr_str *s)
{
    const struct scr_outlook *o = &k->o;
    scr_str_printf(s, "SCR_COPY_TYPE=FILE\nSCR_CACHE_SIZE=%d\n", o->copies);
    scr_str_append(s, "STORE=");
    scr_conf_value(s, k->cache);
    scr_str_printf(s, " GROUP=NODE COUNT=%d\n", o->copies);
    scr_str_append(s, "CKPT=0 INTERVAL=1 GROUP=NODE STORE=");
    scr_conf_value(s, k->cache);
    scr_str_printf(s, " TYPE=%s", scr_scheme_name(o->scheme));
    if (o->set_failures > 0)
        scr_str_printf(s, " SET_SIZE=%d", o->set_size);
    if (o->set_failures > 1)
        scr_str_printf(s, " SET_FAILURES=%d", o->set_failures);
    scr_str_printf(s, "\nSCR_CHECKPOINT_SECONDS=%.0f\nSCR_FLUSH=%d\n",
                   fmax(1, round(o->pace.interval)), o->pace.every);
    if (k->m.is_async)
        scr_str_append(s, "SCR_FLUSH_ASYNC=1\n");
    if (k->m.allocation > 0)
        scr_str_printf(s, "SCR_HALT_SECONDS=%.0f\n", ceil(o->cost + 2 * o->flush + 60));
    scr_str_printf(s, "SCR_MTBF=%.0f\n", fmax(1, round(k->m.mtbf)));
}

static int print_config(struct scr_tool *t, const struct task *k, struct scr_err *err)
{
    struct scr_str s = SCR_STR_INIT;
    write_config(k, &s);
    int rc = s.bad ? scr_no_memory(err) : SCR_OK;
    if (rc == SCR_OK)
        scr_tool_print(t, "%s", s.p);
    scr_str_free(&s);
    return rc;
}

/* --- explanations --- */

static void explain_costs(struct scr_tool *t, const struct task *k)
{
    const struct scr_outlook *o = &k->o;
    double p = o->stored / o->data - 1, s = o->sent / o->data;
    const char *speed = o->on_disk ? "disk-bandwidth" : "memory-bandwidth";
    char b[6][32];
    scr_tool_print(t,
                   "# data of a node       D = %s = ranks / nodes x bytes\n"
                   "# stored of it         %s = (1 + p) D, p = %.4g\n",
                   size_text(o->data, b[0]), size_text(o->stored, b[1]), p);
    scr_tool_print(t, "# room of a node       %s = %s\n", size_text(o->room, b[0]),
                   o->on_disk ? "disk" : "3/4 (memory - program)");
    scr_tool_print(t,
                   "# checkpoint           C = %s = D / %s + (1 + p) D / %s + "
                   "s D / network, s = %.4g\n",
                   scr_format_duration(o->cost, b[0], 32),
                   k->m.writing > 0 ? "write-bandwidth" : speed, speed, s);
    scr_tool_print(t,
                   "# flush                F = %s = nodes D / file-system, at least "
                   "D / network and D / %s\n",
                   scr_format_duration(o->flush, b[0], 32), speed);
    if (k->m.is_async)
        scr_tool_print(t, "#                      the program loses %g F\n",
                       scr_flush_slowdown);
    scr_tool_print(t,
                   "# restart from cache   %s = restart + (1 + p) D / %s, after a lost "
                   "node + D n / ((n - 1) network)\n"
                   "# restart by a fetch   %s = restart + F + C\n",
                   scr_format_duration(o->rebuilt, b[0], 32), speed,
                   scr_format_duration(o->fetched, b[1], 32));
}

static void explain_failures(struct scr_tool *t, const struct task *k)
{
    const struct scr_outlook *o = &k->o;
    char b[3][32];
    scr_tool_print(t,
                   "# failures             one every %s = mtbf / nodes; %g of them a "
                   "process, %g a node, %g all nodes\n",
                   scr_format_duration(k->m.mtbf / k->m.nodes, b[0], 32),
                   scr_failure_share[SCR_FAILED_PROCESS],
                   scr_failure_share[SCR_FAILED_NODE],
                   scr_failure_share[SCR_FAILED_SYSTEM]);
    if (o->set_failures == 0)
        scr_tool_print(t, "# beyond the scheme    every lost node\n");
    else
        scr_tool_print(
            t,
            "# beyond the scheme    %.3g of lost nodes: %d more of the %d others of a "
            "set fail for themselves\n"
            "#                      before the rebuild, or at once, a share of "
            "several^%d = %.3g%s\n",
            o->beyond, o->set_failures, o->set_size - 1, o->set_failures,
            pow(k->m.several, o->set_failures),
            o->copies == 1 ? ", or during a checkpoint, C / (T + C)" : "");
    scr_tool_print(t,
                   "# survived by cache    one every %s\n"
                   "# a flush is needed    one every %s\n",
                   scr_format_duration(1 / o->near, b[1], 32),
                   scr_format_duration(1 / o->far, b[2], 32));
}

/* The interval to the first order, and the efficiency with that. */
struct check {
    double young, first;
};

static struct check check_of(const struct task *k)
{
    const struct scr_outlook *o = &k->o;
    struct check c;
    int n = o->pace.every;
    double flush = (k->m.is_async ? scr_flush_slowdown : 1) * o->flush;
    double cost = o->cost + flush / n, rate = o->near + n * o->far;
    c.young = scr_interval_young(cost, 1 / rate);
    c.first = 1 - scr_interval_waste(cost, rate, c.young);
    return c;
}

static void explain_pace(struct scr_tool *t, const struct task *k)
{
    const struct check c = check_of(k);
    const struct scr_outlook *o = &k->o;
    char b[2][32];
    scr_tool_print(t,
                   "# intervals\n"
                   "#   first order        %s, one flush of %d: %.2f %% without "
                   "restarts; T = sqrt(2 C' / r), 1 / (1 + C' / T + r T / 2),\n"
                   "#                      C' = C + F / n, r = near + n far, n = "
                   "sqrt(F near / (C far))\n",
                   scr_format_duration(c.young, b[0], 32), o->pace.every,
                   100 * c.first);
    scr_tool_print(t,
                   "#   proposed           %s, one flush of %d: %.2f %% in the Markov "
                   "model\n",
                   scr_format_duration(o->pace.interval, b[1], 32), o->pace.every,
                   100 * o->efficiency);
}

/* Inputs that may be off: the others are known exactly, or not used. */
static int may_be_off(const struct task *k, int i)
{
    return inputs[i].kind != COUNT && i != OPT_MEMORY && i != OPT_PROGRAM &&
           i != OPT_DISK && i != OPT_ALLOCATION &&
           i != (k->o.on_disk ? OPT_MEMORY_BW : OPT_DISK_BW) &&
           (i != OPT_WRITE_BW || k->m.writing > 0);
}

/* Share of the time that the proposal loses where the true input is the one it went by
 * times factor; NaN: it does not fit. */
static double loss_of(const struct task *k, int i, double factor)
{
    struct scr_machine truth = k->m;
    struct scr_outlook best;
    *input_of(&truth, i) *= factor;
    double is = scr_outlook_on(&truth, &k->o);
    if (isnan(is) || scr_outlook_find(&truth, &best) == SCR_E_FULL)
        return NAN;
    return fmax(best.efficiency - is, 0);
}

static const char *loss_text(double loss, char *buf)
{
    if (isnan(loss))
        return "no room";
    (void)snprintf(buf, 32, "%.2f", 100 * loss);
    return buf;
}

static void explain_errors(struct scr_tool *t, const struct task *k)
{
    char b[2][32];
    scr_tool_print(t,
                   "# percentage points of efficiency that this plan loses if an "
                   "input is\n#   %-20s half      double\n",
                   "");
    for (int i = 0; i < NINPUTS; i++) {
        if (!may_be_off(k, i))
            continue;
        scr_tool_print(t, "#   --%-18s %-9s %s\n", opts[i].name,
                       loss_text(loss_of(k, i, 0.5), b[0]),
                       loss_text(loss_of(k, i, 2), b[1]));
    }
}

static void explain(struct scr_tool *t, const struct task *k)
{
    char buf[40];
    scr_tool_print(t, "#\n# inputs\n");
    for (int i = 0; i < NINPUTS; i++)
        scr_tool_print(t, "#   --%-18s %s, %s\n", opts[i].name, input_text(k, i, buf),
                       origin_names[k->from[i]]);
    scr_tool_print(t, "#\n");
    explain_costs(t, k);
    explain_failures(t, k);
    explain_pace(t, k);
    explain_errors(t, k);
    scr_tool_print(t, "#\n");
}

/* --- JSON --- */

static json_t *json_of_inputs(const struct task *k)
{
    struct scr_machine m = k->m;
    json_t *all = json_object();
    for (int i = 0; i < NINPUTS; i++)
        all = scr_tool_json_add(all, opts[i].name,
                                json_pack("{s:f, s:s}", "value", *input_of(&m, i),
                                          "from", origin_names[k->from[i]]));
    return all;
}

static json_t *json_of_config(const struct task *k)
{
    struct scr_str s = SCR_STR_INIT;
    json_t *lines = json_array();
    write_config(k, &s);
    for (char *p = s.bad ? "" : s.p; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        p[n] = '\0';
        lines = scr_tool_json_append(lines, scr_tool_json_text(p));
        p += n + 1;
    }
    scr_str_free(&s);
    return lines;
}

static json_t *json_of_errors(const struct task *k)
{
    json_t *all = json_object();
    for (int i = 0; i < NINPUTS; i++) {
        double half = loss_of(k, i, 0.5), twice = loss_of(k, i, 2);
        if (may_be_off(k, i)) /* JSON has no NaN: null */
            all = scr_tool_json_add(
                all, opts[i].name,
                json_pack("{s:o, s:o}", "half",
                          isnan(half) ? json_null() : json_real(half), "double",
                          isnan(twice) ? json_null() : json_real(twice)));
    }
    return all;
}

static json_t *json_of(const struct task *k, int with_errors)
{
    const struct scr_outlook *o = &k->o;
    const struct check c = check_of(k);
    json_t *j = json_pack(
        "{s:s, s:i, s:i, s:o, s:i, s:I, s:I, s:f, s:f, s:f, s:i, s:b}", "scheme",
        scr_scheme_name(o->scheme), "set_size", o->set_size, "set_failures",
        o->set_failures, "cache", scr_tool_json_text(k->cache), "cache_size", o->copies,
        "stored", (json_int_t)o->stored, "room", (json_int_t)o->room, "checkpoint_secs",
        o->cost, "flush_secs", o->flush, "interval", o->pace.interval, "flush",
        o->pace.every, "flush_async", k->m.is_async);
    json_t *more = json_pack("{s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "failure_secs",
                             k->m.mtbf / k->m.nodes, "beyond", o->beyond, "far",
                             o->far / (o->far + o->near), "efficiency", o->efficiency,
                             "efficiency_first_order", c.first, "inputs",
                             json_of_inputs(k), "config", json_of_config(k));
    if (more == NULL || json_object_update(j, more) != 0) {
        json_decref(j);
        j = NULL;
    }
    json_decref(more);
    if (with_errors)
        j = scr_tool_json_add(j, "lost_if_wrong", json_of_errors(k));
    return j;
}

/* --- the command --- */

static int refuse_time(const struct task *k, struct scr_err *err)
{
    char b[3][40];
    return scr_fail(err, SCR_E_ARG, 0,
                    "a failure comes every %s (--mtbf %s, %s, on %.0f nodes), and a "
                    "checkpoint takes %s; use fewer nodes, or write less",
                    scr_format_duration(k->m.mtbf / k->m.nodes, b[0], 32),
                    input_text(k, OPT_MTBF, b[1]), origin_names[k->from[OPT_MTBF]],
                    k->m.nodes, scr_format_duration(k->o.cost, b[2], 32));
}

static int refuse_flush(const struct task *k, struct scr_err *err)
{
    char b[3][40];
    return scr_fail(err, SCR_E_ARG, 0,
                    "a flush takes %s (--file-system %s, %s), which is longer than the "
                    "allocation (--allocation %s); write less, or ask for more time",
                    scr_format_duration(k->o.flush, b[0], 32),
                    input_text(k, OPT_FILES, b[1]), origin_names[k->from[OPT_FILES]],
                    input_text(k, OPT_ALLOCATION, b[2]));
}

static int refuse_size(const struct task *k, struct scr_err *err)
{
    char b[5][40];
    size_text(k->o.data, b[0]);
    if (k->o.on_disk)
        return scr_fail(err, SCR_E_ARG, 0,
                        "a checkpoint of %s a node (--ranks, --bytes) does not fit "
                        "with any scheme, neither on the disk (--disk %s, %s) nor in "
                        "memory; use more nodes, or set SCR_CACHE_BYPASS=1",
                        b[0], input_text(k, OPT_DISK, b[1]),
                        origin_names[k->from[OPT_DISK]]);
    return scr_fail(err, SCR_E_ARG, 0,
                    "a checkpoint of %s a node (--ranks, --bytes) does not fit with "
                    "any scheme into %s, 3/4 of what the program leaves of the memory "
                    "(--memory %s, %s; --program %s, %s); name a disk (--disk), use "
                    "more nodes, or set SCR_CACHE_BYPASS=1",
                    b[0], size_text(k->o.room, b[1]), input_text(k, OPT_MEMORY, b[2]),
                    origin_names[k->from[OPT_MEMORY]], input_text(k, OPT_PROGRAM, b[3]),
                    origin_names[k->from[OPT_PROGRAM]]);
}

/* The one that is given, or configured, or the best for the device. */
static int choose_cache(struct scr_tool *t, const struct scr_args *a, struct task *k,
                        struct scr_err *err)
{
    struct scr_params prm;
    k->cache = a->opt[OPT_CACHE];
    if (k->cache != NULL)
        return strchr(k->cache, '\n') == NULL
                   ? SCR_OK
                   : scr_tool_usage(t, err,
                                    "option --cache: a name with a line break "
                                    "cannot be configured");
    TRY(scr_tool_cfg(t, a->opt[OPT_PREFIX], err));
    TRY(scr_cfg_params(t->cfg, &prm, err));
    if (strcmp(prm.cache_base, SCR_CACHE_BASE_DEFAULT) != 0)
        k->cache = prm.cache_base;
    else
        k->cache = k->o.on_disk ? SCR_CACHE_BASE_DEFAULT : "/dev/shm";
    return SCR_OK;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct task k = { 0 };
    TRY(take_inputs(t, a, &k, err));
    int rc = scr_outlook_find(&k.m, &k.o);
    if (rc == SCR_E_FULL)
        return refuse_size(&k, err);
    if (rc == SCR_E_RANGE)
        return refuse_time(&k, err);
    if (k.m.allocation > 0 && k.m.allocation < k.o.cost + k.o.flush)
        return refuse_flush(&k, err);
    TRY(choose_cache(t, a, &k, err));
    if (a->opt[OPT_JSON] != NULL)
        return scr_tool_json(t, json_of(&k, a->opt[OPT_EXPLAIN] != NULL), err);
    print_summary(t, &k);
    print_assumed(t, &k);
    if (a->opt[OPT_EXPLAIN] != NULL)
        explain(t, &k);
    return print_config(t, &k, err);
}

const struct scr_cmd scr_cmd_plan = {
    .usage = "[--nodes N --ranks N --bytes SIZE | --prefix DIR] [OPTION]...",
    .about =
        "Proposes a redundancy scheme, room for the cache, and intervals of\n"
        "checkpoints and flushes for a program on a machine, and says what to\n"
        "expect. The output is a configuration file, with the reasons as comments.\n"
        "It lists every value that had to be assumed.",
    .opts = opts,
    .notes = "Sizes take k, m, g, t, p and e, powers of 1024; bandwidths are sizes a\n"
             "second, as in 10g/s; times take s, m, h, d and y.",
    .run = run,
};
