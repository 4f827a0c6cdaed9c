/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators, agreement and the exchange of bytes. Calls ending in _all are
 * collective over the communicator they are given: every rank makes them, whatever
 * happened to it before.
 *
 * The rule of the library: between two collectives no rank returns. Local work fills a
 * code, scr_agree_all() makes every rank leave with the same one.
 *
 *     int rc = local_work(…, err);
 *     rc = scr_agree_all(comm, rc, err);   // equal on all ranks, with the first text
 *     if (rc != SCR_OK)
 *         return rc;
 */
#ifndef SCR_PAR_COMM_H
#define SCR_PAR_COMM_H

#include "base/env.h"
#include "base/hash.h"
#include "base/str.h"
#include <mpi.h>
#include <stdint.h>

struct scr_comm {
    MPI_Comm comm; /* MPI_COMM_NULL when not set up */
    int rank, size;
};
#define SCR_COMM_INIT                                                                  \
    {                                                                                  \
        MPI_COMM_NULL, -1, 0                                                           \
    }

int scr_comm_dup_all(MPI_Comm from, struct scr_comm *c, struct scr_err *err);
/* color < 0: MPI_UNDEFINED, *out stays empty. */
int scr_comm_split_all(const struct scr_comm *c, int color, int key,
                       struct scr_comm *out, struct scr_err *err);
void scr_comm_free(struct scr_comm *c); /* collective over c; no-op when empty */
/* 1 if the ranks of part, which are in the order they have in whole, follow each other
 * there up to this one. Local. */
int scr_comm_is_block(const struct scr_comm *part, const struct scr_comm *whole);

/* Splits by string: ranks with equal text end in one communicator, ordered by rank; two
 * different texts do so at odds of one in 2^63 (scr_text_mark). O(log P) memory and
 * steps. text NULL is an error on all ranks (SCR_E_CONFIG), naming the first such rank.
 * rc: what this rank found before; if any rank's is an error all leave with that.
 * Agreed. */
int scr_comm_split_str_all(const struct scr_comm *c, int rc, const char *text,
                           struct scr_comm *out, struct scr_err *err);

/* As above, without the agreement: the code is that of this rank's part *out, which
 * exists and must be freed also after an error, unless MPI failed. */
int scr_comm_part_str_all(const struct scr_comm *c, int rc, const char *text,
                          struct scr_comm *out, struct scr_err *err);

/* The same after hashing: texts with equal hash are compared. */
int scr_comm_split_hash_all(const struct scr_comm *c, int rc, uint32_t hash,
                            const char *text, struct scr_comm *out,
                            struct scr_err *err);

/* The code of the lowest rank that failed, on every rank, with that rank's text and
 * number (in c; err->rank is kept if that rank had set it already) in err; SCR_OK
 * everywhere if no rank failed. Ranks with a transient error (scr_err_may_pass) come
 * before the others, because it may be the cause of their errors. Costs one allreduce
 * when all is well. */
int scr_agree_all(const struct scr_comm *c, int rc, struct scr_err *err);

/* The same with further data of the ranks, all in one reduction. */
enum { SCR_VOTE_LEAST = 10, SCR_VOTE_SUMS = 4 };
struct scr_vote {
    int64_t least[SCR_VOTE_LEAST]; /* becomes the least of all; the largest is the least
                                      of what is negated */
    uint64_t sum[SCR_VOTE_SUMS];   /* becomes the sum of all */
};
/* rc of any kind: v has what all ranks said. */
int scr_vote_all(const struct scr_comm *c, int rc, struct scr_vote *v,
                 struct scr_err *err);

/* A number for a vote that is another for another text (at odds of one in 2^63), or for
 * NULL: texts are the same on all ranks if the least of it and the least of its
 * negative differ in their sign only. */
int64_t scr_text_mark(const char *text);

/* 1 on all ranks if flag is nonzero on all (and) / on any (or). */
int scr_and_all(const struct scr_comm *c, int flag);
int scr_or_all(const struct scr_comm *c, int flag);
int64_t scr_max_all(const struct scr_comm *c, int64_t v);
int64_t scr_min_all(const struct scr_comm *c, int64_t v);
uint64_t scr_sum_all(const struct scr_comm *c, uint64_t v);
/* scr_agree_all, and v[1…n) become the least of all ranks, in one reduction; v[0] is
 * for the code. */
int scr_agree_mins_all(const struct scr_comm *c, int rc, int64_t *v, int n,
                       struct scr_err *err);
/* v[0…n) become sums over all ranks, in one reduction. */
void scr_sums_all(const struct scr_comm *c, uint64_t *v, int n);
/* v[0…n) become the least over all ranks, in one reduction; the largest is the least of
 * negated values. */
void scr_mins_all(const struct scr_comm *c, int64_t *v, int n);
/* Sum of v over the ranks below this one, or the largest of theirs; 0 on rank 0. */
uint64_t scr_sum_below_all(const struct scr_comm *c, uint64_t v);
uint64_t scr_max_below_all(const struct scr_comm *c, uint64_t v);
void scr_barrier_all(const struct scr_comm *c);
/* From root to all; n may exceed 2^31. */
int scr_bcast_bytes_all(const struct scr_comm *c, int root, void *buf, size_t n,
                        struct scr_err *err);
/* n bytes of each rank, by rank, into all (size * n bytes). For small communicators
 * only. */
int scr_allgather_bytes_all(const struct scr_comm *c, const void *mine, size_t n,
                            void *all, struct scr_err *err);
/* A malloc'd string (NULL allowed) from root to all. The code is each rank's own, to be
 * agreed on. */
int scr_bcast_str_all(const struct scr_comm *c, int root, char **s,
                      struct scr_err *err);
/* The same from the lowest rank whose string is not NULL, if any. */
int scr_first_str_all(const struct scr_comm *c, char **s, struct scr_err *err);
/* 1 on all ranks if n bytes at p are the same everywhere; 0 on all otherwise. */
int scr_same_all(const struct scr_comm *c, const void *p, size_t n);

/* Root's hash on all ranks: the others' h is merged into, also where another rank then
 * fails; NULL, for lack of memory, is SCR_E_NOMEM. rc: what this rank found before. The
 * code is each rank's own, to be agreed on. Where root has failed nothing comes. */
int scr_hash_bcast_all(const struct scr_comm *c, int root, int rc, scr_hash *h,
                       struct scr_err *err);

/* --- bytes, for lists of files, which are too long for trees --- */
/* To one rank while they are made, and from one, so that neither rank has all of them:
 *
 *     struct scr_swap w = { .comm = c, .to = right, .send = mine, .from = left,
 *                           .recv = theirs, .in = &in, .err = err };
 *     struct scr_str out = { .drain = scr_swap_begin(&w) };
 *     … append mine bytes to out …
 *     rc = scr_swap_end(&w, &out);
 *
 * Both sides know the numbers of bytes before; 0: nothing is sent, or comes. A rank
 * that cannot make what it promised sends zeros, so that no rank waits for it, and has
 * to tell the others that it failed. */
struct scr_swap {
    struct scr_drain drain;
    const struct scr_comm *comm;
    int to, from;
    uint64_t send, recv; /* bytes that are still to be sent, and to come */
    struct scr_str *in;  /* what came is appended */
    struct scr_err *err;
    int rc;
};
struct scr_drain *scr_swap_begin(struct scr_swap *w);
/* Frees out. */
int scr_swap_end(struct scr_swap *w, struct scr_str *out);

/* Bytes for some ranks, or from some. */
struct scr_parcels {
    struct scr_parcel {
        int rank;
        struct scr_str bytes;
    } * of;
    size_t n, room;
    size_t *place; /* 2 * room of them: where a rank's is in of, + 1; by its number */
};
/* The bytes for rank, new or what there is; NULL: out of memory. Borrowed until the
 * next call: fill one after the other. */
struct scr_str *scr_parcel_to(struct scr_parcels *p, int rank);
void scr_parcels_free(struct scr_parcels *p);
/* Sparse exchange: recv, empty, gets what came by ascending rank; receivers need not
 * know their senders. No O(P) memory: non-blocking consensus (Issend, Iprobe,
 * Ibarrier). A parcel for no rank of c is SCR_E_RANGE, one that is bad SCR_E_NOMEM. rc:
 * as above; after an error recv is empty. Agreed. */
int scr_parcels_exchange_all(const struct scr_comm *c, int rc,
                             const struct scr_parcels *send, struct scr_parcels *recv,
                             struct scr_err *err);

/* The same, to be agreed on: the code is each rank's own. The next call over c, with
 * this one's code, is one that no rank leaves before all have entered it. */
int scr_parcels_trade_all(const struct scr_comm *c, int rc,
                          const struct scr_parcels *send, struct scr_parcels *recv,
                          struct scr_err *err);

/* The bytes of every rank, one after the other by ascending rank, on all ranks, by way
 * of rank 0; all is empty before. rc: as above; if any rank's is an error all stays
 * empty. mine that is bad is SCR_E_NOMEM. Agreed. */
int scr_bytes_share_all(const struct scr_comm *c, int rc, const struct scr_str *mine,
                        struct scr_str *all, struct scr_err *err);

/* Adds to the bytes for rank, or there is no memory for it. */
int scr_parcel_bytes(struct scr_parcels *p, int rank, const void *bytes, size_t n,
                     struct scr_err *err);
/* A parcel of texts: each with its NUL, one after the other. */
int scr_parcel_text(struct scr_parcels *p, int rank, const char *text,
                    struct scr_err *err);
int scr_parcel_printf(struct scr_parcels *p, int rank, struct scr_err *err,
                      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* for (SCR_TEXTS(t, bytes)): each text of a struct scr_str. Bytes after the last NUL
 * are no text. */
const char *scr_texts_next(const struct scr_str *bytes, const char *after);
#define SCR_TEXTS(t, bytes)                                                            \
    const char *t = scr_texts_next(bytes, NULL);                                       \
    (t) != NULL;                                                                       \
    (t) = scr_texts_next(bytes, t)

#endif
