/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a scavenged dataset between the stage and their places. Inside scav only.
 *
 *     struct scr_move m;
 *     int rc = scr_move_init(&m, env, p, id, err);
 *     … scr_move_file(&m, from, to, err) …
 *     rc = scr_move_sync(&m, err);
 *     scr_move_fini(&m);                    // in any case */
#ifndef SCR_SCAV_MOVE_H
#define SCR_SCAV_MOVE_H

#include "fmt/rank2file.h"
#include "store/prefix.h"

struct scr_move {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id;
    char *stage;
    int has_stage;           /* the stage has been made */
    struct scr_table dirs;   /* directories that got files, to be synced */
    struct scr_table inside; /* directories known to be in the prefix, links followed */
    int newer; /* complete dataset whose list only a newer SCR can read; 0: none */
};

int scr_move_init(struct scr_move *m, const struct scr_env *env,
                  const struct scr_prefix *p, int id, struct scr_err *err);
void scr_move_fini(struct scr_move *m);

/* The directory of path, and the stage if it is in there; to be synced. */
int scr_move_make_dir(struct scr_move *m, const char *path, struct scr_err *err);
/* By rename, or by a copy to another file system. */
int scr_move_file(struct scr_move *m, const char *from, const char *to,
                  struct scr_err *err);
int scr_move_sync(const struct scr_move *m, struct scr_err *err);

/* Looks at path. SCR_OK: a regular file, of the size that is says (of any, where is
 * is NULL or says none). SCR_E_MISSING: something else; SCR_E_NOENT: nothing. SCR_E_IO:
 * it is not known. */
int scr_move_look(const struct scr_move *m, const char *path,
                  const struct scr_listed *is, struct scr_err *err);
/* 1 for the first three of these, 0 for an error. */
int scr_move_is_told(int rc);

/* SCR_OK if the directory of path is in the prefix when links are followed (invariant
 * P20); each is looked at once. SCR_E_OUTSIDE. */
int scr_move_check_inside(struct scr_move *m, const char *path, struct scr_err *err);

/* Files that are in place and not in the stage go to the stage; files outside of the
 * prefix, behind a link, stay there and are copied. *moved: it is in the stage now. */
int scr_move_back(struct scr_move *m, const char *staged, const char *placed,
                  const struct scr_listed *is, int *moved, struct scr_err *err);

#endif
