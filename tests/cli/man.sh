#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# The man page of a command and its --help list the same options.
. "${0%/*}/lib.sh"

# long options of a help text; every command has --help, --version and --verbose, pages need not say so
help_options() {
    sed -n 's/^  \(-., \|    \)\(--[a-z0-9-]*\).*/\2/p' | grep -vx -e --help -e --version -e --verbose | sort
}

# … and of the OPTIONS of a page: **-p**, **\--prefix** *DIR*
page_options() {
    sed -n '/^# OPTIONS/,/^# [^O]/p' "$1" | grep '^\*\*\\*-' |
        sed 's/\*\*\\--\([a-z0-9-]*\)\*\*/\n--\1\n/g' | grep '^--' |
        grep -vx -e --help -e --version -e --verbose | sort
}

sed -n 's/^X([a-z0-9_]*, *"\([^" ]*\).*/\1/p' "$SCR_TEST_SOURCE/src/defs/commands.def" >.commands
check "commands" -s .commands
while read -r command; do
    page=$SCR_TEST_SOURCE/doc/man1/$command.1.md
    run "$command" --help
    has_status 0
    check "$page exists" -f "$page"
    help_options <"$out" >.in_help
    page_options "$page" >.in_page
    diff .in_help .in_page >.differences || {
        cat .differences
        fail "--help (<) and $page (>) list different options"
    }
    grep -q '^# EXAMPLE' "$page" || fail "$page has no example"
done <.commands
