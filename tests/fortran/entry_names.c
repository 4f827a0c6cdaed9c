/* SPDX-License-Identifier: BSD-3-Clause */
/* The other names of the classic entries: two underscores by a subroutine that is
 * compiled so, capitals from here, as a compiler that makes them would. It may pass
 * lengths as int or as size_t; where it is int, the rest of the register is anything,
 * and an argument may be missing. Run by calls.sh. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void second_(int *ierr);

void SCR_INIT(int *ierr);
void SCR_FINALIZE(int *ierr);
void SCR_CONFIG(const char *config, char *val, int *ierr, uint64_t nconfig,
                uint64_t nval);
void SCR_ROUTE_FILE(const char *name, char *file, int *ierr, uint64_t nname,
                    uint64_t nfile);
void SCR_START_OUTPUT(const char *name, const int *flags, int *ierr, uint64_t n);
void SCR_COMPLETE_OUTPUT(const int *valid, int *ierr);
void SCR_HAVE_RESTART(int *flag, char *name, int *ierr, uint64_t n);
void SCR_CURRENT(const char *name, int *ierr, uint64_t n);

static const uint64_t dirt = 0xdeadbeef00000000u;
static int failed;

static void check(int good, const char *what)
{
    failed += !good;
    if (!good)
        printf("FAIL: %s\n", what);
}

int main(int argc, char **argv)
{
    int rc = -1, flags = 1, flag = 7, rank, ranks, all_failed;
    char text[8];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    second_(&rc);
    check(rc == 0, "two underscores");

    memset(text, 'x', sizeof text);
    SCR_CONFIG("SCR_CACHE_SIZE  ", text, &rc, dirt + 16, dirt + 6);
    check(rc == 0 && memcmp(text, "5     xx", 8) == 0, "value padded, no byte more");
    SCR_INIT(&rc);
    check(rc == 0, "SCR_INIT");

    SCR_START_OUTPUT(NULL, &flags, &rc, dirt);
    check(rc == 0, "no name is the name that SCR gives");
    SCR_ROUTE_FILE(NULL, text, &rc, 0, sizeof text);
    check(rc == 8, "NULL to route");
    SCR_ROUTE_FILE("a", NULL, &rc, 1, 0);
    check(rc == 8, "path to NULL");
    SCR_COMPLETE_OUTPUT(NULL, &rc);
    check(rc != 0, "valid is missing");
    SCR_HAVE_RESTART(&flag, NULL, &rc, dirt);
    check(rc == 0 && flag == 0, "name not wanted");
    SCR_HAVE_RESTART(NULL, text, &rc, sizeof text);
    check(rc == 8 && text[0] == ' ', "flag is missing");
    SCR_CURRENT(NULL, &rc, 0);
    check(rc == 8, "current NULL");
    SCR_FINALIZE(NULL);

    MPI_Allreduce(&failed, &all_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("lines of errors: %d\nfailed: %d\n", 2 * ranks + 3, all_failed);
    MPI_Finalize();
    return all_failed != 0;
}
