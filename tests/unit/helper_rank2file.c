/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_rank2file.h"

void make_list(struct scr_rank2file *l)
{
    scr_rank2file_init(l, 5);
    for (int rank = 3; rank >= 0; rank--)
        assert_non_null(scr_rank2file_add_rank(l, rank));
    struct scr_listed *f = test_list_add(l, 0, "ckpt.18/rank_0.ckpt", 524294);
    scr_listed_set_crc(f, 0x6697d4ef);
    scr_listed_set_packed(f, &frame);
    scr_listed_set_asked(f, &l->of[0]->files, "ckpt.18/asked/state");
    f->is_shared = 1;
    test_list_add(l, 0, "ckpt.18/shared", 0)->is_shared = 1;
    scr_listed_set_crc(test_list_add(l, 2, "ckpt.18/z", UINT64_MAX), 0x28eeb9e);
    scr_listed_set_crc(test_list_add(l, 2, "ckpt.18/a", 1), 0x28eeb9e);
    assert_int_equal(scr_rank2file_ok(l), 1);
}
