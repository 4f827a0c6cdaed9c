#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_hostlist and scr_glob_hosts: lists of hosts.
. "${0%/*}/lib.sh"
atlas="atlas[3,5-7,9-11]"

common scr_hostlist --count n1
common scr_glob_hosts --count n1

# the examples of the manual
run scr_glob_hosts --count "$atlas"
is 0 7
run scr_glob_hosts --nth 3 "$atlas"
is 0 atlas6
run scr_glob_hosts --minus "$atlas":"atlas[5,7,20]"
is 0 "atlas[3,6,9-11]"
run scr_glob_hosts --intersection "$atlas":"atlas[5,7,20]"
is 0 "atlas[5,7]"

# the same as SCR 3.x has it
run scr_glob_hosts -n 3 -h "$atlas"
is 0 atlas6
run scr_hostlist -m "$atlas" "atlas[5,7,20]"
is 0 "atlas[3,6,9-11]"
run scr_hostlist -i "$atlas" "atlas[5,7,20]"
is 0 "atlas[5,7]"
run scr_hostlist -e -d ' ' --size 2 "$atlas"
is 0 "atlas3 atlas5"

# there and back, order, duplicates and padding kept
run scr_hostlist --expand "n[008-010,3],x"
is 0 "n008,n009,n010,n3,x"
run scr_hostlist --compress "$(cat "$out")"
is 0 "n[008-010],n3,x"
run scr_hostlist --compress b2 a1 b1 a1
is 0 "b2,a1,b1,a1"

# empty results
run scr_hostlist --minus a1:a1
is 0 ""
run scr_hostlist --count ""
is 0 0

# wrong use
run scr_hostlist
fails 2 "HOSTS is missing, for example n[1-4]"
run scr_hostlist --expand "n[1-3"
fails 2 "bracket is not closed"
run scr_hostlist --expand "n[3-1]"
fails 2 'n[3-1]'
run scr_hostlist --count "a,,b"
fails 2 "scr_hostlist: error:"
run scr_hostlist --nth 8 "$atlas"
fails 2 "there is no host 8 in a list of 7"
for n in 0 -1 x 1x "" 99999999999; do
    run scr_hostlist --nth "$n" "$atlas"
    fails 2 "option --nth"
done
run scr_hostlist --minus "a1"
fails 2 'is not two host lists A:B'
run scr_hostlist --minus "a:b:c"
fails 2 'is not two host lists A:B'
run scr_hostlist --minus a:b c
fails 2 "is not two host lists A:B"
run scr_hostlist --count --expand a
fails 2 "options --count and --expand exclude each other"
run scr_hostlist --exapnd a
fails 2 "did you mean --expand?"
run scr_hostlist --nth
fails 2 "option --nth needs a value: N"
run scr_hostlist --co a
fails 2 "option --co could be more than one"
