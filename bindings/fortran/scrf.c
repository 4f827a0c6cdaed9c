/* SPDX-License-Identifier: BSD-3-Clause */
/* libscrf: the calls of scr.h for Fortran.
 *
 * Text of Fortran has a length and is filled with blanks. The functions scrf_* take it
 * with that length, for the module scr (scr_module.f90), which calls them by bind(C).
 * Below them are the entries of the classic interface (scrf.h).
 *
 * Those are written in C and not in Fortran, so that one libscrf serves all compilers:
 *  - of every entry there are the three names that compilers make of SCR_INIT, which
 * are scr_init_, scr_init__ (-fsecond-underscore) and SCR_INIT;
 *  - lengths of text follow the other arguments, by value. Some compilers pass them as
 *    size_t (gfortran 8 and later, ifort, flang), some as int (gfortran before 8,
 *    nvfortran). In a register, and in the 8 bytes that 64-bit systems have for an
 *    argument on the stack (scr_dataset has one there), the lower 32 bits are the
 *    length in either case: scrf_len reads no more than those.
 *
 * Nothing here calls MPI, so the library works with all Fortran interfaces of an MPI.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/bind.h"

typedef int32_t scrf_len;

/* --- text --- */

/* Characters up to the last one that is not blank. */
static size_t trimmed(const char *text, scrf_len n)
{
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return n > 0 ? (size_t)n : 0;
}

/* An optional argument; the module gives a length below 0 for one that is missing. */
static int is_given(const char *text, scrf_len n)
{
    return text != NULL && n >= 0;
}

/* The name of a dataset for C. A name that is too long is cut to a length that is still
 * too long, so that the call refuses it. NULL: it is missing. */
static char *name_to_c(const char *name, scrf_len n, char buffer[SCR_MAX_FILENAME + 1])
{
    if (!is_given(name, n))
        return NULL;
    size_t length = trimmed(name, n);
    if (length > SCR_MAX_FILENAME)
        length = SCR_MAX_FILENAME;
    memcpy(buffer, name, length);
    buffer[length] = '\0';
    return buffer;
}

/* Text of any length for C, malloc'd. NULL: it is NULL or there is no memory, and the
 * call will say that its argument is missing. */
static char *text_to_c(const char *text, scrf_len n)
{
    size_t length = text != NULL ? trimmed(text, n) : 0;
    char *copy = text != NULL ? malloc(length + 1) : NULL;
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* What a buffer for C has to hold, of what fits into n characters without a NUL. */
static size_t room_of(scrf_len n)
{
    return n > 0 ? (size_t)n + 1 : 1;
}

/* text into out; nothing but blanks if it is NULL. It has been checked that it fits. */
static void give(const char *text, char *out, scrf_len n)
{
    if (!is_given(out, n))
        return;
    memset(out, ' ', (size_t)n);
    if (text != NULL)
        memcpy(out, text, strlen(text));
}

static int give_if(int rc, const char *text, char *out, scrf_len n)
{
    give(rc == SCR_SUCCESS ? text : NULL, out, n);
    return rc;
}

/* --- calls with text --- */

/* comm NULL: SCR_Config. */
static int config(const int *comm, const char *line, scrf_len nline, char *value,
                  scrf_len nvalue)
{
    char *text = text_to_c(line, nline), *reply = NULL;
    size_t room = is_given(value, nvalue) ? room_of(nvalue) : SIZE_MAX;
    int rc = comm != NULL ? scr_bind_config_comm(*comm, text, room, &reply)
                          : scr_bind_config(text, room, &reply);
    give(reply, value, nvalue);
    free(reply);
    free(text);
    return rc;
}

SCR_API int scrf_config(const char *text, scrf_len ntext, char *value, scrf_len nvalue)
{
    return config(NULL, text, ntext, value, nvalue);
}

SCR_API int scrf_config_comm(int comm, const char *text, scrf_len ntext, char *value,
                             scrf_len nvalue)
{
    return config(&comm, text, ntext, value, nvalue);
}

SCR_API int scrf_init_comm(int comm)
{
    return scr_bind_init_comm(comm);
}

SCR_API int scrf_route_file(const char *name, scrf_len nname, char *file,
                            scrf_len nfile)
{
    char path[SCR_MAX_FILENAME] = "";
    char *text = text_to_c(name, nname);
    int rc = scr_bind_route_file(text, file ? path : NULL, room_of(nfile));
    free(text);
    give(path, file, nfile); /* after an error too, see scr.h */
    return rc;
}

SCR_API int scrf_start_output(const char *name, scrf_len n, int flags)
{
    char buffer[SCR_MAX_FILENAME + 1];
    return SCR_Start_output(name_to_c(name, n, buffer), flags);
}

SCR_API int scrf_have_restart(int *flag, char *name, scrf_len n)
{
    char found[SCR_MAX_FILENAME] = "";
    int rc = scr_bind_have_restart(flag, is_given(name, n) ? found : NULL, room_of(n));
    return give_if(rc, found, name, n);
}

SCR_API int scrf_start_restart(char *name, scrf_len n)
{
    char found[SCR_MAX_FILENAME] = "";
    int rc = scr_bind_start_restart(is_given(name, n) ? found : NULL, room_of(n));
    return give_if(rc, found, name, n);
}

SCR_API int scrf_restart_file(int i, char *file, scrf_len n, int *rank)
{
    char path[SCR_MAX_FILENAME] = "";
    int rc = scr_bind_restart_file(i, file ? path : NULL, room_of(n), rank);
    return give_if(rc, path, file, n);
}

SCR_API int scrf_dataset_name(int i, char *name, scrf_len n)
{
    char text[SCR_MAX_FILENAME] = "";
    int rc = scr_bind_dataset_name(i, is_given(name, n) ? text : NULL, room_of(n));
    return give_if(rc, text, name, n);
}

SCR_API int scrf_current(const char *name, scrf_len n)
{
    char buffer[SCR_MAX_FILENAME + 1];
    return SCR_Current(name_to_c(name, n, buffer));
}

SCR_API int scrf_delete(const char *name, scrf_len n)
{
    char buffer[SCR_MAX_FILENAME + 1];
    return SCR_Delete(name_to_c(name, n, buffer));
}

SCR_API int scrf_drop(const char *name, scrf_len n)
{
    char buffer[SCR_MAX_FILENAME + 1];
    return SCR_Drop(name_to_c(name, n, buffer));
}

SCR_API int scrf_get_version(char *version, scrf_len n)
{
    char text[SCR_MAX_FILENAME] = "";
    size_t room = room_of(n);
    int rc = scr_bind_get_version(text, room < sizeof text ? room : sizeof text);
    return give_if(rc, text, version, n);
}

/* The code of the last call. A line that does not fit is cut, it is for people. */
SCR_API int scrf_last_error(char *text, scrf_len n)
{
    char line[SCR_MAX_FILENAME] = "";
    int code = SCR_Last_error(line);
    if (n >= 0 && n < SCR_MAX_FILENAME)
        line[n] = '\0';
    give(line, text, n);
    return code;
}

/* --- the classic interface --- */

/* Arguments come by reference; one that is missing counts as 0, and as -1 where that is
 * a rank or a place in a list. */
static int value_of(const int *p)
{
    return p != NULL ? *p : 0;
}

static void put(int *ierr, int rc)
{
    if (ierr != NULL)
        *ierr = rc;
}

/* The entries of one call: lower##_, lower##__ and UPPER. */
#define ENTRIES(lower, UPPER, parameters, call)                                        \
    SCR_API void lower##_ parameters                                                   \
    {                                                                                  \
        put(ierr, call);                                                               \
    }                                                                                  \
    SCR_API void lower##__ parameters                                                  \
    {                                                                                  \
        put(ierr, call);                                                               \
    }                                                                                  \
    SCR_API void UPPER parameters                                                      \
    {                                                                                  \
        put(ierr, call);                                                               \
    }

ENTRIES(scr_init, SCR_INIT, (int *ierr), SCR_Init())
ENTRIES(scr_init_comm, SCR_INIT_COMM, (const int *comm, int *ierr),
        scrf_init_comm(value_of(comm)))
ENTRIES(scr_finalize, SCR_FINALIZE, (int *ierr), SCR_Finalize())
ENTRIES(scr_config, SCR_CONFIG,
        (const char *config, char *val, int *ierr, scrf_len nconfig, scrf_len nval),
        scrf_config(config, nconfig, val, nval))
ENTRIES(scr_config_comm, SCR_CONFIG_COMM,
        (const int *comm, const char *config, char *val, int *ierr, scrf_len nconfig,
         scrf_len nval),
        scrf_config_comm(value_of(comm), config, nconfig, val, nval))
ENTRIES(scr_route_file, SCR_ROUTE_FILE,
        (const char *name, char *file, int *ierr, scrf_len nname, scrf_len nfile),
        scrf_route_file(name, nname, file, nfile))
ENTRIES(scr_need_checkpoint, SCR_NEED_CHECKPOINT, (int *flag, int *ierr),
        SCR_Need_checkpoint(flag))
ENTRIES(scr_start_checkpoint, SCR_START_CHECKPOINT, (int *ierr), SCR_Start_checkpoint())
ENTRIES(scr_complete_checkpoint, SCR_COMPLETE_CHECKPOINT, (const int *valid, int *ierr),
        SCR_Complete_checkpoint(value_of(valid)))
ENTRIES(scr_start_output, SCR_START_OUTPUT,
        (const char *name, const int *flags, int *ierr, scrf_len n),
        scrf_start_output(name, n, value_of(flags)))
ENTRIES(scr_complete_output, SCR_COMPLETE_OUTPUT, (const int *valid, int *ierr),
        SCR_Complete_output(value_of(valid)))
ENTRIES(scr_have_restart, SCR_HAVE_RESTART,
        (int *flag, char *name, int *ierr, scrf_len n),
        scrf_have_restart(flag, name, n))
ENTRIES(scr_start_restart, SCR_START_RESTART, (char *name, int *ierr, scrf_len n),
        scrf_start_restart(name, n))
ENTRIES(scr_complete_restart, SCR_COMPLETE_RESTART, (const int *valid, int *ierr),
        SCR_Complete_restart(value_of(valid)))
ENTRIES(scr_restart_ranks, SCR_RESTART_RANKS, (int *ranks, int *ierr),
        SCR_Restart_ranks(ranks))
ENTRIES(scr_restart_files, SCR_RESTART_FILES, (int *n, int *ierr), SCR_Restart_files(n))
ENTRIES(scr_restart_file, SCR_RESTART_FILE,
        (const int *i, char *file, int *rank, int *ierr, scrf_len n),
        scrf_restart_file(i != NULL ? *i : -1, file, n, rank))
ENTRIES(scr_datasets, SCR_DATASETS, (int *n, int *ierr), SCR_Datasets(n))
ENTRIES(scr_dataset, SCR_DATASET,
        (const int *i, char *name, int *id, int *flags, double *bytes, double *when,
         int *ierr, scrf_len n),
        scrf_dataset_name(i != NULL ? *i : -1, name, n) == SCR_SUCCESS
            ? SCR_Dataset(*i, NULL, id, flags, bytes, when)
            : SCR_Last_error(NULL))
ENTRIES(scr_should_exit, SCR_SHOULD_EXIT, (int *flag, int *ierr), SCR_Should_exit(flag))
ENTRIES(scr_current, SCR_CURRENT, (const char *name, int *ierr, scrf_len n),
        scrf_current(name, n))
ENTRIES(scr_delete, SCR_DELETE, (const char *name, int *ierr, scrf_len n),
        scrf_delete(name, n))
ENTRIES(scr_drop, SCR_DROP, (const char *name, int *ierr, scrf_len n),
        scrf_drop(name, n))
ENTRIES(scr_get_version, SCR_GET_VERSION, (char *version, int *ierr, scrf_len n),
        scrf_get_version(version, n))
ENTRIES(scr_last_error, SCR_LAST_ERROR, (char *text, int *ierr, scrf_len n),
        scrf_last_error(text, n))
