/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a file is what was recorded of it. Local. */
#ifndef SCR_PAR_VERIFY_H
#define SCR_PAR_VERIFY_H

#include "base/env.h"
#include "fmt/meta.h"

/* The file at path is a regular one of *size bytes with *crc; NULL: not recorded, not
 * looked at. It is read only for its CRC. SCR_E_MISSING if it is not there,
 * SCR_E_CORRUPT if it is another one, SCR_E_IO if it cannot be read. */
int scr_verify_file(const struct scr_env *env, const char *path, const uint64_t *size,
                    const uint32_t *crc, struct scr_err *err);
/* The same by its meta data. */
int scr_verify_meta(const struct scr_env *env, const char *path, const scr_meta *meta,
                    struct scr_err *err);

#endif
