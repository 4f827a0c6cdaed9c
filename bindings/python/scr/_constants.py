# SPDX-License-Identifier: BSD-3-Clause
"""Constants of scr.h and errors.def. Made by generate.py; do not edit."""

VERSION = "4.0.0"

SUCCESS = 0
FAILURE = 1  # any error without a more precise code
MAX_FILENAME = 1024  # NUL included
FLAG_NONE = 0  # for variables; SCR_Start_output takes it as OUTPUT
FLAG_CHECKPOINT = 1  # the program can restart from it
FLAG_OUTPUT = 2  # it must reach the prefix directory
FLAG_IN_CACHE = 4  # it is whole in cache, or can be rebuilt there
FLAG_IN_PREFIX = 8  # it is complete in the prefix directory
FLAG_RESTARTABLE = 16  # SCR_Have_restart may offer it

E_FAILURE = 1  # operation failed
E_NOMEM = 2  # out of memory
E_IO = 3  # input/output error
E_NOENT = 4  # no such file or entry
E_EXIST = 5  # already exists
E_CORRUPT = 6  # corrupt data
E_VERSION = 7  # unsupported version
E_ARG = 8  # invalid argument
E_STATE = 9  # call not allowed in this state
E_CONFIG = 10  # bad configuration
E_DISABLED = 11  # SCR is disabled
E_MISMATCH = 12  # arguments differ between ranks
E_RANKS = 13  # number of ranks differs from the dataset's
E_LOST = 14  # more data lost than the redundancy can rebuild
E_FULL = 15  # no space left
E_UNSAFE = 16  # path refused because it is not ours
E_LOCKED = 17  # lock not obtained in time
E_NAME = 18  # name too long or malformed
E_OUTSIDE = 19  # path outside the prefix directory
E_INVALID = 20  # dataset marked invalid by the application
E_MISSING = 21  # file missing or shorter than recorded
E_RANGE = 22  # value out of range
E_UNSUPPORTED = 23  # not supported
E_MPI = 24  # MPI call failed
E_HALT = 25  # a halt condition is satisfied
E_USAGE = 26  # wrong use of a command
E_CANCELLED = 27  # cancelled
E_TAKEN = 28  # used by another job
E_NEWER = 29  # something newer is in its place

# code: name, meaning
ERRORS = {
    1: ("SCR_E_FAILURE", "operation failed"),
    2: ("SCR_E_NOMEM", "out of memory"),
    3: ("SCR_E_IO", "input/output error"),
    4: ("SCR_E_NOENT", "no such file or entry"),
    5: ("SCR_E_EXIST", "already exists"),
    6: ("SCR_E_CORRUPT", "corrupt data"),
    7: ("SCR_E_VERSION", "unsupported version"),
    8: ("SCR_E_ARG", "invalid argument"),
    9: ("SCR_E_STATE", "call not allowed in this state"),
    10: ("SCR_E_CONFIG", "bad configuration"),
    11: ("SCR_E_DISABLED", "SCR is disabled"),
    12: ("SCR_E_MISMATCH", "arguments differ between ranks"),
    13: ("SCR_E_RANKS", "number of ranks differs from the dataset's"),
    14: ("SCR_E_LOST", "more data lost than the redundancy can rebuild"),
    15: ("SCR_E_FULL", "no space left"),
    16: ("SCR_E_UNSAFE", "path refused because it is not ours"),
    17: ("SCR_E_LOCKED", "lock not obtained in time"),
    18: ("SCR_E_NAME", "name too long or malformed"),
    19: ("SCR_E_OUTSIDE", "path outside the prefix directory"),
    20: ("SCR_E_INVALID", "dataset marked invalid by the application"),
    21: ("SCR_E_MISSING", "file missing or shorter than recorded"),
    22: ("SCR_E_RANGE", "value out of range"),
    23: ("SCR_E_UNSUPPORTED", "not supported"),
    24: ("SCR_E_MPI", "MPI call failed"),
    25: ("SCR_E_HALT", "a halt condition is satisfied"),
    26: ("SCR_E_USAGE", "wrong use of a command"),
    27: ("SCR_E_CANCELLED", "cancelled"),
    28: ("SCR_E_TAKEN", "used by another job"),
    29: ("SCR_E_NEWER", "something newer is in its place"),
}
