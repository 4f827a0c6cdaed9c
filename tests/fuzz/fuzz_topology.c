/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of topology.conf and of scontrol: each leaf has a name, and nodes in the text.
 */
#include "fuzz.h"

#include "rm/topology.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct scr_table leaves = SCR_TABLE_OF(struct scr_rm_leaf);
    char *text = fuzz_text(data, n);
    size_t len = strlen(text);
    FUZZ_CHECK(scr_rm_leaves(text, &leaves, NULL) == SCR_OK && scr_table_ok(&leaves));
    for (SCR_EACH(struct scr_rm_leaf, leaf, &leaves)) {
        FUZZ_CHECK(leaf->nodes > text && leaf->nodes <= text + len);
        FUZZ_CHECK(strpbrk(leaf->nodes, " \n#") == NULL);
        FUZZ_CHECK(strpbrk(leaf->item.name, " \n#") == NULL);
    }
    scr_table_fini(&leaves);
    free(text);
    return 0;
}
