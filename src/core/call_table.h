/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of the library and the calls each allows: one table, checked before every
 * call. */
#ifndef SCR_CORE_CALL_TABLE_H
#define SCR_CORE_CALL_TABLE_H

#include "base/err.h"

enum scr_state {
    SCR_STATE_NEW, /* before SCR_Init */
    SCR_STATE_IDLE,
    SCR_STATE_UNOPENED,   /* idle, SCR_Start_output failed: nothing is routed yet */
    SCR_STATE_OUTPUT,     /* between Start_output and Complete_output */
    SCR_STATE_RESTART,    /* between Start_restart and Complete_restart */
    SCR_STATE_OFF,        /* SCR_ENABLE=0, or SCR_Init failed (off.c) */
    SCR_STATE_OFF_OUTPUT, /* the same, between Start_output and Complete_output */
    SCR_STATE_DONE,       /* after SCR_Finalize */
    SCR_STATE_ENDED,      /* after MPI_Finalize */
    SCR_STATE_COUNT_
};

enum scr_call {
    SCR_CALL_INIT,
    SCR_CALL_FINALIZE,
    SCR_CALL_CONFIG_SET,
    SCR_CALL_CONFIG_GET,
    SCR_CALL_ROUTE,
    SCR_CALL_NEED,
    SCR_CALL_START,
    SCR_CALL_COMPLETE,
    SCR_CALL_HAVE,
    SCR_CALL_START_RESTART,
    SCR_CALL_COMPLETE_RESTART,
    SCR_CALL_RESTART_RANKS,
    SCR_CALL_RESTART_FILES,
    SCR_CALL_RESTART_FILE,
    SCR_CALL_DATASETS,
    SCR_CALL_DATASET,
    SCR_CALL_EXIT,
    SCR_CALL_CURRENT,
    SCR_CALL_DELETE,
    SCR_CALL_DROP,
    SCR_CALL_COUNT_
};

/* SCR_OK, or an error that names what is wrong and the call that should come first. */
int scr_state_check(enum scr_state state, enum scr_call call, struct scr_err *err);

/* 1 if the call that led to the state has printed why others are refused in it. */
int scr_state_is_told(enum scr_state state);

/* 1 if SCR does not run although SCR_Init was called. */
int scr_state_is_off(enum scr_state state);

/* The state once the call has been checked: a failed SCR_Start_output counts up to the
 * next collective call. */
enum scr_state scr_state_after(enum scr_state state, enum scr_call call);

#endif
