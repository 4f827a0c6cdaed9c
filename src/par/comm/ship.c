/* SPDX-License-Identifier: BSD-3-Clause */
/* Files over MPI: a list of them out to one rank while another comes in from one rank.
 */
#include "par/comm/ship.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/io.h"
#include "ec/ec.h"
#include "par/comm/mpi_call.h"

enum { TAG_SHIP = 21 };
enum { HEAD = SCR_SHIP_HEAD }; /* u32 status, 4 bytes of nothing: aligns the data */
enum { SHIP_GOOD = 0, SHIP_BAD = 1 };

int scr_ship_init(struct scr_ship *s, struct scr_err *err)
{
    for (int i = 0; i < 4; i++)
        s->buf[i] = malloc(s->slice + HEAD);
    for (int i = 0; i < 4; i++)
        TRY(s->buf[i] ? SCR_OK : scr_no_memory(err));
    return SCR_OK;
}

void scr_ship_fini(struct scr_ship *s)
{
    for (int i = 0; i < 4; i++) {
        free(s->buf[i]);
        s->buf[i] = NULL;
    }
}

/* Where a list is: file i, at byte off of it. */
struct cursor {
    const struct scr_ship *s;
    struct scr_ship_list *list;
    size_t i;
    uint64_t off;
    int fd;
    int bad; /* this file: could not be read, or not be written, whole */
    uint32_t crc;
};

static uint64_t messages(const struct scr_ship *s, const struct scr_ship_list *list)
{
    uint64_t n = 0;
    for (size_t i = 0; list->peer != MPI_PROC_NULL && i < list->n; i++)
        n += list->file[i].size ? (list->file[i].size + s->slice - 1) / s->slice : 1;
    return n;
}

static size_t piece(const struct cursor *c)
{
    uint64_t left = c->list->file[c->i].size - c->off;
    return left < c->s->slice ? (size_t)left : c->s->slice;
}

/* Past the bytes of one message; 1 when the file ends there. */
static int advance(struct cursor *c, size_t n)
{
    c->off += n;
    return c->off == c->list->file[c->i].size;
}

static void next_file(struct cursor *c)
{
    *c = (struct cursor){ .s = c->s, .list = c->list, .i = c->i + 1, .fd = -1 };
}

/* --- out --- */

static void read_failed(struct cursor *c, const struct scr_err *why)
{
    c->bad = 1;
    scr_log(c->s->env->log, SCR_LOG_WARN, "%s; the file is taken as lost", why->text);
}

/* The next message of the file at c into buf; its length. */
static int fill(struct cursor *c, unsigned char *buf)
{
    const struct scr_sys *sys = c->s->env->sys;
    const char *path = c->list->file[c->i].path;
    struct scr_err why = SCR_ERR_INIT;
    size_t n = piece(c);
    if (c->off == 0 &&
        scr_open(sys, path, O_RDONLY | O_NOFOLLOW, 0, &c->fd, &why) != SCR_OK)
        read_failed(c, &why);
    if (!c->bad && n > 0 &&
        scr_pread_all(SCR_FD(sys, c->fd, path), buf + HEAD, n, (off_t)c->off, &why) !=
            SCR_OK)
        read_failed(c, &why);
    const uint32_t head[2] = { c->bad ? SHIP_BAD : SHIP_GOOD, 0 };
    memcpy(buf, head, sizeof head);
    int len = c->bad ? HEAD : HEAD + (int)n;
    if (advance(c, n)) {
        scr_close(sys, &c->fd, path, NULL); /* only read from */
        next_file(c);
    }
    return len;
}

/* --- in --- */

static int open_tmp(struct cursor *c, struct scr_err *err)
{
    const struct scr_sys *sys = c->s->env->sys;
    TRY(scr_file_remove(sys, c->s->tmp, err));
    return scr_open(sys, c->s->tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
                    &c->fd, err);
}

/* Mode and times as recorded; a cached file stays readable and writable for its owner.
 */
static int set_attr(const struct cursor *c, const scr_meta *meta, struct scr_err *err)
{
    struct stat st = { .st_uid = (uid_t)-1 };
    if (meta == NULL || scr_meta_get_stat(meta, &st) != SCR_OK || st.st_mode == 0)
        return SCR_OK;
    st.st_mode |= S_IRUSR | S_IWUSR;
    st.st_uid = (uid_t)-1;
    return scr_fd_set_attr(c->s->env->sys, c->fd, &st, c->s->tmp, err);
}

static int crc_fits(const struct cursor *c, const struct scr_ship_file *f)
{
    uint32_t want;
    if (f->meta == NULL || scr_meta_get_crc32(f->meta, &want) != SCR_OK ||
        want == c->crc)
        return 1;
    scr_log(
        c->s->env->log, SCR_LOG_WARN,
        "%s from rank %d: its CRC is 0x%08x, 0x%08x was recorded; the file is taken as "
        "lost",
        f->path, c->list->peer, c->crc, want);
    return 0;
}

/* The last byte has arrived: the file is put in place or removed. */
static int end_file(struct cursor *c, int rc, struct scr_err *err)
{
    const struct scr_sys *sys = c->s->env->sys;
    struct scr_ship_file *f = &c->list->file[c->i];
    if (c->fd < 0)
        return rc;
    int good = rc == SCR_OK && !c->bad && crc_fits(c, f);
    if (good)
        rc = set_attr(c, f->meta, err);
    rc = scr_first(rc, scr_close(sys, &c->fd, c->s->tmp, err));
    if (good && rc == SCR_OK)
        rc = scr_file_rename(sys, c->s->tmp, f->path, err);
    f->whole = good && rc == SCR_OK;
    if (!f->whole)
        scr_file_remove(sys, c->s->tmp, NULL); /* named in the filemap: swept later */
    return rc;
}

/* Takes in one message of n bytes. */
static int drain(struct cursor *c, const unsigned char *buf, size_t n, int rc,
                 struct scr_err *err)
{
    uint32_t status = SHIP_BAD;
    size_t want = piece(c);
    uint64_t off = c->off;
    memcpy(&status, buf, sizeof status);
    if (status != SHIP_GOOD || n != HEAD + want)
        c->bad = 1;
    if (rc == SCR_OK && off == 0)
        rc = open_tmp(c, err);
    if (rc == SCR_OK && !c->bad) {
        rc = scr_pwrite_all(SCR_FD(c->s->env->sys, c->fd, c->s->tmp), buf + HEAD, want,
                            (off_t)off, err);
        c->crc = scr_crc32(c->crc, buf + HEAD, want);
    }
    if (advance(c, want)) {
        rc = end_file(c, rc, err);
        next_file(c);
    }
    return rc;
}

/* --- both --- */

static int post(const struct scr_ship *s, int from, unsigned char *buf,
                MPI_Request *req, struct scr_err *err)
{
    return scr_mpi_check(MPI_Irecv(buf, (int)s->slice + HEAD, MPI_BYTE, from, TAG_SHIP,
                                   s->comm->comm, req),
                         "receive of a file", err);
}

/* Waits for the message in *req; its length. */
static int wait_message(MPI_Request *req, int *n, struct scr_err *err)
{
    MPI_Status st;
    *n = 0;
    TRY(scr_mpi_wait_status(req, &st, "receive of a file", err));
    return scr_mpi_check(MPI_Get_count(&st, MPI_BYTE, n), "length", err);
}

int scr_ship_run(struct scr_ship *s, const struct scr_ship_list *out,
                 struct scr_ship_list *in, struct scr_err *err)
{
    struct scr_ship_list outgoing = *out;
    struct cursor o = { .s = s, .list = &outgoing, .fd = -1 };
    struct cursor c = { .s = s, .list = in, .fd = -1 };
    uint64_t nout = messages(s, out), nin = messages(s, in);
    MPI_Request sent[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    MPI_Request come[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    int rc = SCR_OK, rc1 = SCR_OK, n = 0;

    if (nin > 0)
        rc1 = post(s, in->peer, s->buf[2], &come[0], err);
    for (uint64_t i = 0; (i < nout || i < nin) && rc1 == SCR_OK; i++) {
        int now = (int)(i & 1), next = !now;
        if (i < nout) {
            rc1 = scr_mpi_wait(&sent[now], 1, "send of a file", err);
            n = fill(&o, s->buf[now]);
            int code = MPI_Isend(s->buf[now], n, MPI_BYTE, out->peer, TAG_SHIP,
                                 s->comm->comm, &sent[now]);
            rc1 = rc1 == SCR_OK ? scr_mpi_check(code, "send of a file", err) : rc1;
        }
        if (i < nin && rc1 == SCR_OK) {
            rc1 = wait_message(&come[now], &n, err);
            if (i + 1 < nin && rc1 == SCR_OK)
                rc1 = post(s, in->peer, s->buf[2 + next], &come[next], err);
            rc = drain(&c, s->buf[2 + now], (size_t)n, rc, err);
        }
    }
    scr_mpi_wait(sent, 2, "send of a file", NULL);
    scr_close(s->env->sys, &o.fd, "file", NULL); /* open only after an error of MPI */
    scr_close(s->env->sys, &c.fd, "file", NULL);
    return scr_first(rc, rc1);
}
