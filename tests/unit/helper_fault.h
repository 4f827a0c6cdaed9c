/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls that fail on demand. test_fault_sys is scr_sys_posix with a counter in
 * front: a chosen call, by kind and number, fails with a chosen errno, once or from
 * then on, or moves fewer bytes than asked.
 *
 * The pattern for any operation that does I/O, "let every call it makes fail once":
 *
 *     for (long n = 0;; n++) {
 *         arrange();                                   // the old state
 *         test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
 *         int rc = operation(&test_fault_sys, …, &err);
 *         int fired = test_fault_off();
 *         if (!fired) {                // it makes only n calls: all had a turn
 *             assert_int_equal(rc, SCR_OK);
 *             break;
 *         }
 *         assert_old_or_new_state();
 *     }
 *
 * With TEST_FOREVER and TEST_ANY the state left behind is that of a crash at call n:
 * nothing works any more, clean-up included. With EINTR and TEST_ONCE the operation
 * must not notice. Threads may make the calls, each with its own number;
 * one of them arms. After fork each process has its own counters.
 */
#ifndef SCR_TEST_HELPER_FAULT_H
#define SCR_TEST_HELPER_FAULT_H

#include "base/sys.h"
#include <stddef.h>

enum test_kind {
    TEST_OPENAT,
    TEST_CLOSE,
    TEST_READ,
    TEST_WRITE,
    TEST_PREAD,
    TEST_PWRITE,
    TEST_LSEEK,
    TEST_FSYNC,
    TEST_FTRUNCATE,
    TEST_FSTAT,
    TEST_FSTATAT,
    TEST_STATVFS,
    TEST_FSTATFS,
    TEST_SYNC_FILE_RANGE,
    TEST_RENAMEAT,
    TEST_LINKAT,
    TEST_UNLINKAT,
    TEST_MKDIRAT,
    TEST_FCHMOD,
    TEST_FCHOWN,
    TEST_FUTIMENS,
    TEST_SETLK,
    TEST_FDOPENDIR,
    TEST_READDIR,
    TEST_CLOSEDIR,
    /* Some calls of a kind above, which they count for, too. */
    TEST_FSYNC_DIR,  /* fsync of a directory */
    TEST_RENAME_FAR, /* renameat to another directory */
    TEST_ANY         /* whatever the kind */
};

enum test_how { TEST_ONCE, TEST_FOREVER };

extern const struct scr_sys test_fault_sys;

/* Call number n (from 0) of this kind from now on fails with error; with TEST_FOREVER
 * the later ones of the kind too. A failing close or closedir still closes. Resets the
 * counters. */
void test_fault_arm(enum test_kind kind, long n, int error, enum test_how how);
/* Call number n of this kind, a read or write, moves at most most bytes (0: end of
 * file, or a write of nothing); with TEST_FOREVER the later ones too. Resets the
 * counters. */
void test_fault_short(enum test_kind kind, long n, size_t most, enum test_how how);
/* All calls work again; 1 if the fault has happened. The counters stay readable. */
int test_fault_off(void);

/* Calls that file systems, kernels and users have to do without, and what they then
 * fail with: what SCR does is the same, by other means. TEST_FOREVER from any of them
 * on costs no byte and no success. */
struct test_lack {
    enum test_kind kind;
    int error;
};
enum { TEST_LACKS = 16 };
extern const struct test_lack test_lacks[TEST_LACKS];

/* Calls of a kind (or TEST_ANY) since the last arm or short, the failed ones included.
 */
long test_fault_count(enum test_kind kind);
/* Descriptors opened through the table and not closed since the program started: a test
 * that ends with 0 leaks none. */
long test_fault_open_fds(void);

#endif
