/* SPDX-License-Identifier: BSD-3-Clause */
/* Which checkpoint a restart takes: a row a case. */
#include "helper_tmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "fmt/dataset.h"
#include "fmt/restart_order.h"

/* Copies are words "<id><where and state><look><marks>":
 *   c in cache: cl lost, ck kept, cg purged; f in cache, of a different number of ranks
 *   p prefix: pi incomplete, pf failed, pd being deleted, pu unlisted
 *   + good, ! damaged, ? cannot be read; without one nothing is known
 *   * current, o output, x its number is another dataset's, = of a different number
 * The name of dataset n is "n", or what follows a colon. */
static struct scr_restart_copy parse(char *word)
{
    struct scr_restart_copy c = { .is_ckpt = 1 };
    char *at, *name = strchr(word, ':');
    c.id = (int)strtol(word, &at, 10);
    c.cached = *at != 'p';
    c.foreign = *at == 'f';
    int in_cache = *at++ == 'c';
    for (; *at != '\0' && *at != ':'; at++) {
        c.state = *at == 'l'                ? SCR_COPY_LOST
                  : *at == 'k'              ? SCR_COPY_KEPT
                  : *at == 'g'              ? SCR_COPY_PURGED
                  : *at == 'i'              ? SCR_COPY_INCOMPLETE
                  : *at == 'f' && !in_cache ? SCR_COPY_FAILED
                  : *at == 'd'              ? SCR_COPY_DELETED
                  : *at == 'u'              ? SCR_COPY_UNLISTED
                                            : c.state;
        c.look = *at == '+'   ? SCR_LOOK_GOOD
                 : *at == '!' ? SCR_LOOK_DAMAGED
                 : *at == '?' ? SCR_LOOK_ERROR
                              : c.look;
        c.current |= *at == '*';
        c.clash |= *at == 'x';
        c.foreign |= *at == '=';
        c.is_ckpt &= *at != 'o';
    }
    if (name == NULL) {
        for (name = word; *name >= '0' && *name <= '9'; name++)
            ;
        *name = '\0';
        name = word;
    } else {
        name++;
    }
    c.name = name;
    return c;
}

static void list_copies(struct scr_restart_list *list, char *text)
{
    char *save = NULL;
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
        scr_restart_list_add(list, parse(w));
    assert_false(list->bad);
}

/* The turns, "4p 3c 2f", in this order. */
static char *turns_of(const struct scr_restart_list *list)
{
    struct scr_str s = SCR_STR_INIT;
    const struct scr_restart_copy *c;
    scr_str_printf(&s, "%s", "");
    for (int turn = 1; (c = scr_restart_turn(list, turn)) != NULL; turn++)
        scr_str_printf(&s, "%s%d%c", turn > 1 ? " " : "", c->id,
                       !c->cached ? 'p' : 'c');
    return scr_str_take(&s);
}

struct row {
    const char *what, *copies;
    const char *turns;   /* what is tried, "4p 3c" */
    const char *reasons; /* a word a copy, as they are listed; NULL: not looked at */
    struct scr_restart_ask q;
    int no_fetch;
};

static void check(const struct row *row)
{
    struct scr_restart_list list = { 0 };
    struct scr_restart_ask q = row->q;
    struct scr_str words = SCR_STR_INIT;
    char *text = scr_strdup(row->copies);
    q.fetch = !row->no_fetch;
    list_copies(&list, text);
    const struct scr_restart_copy *taken = scr_restart_order(&q, &list);
    char *turns = turns_of(&list);
    scr_str_printf(&words, "%s", "");
    for (size_t i = 0; i < list.n; i++) {
        scr_str_printf(&words, "%s%s", i > 0 ? " " : "",
                       scr_passed_word(list.c[i].passed));
        free(scr_passed_text(&list.c[i]));
        if (list.c[i].look != SCR_LOOK_NONE)
            assert_int_equal(list.c[i].passed == SCR_PASSED_NOT, &list.c[i] == taken);
    }
    if (strcmp(turns, row->turns) != 0 ||
        (row->reasons != NULL && strcmp(words.p, row->reasons) != 0))
        fail_msg("%s: \"%s\", \"%s\"", row->what, turns, words.p);
    free(turns);
    free(text);
    scr_str_free(&words);
    scr_restart_list_fini(&list);
}

/* --- what a run tries, of which it knows nothing before --- */

static void a_search(void **state)
{
    static const struct row rows[] = {
        { .what = "nothing", .copies = "", .turns = "" },
        { .what = "cache alone, newest first",
          .copies = "1c 3c 2c",
          .turns = "3c 2c 1c" },
        { .what = "the same on the prefix", .copies = "3c 3p 2p", .turns = "3c" },
        { .what = "newer on the prefix", .copies = "2c 3p 1p", .turns = "3p 2c" },
        { .what = "an older one is current", .copies = "2c 3p 1p*", .turns = "2c" },
        { .what = "a newer one is current, the newest is not",
          .copies = "2c 5p 4p* 3p 1p",
          .turns = "4p 3p 2c" },
        { .what = "nothing in cache", .copies = "3p 2p 1p", .turns = "3p 2p 1p" },
        { .what = "nothing in cache, an older one is current",
          .copies = "3p 2p* 1p",
          .turns = "2p 1p" },
        { .what = "current leads to one that failed",
          .copies = "3p 2pf* 1p",
          .turns = "3p 1p" },
        { .what = "something newer is lost, an older one current",
          .copies = "2c 3cl 3p 1p*",
          .turns = "3p 2c" },
        { .what = "something newer is lost, what is in cache current",
          .copies = "2c 3cl 3p 2p*",
          .turns = "2c" },
        { .what = "something older is lost", .copies = "2c 1cl 3p 1p*", .turns = "2c" },
        { .what = "output that is newer is lost",
          .copies = "2c 3clo 4p 1p*",
          .turns = "4p 2c" },
        { .what = "something newer is kept",
          .copies = "2c 3ck 3p 1p*",
          .turns = "3p 2c" },
        { .what = "all is kept", .copies = "3ck 2ck 3p 2p", .turns = "3p 2p" },
        { .what = "kept, and nowhere else", .copies = "3ck 2c 2p", .turns = "2c" },
        { .what = "what is purged is not there",
          .copies = "3cg 2c 3p 2p*",
          .turns = "2c" },
        { .what = "no fetch", .copies = "2c 1c 3p", .turns = "2c 1c", .no_fetch = 1 },
        { .what = "no fetch, nothing in cache",
          .copies = "3p 2pi",
          .turns = "",
          .no_fetch = 1 },
        { .what = "output is none", .copies = "4co 3po 2c 1p", .turns = "2c" },
        { .what = "a different number of ranks in cache",
          .copies = "3f 2c 3p 2p 1p",
          .turns = "3c 3p 2c" },
        { .what = "of it alone", .copies = "3f 1f 2p", .turns = "3c 2p 1c" },
        { .what = "of it, older than its own", .copies = "2f 3c 2p", .turns = "3c" },
        { .what = "back below one that was refused",
          .copies = "4c 2c 5p 3p 1p",
          .turns = "3p 2c",
          .q = { .below = 4 } },
        { .what = "the limit hides the current one",
          .copies = "3p* 2p 1p",
          .turns = "2p 1p",
          .q = { .below = 3 } },
        { .what = "unfinished ones are the last",
          .copies = "4pi 3pd 2pi 1p 1pu",
          .turns = "1p 4p 2p" },
        { .what = "unfinished ones below a limit",
          .copies = "4pi 2pi",
          .turns = "2p",
          .q = { .below = 4 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

static void a_search_by_way_of_the_prefix(void **state)
{
    static const struct row rows[] = {
        { .what = "in turn down to the oldest; a number may be another dataset's",
          .copies = "3c 1c 4p 3p 2p 1p",
          .turns = "4p 3c 3p 2p 1c 1p",
          .q = { .global = 1 } },
        { .what = "the current one is in cache",
          .copies = "2c 1c 3p 2p*",
          .turns = "2c 2p 1c",
          .q = { .global = 1 } },
        { .what = "a different number of ranks, too",
          .copies = "3f 2c 1p",
          .turns = "3c 2c 1p",
          .q = { .global = 1 } },
        { .what = "no fetch",
          .copies = "2c 1c 2p",
          .turns = "2c 1c",
          .q = { .global = 1 },
          .no_fetch = 1 },
        { .what = "unfinished ones below what was tried",
          .copies = "3c 4pi 2pi 1p",
          .turns = "3c 1p",
          .q = { .global = 1 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

/* --- what is known before --- */

static void what_looks_tell(void **state)
{
    static const struct row rows[] = {
        { .what = "in cache",
          .copies = "3c+ 2c+ 3p+ 4po 1p+",
          .turns = "3c",
          .reasons = "taken older cached output older" },
        { .what = "the newest of the prefix is damaged",
          .copies = "4p! 3p? 2p+ 1pu!",
          .turns = "4p 3p 2p",
          .reasons = "damaged unreadable taken unlisted" },
        { .what = "the current one is damaged, and all that is older",
          .copies = "3p+ 2p!* 1p!",
          .turns = "2p 1p",
          .reasons = "stopped damaged damaged" },
        { .what = "kept, and on the prefix",
          .copies = "3ck? 2c+ 3p+",
          .turns = "3p",
          .reasons = "kept older taken" },
        { .what = "kept, and damaged on the prefix",
          .copies = "3ck? 2c+ 3p!",
          .turns = "3p 2c",
          .reasons = "kept taken damaged" },
        { .what = "purged",
          .copies = "3cg+ 2p+",
          .turns = "2p",
          .reasons = "purged taken" },
        { .what = "lost, failed, on its way out",
          .copies = "5cl! 4pf+ 3pd! 2pi! 1p+",
          .turns = "1p",
          .reasons = "lost failed deleted incomplete taken" },
        { .what = "no fetch",
          .copies = "3p+ 2c+",
          .turns = "2c",
          .reasons = "unfetched taken",
          .no_fetch = 1 },
        { .what = "all that is there was not finished",
          .copies = "3pi! 2pi+ 1pi+",
          .turns = "3p 2p",
          .reasons = "incomplete taken incomplete" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

static void other_numbers_of_ranks(void **state)
{
    static const struct row rows[] = {
        { .what = "not offered",
          .copies = "4f+ 3c+ 5p+= 2p+",
          .turns = "5p 4c 3c",
          .reasons = "ranks taken ranks older" },
        { .what = "offered",
          .copies = "4f+ 3c+ 5p+= 2p+",
          .turns = "5p",
          .reasons = "older older taken older",
          .q = { .any_ranks = 1 } },
        { .what = "offered out of the cache",
          .copies = "4f+ 3c+ 4p+=",
          .turns = "4c",
          .reasons = "taken older cached",
          .q = { .any_ranks = 1 } },
        { .what = "lost in cache, on the prefix",
          .copies = "4f! 3c+ 4p+=",
          .turns = "4c 4p",
          .reasons = "damaged older taken",
          .q = { .any_ranks = 1 } },
        { .what = "its number is another dataset's",
          .copies = "4f+x 3c+ 4p+x",
          .turns = "4c 4p",
          .reasons = "ranks older taken" },
        { .what = "likewise, and it is offered",
          .copies = "4f+x 3c+ 4p+x",
          .turns = "4c 4p",
          .reasons = "number older taken",
          .q = { .any_ranks = 1 } },
        { .what = "likewise, of this number of ranks",
          .copies = "4c+x 3c+ 4p+x",
          .turns = "4c",
          .reasons = "taken older number" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

static void global_restarts(void **state)
{
    static const struct row rows[] = {
        { .what = "flushed and read",
          .copies = "3c+ 2p+",
          .turns = "3c",
          .reasons = "taken older",
          .q = { .global = 1 } },
        { .what = "it cannot be flushed: another job's has the number",
          .copies = "3c+x 2c+ 3p+x",
          .turns = "3c 3p",
          .reasons = "number older taken",
          .q = { .global = 1 } },
        { .what = "the program reads the prefix itself",
          .copies = "3c+ 2c+ 3p+",
          .turns = "3c",
          .reasons = "program stopped unfetched",
          .q = { .global = 1 },
          .no_fetch = 1 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

static void what_the_user_names(void **state)
{
    static const struct row rows[] = {
        { .what = "in cache, older",
          .copies = "3c+ 2c+ 4p+*",
          .turns = "2c",
          .reasons = "newer taken newer",
          .q = { .wanted = "2" } },
        { .what = "on the prefix",
          .copies = "3c+ 2p+ 1p+",
          .turns = "2p",
          .reasons = "newer taken older",
          .q = { .wanted = "2" } },
        { .what = "nobody",
          .copies = "3c+ 2p+",
          .turns = "3c",
          .q = { .wanted = "nobody" } },
        { .what = "an output",
          .copies = "3c+ 2co",
          .turns = "3c",
          .q = { .wanted = "2" } },
        { .what = "not complete",
          .copies = "3c+ 2pi+",
          .turns = "3c",
          .q = { .wanted = "2" } },
        { .what = "of two the newer one",
          .copies = "4c+ 3p+:same 2c+:same",
          .turns = "3p",
          .q = { .wanted = "same" } },
        { .what = "one that failed before",
          .copies = "3c+ 2pf+",
          .turns = "2p",
          .q = { .wanted = "2" } },
        { .what = "damaged: an older one",
          .copies = "3c+ 2p! 1p+",
          .turns = "2p 1p",
          .reasons = "newer damaged taken",
          .q = { .wanted = "2" } },
        { .what = "damaged, without an older one: the newest",
          .copies = "3c+ 1p!",
          .turns = "1p 3c",
          .reasons = "taken damaged",
          .q = { .wanted = "1" } },
        { .what = "it cannot be read: nothing",
          .copies = "3c+ 2p? 1p+",
          .turns = "2p",
          .reasons = "stopped unreadable stopped",
          .q = { .wanted = "2" } },
        { .what = "kept: nothing",
          .copies = "3c+ 2ck? 1p+",
          .turns = "2c",
          .reasons = "stopped kept stopped",
          .q = { .wanted = "2" } },
        { .what = "kept, and on the prefix",
          .copies = "3c+ 2ck? 2p+",
          .turns = "2p",
          .reasons = "newer kept taken",
          .q = { .wanted = "2" } },
        { .what = "of a different number of ranks",
          .copies = "3c+ 2p+= 1p+",
          .turns = "2p 1p",
          .reasons = "newer ranks taken",
          .q = { .wanted = "2" } },
        { .what = "likewise, offered",
          .copies = "3c+ 2p+= 1p+",
          .turns = "2p",
          .q = { .wanted = "2", .any_ranks = 1 } },
        { .what = "on the prefix, without a fetch: nothing",
          .copies = "3c+ 2p+",
          .turns = "2p",
          .reasons = "stopped unfetched",
          .q = { .wanted = "2" },
          .no_fetch = 1 },
        { .what = "in cache its number is another dataset's",
          .copies = "3c+ 2c+x:mine 2p+x:theirs",
          .turns = "3c",
          .q = { .wanted = "theirs" } },
        { .what = "which has the same name",
          .copies = "3c+ 2c+x:same 2p+x:same",
          .turns = "2c",
          .q = { .wanted = "same" } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

static void back_before_lost_output(void **state)
{
    static const struct row rows[] = {
        { .what = "the newest before it",
          .copies = "4c+ 2c+ 5p+ 1p+",
          .turns = "2c",
          .reasons = "after-lost taken after-lost older",
          .q = { .lost = 3 } },
        { .what = "that is damaged, then an older one",
          .copies = "4c+ 2p! 1p+",
          .turns = "2p 1p",
          .reasons = "after-lost damaged taken",
          .q = { .lost = 3 } },
        { .what = "none before it",
          .copies = "4c+ 5p+",
          .turns = "5p",
          .q = { .lost = 3 } },
        { .what = "none before it can be read",
          .copies = "4c+ 2p!",
          .turns = "2p 4c",
          .q = { .lost = 3 } },
        { .what = "none after it",
          .copies = "2c+ 1p+",
          .turns = "2c",
          .q = { .lost = 3 } },
        { .what = "it cannot be read now: the newest",
          .copies = "4c+ 2p? 1p+",
          .turns = "2p 4c",
          .q = { .lost = 3 } },
        { .what = "the user has chosen",
          .copies = "4c+ 2c+",
          .turns = "4c",
          .q = { .lost = 3, .wanted = "4" } },
        { .what = "no fetch",
          .copies = "4c+ 2c+",
          .turns = "4c",
          .q = { .lost = 3 },
          .no_fetch = 1 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

/* --- an index --- */

static void an_index_is_listed_newest_first(void **state)
{
    (void)state;
    struct scr_index index = SCR_INDEX_INIT;
    struct scr_restart_list list = { 0 };
    for (int id = 1; id <= 4; id++) {
        scr_hash *h = scr_hash_new();
        struct scr_dataset d = {
            .id = id, .name = "name", .is_ckpt = 1, .complete = -1
        };
        assert_int_equal(scr_dataset_set(h, &d), SCR_OK);
        assert_int_equal(scr_index_add(&index, h, id != 3, 0), SCR_OK);
        scr_hash_delete(h);
    }
    scr_index_mark_failed(&index, 2, 1);
    scr_index_mark_doomed(&index, 1);
    assert_int_equal(scr_index_set_current(&index, "name"), SCR_OK);
    scr_restart_list_index(&list, &index);
    static const enum scr_copy_state states[] = { SCR_COPY_WHOLE, SCR_COPY_INCOMPLETE,
                                                  SCR_COPY_FAILED, SCR_COPY_DELETED };
    assert_int_equal(list.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(list.c[i].id, 4 - i);
        assert_int_equal(list.c[i].state, states[i]);
        assert_int_equal(list.c[i].current, i == 0);
    }
    scr_restart_list_fini(&list);
    scr_index_fini(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search),
        cmocka_unit_test(a_search_by_way_of_the_prefix),
        cmocka_unit_test(what_looks_tell),
        cmocka_unit_test(other_numbers_of_ranks),
        cmocka_unit_test(global_restarts),
        cmocka_unit_test(what_the_user_names),
        cmocka_unit_test(back_before_lost_output),
        cmocka_unit_test(an_index_is_listed_newest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
