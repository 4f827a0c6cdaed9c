/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR, the Scalable Checkpoint/Restart library: C interface.
 *
 * Calls are collective over MPI_COMM_WORLD, or the communicator of SCR_Init_comm,
 * unless marked local: every process of it makes them, in the same order, between
 * MPI_Init and MPI_Finalize, from one thread at a time. Every call returns SCR_SUCCESS
 * or an error code (scr_errors(7)) that is the same on all processes of a collective
 * call; one line on stderr gives the failure, its cause and what to do. Two calls can
 * end the process: SCR_Init and SCR_Complete_output with exit(0) if the job must halt
 * (scr_halt, end of the allocation), unless SCR_HALT_ENABLED=0, and SCR_Init with
 * exit(1) if it fails and SCR_REQUIRED=1. Where SCR does not run, because of
 * SCR_ENABLE=0 or because SCR_Init failed, calls keep their order and succeed, there is
 * no checkpoint to restart from, and the program writes its files under the names it
 * passes. A buffer for a path, a name or a text has SCR_MAX_FILENAME bytes.
 *
 *     if (SCR_Init() != SCR_SUCCESS) …  the cause is on stderr; end, or run without
 *     int have, need, stop; char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
 *     while (SCR_Have_restart(&have, name) == SCR_SUCCESS && have) {
 *         SCR_Start_restart(name);  … SCR_Route_file(file, path); read path …
 *         if (SCR_Complete_restart(ok) == SCR_SUCCESS) break;
 *     }
 *     for (…) {
 *         compute();
 *         SCR_Need_checkpoint(&need); if (!need) continue;
 *         SCR_Start_output("step.10", SCR_FLAG_CHECKPOINT);
 *         SCR_Route_file("step.10/rank_3.ckpt", path);  … write path, close it …
 *         SCR_Complete_output(ok);
 *         SCR_Should_exit(&stop); if (stop) break;
 *     }
 *     SCR_Finalize(); */
#ifndef SCR_H
#define SCR_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. SCR_Get_version returns that of the library. */
#define SCR_MAJOR_VERSION "4"
#define SCR_MINOR_VERSION "0"
#define SCR_PATCH_VERSION "0"
#define SCR_VERSION       "4.0.0"

#define SCR_SUCCESS      (0)
#define SCR_FAILURE      (1)  /* any error without a more precise code */
#define SCR_MAX_FILENAME 1024 /* NUL included */

/* Properties of a dataset, combined with |. */
#define SCR_FLAG_NONE       0 /* for variables; SCR_Start_output takes it as OUTPUT */
#define SCR_FLAG_CHECKPOINT 1 /* the program can restart from it */
#define SCR_FLAG_OUTPUT     2 /* it must reach the prefix directory */
/* Of SCR_Dataset only. */
#define SCR_FLAG_IN_CACHE    4  /* it is whole in cache, or can be rebuilt there */
#define SCR_FLAG_IN_PREFIX   8  /* it is complete in the prefix directory */
#define SCR_FLAG_RESTARTABLE 16 /* SCR_Have_restart may offer it */

#if defined(__GNUC__)
#define SCR_API __attribute__((visibility("default")))
#else
#define SCR_API
#endif

/* --- settings, start and end --- */

/* Sets, unsets or queries a parameter (scr_params(5)): "NAME=value", "NAME=", "NAME",
 * or for descriptors "CKPT=0 TYPE=XOR SET_SIZE=16" and "CKPT=0 TYPE". Settings are
 * possible before SCR_Init only and hold up to SCR_Finalize; a query returns a string
 * to be freed by the caller, or NULL if the parameter is not set. Setting returns
 * NULL. All processes pass the same text. Configf takes a printf format. */
SCR_API const char *SCR_Config(const char *config);
SCR_API const char *SCR_Configf(const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* Starts the library: reads the configuration, rebuilds datasets in cache (moves files
 * to the nodes their ranks run on, verifies them, rebuilds what was lost), else fetches
 * a checkpoint from the prefix directory. After SCR_Finalize it begins another run,
 * like the next run of the job. If the job must halt, says why and ends the process. */
SCR_API int SCR_Init(void);

/* SCR_Init for the processes of comm only, an intra-communicator: members of an
 * ensemble, one of several coupled codes, a job with spare processes. SCR_Init is
 * SCR_Init_comm(MPI_COMM_WORLD). SCR duplicates comm, which the program may free then.
 * Other processes call nothing, or start another run with another communicator. Runs at
 * the same time need different prefix directories (SCR_PREFIX, by SCR_Config_comm): of
 * two with one prefix directory the second waits for three minutes and is refused with
 * SCR_E_TAKEN. Where SCR ends processes it ends those of comm, and their MPI_Finalize
 * may wait for the others: where these need them, set SCR_HALT_ENABLED=0 and use
 * SCR_Should_exit. MPI_COMM_NULL, an inter-communicator and, as far as MPI knows it, a
 * freed handle are SCR_E_ARG on each process that passes it. */
#ifdef MPI_VERSION /* include mpi.h before this header */
SCR_API int SCR_Init_comm(MPI_Comm comm);

/* SCR_Config, collective over comm: for settings that only its processes have, before
 * SCR_Init_comm(comm) with the same first process. Those of SCR_Config before it hold
 * for all communicators. While SCR runs it is SCR_Config. */
SCR_API const char *SCR_Config_comm(MPI_Comm comm, const char *config);
#endif

/* Flushes what must reach the prefix directory (with SCR_FLUSH > 0, or if the job is
 * halted, the newest checkpoint), records SCR_FINALIZE_CALLED in the halt file so that
 * run scripts do not start the job again, and frees everything. Call it before
 * MPI_Finalize, which otherwise prints which datasets are only in cache; every later
 * call is an error then. */
SCR_API int SCR_Finalize(void);

/* --- paths --- */

/* Local. Turns the path a file has (or will have) under the prefix directory into the
 * path to use now. name: absolute, or relative to the current directory; it must
 * resolve to a place under the prefix. In an output phase the file is registered as
 * part of the dataset and its directory made; calling again for the same name gives the
 * same path. Each process gets its own path, so a file that several processes write
 * together (MPI_File_open, parallel HDF5) needs a dataset that bypasses the cache
 * (SCR_CACHE_BYPASS=1) or a store that all nodes share (STORE with GROUP=WORLD);
 * elsewhere MPI_File_open of it fails with MPI_ERR_NOT_SAME, and SCR_Complete_output
 * refuses the dataset. A program that finds MPI_File_open in the MPI library before
 * this one, as Python programs do, never returns from that call: set LD_PRELOAD to
 * libscr.so. If a dataset that bypasses the cache has a file at the path of an older
 * one, the returned path is next to the older file, and SCR_Complete_output replaces
 * the older file by the new one. In a restart phase the file must exist and be
 * readable; a bare file name that is no path of such a file is looked up among the
 * names of the checkpoint's files, of this process first. Outside of both phases, also
 * before SCR_Init and after SCR_Finalize, name is copied to file. Where SCR does not
 * run file is name, even after an error, and in an output phase its directory is made.
 * Otherwise an error leaves file empty. After SCR_Start_output has failed it is an
 * error up to the next collective call, mostly SCR_Complete_output. */
SCR_API int SCR_Route_file(const char *name, char *file);

/* --- checkpoints and output --- */

/* *flag = 1 when a checkpoint is advisable now, else 0; same on all processes. */
SCR_API int SCR_Need_checkpoint(int *flag);

/* Older names of SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT), SCR_Complete_output. */
SCR_API int SCR_Start_checkpoint(void);
SCR_API int SCR_Complete_checkpoint(int valid);

/* Opens an output phase. name: of the dataset, shorter than SCR_MAX_FILENAME, same on
 * all processes, or NULL or "" for "scr.dataset.<id>". flags: SCR_FLAG_CHECKPOINT,
 * SCR_FLAG_OUTPUT or both. If there is no room for the old checkpoints and the new one,
 * or SCR_CACHE_SIZE requires it, old ones are deleted from cache when all processes
 * have begun; else SCR_Complete_output deletes them when the new one is protected. */
SCR_API int SCR_Start_output(const char *name, int flags);

/* Closes the output phase. The process has closed all its files; valid = 1 if they were
 * written without error (or there are none). Returns SCR_SUCCESS only if all processes
 * passed 1 and the dataset is protected in cache and, if it is output, copied to the
 * prefix directory. A dataset that some process could not write or that could not be
 * protected is dropped, like a checkpoint without any file; older ones remain. Output
 * that could not be copied stays in cache and its flush is retried later; a checkpoint
 * whose periodic flush (SCR_FLUSH) failed is a warning. Where SCR does not run,
 * SCR_SUCCESS only means that all processes passed 1. If the job must halt, flushes the
 * newest checkpoint and ends the process. */
SCR_API int SCR_Complete_output(int valid);

/* --- restart --- */

/* *flag = 1 if there is a checkpoint to restart from; name (or NULL): its name. */
SCR_API int SCR_Have_restart(int *flag, char *name);
SCR_API int SCR_Start_restart(char *name);
/* valid = 1 if this process read all it needed. If any passed 0, the next older
 * checkpoint is loaded, if any (SCR_Have_restart), and all processes get an error. The
 * one that was rejected is deleted from cache, or marked as failed in the prefix
 * directory; if SCR_Route_file failed because of a name it is unread, and stays. */
SCR_API int SCR_Complete_restart(int valid);

/* --- restart on a different number of processes ---
 *
 * A program may be started on M processes and restart from what N processes wrote, if
 * it asks for that: with SCR_RESTART_ANY_RANKS=1, or by a call of SCR_Restart_ranks
 * before SCR_Have_restart. SCR does not offer such a checkpoint to any other program:
 * it stays unchanged for a run with N processes. If it is offered, SCR_Route_file gives
 * any process any file of it in the restart phase, by its path under the prefix
 * directory. The program decides which process reads which file. The files are read in
 * place in the prefix directory, so they are opened for reading only. After
 * SCR_Restart_ranks, SCR_Have_restart and SCR_Start_restart:
 *
 *     SCR_Restart_files(&n); for (i = 0; i < n; i++) {
 *         SCR_Restart_file(i, file, &writer);
 *         if (writer % M == me) { SCR_Route_file(file, path);  … read path … }
 *     }
 *     SCR_Complete_restart(ok); */

/* Local, from SCR_Have_restart with *flag = 1 to the end of SCR_Complete_restart.
 * *ranks: how many processes wrote the checkpoint that is offered or open, also if it
 * is the number of this run. A call before SCR_Have_restart, on at least one process,
 * asks for checkpoints of a different number of processes; *ranks may be 0 then. */
SCR_API int SCR_Restart_ranks(int *ranks);
/* Between the same calls, collective. *n: how many files the checkpoint has, of all
 * processes that wrote it. Each process keeps the list until SCR_Complete_restart, some
 * hundred bytes a file; programs that know the names of their files need none. */
SCR_API int SCR_Restart_files(int *n);
/* Local, after SCR_Restart_files. The i-th of them, 0 <= i < n, the same on all
 * processes, by the number of the process that wrote it. file: its path under the
 * prefix directory, to be passed to SCR_Route_file; *rank: the process that wrote it
 * (may be NULL). On as many processes as wrote it, SCR_Route_file gives each process
 * its own files, and those files of others that it can read. */
SCR_API int SCR_Restart_file(int i, char *file, int *rank);

/* --- what there is --- */

/* Between SCR_Init and SCR_Finalize, except in an output phase. *n: how many datasets
 * there are in cache and in the prefix directory. Process 0 reads the index and sends
 * the list to all, which keep it until the next call: some fifty bytes a dataset and
 * its name. Files are not read: SCR_Init has verified what is in cache, a restart
 * verifies what it takes from the prefix directory. *n = 0 where SCR does not run. */
SCR_API int SCR_Datasets(int *n);
/* Local, after SCR_Datasets. The i-th of them, 0 <= i < n, the same on all processes,
 * newest first. Each pointer may be NULL. *id: its number, as commands have it; *flags:
 * SCR_FLAG_CHECKPOINT, SCR_FLAG_OUTPUT, SCR_FLAG_IN_CACHE, SCR_FLAG_IN_PREFIX (without
 * both it is incomplete or damaged), and SCR_FLAG_RESTARTABLE if SCR_Have_restart may
 * offer it, once newer ones are refused; of a different number of processes only in
 * cache, after the program has asked for it. *bytes: of the files of all processes;
 * *when: it was begun, in seconds since 1970; both 0 if that is not known. To restart
 * from another one than the newest, pass its name to SCR_Current before
 * SCR_Have_restart. */
SCR_API int SCR_Dataset(int i, char *name, int *id, int *flags, double *bytes,
                        double *when);

/* --- the rest --- */

/* *flag = 1 when the job must halt; SCR_Finalize then flushes the newest checkpoint. */
SCR_API int SCR_Should_exit(int *flag);

/* Dataset `name` is the one to restart from (before SCR_Have_restart; newer datasets
 * are dropped from cache), or was restarted from without SCR. A name that no dataset
 * has changes nothing, here and in the next two calls, and a line reports it. */
SCR_API int SCR_Current(const char *name);
/* Deletes a dataset's files (cache and prefix), directories that become empty, and its
 * entry; all datasets of that name. */
SCR_API int SCR_Delete(const char *name);
/* Removes the entry from the index only; all of that name. */
SCR_API int SCR_Drop(const char *name);

/* Local, at any time, also before SCR_Init. The version as "4.0.0"; do not free. */
SCR_API char *SCR_Get_version(void);

/* Local, at any time. Returns the code of this process' last call that could fail
 * (SCR_SUCCESS if it succeeded, or there was none). text (may be NULL): the printed
 * line without "SCR: error:" (after a local call also without "rank N:"), or "". Only
 * this distinguishes an error of SCR_Config from a parameter without a value. */
SCR_API int SCR_Last_error(char *text);

#ifdef __cplusplus
}
#endif
#endif
