/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration: every parameter of src/defs/params.def from every source, with
 * precedence and origin (environment, user file, SCR_Config, system file, default; the
 * first found wins).
 *
 *     struct scr_cfg *cfg = scr_cfg_new();
 *     scr_cfg_set_environ(cfg, environ, &err);
 *     scr_cfg_app(cfg, "SCR_FLUSH=5", &reply, &err);   // SCR_Config, before load
 *     scr_cfg_load(&env, cfg, &err);                   // files; reads the disk
 *     struct scr_params prm;
 *     scr_cfg_params(cfg, &prm, &err);
 *
 * In an MPI job rank 0 does the above and broadcasts scr_cfg_pack()'s hash; the others
 * scr_cfg_unpack() it, so that all ranks see the same values. Only src/cfg reads the
 * environment. An empty value ("SCR_FLUSH=") counts as not set in every source. */
#ifndef SCR_CFG_CFG_H
#define SCR_CFG_CFG_H

#include <stdint.h>

#include "base/env.h"
#include "base/hash.h"

/* SCR_JOB_ID where there is no resource manager. */
#define SCR_NO_JOB_ID "defjobid"

/* Of an INT that also takes the word AUTO: that. */
enum { SCR_AUTO = -1 };

struct scr_cfg; /* opaque */

enum scr_cfg_source {
    SCR_CFG_ENV,
    SCR_CFG_USER,
    SCR_CFG_APP,
    SCR_CFG_SYSTEM,
    SCR_CFG_DEFAULT,
    SCR_CFG_NSOURCES
};

/* One member per row of params.def, named in lower case without "SCR_": prm.flush,
 * prm.cache_base, prm.mpi_buf_size … Types: int (BOOL, INT), uint64_t (SIZE), double
 * (SECONDS, DOUBLE), const char * (STR and ENUM as written; NULL when unset without a
 * default; borrowed from cfg). ENUM members have a second int member <name>_id: the
 * position of the value in the table's ONEOF list (copy_type_id is an enum scr_scheme
 * for the first four). prefix is absolute and normalised once loaded. An alias
 * (SCR_HALT_EXIT) has no member: use that of the row it stands for (halt_enabled). */
struct scr_params {
#define SCR_PARAM_BOOL(field)    int field;
#define SCR_PARAM_INT(field)     int field;
#define SCR_PARAM_SIZE(field)    uint64_t field;
#define SCR_PARAM_SECONDS(field) double field;
#define SCR_PARAM_DOUBLE(field)  double field;
#define SCR_PARAM_STR(field)     const char *field;
#define SCR_PARAM_ENUM(field)                                                          \
    const char *field;                                                                 \
    int field##_id;
#define X(name, field, type, def, range, unit, since, who, doc) SCR_PARAM_##type(field)
#include "defs/params.def"
#undef SCR_PARAM_BOOL
#undef SCR_PARAM_INT
#undef SCR_PARAM_SIZE
#undef SCR_PARAM_SECONDS
#undef SCR_PARAM_DOUBLE
#undef SCR_PARAM_STR
#undef SCR_PARAM_ENUM
};

/* NULL when out of memory. */
struct scr_cfg *scr_cfg_new(void);
void scr_cfg_free(struct scr_cfg *cfg);

/* Path of the system file instead of the one built in (tests). NULL: none. */
int scr_cfg_set_system_file(struct scr_cfg *cfg, const char *path);

/* The environment of this process, for scr_cfg_set_environ. */
char *const *scr_cfg_process_environ(void);
const char *scr_cfg_process_getenv(const char *name);
/* scr_log_time by the environment alone, for what is printed before there is a
 * configuration, or without one. */
int scr_cfg_log_time(void);

/* Copies envp (not retained). Call it once, before everything that follows. */
int scr_cfg_set_environ(struct scr_cfg *cfg, char *const *envp, struct scr_err *err);

/* Sets name above every source, before load: an option of a command, as in
 * scr_cfg_override(cfg, "SCR_PREFIX", dir, "--prefix", &err). */
int scr_cfg_override(struct scr_cfg *cfg, const char *name, const char *value,
                     const char *origin, struct scr_err *err);

/* A variable of the environment given above, NULL if it is not set (or after unpack):
 * how the resource managers look at SLURM_* and the like. Borrowed. */
const char *scr_cfg_getenv(const struct scr_cfg *cfg, const char *name);

/* One SCR_Config string: "K=V" sets, "K=" unsets the application's value, "K" queries;
 * "CKPT=0 TYPE=XOR SET_SIZE=16" sets and "CKPT=0 TYPE" queries, and "CKPT" gives the
 * values there are lines for, "0 1". *reply: malloc'd value for a query that has one,
 * else NULL. Setting an unknown name is accepted with a warning (logged by load). */
int scr_cfg_app(struct scr_cfg *cfg, const char *text, char **reply,
                struct scr_err *err);
int scr_cfg_app_is_query(const char *text); /* 1 if text would change nothing */

/* Reads the system file and the user file ($SCR_CONF_FILE, else <prefix>/.scrconf; a
 * named one that is missing is SCR_E_CONFIG). A line that cannot be understood is
 * SCR_E_CONFIG naming file, line and text. Logs a warning for each unknown key and
 * SCR_* variable, with the nearest name, once. May be called again after scr_cfg_app
 * changed SCR_PREFIX or SCR_CONF_FILE. */
int scr_cfg_load(const struct scr_env *env, struct scr_cfg *cfg, struct scr_err *err);

/* For commands, after load: the settings saved by the library in <prefix>/.scr/app.conf
 * become the APP source. Absent: no settings. */
int scr_cfg_load_app_conf(const struct scr_env *env, struct scr_cfg *cfg,
                          struct scr_err *err);
/* Text of app.conf, one setting a line, malloc'd; "" if the application set nothing. */
char *scr_cfg_app_text(const struct scr_cfg *cfg);

/* Checks one configuration file for scr param --check: logs every error and warning and
 * counts them. cfg is a fresh one that has only its environment, and good for nothing
 * else afterwards. Fails only if path cannot be read. */
int scr_cfg_check_file(const struct scr_env *env, struct scr_cfg *cfg, const char *path,
                       int *errors, int *warnings, struct scr_err *err);

/* Typed values, all checked: a bad one is SCR_E_CONFIG "NAME=value (origin): expected
 * …". */
int scr_cfg_params(const struct scr_cfg *cfg, struct scr_params *out,
                   struct scr_err *err);

/* Value after precedence as text (NULL: unset and no default), and where it is from:
 * "environment", "/path/.scrconf:3", "SCR_Config", "default", "default, from $USER"
 * (borrowed; NULL if unset). Names in any case, aliases too. */
const char *scr_cfg_get(const struct scr_cfg *cfg, const char *name);
const char *scr_cfg_origin(const struct scr_cfg *cfg, const char *name);
/* 1 if it is set in some source; a default is not a setting. */
int scr_cfg_is_set(const struct scr_cfg *cfg, const char *name);
/* Raw setting of one source (NULL: not set there) for scr param --explain. */
const char *scr_cfg_get_from(const struct scr_cfg *cfg, const char *name,
                             enum scr_cfg_source source, const char **origin);

/* Lines with children (GROUPS, STORE, CKPT, CNTLDIR, CACHEDIR) after precedence, in
 * order: value of the key → line, for the caller to delete; NULL when out of memory. A
 * line comes whole from the first source that has its value; CKPT lines all come from
 * the first source that has any. */
scr_hash *scr_cfg_lines(const struct scr_cfg *cfg, const char *key);
/* A child of such a line, NULL if not given; *origin (may be NULL) says where it, or
 * with child NULL the line, is from. Borrowed from line. */
const char *scr_cfg_line_get(const scr_hash *line, const char *child,
                             const char **origin);
/* The keys of this hash are the names of the children of a line. Borrowed. */
const scr_hash *scr_cfg_line_children(const scr_hash *line);

/* All that is set, in whatever source, as one text for people, malloc'd:
 * "SCR_FLUSH=0; CKPT=0 TYPE=XOR"; NULL: out of memory. */
char *scr_cfg_text(const struct scr_cfg *cfg);

/* Everything a rank needs, as a hash (to broadcast), and back into a fresh cfg. */
int scr_cfg_pack(const struct scr_cfg *cfg, scr_hash *out, struct scr_err *err);
int scr_cfg_unpack(struct scr_cfg *cfg, const scr_hash *in, struct scr_err *err);

#endif
