/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a complete dataset one whose files have all been copied, by a job that died
 * before it was entered, or one whose files are still to come:
 *
 *     cli_arrive PREFIX ID [pending] */
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "store/arrival.h"

static const struct scr_env env = { .sys = &scr_sys_posix };
enum { STAMP = 4711 };

static void done(int rc, const struct scr_err *err)
{
    if (rc == SCR_OK)
        return;
    fprintf(stderr, "cli_arrive: %s\n", err->text);
    exit(1);
}

int main(int argc, char **argv)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_prefix p = { 0 };
    scr_hash *dset = scr_hash_new(), *nodes = scr_hash_new();
    int id, complete;
    if (argc < 3 || argc > 4 || !scr_parse_int(argv[2], &id)) {
        fprintf(stderr, "usage: cli_arrive PREFIX ID [pending]\n");
        return 1;
    }
    scr_hash_setf(nodes, NULL, "%d %d", 0, 1);
    done(scr_prefix_open(&env, argv[1], 0, &p, &err), &err);
    done(scr_prefix_summary_read(&env, &p, id, &complete, dset, &err), &err);
    done(scr_prefix_index_enter(&env, &p, dset, 0, 1000, &err), &err);
    done(scr_prefix_summary_remove(&env, &p, id, &err), &err);
    done(scr_arrival_plan(&env, &p, id,
                          &(struct scr_attempt){ STAMP, dset, nodes, NULL }, &err),
         &err);
    if (argc == 3)
        done(scr_arrival_arrived(&(struct scr_arrival){ &env, &p, id, 0, 0 }, STAMP,
                                 &err),
             &err);
    scr_hash_delete(nodes);
    scr_hash_delete(dset);
    scr_prefix_fini(&p);
    return 0;
}
