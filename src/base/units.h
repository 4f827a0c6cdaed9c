/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes, times and counts as people write them. */
#ifndef SCR_BASE_UNITS_H
#define SCR_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* "64", "1.5g", "128KiB", "2 TB": k m g t p e, optional b or ib, base 1024, fractions
 * allowed, rounded down to whole bytes. 1 on success, 0 on anything else, negatives or
 * overflow. */
int scr_parse_size(const char *s, uint64_t *bytes);

/* "90", "1.5h", "30m", "2d", "10s", "5y" (years of 365 days): seconds by default. 1 on
 * success; negatives fail. */
int scr_parse_seconds(const char *s, double *seconds);

/* "512 B", "1.50 MiB" … into buf (at least 32 bytes); returns buf. */
const char *scr_format_size(uint64_t bytes, char *buf, size_t n);

/* "8.2 ms", "0.41 s", "13 min", "9.0 h", "5.0 y" … into buf (at least 32 bytes);
 * returns buf. */
const char *scr_format_duration(double seconds, char *buf, size_t n);

/* Ends the word after a number: "" of 1, else "s". */
const char *scr_plural(int64_t n);

/* Local time "2014-01-14T11:26:06" (FORMATS.md timestamps); buf at least 32 bytes. */
const char *scr_format_stamp(time_t t, char *buf, size_t n);

/* ISO 8601 with microseconds and zone, "2014-01-14T11:26:06.000123+01:00"; buf ≥ 48
 * bytes. */
const char *scr_format_iso(const struct timespec *t, char *buf, size_t n);

/* Such a text, with or without a fraction, the zone as "+01:00", "+0100" or "Z", as
 * seconds since 1970; 1 on success. */
int scr_parse_iso(const char *s, double *seconds);

/* Seconds of a clock that never goes back, and microseconds since the epoch. */
double scr_now_mono(void);
uint64_t scr_now_usec(void);

/* Sleeps ms milliseconds, or until a signal arrives. */
void scr_nap_ms(int ms);

#endif
