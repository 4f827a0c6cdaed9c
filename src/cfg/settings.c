/* SPDX-License-Identifier: BSD-3-Clause */
/* What is set, as one text. */
#include "base/str.h"
#include "cfg/cfg.h"
#include "cfg/grammar.h"
#include "cfg/spec.h"

void scr_cfg_line_print(struct scr_str *out, const char *key, const scr_hash_elem *e)
{
    const scr_hash *line = scr_hash_elem_hash(e);
    scr_str_printf(out, "%s=", key);
    scr_conf_quote(out, scr_hash_elem_key(e));
    for (SCR_HASH_EACH(c, scr_cfg_line_children(line))) {
        scr_str_printf(out, " %s=", scr_hash_elem_key(c));
        scr_conf_quote(out, scr_cfg_line_get(line, scr_hash_elem_key(c), NULL));
    }
}

static const char *between(const struct scr_str *out)
{
    return out->len > 0 ? "; " : "";
}

static void print_lines(struct scr_str *out, const struct scr_cfg *cfg, const char *key)
{
    scr_hash *lines = scr_cfg_lines(cfg, key);
    if (lines == NULL)
        scr_str_spoil(out);
    for (SCR_HASH_EACH(e, lines)) {
        scr_str_append(out, between(out));
        scr_cfg_line_print(out, key, e);
    }
    scr_hash_delete(lines);
}

char *scr_cfg_text(const struct scr_cfg *cfg)
{
    struct scr_str out = SCR_STR_INIT;
    for (size_t i = 0; i < scr_nspecs; i++) {
        const struct scr_spec *s = &scr_specs[i];
        if (s->type == SCR_TYPE_SECTION || !scr_cfg_is_set(cfg, s->name))
            continue;
        scr_str_printf(&out, "%s%s=", between(&out), s->name);
        scr_conf_quote(&out, scr_cfg_get(cfg, s->name));
    }
    for (size_t i = 0; i < scr_nline_specs; i++)
        print_lines(&out, cfg, scr_line_specs[i].key);
    return scr_str_take(&out);
}
