/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement, splitting by text, broadcast and exchange of hashes. */
/* ranks: 1 2 5 8 */
#include "mpi_test.h"

#include "base/str.h"

MPI_CASE(agree_is_ok_when_no_rank_failed)
{
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_agree_all(&t->comm, SCR_OK, &err), SCR_OK, &err);
    CHECK_INT(err.code, SCR_OK);
}

MPI_CASE(agree_gives_the_lowest_failed_ranks_error_to_all)
{
    for (int first = 0; first < t->comm.size; first++) {
        struct scr_err err = SCR_ERR_INIT;
        int rc = SCR_OK;
        if (t->comm.rank >= first)
            rc = scr_fail(&err, SCR_E_LOCKED + 0 * first, 0, "thing %d broke",
                          t->comm.rank);
        if (t->comm.rank > first) {
            scr_err_clear(&err);
            rc = scr_fail(&err, SCR_E_NAME, 0, "another thing broke");
        }
        CHECK_RC(scr_agree_all(&t->comm, rc, &err), SCR_E_LOCKED, &err);
        char want[64];
        snprintf(want, sizeof want, "thing %d broke", first);
        CHECK(strcmp(err.text, want) == 0);
        CHECK_INT(err.rank, first);
        CHECK_INT(err.code, SCR_E_LOCKED);
    }
}

MPI_CASE(agree_keeps_the_rank_that_was_known_before)
{
    struct scr_err err = SCR_ERR_INIT;
    int last = t->comm.size - 1, rc = SCR_OK;
    if (t->comm.rank == last) {
        rc = scr_fail(&err, SCR_E_IO, 5, "read of a file");
        err.rank = 77;
    }
    CHECK_RC(scr_agree_all(&t->comm, rc, &err), SCR_E_IO, &err);
    CHECK_INT(err.rank, 77);
    CHECK_INT(err.sys, 5);
}

MPI_CASE(a_vote_has_codes_and_numbers_at_once)
{
    for (int failed = -1; failed < t->comm.size; failed++) {
        struct scr_err err = SCR_ERR_INIT;
        int rank = t->comm.rank, size = t->comm.size, rc = SCR_OK;
        struct scr_vote v = { .least = { rank, -rank, 7 },
                              .sum = { 1, (uint64_t)rank } };
        if (rank == failed)
            rc = scr_fail(&err, SCR_E_FULL, 0, "rank %d is full", rank);
        int want = failed < 0 ? SCR_OK : SCR_E_FULL;
        CHECK_RC(scr_vote_all(&t->comm, rc, &v, &err), want, &err);
        CHECK_INT(err.rank, failed);
        CHECK_INT(v.least[0], 0);
        CHECK_INT(-v.least[1], size - 1);
        CHECK_INT(v.least[2], 7);
        CHECK_INT(v.least[SCR_VOTE_LEAST - 1], 0);
        CHECK_INT((int64_t)v.sum[0], size);
        CHECK_INT((int64_t)v.sum[1], (int64_t)size * (size - 1) / 2);
    }
}

MPI_CASE(marks_distinguish_texts)
{
    CHECK_INT(scr_text_mark("a") == scr_text_mark("b"), 0);
    CHECK_INT(scr_text_mark(NULL) == scr_text_mark(""), 0);
    CHECK_INT(scr_text_mark("a") >= 0 && scr_text_mark("b") >= 0, 1);
    CHECK_INT(scr_text_mark("step 1") == scr_text_mark("step 1"), 1);
}

MPI_CASE(a_split_that_fails_is_an_error)
{
    struct scr_comm part = SCR_COMM_INIT;
    struct scr_err err = SCR_ERR_INIT;
    test_splits_fail = 1;
    CHECK_RC(scr_comm_split_str_all(&t->comm, SCR_OK, "a", &part, &err), SCR_E_MPI,
             &err);
    test_splits_fail = 0;
    CHECK(part.comm == MPI_COMM_NULL);
}

MPI_CASE(agree_works_without_a_place_for_the_text)
{
    int rc = t->comm.rank == t->comm.size - 1 ? SCR_E_FULL : SCR_OK;
    CHECK_INT(scr_agree_all(&t->comm, rc, NULL), SCR_E_FULL);
    struct scr_err err = SCR_ERR_INIT;
    struct scr_err *mine = t->comm.rank == 0 ? NULL : &err;
    CHECK_INT(scr_agree_all(&t->comm, t->comm.rank == 0 ? SCR_E_FULL : SCR_OK, mine),
              SCR_E_FULL);
    if (mine != NULL)
        CHECK(strcmp(err.text, scr_err_meaning(SCR_E_FULL)) == 0);
}

MPI_CASE(reductions)
{
    int n = t->comm.size, r = t->comm.rank;
    CHECK_INT(scr_and_all(&t->comm, 2), 1);
    CHECK_INT(scr_and_all(&t->comm, r != n - 1), 0);
    CHECK_INT(scr_or_all(&t->comm, 0), 0);
    CHECK_INT(scr_or_all(&t->comm, r == n - 1 ? 4 : 0), 1);
    CHECK_INT(scr_max_all(&t->comm, -r), 0);
    CHECK_INT(scr_min_all(&t->comm, -((int64_t)r << 40)), -((int64_t)(n - 1) << 40));
    CHECK(scr_sum_all(&t->comm, (uint64_t)1 << 40) == (uint64_t)n << 40);
    scr_barrier_all(&t->comm);
}

/* Every rank of `part` has text and the ranks are in world order. */
static void check_part(struct mpi_test *t, const struct scr_comm *part,
                       const char *text, int members)
{
    CHECK_INT(part->size, members);
    CHECK_INT(scr_same_all(part, text, strlen(text) + 1), 1);
    int above = -1;
    MPI_Exscan(&t->comm.rank, &above, 1, MPI_INT, MPI_MAX, part->comm);
    CHECK(part->rank == 0 || above < t->comm.rank);
}

MPI_CASE(split_by_text_puts_equal_texts_together)
{
    for (int k = 1; k <= t->comm.size; k++) {
        struct scr_comm part;
        struct scr_err err = SCR_ERR_INIT;
        int mine = t->comm.rank % k;
        char text[32];
        snprintf(text, sizeof text, "node%d", mine);
        CHECK_RC(scr_comm_split_str_all(&t->comm, SCR_OK, text, &part, &err), SCR_OK,
                 &err);
        check_part(t, &part, text, (t->comm.size - mine + k - 1) / k);
        scr_comm_free(&part);
        CHECK(part.comm == MPI_COMM_NULL);
    }
}

MPI_CASE(split_by_text_is_exact_when_hashes_collide)
{
    struct scr_comm part;
    struct scr_err err = SCR_ERR_INIT;
    int mine = t->comm.rank / 2;
    char text[32];
    snprintf(text, sizeof text, "n%d", mine);
    CHECK_RC(scr_comm_split_hash_all(&t->comm, SCR_OK, 5, text, &part, &err), SCR_OK,
             &err);
    check_part(t, &part, text, 2 * mine + 1 < t->comm.size ? 2 : 1);
    scr_comm_free(&part);
}

MPI_CASE(split_by_text_refuses_a_rank_without_one)
{
    struct scr_comm part;
    struct scr_err err = SCR_ERR_INIT;
    int last = t->comm.size - 1;
    const char *text = t->comm.rank == last ? NULL : "a";
    CHECK_RC(scr_comm_split_str_all(&t->comm, SCR_OK, text, &part, &err), SCR_E_CONFIG,
             &err);
    CHECK_INT(err.rank, last);
    CHECK(part.comm == MPI_COMM_NULL);
}

/* The code of the part, without an agreement of all. */
MPI_CASE(split_by_text_that_is_agreed_on_later)
{
    struct scr_comm part;
    struct scr_err err = SCR_ERR_INIT;
    int odd = t->comm.rank % 2, first_odd = t->comm.rank == 1;
    int mine = first_odd ? scr_fail(&err, SCR_E_IO, 0, "before") : SCR_OK;
    int rc = scr_comm_part_str_all(&t->comm, mine, odd ? "odd" : "even", &part, &err);
    CHECK_RC(rc, odd ? SCR_E_IO : SCR_OK, &err);
    CHECK_INT(err.rank, odd ? 1 : -1);
    check_part(t, &part, odd ? "odd" : "even", (t->comm.size + !odd) / 2);
    scr_comm_free(&part);
}

MPI_CASE(parts_whose_ranks_follow_each_other)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_comm none = SCR_COMM_INIT;
    CHECK_INT(scr_comm_is_block(&t->comm, &t->comm), 1);
    CHECK_INT(scr_comm_is_block(&none, &t->comm), 0);
    for (int per = 1; per <= t->comm.size; per++) {
        struct scr_comm block, cycle;
        int rank = t->comm.rank;
        CHECK_RC(scr_comm_split_all(&t->comm, rank / per, rank, &block, &err), SCR_OK,
                 &err);
        CHECK_RC(scr_comm_split_all(&t->comm, rank % per, rank, &cycle, &err), SCR_OK,
                 &err);
        CHECK_INT(scr_comm_is_block(&block, &t->comm), 1);
        CHECK_INT(scr_comm_is_block(&cycle, &t->comm), per == 1 || rank < per);
        scr_comm_free(&block);
        scr_comm_free(&cycle);
    }
}

MPI_CASE(split_without_colour_gives_an_empty_communicator)
{
    struct scr_comm part;
    struct scr_err err = SCR_ERR_INIT;
    int color = t->comm.rank == 0 ? 3 : -1;
    CHECK_RC(scr_comm_split_all(&t->comm, color, 0, &part, &err), SCR_OK, &err);
    CHECK_INT(part.size, t->comm.rank == 0 ? 1 : 0);
    scr_comm_free(&part);
    scr_comm_free(&part);
}

MPI_CASE(strings_are_broadcast)
{
    static const char *const texts[] = { "", "hello", NULL };
    for (int i = 0; i < 3; i++) {
        struct scr_err err = SCR_ERR_INIT;
        int root = i % t->comm.size;
        char *s = scr_strdup(t->comm.rank == root ? texts[i] : "old");
        CHECK_RC(scr_bcast_str_all(&t->comm, root, &s, &err), SCR_OK, &err);
        CHECK(texts[i] == NULL ? s == NULL : s != NULL && strcmp(s, texts[i]) == 0);
        free(s);
    }
}

/* Whatever goes in the first message, and what does not. */
MPI_CASE(texts_and_bytes_of_any_length_arrive)
{
    enum { BEFORE = 1000, AFTER = 1030, LONG = 9300 };
    char *want = scr_calloc(LONG + 1, 1);
    for (int n = 0; n <= LONG; n += n >= BEFORE && n < AFTER ? 1 : 50) {
        struct scr_err err = SCR_ERR_INIT;
        int root = n % t->comm.size, odd = t->comm.rank == t->comm.size - 1;
        memset(want, 'a' + n % 7, (size_t)n);
        char *s = scr_strdup(t->comm.rank == root ? want : "");
        CHECK_RC(scr_bcast_str_all(&t->comm, root, &s, &err), SCR_OK, &err);
        CHECK(s != NULL && strcmp(s, want) == 0);
        CHECK_INT(scr_same_all(&t->comm, s, (size_t)n), 1);
        if (n > 0 && odd)
            s[n - 1] = 'z';
        CHECK_INT(scr_same_all(&t->comm, s, (size_t)n), n == 0 || t->comm.size == 1);
        CHECK_INT(scr_same_all(&t->comm, want, (size_t)(n + odd)), t->comm.size == 1);
        CHECK_INT(scr_same_all(&t->comm, want, odd ? 0 : (size_t)n),
                  n == 0 || t->comm.size == 1);
        free(s);
    }
    CHECK_INT(scr_same_all(&t->comm, NULL, 0), 1);
    free(want);
}

MPI_CASE(bytes_are_compared_over_all_ranks)
{
    enum { N = 100000 };
    char *p = scr_calloc(N, 1);
    memset(p, 'x', N);
    CHECK_INT(scr_same_all(&t->comm, p, N), 1);
    CHECK_INT(scr_same_all(&t->comm, p, 0), 1);
    if (t->comm.size > 1) {
        int odd = t->comm.rank == t->comm.size - 1;
        CHECK_INT(scr_same_all(&t->comm, p, odd ? N - 1 : N), 0);
        CHECK_INT(scr_same_all(&t->comm, p, odd ? N : N - 1), 0);
        p[N - 1] = odd ? 'y' : 'x';
        CHECK_INT(scr_same_all(&t->comm, p, N), 0);
    }
    free(p);
}

/* {"FROM": from, "TO": to, "K": {0 … keys-1}} */
static scr_hash *letter(int from, int to, int keys)
{
    scr_hash *h = scr_hash_new();
    scr_hash_set_val_i64(h, "FROM", from);
    scr_hash_set_val_i64(h, "TO", to);
    for (int i = 0; i < keys; i++)
        scr_hash_set_kv_int(h, "K", i);
    return h;
}

MPI_CASE(hashes_are_broadcast_and_merged)
{
    for (int keys = 0; keys <= 30000; keys += keys < 300 ? 1 : 29700) {
        struct scr_err err = SCR_ERR_INIT;
        int root = t->comm.size - 1;
        scr_hash *want = letter(root, -1, keys);
        scr_hash *h = t->comm.rank == root ? scr_hash_dup(want) : scr_hash_new();
        CHECK_RC(scr_hash_share_all(&t->comm, root, SCR_OK, h, &err), SCR_OK, &err);
        CHECK(scr_hash_equal(h, want));
        scr_hash_delete(h);
        scr_hash_delete(want);
    }
}

/* The same, byte by byte past the end of the first message. */
MPI_CASE(hashes_of_any_length_are_broadcast)
{
    char text[2100];
    for (size_t n = 1900; n < sizeof text; n++) {
        struct scr_err err = SCR_ERR_INIT;
        scr_hash *want = scr_hash_new(), *h = scr_hash_new();
        memset(text, 'a' + (int)(n % 7), n);
        text[n] = '\0';
        scr_hash_set_val(want, "TEXT", text);
        if (t->comm.rank == 0)
            scr_hash_merge(h, want);
        CHECK_RC(scr_hash_share_all(&t->comm, 0, SCR_OK, h, &err), SCR_OK, &err);
        CHECK(scr_hash_equal(h, want));
        scr_hash_delete(h);
        scr_hash_delete(want);
    }
}

/* What a rank without memory passes: all leave with its error. */
MPI_CASE(a_hash_that_could_not_be_made_is_an_error_everywhere)
{
    for (int who = 0; who < t->comm.size; who++) {
        for (int keys = 0; keys <= 3000; keys += 3000) {
            struct scr_err err = SCR_ERR_INIT;
            scr_hash *h = t->comm.rank == who ? NULL : letter(who, -1, keys);
            CHECK_RC(scr_hash_share_all(&t->comm, 0, SCR_OK, h, &err), SCR_E_NOMEM,
                     &err);
            CHECK_INT(err.rank, who);
            scr_hash_delete(h);
        }
    }
}

/* "<from> to <to>: …" with n bytes that follow. */
static void write_bytes(struct scr_str *s, int from, int to, int n)
{
    scr_str_printf(s, "%d to %d:", from, to);
    for (int i = 0; i < n; i++)
        scr_str_append_n(s, &(char){ (char)(i * 31 + from) }, 1);
}

static int is_same_bytes(const struct scr_str *a, const struct scr_str *b)
{
    return a->len == b->len && memcmp(a->p, b->p, a->len) == 0;
}

MPI_CASE(bytes_go_round_a_ring)
{
    static const int lens[] = { 0, 7, 65536, 500000 };
    int n = t->comm.size, me = t->comm.rank, right = (me + 1) % n,
        left = (me + n - 1) % n;
    for (int i = 0; i < 4; i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_str out = SCR_STR_INIT, in = SCR_STR_INIT, want = SCR_STR_INIT;
        write_bytes(&out, me, right, lens[i]);
        write_bytes(&want, left, me, lens[i]);
        CHECK_RC(scr_bytes_sendrecv(&t->comm, &out, right, &in, left, &err), SCR_OK,
                 &err);
        CHECK(is_same_bytes(&in, &want));
        scr_str_free(&out);
        scr_str_free(&in);
        scr_str_free(&want);
    }
}

MPI_CASE(bytes_go_along_a_line)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_str out = SCR_STR_INIT, in = SCR_STR_INIT, want = SCR_STR_INIT;
    int n = t->comm.size, me = t->comm.rank;
    int right = me + 1 < n ? me + 1 : MPI_PROC_NULL,
        left = me > 0 ? me - 1 : MPI_PROC_NULL;
    write_bytes(&out, me, me + 1, 3);
    write_bytes(&want, me - 1, me, 3);
    CHECK_RC(scr_bytes_sendrecv(&t->comm, &out, right, &in, left, &err), SCR_OK, &err);
    CHECK(me > 0 ? is_same_bytes(&in, &want) : in.len == 0);
    scr_str_free(&in);
    scr_str_free(&want);
    if (n > 1 && me == 0)
        CHECK_RC(scr_bytes_sendrecv(&t->comm, &out, n - 1, NULL, MPI_PROC_NULL, &err),
                 SCR_OK, &err);
    if (n > 1 && me == n - 1) {
        write_bytes(&want, 0, 1, 3);
        CHECK_RC(scr_bytes_sendrecv(&t->comm, NULL, MPI_PROC_NULL, &in, 0, &err),
                 SCR_OK, &err);
        CHECK(is_same_bytes(&in, &want));
    }
    scr_str_free(&out);
    scr_str_free(&in);
    scr_str_free(&want);
}

/* A fixed pattern of who writes to whom in round `round`. */
static int writes(int from, int to, int round)
{
    return (unsigned)(from * 7 + to * 13 + round * 5 + from * to) % 3 == 0;
}

MPI_CASE(sparse_exchange_of_nothing)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_parcels out = { 0 }, in = { 0 };
    CHECK_RC(scr_parcels_exchange_all(&t->comm, SCR_OK, &out, &in, &err), SCR_OK, &err);
    CHECK_INT(in.n, 0);
}

MPI_CASE(sparse_exchange_refuses_a_number_that_is_no_rank)
{
    static const int bad[] = { -1, 99999 };
    for (int i = 0; i < 2; i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_parcels out = { 0 }, in = { 0 };
        CHECK_INT(scr_parcel_text(&out, 0, "good", NULL), SCR_OK);
        if (t->comm.rank == t->comm.size - 1)
            CHECK_INT(scr_parcel_text(&out, bad[i], "bad", NULL), SCR_OK);
        CHECK_RC(scr_parcels_exchange_all(&t->comm, SCR_OK, &out, &in, &err),
                 SCR_E_RANGE, &err);
        CHECK_INT(err.rank, t->comm.size - 1);
        CHECK_INT(in.n, 0);
        scr_parcels_free(&out);
    }
}

/* --- bytes and texts --- */

/* Texts, some of more than a page depending on the round, to the ranks that `writes`
 * gives. */
static void pass_round(struct mpi_test *t, int round)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_parcels out = { 0 }, in = { 0 };
    int me = t->comm.rank, texts = round % 4 == 3 ? 20000 : round;
    for (int r = t->comm.size - 1; r >= 0; r--)
        for (int i = 0; writes(me, r, round) && i < texts; i++) {
            CHECK_INT(scr_parcel_printf(&out, r, NULL, "%d to %d", me, r), SCR_OK);
            CHECK_INT(scr_parcel_text(&out, r, i % 2 ? "odd" : "", NULL), SCR_OK);
        }
    CHECK_RC(scr_parcels_exchange_all(&t->comm, SCR_OK, &out, &in, &err), SCR_OK, &err);
    size_t n = 0;
    for (int r = 0; r < t->comm.size; r++) {
        char want[32];
        int i = 0;
        if (!writes(r, me, round) || texts == 0)
            continue;
        snprintf(want, sizeof want, "%d to %d", r, me);
        CHECK(n < in.n && in.of[n].rank == r);
        for (SCR_TEXTS(text, &in.of[n].bytes)) {
            const char *should = i % 2 == 0 ? want : i % 4 == 3 ? "odd" : "";
            CHECK(strcmp(text, should) == 0);
            i++;
        }
        CHECK_INT(i, 2 * texts);
        n++;
    }
    CHECK_INT(in.n, n);
    scr_parcels_free(&out);
    scr_parcels_free(&in);
}

MPI_CASE(parcels_of_texts_come_by_ascending_rank)
{
    for (int round = 0; round < 60; round++)
        pass_round(t, round);
}

MPI_CASE(what_follows_the_last_text_is_none)
{
    char bytes[] = { 'a', '\0', '\0', 'b', 'c' };
    struct scr_str s = { .p = bytes, .len = sizeof bytes };
    int n = 0;
    for (SCR_TEXTS(text, &s))
        CHECK(strcmp(text, n++ == 0 ? "a" : "") == 0);
    CHECK_INT(n, 2);
    s = (struct scr_str)SCR_STR_INIT;
    for (SCR_TEXTS(text, &s))
        CHECK(text == NULL);
}

/* Those that had no error before have none of what others sent. */
MPI_CASE(an_error_before_a_pass_is_that_of_all)
{
    for (int who = 0; who < t->comm.size; who++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_parcels out = { 0 }, in = { 0 };
        int rc = SCR_OK;
        for (int r = 0; r < t->comm.size; r++)
            CHECK_INT(scr_parcel_text(&out, r, "lost", NULL), SCR_OK);
        if (t->comm.rank == who)
            rc = scr_fail(&err, SCR_E_CORRUPT, 0, "as rank %d found", who);
        rc = scr_parcels_exchange_all(&t->comm, rc, &out, &in, &err);
        CHECK_RC(rc, SCR_E_CORRUPT, &err);
        CHECK_INT(err.rank, who);
        CHECK_INT(in.n, 0);
        scr_parcels_free(&out);
    }
}

MPI_CASE(bytes_that_could_not_be_had_are_an_error_of_all)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_parcels out = { 0 }, in = { 0 };
    int last = t->comm.size - 1;
    CHECK_INT(scr_parcel_text(&out, 0, "text", NULL), SCR_OK);
    if (t->comm.rank == last)
        scr_str_spoil(scr_parcel_to(&out, 0));
    CHECK_RC(scr_parcels_exchange_all(&t->comm, SCR_OK, &out, &in, &err), SCR_E_NOMEM,
             &err);
    CHECK_INT(in.n, 0);
    scr_parcels_free(&out);
}

MPI_CASE(bytes_of_all_ranks_come_to_all)
{
    static const size_t lens[] = { 0, 1, 700, 50000 };
    for (int i = 0; i < 4; i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_str mine = SCR_STR_INIT, all = SCR_STR_INIT;
        size_t at = 0;
        for (size_t k = 0; k < lens[i]; k++)
            scr_str_append_n(&mine, &(char){ (char)('a' + t->comm.rank) }, 1);
        CHECK_RC(scr_bytes_share_all(&t->comm, SCR_OK, &mine, &all, &err), SCR_OK,
                 &err);
        CHECK_INT(all.len, lens[i] * (size_t)t->comm.size);
        for (int r = 0; r < t->comm.size; r++)
            for (size_t k = 0; k < lens[i] && at < all.len; k++)
                CHECK(all.p[at++] == 'a' + r);
        scr_str_free(&mine);
        scr_str_free(&all);
    }
}

MPI_CASE(an_error_before_a_share_is_that_of_all)
{
    for (int who = 0; who < t->comm.size; who++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_str mine = SCR_STR_INIT, all = SCR_STR_INIT;
        scr_hash *h = scr_hash_new();
        int mine_rc = SCR_OK;
        scr_str_append(&mine, "mine");
        if (t->comm.rank == who)
            mine_rc = scr_fail(&err, SCR_E_IO, 0, "read");
        CHECK_RC(scr_bytes_share_all(&t->comm, mine_rc, &mine, &all, &err), SCR_E_IO,
                 &err);
        CHECK_INT(all.len, 0);
        CHECK_RC(scr_hash_share_all(&t->comm, 0, mine_rc, h, &err), SCR_E_IO, &err);
        CHECK_INT(err.rank, who);
        scr_hash_delete(h);
        scr_str_free(&mine);
    }
}

MPI_CASE(least_numbers_come_with_the_code)
{
    int last = t->comm.size - 1, rank = t->comm.rank;
    for (int fails = 0; fails <= 1; fails++) {
        struct scr_err err = SCR_ERR_INIT;
        int64_t v[] = { 99, rank + 5, -rank };
        int mine = fails && rank == last ? scr_fail(&err, SCR_E_IO, 0, "read") : SCR_OK;
        CHECK_RC(scr_agree_mins_all(&t->comm, mine, v, 3, &err),
                 fails ? SCR_E_IO : SCR_OK, &err);
        CHECK_INT(err.rank, fails ? last : -1);
        CHECK(v[1] == 5 && v[2] == -last);
    }
}

MPI_CASE(largest_of_the_ranks_below)
{
    uint64_t v = (uint64_t)(t->comm.rank * 7 % 4), want = 0;
    for (int r = 0; r < t->comm.rank; r++)
        want = (uint64_t)(r * 7 % 4) > want ? (uint64_t)(r * 7 % 4) : want;
    CHECK_INT(scr_max_below_all(&t->comm, v), want);
}

MPI_CASE(a_failed_mpi_call_is_an_error_and_no_abort)
{
    struct scr_err err = SCR_ERR_INIT;
    char byte = 0;
    CHECK_RC(scr_bcast_bytes_all(&t->comm, t->comm.size + 3, &byte, 1, &err), SCR_E_MPI,
             &err);
    CHECK(err.text[0] != '\0');
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(agree_is_ok_when_no_rank_failed),
                  RUN(agree_gives_the_lowest_failed_ranks_error_to_all),
                  RUN(agree_keeps_the_rank_that_was_known_before),
                  RUN(a_vote_has_codes_and_numbers_at_once),
                  RUN(marks_distinguish_texts), RUN(a_split_that_fails_is_an_error),
                  RUN(agree_works_without_a_place_for_the_text), RUN(reductions),
                  RUN(split_by_text_puts_equal_texts_together),
                  RUN(split_by_text_is_exact_when_hashes_collide),
                  RUN(split_by_text_refuses_a_rank_without_one),
                  RUN(split_by_text_that_is_agreed_on_later),
                  RUN(parts_whose_ranks_follow_each_other),
                  RUN(split_without_colour_gives_an_empty_communicator),
                  RUN(strings_are_broadcast), RUN(texts_and_bytes_of_any_length_arrive),
                  RUN(bytes_are_compared_over_all_ranks),
                  RUN(hashes_are_broadcast_and_merged),
                  RUN(hashes_of_any_length_are_broadcast),
                  RUN(a_hash_that_could_not_be_made_is_an_error_everywhere),
                  RUN(bytes_go_round_a_ring), RUN(bytes_go_along_a_line),
                  RUN(sparse_exchange_of_nothing),
                  RUN(sparse_exchange_refuses_a_number_that_is_no_rank),
                  RUN(parcels_of_texts_come_by_ascending_rank),
                  RUN(what_follows_the_last_text_is_none),
                  RUN(an_error_before_a_pass_is_that_of_all),
                  RUN(bytes_that_could_not_be_had_are_an_error_of_all),
                  RUN(bytes_of_all_ranks_come_to_all),
                  RUN(an_error_before_a_share_is_that_of_all),
                  RUN(least_numbers_come_with_the_code),
                  RUN(largest_of_the_ranks_below),
                  RUN(a_failed_mpi_call_is_an_error_and_no_abort)));
}
