/* SPDX-License-Identifier: BSD-3-Clause */
/* A bar on standard error for work that takes long. */
#include "ops/progress.h"

#include <unistd.h>

#include "base/units.h"

enum { WIDTH = 30 };
static const double first_s = 1.0;  /* shorter work needs no bar */
static const double every_s = 0.25; /* between two drawings */

void scr_progress_start(struct scr_progress *p, FILE *out, uint64_t total)
{
    *p = (struct scr_progress){ .total = total };
    if (isatty(fileno(out)))
        p->out = out;
    p->next = scr_now_mono() + first_s;
}

static void draw(struct scr_progress *p)
{
    static const char full[] = "##############################";
    static const char empty[] = "------------------------------";
    char done[32], total[32];
    uint64_t all = p->total > p->done ? p->total : p->done;
    if (p->total == 0) {
        fprintf(p->out, "\r%s\033[K", scr_format_size(p->done, done, sizeof done));
        fflush(p->out);
        p->shown = 1;
        return;
    }
    double part = all > 0 ? (double)p->done / (double)all : 0;
    int n = (int)(part * WIDTH);
    fprintf(p->out, "\r[%.*s%.*s] %3d%%  %s of %s\033[K", n, full, WIDTH - n, empty,
            (int)(part * 100), scr_format_size(p->done, done, sizeof done),
            scr_format_size(all, total, sizeof total));
    fflush(p->out);
    p->shown = 1;
}

void scr_progress_add(void *arg, size_t n)
{
    struct scr_progress *p = arg;
    if (p == NULL || p->out == NULL)
        return;
    p->done += n;
    double now = scr_now_mono();
    if (now < p->next)
        return;
    p->next = now + every_s;
    draw(p);
}

int scr_progress_step(void *p, size_t n, struct scr_err *err)
{
    (void)err;
    scr_progress_add(p, n);
    return SCR_OK;
}

void scr_progress_hide(struct scr_progress *p)
{
    if (p == NULL || !p->shown)
        return;
    fprintf(p->out, "\r\033[K");
    fflush(p->out);
    p->shown = 0;
}
