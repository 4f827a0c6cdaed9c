/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of scr.h before SCR_Init: settings, and the refusal of everything else. */
/* ranks: 1 2 4 5 8 */
#include "helper_misuse.h"

MPI_CASE(before_init_nothing_but_config_works)
{
    int flag = 7;
    char path[SCR_MAX_FILENAME];
    check_last(t, SCR_SUCCESS, NULL); /* there was no call */
    MISUSE(SCR_Finalize(), SCR_E_STATE, "call SCR_Init first");
    MISUSE(SCR_Need_checkpoint(&flag), SCR_E_STATE, "SCR_Init");
    CHECK_INT(flag, 0);
    MISUSE(SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Complete_output(1), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Start_checkpoint(), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Complete_checkpoint(1), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Have_restart(&flag, NULL), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Start_restart(NULL), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Complete_restart(1), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Should_exit(&flag), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Current("x"), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Delete("x"), SCR_E_STATE, "SCR_Init");
    MISUSE(SCR_Drop("x"), SCR_E_STATE, "SCR_Init");
    CHECK_INT(SCR_Route_file("x", path), SCR_SUCCESS);
    CHECK(strcmp(path, "x") == 0);
    MISROUTE("", path, SCR_E_NAME);
    CHECK(strcmp(SCR_Get_version(), SCR_VERSION) == 0);
    CHECK(strcmp(SCR_VERSION,
                 SCR_MAJOR_VERSION "." SCR_MINOR_VERSION "." SCR_PATCH_VERSION) == 0);
}

MPI_CASE(config_sets_unsets_and_queries)
{
    char *value;
    CHECK(SCR_Config("SCR_FLUSH=7") == NULL);
    check_last(t, SCR_SUCCESS, NULL);
    value = (char *)(uintptr_t)SCR_Config("SCR_FLUSH");
    CHECK(value && strcmp(value, "7") == 0);
    free(value);
    CHECK(SCR_Config("SCR_FLUSH=") == NULL);
    CHECK(SCR_Configf("SCR_%s", "FLUSH") == NULL); /* no setting any more */
    CHECK(SCR_Configf("CKPT=%d TYPE=%s SET_SIZE=16", 0, "PARTNER") == NULL);
    value = (char *)(uintptr_t)SCR_Config("CKPT=0 TYPE");
    CHECK(value && strcmp(value, "PARTNER") == 0);
    free(value);
    value = (char *)(uintptr_t)SCR_Config("CKPT");
    CHECK(value && strcmp(value, "0") == 0);
    free(value);
    CHECK(SCR_Config("CKPT=1 TYPE=XOR") == NULL);
    MISUSE(config_code("CKPT"), SCR_E_ARG, "2 values");
    CHECK(SCR_Config("CKPT=1 TYPE=") == NULL);
    CHECK(SCR_Config("CKPT=0 TYPE=") == NULL);
    CHECK(SCR_Config("CKPT=0 SET_SIZE=") == NULL);
    CHECK(SCR_Config("SCR_NODELIST") == NULL);
    MISUSE(config_code(NULL), SCR_E_ARG, "NULL");
    if (t->comm.size > 1)
        MISUSE(config_code(t->comm.rank ? "SCR_FLUSH=1" : "SCR_FLUSH=2"),
               SCR_E_MISMATCH, "differs between ranks");
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(before_init_nothing_but_config_works),
                                   RUN(config_sets_unsets_and_queries)));
}
