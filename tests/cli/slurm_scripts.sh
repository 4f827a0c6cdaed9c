#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# packaging/slurm: prolog and epilog of slurmd, as root, for a job of another user; packaging/site: configurations that
# are valid as they are, and with every line in use.
. "${0%/*}/lib.sh"
packaging=$SCR_TEST_SOURCE/packaging

for conf in "$packaging"/site/*.conf; do
    run scr_param --check "$conf"
    is 0 "$conf: 0 errors, 0 warnings"
    sed 's/^#\([A-Z_]*=\)/\1/' "$conf" >all.conf
    run scr_param --check all.conf
    is 0 "all.conf: 0 errors, 0 warnings"
done
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && id nobody >/dev/null || exit 0

# The site's configuration is that of this test, and so is the system log.
mkdir bin memory disk shared spare
cat >site.conf <<END
SCR_CNTL_BASE=$tmp/disk
SCR_CACHE_BASE=$tmp/memory
SCR_COPY_TYPE=FILE
STORE=$tmp/memory
STORE=$tmp/spare
STORE=$tmp/shared GROUP=WORLD
CKPT=0 STORE=$tmp/memory
CKPT=1 INTERVAL=2 STORE=$tmp/shared TYPE=SINGLE
END
real=$(command -v scr)
printf '%s\n' '#!/bin/sh' "echo a warning >&2; SCR_CONF_FILE=$tmp/site.conf exec $real \"\$@\"" >bin/scr
printf '%s\n' '#!/bin/sh' "echo \"\$*\" >>$tmp/log" >bin/logger
chmod +x bin/*
chmod 755 "$tmp" memory disk shared spare
slurm() {
    run env -i PATH="$tmp/bin:$PATH" SLURM_JOB_ID="$2" SLURM_JOB_USER="$3" "$packaging/slurm/$1.sh"
    is 0 ""
}
owner() {
    stat -c '%U %a' "$1"
}

# a directory of the user, below each base of the node
slurm prolog 17 nobody
check "memory/nobody" "$(owner memory/nobody)" = "nobody 700"
check "disk/nobody" "$(owner disk/nobody)" = "nobody 700"
check "spare/nobody, which a descriptor of the user may use" "$(owner spare/nobody)" = "nobody 700"
check "shared/nobody" ! -e shared/nobody
slurm prolog 18 nobody
rmdir disk/nobody
mkdir -m 0700 disk/nobody # a prolog at work at the same time
slurm prolog 18 nobody
check "disk/nobody" "$(owner disk/nobody)" = "nobody 700"
check "nothing to report: $(cat log 2>/dev/null)" ! -e log

# only that job's leave, with the rights of the user
for dir in memory/nobody/scr.17 memory/nobody/scr.171 disk/nobody/scr.17 disk/nobody/scr.18 spare/nobody/scr.17; do
    setpriv --reuid nobody --clear-groups mkdir -p "$dir/prefix.0123/scr.dataset.1"
done
mkdir -p shared/nobody/scr.17 memory/daemon/scr.17
slurm epilog 17 nobody
check "left: $(echo ./*/*/scr.*)" "$(echo ./*/*/scr.*)" = \
    "./disk/nobody/scr.18 ./memory/daemon/scr.17 ./memory/nobody/scr.171 ./shared/nobody/scr.17"
slurm epilog 18 nobody
slurm epilog 171 nobody
check "empty" "$(echo memory/nobody/*)" = "memory/nobody/*"
check "nothing to report" ! -e log

# a link to what the user may not delete
mkdir -p victim/scr.17
rmdir memory/nobody
ln -s ../victim memory/nobody
slurm epilog 17 nobody
check "victim" -d victim/scr.17
grep -q "scr-epilog job 17 of nobody: .*memory/nobody is a symbolic link: kept" log || fail "no line in the log"
# … and to what the user may delete, but this job has not put there
chown -R nobody victim
slurm epilog 17 nobody
check "victim" -d victim/scr.17
chown -R root victim
# a link of the job itself goes, and not where it leads
rm memory/nobody
mkdir memory/nobody
ln -s "$tmp/victim/scr.17" memory/nobody/scr.17
chown -R -h nobody memory/nobody victim
slurm epilog 17 nobody
check "victim" -d victim/scr.17 -a ! -L memory/nobody/scr.17
chown -R root victim
rmdir memory/nobody
ln -s ../victim memory/nobody

# a directory of another user, in which are directories that this one may delete (S6)
rm log memory/nobody
mkdir -m 0777 memory/nobody
mkdir -p memory/nobody/scr.17/precious
chown -R nobody memory/nobody/scr.17
chown daemon memory/nobody
slurm epilog 17 nobody
check "of daemon" -d memory/nobody/scr.17/precious
grep -q "scr-epilog job 17 of nobody: .*memory/nobody is a directory of another user: kept" log || fail "no line in the log"
rm -r log memory/nobody

# directories without write permission, and below a link what must keep its mode
mkdir -p memory/nobody/scr.17/prefix.0123/scr.dataset.1
chown -R nobody victim
chmod 0500 victim
ln -s ../../../victim memory/nobody/scr.17/link
touch memory/nobody/scr.17/prefix.0123/scr.dataset.1/file
chown -R -h nobody memory/nobody
chmod 0500 memory/nobody/scr.17/prefix.0123 memory/nobody/scr.17
chmod 0000 memory/nobody/scr.17/prefix.0123/scr.dataset.1
slurm epilog 17 nobody
check "empty: $(cat log 2>/dev/null)" ! -e log -a ! -e memory/nobody/scr.17
check "victim" "$(owner victim)" = "nobody 500"
# … and below a link in the place of the job's directory
chmod 0755 victim/scr.17
chmod 0500 victim
ln -s ../../victim memory/nobody/scr.17
chown -h nobody memory/nobody/scr.17
slurm epilog 17 nobody
check "victim" "$(owner victim)" = "nobody 500" -a -d victim/scr.17 -a ! -L memory/nobody/scr.17
chown -R root victim
chmod 0755 victim
rmdir memory/nobody
ln -s ../victim memory/nobody

# the name is taken by another user
slurm prolog 17 nobody
check "memory/nobody" "$(owner memory/nobody)" = "nobody 700"
grep -q "memory/nobody was no directory of this user (of 0 symbolic link): moved" log || fail "no line in the log"
rmdir memory/nobody
ln -s ../victim memory/nobody
chown -h nobody memory/nobody
slurm prolog 17 nobody
check "memory/nobody" "$(owner memory/nobody)" = "nobody 700"
grep -q "memory/nobody was no directory of this user (of $(id -u nobody) symbolic link)" log || fail "no line in the log"

# a directory of root with that name, of another use, is not given away (S6)
rm log
rmdir memory/nobody
mkdir -m 0755 memory/nobody
slurm prolog 17 nobody
check "memory/nobody" "$(owner memory/nobody)" = "root 755"
chmod 0700 memory/nobody
mkdir memory/nobody/precious
slurm prolog 17 nobody
check "memory/nobody" "$(owner memory/nobody)" = "root 700"
check "two lines: $(cat log)" "$(grep -c "memory/nobody is a directory of root: kept" log)" = 2
rm -r log memory/nobody

# a base in which another user could put a link in the place of what root makes (S6)
for mode in 0777 0775; do
    chmod $mode memory
    slurm prolog 17 nobody
    check "memory/nobody" ! -e memory/nobody
done
check "two lines: $(cat log)" "$(grep -c "memory refused: " log)" = 2
chmod 0755 memory
chown daemon memory
slurm prolog 17 nobody
check "memory/nobody" ! -e memory/nobody
chown root memory
chmod 1777 memory
rm -r log memory/.refused.nobody.*

# the place to which a refused one is moved cannot be taken before
setpriv --reuid daemon --clear-groups mkdir -m 0700 memory/nobody
slurm prolog 17 nobody
check "memory/nobody" "$(owner memory/nobody)" = "nobody 700"
check "root has it" "$(stat -c '%u %a' memory/.refused.nobody.*)" = "0 700"
grep -q "(of $(id -u daemon) directory): moved to $tmp/memory/.refused.nobody" log || fail "no line in the log"
rm -r memory/.refused.nobody.*

# one that cannot be moved leaves nothing else behind
rm -r log memory/nobody
setpriv --reuid daemon --clear-groups mkdir -m 0700 memory/nobody
printf '%s\n' '#!/bin/sh' 'echo mv: busy; exit 1' >bin/mv
chmod +x bin/mv
slurm prolog 17 nobody
rm bin/mv
grep -q "scr-prolog user nobody: mv: busy" log || fail "no line in the log"
check "nothing else: $(ls -A memory)" -z "$(ls -d memory/.refused.* 2>/dev/null)"

# names that are none
rm log
mkdir -p scr.17 memory/scr.17
for user in '' . .. ../x; do
    slurm epilog 17 "$user"
    slurm prolog 17 "$user"
done
slurm epilog '' nobody
slurm epilog '*' nobody
check "outside" -d scr.17 -a -d memory/scr.17
slurm epilog 17 no-such-user
grep -q "not known" log || fail "no line in the log"

# no configuration to be read
echo SCR_COPY_TYPE=NONE >site.conf
slurm epilog 17 nobody
grep -q "scr cntl_dir: .*SCR_COPY_TYPE" log || fail "no line in the log"

# half of an answer
printf '%s\n' '#!/bin/sh' 'case " $* " in *" control "*) echo no control >&2; exit 2 ;; *) echo "$PWD" ;; esac' >bin/scr
for script in prolog epilog; do
    rm log
    slurm $script 17 nobody
    grep -q "scr cntl_dir: no control" log || fail "no line in the log"
done
exit 0
