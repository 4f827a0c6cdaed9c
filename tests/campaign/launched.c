/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that mpirun starts. */
#include "promises.h"

int main(int argc, char **argv)
{
    return promises(argc, argv);
}
