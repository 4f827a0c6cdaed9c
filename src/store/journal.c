/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of the journal of routed files: "<dset> <rank> <path>", NUL, then the CRC32
 * of all that, big-endian (scr_journal(5)). */
#include <string.h>

#include "base/str.h"
#include "ec/ec.h"
#include "store/cntl.h"

enum { CRC_BYTES = 4 };

int scr_journal_encode(int dset, int rank, const char *path, void **buf, size_t *n)
{
    struct scr_str s = SCR_STR_INIT;
    scr_str_printf(&s, "%d %d %s", dset, rank, path);
    scr_str_append_n(&s, "", 1);
    uint32_t crc = s.bad ? 0 : scr_crc32(0, s.p, s.len);
    const uint8_t be[CRC_BYTES] = { (uint8_t)(crc >> 24), (uint8_t)(crc >> 16),
                                    (uint8_t)(crc >> 8), (uint8_t)crc };
    scr_str_append_n(&s, be, sizeof be);
    *n = s.len;
    *buf = scr_str_take(&s);
    return *buf != NULL ? SCR_OK : SCR_E_NOMEM;
}

/* One number that ends in a blank; *text moves past it. */
static int take_int(const char **text, int *out)
{
    *out = scr_parse_front(*text, text);
    return *out >= 0 && *(*text)++ == ' ';
}

/* Adds the record of `len` bytes, NUL included, at text; 0 if it is none. */
static int add_record(const char *text, size_t len, scr_filemap *map)
{
    const uint8_t *be = (const uint8_t *)text + len;
    uint32_t crc = (uint32_t)be[0] << 24 | (uint32_t)be[1] << 16 |
                   (uint32_t)be[2] << 8 | (uint32_t)be[3];
    int dset, rank;
    if (crc != scr_crc32(0, text, len) || !take_int(&text, &dset) ||
        !take_int(&text, &rank) || dset < 1 || *text == '\0')
        return 0;
    if (map != NULL)
        scr_filemap_add_file(map, dset, rank, text);
    return 1;
}

int scr_journal_decode(const void *buf, size_t n, scr_filemap *map, size_t *good)
{
    const char *p = buf;
    *good = 0;
    while (*good < n) {
        const char *text = p + *good;
        const char *nul = memchr(text, '\0', n - *good);
        size_t len = nul ? (size_t)(nul - text) + 1 : 0;
        if (nul == NULL || n - *good - len < CRC_BYTES || !add_record(text, len, map))
            break;
        *good += len + CRC_BYTES;
    }
    return map == NULL || scr_filemap_ok(map) ? SCR_OK : SCR_E_NOMEM;
}
