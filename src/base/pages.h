/* SPDX-License-Identifier: BSD-3-Clause */
/* Large buffers in large pages, where the system gives them to those who ask
 * (transparent_hugepage=madvise): the kernel copies between processes, and is
 * responsible for fewer pages, at a better speed. */
#ifndef SCR_BASE_PAGES_H
#define SCR_BASE_PAGES_H

#include <stddef.h>

/* n bytes of zeros, aligned to at least 4096 bytes; what is not used takes no memory,
 * except for the rest of a large page. Where the process has all the mappings it may
 * have, it is memory of malloc. NULL: out of memory. */
void *scr_pages_alloc(size_t n);
void scr_pages_free(void *at); /* NULL is fine */

#endif
