/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_hostlist, scr_glob_hosts: what shell scripts do with lists of hosts. */
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "tool.h"

enum {
    OPT_COUNT,
    OPT_NTH,
    OPT_MINUS,
    OPT_INTERSECTION,
    OPT_COMPRESS,
    OPT_EXPAND,
    OPT_SIZE,
    OPT_DELIMITER,
    OPT_HOSTS
};

static const struct scr_opt opts[] = {
    [OPT_COUNT] = { "count", 'c', NULL, "print the number of hosts" },
    [OPT_NTH] = { "nth", 'n', "N", "print the Nth host, counting from 1" },
    [OPT_MINUS] = { "minus", 'm', "A:B",
                    "print the hosts of A that are not in B, also written A B" },
    [OPT_INTERSECTION] = { "intersection", 'i', "A:B",
                           "print the hosts of A that are in B, also written A B" },
    [OPT_COMPRESS] = { "compress", 'C', NULL, "print the list in its short form" },
    [OPT_EXPAND] = { "expand", 'e', NULL, "print every host, separated by commas" },
    [OPT_SIZE] = { "size", 0, "N", "print the first N hosts only" },
    [OPT_DELIMITER] = { "delimiter", 'd', "TEXT",
                        "with --expand: what separates hosts, instead of a comma" },
    [OPT_HOSTS] = { "hosts", 'h', "HOSTS", "another way to give HOSTS" },
    { 0 },
};

static const int actions[] = { OPT_COUNT,    OPT_NTH,    OPT_MINUS, OPT_INTERSECTION,
                               OPT_COMPRESS, OPT_EXPAND, -1 };

/* --- input --- */

static int read_operands(struct scr_tool *t, const struct scr_args *a,
                         struct scr_hostlist *out, struct scr_err *err)
{
    const char *first = a->opt[OPT_HOSTS];
    if (a->noperands == 0 && first == NULL)
        return scr_tool_usage(t, err, "HOSTS is missing, for example n[1-4]");
    return scr_tool_host_operands(a, first, out, err);
}

typedef int (*combine)(const struct scr_hostlist *, const struct scr_hostlist *,
                       struct scr_hostlist *, struct scr_err *);

static int combine_lists(const char *left, const char *right, combine f,
                         struct scr_hostlist *out, struct scr_err *err)
{
    struct scr_hostlist a = SCR_HOSTLIST_INIT, b = SCR_HOSTLIST_INIT;
    int rc;
    TRY_OUT(scr_hostlist_expand(left, &a, err));
    TRY_OUT(scr_hostlist_expand(right, &b, err));
    TRY_OUT(f(&a, &b, out, err));
out:
    scr_hostlist_free(&a);
    scr_hostlist_free(&b);
    return rc;
}

/* "A:B", as host names hold no colon, or A and the operand B. */
static int read_pair(struct scr_tool *t, const struct scr_args *args, const char *pair,
                     combine f, struct scr_hostlist *out, struct scr_err *err)
{
    const char *colon = strchr(pair, ':');
    int has_operand = args->noperands == 1;
    if ((colon != NULL) == has_operand || args->noperands > 1 ||
        (colon != NULL && strchr(colon + 1, ':') != NULL))
        return scr_tool_usage(t, err, "\"%s\" is not two host lists A:B", pair);
    if (has_operand)
        return combine_lists(pair, args->operand[0], f, out, err);
    char *left = scr_asprintf("%.*s", (int)(colon - pair), pair);
    int rc = left ? combine_lists(left, colon + 1, f, out, err) : scr_no_memory(err);
    free(left);
    return rc;
}

static int read_hosts(struct scr_tool *t, const struct scr_args *a,
                      struct scr_hostlist *out, struct scr_err *err)
{
    int is_minus = a->opt[OPT_MINUS] != NULL;
    if (!is_minus && a->opt[OPT_INTERSECTION] == NULL)
        return read_operands(t, a, out, err);
    return is_minus ? read_pair(t, a, a->opt[OPT_MINUS], scr_hostlist_minus, out, err)
                    : read_pair(t, a, a->opt[OPT_INTERSECTION], scr_hostlist_intersect,
                                out, err);
}

/* --- output --- */

static void print_expanded(struct scr_tool *t, const struct scr_hostlist *l,
                           const char *delimiter)
{
    for (size_t i = 0; i < l->n; i++)
        scr_tool_print(t, "%s%s", i > 0 ? delimiter : "", l->name[i]);
    scr_tool_print(t, "\n");
}

static int print_nth(struct scr_tool *t, const struct scr_args *a,
                     const struct scr_hostlist *l, struct scr_err *err)
{
    int64_t nth = 0;
    TRY(scr_tool_int(t, a, OPT_NTH, SCR_AT_LEAST(1), &nth, err));
    if ((size_t)nth > l->n)
        return scr_fail(err, SCR_E_RANGE, 0, "there is no host %lld in a list of %zu",
                        (long long)nth, l->n);
    scr_tool_print(t, "%s\n", l->name[nth - 1]);
    return SCR_OK;
}

static int print_hosts(struct scr_tool *t, const struct scr_args *a,
                       const struct scr_hostlist *l, struct scr_err *err)
{
    if (a->opt[OPT_NTH] != NULL)
        return print_nth(t, a, l, err);
    if (a->opt[OPT_COUNT] != NULL)
        scr_tool_print(t, "%zu\n", l->n);
    else if (a->opt[OPT_EXPAND] != NULL)
        print_expanded(t, l, a->opt[OPT_DELIMITER] ? a->opt[OPT_DELIMITER] : ",");
    else
        return scr_tool_print_hosts(t, l, 0, err);
    return SCR_OK;
}

static int keep_first(struct scr_tool *t, const struct scr_args *a,
                      struct scr_hostlist *l, struct scr_err *err)
{
    int64_t most = INT32_MAX;
    int rc = scr_tool_int(t, a, OPT_SIZE, SCR_AT_LEAST(0), &most, err);
    while (rc == SCR_OK && l->n > (size_t)most)
        free(l->name[--l->n]);
    return rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct scr_hostlist l = SCR_HOSTLIST_INIT;
    int rc;
    TRY_OUT(scr_tool_exclusive(t, a, err, actions));
    TRY_OUT(read_hosts(t, a, &l, err));
    TRY_OUT(keep_first(t, a, &l, err));
    TRY_OUT(print_hosts(t, a, &l, err));
out:
    scr_hostlist_free(&l);
    return rc;
}

const struct scr_cmd scr_cmd_hostlist = {
    .usage = "[OPTION]... HOSTS...",
    .about =
        "Expands, compresses and compares lists of hosts. HOSTS is a list such as\n"
        "\"atlas[3,5-7,9-11],hype2\"; several are taken as one. Order, duplicates and\n"
        "zero padding are kept. Without an option the list is printed in its short\n"
        "form.",
    .opts = opts,
    .max_operands = -1,
    .run = run,
};
