/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress bar: on a terminal, after a while, gone at the end; elsewhere nothing.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ops/progress.h"

/* What was written to the terminal since the last call; "" if nothing. */
static const char *seen(int master)
{
    static char buf[1024];
    ssize_t n = read(master, buf, sizeof buf - 1);
    buf[n > 0 ? n : 0] = '\0';
    return buf;
}

static void a_terminal_shows_a_bar(void **state)
{
    (void)state;
    struct scr_progress p;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    FILE *tty = fopen(ptsname(master), "w");
    assert_non_null(tty);
    scr_progress_start(&p, tty, 4096);
    scr_progress_add(&p, 1024);
    assert_string_equal(seen(master), ""); /* work of less than a second */
    scr_progress_hide(&p);
    assert_string_equal(seen(master), "");
    p.next = 0;
    scr_progress_add(&p, 256);
    const char *bar = seen(master);
    assert_non_null(strstr(bar, "[#########---------------------]  31%"));
    assert_non_null(strstr(bar, "1.25 KiB of 4.00 KiB"));
    scr_progress_add(&p, 1); /* not again so soon */
    assert_string_equal(seen(master), "");
    p.next = 0;
    scr_progress_add(&p, 9000); /* more than was expected */
    assert_non_null(strstr(seen(master), "100%"));
    scr_progress_hide(&p);
    assert_string_equal(seen(master), "\r\033[K");
    scr_progress_hide(&p);
    assert_string_equal(seen(master), "");
    fclose(tty);
    close(master);
}

static void elsewhere_there_is_none(void **state)
{
    (void)state;
    struct scr_progress p;
    FILE *f = tmpfile();
    assert_non_null(f);
    scr_progress_start(&p, f, 100);
    p.next = 0;
    scr_progress_add(&p, 50);
    scr_progress_hide(&p);
    assert_int_equal(ftell(f), 0);
    fclose(f);
    scr_progress_add(NULL, 1);
    scr_progress_hide(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_shows_a_bar),
        cmocka_unit_test(elsewhere_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
