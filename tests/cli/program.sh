#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr itself: commands by name and by link, help, mistakes.
. "${0%/*}/lib.sh"

run scr --help
has 0 "Usage: scr COMMAND"
has 0 "  index "
has 0 "  hostlist "
cp "$out" .help
for title in Look: Steer: "Set up:" Plumbing:; do
    has 0 "$title"
done
check "every command once" "$(grep -c '^  [a-z]' .help)" -eq "$(grep -c '^X(' "$SCR_TEST_SOURCE/src/defs/commands.def")"
has 0 "scr_index(1)"
check "no colours in a file" -z "$(tr -dc '\033' <.help)"
run scr -h
is 0 "$(cat .help)"
run scr help
is 0 "$(cat .help)"
run scr --version
is 0 "scr (SCR) $SCR_TEST_VERSION"

run scr
is 0 "$(cat .help)"
# on a terminal, unless that is not wanted
python3 - "$SCR_TEST_BIN/scr" >.colours <<'EOT'
import os, pty, sys
for no in ("", "1"):
    os.environ.update(NO_COLOR=no, TERM="xterm")
    pty.spawn([sys.argv[1]])
EOT
check "bold titles, once" "$(grep -c "$(printf '\033')\[1m" .colours)" -eq 4
run scr frobnicate
fails 2 'no command "frobnicate"'
run scr indxe
fails 2 "did you mean index?"
run scr help nothing
fails 2 'no command "nothing"'

# a command by every name it has
run scr hostlist --count n1
is 0 1
run scr glob_hosts --count n1
is 0 1
run scr glob-hosts --count n1
is 0 1
run scr help hostlist
has 0 "Usage: scr hostlist "
run scr hostlist --frob
fails 2 "scr hostlist: error: unknown option --frob; see scr hostlist --help"
ln -s "$SCR_TEST_BIN/scr" scr-glob-hosts
run ./scr-glob-hosts --count n1
is 0 1
ln -s "$SCR_TEST_BIN/scr" renamed
run ./renamed hostlist --count n1
is 0 1
ln -s "$SCR_TEST_BIN/scr" scr_nothing
run ./scr_nothing
fails 2 "scr_nothing: error:"

# every command of the table has its links and answers --help
sed -n 's/^X([a-z0-9_]*, *"\([^"]*\)".*/\1/p' "$SCR_TEST_SOURCE/src/defs/commands.def" >.links
check "commands" -s .links
while read -r links; do
    for link in $links; do
        run "$link" --help
        has 0 "Usage: $link "
    done
done <.links
