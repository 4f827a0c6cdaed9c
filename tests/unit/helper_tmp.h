/* SPDX-License-Identifier: BSD-3-Clause */
/* A temporary directory per test program, removed at exit. */
#ifndef SCR_TEST_HELPER_TMP_H
#define SCR_TEST_HELPER_TMP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Fresh directory, the same string until removed; fails the test if it cannot. It is in
 * $TMPDIR, else in memory if there is some, else in /tmp: walks sync thousands of small
 * files, and what they show does not depend on the disk. */
const char *test_tmp(void);
/* "<test_tmp()>/<fmt…>", valid until the 16th call after it. */
const char *test_path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The one path there that fits "<test_tmp()>/<fmt…>", with * for what is not known;
 * malloc'd. */
char *test_find(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void test_tmp_remove(void);          /* rm -r */
int test_tmp_teardown(void **state); /* the same, of a test or of the group */
/* Writes a file with these bytes; reads one (malloc'd). */
void test_put(const char *path, const void *bytes, size_t n);
void *test_get(const char *path, size_t *n);
void test_file_is(const char *path, const char *want); /* fails if it has other bytes */
/* An empty directory "<test_tmp()>/<name>". */
const char *test_fresh_dir(const char *name);

#endif
