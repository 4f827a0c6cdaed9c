#!/usr/bin/env bash
# shellcheck disable=SC2154 # set by lib.sh
# SPDX-License-Identifier: BSD-3-Clause
# lammps.sh SCR MPIRUN LIBRARY LMP: LAMMPS as Debian has it writes its restart files, a node is
# lost, and it goes on by read_restart from what is in cache alone. What it prints then is what
# it prints in a run that nothing disturbs.
. "$(dirname "$0")/lib.sh"
lmp=$4

# A melt of 864 atoms. input FILE RESTART-COMMAND LAST-STEP [MORE]
input() {
    cat >"$1" <<END
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 20
$2
run $3
${4:-}
END
}

# continuation FILE FROM FILE-TO-READ: of the input FROM, whose atoms come from a restart file.
continuation() {
    sed -e '/^lattice/,/^velocity/d' -e "s/^atom_style.*/&\nread_restart $3/" \
        -e 's/^run .*/& upto/' "$2" >"$1"
}

# The lines of thermo output from step $1 on: only numbers, six to a line.
thermo() {
    awk -v from="$1" 'NF == 6 && $1 ~ /^[0-9]+$/ && $2 ~ /^[-0-9.e+]+$/ && $1 >= from' "$work/log"
}

# compare NAME FROM: what the continued run printed with what the undisturbed one did.
compare() {
    thermo "$2" >"$work/after"
    [ "$(wc -l <"$work/after")" -gt 3 ] || fail "$1: no thermo output"
    diff "$work/before" "$work/after" || fail "$1: another thermo output"
    ok "LAMMPS, $1: node lost, continued from step $2, thermo equal"
}

# scenario NAME PATTERN RESTART-COMMAND FILE-TO-READ [FILES]: two checkpoints, at steps 40 and 80;
# nothing of them is in the prefix directory.
scenario() {
    local name=$1
    fresh "$name.plain"
    input in "$3" 200
    (unset SCR_INTERPOSE_PATTERN && SCR_ENABLE=0 good "$lmp" -in in) || exit 1
    thermo 80 >"$work/before"
    fresh "$name"
    input in "$3" 100 "shell sleep 30"
    input in.200 "$3" 200
    continuation in.go in.200 "$4"
    export SCR_INTERPOSE_PATTERN=$2 SCR_INTERPOSE_FILES=${5:-0} SCR_INTERPOSE_CALLS=1
    export SCR_FLUSH=0 SCR_FLUSH_ON_RESTART=0
    struck n1 "compute 2" "$lmp" -in in
    is_gone "${4/\%/base}" "${4/\%/0}"
    good "$lmp" -in in.go
    says "restarted from checkpoint"
    says "rebuilt the files of 1 of 4 ranks"
    compare "$name" 80
    unset SCR_INTERPOSE_PATTERN SCR_INTERPOSE_FILES SCR_FLUSH SCR_FLUSH_ON_RESTART
}

scenario "one file" "melt.restart.%d" "restart 40 melt.restart" melt.restart.80
scenario "two in turn" "melt.a melt.b" "restart 40 melt.a melt.b" melt.b
scenario "one a process" "melt.%d.*" "restart 40 melt.*.%" "melt.80.%" 5
echo "interpose.lammps: $cases cases"
