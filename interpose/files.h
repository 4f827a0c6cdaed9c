/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of checkpoints that this process writes and reads, and what becomes of the
 * program's calls on them. All calls are local; any thread may make them. They take the
 * lock themselves, except for those that say otherwise. Everything that concerns no
 * checkpoint is left to the real call: the functions return 0 or NULL then and have
 * done nothing. */
#ifndef SCR_INTERPOSE_FILES_H
#define SCR_INTERPOSE_FILES_H

#include "ip.h"

/* An open that concerns a checkpoint. */
struct scr_ip_use {
    struct scr_ip_file *file; /* NULL: for reading, nothing is tracked */
    char *place;              /* to open, malloc'd */
    int flags;                /* for the place */
    int is_new;               /* the place has nothing that would be missed */
    int error;                /* != 0: the open fails, with this errno */
};

/* The program opens path with these flags of open(2). 1: it is to open use->place and
 * then to call scr_ip_opened. A file that the program writes or changes is staged: the
 * program writes to node-local storage, on a copy of the file if it does not truncate
 * it. A file is read where this process has it. */
int scr_ip_open(const char *path, int flags, struct scr_ip_use *use);
/* 0: path can be of no checkpoint. A cheap first look, without the lock, that many of
 * the others begin with. */
int scr_ip_is_candidate(const char *path);
/* fd: what came of it, < 0: the open failed. 1: fd is not to be used; the open fails if
 * use->error is set (files staged already stay), else the file cannot be staged and
 * must be opened where the program wanted it. */
int scr_ip_opened(struct scr_ip_use *use, int fd);

/* The program is about to close fd: the file it was writing, NULL if none of ours.
 * Once it is closed, scr_ip_closed with whether that failed. */
struct scr_ip_file *scr_ip_closing(int fd);
void scr_ip_closed(struct scr_ip_file *f, int failed);

/* Descriptor `to` has become a second one of `from`; what it was before is closed. */
void scr_ip_duplicated(int from, int to);
/* MPI is about to open path: what this process has of it goes to the prefix directory.
 */
void scr_ip_expose(const char *path);
/* 1: a file called path forms a checkpoint. */
int scr_ip_forms_checkpoint(const char *path);
/* The path of what is called path below a directory that is open, malloc'd; NULL: it is
 * not known. */
char *scr_ip_below(int dir, const char *path);

/* Where this process has the file called path, malloc'd; NULL: where path says. */
char *scr_ip_look(const char *path);

/* 1: it was done, *rc and errno are its result. */
int scr_ip_rename(const char *from, const char *to, int *rc);
int scr_ip_unlink(const char *path, int *rc);

/* All of from, as it is open, to where to is open; needs no lock. */
int scr_ip_copy_fd(int from, int to, const char *name, struct scr_err *err);

/* --- for meet.c; these need the lock --- */

/* A file of a checkpoint at place, which this process learns of at a restart.
 */
int scr_ip_adopt(const char *path, const char *place, struct scr_err *err);
/* Puts a staged file where the program wanted it, also while it is open. Reports
 * a failure; the file is then kept next to the stage, and the line says where. */
void scr_ip_leave(struct scr_ip_file *f);
/* A second name for the file at from, or a copy where a link is impossible. */
int scr_ip_link(const char *from, const char *to, struct scr_err *err);
/* A new name in the stage, malloc'd; NULL: out of memory. */
char *scr_ip_stage_name(void);
/* Forgets the files of datasets that are not in cache any more. */
void scr_ip_prune(void);
/* Ends it all: every staged file is left, the table is empty. */
void scr_ip_files_fini(void);

#endif
