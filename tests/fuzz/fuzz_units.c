/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes, times and numbers: what is taken is in its range, and is taken again as it is
 * printed. */
#include "fuzz.h"

#include "base/str.h"
#include "base/units.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void check_units(const char *text)
{
    uint64_t bytes, again;
    double seconds;
    char buf[64];
    if (scr_parse_size(text, &bytes)) {
        (void)snprintf(buf, sizeof buf, "%" PRIu64, bytes);
        FUZZ_CHECK(scr_parse_size(buf, &again) && again == bytes);
        FUZZ_CHECK(scr_parse_size(scr_format_size(bytes, buf, sizeof buf), &again) ||
                   bytes > UINT64_MAX / 2);
    }
    if (scr_parse_seconds(text, &seconds)) {
        FUZZ_CHECK(isfinite(seconds) && seconds >= 0);
        FUZZ_CHECK(*scr_format_duration(seconds, buf, 32) != '\0');
    }
}

/* Of a year from 1000 to 9999 what is printed is taken, too. */
static void check_iso(const char *text)
{
    double seconds, again;
    char buf[64];
    if (!scr_parse_iso(text, &seconds))
        return;
    FUZZ_CHECK(isfinite(seconds) && fabs(seconds) < 1e12);
    double whole = floor(seconds);
    const struct timespec t = { (time_t)whole, (long)((seconds - whole) * 1e9) };
    FUZZ_CHECK(scr_parse_iso(scr_format_iso(&t, buf, sizeof buf), &again) ||
               seconds < -30.5e9 || seconds > 253e9);
    if (seconds > -30.5e9 && seconds < 253e9)
        FUZZ_CHECK(fabs(again - seconds) < 1e-4);
    FUZZ_CHECK(strlen(scr_format_stamp(t.tv_sec, buf, sizeof buf)) < 32);
}

static void check_integers(const char *text)
{
    int64_t i, same_i;
    uint64_t u, same_u;
    int small, same_small;
    const char *end;
    char buf[32];
    if (scr_parse_i64(text, &i)) {
        (void)snprintf(buf, sizeof buf, "%" PRId64, i);
        FUZZ_CHECK(scr_parse_i64(buf, &same_i) && same_i == i);
    }
    if (scr_parse_u64(text, &u)) {
        (void)snprintf(buf, sizeof buf, "%" PRIu64, u);
        FUZZ_CHECK(scr_parse_u64(buf, &same_u) && same_u == u);
    }
    if (scr_parse_int(text, &small)) {
        FUZZ_CHECK(scr_parse_i64(text, &i) && i == small);
        (void)snprintf(buf, sizeof buf, "%d", small);
        FUZZ_CHECK(scr_parse_int(buf, &same_small) && same_small == small);
    }
    small = scr_parse_front(text, &end);
    FUZZ_CHECK(small >= -1 && end >= text && end <= text + strlen(text));
}

static void check_others(const char *text)
{
    uint32_t hex, same_hex;
    double f, same_f;
    char buf[32];
    if (scr_parse_hex32(text, &hex)) {
        (void)snprintf(buf, sizeof buf, "0x%08" PRIx32, hex);
        FUZZ_CHECK(scr_parse_hex32(buf, &same_hex) && same_hex == hex);
    }
    if (scr_parse_f64(text, &f)) {
        (void)snprintf(buf, sizeof buf, "%.17g", f);
        FUZZ_CHECK(scr_parse_f64(buf, &same_f) && same_f == f);
    }
}

/* Any bits as what is printed. */
static void check_formats(const uint8_t *data, size_t n)
{
    uint64_t bytes = 0;
    double seconds = 0;
    char buf[64];
    memcpy(&bytes, data, n < sizeof bytes ? n : sizeof bytes);
    memcpy(&seconds, &bytes, sizeof seconds);
    FUZZ_CHECK(strlen(scr_format_size(bytes, buf, sizeof buf)) < 32);
    FUZZ_CHECK(*scr_format_duration(seconds, buf, 32) != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    check_units(text);
    check_iso(text);
    check_integers(text);
    check_others(text);
    if (n > 0)
        check_formats(data, n);
    free(text);
    return 0;
}
