/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes, times and counts as people write them. */
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

enum { NUMBER_MAX = 64 }; /* characters of a number; more is a mistake */

/* Splits "1.5 GiB" into the number (copied to num) and the unit after blanks. A number
 * here has no sign and no exponent, so that "1e" is one of a unit e. */
static const char *split_number(const char *s, char num[NUMBER_MAX])
{
    if (s == NULL)
        return NULL;
    size_t n = strspn(s, "0123456789.");
    if (n == 0 || n >= NUMBER_MAX)
        return NULL;
    memcpy(num, s, n);
    num[n] = '\0';
    const char *unit = s + n + strspn(s + n, " ");
    return *unit == '\0' && unit != s + n ? NULL : unit; /* no blanks before nothing */
}

/* --- sizes --- */

static const char size_letters[] = "kmgtpe";

/* Power of 1024 of "", "b", "k", "kb", "kib", …; -1 if it is no unit. */
static int size_power(const char *unit)
{
    if (unit[0] == '\0' || strcasecmp(unit, "b") == 0)
        return 0;
    const char *at = strchr(size_letters, tolower((unsigned char)unit[0]));
    const char *rest = unit + 1;
    if (at == NULL)
        return -1;
    if (*rest != '\0' && strcasecmp(rest, "b") != 0 && strcasecmp(rest, "ib") != 0)
        return -1;
    return (int)(at - size_letters) + 1;
}

int scr_parse_size(const char *s, uint64_t *bytes)
{
    char num[NUMBER_MAX];
    const char *unit = split_number(s, num);
    int power = unit ? size_power(unit) : -1;
    if (power < 0)
        return 0;

    uint64_t whole;
    if (scr_parse_u64(num, &whole)) { /* exact, where a double is not */
        if (__builtin_mul_overflow(whole, (uint64_t)1 << (10 * power), &whole))
            return 0;
        *bytes = whole;
        return 1;
    }
    double v;
    if (!scr_parse_f64(num, &v))
        return 0;
    v = ldexp(v, 10 * power);
    if (v >= 18446744073709551616.0)
        return 0;
    *bytes = (uint64_t)v;
    return 1;
}

const char *scr_format_size(uint64_t bytes, char *buf, size_t n)
{
    int power = 0;
    uint64_t unit = 1;
    while (power < 6 && bytes / unit >= 1024) {
        power++;
        unit <<= 10;
    }
    if (power == 0) {
        snprintf(buf, n, "%llu B", (unsigned long long)bytes);
        return buf;
    }
    /* In whole numbers, so that no locale's decimal comma gets in. */
    uint64_t whole = bytes / unit;
    uint64_t per_1024 = bytes % unit >> (10 * power - 10);
    uint64_t hundredths = per_1024 * 100 / 1024;
    snprintf(buf, n, "%llu.%02llu %ciB", (unsigned long long)whole,
             (unsigned long long)hundredths, toupper(size_letters[power - 1]));
    return buf;
}

/* --- times --- */

static const struct {
    const char *name;
    double seconds;
} time_units[] = {
    { "", 1 },     { "s", 1 },     { "m", 60 },
    { "h", 3600 }, { "d", 86400 }, { "y", 365 * 86400.0 },
};

int scr_parse_seconds(const char *s, double *seconds)
{
    char num[NUMBER_MAX];
    double v;
    const char *unit = split_number(s, num);
    if (unit == NULL || !scr_parse_f64(num, &v))
        return 0;
    for (size_t i = 0; i < sizeof time_units / sizeof time_units[0]; i++) {
        if (strcasecmp(unit, time_units[i].name) == 0) {
            *seconds = v * time_units[i].seconds;
            return 1;
        }
    }
    return 0;
}

const char *scr_format_duration(double seconds, char *buf, size_t n)
{
    static const struct {
        double most, unit;
        const char *name;
    } units[] = { { 0.1, 0.001, "ms" },
                  { 120, 1, "s" },
                  { 7200, 60, "min" },
                  { 172800, 3600, "h" },
                  { 2 * 365 * 86400.0, 86400, "d" },
                  { INFINITY, 365 * 86400.0, "y" } };
    enum { S = 1 };
    size_t i = seconds < 5e-6 ? S : 0; /* what no digit of milliseconds shows is 0 s */
    while (units[i].most < INFINITY && seconds >= units[i].most)
        i++;
    double count = seconds / units[i].unit;
    int digits = count >= 10 || count < 0.005 ? 0 : count >= 1 ? 1 : 2;
    (void)snprintf(buf, n, "%.*f %s", digits, count, units[i].name);
    return buf;
}

const char *scr_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

const char *scr_format_stamp(time_t t, char *buf, size_t n)
{
    struct tm tm;
    if (n > 0)
        buf[0] = '\0';
    if (localtime_r(&t, &tm) == NULL || strftime(buf, n, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        snprintf(buf, n, "?");
    return buf;
}

const char *scr_format_iso(const struct timespec *t, char *buf, size_t n)
{
    struct tm tm;
    char day[32];
    if (localtime_r(&t->tv_sec, &tm) == NULL ||
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
        snprintf(buf, n, "?");
        return buf;
    }
    long minutes = tm.tm_gmtoff / 60;
    char sign = minutes < 0 ? '-' : '+';
    if (minutes < 0)
        minutes = -minutes;
    snprintf(buf, n, "%s.%06ld%c%02ld:%02ld", day, t->tv_nsec / 1000, sign,
             minutes / 60, minutes % 60);
    return buf;
}

/* n digits; -1: there are fewer. */
static int take_digits(const char **s, int n)
{
    int v = 0;
    for (; n > 0 && isdigit((unsigned char)**s); n--)
        v = v * 10 + *(*s)++ - '0';
    return n == 0 ? v : -1;
}

/* "2014-01-14T11:26:06"; *next is the byte behind it. */
static int take_clock(const char *s, const char **next, struct tm *tm)
{
    static const char form[] = "--T::"; /* behind year, month, day, hour, minute */
    int *const fields[] = { &tm->tm_year, &tm->tm_mon, &tm->tm_mday,
                            &tm->tm_hour, &tm->tm_min, &tm->tm_sec };
    for (int i = 0; i < 6; i++) {
        *fields[i] = take_digits(&s, i == 0 ? 4 : 2);
        if (*fields[i] < 0 || (i < 5 && *s++ != form[i]))
            return 0;
    }
    tm->tm_year -= 1900;
    tm->tm_mon--;
    *next = s;
    return tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
           tm->tm_mday <= 31 && tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec <= 60;
}

/* Seconds east of Greenwich. */
static int take_zone(const char *s, int *east)
{
    *east = 0;
    if (*s == 'Z')
        return s[1] == '\0';
    if (*s != '+' && *s != '-')
        return 0;
    int sign = *s++ == '-' ? -1 : 1, hours = take_digits(&s, 2);
    s += hours >= 0 && *s == ':';
    int minutes = hours < 0 ? -1 : take_digits(&s, 2);
    *east = sign * (hours * 60 + minutes) * 60;
    return minutes >= 0 && *s == '\0';
}

int scr_parse_iso(const char *s, double *seconds)
{
    struct tm tm = { 0 };
    double fraction = 0, unit = 1;
    int east;
    if (s == NULL || !take_clock(s, &s, &tm))
        return 0;
    if (*s == '.')
        for (s++; isdigit((unsigned char)*s); s++)
            fraction += (*s - '0') * (unit /= 10);
    if (!take_zone(s, &east))
        return 0;
    *seconds = (double)(timegm(&tm) - east) + fraction;
    return 1;
}

double scr_now_mono(void)
{
    struct timespec t = { 0, 0 };
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t scr_now_usec(void)
{
    struct timespec t = { 0, 0 };
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

void scr_nap_ms(int ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}
