/* SPDX-License-Identifier: BSD-3-Clause */
/* One instance of the library: what it knows and what it does, without the façade.
 *
 * The SCR_* calls (api/scr.c) check the state table, call the function of the same name
 * here and print the error. Functions ending in _all are collective over world and
 * return the same code on every rank; nothing here prints errors, notes go through
 * ctx->log (rank 0 speaks). A context is used by one thread at a time. */
#ifndef SCR_CORE_CTX_H
#define SCR_CORE_CTX_H

#include "base/ids.h"
#include "base/lock.h"
#include "base/table.h"
#include "cfg/cfg.h"
#include "cfg/desc.h"
#include "core/state.h"
#include "fmt/event.h"
#include "fmt/filemap.h"
#include "fmt/rank2file.h"
#include "fmt/restart_order.h"
#include "par/comm.h"
#include "par/flush.h"
#include "par/plain.h"
#include "par/protect.h"
#include "par/recall.h"
#include "par/sets.h"
#include "store/cache.h"
#include "store/catalog.h"
#include "store/cntl.h"
#include "store/prefix.h"

/* SCR_MAX_FILENAME of scr.h: bytes of a name or path, NUL included (api/ asserts they
 * agree). */
enum { SCR_MAX_NAME = 1024 };
/* SCR_FLAG_CHECKPOINT and SCR_FLAG_OUTPUT of scr.h. */
enum { SCR_IS_CKPT = 1, SCR_IS_OUTPUT = 2 };

/* A complete dataset whose files may lie where new ones are about to be written, or a
 * pending one (store/arrival.h) whose files may yet get there. */
struct scr_older {
    int id;
    int pending;
    struct scr_catalog files;
};

/* A file of the open dataset, as SCR_Route_file gave it. */
struct scr_routed {
    struct scr_item item; /* name: where it goes, below the prefix */
    const char *path;     /* to write to */
    int waits;            /* next to a file that it replaces (store/replacing.h) */
};

/* The dataset between Start_output and Complete_output. */
struct scr_output {
    int id; /* 0: no output phase is open */
    int is_ckpt, is_output;
    const struct scr_reddesc *red;
    char *name;
    char *dset_dir, *rank_dir; /* in cache */
    struct scr_table routed;   /* of struct scr_routed */
    struct scr_table taken;    /* names in rank_dir that are given away */
    struct scr_table shared;   /* of struct scr_shared (par/owners.h): those of routed
                                  that other ranks routed too */
    int has_shared;            /* some rank has some */
    struct scr_err refused;    /* first SCR_Route_file that failed in this phase */
    int bypass;             /* files are written to the prefix; the rest is for that */
    scr_hash *dset;         /* as the index has it */
    struct scr_table made;  /* directories of routed files; */
    struct scr_table parts; /* those made next to files to replace */
    struct scr_publish publish;
    int unplaced;            /* those files stay for the next start */
    struct scr_older *older; /* those it may replace files of */
    size_t nolder;
    double start; /* scr_now_mono() */
};

/* A file that can be read, by its destination below the prefix or by its base name. */
struct scr_readable {
    struct scr_item item;
    const char *path; /* to read it from; "": several files have that base name */
    int is_others;    /* another rank wrote it */
};

/* A base name in the prefix directory. */
struct scr_base {
    struct scr_item item;
    const struct scr_listed *of; /* in scr_restart.catalog; NULL: of several files */
};

/* A file of a checkpoint, as SCR_Restart_file gives it. */
struct scr_restart_file {
    const char *dest; /* below the prefix, borrowed from scr_restart.told */
    int rank;         /* that wrote it */
};

/* The checkpoint a restart would read. */
struct scr_restart {
    int id; /* 0: none */
    char *name;
    /* of struct scr_readable: this rank's files, and others it has asked for */
    struct scr_table by_dest, by_name;
    scr_filemap *near;       /* what this node has in cache; NULL: not needed so far */
    int in_place;            /* those paths are on the prefix */
    struct scr_plains plain; /* compressed ones this rank unpacked there */
    /* of a different number of ranks (regroup.c): it is read in place in the prefix
     * directory, by_dest and by_name get the files asked for */
    int is_foreign;
    struct scr_rank2file share; /* part of its list, which this rank reports */
    struct scr_catalog catalog; /* all its files on the prefix */
    struct scr_table bases;     /* of struct scr_base */
    int has_bases;
    /* every rank's files, when the program asked for a list */
    struct scr_str told;           /* "<rank>/<destination>" of each */
    struct scr_restart_file *list; /* NULL: not asked for so far */
    int nlist;
};

/* Checkpoints of a different number of ranks (ranks.c). */
struct scr_ranks {
    int asked;  /* this rank has called SCR_Restart_ranks before SCR_Have_restart */
    int known;  /* SCR_Have_restart was called: what is offered is settled */
    int passed; /* newest one that was passed over; 0: none. The same on all ranks */
    int below;  /* tried_below of the last search */
    int wanted; /* it is the one SCR_CURRENT names */
    int told;   /* id of the one that was reported */
    struct scr_err why;
};

/* Output that this job had in cache only and that this start could not restore
 * (lost_output.c). */
struct scr_lost {
    int may;   /* the flush file had output at the start that may be */
    int open;  /* what the run restarts from is not settled: the flush file keeps its
                  entries of output */
    int found; /* on rank 0: it has entries that may be of lost output */
    int below; /* the run goes back to a checkpoint with a smaller id, 0: it does not */
    int waits; /* it cannot be settled before the program asks, or writes a checkpoint
                */
};

enum scr_cache_state {
    SCR_CACHE_READY,   /* whole */
    SCR_CACHE_LOST,    /* not restored or not deleted: goes when room is needed */
    SCR_CACHE_KEPT,    /* not restored because of a transient error: retained */
    SCR_CACHE_FOREIGN, /* of a different number of ranks: kept for those */
    SCR_CACHE_GONE
};

/* A dataset in cache: what the ranks have agreed on once. */
struct scr_held {
    int id;
    enum scr_cache_state state;
    int kind;   /* SCR_IS_CKPT | SCR_IS_OUTPUT */
    int store;  /* of descs.store, -1: of none that there is now */
    int line;   /* of descs.red, as it was when it was written */
    int losses; /* that each of its sets survives */
    int turn;   /* in which it leaves when room is made (room.c) */
    int failed; /* its asynchronous flush, which must be started again */
    int mend;   /* after its files in cache are rebuilt */
    int stays;  /* why it stayed when room was made last (room.c), 0: it did not */
    int told;   /* that was said before, in this run */
};

/* Redundancy files of datasets that left, kept for the one that is written next
 * (store/spare.h). */
struct scr_spare {
    int id;         /* of that one, 0: none are kept */
    int store;      /* where it will lie */
    int is_there;   /* this rank has one */
    uint64_t bytes; /* of that */
};

struct scr_flush_async;

/* Flushes under way (asyncctl.c): the same on all ranks. */
struct scr_async {
    struct scr_mover *threads, *daemon; /* NULL until needed */
    int daemon_lost; /* on some node: threads copy what is started from then on */
    int leftovers;   /* on some node a transfer process works for an earlier run */
    int unsure;      /* whether the processes that were lost are dead */
    int stuck;       /* one that was killed is not */
    int paused;      /* threads are not to begin yet */
    struct scr_flush_async **flush; /* oldest first */
    int n;
};

/* Time spent, for SCR_Need_checkpoint. Only rank 0's figures are used. */
struct scr_times {
    double compute_start; /* since when the program computes, scr_now_mono() */
    double compute, ckpt; /* seconds so far */
    double last_ckpt;     /* end of the last checkpoint */
    int need_calls;       /* calls of SCR_Need_checkpoint */
};

struct scr_ctx {
    struct scr_env env;
    struct scr_log log;       /* rank 0 speaks for all */
    struct scr_log local_log; /* what only this rank sees: warnings, with its number */
    char *local_who;
    enum scr_state state;
    int again;   /* this process has ended a run before */
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
    char **cache_dirs;        /* one per store; NULL for unused stores */
    struct scr_set *sets;     /* one per redundancy descriptor */
    int64_t *losses; /* that each set survives, one per descriptor; the same on all */

    scr_filemap *map;      /* what this rank has in cache */
    struct scr_held *held; /* the datasets in cache, the same on all ranks */
    int *leaving;          /* ids, in their turn (room.c); room for all of held */
    size_t nheld, held_room;
    int last_id; /* largest dataset id ever seen here */
    int ckpt_id; /* number of the last complete checkpoint, survives restarts */

    struct scr_output out;
    struct scr_spare spare;
    uint64_t ckpt_bytes; /* of this rank's files of the checkpoint noted last
                            (space.c), 0: none */
    struct {
        int id, line;     /* checkpoint, and index of its descriptor; 0: of none */
        uint64_t longest; /* bytes of the member of this rank's set that has most */
    } span;               /* of the last that was protected */
    int tries;            /* attempts at a checkpoint that failed since */
    uint64_t tried; /* bytes this rank had written when the last attempt at a checkpoint
                       failed, 0: it did not */
    int told_bare;  /* that the cache is empty while a checkpoint is written */
    int sees_opens; /* scr_check_open_all is asked by all ranks, or by none */
    struct scr_restart restart;
    struct scr_async async;
    int tried_below; /* restarts look for ids below this; 0: any */
    struct scr_ranks ranks;
    int wanted_taken;  /* SCR_CURRENT was applied, and nothing was written since */
    char *gone_before; /* what current.scr had for the job before that, or NULL */
    struct scr_lost lost;
    struct scr_recall recall; /* of lists on the prefix, for deletions (retain.c) */
    int ask_again;  /* the next Have_restart searches the newest checkpoint again */
    int flush_owed; /* a periodic flush failed and is not tried again: the next
                       checkpoint is flushed */
    int from_id;    /* dataset this run went on from, 0: none */
    int from_last;  /* last_id then: what is newer was written since */
    int fetched;    /* dataset in cache that this run copied from the prefix; 0: none */
    int unplaced;   /* dataset of this run whose files lack their names; 0: none */
    int halt;       /* a halt condition was found due */
    int halt_unsafe;  /* the flush that goes with it failed */
    int told_to_exit; /* SCR_Should_exit has said yes */
    struct scr_times times;
    struct scr_err untold; /* why the flush file could not be written, if so */
    int log_failed;        /* the event log could not be written and is left alone */
};

/* --- life (init.c) --- */
struct scr_ctx *scr_ctx_new(void);
/* Frees everything; collective if Init had made communicators. */
void scr_ctx_free(struct scr_ctx *ctx);
/* The same except for ctx itself, which is good for nothing but to be freed, and to be
 * asked for its state, and for world.rank. */
void scr_ctx_clear(struct scr_ctx *ctx);
/* Over the ranks of comm (the façade: MPI_COMM_WORLD), which is duplicated.
 * SCR_E_DISABLED: SCR_ENABLE=0. After that, as after an error, scr_ctx_turn_off. */
int scr_init_all(struct scr_ctx *ctx, MPI_Comm comm, struct scr_err *err);
int scr_finalize_all(struct scr_ctx *ctx, struct scr_err *err);
/* The datasets left unsaved if the run ends without scr_finalize_all, as the end of a
 * sentence; malloc'd, NULL: no memory. Local, for rank 0. */
char *scr_ctx_unsaved(const struct scr_ctx *ctx);
/* SCR_Config: *reply is malloc'd or NULL. comm: the calling ranks, before scr_init_all;
 * ignored after. */
int scr_config_all(struct scr_ctx *ctx, MPI_Comm comm, const char *text, char **reply,
                   struct scr_err *err);

/* --- without SCR (off.c): SCR_ENABLE=0, or SCR_Init failed. Calls keep their order and
 * do nothing but what the application's own files need. world: the ranks that call. ---
 */
/* Frees everything but the configuration. Takes no memory. */
void scr_ctx_turn_off(struct scr_ctx *ctx);
/* 1 on all ranks if SCR_REQUIRED is set, also where other settings are bad. */
int scr_off_is_refused_all(const struct scr_ctx *ctx, const struct scr_comm *world);
int scr_off_need_checkpoint_all(struct scr_ctx *ctx, const struct scr_comm *world,
                                int *flag, struct scr_err *err);
void scr_off_start_output(struct scr_ctx *ctx);
/* SCR_OK if every rank passed 1 and could route its files. */
int scr_off_complete_output_all(struct scr_ctx *ctx, const struct scr_comm *world,
                                int valid, struct scr_err *err);

/* --- where this rank is (topo.c) --- */
int scr_topo_init_all(struct scr_ctx *ctx, struct scr_err *err);
void scr_topo_fini(struct scr_ctx *ctx);

/* --- one run a prefix directory and a control directory (tenancy.c) --- */
/* Takes the job's lock of the prefix directory, which is open. SCR_E_TAKEN: another run
 * has it, and continues. Local, of rank 0. */
int scr_tenancy_take_prefix(struct scr_ctx *ctx, struct scr_err *err);
/* Takes the existing directory of this node in that store. SCR_E_TAKEN: another
 * run has it, and continues. *gone = 1: it was removed in that moment. Local. */
int scr_tenancy_take(struct scr_ctx *ctx, int store, int *gone, struct scr_err *err);
void scr_tenancy_leave(struct scr_ctx *ctx);
/* In a child made by fork: the locks are the parent's alone. */
void scr_tenancy_forget(struct scr_ctx *ctx);

/* --- datasets (output.c, route.c) --- */
int scr_start_output_all(struct scr_ctx *ctx, const char *name, int flags,
                         struct scr_err *err);
int scr_route(struct scr_ctx *ctx, const char *name, char *file, struct scr_err *err);
/* Before SCR_Init and after SCR_Finalize: the name itself, in room bytes. */
int scr_route_outside(const char *name, char *file, size_t room, struct scr_err *err);
int scr_complete_output_all(struct scr_ctx *ctx, int valid, struct scr_err *err);
void scr_output_fini(struct scr_output *out);
/* Applies red to a dataset, whose files this rank's map lists, and writes the map. Of d
 * id, dset_dir and dset are set. rc: of this rank until now; the code is its own, to be
 * agreed on. */
int scr_protect_dataset_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                            struct scr_protection *d, int rc, struct scr_err *err);
/* Whether the open dataset may be completed: what the application and Route_file said.
 */
int scr_output_check(const struct scr_ctx *ctx, int valid, struct scr_err *err);
/* files: of all ranks. A checkpoint needs one. */
int scr_output_check_files(const struct scr_ctx *ctx, uint64_t files,
                           struct scr_err *err);
/* 1 unless a routed destination belongs to another rank (after scr_settle_owners_all).
 */
int scr_output_is_mine(const struct scr_ctx *ctx, const char *dest);
/* Sums totals over all ranks, and finds the files that several ranks routed: each
 * belongs to the lowest of them, if the store can hold it. SCR_E_EXIST with names of
 * file and ranks if not. rc: what this rank found before; if any rank found an error,
 * all leave with that, unless such a file is its cause, and nothing else is done.
 * (shared.c) */
int scr_settle_owners_all(struct scr_ctx *ctx, uint64_t *totals, size_t ntotals, int rc,
                          struct scr_err *err);
/* Before the ranks of comm open path together by MPI, with ctx->sees_opens: SCR_E_EXIST
 * on all of them if, in an output phase, each has another path for it, and one of these
 * lies where SCR_Route_file gives each rank its own; the open dataset is not completed
 * then. Where they cannot be asked it is SCR_OK. Also while another thread is in a call
 * of SCR. */
int scr_check_open_all(struct scr_ctx *ctx, MPI_Comm comm, const char *path,
                       struct scr_err *err);
/* SCR_PRESERVE_DIRECTORIES=0: gives the files of the open dataset other destinations.
 * (layout.c) */
int scr_layout_all(struct scr_ctx *ctx, struct scr_err *err);

/* --- datasets that bypass the cache (bypass.c) --- */
/* Enters the open dataset in the index, incomplete. */
int scr_bypass_start_all(struct scr_ctx *ctx, const scr_hash *dset,
                         struct scr_err *err);
/* Where dest is written, malloc'd; directories are made. That is its path under the
 * prefix, or, *waits, a path next to it if an older dataset has a file there. All ranks
 * are given the same, unless the older dataset or its file is removed meanwhile:
 * scr_bypass_complete_all and scr_check_open_all find that. Local. */
int scr_bypass_place(struct scr_ctx *ctx, const char *dest, char **path, int *waits,
                     struct scr_err *err);
void scr_bypass_fini(struct scr_output *out);
/* Syncs and records what was written, puts it in place of what older datasets have
 * there, and makes the entry complete. On failure the entry stays incomplete. */
int scr_bypass_complete_all(struct scr_ctx *ctx, int valid, struct scr_err *err);
/* SCR_E_MISMATCH: ranks were given two paths for the file. */
int scr_bypass_refuse_paths(const char *name, struct scr_err *err);
/* Abandons the open dataset, listed as incomplete: files next to those they should
 * replace are removed, unless only their renames are left to be done. */
void scr_bypass_abandon_all(struct scr_ctx *ctx);
/* Whether a restart reads dataset id in the prefix directory: because it is configured
 * so, because it was written there, because it has files of several ranks, which a
 * store of nodes cannot hold, or because what is in cache of it is KEPT as it is. */
int scr_is_read_in_place_all(struct scr_ctx *ctx, int id);
/* Verifies it and makes it the checkpoint to restart from; *name is malloc'd. */
int scr_in_place_open_all(struct scr_ctx *ctx, int id, char **name,
                          struct scr_err *err);
/* Enters files that belong to one rank on all ranks: shared is of struct scr_readable,
 * those of this rank by destination. rc: what this rank found before; if any rank found
 * an error all leave with that. (shared.c) */
int scr_spread_shared_all(struct scr_ctx *ctx, const struct scr_table *shared, int rc,
                          struct scr_err *err);

/* --- a cache that all nodes share (sharedstore.c) --- */
/* Where dest is written until Complete_output; malloc'd, directories are made. Local.
 */
int scr_shared_place(struct scr_ctx *ctx, const char *dest, char **path,
                     struct scr_err *err);
/* Moves the files that are this rank's to its directory, drops the others. Local. */
int scr_shared_take_files(struct scr_ctx *ctx, struct scr_err *err);
/* When all ranks have done that: removes the directory they were in. */
void scr_shared_tidy(struct scr_ctx *ctx);
/* Writes this rank's entry of id to the directory of the files. Local. */
int scr_shared_note(struct scr_ctx *ctx, const char *cache, int id,
                    struct scr_err *err);
/* Adds the stored entry of a rank to map; 0: it cannot be read. Local. */
int scr_shared_read(const struct scr_ctx *ctx, const char *cache, int id, int rank,
                    scr_filemap *map);
/* At a start: every rank learns from there what is its own. rc: of this rank until now;
 * the code is its own, to be agreed on. */
int scr_shared_adopt_all(struct scr_ctx *ctx, int rc, struct scr_err *err);

/* --- cache (cachectl.c) --- */
/* Room for the states of `more` datasets that have none yet. Local; a step that
 * makes datasets calls it first, and agrees on the result. */
int scr_cache_reserve(struct scr_ctx *ctx, size_t more, struct scr_err *err);
/* Of a dataset in cache, until the next change of states; NULL: it is not there. */
struct scr_held *scr_cache_held(const struct scr_ctx *ctx, int id);
/* Cannot fail: a state that is new takes room from scr_cache_reserve. */
void scr_cache_set_state(struct scr_ctx *ctx, int id, enum scr_cache_state state);
/* Enters a dataset that red protects now as READY. Cannot fail. Local; the same on all
 * ranks. */
void scr_cache_enter(struct scr_ctx *ctx, int id, int kind,
                     const struct scr_reddesc *red);
/* Enters a dataset that was found in cache, by the maps of all ranks: not every rank
 * knows of a dataset of a different number of ranks. Cannot fail. */
void scr_cache_enter_all(struct scr_ctx *ctx, int id, enum scr_cache_state state);
/* Enters a dataset that was restored or fetched as READY, if every rank has its view:
 * from then on each may act on its own. rc: of this rank until now; if any rank's is an
 * error all leave with that, and there is no new state. */
int scr_cache_enter_ready_all(struct scr_ctx *ctx, int id, int rc, struct scr_err *err);
/* The smallest id above `above` of a dataset in cache, in whatever state; 0: none. What
 * is walked through so may be deleted on the way. */
int scr_cache_next(const struct scr_ctx *ctx, int above);
/* Largest id in that state below `below` (0: any); 0: none. */
int scr_cache_newest(const struct scr_ctx *ctx, enum scr_cache_state state, int below);
int scr_cache_newest_ckpt(const struct scr_ctx *ctx, int below); /* READY checkpoints */
int scr_cache_is_ready(const struct scr_ctx *ctx, int id);
int scr_cache_is(const struct scr_ctx *ctx, int id, enum scr_cache_state state);
/* 1 if a later start may make it whole that this run cannot use: FOREIGN or KEPT. */
int scr_cache_is_waiting(const struct scr_ctx *ctx, int id);
/* Says why this run cannot use what is KEPT: SCR_E_STATE. */
int scr_cache_refuse_kept(int id, struct scr_err *err);
int scr_cache_has(const struct scr_ctx *ctx, int id); /* in whatever state */
/* The redundancy descriptor or the dataset from any rank's entry of id in this rank's
 * map; NULL: no entry has it. Borrowed from the map. */
const scr_hash *scr_cache_any_desc(const struct scr_ctx *ctx, int id);
const scr_hash *scr_cache_any_dataset(const struct scr_ctx *ctx, int id);
/* SCR_IS_CKPT | SCR_IS_OUTPUT of a dataset in cache, in whatever state; 0: none. */
int scr_cache_kind(const struct scr_ctx *ctx, int id);
/* Name of id, for messages; "?" if this rank's map has none. Borrowed from the map. */
const char *scr_cache_name_of(const struct scr_ctx *ctx, int id);
/* READY, KEPT or FOREIGN dataset of that name with the largest id, 0: none. */
int scr_cache_find_all(const struct scr_ctx *ctx, const char *name);
/* Dataset view of id from this rank's map; SCR_E_NOENT if it has none. */
int scr_cache_dataset(const struct scr_ctx *ctx, int id, struct scr_dataset *d,
                      struct scr_err *err);
/* SCR_OK if every rank has that view: from then on each may act on its own. */
int scr_cache_check_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Makes this rank's directories of dataset id; *dset_dir is malloc'd. Local. */
int scr_cache_open(struct scr_ctx *ctx, int id, const char *store, int node_local,
                   char **dset_dir, struct scr_err *err);
/* Reloads the filemap from disk after a failed allocation left it incomplete, except
 * for dataset `gone` (0: all of it). Local.
 */
int scr_cache_mend_map(struct scr_ctx *ctx, int gone, struct scr_err *err);
/* Removes what of them is empty. */
void scr_cache_prune_all(struct scr_ctx *ctx, int id);
/* Deletes a dataset from cache on all ranks: files, map entries, flush-file entry. If
 * that fails it is LOST, or, short of memory, has no state if it had none before. */
int scr_cache_delete_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Whether this rank can delete its part of it: all ranks must agree, so that none
 * begins if another cannot. 1 also if the check itself fails because of missing room.
 * Local. */
int scr_cache_may_delete(const struct scr_ctx *ctx, int id, struct scr_err *err);
/* Deletes a dataset to make room: output that has not reached the prefix is flushed
 * first, and stays if that fails (invariant P7). */
int scr_cache_let_go_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* From now on redundancy files of datasets that leave are kept for dataset id of that
 * store; those kept for another one go. id 0: none are kept. Local; the same call on
 * all ranks. */
void scr_cache_spare_for(struct scr_ctx *ctx, int id, int store);
/* Removes datasets with larger ids from all caches: begun without a record, as
 * an eviction that died leaves them. */
void scr_cache_sweep_above(struct scr_ctx *ctx, int id);
/* 1 if a newer version's filemaps are kept here: it is not known what they name. One
 * rank a node looks. */
int scr_cache_has_newer(const struct scr_ctx *ctx);
/* Largest id in this node's caches, 0: there is none. */
int scr_cache_max_id(const struct scr_ctx *ctx);
/* Deletes these datasets, all that any rank knows, and what is kept of newer versions.
 */
int scr_cache_purge_all(struct scr_ctx *ctx, const struct scr_ids *ids,
                        struct scr_err *err);

/* --- room in cache (room.c) --- */
/* Known before room is made for one more dataset. The same on all ranks. */
struct scr_room {
    int neighbours; /* other prefix directories have datasets in its store */
    int narrow;     /* no room on some node in addition to all datasets there */
};
/* The part of it that this rank sees. need: scr_space_need_all. Local. */
void scr_room_look(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                   uint64_t need, struct scr_room *room);
/* 1 if it matters how much room there is: SCR_CACHE_SIZE is automatic. */
int scr_room_is_measured(const struct scr_ctx *ctx, const struct scr_reddesc *red);
/* Makes room for one more checkpoint of red in its store, the last thing before it is
 * written (invariant C10). Those leave first that a newer one covers, which survives as
 * many losses. One of a different number of ranks counts once a newer one is as safe
 * (invariant P5). Output that cannot be flushed stays, with a warning, and does not
 * count (invariant P7); SCR_E_FULL if there is no room for both. */
int scr_cache_evict_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                        const struct scr_room *room, struct scr_err *err);
/* The same for a checkpoint that was being fetched and found no room. */
int scr_cache_evict_for_fetch_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                                  struct scr_err *err);
/* When one of red is complete and protected: where SCR_CACHE_SIZE is automatic, what it
 * covers leaves. A failure is reported, and retried before the next is written.
 * may_go: a dataset that, as agreed, all ranks can delete. */
void scr_cache_settle_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                          int may_go);
/* The first that is going to leave then; 0: none. */
int scr_cache_covered_all(struct scr_ctx *ctx, const struct scr_reddesc *red);

/* --- bytes (space.c) --- */
/* Bytes of dataset id in the cache of red's store that this rank writes to. */
uint64_t scr_space_of_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                          int id);
/* Bytes there is room for in that cache, as scr_room_at says. Local. */
uint64_t scr_space_left(const struct scr_ctx *ctx, const struct scr_reddesc *red);
/* Whether the store of red has room, on every node, for the next checkpoint in addition
 * to all files there: as much as this run's newest checkpoint in cache would take with
 * red. 1, or 0 with what is short where in *why, the same on all ranks. Without such a
 * checkpoint it is 1. */
int scr_space_for_next_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                           struct scr_err *why);
/* The same in two steps. The first may be combined with other sums: this rank's part,
 * where it is known without communication (else 0); then the bytes that this rank's
 * node needs, or, of a store the nodes share, all of them: sum is that of all ranks'
 * parts. 0: no such checkpoint. */
uint64_t scr_space_part(const struct scr_ctx *ctx, const struct scr_reddesc *red);
uint64_t scr_space_need_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                            uint64_t sum);

/* Remembers how large the newest checkpoint in cache is, which may be about to leave.
 * Local. */
void scr_space_note(struct scr_ctx *ctx);
/* Bytes that the devices of this node need for the next checkpoint, from the last one
 * recorded, or one that failed since; in a run without one a little more than guess on
 * each node, which the lowest rank there passes, others 0. */
uint64_t scr_space_of_next_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                               uint64_t guess);
/* Bytes that they lack of dataset id, of total bytes. */
uint64_t scr_space_lacking_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                               int id, uint64_t total);

/* --- other prefix directories (neighbours.c, invariant C15): what they have in the
 * store of red leaves, oldest first, until every node has the room. Where
 * they have none it costs a reduction. --- */
/* 1 if this rank, which looks for its node, sees any. Local. */
int scr_neighbours_are_any(const struct scr_ctx *ctx, const struct scr_reddesc *red);
/* For the next dataset. */
void scr_neighbours_give_way_all(const struct scr_ctx *ctx,
                                 const struct scr_reddesc *red);
/* For dataset id, of total bytes on any rank, which found no room: 1 if something has
 * left. all: all that may leaves. */
int scr_neighbours_leave_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                             int id, uint64_t total, int all);

/* --- flush (flushctl.c) --- */
/* Also one of a different number of ranks, which stays unchanged in cache. */
int scr_flush_once_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* A file that is damaged or gone in cache is rebuilt, and the flush tried once more. */
int scr_flush_dataset_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* 1 if the files in cache of id may be why its flush failed with rc, and redundancy may
 * have what they lack. */
int scr_flush_may_be_mended(const struct scr_ctx *ctx, int id, int rc);
/* 1 if the dataset is on the prefix, complete, by the index; one that the index does
 * not list any more, but the flush file calls copied, was dropped, and counts as done.
 */
int scr_flush_is_done_all(struct scr_ctx *ctx, int id);
/* Flushes it unless that is so. */
int scr_flush_if_needed_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Flushes it if needed; a dataset that cannot be flushed any more, because a newer one
 * has files at its paths, is reported and counts as flushed (invariant P15). */
int scr_flush_or_give_way_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Says so; a warning unless it was on the prefix before that newer one. */
void scr_flush_tell_newer(struct scr_ctx *ctx, int id, const struct scr_err *why);
/* 1 if a dataset of the index that is not complete may become so: it is in the cache of
 * this job, on its way, or another job may bring it. flush: what flush.scr says. Rank
 * 0's. */
int scr_flush_may_go_on(const struct scr_ctx *ctx, const scr_hash *flush,
                        const struct scr_index_entry *e);
/* Flushes output that a different number of ranks left in cache; what fails is reported
 * and stays. */
void scr_flush_left_all(struct scr_ctx *ctx);
/* Outputs not yet flushed, then (if newest) the newest checkpoint in cache; the first
 * error, except for datasets of a different number of ranks. */
int scr_flush_pending_all(struct scr_ctx *ctx, int newest, struct scr_err *err);
/* Notes id's locations (SCR_LOC_*) in the flush file, or that it is gone: on rank 0,
 * while the others continue. A failure is a warning. Local. */
void scr_flush_mark(struct scr_ctx *ctx, int id, int on, int off);
void scr_flush_forget(struct scr_ctx *ctx, int id);
/* Reports the output that no rank can restore any more, and finds out whether the run
 * goes back for it. */
void scr_lost_output_look_all(struct scr_ctx *ctx);
/* 1: a checkpoint before it is loaded and is CURRENT. Else nothing has changed: there
 * is none to go back to, or it cannot be had, which is reported. */
int scr_lost_output_go_back_all(struct scr_ctx *ctx);
/* The restart is chosen: removes the lost output from the flush file. */
void scr_lost_output_settle_all(struct scr_ctx *ctx);
/* Takes datasets that were in the caches of this job, and are no more, out of it; of
 * other jobs those of long ago. On rank 0; a failure is a warning. Local. */
void scr_flush_sweep(struct scr_ctx *ctx);

/* --- flushes the application does not wait for (asyncctl.c). They never fail a call:
 * a failure is reported, the dataset stays in cache and is tried again. --- */
/* As the configuration says; the type is that of flushes that are waited for. */
struct scr_copy_opts scr_flush_opts(const struct scr_ctx *ctx);
/* Dataset id in the prefix directory; borrows from ctx. */
struct scr_prefix_dset scr_prefix_dset_of(const struct scr_ctx *ctx, int id);
int scr_async_is_on(const struct scr_ctx *ctx);       /* SCR_FLUSH_ASYNC */
int scr_async_has(const struct scr_ctx *ctx, int id); /* under way */
/* Adds to dests, a set of paths below the prefix, where this rank's files of dataset id
 * in cache go, of each also the name it has there if it is compressed; 0: no memory.
 * (meeting.c) */
int scr_cache_dests(const struct scr_ctx *ctx, int id, struct scr_table *dests);
/* Place in the list of the last flush under way whose dataset has the name of id, or a
 * file of any rank at a path where one of id goes, of whatever rank; -1: none. */
int scr_meeting_last_all(struct scr_ctx *ctx, int id);
/* Begins to flush dataset id, unless that is under way; waits for another one under way
 * that has its name or files at the same paths. */
void scr_async_start_all(struct scr_ctx *ctx, int id);
/* Local: threads do not begin what is started from now on until scr_async_go, or until
 * it is waited for. A call that has agreements left would share the processors with
 * them. */
void scr_async_pause(struct scr_ctx *ctx);
void scr_async_go(struct scr_ctx *ctx);
/* Looks what has ended: notes it, and what is only output leaves the cache. One
 * reduction if any is under way, else nothing; called by most SCR calls. */
void scr_async_poll_all(struct scr_ctx *ctx);
/* Until id (0: all) is not under way any more; the code of its flush. */
int scr_async_wait_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Cancels the flush of id, if it is under way, before its cached files go; what has
 * landed of a checkpoint that is not complete goes, too (invariant P28). */
void scr_async_stop_all(struct scr_ctx *ctx, int id);
/* The same, but what has landed stays. */
void scr_async_drop_all(struct scr_ctx *ctx, int id);
/* The open dataset was written to the prefix: what failed and would write over it is
 * not tried again. */
void scr_async_replaced_all(struct scr_ctx *ctx);
/* Starts those again that failed, except for those a newer one on the prefix replaces.
 */
void scr_async_retry_all(struct scr_ctx *ctx);
/* Stops transfer processes that still work for an earlier run, and sees that those that
 * were lost are dead: before anything under the prefix is replaced or deleted.
 * SCR_E_LOCKED: one of them may still write, nothing may be touched. A reduction if
 * there are any, else nothing. */
int scr_async_let_go_all(struct scr_ctx *ctx, struct scr_err *err);
/* At the end of a run, when nothing is under way: transfer processes it started end. */
void scr_async_dismiss(struct scr_ctx *ctx);
/* At a start: 1 if a transfer process of this node still works for an earlier run, to
 * be kept in async.leftovers if there is one on any (local); what had been copied
 * becomes complete (local, of rank 0); later, when the cache is restored, those start
 * again that were cut short. */
int scr_async_find_leftovers(struct scr_ctx *ctx);
void scr_async_adopt(struct scr_ctx *ctx);
void scr_async_resume_all(struct scr_ctx *ctx);
void scr_async_fini(struct scr_ctx *ctx); /* local: stops them as a death would */

/* --- restart (revive.c, fetchctl.c, restart.c) --- */
/* Moves, verifies and rebuilds what is left of a dataset in cache of this number of
 * ranks. */
int scr_cache_mend_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* At a start: learns the ids in use, rebuilds what is in cache, flushes what is
 * overdue. rc: of this rank until now. */
int scr_cache_revive_all(struct scr_ctx *ctx, int rc, struct scr_err *err);
/* After a flush that found its id taken by another job on the same prefix
 * (SCR_E_TAKEN): counts on far away from that one. The dataset stays in cache. */
void scr_flee_ids_all(struct scr_ctx *ctx);
/* Dataset id into the cache, protected there; or, if it is one to be read in place
 * (bypass.c), as the checkpoint to restart from. */
int scr_fetch_dataset_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* The same; one that a different number of ranks wrote is opened in place instead:
 * ctx->restart is loaded then. */
int scr_fetch_or_open_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* The newest checkpoint on the prefix below ctx->tried_below that is not complete, but
 * has all files as its list records them, becomes complete (unfinished.c, invariant
 * P25); *id = 0: none, also where the newest could not be checked or recorded, which is
 * reported. */
int scr_unfinished_enter_all(struct scr_ctx *ctx, int *id, struct scr_err *err);
/* Adds what is in cache, and the index, to a list for fmt/restart_order.h, which
 * borrows from both. On rank 0. */
void scr_restart_copies(const struct scr_ctx *ctx, const struct scr_index *index,
                        struct scr_restart_list *list);
/* Loads the first checkpoint that can be read in the order of fmt/restart_order.h, of
 * those with an id below ctx->tried_below. Finding none is success. */
int scr_restart_find_all(struct scr_ctx *ctx, struct scr_err *err);
/* 1: an error that says something about the dataset, so that an older one is tried. */
int scr_restart_is_passed_over(int rc);
/* Loads this one, from cache, else (unless SCR_FETCH=0) from the prefix. */
int scr_restart_load_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* At the end of a start: goes to SCR_CURRENT if it is given, flushes the checkpoint in
 * cache if SCR_FLUSH_ON_RESTART is set, and loads the one to restart from. */
int scr_restart_init_all(struct scr_ctx *ctx, struct scr_err *err);
int scr_have_restart_all(struct scr_ctx *ctx, int *flag, char *name,
                         struct scr_err *err);
int scr_start_restart_all(struct scr_ctx *ctx, char *name, struct scr_err *err);
int scr_complete_restart_all(struct scr_ctx *ctx, int valid, struct scr_err *err);
/* Completes a restart that the program has left open, with a warning: the data it read
 * count as good, because it continues. call: the call it made. */
void scr_restart_close_all(struct scr_ctx *ctx, const char *call);
/* There is none; r is as new, and empty. */
void scr_restart_fini(struct scr_restart *r);
/* Enters a file of this rank. SCR_OK or SCR_E_NOMEM. */
int scr_restart_add(struct scr_restart *r, const char *dest, const char *path);
/* Adds one to files, of struct scr_readable; NULL: out of memory. */
struct scr_readable *scr_readable_add(struct scr_table *files, const char *name,
                                      const char *path);
/* --- SCR_CURRENT applies once an allocation (wanted.c) --- */
/* 1 if this run is to go to it; a line says if an earlier run did. */
int scr_wanted_is_due_all(struct scr_ctx *ctx);
/* This run has gone to it, and is about to complete a checkpoint. */
void scr_wanted_note_all(struct scr_ctx *ctx);
/* That checkpoint is complete, or it is not: then SCR_CURRENT applies still. */
void scr_wanted_settle_all(struct scr_ctx *ctx, int complete);
/* The run ends well. */
void scr_wanted_forget_all(struct scr_ctx *ctx);

/* --- files of other ranks (others.c) --- */
/* Enters a file of another rank. SCR_OK or SCR_E_NOMEM. */
int scr_restart_add_other(struct scr_restart *r, const char *dest, const char *path);
/* Files of dataset id, which is the checkpoint to restart from, can be looked for in
 * the list it has in the prefix directory. Local. */
void scr_restart_read_there(struct scr_ctx *ctx, int id);
/* As scr_regroup_find and scr_regroup_find_base, of a checkpoint of any number of
 * ranks: a file that this rank did not write, if it can be read here. Local. */
int scr_others_find(struct scr_ctx *ctx, const char *dest, struct scr_err *err);
int scr_others_find_base(struct scr_ctx *ctx, const char *base, struct scr_err *err);

/* --- which programs get checkpoints of a different number of ranks (ranks.c) --- */
/* SCR_OK if the program has asked for it, else SCR_E_RANKS. why: which numbers. */
int scr_ranks_check(const struct scr_ctx *ctx, const struct scr_err *why,
                    struct scr_err *err);
/* Dataset id was passed over, for that error. */
void scr_ranks_pass_over(struct scr_ctx *ctx, int id, const struct scr_err *why);
/* 1 if the program has asked on any rank, now or before. */
int scr_ranks_ask_all(struct scr_ctx *ctx);
/* Tells of what was passed over, once. */
void scr_ranks_tell(struct scr_ctx *ctx);

/* --- a different number of ranks (regroup.c) --- */
/* How many ranks wrote dataset id, which is in cache. */
int scr_regroup_ranks_all(const struct scr_ctx *ctx, int id);
/* Loads dataset id from the prefix, to be read in place; nothing is changed there. */
int scr_regroup_open_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* 1 if this run has gone back to an older one, and left this for those who wrote it. */
int scr_regroup_is_left_behind(const struct scr_ctx *ctx, int id);
/* Loads one that is in cache: it is opened on the prefix, where it is copied first if
 * it is not there, by these ranks for those that wrote it. The cache stays as it is. */
int scr_regroup_cached_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Copies one that is in cache to the prefix, these ranks for those that wrote it. For
 * scr_flush_once_all. */
int scr_regroup_flush_all(struct scr_ctx *ctx, const struct scr_copy_opts *o, int id,
                          uint64_t *bytes, struct scr_err *err);
/* Looks for a file of that checkpoint for this rank by its path below the prefix. What
 * is found, and has the CRC recorded, is entered in by_dest; finding none is success.
 * Local. */
int scr_regroup_find(struct scr_ctx *ctx, const char *dest, struct scr_err *err);
/* The same by the base name, in by_name: "" if several files have it. */
int scr_regroup_find_base(struct scr_ctx *ctx, const char *base, struct scr_err *err);
/* Verifies all files of dataset id on the prefix, by any number of ranks, against what
 * is recorded of them; SCR_E_CORRUPT or _MISSING: it is damaged. */
int scr_restart_verify_all(struct scr_ctx *ctx, int id, struct scr_err *err);
int scr_restart_ranks(struct scr_ctx *ctx, int *ranks, struct scr_err *err);
int scr_restart_files_all(struct scr_ctx *ctx, int *n, struct scr_err *err);
int scr_restart_file(const struct scr_ctx *ctx, int i, char *file, int *rank,
                     struct scr_err *err);

/* CURRENT=name if the index lists it under this id. */
int scr_note_current_all(struct scr_ctx *ctx, int id, const char *name,
                         struct scr_err *err);

/* --- policy (policy.c) --- */
int scr_need_checkpoint_all(struct scr_ctx *ctx, int *flag, struct scr_err *err);
/* The answer by the parameters and this rank's clock. Local. */
int scr_is_time_for_ckpt(const struct scr_ctx *ctx);
int scr_should_exit_all(struct scr_ctx *ctx, int *flag, struct scr_err *err);
/* Halt file at Init: sets ctx->halt and says why; asked again when the run begins, it
 * drops entries of an earlier allocation. Local, for rank 0. */
int scr_halt_look(struct scr_ctx *ctx, int begins, struct scr_err *err);
/* After a successful checkpoint: counts it, sets ctx->halt if a condition is due. */
int scr_halt_ckpt_all(struct scr_ctx *ctx, struct scr_err *err);
/* 1 if the run ends because the job is halted: the program was asked to exit, or a
 * condition is due, now or before. */
int scr_is_halted_all(struct scr_ctx *ctx, int *halted, struct scr_err *err);
/* Writes ExitReason. */
int scr_halt_reason_all(struct scr_ctx *ctx, const char *reason, struct scr_err *err);

/* --- management (manage.c) --- */
/* Makes the named checkpoint the one to restart from: loads it, notes it in the index,
 * drops newer datasets from cache (outputs are flushed first), counts on from it. who:
 * the caller, for messages. A dataset that cannot be loaded costs nothing; *tried is
 * then its id and no checkpoint is loaded. *tried = 0: nothing was begun. */
int scr_go_to_all(struct scr_ctx *ctx, const char *who, const char *name, int *tried,
                  struct scr_err *err);
/* The three calls of scr.h. A name that no dataset has is reported and changes nothing.
 */
int scr_current_all(struct scr_ctx *ctx, const char *name, struct scr_err *err);
int scr_delete_all(struct scr_ctx *ctx, const char *name, struct scr_err *err);
int scr_drop_all(struct scr_ctx *ctx, const char *name, struct scr_err *err);

/* --- leaving the prefix (retain.c) --- */
/* Deletes dataset id from the prefix: files, directories that get empty, records.
 * spare: files that another complete dataset of the index names too stay. */
int scr_prefix_delete_all(struct scr_ctx *ctx, int id, int spare, struct scr_err *err);
/* After a dataset has become complete on the prefix, or a flush found no room there:
 * deletes what SCR_PREFIX_SIZE does not keep, and checkpoints older than a complete one
 * that cannot become complete any more. Failures are warnings, and tried again the next
 * time. */
void scr_retain_all(struct scr_ctx *ctx);
/* At a start, if SCR_PREFIX_PURGE is set: deletes every dataset of the index. */
void scr_prefix_purge_all(struct scr_ctx *ctx);

/* --- leftovers of killed flushes (leftovers.c) --- */
/* At a start: removes the temporary files of flushes that were killed, of this job or
 * another, and files of datasets that bypassed the cache next to those they should
 * replace. A dataset that only lacked the renames becomes complete. A failure is a
 * warning, and retried at the next start. */
void scr_leftovers_sweep_all(struct scr_ctx *ctx);

/* --- events (event.c): rank 0 appends to <prefix>/.scr/log if SCR_LOG_ENABLE --- */
void scr_event_note(struct scr_ctx *ctx, struct scr_event e);
/* scr_event_note with the members that apply: SCR_EVENT(ctx, .event = "FETCH_START",
 * .dset = id). Members left out (0, NULL) are not recorded. */
#define SCR_EVENT(ctx, ...) scr_event_note(ctx, (struct scr_event){ __VA_ARGS__ })

/* --- phases (phase.c): SCR_PHASE_FILE and SCR_PHASE_DELAY, for drills. A phase waits
 * while <SCR_PHASE_FILE>.hold demands it --- */
void scr_phase_all(struct scr_ctx *ctx, const char *phase, int id);

/* Rank 0's edit of a state file, agreed. edit as in base/hashfile.h. */
int scr_edit_state_all(struct scr_ctx *ctx, const char *file, scr_hash_edit edit,
                       void *arg, struct scr_err *err);
int scr_edit_index_all(struct scr_ctx *ctx, scr_index_edit edit, void *arg,
                       struct scr_err *err);

/* Checks a text argument: given (unless optional), and shorter than SCR_MAX_FILENAME.
 * Local. */
int scr_check_name(const char *call, const char *text, int optional,
                   struct scr_err *err);
/* SCR_E_MISMATCH unless a vote (par/comm.h) found an argument the same on all ranks.
 * what: "name differs". Local. */
int scr_check_same(const char *call, const char *what, int64_t least,
                   int64_t least_negated, struct scr_err *err);
/* Both of one that must be given. */
int scr_check_name_all(const struct scr_ctx *ctx, const char *call, const char *text,
                       struct scr_err *err);

#endif
