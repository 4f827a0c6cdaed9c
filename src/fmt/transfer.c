/* SPDX-License-Identifier: BSD-3-Clause */
/* The transfer file: commands to the transfer process of a node and its progress. */
#include "fmt/transfer.h"

#include "base/path.h"
#include "base/str.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const commands[] = {
    [SCR_TRANSFER_RUN] = "RUN",
    [SCR_TRANSFER_STOP] = "STOP",
    [SCR_TRANSFER_EXIT] = "EXIT",
};
enum { NCOMMANDS = sizeof commands / sizeof commands[0] };

static int corrupt(struct scr_err *err, const char *what, const char *where)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "transfer file: bad %s%s%s", what,
                    *where != '\0' ? " of " : "", where);
}

/* --- limits, command, state --- */

int scr_transfer_get_limit(const scr_hash *h, const char *key, double *out)
{
    const char *text = scr_hash_get_val(h, key);
    double v = *out;
    if (scr_hash_get(h, key) != NULL &&
        (text == NULL || !scr_parse_f64(text, &v) || !isfinite(v) || v < 0))
        return 0;
    *out = v;
    return 1;
}

static int get_command(const scr_hash *h, enum scr_transfer_command *out)
{
    const char *text = scr_hash_get_val(h, "COMMAND");
    *out = SCR_TRANSFER_NONE;
    for (int i = SCR_TRANSFER_RUN; text != NULL && i < NCOMMANDS; i++)
        if (strcmp(text, commands[i]) == 0)
            *out = (enum scr_transfer_command)i;
    return text == NULL || *out != SCR_TRANSFER_NONE;
}

int scr_transfer_get(const scr_hash *h, struct scr_transfer *out, struct scr_err *err)
{
    struct scr_transfer t = { 0 };
    if (!scr_transfer_get_limit(h, "PERCENT", &t.percent))
        return corrupt(err, "PERCENT", "");
    if (!scr_transfer_get_limit(h, "BW", &t.bw))
        return corrupt(err, "BW", "");
    if (!get_command(h, &t.command))
        return corrupt(err, "COMMAND", "");
    const char *state = scr_hash_get_val(h, "STATE");
    if (state != NULL && strcmp(state, "RUNNING") != 0 && strcmp(state, "STOPPED") != 0)
        return corrupt(err, "STATE", "");
    t.running = state != NULL && strcmp(state, "RUNNING") == 0;
    t.done = scr_hash_get_kv(h, "FLAG", "DONE") != NULL;
    *out = t;
    return SCR_OK;
}

/* With six decimals as other writers do, and with a point whatever the locale says. */
void scr_transfer_set_limit(scr_hash *h, const char *key, double v)
{
    double whole = floor(v), parts = floor((v - whole) * 1e6);
    char *text = scr_asprintf("%.0f.%06.0f", whole, parts);
    scr_hash_set_val(h, key, text);
    free(text);
}

int scr_transfer_set(scr_hash *h, const struct scr_transfer *in)
{
    if (h == NULL || !isfinite(in->percent) || in->percent < 0 || !isfinite(in->bw) ||
        in->bw < 0 || in->command < SCR_TRANSFER_NONE || (int)in->command >= NCOMMANDS)
        return SCR_E_ARG;
    scr_transfer_set_limit(h, "PERCENT", in->percent);
    scr_transfer_set_limit(h, "BW", in->bw);
    if (in->command == SCR_TRANSFER_NONE)
        (void)scr_hash_unset(h, "COMMAND");
    else
        scr_hash_set_val(h, "COMMAND", commands[in->command]);
    scr_hash_set_val(h, "STATE", in->running ? "RUNNING" : "STOPPED");
    if (in->done)
        scr_hash_set_kv(h, "FLAG", "DONE");
    else
        (void)scr_hash_unset_kv(h, "FLAG", "DONE");
    return scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

/* --- files --- */

static int is_absolute(const char *path)
{
    return path != NULL && *path == '/' && scr_path_is_safe(path + strspn(path, "/"));
}

int scr_transfer_add_file(scr_hash *h, const char *source, const char *destination,
                          uint64_t size)
{
    if (h == NULL || !is_absolute(source) || !is_absolute(destination))
        return SCR_E_ARG;
    scr_hash *file = scr_hash_set_kv(h, "FILES", source);
    scr_hash_set_val(file, "DESTINATION", destination);
    scr_hash_set_val_u64(file, "SIZE", size);
    scr_hash_set_val_u64(file, "WRITTEN", 0);
    return file != NULL && scr_hash_ok(file) ? SCR_OK : SCR_E_NOMEM;
}

int scr_transfer_get_file(const scr_hash_elem *e, struct scr_transfer_file *out,
                          struct scr_err *err)
{
    const scr_hash *h = scr_hash_elem_hash(e);
    struct scr_transfer_file f = { 0 };
    if (!is_absolute(f.source = scr_hash_elem_key(e)))
        return corrupt(err, "path", f.source != NULL ? f.source : "");
    if (!is_absolute(f.destination = scr_hash_get_val(h, "DESTINATION")))
        return corrupt(err, "DESTINATION", f.source);
    if (!scr_hash_get_val_u64(h, "SIZE", &f.size))
        return corrupt(err, "SIZE", f.source);
    if (scr_hash_get(h, "WRITTEN") != NULL &&
        (!scr_hash_get_val_u64(h, "WRITTEN", &f.written) || f.written > f.size))
        return corrupt(err, "WRITTEN", f.source);
    *out = f;
    return SCR_OK;
}

int scr_transfer_set_written(scr_hash *h, const char *source, uint64_t written)
{
    scr_hash *file = scr_hash_get_kv(h, "FILES", source);
    if (file == NULL)
        return SCR_E_NOENT;
    return scr_hash_set_val_u64(file, "WRITTEN", written) != NULL ? SCR_OK
                                                                  : SCR_E_NOMEM;
}

int scr_transfer_left(const scr_hash *h, uint64_t *bytes, struct scr_err *err)
{
    struct scr_transfer_file f;
    uint64_t left = 0;
    for (SCR_HASH_EACH(e, scr_hash_get(h, "FILES"))) {
        TRY(scr_transfer_get_file(e, &f, err));
        if (f.size - f.written > UINT64_MAX - left)
            return corrupt(err, "SIZE", f.source);
        left += f.size - f.written;
    }
    *bytes = left;
    return SCR_OK;
}
