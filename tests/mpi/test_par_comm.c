/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement, splitting by text, broadcast and exchange of hashes. */
/* ranks: 1 2 5 8 */

#include "mpi_test.h"

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

/* SCR relies on the order of messages, and takes them from any source. */
MPI_CASE(a_duplicate_has_none_of_the_hints_of_the_program)
{
    static const char *const hints[] = { "mpi_assert_allow_overtaking",
                                         "mpi_assert_no_any_source",
                                         "mpi_assert_exact_length" };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_comm own = SCR_COMM_INIT;
    MPI_Comm theirs;
    MPI_Info info;
    MPI_Info_create(&info);
    for (size_t i = 0; i < 3; i++)
        MPI_Info_set(info, hints[i], "true");
    MPI_Comm_dup_with_info(t->comm.comm, info, &theirs);
    MPI_Info_free(&info);
    CHECK_RC(scr_comm_dup_all(theirs, &own, &err), SCR_OK, &err);
    MPI_Comm_get_info(own.comm, &info);
    for (size_t i = 0; i < 3; i++) {
        char is[8] = "";
        int known = 0;
        MPI_Info_get(info, hints[i], sizeof is - 1, is, &known);
        CHECK(!known || strcmp(is, "true") != 0);
    }
    MPI_Info_free(&info);
    scr_comm_free(&own);
    MPI_Comm_free(&theirs);
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
                  RUN(a_duplicate_has_none_of_the_hints_of_the_program),
                  RUN(least_numbers_come_with_the_code),
                  RUN(largest_of_the_ranks_below),
                  RUN(a_failed_mpi_call_is_an_error_and_no_abort)));
}
