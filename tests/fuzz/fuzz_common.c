/* SPDX-License-Identifier: BSD-3-Clause */
/* Input as trees, texts and files, and the rule of every decoder. */
#include "fuzz.h"

#include "base/hashfile.h"
#include "ec/ec.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEADER = 20, TRAILER = 4 };

scr_hash *fuzz_tree(const uint8_t *data, size_t n)
{
    scr_hash *h = scr_hash_new();
    FUZZ_CHECK(h != NULL);
    if (scr_hash_decode(data, n, h, NULL) != SCR_OK && n > HEADER + TRAILER)
        (void)scr_hash_unpack(data + HEADER, n - HEADER - TRAILER, h, NULL, NULL);
    return h;
}

uint8_t *fuzz_packed(const uint8_t *data, size_t n, size_t *size)
{
    struct scr_frame f;
    if (scr_frame_open(data, n, &f, NULL) != SCR_OK || f.packed == NULL) {
        int framed = n > HEADER + TRAILER;
        f.packed = framed ? data + HEADER : data;
        f.n = framed ? n - HEADER - TRAILER : 0;
    }
    uint8_t *exact = malloc(f.n > 0 ? f.n : 1);
    FUZZ_CHECK(exact != NULL);
    memcpy(exact, f.packed, f.n);
    *size = f.n;
    return exact;
}

struct scr_str fuzz_framed(const uint8_t *data, size_t n, size_t *used)
{
    struct scr_str file = SCR_STR_INIT;
    size_t left = n > HEADER + TRAILER ? n - HEADER - TRAILER : 0, packed = 0;
    scr_hash *h = scr_hash_new();
    *used = n;
    if (left > 0 && scr_hash_unpack(data + HEADER, left, h, &packed, NULL) == SCR_OK) {
        left = packed;
        *used = HEADER + packed + TRAILER;
    }
    scr_frame_begin(&file);
    if (left > 0)
        scr_str_append_n(&file, data + HEADER, left);
    scr_frame_end(&file);
    FUZZ_CHECK(!file.bad);
    scr_hash_delete(h);
    return file;
}

struct scr_str fuzz_records(const uint8_t *data, size_t n)
{
    struct scr_str s = SCR_STR_INIT;
    for (size_t at = 0; at < n;) {
        const uint8_t *nul = memchr(data + at, '\0', n - at);
        size_t len = (nul ? (size_t)(nul - data) : n) - at, begin = s.len;
        scr_str_append_n(&s, data + at, len);
        scr_str_append_n(&s, "", 1);
        uint32_t crc = s.bad ? 0 : scr_crc32(0, s.p + begin, len + 1);
        const uint8_t be[] = { (uint8_t)(crc >> 24), (uint8_t)(crc >> 16),
                               (uint8_t)(crc >> 8), (uint8_t)crc };
        scr_str_append_n(&s, be, sizeof be);
        at += len + 1;
    }
    FUZZ_CHECK(!s.bad);
    return s;
}

char *fuzz_text(const uint8_t *data, size_t n)
{
    char *text = strndup(n > 0 ? (const char *)data : "", n);
    FUZZ_CHECK(text != NULL);
    return text;
}

char *fuzz_piece(char **text)
{
    char *piece = *text, *end = strchr(piece, '\1');
    *text = end ? end + 1 : piece + strlen(piece);
    if (end != NULL)
        *end = '\0';
    return piece;
}

/* --- files --- */

static struct {
    const struct fuzz_piece *piece;
    size_t n, opened;
} disk;

static int as_file(const struct fuzz_piece *p)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && write(fd, p->bytes, p->n) == (ssize_t)p->n);
    FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static int open_piece(int dirfd, const char *path, int flags, mode_t mode)
{
    (void)dirfd, (void)path, (void)flags, (void)mode;
    int fd = as_file(&disk.piece[disk.opened]);
    disk.opened += disk.opened + 1 < disk.n;
    return fd;
}

/* Of the file that is opened next. */
static int stat_piece(int dirfd, const char *path, struct stat *st, int flags)
{
    (void)dirfd, (void)path, (void)flags;
    int fd = as_file(&disk.piece[disk.opened]);
    int rc = fstat(fd, st);
    (void)close(fd);
    return rc;
}

const struct scr_env *fuzz_disk(const struct fuzz_piece *piece, size_t n)
{
    static const struct scr_log silent = { .quiet = 1 };
    static struct scr_sys sys;
    static const struct scr_env env = { .sys = &sys, .log = &silent };
    sys = scr_sys_posix;
    sys.openat = open_piece;
    sys.fstatat = stat_piece;
    disk.piece = piece, disk.n = n, disk.opened = 0;
    return &env;
}

void fuzz_decoder(const uint8_t *data, size_t n,
                  int (*decode)(scr_hash *h, struct scr_err *err))
{
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = fuzz_tree(data, n), *before = scr_hash_dup(h);
    int rc = decode(h, &err);
    if (rc == SCR_OK) {
        FUZZ_CHECK(err.code == SCR_OK);
        FUZZ_CHECK(decode(h, &err) == SCR_OK);
    } else {
        FUZZ_CHECK(err.code == rc && err.text[0] != '\0');
        FUZZ_CHECK(scr_hash_equal(h, before));
    }
    scr_hash_delete(h);
    scr_hash_delete(before);
}
