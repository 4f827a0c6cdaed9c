/* SPDX-License-Identifier: BSD-3-Clause */
/* Large buffers are zeros, aligned, and may be of any size. */
#include "helper_tmp.h"

#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/pages.h"

static void pages_are_zeros(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 4096, 600 * 1024, 5 * 1024 * 1024 + 1 };
    for (size_t i = 0; i < 4; i++) {
        uint8_t *at = scr_pages_alloc(sizes[i]);
        assert_non_null(at);
        assert_int_equal((uintptr_t)at % 4096, 0);
        assert_int_equal(at[0] | at[sizes[i] / 2] | at[sizes[i] - 1], 0);
        memset(at, 1, sizes[i]);
        scr_pages_free(at);
    }
    assert_null(scr_pages_alloc(0));
    assert_null(scr_pages_alloc(SIZE_MAX - 5));
    scr_pages_free(NULL);
}

/* In its own process, which has freed memory, and then takes all mappings that a
 * process may have, each next to one of another kind. */
static int use_without_mappings(void)
{
    enum { N = 5 * 1024 * 1024, ROOM = 3 * N, MOST = 10000000 };
    int kind = 0, left = MOST;
    mallopt(M_MMAP_THRESHOLD, 2 * ROOM);
    mallopt(M_TRIM_THRESHOLD, 2 * ROOM);
    char *volatile was = malloc(ROOM); /* the compiler must not leave it out */
    memset(was, 1, ROOM);
    free(was);
    while (left-- > 0 && mmap(NULL, 4096, (kind ^= 1) ? PROT_READ : PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        ;
    uint8_t *at = scr_pages_alloc(N);
    if (left <= 0 || at == NULL || (uintptr_t)at % 4096 != 0 || at[0] || at[N - 1])
        return 1;
    memset(at, 1, N);
    scr_pages_free(at);
    return 0;
}

static void a_process_without_mappings_has_them_from_malloc(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* it maps memory itself */
#endif
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(use_without_mappings());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_zeros),
        cmocka_unit_test(a_process_without_mappings_has_them_from_malloc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
