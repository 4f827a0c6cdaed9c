/* SPDX-License-Identifier: BSD-3-Clause */
/* What compressing a file would bring, by a few small pieces of it. */
#include "xfer/sample.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/units.h"
#include "xfer/zst.h"

enum {
    PIECES = 16,            /* spread evenly over the file, */
    PART = 1024,            /* each this part of it, */
    PIECE_LEAST = 1 << 10,  /* but no less */
    PIECE_MOST = 16 << 10,  /* and no more: two blocks of the packer together; */
    PIECE_SLOW = 4 << 10,   /* of levels that take a hundred times as long, */
    LEVEL_SLOW = 10,        /* from this one on */
    FIRST_BLOCK = 128 << 10 /* takes longer: the memory is new */
};

static size_t piece_of(uint64_t size, int level)
{
    uint64_t n = size / PART, most = level < LEVEL_SLOW ? PIECE_MOST : PIECE_SLOW;
    n = n < most ? n : most;
    return (size_t)(n > PIECE_LEAST ? n : PIECE_LEAST);
}

static int count(void *arg, const void *buf, size_t n, struct scr_err *err)
{
    struct scr_sample *s = arg;
    (void)buf, (void)err;
    s->packed += n;
    return SCR_OK;
}

/* n bytes of buf, 0: the end. The first block is not timed if there is another one. */
static int pack(struct scr_zst *z, const void *buf, size_t n, int timed,
                struct scr_sample *s, struct scr_err *err)
{
    double start = scr_now_mono();
    int rc =
        n > 0 ? scr_zst_feed(z, buf, n, count, s, err) : scr_zst_end(z, count, s, err);
    if (timed) {
        s->rate.bytes += (double)n;
        s->rate.secs += scr_now_mono() - start;
    }
    s->plain += n;
    return rc;
}

static int pack_pieces(const struct scr_sys *sys, int fd, const char *path,
                       uint64_t size, struct scr_zst *z, void *buf, size_t n,
                       struct scr_sample *s, struct scr_err *err)
{
    uint64_t untimed = n * PIECES > FIRST_BLOCK ? FIRST_BLOCK : 0;
    for (unsigned i = 0; i < PIECES; i++) {
        uint64_t off = (2 * i + 1) * (size / (2 * PIECES)) - n / 2;
        TRY(scr_pread_all(sys, fd, buf, n, (off_t)off, path, err));
        TRY(pack(z, buf, n, s->plain >= untimed, s, err));
    }
    return pack(z, buf, 0, 1, s, err);
}

int scr_sample_take(const struct scr_sys *sys, int fd, const char *path, uint64_t size,
                    int level, struct scr_sample *s, struct scr_err *err)
{
    size_t n = piece_of(size, level);
    void *buf = malloc(n);
    struct scr_zst *z = scr_zst_packer(level, (uint64_t)n * PIECES, err);
    int rc = z != NULL ? SCR_OK : err != NULL ? err->code : SCR_E_NOMEM;
    *s = (struct scr_sample){ 0 };
    if (rc == SCR_OK && buf == NULL)
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        rc = pack_pieces(sys, fd, path, size, z, buf, n, s, err);
    scr_zst_free(z);
    free(buf);
    return rc;
}
