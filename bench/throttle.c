/* SPDX-License-Identifier: BSD-3-Clause */
/* How well the limits of a transfer by threads are kept over some seconds.
 *
 *     throttle SOURCE_DIR DESTINATION_DIR [SECONDS]
 *
 * Both should be in memory: the share of time is measured as processor time. Prints the
 * limit, what was measured, and their ratio. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "base/units.h"
#include "xfer/xfer.h"

enum { FILES = 1000, FILE_BYTES = 16 << 20 };

/* The transfer that is measured; only the limits differ. */
struct place {
    char *src, *dst;
    double seconds;
};

static void die(const char *what, const struct scr_err *err)
{
    fprintf(stderr, "throttle: %s: %s\n", what, err->text);
    exit(2);
}

static atomic_ullong written;

static ssize_t counted_write(int fd, const void *buf, size_t n)
{
    ssize_t put = write(fd, buf, n);
    written += put > 0 ? (unsigned long long)put : 0;
    return put;
}

/* Memory need not hold more than what is being copied. */
static int forget(void *arg, const struct scr_xfer_file *const *file, size_t n,
                  struct scr_err *err)
{
    int rc = SCR_OK;
    (void)arg;
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = scr_file_remove(&scr_sys_posix, file[i]->dst, err);
    return rc;
}

static struct scr_xfer *transfer(const struct place *at, double bw, double percent)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_xfer_opts o = {
        .want_crc = 1, .bw = bw, .percent = percent, .landed = forget
    };
    struct scr_xfer *x = scr_xfer_new(&o, &err);
    for (int i = 0; i < FILES && x != NULL; i++) {
        char *dst = scr_asprintf("%s/throttle.%d", at->dst, i);
        struct scr_xfer_file f = { .src = at->src,
                                   .dst = dst,
                                   .attr = { .st_mode = 0600, .st_uid = (uid_t)-1 } };
        if (dst == NULL || scr_xfer_add(x, &f, &err) != SCR_OK)
            die("list of files", &err);
        free(dst);
    }
    if (x == NULL)
        die("transfer", &err);
    return x;
}

static double processor_seconds_of(int who)
{
    struct rusage r;
    getrusage(who, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* Of the threads that copy, not of this one. */
static double processor_seconds(void)
{
    return processor_seconds_of(RUSAGE_SELF) - processor_seconds_of(RUSAGE_THREAD);
}

/* Bytes or processor seconds a second. */
static double measure(const struct place *at, double bw, double percent)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_sys sys = scr_sys_posix;
    sys.write = counted_write;
    written = 0;
    struct scr_mover *m = scr_mover_new(SCR_XFER_PTHREAD, &sys, &err);
    struct scr_xfer *x = transfer(at, bw, percent);
    double start = scr_now_mono(), busy = processor_seconds();
    if (m == NULL || scr_mover_start(m, x, &err) != SCR_OK)
        die("start", &err);
    while (scr_now_mono() - start < at->seconds &&
           scr_mover_poll(m, x) == SCR_XFER_RUNNING)
        usleep(20000);
    double secs = scr_now_mono() - start, bytes = (double)written;
    busy = processor_seconds() - busy;
    scr_mover_cancel(m, x);
    scr_xfer_free(x);
    scr_mover_free(m);
    return bw > 0 ? bytes / secs : 100 * busy / secs;
}

static void make_source(const struct place *at)
{
    struct scr_err err = SCR_ERR_INIT;
    char *bytes = scr_calloc(1, FILE_BYTES);
    if (bytes == NULL ||
        scr_file_replace(&scr_sys_posix, at->src, bytes, FILE_BYTES,
                         (struct scr_replace){ 0600, SCR_VOLATILE }, &err) != SCR_OK)
        die("source", &err);
    free(bytes);
}

int main(int argc, char **argv)
{
    static const double mib[] = { 50, 200, 800 }, percents[] = { 5, 20, 50 };
    if (argc < 3) {
        fprintf(stderr, "usage: throttle SOURCE_DIR DESTINATION_DIR [SECONDS]\n");
        return 2;
    }
    struct place at = { scr_asprintf("%s/throttle.src", argv[1]), argv[2],
                        argc > 3 ? strtod(argv[3], NULL) : 5 };
    make_source(&at);
    printf("%-24s %10s %10s %7s   over %.0f s\n", "", "limit", "measured", "ratio",
           at.seconds);
    for (int i = 0; i < 3; i++) {
        double got = measure(&at, mib[i] * 0x1p20, 0) * 0x1p-20;
        printf("%-24s %10.1f %10.1f %7.3f\n", "bandwidth, MiB/s", mib[i], got,
               got / mib[i]);
    }
    for (int i = 0; i < 3; i++) {
        double got = measure(&at, 0, percents[i]);
        printf("%-24s %10.1f %10.1f %7.3f\n", "time moving, %", percents[i], got,
               got / percents[i]);
    }
    unlink(at.src);
    free(at.src);
    return 0;
}
