/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of our own, agreement on a code, and small collectives over any size.
 */
#include "par/comm/comm.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "par/comm/mpi_call.h"

/* Counts in MPI-3 are ints; longer buffers go in pieces of this size. */
enum { BCAST_PIECE = 1 << 30 };

int scr_mpi_check(int code, const char *what, struct scr_err *err)
{
    if (code == MPI_SUCCESS)
        return SCR_OK;
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int len = 0;
    MPI_Error_string(code, text, &len);
    return scr_fail(err, SCR_E_MPI, 0, "%s: %s", what, text);
}

int scr_mpi_wait_status(MPI_Request *req, MPI_Status *st, const char *what,
                        struct scr_err *err)
{
    int done = 0, code = MPI_SUCCESS;
    while (!done && code == MPI_SUCCESS) {
        code = MPI_Test(req, &done, st);
        if (!done)
            sched_yield();
    }
    return scr_mpi_check(code, what, err);
}

int scr_mpi_wait(MPI_Request *req, size_t n, const char *what, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < n; i++) {
        int rc1 = scr_mpi_wait_status(&req[i], MPI_STATUS_IGNORE, what, err);
        rc = rc == SCR_OK ? rc1 : rc;
    }
    return rc;
}

int scr_mpi_finish(int code, MPI_Request *req, const char *what, struct scr_err *err)
{
    TRY(scr_mpi_check(code, what, err));
    return scr_mpi_wait(req, 1, what, err);
}

/* Takes over comm: our error handler, our rank and size. */
static int comm_adopt(MPI_Comm comm, struct scr_comm *c, struct scr_err *err)
{
    c->comm = comm;
    TRY(scr_mpi_check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN),
                      "set error handler", err));
    TRY(scr_mpi_check(MPI_Comm_rank(comm, &c->rank), "rank in communicator", err));
    return scr_mpi_check(MPI_Comm_size(comm, &c->size), "size of communicator", err);
}

int scr_comm_dup_all(MPI_Comm from, struct scr_comm *c, struct scr_err *err)
{
    *c = (struct scr_comm)SCR_COMM_INIT;
    MPI_Comm comm = MPI_COMM_NULL;
    /* Without the hints of from, which up to MPI 3.1 go along: that messages may
     * overtake each other, or that no receive takes any source, is not so here. */
    int code = MPI_Comm_dup_with_info(from, MPI_INFO_NULL, &comm);
    TRY(scr_mpi_check(code, "duplicate communicator", err));
    return comm_adopt(comm, c, err);
}

int scr_comm_split_all(const struct scr_comm *c, int color, int key,
                       struct scr_comm *out, struct scr_err *err)
{
    *out = (struct scr_comm)SCR_COMM_INIT;
    MPI_Comm comm = MPI_COMM_NULL;
    int code = MPI_Comm_split(c->comm, color < 0 ? MPI_UNDEFINED : color, key, &comm);
    int rc = scr_mpi_check(code, "split communicator", err);
    if (rc != SCR_OK || comm == MPI_COMM_NULL)
        return rc;
    return comm_adopt(comm, out, err);
}

void scr_comm_free(struct scr_comm *c)
{
    if (c->comm != MPI_COMM_NULL)
        MPI_Comm_free(&c->comm);
    *c = (struct scr_comm)SCR_COMM_INIT;
}

int scr_comm_is_block(const struct scr_comm *part, const struct scr_comm *whole)
{
    MPI_Group some = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
    int first = 0, of_first = -1;
    if (part->comm == MPI_COMM_NULL)
        return 0;
    int code = MPI_Comm_group(part->comm, &some);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_group(whole->comm, &all);
    if (code == MPI_SUCCESS)
        code = MPI_Group_translate_ranks(some, 1, &first, all, &of_first);
    if (some != MPI_GROUP_NULL)
        MPI_Group_free(&some);
    if (all != MPI_GROUP_NULL)
        MPI_Group_free(&all);
    return code == MPI_SUCCESS && whole->rank - part->rank == of_first;
}

/* 1 on all ranks if they have the same text. *rc becomes the one all ranks leave with;
 * me: the number by which an error names this rank. */
static int has_one_text_all(const struct scr_comm *part, const char *text, int me,
                            int *rc, struct scr_err *err)
{
    if (*rc != SCR_OK && err != NULL && err->rank < 0)
        err->rank = me;
    int64_t mark = scr_text_mark(text);
    struct scr_vote v = { .least = { mark, -mark } };
    *rc = scr_vote_all(part, *rc, &v, err);
    return v.least[0] == -v.least[1];
}

/* One round: rank 0's text keeps its equals in *part; the others go to *part of their
 * own. Frees what *part was. The code is each rank's own: *part stays as it is where
 * any rank has failed. */
static int split_round(struct scr_comm *part, const char *text, struct scr_err *err)
{
    char *first = part->rank == 0 ? scr_strdup(text) : NULL;
    int rc = scr_bcast_str_all(part, 0, &first, err);
    if (rc == SCR_OK && first == NULL)
        rc = scr_no_memory(err);
    if (scr_and_all(part, rc == SCR_OK)) {
        struct scr_comm next = SCR_COMM_INIT;
        rc = scr_comm_split_all(part, strcmp(first, text) != 0, part->rank, &next, err);
        scr_comm_free(part);
        *part = next;
    }
    free(first);
    return rc;
}

/* The code is that of the part. */
static int part_all(const struct scr_comm *c, int rc, uint32_t hash, const char *text,
                    struct scr_comm *out, struct scr_err *err)
{
    int split = scr_comm_split_all(c, (int)(hash & 0x7fffffffu), c->rank, out,
                                   rc == SCR_OK ? err : NULL);
    rc = rc != SCR_OK ? rc : split;
    if (rc == SCR_OK && text == NULL)
        rc = scr_fail(err, SCR_E_CONFIG, 0, "rank %d has no name to be grouped by",
                      c->rank);
    while (out->comm != MPI_COMM_NULL &&
           !has_one_text_all(out, text, c->rank, &rc, err) && rc == SCR_OK)
        rc = split_round(out, text, err);
    return rc;
}

int scr_comm_part_str_all(const struct scr_comm *c, int rc, const char *text,
                          struct scr_comm *out, struct scr_err *err)
{
    return part_all(c, rc, (uint32_t)scr_text_mark(text), text, out, err);
}

int scr_comm_split_hash_all(const struct scr_comm *c, int rc, uint32_t hash,
                            const char *text, struct scr_comm *out, struct scr_err *err)
{
    rc = part_all(c, rc, hash, text, out, err);
    rc = scr_agree_all(c, rc, err);
    if (rc != SCR_OK)
        scr_comm_free(out);
    return rc;
}

int scr_comm_split_str_all(const struct scr_comm *c, int rc, const char *text,
                           struct scr_comm *out, struct scr_err *err)
{
    return scr_comm_split_hash_all(c, rc, (uint32_t)scr_text_mark(text), text, out,
                                   err);
}

/* Data that the first failing rank sends to the others; fixed size so that one
 * broadcast carries it. */
struct verdict {
    int code, sys, rank, others;
    char text[SCR_ERR_TEXT];
};

/* failed: ranks that leave with an error. What was agreed on before stays as it was. */
static void verdict_fill(struct verdict *v, const struct scr_comm *c, int rc,
                         uint64_t failed, const struct scr_err *err)
{
    int filled = err != NULL && err->code != SCR_OK;
    int agreed = filled && err->rank >= 0;
    v->code = rc;
    v->sys = filled ? err->sys : 0;
    v->rank = agreed ? err->rank : c->rank;
    v->others = agreed ? err->others : failed < (uint64_t)c->size ? (int)failed - 1 : 0;
    const char *text = filled ? err->text : scr_err_meaning(rc);
    size_t n = strnlen(text, sizeof v->text - 1);
    memcpy(v->text, text, n);
}

static void verdict_store(const struct verdict *v, struct scr_err *err)
{
    if (err == NULL)
        return;
    err->code = v->code;
    err->sys = v->sys;
    err->rank = v->rank;
    err->others = v->others;
    memcpy(err->text, v->text, sizeof err->text);
}

/* A transient error here may have made another rank find that data are not good. */
static int turn_of(const struct scr_comm *c, int rc)
{
    if (rc == SCR_OK)
        return 2 * c->size;
    return scr_err_may_pass(rc) ? c->rank : c->size + c->rank;
}

/* turn: the least turn_of() of all. */
static int learn_verdict_all(const struct scr_comm *c, int turn, int rc,
                             struct scr_err *err)
{
    if (turn == 2 * c->size)
        return SCR_OK;
    int first = turn % c->size;
    struct verdict v = { 0 };
    uint64_t failed = scr_sum_all(c, rc != SCR_OK);
    if (c->rank == first)
        verdict_fill(&v, c, rc, failed, err);
    if (scr_bcast_bytes_all(c, first, &v, sizeof v, err) != SCR_OK)
        return rc != SCR_OK ? rc : SCR_E_MPI;
    verdict_store(&v, err);
    return v.code;
}

int scr_agree_all(const struct scr_comm *c, int rc, struct scr_err *err)
{
    return learn_verdict_all(c, (int)scr_min_all(c, turn_of(c, rc)), rc, err);
}

struct ballot {
    int64_t turn;
    struct scr_vote vote;
};

/* An MPI_User_function. */
static void count_ballots(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const struct ballot *from = in;
    struct ballot *to = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        to[i].turn = from[i].turn < to[i].turn ? from[i].turn : to[i].turn;
        for (int k = 0; k < SCR_VOTE_LEAST; k++)
            if (from[i].vote.least[k] < to[i].vote.least[k])
                to[i].vote.least[k] = from[i].vote.least[k];
        for (int k = 0; k < SCR_VOTE_SUMS; k++)
            to[i].vote.sum[k] += from[i].vote.sum[k];
    }
}

/* An operation and a type each time, which costs less than a microsecond, so that there
 * is nothing to keep and to free. */
static int count_all(const struct scr_comm *c, struct ballot *b, struct scr_err *err)
{
    MPI_Op op = MPI_OP_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Request req = MPI_REQUEST_NULL;
    int code = MPI_Op_create(count_ballots, 1, &op);
    if (code == MPI_SUCCESS)
        code =
            MPI_Type_contiguous((int)(sizeof *b / sizeof(int64_t)), MPI_INT64_T, &type);
    if (code == MPI_SUCCESS)
        code = MPI_Type_commit(&type);
    struct ballot mine = *b;
    if (code == MPI_SUCCESS)
        code = MPI_Iallreduce(&mine, b, 1, type, op, c->comm, &req);
    int rc = scr_mpi_finish(code, &req, "reduction", err);
    if (type != MPI_DATATYPE_NULL)
        MPI_Type_free(&type);
    if (op != MPI_OP_NULL)
        MPI_Op_free(&op);
    return rc;
}

int scr_vote_all(const struct scr_comm *c, int rc, struct scr_vote *v,
                 struct scr_err *err)
{
    struct ballot b = { turn_of(c, rc), *v };
    int failed = count_all(c, &b, rc == SCR_OK ? err : NULL);
    if (failed != SCR_OK)
        return rc != SCR_OK ? rc : failed;
    *v = b.vote;
    return learn_verdict_all(c, (int)b.turn, rc, err);
}

int64_t scr_text_mark(const char *text)
{
    return text != NULL ? (int64_t)(scr_str_key(text) >> 1) : 0;
}

/* v[0…n) become what op makes of those of all ranks. */
static int reduce(const struct scr_comm *c, void *v, int n, MPI_Datatype type,
                  MPI_Op op)
{
    MPI_Request req = MPI_REQUEST_NULL;
    int code = MPI_Iallreduce(MPI_IN_PLACE, v, n, type, op, c->comm, &req);
    return scr_mpi_finish(code, &req, "reduction", NULL);
}

int64_t scr_max_all(const struct scr_comm *c, int64_t v)
{
    int64_t all = v;
    return reduce(c, &all, 1, MPI_INT64_T, MPI_MAX) == SCR_OK ? all : v;
}

int64_t scr_min_all(const struct scr_comm *c, int64_t v)
{
    int64_t all = v;
    return reduce(c, &all, 1, MPI_INT64_T, MPI_MIN) == SCR_OK ? all : v;
}

int scr_and_all(const struct scr_comm *c, int flag)
{
    return scr_min_all(c, flag != 0) != 0;
}

int scr_or_all(const struct scr_comm *c, int flag)
{
    return scr_max_all(c, flag != 0) != 0;
}

void scr_sums_all(const struct scr_comm *c, uint64_t *v, int n)
{
    (void)reduce(c, v, n, MPI_UINT64_T, MPI_SUM);
}

void scr_mins_all(const struct scr_comm *c, int64_t *v, int n)
{
    (void)reduce(c, v, n, MPI_INT64_T, MPI_MIN);
}

int scr_agree_mins_all(const struct scr_comm *c, int rc, int64_t *v, int n,
                       struct scr_err *err)
{
    v[0] = turn_of(c, rc);
    int failed = reduce(c, v, n, MPI_INT64_T, MPI_MIN);
    if (failed != SCR_OK)
        return rc != SCR_OK ? rc : scr_fail(err, failed, 0, "reduction");
    return learn_verdict_all(c, (int)v[0], rc, err);
}

uint64_t scr_sum_all(const struct scr_comm *c, uint64_t v)
{
    scr_sums_all(c, &v, 1);
    return v;
}

static uint64_t reduce_below(const struct scr_comm *c, uint64_t v, MPI_Op op)
{
    uint64_t below = 0;
    MPI_Request req = MPI_REQUEST_NULL;
    int code = MPI_Iexscan(&v, &below, 1, MPI_UINT64_T, op, c->comm, &req);
    int rc = scr_mpi_finish(code, &req, "scan of the ranks below", NULL);
    return rc == SCR_OK && c->rank > 0 ? below : 0;
}

uint64_t scr_sum_below_all(const struct scr_comm *c, uint64_t v)
{
    return reduce_below(c, v, MPI_SUM);
}

uint64_t scr_max_below_all(const struct scr_comm *c, uint64_t v)
{
    return reduce_below(c, v, MPI_MAX);
}

void scr_barrier_all(const struct scr_comm *c)
{
    MPI_Request req = MPI_REQUEST_NULL;
    scr_mpi_finish(MPI_Ibarrier(c->comm, &req), &req, "barrier", NULL);
}

int scr_bcast_bytes_all(const struct scr_comm *c, int root, void *buf, size_t n,
                        struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t at = 0; at < n; at += BCAST_PIECE) {
        size_t piece = n - at < BCAST_PIECE ? n - at : BCAST_PIECE;
        MPI_Request req = MPI_REQUEST_NULL;
        int code =
            MPI_Ibcast((char *)buf + at, (int)piece, MPI_BYTE, root, c->comm, &req);
        int rc1 = scr_mpi_finish(code, &req, "broadcast", err);
        rc = rc == SCR_OK ? rc1 : rc;
    }
    return rc;
}

int scr_allgather_bytes_all(const struct scr_comm *c, const void *mine, size_t n,
                            void *all, struct scr_err *err)
{
    MPI_Request req = MPI_REQUEST_NULL;
    if (n > INT32_MAX)
        return scr_fail(err, SCR_E_RANGE, 0, "gather %zu bytes of each rank", n);
    int code =
        MPI_Iallgather(mine, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, c->comm, &req);
    return scr_mpi_finish(code, &req, "gather of all ranks", err);
}
