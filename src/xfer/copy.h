/* SPDX-License-Identifier: BSD-3-Clause */
/* One file from one place to another, whole or not at all.
 *
 *     struct scr_copy job = {
 *         .src = cached, .dst = final, .tag = rank, .crc = &recorded, .sync = 1
 *     };
 *     rc = scr_copy_file(sys, &job, &got, err);
 *
 * The bytes go to a temporary name in the directory of dst (which exists), which is
 * renamed onto dst when everything written has been checked: a reader of dst finds the
 * old file or the whole new one. On error dst is as it was and the temporary is gone;
 * tmp, below, is the exception. Local, any thread. */
#ifndef SCR_XFER_COPY_H
#define SCR_XFER_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sys.h"

/* First characters of every temporary made here: application files are never called
 * so. */
#define SCR_COPY_TMP ".scr-part"
int scr_copy_is_tmp(const char *base); /* 1 for a last component that begins so */

/* Called between the buffers of a copy: n bytes were just moved. Anything but SCR_OK
 * ends the copy with that code; the callee has filled err. */
struct scr_copy_pace {
    int (*step)(void *arg, size_t n, struct scr_err *err);
    void *arg;
};

enum scr_copy_code {
    SCR_COPY_PLAIN,
    SCR_COPY_PACK,  /* dst is a zstd frame of src where that is 5 % smaller, else as it
                       is */
    SCR_COPY_UNPACK /* src is one */
};

/* A slice of this length is summed up and written while it is in the second-level
 * cache: with 1 MiB a copy takes twice the time. The kernel gathers them for the
 * server. */
enum { SCR_COPY_SLICE = 128 << 10 };

struct scr_copy {
    const char *src, *dst;
    /* Temporary name, on dst's file system; NULL: next to dst, from tag. It may be dst
     * itself, if no reader opens dst before the copy has ended: a file that exists
     * there is removed first, and on error none is left. */
    const char *tmp;
    int tag;    /* makes the temporary unique among writers into one directory: the
                   world rank, or a process id */
    size_t buf; /* bytes read at a time; 0: SCR_COPY_SLICE, and at most so many */
    const uint64_t *size;        /* what src must be; NULL: anything. Of plain bytes */
    const uint32_t *crc;         /* of src; NULL: any. Implies want_crc */
    int want_crc;                /* compute the CRC in the pass */
    enum scr_copy_code code;     /* with libzstd only (xfer/zst.h) */
    int level;                   /* PACK: from 1 to 22 */
    const uint64_t *stored_size; /* UNPACK: what src itself must be; NULL: anything */
    const uint32_t *stored_crc;  /* UNPACK: of src itself; NULL: any */
    const struct stat *attr;     /* mode, owner and times of dst; NULL: those of src */
    mode_t mode_or; /* additional mode bits of dst (a cached file must be readable) */
    int fresh;      /* 1: what is at dst is not replaced: SCR_E_EXIST */
    int sync;       /* fsync before the rename; the directory is the caller's, once
                       for all files in it */
    const struct scr_copy_pace *pace; /* NULL: at full speed, to the end */
};

struct scr_copied {
    uint64_t size;  /* of the plain bytes */
    uint32_t crc;   /* 0 unless computed */
    struct stat st; /* of src, as opened */
    int packed;     /* PACK: 1 if dst is a frame; where it is, is up to the caller, who
                       may change job->dst before scr_copy_commit */
    uint64_t stored_size; /* of the frame */
    uint32_t stored_crc;
};

/* SCR_E_NOENT: no src; SCR_E_UNSAFE: it is no regular file; SCR_E_MISSING: shorter
 * than *size; SCR_E_CORRUPT: longer than *size when it was opened, another CRC, or
 * changed while it was read, unless size and CRC are right all the same. */
int scr_copy_file(const struct scr_sys *sys, const struct scr_copy *job,
                  struct scr_copied *got, struct scr_err *err);

/* The same in steps, for callers that sync many files at once: after scr_copy_begin the
 * bytes are checked and in the temporary, still open; scr_copy_commit syncs, closes and
 * renames it, scr_copy_abandon throws it away. Each ends what scr_copy_begin began, the
 * failed one too; both do nothing where there is no temporary (tmp NULL).
 * scr_copy_sync, between, leaves nothing but the rename to scr_copy_commit; when it
 * fails the temporary is gone. */
struct scr_copy_open {
    int fd;    /* of the temporary, -1: it is closed */
    char *tmp; /* NULL: none */
};
int scr_copy_begin(const struct scr_sys *sys, const struct scr_copy *job,
                   struct scr_copy_open *file, struct scr_copied *got,
                   struct scr_err *err);
int scr_copy_sync(const struct scr_sys *sys, const struct scr_copy *job,
                  struct scr_copy_open *file, struct scr_err *err);
int scr_copy_commit(const struct scr_sys *sys, const struct scr_copy *job,
                    struct scr_copy_open *file, struct scr_err *err);
void scr_copy_abandon(const struct scr_sys *sys, struct scr_copy_open *file);

/* The bytes and checks of a copy without the copy; dst is not looked at. PLAIN or
 * UNPACK. pace: counts the plain bytes. */
int scr_copy_check(const struct scr_sys *sys, const struct scr_copy *job,
                   struct scr_copied *got, struct scr_err *err);

/* The temporary file scr_copy_file makes next to dst for tag; malloc'd, NULL: out of
 * memory.
 */
char *scr_copy_tmp(const char *dst, int tag);
/* The prefix of the names of all temporary files next to dst, for any tag; malloc'd.
 */
char *scr_copy_tmp_stem(const char *dst);
/* The same from the last component of a temporary, and its tag; NULL: it is none. */
char *scr_copy_tmp_parse(const char *base, int *tag);

#endif
