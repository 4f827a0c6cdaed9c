/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcast and exchange of bytes, texts and hashes. */
/* ranks: 1 2 5 8 */
#include "base/str.h"
#include "mpi_test.h"

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

static int share_all(const struct scr_comm *c, int root, int rc, scr_hash *h,
                     struct scr_err *err)
{
    rc = scr_hash_bcast_all(c, root, rc, h, err);
    return scr_agree_all(c, rc, err);
}

MPI_CASE(hashes_are_broadcast_and_merged)
{
    for (int keys = 0; keys <= 30000; keys += keys < 300 ? 1 : 29700) {
        struct scr_err err = SCR_ERR_INIT;
        int root = t->comm.size - 1;
        scr_hash *want = letter(root, -1, keys);
        scr_hash *h = t->comm.rank == root ? scr_hash_dup(want) : scr_hash_new();
        CHECK_RC(share_all(&t->comm, root, SCR_OK, h, &err), SCR_OK, &err);
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
        CHECK_RC(share_all(&t->comm, 0, SCR_OK, h, &err), SCR_OK, &err);
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
            CHECK_RC(share_all(&t->comm, 0, SCR_OK, h, &err), SCR_E_NOMEM, &err);
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

/* All of out but the last `less` bytes go to `to`, len bytes come from `from`. */
static int swap(const struct mpi_test *t, const struct scr_str *out, size_t less,
                int to, struct scr_str *in, size_t len, int from, struct scr_err *err)
{
    struct scr_swap w = { .comm = &t->comm,
                          .to = to,
                          .send = to != MPI_PROC_NULL ? out->len : 0,
                          .from = from,
                          .recv = from != MPI_PROC_NULL ? len : 0,
                          .in = in,
                          .err = err };
    struct scr_str s = { .drain = scr_swap_begin(&w) };
    for (size_t i = 0; i + less < out->len; i += 777) /* as they are made */
        scr_str_append_n(&s, out->p + i,
                         out->len - less - i < 777 ? out->len - less - i : 777);
    return scr_swap_end(&w, &s);
}

MPI_CASE(bytes_go_round_a_ring)
{
    static const int lens[] = { 0, 7, 65536, 500000 };
    int n = t->comm.size, me = t->comm.rank, right = (me + 1) % n,
        left = (me + n - 1) % n;
    for (int i = 0; i < 4; i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_str out = SCR_STR_INIT, in = SCR_STR_INIT, want = SCR_STR_INIT;
        write_bytes(&out, me, right, me == 0 ? 3 * lens[i] : lens[i]);
        write_bytes(&want, left, me, left == 0 ? 3 * lens[i] : lens[i]);
        CHECK_RC(swap(t, &out, 0, right, &in, want.len, left, &err), SCR_OK, &err);
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
    CHECK_RC(swap(t, &out, 0, right, &in, want.len, left, &err), SCR_OK, &err);
    CHECK(me > 0 ? is_same_bytes(&in, &want) : in.len == 0);
    scr_str_free(&out);
    scr_str_free(&in);
    scr_str_free(&want);
}

MPI_CASE(a_rank_that_sends_less_than_it_promised_is_not_waited_for)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_str out = SCR_STR_INIT, in = SCR_STR_INIT, want = SCR_STR_INIT;
    int n = t->comm.size, me = t->comm.rank, right = (me + 1) % n,
        left = (me + n - 1) % n;
    size_t less = me == 0 ? 200000 : 0, missing = left == 0 ? 200000 : 0;
    write_bytes(&out, me, right, 300000);
    write_bytes(&want, left, me, 300000);
    CHECK_RC(swap(t, &out, less, right, &in, want.len, left, &err), SCR_OK, &err);
    memset(want.p + want.len - missing, 0, missing);
    CHECK(is_same_bytes(&in, &want));
    scr_str_free(&out);
    scr_str_free(&in);
    scr_str_free(&want);
}

MPI_CASE(bytes_for_which_there_is_no_memory_hold_no_rank_up)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_str in = SCR_STR_INIT;
    int n = t->comm.size, me = t->comm.rank;
    struct scr_swap w = { .comm = &t->comm,
                          .to = (me + 1) % n,
                          .send = 100000,
                          .from = (me + n - 1) % n,
                          .recv = 100000,
                          .in = &in,
                          .err = &err };
    struct scr_str out = { .drain = scr_swap_begin(&w) };
    scr_str_append(&out, "some");
    if (me == 0)
        scr_str_spoil(&out);
    CHECK_RC(scr_swap_end(&w, &out), me == 0 ? SCR_E_NOMEM : SCR_OK, &err);
    CHECK(in.len == 100000);
    scr_str_free(&in);
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
        CHECK_RC(share_all(&t->comm, 0, mine_rc, h, &err), SCR_E_IO, &err);
        CHECK_INT(err.rank, who);
        scr_hash_delete(h);
        scr_str_free(&mine);
    }
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(strings_are_broadcast), RUN(texts_and_bytes_of_any_length_arrive),
                  RUN(bytes_are_compared_over_all_ranks),
                  RUN(hashes_are_broadcast_and_merged),
                  RUN(hashes_of_any_length_are_broadcast),
                  RUN(a_hash_that_could_not_be_made_is_an_error_everywhere),
                  RUN(bytes_go_round_a_ring), RUN(bytes_go_along_a_line),
                  RUN(a_rank_that_sends_less_than_it_promised_is_not_waited_for),
                  RUN(bytes_for_which_there_is_no_memory_hold_no_rank_up),
                  RUN(sparse_exchange_of_nothing),
                  RUN(sparse_exchange_refuses_a_number_that_is_no_rank),
                  RUN(parcels_of_texts_come_by_ascending_rank),
                  RUN(what_follows_the_last_text_is_none),
                  RUN(an_error_before_a_pass_is_that_of_all),
                  RUN(bytes_that_could_not_be_had_are_an_error_of_all),
                  RUN(bytes_of_all_ranks_come_to_all),
                  RUN(an_error_before_a_share_is_that_of_all)));
}
