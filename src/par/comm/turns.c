/* SPDX-License-Identifier: BSD-3-Clause */
/* At most `width` ranks at a time: the last one that has work keeps the door. */
#include "par/comm/turns.h"

#include "par/comm/mpi_call.h"

enum { TAG_ASK = 22, TAG_GO = 23, TAG_END = 24 };

/* Of a rank among those that have work. */
struct turn {
    const struct scr_comm *c;
    int width;
    int number; /* 0 … count - 1, by rank */
    int count;
    int keeper; /* rank of number count - 1 */
    int failed; /* code of a rank that failed before this one's turn */
};

static int send_code(const struct turn *t, int to, int tag, int code,
                     struct scr_err *err)
{
    return scr_mpi_check(MPI_Send(&code, 1, MPI_INT, to, tag, t->c->comm),
                         "take turns: send", err);
}

/* *code and *from are set on success only. */
static int receive_code(const struct turn *t, int source, int tag, int *code, int *from,
                        struct scr_err *err)
{
    MPI_Request request;
    MPI_Status st;
    int got = SCR_OK;
    TRY(scr_mpi_check(MPI_Irecv(&got, 1, MPI_INT, source, tag, t->c->comm, &request),
                      "take turns: receive", err));
    TRY(scr_mpi_wait_status(&request, &st, "take turns: receive", err));
    *code = got;
    *from = st.MPI_SOURCE;
    return SCR_OK;
}

static void find_turn_all(struct turn *t, int has_work)
{
    int64_t below = (int64_t)scr_sum_below_all(t->c, has_work != 0);
    int64_t last =
        scr_max_all(t->c, has_work ? (below + 1) << 32 | (int64_t)t->c->rank : 0);
    t->number = (int)below;
    t->count = (int)(last >> 32);
    t->keeper = (int)(last & INT32_MAX);
}

static int is_crowded(const struct turn *t)
{
    return t->count > t->width;
}

/* Waits until a rank has ended. */
static int see_one_end(struct turn *t, struct scr_err *err)
{
    int code = SCR_OK, who;
    int rc = receive_code(t, MPI_ANY_SOURCE, TAG_END, &code, &who, err);
    t->failed = t->failed == SCR_OK ? code : t->failed;
    return rc;
}

/* One place for each rank that ends: first for those who ask, then for the keeper
 * itself. */
static int keep_door(struct turn *t, struct scr_err *err)
{
    int asks = t->count - t->width - 1, unused, who = -1, rc = SCR_OK;
    for (; asks > 0 && rc == SCR_OK; asks--) {
        rc = see_one_end(t, err);
        if (rc == SCR_OK)
            rc = receive_code(t, MPI_ANY_SOURCE, TAG_ASK, &unused, &who, err);
        if (rc == SCR_OK)
            rc = send_code(t, who, TAG_GO, t->failed, err);
    }
    return rc == SCR_OK ? see_one_end(t, err) : rc;
}

/* Who ended after the keeper began. */
static int clear_door(struct turn *t, struct scr_err *err)
{
    for (int left = t->width - 1; left > 0; left--)
        TRY(see_one_end(t, err));
    return SCR_OK;
}

static int take(struct turn *t, struct scr_err *err)
{
    int who;
    if (!is_crowded(t) || t->number < t->width)
        return SCR_OK;
    if (t->c->rank == t->keeper)
        return keep_door(t, err);
    TRY(send_code(t, t->keeper, TAG_ASK, SCR_OK, err));
    return receive_code(t, t->keeper, TAG_GO, &t->failed, &who, err);
}

static int end(struct turn *t, int code, struct scr_err *err)
{
    if (!is_crowded(t))
        return SCR_OK;
    return t->c->rank == t->keeper ? clear_door(t, err)
                                   : send_code(t, t->keeper, TAG_END, code, err);
}

/* A rank that could not work because another failed leaves the text to that one. */
static int work_in_turn(struct turn *t, scr_turn_work work, void *arg,
                        struct scr_err *err)
{
    int rc = take(t, err);
    if (rc == SCR_OK && t->failed == SCR_OK)
        rc = work(arg, err);
    return scr_first(rc,
                     end(t, rc != SCR_OK ? rc : t->failed, rc == SCR_OK ? err : NULL));
}

int scr_take_turns_all(const struct scr_comm *c, int width, int has_work,
                       scr_turn_work work, void *arg, struct scr_err *err)
{
    struct turn t = { .c = c, .width = width > 0 ? width : 1 };
    if (t.width < c->size)
        find_turn_all(&t, has_work);
    return has_work ? work_in_turn(&t, work, arg, err) : SCR_OK;
}

int scr_in_turns_all(const struct scr_comm *c, int width, int has_work,
                     scr_turn_work work, void *arg, struct scr_err *err)
{
    int rc = scr_take_turns_all(c, width, has_work, work, arg, err);
    return scr_agree_all(c, rc, err);
}
