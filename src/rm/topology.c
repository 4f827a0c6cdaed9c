/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of topology.conf and of scontrol. */
#include "rm/topology.h"

#include <string.h>
#include <strings.h>

#include "rm/rm_impl.h"

/* The value if word is key=value, with the key in any case. */
static const char *value_of(const char *word, const char *key)
{
    size_t n = strlen(key);
    return strncasecmp(word, key, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

static int take_line(char *line, struct scr_table *leaves, struct scr_err *err)
{
    const char *name = NULL, *nodes = NULL, *value;
    int is_leaf = 1;
    for (char *word; *(word = scr_rm_word(&line)) != '\0';) {
        if ((value = value_of(word, "SwitchName")) != NULL ||
            (value = value_of(word, "BlockName")) != NULL)
            name = value;
        else if ((value = value_of(word, "Nodes")) != NULL)
            nodes = value;
        else if ((value = value_of(word, "Switches")) != NULL)
            is_leaf = strcmp(value, "(null)") == 0;
    }
    if (name == NULL || nodes == NULL || !is_leaf)
        return SCR_OK;
    struct scr_rm_leaf *leaf = scr_table_add(leaves, name);
    TRY(leaf ? SCR_OK : scr_no_memory(err));
    leaf->nodes = nodes;
    return SCR_OK;
}

/* A backslash at the end of a line joins it with the next one. */
static void join_lines(char *text)
{
    for (char *p = text; (p = strstr(p, "\\\n")) != NULL;)
        p[0] = p[1] = ' ';
}

int scr_rm_leaves(char *text, struct scr_table *leaves, struct scr_err *err)
{
    join_lines(text);
    for (char *line; (line = scr_rm_line(&text)) != NULL;) {
        line[strcspn(line, "#\r")] = '\0';
        TRY(take_line(line, leaves, err));
    }
    return SCR_OK;
}

int scr_rm_ask_topology(const struct scr_rm *rm, char **text, struct scr_err *err)
{
    const char *argv[] = { "scontrol", "show", "topology", NULL };
    return scr_rm_ask(rm, argv, NULL, text, err);
}
