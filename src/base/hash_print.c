/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash: the tree as people read it. */
#include "base/hash_impl.h"

static void print_key(FILE *out, const char *key)
{
    for (const unsigned char *p = (const unsigned char *)key; *p != '\0'; p++) {
        int is_second_set = p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f; /* of UTF-8 */
        if (*p < 0x20 || *p == 0x7f || is_second_set)
            (void)fprintf(out, "\\x%02X", *p);
        else
            (void)fputc(*p, out);
    }
}

/* The value of an element that is a plain "key = value", else NULL. */
static const char *plain_value(const scr_hash_elem *e)
{
    const scr_hash_elem *first = scr_hash_elem_first(e->hash);
    return scr_hash_size(e->hash) == 1 && scr_hash_size(first->hash) == 0 ? first->key
                                                                          : NULL;
}

static void print(FILE *out, const scr_hash *h, int indent, int is_tree)
{
    for (SCR_HASH_EACH(e, h)) {
        const char *value = is_tree ? NULL : plain_value(e);
        (void)fprintf(out, "%*s", indent, "");
        print_key(out, e->key);
        if (value != NULL) {
            (void)fputs(" = ", out);
            print_key(out, value);
        }
        (void)fputc('\n', out);
        if (value == NULL)
            print(out, e->hash, indent + 2, is_tree);
    }
}

void scr_hash_fprint(FILE *out, const scr_hash *h, int indent)
{
    print(out, h, indent, 0);
}

void scr_hash_fprint_tree(FILE *out, const scr_hash *h, int indent)
{
    print(out, h, indent, 1);
}
