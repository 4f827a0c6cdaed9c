/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a user file and as SCR_Config strings: refused or taken, never worse.
 * Accepted values must survive app.conf and the broadcast. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfg/cfg.h"
#include "cfg/desc.h"
#include "fuzz.h"

static struct scr_cfg *fresh(void)
{
    char *envp[] = { "HOME=/h/me", "USER=me", "X=a \"b\" # \\", NULL };
    struct scr_cfg *cfg = scr_cfg_new();
    FUZZ_CHECK(cfg != NULL && scr_cfg_set_system_file(cfg, NULL) == SCR_OK &&
               scr_cfg_set_environ(cfg, envp, NULL) == SCR_OK);
    return cfg;
}

/* Each line of text as the argument of SCR_Config. */
static void set_lines(struct scr_cfg *cfg, char *text)
{
    for (char *line = text; line != NULL;) {
        char *next = strchr(line, '\n'), *reply = NULL;
        if (next != NULL)
            *next++ = '\0';
        int is_query = scr_cfg_app_is_query(line);
        int rc = scr_cfg_app(cfg, line, &reply, NULL);
        FUZZ_CHECK(reply == NULL || (rc == SCR_OK && is_query));
        free(reply);
        line = next;
    }
}

/* The text of app.conf set line by line gives the same text again. */
static void check_app_text(const struct scr_cfg *cfg)
{
    struct scr_cfg *again = fresh();
    char *text = scr_cfg_app_text(cfg), *copy = scr_cfg_app_text(cfg);
    FUZZ_CHECK(text != NULL && copy != NULL);
    if (text[0] != '\0')
        set_lines(again, copy);
    char *twice = scr_cfg_app_text(again);
    FUZZ_CHECK(twice != NULL && strcmp(text, twice) == 0);
    free(twice);
    free(copy);
    free(text);
    scr_cfg_free(again);
}

static void check_broadcast(const struct scr_cfg *cfg)
{
    struct scr_cfg *other = scr_cfg_new();
    scr_hash *one = scr_hash_new(), *two = scr_hash_new();
    FUZZ_CHECK(scr_cfg_pack(cfg, one, NULL) == SCR_OK);
    FUZZ_CHECK(scr_cfg_unpack(other, one, NULL) == SCR_OK);
    FUZZ_CHECK(scr_cfg_pack(other, two, NULL) == SCR_OK && scr_hash_equal(one, two));
    scr_hash_delete(one);
    scr_hash_delete(two);
    scr_cfg_free(other);
}

static void check_values(const struct scr_cfg *cfg)
{
    struct scr_params prm;
    struct scr_descs descs;
    if (scr_cfg_params(cfg, &prm, NULL) != SCR_OK ||
        scr_descs_build(cfg, &prm, &descs, NULL) != SCR_OK)
        return;
    for (int id = 0; id < 20; id++)
        FUZZ_CHECK(scr_descs_select(&descs, id, id % 2) != NULL);
    scr_descs_fini(&descs);
}

static void as_app(const uint8_t *data, size_t size)
{
    struct scr_cfg *cfg = fresh();
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    set_lines(cfg, text);
    check_app_text(cfg);
    check_broadcast(cfg);
    check_values(cfg);
    free(text);
    scr_cfg_free(cfg);
}

/* As a file, one in memory, so that the reader of lines is reached too. */
static void as_file(const uint8_t *data, size_t size)
{
    static const struct scr_log silent = { .quiet = 1 };
    static const struct scr_env env = { .sys = &scr_sys_posix, .log = &silent };
    char path[64];
    int errors, warnings;
    int fd = memfd_create("config", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct scr_cfg *cfg = fresh();
    FUZZ_CHECK(scr_cfg_check_file(&env, cfg, path, &errors, &warnings, NULL) == SCR_OK);
    scr_cfg_free(cfg);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 65536)
        return 0;
    as_app(data, size);
    as_file(data, size);
    return 0;
}
