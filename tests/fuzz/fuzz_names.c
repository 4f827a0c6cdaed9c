/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of files that say what is in them: what is understood is what that would be
 * called. */
#include "fuzz.h"

#include "red/redfile.h"
#include "xfer/copy.h"
#include <string.h>

static void check_redfile(const char *name)
{
    enum scr_scheme scheme;
    int member, n, id;
    if (!scr_redfile_parse(name, &scheme, &member, &n, &id))
        return;
    FUZZ_CHECK(n > 0 && member >= 0 && member < n && id >= 0);
    char *again = scr_redfile_name(scheme, member, n, id);
    FUZZ_CHECK(again != NULL && strcmp(again, name) == 0);
    free(again);
}

static void check_tmp(const char *name)
{
    int tag, tag2;
    char *stem = scr_copy_tmp_parse(name, &tag);
    if (stem == NULL)
        return;
    char *again = scr_asprintf("%s.%d", stem, tag);
    char *stem2 = again ? scr_copy_tmp_parse(again, &tag2) : NULL;
    FUZZ_CHECK(scr_copy_is_tmp(name) && stem2 != NULL);
    FUZZ_CHECK(tag == tag2 && strcmp(stem, stem2) == 0);
    free(stem2);
    free(again);
    free(stem);
}

/* Of any file that has a name. */
static void check_tmp_of(const char *file)
{
    int tag;
    char *path = scr_copy_tmp(file, 7), *stem = scr_copy_tmp_stem(file);
    const char *base = path ? strrchr(path, '/') : NULL;
    char *parsed = base ? scr_copy_tmp_parse(base + 1, &tag) : NULL;
    FUZZ_CHECK(parsed != NULL && tag == 7);
    FUZZ_CHECK(strcmp(parsed, stem) == 0);
    free(parsed);
    free(stem);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    check_redfile(text);
    if (strchr(text, '/') == NULL) {
        check_tmp(text);
        check_tmp_of(text);
    }
    free(text);
    return 0;
}
