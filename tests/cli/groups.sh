#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_groups: GROUPS lines from what Slurm knows of switches.
. "${0%/*}/lib.sh"
fixtures=$SCR_TEST_SOURCE/tests/fixtures/rm

cat >topology.conf <<'END'
# two leaves and a root
SwitchName=leaf1 Nodes=n[1-2]   # a comment
switchname=leaf2 \
    LinkSpeed=9 nodes=n[3-4],big
SwitchName=root Switches=leaf[1-2]
BlockName=b7 Nodes=n9
END
common scr_groups --file topology.conf
run scr_groups --file topology.conf
is 0 "GROUPS=n[1-2] SWITCH=leaf1
GROUPS=n[3-4],big SWITCH=leaf2
GROUPS=n9 SWITCH=b7
# 6 nodes in 3 groups"

# what it prints is a configuration
cp "$out" .scrconf
echo SCR_GROUP=switch >>.scrconf
run scr_param --check .scrconf
has 0 "0 errors, 0 warnings"
printf 'SwitchName=a$b Nodes=n1\r\n' >odd.conf
run scr_groups --file odd.conf
is 0 'GROUPS=n1 SWITCH="a\$b"
# 1 node in 1 group'

# the manager, also outside of a job
PATH="$fixtures/slurm/bin:$PATH" run scr_groups --slurm
is 0 "GROUPS=n[1-2] SWITCH=leaf1
GROUPS=n[3-5] SWITCH=leaf2
# 5 nodes in 2 groups"
mkdir bin
printf '%s\n' '#!/bin/sh' 'echo "slurm_load_topo: no controller" >&2' 'exit 1' >bin/scontrol
chmod +x bin/scontrol
PATH="$tmp/bin:$PATH" run scr_groups --slurm
fails 2 "no controller"

# wrong use
run scr_groups
fails 2 "from where?"
run scr_groups --slurm --file topology.conf
fails 2 "exclude each other"
run scr_groups --file none
fails 2 "none"
echo 'SwitchName=root Switches=leaf[1-2]' >roots.conf
run scr_groups --file roots.conf
fails 2 "roots.conf: no switch with nodes"
echo 'SwitchName=s Nodes=n[2-1]' >bad.conf
run scr_groups --file bad.conf
fails 2 "switch s: "
