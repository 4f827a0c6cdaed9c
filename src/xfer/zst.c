/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of bytes into a zstd frame and out of one. */
#include "xfer/zst.h"

#include <stdlib.h>

/* Magic number 0x184D2A5C and length, little-endian; then whose it is. */
const unsigned char scr_zst_mark[SCR_ZST_MARK_SIZE] = {
    0x5C, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 'S', 'C', 'R', 1
};

#ifdef SCR_HAVE_ZSTD

#include <zstd.h>

#include "base/str.h"

struct scr_zst {
    ZSTD_CCtx *pack;   /* one of the two */
    ZSTD_DCtx *unpack; /* … */
    void *out;
    size_t cap;
    int inside; /* unpack: of a frame */
    int begun;  /* unpack: there was one */
};

int scr_zst_have(void)
{
    return 1;
}

static struct scr_zst *make(size_t cap, struct scr_err *err)
{
    struct scr_zst *z = scr_calloc(1, sizeof *z);
    void *out = malloc(cap);
    if (z != NULL && out != NULL) {
        z->out = out;
        z->cap = cap;
        return z;
    }
    free(out);
    free(z);
    scr_no_memory(err);
    return NULL;
}

static struct scr_zst *no_memory(struct scr_zst *z, struct scr_err *err)
{
    scr_no_memory(err);
    scr_zst_free(z);
    return NULL;
}

struct scr_zst *scr_zst_packer(int level, uint64_t size, struct scr_err *err)
{
    struct scr_zst *z = make(ZSTD_CStreamOutSize(), err);
    if (z == NULL)
        return NULL;
    z->pack = ZSTD_createCCtx();
    if (z->pack == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(z->pack, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(z->pack, ZSTD_c_checksumFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(z->pack, size)))
        return no_memory(z, err);
    return z;
}

struct scr_zst *scr_zst_unpacker(struct scr_err *err)
{
    struct scr_zst *z = make(ZSTD_DStreamOutSize(), err);
    if (z == NULL)
        return NULL;
    z->unpack = ZSTD_createDCtx();
    return z->unpack != NULL ? z : no_memory(z, err);
}

void scr_zst_free(struct scr_zst *z)
{
    if (z == NULL)
        return;
    ZSTD_freeCCtx(z->pack);
    ZSTD_freeDCtx(z->unpack);
    free(z->out);
    free(z);
}

static int complain(size_t code, struct scr_err *err)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "zstd: %s", ZSTD_getErrorName(code));
}

/* Takes all of the input; with `how` ZSTD_e_end until the frame is whole, too. */
static int pack(struct scr_zst *z, ZSTD_inBuffer *in, ZSTD_EndDirective how,
                scr_zst_sink *sink, void *arg, struct scr_err *err)
{
    size_t left;
    int rc = SCR_OK;
    do {
        ZSTD_outBuffer out = { z->out, z->cap, 0 };
        left = ZSTD_compressStream2(z->pack, &out, in, how);
        if (ZSTD_isError(left))
            return complain(left, err);
        if (out.pos > 0)
            rc = sink(arg, z->out, out.pos, err);
    } while (rc == SCR_OK && (in->pos < in->size || (how == ZSTD_e_end && left > 0)));
    return rc;
}

/* A full buffer may leave more behind, also when the input is used up. */
static int unpack(struct scr_zst *z, ZSTD_inBuffer *in, scr_zst_sink *sink, void *arg,
                  struct scr_err *err)
{
    int rc = SCR_OK, full;
    do {
        ZSTD_outBuffer out = { z->out, z->cap, 0 };
        size_t left = ZSTD_decompressStream(z->unpack, &out, in);
        if (ZSTD_isError(left))
            return complain(left, err);
        z->begun = 1;
        z->inside = left > 0;
        full = out.pos == out.size;
        if (out.pos > 0)
            rc = sink(arg, z->out, out.pos, err);
    } while (rc == SCR_OK && (in->pos < in->size || (full && z->inside)));
    return rc;
}

int scr_zst_feed(struct scr_zst *z, const void *buf, size_t n, scr_zst_sink *sink,
                 void *arg, struct scr_err *err)
{
    ZSTD_inBuffer in = { buf, n, 0 };
    if (n == 0)
        return SCR_OK;
    return z->pack != NULL ? pack(z, &in, ZSTD_e_continue, sink, arg, err)
                           : unpack(z, &in, sink, arg, err);
}

int scr_zst_end(struct scr_zst *z, scr_zst_sink *sink, void *arg, struct scr_err *err)
{
    ZSTD_inBuffer in = { NULL, 0, 0 };
    if (z->pack != NULL)
        return pack(z, &in, ZSTD_e_end, sink, arg, err);
    return z->begun && !z->inside
               ? SCR_OK
               : scr_fail(err, SCR_E_CORRUPT, 0, "zstd: the file ends too early");
}

#else

int scr_zst_have(void)
{
    return 0;
}

static struct scr_zst *unsupported(struct scr_err *err)
{
    scr_fail(err, SCR_E_UNSUPPORTED, 0,
             "zstd: this SCR was built without libzstd; build it with, or unpack the "
             "dataset where one has it: scr_index --extract");
    return NULL;
}

struct scr_zst *scr_zst_packer(int level, uint64_t size, struct scr_err *err)
{
    (void)level, (void)size;
    return unsupported(err);
}

struct scr_zst *scr_zst_unpacker(struct scr_err *err)
{
    return unsupported(err);
}

/* Never reached with a stream: there are none. */
void scr_zst_free(struct scr_zst *z)
{
    (void)z;
}

int scr_zst_feed(struct scr_zst *z, const void *buf, size_t n, scr_zst_sink *sink,
                 void *arg, struct scr_err *err)
{
    (void)z, (void)buf, (void)n, (void)sink, (void)arg, (void)err;
    return SCR_E_UNSUPPORTED;
}

int scr_zst_end(struct scr_zst *z, scr_zst_sink *sink, void *arg, struct scr_err *err)
{
    (void)z, (void)sink, (void)arg, (void)err;
    return SCR_E_UNSUPPORTED;
}

#endif
