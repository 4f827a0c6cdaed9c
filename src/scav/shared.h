/* SPDX-License-Identifier: BSD-3-Clause */
/* A cache that all nodes share (STORE with GROUP=WORLD) after the job: the entries of
 * the filemap that lie beside the files (invariant C6) tell of ranks whose nodes, and
 * with them whose control directories, are gone. */
#ifndef SCR_SCAV_SHARED_H
#define SCR_SCAV_SHARED_H

#include "fmt/filemap.h"

/* Merges the entries of dataset id in the job's directory of the store into map. None
 * is success. One that cannot be read is left out with a warning. A cache that is not
 * there is SCR_E_NOENT, one that is not ours SCR_E_UNSAFE. */
int scr_shared_read(const struct scr_env *env, const char *cache, int id,
                    scr_filemap *map, struct scr_err *err);

#endif
