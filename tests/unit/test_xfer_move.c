/* SPDX-License-Identifier: BSD-3-Clause */
/* Many files by each of the means: all of them, in order, or none that is not whole. */
#include "helper_fault.h"
#include "helper_threads.h"
#include "helper_tmp.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/units.h"
#include "ec/ec.h"
#include "xfer/xfer.h"

enum { FILES = 40, BYTES = 3000 };

static char bytes[BYTES];

static int setup(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (char)(i * 13);
    assert_int_equal(scr_dir_make(&scr_sys_posix, test_path("in"), 0700, &err), SCR_OK);
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "in/%d", i);
        test_put(test_path("%s", name), bytes, (size_t)(i * 70));
    }
    return 0;
}

/* The calls of the hooks. */
struct seen {
    size_t landed;
    int finished;
    int *order; /* of transfers that finished */
    int id, refuse;
};

static int landed(void *arg, const struct scr_xfer_file *const *file, size_t n,
                  struct scr_err *err)
{
    struct seen *s = arg;
    for (size_t i = 0; i < n; i++)
        if (!file[i]->whole || access(file[i]->dst, F_OK) != 0)
            return scr_fail(err, SCR_E_MISSING, 0, "%s is not there", file[i]->dst);
    s->landed += n;
    return s->refuse ? scr_fail(err, SCR_E_IO, EIO, "record") : SCR_OK;
}

static int finished(void *arg, struct scr_err *err)
{
    struct seen *s = arg;
    (void)err;
    s->finished++;
    if (s->order != NULL)
        s->order[++s->order[0]] = s->id;
    return SCR_OK;
}

/* The files from `first` on, into directory out/<where>. */
static struct scr_xfer *transfer(const char *where, int first, struct scr_xfer_opts o)
{
    struct scr_err err = SCR_ERR_INIT;
    o.want_crc = o.sync_dirs = 1;
    struct scr_xfer *x = scr_xfer_new(&o, &err);
    assert_non_null(x);
    for (int i = 0; i < FILES; i++) {
        char src[600], dst[600], name[64];
        snprintf(name, sizeof name, "in/%d", i);
        snprintf(src, sizeof src, "%s", test_path("%s", name));
        snprintf(name, sizeof name, "out/%s/%d/f", where, i % 3 + 10 * i);
        snprintf(dst, sizeof dst, "%s", test_path("%s", name));
        struct scr_xfer_file f = { .src = src,
                                   .dst = dst,
                                   .name = name,
                                   .size = (uint64_t)(i * 70),
                                   .has_size = 1,
                                   .attr = { .st_mode = 0600, .st_uid = (uid_t)-1 },
                                   .whole = i < first };
        assert_int_equal(scr_xfer_add(x, &f, &err), SCR_OK);
    }
    return x;
}

static void check_files(const struct scr_xfer *x, int first)
{
    size_t n = 0;
    const struct scr_xfer_file *f = scr_xfer_files(x, &n);
    assert_int_equal(n, FILES);
    for (size_t i = (size_t)first; i < n; i++) {
        size_t got = 0;
        char *at = test_get(f[i].dst, &got);
        assert_int_equal(got, f[i].size);
        assert_memory_equal(at, bytes, got);
        assert_int_equal(f[i].crc, scr_crc32(0, bytes, got));
        free(at);
    }
}

static void move_all(enum scr_xfer_type type, int first)
{
    struct scr_err err = SCR_ERR_INIT;
    struct seen seen = { 0 };
    struct scr_mover *m = scr_mover_new(type, &scr_sys_posix, &err);
    struct scr_xfer *x = transfer(
        "a", first,
        (struct scr_xfer_opts){ .landed = landed, .finished = finished, .arg = &seen });
    assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
    assert_int_equal(scr_mover_wait(m, x, &err), SCR_OK);
    assert_int_equal(scr_mover_poll(m, x), SCR_XFER_DONE);
    assert_int_equal(seen.landed, FILES - first);
    assert_int_equal(seen.finished, 1);
    check_files(x, first);
    scr_mover_free(m);
    scr_xfer_free(x);
}

static void every_means_moves_every_file(void **state)
{
    (void)state;
    for (int type = 0; type < SCR_XFER_NTYPES; type++)
        move_all((enum scr_xfer_type)type, 0);
}

static void what_is_whole_is_not_copied(void **state)
{
    (void)state;
    for (int type = 0; type < SCR_XFER_NTYPES; type++) {
        move_all((enum scr_xfer_type)type, 25);
        move_all((enum scr_xfer_type)type, FILES);
    }
}

static void transfers_end_in_the_order_they_were_started(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    int order[6] = { 0 };
    struct seen seen[5];
    struct scr_xfer *x[5];
    (void)state;
    struct scr_mover *m = scr_mover_new(SCR_XFER_PTHREAD, &scr_sys_posix, &err);
    for (int i = 0; i < 5; i++) {
        char where[8];
        snprintf(where, sizeof where, "%d", i);
        seen[i] = (struct seen){ .order = order, .id = i };
        x[i] = transfer(where, 0,
                        (struct scr_xfer_opts){
                            .landed = landed, .finished = finished, .arg = &seen[i] });
        assert_int_equal(scr_mover_start(m, x[i], &err), SCR_OK);
    }
    assert_int_equal(scr_mover_wait(m, x[4], &err), SCR_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(scr_mover_poll(m, x[i]), SCR_XFER_DONE);
        assert_int_equal(order[i + 1], i);
    }
    scr_mover_free(m);
    for (int i = 0; i < 5; i++)
        scr_xfer_free(x[i]);
}

/* The arg gets the mask of the thread that copies. */
static int see_mask(void *arg, const struct scr_xfer_file *const *file, size_t n,
                    struct scr_err *err)
{
    (void)file;
    (void)n;
    (void)err;
    return pthread_sigmask(SIG_SETMASK, NULL, arg);
}

static void the_threads_take_no_signals_and_their_starter_does(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    sigset_t before, after, in_thread;
    (void)state;
    sigemptyset(&in_thread);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    struct scr_mover *m = scr_mover_new(SCR_XFER_PTHREAD, &scr_sys_posix, &err);
    struct scr_xfer *x = transfer(
        "masked", 0, (struct scr_xfer_opts){ .landed = see_mask, .arg = &in_thread });
    assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(scr_mover_wait(m, x, &err), SCR_OK);
    scr_mover_free(m);
    scr_xfer_free(x);
    for (int sig = 1; sig < 32; sig++) {
        if (sig != SIGKILL && sig != SIGSTOP)
            assert_int_equal(sigismember(&in_thread, sig), 1);
        assert_int_equal(sigismember(&after, sig), sigismember(&before, sig));
    }
}

static void without_a_thread_nothing_is_started_and_later_it_is(void **state)
{
    struct scr_err err = SCR_ERR_INIT, none = SCR_ERR_INIT;
    pthread_attr_t before;
    (void)state;
    struct scr_mover *m = scr_mover_new(SCR_XFER_PTHREAD, &scr_sys_posix, &err);
    struct scr_xfer *x = transfer("none", 0, (struct scr_xfer_opts){ 0 });
    test_threads_off(&before);
    assert_int_equal(scr_mover_start(m, x, &err), SCR_E_NOMEM);
    test_threads_on(&before);
    assert_non_null(strstr(err.text, "start a thread for transfers: "));
    assert_int_equal(scr_mover_poll(m, x), SCR_XFER_FAILED);
    scr_mover_stop(m);
    assert_int_equal(scr_mover_start(m, x, &none), SCR_OK);
    assert_int_equal(scr_mover_wait(m, x, &none), SCR_OK);
    check_files(x, 0);
    scr_mover_free(m);
    scr_xfer_free(x);
}

/* The threads that copy, as the files arrive. */
struct copiers {
    pthread_t first;
    size_t by_first, by_others;
};

static int see_thread(void *arg, const struct scr_xfer_file *const *file, size_t n,
                      struct scr_err *err)
{
    struct copiers *c = arg;
    (void)file;
    (void)err;
    if (c->by_first == 0)
        c->first = pthread_self();
    *(pthread_equal(c->first, pthread_self()) ? &c->by_first : &c->by_others) += n;
    return SCR_OK;
}

static void one_thread_copies_all_if_no_other_can_be_started(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    struct copiers seen = { 0 };
    pthread_attr_t before;
    (void)state;
    struct scr_mover *m = scr_mover_new(SCR_XFER_PTHREAD, &scr_sys_posix, &err);
    struct scr_xfer *x = transfer(
        "one", 0, (struct scr_xfer_opts){ .landed = see_thread, .arg = &seen });
    scr_mover_pause(m);
    assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
    test_threads_off(&before);
    assert_int_equal(scr_mover_wait(m, x, &err), SCR_OK);
    test_threads_on(&before);
    assert_int_equal(seen.by_first, FILES);
    assert_int_equal(seen.by_others, 0);
    check_files(x, 0);
    scr_mover_free(m);
    scr_xfer_free(x);
}

static void what_waits_or_runs_can_be_cancelled(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    struct seen seen[3] = { { 0 }, { 0 }, { 0 } };
    struct scr_xfer *x[3];
    (void)state;
    struct scr_mover *m = scr_mover_new(SCR_XFER_PTHREAD, &scr_sys_posix, &err);
    for (int i = 0; i < 3; i++) { /* 54 kB at 1 kB a second */
        char where[8];
        snprintf(where, sizeof where, "%d", i);
        x[i] = transfer(
            where, 0,
            (struct scr_xfer_opts){
                .bw = 1000, .landed = landed, .finished = finished, .arg = &seen[i] });
        assert_int_equal(scr_mover_start(m, x[i], &err), SCR_OK);
    }
    double start = scr_now_mono();
    scr_mover_cancel(m, x[1]);
    assert_int_equal(scr_mover_wait(m, x[1], &err), SCR_E_CANCELLED);
    assert_int_equal(scr_mover_poll(m, x[0]), SCR_XFER_RUNNING);
    scr_mover_cancel(m, x[0]);
    assert_int_equal(scr_mover_poll(m, x[0]), SCR_XFER_FAILED);
    assert_int_equal(scr_mover_poll(m, x[2]), SCR_XFER_RUNNING);
    scr_mover_stop(m);
    assert_int_equal(scr_mover_poll(m, x[2]), SCR_XFER_FAILED);
    assert_true(scr_now_mono() - start < 40); /* not 54 */
    scr_mover_free(m);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(seen[i].finished, 0);
        scr_xfer_free(x[i]);
    }
}

/* Time enough for a thread that does not wait to have begun. */
static void give_it_time(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

static void wait_for(struct scr_mover *m, struct scr_xfer *x)
{
    assert_int_equal(scr_mover_wait(m, x, NULL), SCR_OK);
}

static void go(struct scr_mover *m, struct scr_xfer *x)
{
    scr_mover_go(m);
    while (scr_mover_poll(m, x) == SCR_XFER_RUNNING)
        give_it_time();
}

static void stop(struct scr_mover *m, struct scr_xfer *x)
{
    (void)x;
    scr_mover_stop(m);
}

static void nothing_begins_in_a_pause(void **state)
{
    static void (*const end_pause[])(struct scr_mover *,
                                     struct scr_xfer *) = { go, wait_for,
                                                            scr_mover_cancel, stop };
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof end_pause / sizeof *end_pause; i++) {
        char where[8];
        struct seen seen = { 0 };
        snprintf(where, sizeof where, "%zu", i);
        struct scr_xfer *x =
            transfer(where, 0,
                     (struct scr_xfer_opts){
                         .landed = landed, .finished = finished, .arg = &seen });
        struct scr_mover *m = scr_mover_new(SCR_XFER_PTHREAD, &scr_sys_posix, &err);
        scr_mover_pause(m);
        assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
        give_it_time();
        assert_int_equal(scr_mover_poll(m, x), SCR_XFER_RUNNING);
        assert_int_equal(access(test_path("out/%s", where), F_OK), -1);
        end_pause[i](m, x);
        assert_int_equal(scr_mover_poll(m, x), i < 2 ? SCR_XFER_DONE : SCR_XFER_FAILED);
        assert_int_equal(seen.finished, i < 2);
        scr_mover_free(m);
        scr_xfer_free(x);
    }
}

static void a_record_that_fails_fails_the_transfer(void **state)
{
    (void)state;
    for (int type = 0; type < SCR_XFER_NTYPES; type++) {
        struct scr_err err = SCR_ERR_INIT;
        struct seen seen = { .refuse = 1 };
        struct scr_mover *m =
            scr_mover_new((enum scr_xfer_type)type, &scr_sys_posix, &err);
        struct scr_xfer *x =
            transfer("r", 0,
                     (struct scr_xfer_opts){
                         .landed = landed, .finished = finished, .arg = &seen });
        assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
        assert_int_equal(scr_mover_wait(m, x, &err), SCR_E_IO);
        assert_int_equal(seen.finished, 0);
        scr_mover_free(m);
        scr_xfer_free(x);
    }
}

/* By the caller: one thread counts the calls. */
static void every_failing_call_is_reported_and_leaves_no_temporary(void **state)
{
    (void)state;
    for (long n = 0;; n += 7) {
        struct scr_err err = SCR_ERR_INIT;
        struct seen seen = { 0 };
        struct scr_mover *m = scr_mover_new(SCR_XFER_SYNC, &test_fault_sys, &err);
        struct scr_xfer *x =
            transfer("f", 0,
                     (struct scr_xfer_opts){
                         .landed = landed, .finished = finished, .arg = &seen });
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
        int rc = scr_mover_wait(m, x, &err);
        int fired = test_fault_off();
        assert_true(fired || rc == SCR_OK);
        assert_int_equal(err.code, rc);
        assert_int_equal(seen.finished, rc == SCR_OK);
        scr_mover_free(m);
        scr_xfer_free(x);
        if (!fired)
            break;
    }
    assert_int_equal(test_fault_open_fds(), 0);
}

/* --- files that may become unwanted --- */

/* The last event; files that got their names without having been asked for just
 * before. */
static struct {
    int is_asked, unasked;
    int asked, allow; /* how often, and how often it may */
} names;

static int n_fsync(int fd)
{
    names.is_asked = 0;
    return scr_sys_posix.fsync(fd);
}

static int n_close(int fd)
{
    names.is_asked = 0;
    return scr_sys_posix.close(fd);
}

static int n_renameat(int from, const char *old, int to, const char *new)
{
    names.unasked += !names.is_asked;
    names.is_asked = 0;
    return scr_sys_posix.renameat(from, old, to, new);
}

static int allowed(void *arg, struct scr_err *err)
{
    (void)arg;
    names.is_asked = 1;
    return names.asked++ < names.allow ? SCR_OK
                                       : scr_fail(err, SCR_E_MISSING, 0, "given up");
}

static size_t count_out(void)
{
    size_t n = 0;
    for (int i = 0; i < FILES; i++) {
        char dir[64], **name = NULL;
        size_t here = 0;
        struct scr_err err = SCR_ERR_INIT;
        snprintf(dir, sizeof dir, "out/n/%d", i % 3 + 10 * i);
        if (access(test_path("%s", dir), F_OK) != 0)
            continue;
        assert_int_equal(
            scr_dir_list(&scr_sys_posix, test_path("%s", dir), &name, &here, &err),
            SCR_OK);
        n += here;
        scr_names_free(name, here);
    }
    return n;
}

/* From a refusal on none gets its name, whatever was written and synced before. */
static void each_file_is_asked_for_just_before_it_gets_its_name(void **state)
{
    struct scr_sys sys = scr_sys_posix;
    (void)state;
    sys.fsync = n_fsync;
    sys.close = n_close;
    sys.renameat = n_renameat;
    for (int allow = FILES; allow >= 0; allow -= 9) {
        struct scr_err err = SCR_ERR_INIT;
        struct seen seen = { 0 };
        memset(&names, 0, sizeof names);
        names.allow = allow;
        struct scr_mover *m = scr_mover_new(SCR_XFER_SYNC, &sys, &err);
        struct scr_xfer *x = transfer("n", 0,
                                      (struct scr_xfer_opts){ .allowed = allowed,
                                                              .landed = landed,
                                                              .finished = finished,
                                                              .arg = &seen });
        assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
        assert_int_equal(scr_mover_wait(m, x, &err),
                         allow < FILES ? SCR_E_MISSING : SCR_OK);
        assert_int_equal(names.unasked, 0);
        assert_int_equal(seen.landed, allow);
        assert_int_equal(seen.finished, allow == FILES);
        assert_int_equal(count_out(), allow); /* and no temporaries */
        scr_mover_free(m);
        scr_xfer_free(x);
        assert_int_equal(scr_dir_remove(&scr_sys_posix, test_path("out/n"), &err),
                         SCR_OK);
    }
}

static void no_more_is_moved_than_the_bandwidth_allows(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    struct seen seen = { 0 };
    (void)state;
    struct scr_mover *m = scr_mover_new(SCR_XFER_PTHREAD, &scr_sys_posix, &err);
    struct scr_xfer *x =
        transfer("b", 0,
                 (struct scr_xfer_opts){ .bw = 27300, /* of 54600 bytes: 2 s */
                                         .landed = landed,
                                         .finished = finished,
                                         .arg = &seen });
    double start = scr_now_mono();
    assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
    assert_int_equal(scr_mover_wait(m, x, &err), SCR_OK);
    double secs = scr_now_mono() - start;
    assert_true(secs > 1.7); /* how much longer, other work may decide */
    scr_mover_free(m);
    scr_xfer_free(x);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, test_tmp_teardown)
    const struct CMUnitTest tests[] = {
        T(every_means_moves_every_file),
        T(what_is_whole_is_not_copied),
        T(transfers_end_in_the_order_they_were_started),
        T(the_threads_take_no_signals_and_their_starter_does),
        T(without_a_thread_nothing_is_started_and_later_it_is),
        T(one_thread_copies_all_if_no_other_can_be_started),
        T(what_waits_or_runs_can_be_cancelled),
        T(nothing_begins_in_a_pause),
        T(a_record_that_fails_fails_the_transfer),
        T(every_failing_call_is_reported_and_leaves_no_temporary),
        T(each_file_is_asked_for_just_before_it_gets_its_name),
        T(no_more_is_moved_than_the_bandwidth_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
