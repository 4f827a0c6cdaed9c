/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's one writable struct, the real calls, and the caller. */
#include "ip.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

struct scr_ip scr_ip = { .lock = PTHREAD_MUTEX_INITIALIZER };
_Thread_local int scr_ip_inside __attribute__((tls_model("initial-exec")));

/* Several threads may do it at once: they find the same. */
static void resolve(void)
{
#define F(type, name, params) *(void **)&scr_ip.real.name = dlsym(RTLD_NEXT, #name);
    SCR_IP_CALLS(F)
#undef F
    atomic_store_explicit(&scr_ip.resolved, 1, memory_order_release);
}

const struct scr_ip_real *scr_ip_real(void)
{
    if (!atomic_load_explicit(&scr_ip.resolved, memory_order_acquire))
        resolve();
    return &scr_ip.real;
}

int scr_ip_is_program(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    return atomic_load(&scr_ip.state) == SCR_IP_ON && !scr_ip_inside &&
           (at < scr_ip.scr_from || at >= scr_ip.scr_to);
}

/* --- libscr --- */

static int note_range(struct dl_phdr_info *info, size_t size, void *arg)
{
    uintptr_t wanted = *(uintptr_t *)arg, from = UINTPTR_MAX, to = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        from = at < from ? at : from;
        to = at + p->p_memsz > to ? at + p->p_memsz : to;
    }
    if (wanted < from || wanted >= to)
        return 0;
    scr_ip.scr_from = from;
    scr_ip.scr_to = to;
    return 1;
}

/* --- children --- */

static void off_in_child(void)
{
    atomic_store(&scr_ip.state, SCR_IP_OFF);
}

/* LD_PRELOAD without this library; its entries are separated by blanks and colons. */
void scr_ip_leave_preload(void)
{
    static const char separators[] = " :";
    Dl_info me;
    const char *list = getenv("LD_PRELOAD");
    if (list == NULL || dladdr(&scr_ip, &me) == 0 || me.dli_fname == NULL)
        return;
    const char *slash = strrchr(me.dli_fname, '/');
    const char *mine = slash ? slash + 1 : me.dli_fname;
    struct scr_str rest = SCR_STR_INIT;
    for (const char *at = list; *at != '\0';) {
        size_t n = strcspn(at, separators), m = strlen(mine);
        int is_mine = n >= m && strncmp(at + n - m, mine, m) == 0;
        if (n > 0 && !is_mine) {
            scr_str_append(&rest, rest.len ? ":" : "");
            scr_str_append_n(&rest, at, n);
        }
        at += n;
        at += strspn(at, separators);
    }
    char *text = scr_str_take(&rest);
    if (text && text[0] != '\0')
        setenv("LD_PRELOAD", text, 1);
    else
        unsetenv("LD_PRELOAD");
    free(text);
}

void scr_ip_settle_in(void)
{
    uintptr_t in_scr = (uintptr_t)dlsym(RTLD_DEFAULT, "SCR_Init");
    dl_iterate_phdr(note_range, &in_scr);
    pthread_atfork(NULL, NULL, off_in_child);
    scr_ip.pid = getpid();
}

/* --- messages --- */

static void tell(int level, const char *fmt, va_list ap, int with_rank)
{
    const struct scr_log log = { .who = "SCR", .has_time = scr_ip.has_time };
    struct scr_str s = SCR_STR_INIT;
    scr_str_vprintf(&s, fmt, ap);
    char *text = scr_str_take(&s);
    scr_ip_inside++;
    if (text && with_rank)
        scr_log(&log, level, "interpose: rank %d: %s", scr_ip.rank, text);
    else if (text)
        scr_log(&log, level, "interpose: %s", text);
    scr_ip_inside--;
    free(text);
}

void scr_ip_tell(int once, const char *fmt, ...)
{
    if ((scr_ip.told & once) != 0)
        return;
    scr_ip.told |= once;
    va_list ap;
    va_start(ap, fmt);
    tell(SCR_LOG_WARN, fmt, ap, 1);
    va_end(ap);
}

void scr_ip_tell_all(const char *fmt, ...)
{
    if (scr_ip.rank != 0)
        return;
    va_list ap;
    va_start(ap, fmt);
    tell(SCR_LOG_WARN, fmt, ap, 0);
    va_end(ap);
}

void scr_ip_say_all(const char *fmt, ...)
{
    if (scr_ip.rank != 0 || scr_ip.quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    tell(SCR_LOG_NOTE, fmt, ap, 0);
    va_end(ap);
}
