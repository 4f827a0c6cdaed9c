/* SPDX-License-Identifier: BSD-3-Clause */
/* The state table of the API. */
#include "core/call_table.h"

#include <stddef.h>

#define IN(s)   (1u << SCR_STATE_##s)
#define BETWEEN (IN(IDLE) | IN(UNOPENED)) /* phases */
#define RUNNING (BETWEEN | IN(OUTPUT) | IN(RESTART))
#define OFF     (IN(OFF) | IN(OFF_OUTPUT))
#define OUTSIDE (IN(NEW) | IN(DONE)) /* of SCR_Init and SCR_Finalize */

static const struct {
    const char *name;
    unsigned allowed; /* set of states */
} calls[SCR_CALL_COUNT_] = {
    [SCR_CALL_INIT] = { "SCR_Init", OUTSIDE },
    [SCR_CALL_FINALIZE] = { "SCR_Finalize", BETWEEN | IN(RESTART) | IN(OFF) },
    [SCR_CALL_CONFIG_SET] = { "SCR_Config", OUTSIDE },
    [SCR_CALL_CONFIG_GET] = { "SCR_Config", OUTSIDE | RUNNING | OFF },
    [SCR_CALL_ROUTE] = { "SCR_Route_file", OUTSIDE | (RUNNING & ~IN(UNOPENED)) | OFF },
    [SCR_CALL_NEED] = { "SCR_Need_checkpoint", BETWEEN | IN(RESTART) | IN(OFF) },
    [SCR_CALL_START] = { "SCR_Start_output", BETWEEN | IN(RESTART) | IN(OFF) },
    [SCR_CALL_COMPLETE] = { "SCR_Complete_output", IN(OUTPUT) | IN(OFF_OUTPUT) },
    [SCR_CALL_HAVE] = { "SCR_Have_restart", BETWEEN | IN(OFF) },
    [SCR_CALL_START_RESTART] = { "SCR_Start_restart", BETWEEN },
    [SCR_CALL_COMPLETE_RESTART] = { "SCR_Complete_restart", IN(RESTART) },
    [SCR_CALL_RESTART_RANKS] = { "SCR_Restart_ranks", BETWEEN | IN(RESTART) | IN(OFF) },
    [SCR_CALL_RESTART_FILES] = { "SCR_Restart_files", BETWEEN | IN(RESTART) },
    [SCR_CALL_RESTART_FILE] = { "SCR_Restart_file", BETWEEN | IN(RESTART) },
    [SCR_CALL_DATASETS] = { "SCR_Datasets", BETWEEN | IN(RESTART) | IN(OFF) },
    [SCR_CALL_DATASET] = { "SCR_Dataset", BETWEEN | IN(RESTART) },
    [SCR_CALL_EXIT] = { "SCR_Should_exit", RUNNING | OFF },
    [SCR_CALL_CURRENT] = { "SCR_Current", BETWEEN | IN(OFF) },
    [SCR_CALL_DELETE] = { "SCR_Delete", BETWEEN | IN(OFF) },
    [SCR_CALL_DROP] = { "SCR_Drop", BETWEEN | IN(OFF) },
};

/* Why a call is refused in a state it is not allowed in. */
static const char *const hints[SCR_STATE_COUNT_] = {
    [SCR_STATE_NEW] = "call SCR_Init first",
    [SCR_STATE_IDLE] = "no output or restart phase is open, start one first",
    [SCR_STATE_UNOPENED] = "SCR_Start_output failed, see its message",
    [SCR_STATE_OUTPUT] = "an output phase is open, call SCR_Complete_output first",
    [SCR_STATE_RESTART] = "a restart phase is open, call SCR_Complete_restart first",
    [SCR_STATE_OFF] = "SCR is off, see what SCR_Init said",
    [SCR_STATE_OFF_OUTPUT] = "an output phase is open, call SCR_Complete_output first",
    [SCR_STATE_DONE] = "SCR_Finalize was called",
    [SCR_STATE_ENDED] = "MPI_Finalize was called",
};

/* Hints that say more than the state's. */
static const struct {
    enum scr_call call;
    enum scr_state state;
    const char *hint;
} special[] = {
    { SCR_CALL_INIT, SCR_STATE_IDLE, "SCR is initialised already, call it once" },
    { SCR_CALL_CONFIG_SET, SCR_STATE_IDLE,
      "settings are possible before SCR_Init only" },
    { SCR_CALL_INIT, SCR_STATE_UNOPENED, "SCR is initialised already, call it once" },
    { SCR_CALL_CONFIG_SET, SCR_STATE_UNOPENED,
      "settings are possible before SCR_Init only" },
    { SCR_CALL_COMPLETE_RESTART, SCR_STATE_UNOPENED,
      "no restart phase is open, call SCR_Start_restart first" },
    { SCR_CALL_CONFIG_SET, SCR_STATE_OUTPUT,
      "settings are possible before SCR_Init only" },
    { SCR_CALL_CONFIG_SET, SCR_STATE_RESTART,
      "settings are possible before SCR_Init only" },
    { SCR_CALL_INIT, SCR_STATE_OFF, "it was called before, call it once" },
    { SCR_CALL_CONFIG_SET, SCR_STATE_OFF,
      "settings are possible before SCR_Init only" },
    { SCR_CALL_CONFIG_SET, SCR_STATE_OFF_OUTPUT,
      "settings are possible before SCR_Init only" },
    { SCR_CALL_COMPLETE, SCR_STATE_OFF,
      "no output phase is open, call SCR_Start_output first" },
    { SCR_CALL_COMPLETE, SCR_STATE_IDLE,
      "no output phase is open, call SCR_Start_output first" },
    { SCR_CALL_COMPLETE_RESTART, SCR_STATE_IDLE,
      "no restart phase is open, call SCR_Start_restart first" },
};

static const char *hint_for(enum scr_state state, enum scr_call call)
{
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (special[i].call == call && special[i].state == state)
            return special[i].hint;
    return hints[state];
}

int scr_state_check(enum scr_state state, enum scr_call call, struct scr_err *err)
{
    if (calls[call].allowed & (1u << state))
        return SCR_OK;
    return scr_fail(err, SCR_E_STATE, 0, "%s: %s", calls[call].name,
                    hint_for(state, call));
}

int scr_state_is_told(enum scr_state state)
{
    return state == SCR_STATE_UNOPENED;
}

int scr_state_is_off(enum scr_state state)
{
    return (OFF & (1u << state)) != 0;
}

static int is_local(enum scr_call call)
{
    return call == SCR_CALL_ROUTE || call == SCR_CALL_RESTART_RANKS ||
           call == SCR_CALL_RESTART_FILE || call == SCR_CALL_DATASET;
}

enum scr_state scr_state_after(enum scr_state state, enum scr_call call)
{
    int over = state == SCR_STATE_UNOPENED && !is_local(call);
    return over ? SCR_STATE_IDLE : state;
}
