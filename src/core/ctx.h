/* SPDX-License-Identifier: BSD-3-Clause */
/* One instance of the library: what it knows and what it does, without the façade.
 *
 * The SCR_* calls (api/scr.c) check the state table, call the function of the same name
 * here and print the error. Functions ending in _all are collective over world and
 * return the same code on every rank; nothing here prints errors, notes go through
 * ctx->log (rank 0 speaks). A context is used by one thread at a time. */
#ifndef SCR_CORE_CTX_H
#define SCR_CORE_CTX_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/ids.h"
#include "base/lock.h"
#include "base/table.h"
#include "cfg/cfg.h"
#include "cfg/desc.h"
#include "core/call_table.h"
#include "core/choose.h"
#include "core/datasets.h"
#include "core/held.h"
#include "core/loaded.h"
#include "core/output.h"
#include "core/pilot.h"
#include "core/policy.h"
#include "core/space.h"
#include "core/tally.h"
#include "core/underway.h"
#include "fmt/event.h"
#include "fmt/filemap.h"
#include "fmt/rank2file.h"
#include "fmt/restart_order.h"
#include "par/comm/comm.h"
#include "par/pfs/flush.h"
#include "par/pfs/plain.h"
#include "par/pfs/recall.h"
#include "par/redundancy/protect.h"
#include "par/redundancy/sets.h"
#include "store/cache.h"
#include "store/catalog.h"
#include "store/cntl.h"
#include "store/prefix.h"

/* SCR_MAX_FILENAME of scr.h: bytes of a name or path, NUL included (api/ asserts they
 * agree). */
enum { SCR_MAX_NAME = 1024 };
/* SCR_FLAG_… of scr.h: CHECKPOINT, OUTPUT, IN_CACHE, IN_PREFIX, RESTARTABLE. */
enum {
    SCR_IS_CKPT = 1,
    SCR_IS_OUTPUT = 2,
    SCR_IS_CACHED = 4,
    SCR_IS_STORED = 8,
    SCR_IS_OFFERED = 16
};

/* Cache, output, restart, choice and flusher are structs, each in the header of the
 * files that change it; the other members are those of the job. */
struct scr_ctx {
    struct scr_env env;
    struct scr_log log;       /* rank 0 speaks for all */
    struct scr_log local_log; /* what only this rank sees: warnings, with its number */
    char *local_who;
    _Atomic(enum scr_state) state; /* read by an MPI_File_open of another thread */
    int again;                     /* this process has ended a run before */
    int is_told; /* why the call under way is refused was printed before */
    /* Bytes of the buffers in which the call under way returns names and paths: what
     * does not fit is SCR_E_NAME. Set by the façade before the call, at most
     * SCR_MAX_NAME, which it is from scr_ctx_new on. */
    size_t room;

    struct scr_cfg *cfg;
    int have_environ; /* cfg has taken the environment */
    struct scr_params prm;
    struct scr_descs descs;

    struct scr_comm world, node;
    int nodes;        /* number of nodes in the job */
    char *vnode_name; /* virtual node, NULL on real ones */
    char *node_name;  /* this rank's node: virtual name or host name */
    struct scr_place place;

    struct scr_prefix prefix;
    char *prefix_real; /* prefix without symbolic links, for names that come resolved */
    char *prefix_name; /* of its directory in the caches (store/identity.h) */
    char *original;    /* rank 0: the same of what it is a copy of; NULL: it is none */
    char *cntl_dir;
    struct scr_cntl cntl;
    struct scr_lock *tenancy; /* one per store; the lowest rank of the node has those of
                                 the directories that are the node's */
    struct scr_lock run_lock; /* rank 0: the job's, of the prefix directory */
    int patience_ms;          /* for processes of the run before that are ending */
    int lease_ms;             /* the same for run_lock, also where its node was lost */
    struct scr_cached cache;
    int last_id; /* largest dataset id ever seen here */
    int ckpt_id; /* number of the last complete checkpoint, survives restarts */

    struct scr_output out;
    pthread_mutex_t opens; /* for out.routed, out.refused and opens_id, while SCR and an
                            * MPI_File_open of another thread work */
    int opens_id; /* the dataset that lacks a file if an open is refused, and whose
                   * out.routed may be read then; 0: none */
    struct scr_sizes sizes;
    int told_bare;  /* that the cache is empty while a checkpoint is written */
    int sees_opens; /* scr_check_open_all is asked by all ranks, or by none; before
                     * scr_init_all, which agrees: whether this rank would ask */
    int open_key;   /* of what is noted of the communicators of those opens */
    int unplaced;   /* dataset of this run whose files lack their names; 0: none */
    struct scr_restart restart;
    struct scr_choice choice;
    struct scr_datasets datasets;
    struct scr_flusher flusher;
    struct scr_recall recall; /* of lists on the prefix, for deletions (retain.c) */
    int halt;                 /* a halt condition was found due */
    int halt_unsafe;          /* the flush that goes with it failed */
    int told_to_exit;         /* SCR_Should_exit has said yes */
    struct scr_times times;
    struct scr_pilot pilot;
    struct scr_tally tally;
    int log_failed; /* the event log could not be written and is left alone */
};

#endif
