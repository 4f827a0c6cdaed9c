/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a dataset in the prefix directory usable: checks its files, rebuilds what is
 * missing (developer's manual 11.10.6-11.10.9), writes rank2file and summary, enters it
 * in the index.
 *
 * A flushed dataset has a summary; its files are checked against rank2file. A scavenged
 * one has in its scr.dataset.<id> directory the redundancy files of the caches, whose
 * headers say which files every rank wrote, and a <rank>.scrfilemap for each rank; the
 * application files are at their destinations below the prefix. */
#ifndef SCR_TOOL_BUILD_H
#define SCR_TOOL_BUILD_H

#include "fmt/rank2file.h"
#include "ops/progress.h"
#include "store/prefix.h"

struct scr_build_report {
    int rebuilt_ranks;             /* ranks with rebuilt files */
    int built;                     /* 1: rank2file and summary were written */
    uint64_t files;                /* application files checked */
    int newer;                     /* dataset that wrote over the files, 0: none */
    struct scr_progress *progress; /* as below */
    FILE *progress_out;
};

/* A dataset that a cache has: the flush file has an entry of it afterwards, which says
 * that it is copied.
 * SCR_E_LOST: files are missing or damaged beyond repair, the text names the first, or
 * a newer dataset wrote over them, which is not undone; the index then says COMPLETE=0,
 * and a summary that said otherwise is gone. SCR_E_IO: files could not be looked at;
 * index and summary are as they were. A checkpoint newer than CURRENT becomes it.
 * SCR_E_NOENT: there is nothing of that dataset. Data are on disk before the summary,
 * the summary before the index entry. */
int scr_build_dataset(const struct scr_env *env, const struct scr_prefix *p, int id,
                      struct scr_build_report *report, struct scr_err *err);

/* The same of one that may be in no cache: no entry is made, only one that exists is
 * changed. CURRENT stays, and there is a bar while files are checked: report is empty
 * but for progress and progress_out. */
int scr_build_add(const struct scr_env *env, const struct scr_prefix *p, int id,
                  struct scr_build_report *report, struct scr_err *err);

/* As scr_build_add, but what the index says of CURRENT and FAILED stays: that the files
 * are whole again does not mean that a restart from them is wanted. */
int scr_build_repair(const struct scr_env *env, const struct scr_prefix *p, int id,
                     struct scr_build_report *report, struct scr_err *err);

/* Writes rank2file from all, which has an entry of every rank, then the summary, then
 * the index entry of a dataset whose files are good and on disk. */
int scr_build_record(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const scr_hash *dset, const struct scr_rank2file *all,
                     struct scr_err *err);

/* Of a dataset that is complete: what is left of its scavenge goes, as it is of no use
 * any more. */
void scr_build_tidy(const struct scr_env *env, const struct scr_prefix *p, int id);

#endif
