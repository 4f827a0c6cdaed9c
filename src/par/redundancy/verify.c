/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a file is what was recorded of it. */
#include "par/redundancy/verify.h"

#include "base/io.h"
#include "red/member.h"

static int verify_kind(const struct scr_env *env, const char *path,
                       const uint64_t *size, struct scr_err *err)
{
    struct stat st;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_file_stat(env->sys, path, &st, &why);
    if (rc != SCR_OK)
        return scr_err_take(err, rc == SCR_E_NOENT ? SCR_E_MISSING : rc, &why);
    if (!S_ISREG(st.st_mode))
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: not a regular file", path);
    if (size != NULL && *size != (uint64_t)st.st_size)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: %lld bytes, recorded are %llu%s",
                        path, (long long)st.st_size, (unsigned long long)*size,
                        scr_size_hint((uint64_t)st.st_size, *size));
    return SCR_OK;
}

int scr_verify_file(const struct scr_env *env, const char *path, const uint64_t *size,
                    const uint32_t *crc, struct scr_err *err)
{
    uint64_t bytes = 0;
    uint32_t found = 0;
    TRY(verify_kind(env, path, size, err));
    if (crc != NULL)
        TRY(scr_file_crc32(env, path, 0, &bytes, &found, err));
    if (crc != NULL && found != *crc)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: crc32 0x%08x, recorded is 0x%08x",
                        path, found, *crc);
    return SCR_OK;
}

int scr_verify_meta(const struct scr_env *env, const char *path, const scr_meta *meta,
                    struct scr_err *err)
{
    uint64_t size = 0;
    uint32_t crc = 0;
    int has_size = scr_meta_get_filesize(meta, &size) == SCR_OK;
    int has_crc = scr_meta_get_crc32(meta, &crc) == SCR_OK;
    return scr_verify_file(env, path, has_size ? &size : NULL, has_crc ? &crc : NULL,
                           err);
}
