/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a hash, shared by the files hash*.c and their test alone. */
#ifndef SCR_BASE_HASH_IMPL_H
#define SCR_BASE_HASH_IMPL_H

#include "base/hash.h"
#include "base/table.h"

struct scr_hash_elem {
    struct scr_item item; /* its name: key */
    scr_hash *hash;
    char key[];
};

struct scr_hash {
    struct scr_items items; /* of struct scr_hash_elem */
    int lost;               /* an insertion was lost for lack of memory */
};

/* The hash under key, made if it is not there; NULL (and h marked) without memory. */
scr_hash *scr_hash_need(scr_hash *h, const char *key);

#endif
