#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two users whose jobs share the nodes, under the configuration of a site: the epilog of one job and scr clean of its
user remove nothing of the other, who also has a directory with the number of that job."""
import os
import shutil

import scenario
import test_site
from bed import wait_for

BASE = "/dev/shm/site" # by the site's configuration, which both jobs read
CONF = f"SCR_CACHE_BASE={BASE}\nSCR_CNTL_BASE={BASE}\nSCR_FLUSH=0\n"
SLURM = test_site.SLURM + "PartitionName=shared Nodes=ALL\n" # several jobs on a node


class UsersBed(test_site.SiteBed):
    """Users who are not root reach the programs, which are copied, and nothing else of the bed."""

    def write_files(self):
        super().write_files()
        os.chmod(self.state, 0o711)
        programs = self.directory("programs")
        for path in (f"{scenario.BIN}/scr", scenario.HEAT2D, f"{scenario.BUILD}/libscr.so.4", scenario.FINALIZE):
            shutil.copy(path, programs)

    def program(self, path):
        return os.path.join(self.state, "programs", os.path.basename(path))

    def set_up(self, node, users):
        """A configuration in the node's own /etc, and what its administrator makes."""
        self.run(node, "sh", "-euc",
                 "mount -n -t tmpfs etc /mnt && cp -a /etc/. /mnt && mkdir /mnt/scr && cat >/mnt/scr/scr.conf <<'END'\n"
                 f"{CONF}END\nmount -n --move /mnt /etc && mkdir -m 755 {BASE}")
        for user in users:
            self.run(node, "install", "-d", "-o", user, "-g", user, "-m", "700", f"/tmp/ompi.{node}.{user}")

    def as_user(self, user, *command):
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "env", f"USER={user}",
                f"LOGNAME={user}", f"HOME={self.pfs}/{user}", *command]


class Job(scenario.Solver):
    """Of a user; the prefix directory is that user's home."""

    def __init__(self, bed, user):
        super().__init__(bed, user)
        self.user, self.log = user, f"{self.dir}/log"
        preload = f"LD_PRELOAD={bed.program(scenario.FINALIZE)} " if scenario.MPI == "mpich" else ""
        bed.write(f"pfs/{user}/solver", f"#!/bin/sh\nexport LD_LIBRARY_PATH={bed.state}/programs\n{preload}exec "
                  f"{bed.program(scenario.HEAT2D)} --steps {self.steps} --every 10 --sleep-ms 30 --output field\n", 0o755)
        self.hold(("compute", 3))
        for path in (self.dir, f"{self.phase_file}.hold"):
            shutil.chown(path, user, user)
        self.run = self.start("head", *bed.as_user(
            user, "sbatch", "--quiet", "--wait", "--nodes=4", "--partition=shared", "--time=15", f"--job-name={user}",
            f"--output={self.log}", "--wrap=srun -N4 -n4 ./solver"))
        wait_for(f"job of {user}", lambda: self.numbers())
        (self.number,) = self.numbers()

    def numbers(self):
        return self.bed.run("head", "squeue", "-h", "-u", self.user, "-o", "%i").stdout.split()

    def said(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def cached(self, node):
        """What the user has below the base on a node: directories of jobs, and how many files."""
        return self.bed.run(node, "sh", "-c", f"cd {BASE}/{self.user} && ls && find . -type f | wc -l").stdout.split()


def clean(bed, user, *options):
    return bed.run("n1", *bed.as_user(user, bed.program("scr"), "clean", *options), check=False)


def main():
    with scenario.bed(UsersBed, count=4, slurm=SLURM, topology=test_site.TOPOLOGY) as bed:
        for node in ["head", *bed.names]:
            bed.set_up(node, ("daemon", "bin"))
        one, other = Job(bed, "daemon"), Job(bed, "bin")
        for job in (one, other):
            job.wait_phase("compute", 3)
            for node in bed.names:
                assert job.cached(node)[0] == f"scr.{job.number}", job.cached(node)
        theirs = f"{BASE}/bin/scr.{one.number}" # of an older Slurm, say
        for node in bed.names:
            bed.run(node, *bed.as_user("bin", "cp", "-a", f"{BASE}/bin/scr.{other.number}", theirs))
        before = {node: other.cached(node) for node in bed.names}

        # As one user the other's jobs are none, whatever is asked for.
        for options in (["--jobid", other.number, "--ended", "--force"], ["--force"]):
            done = clean(bed, "daemon", *options)
            print(done.stdout + done.stderr)
            assert other.cached("n1") == before["n1"], options
        assert clean(bed, "daemon", "--user", "bin", "--ended", "--jobid", other.number).returncode != 0
        assert other.cached("n1") == before["n1"]
        assert one.cached("n1")[0] == f"scr.{one.number}", "its job runs"

        bed.run("head", "scancel", one.number)
        one.run.wait()
        for node in bed.names:
            wait_for(f"{node} is clean of daemon's job", lambda: one.cached(node) == ["0"])
            assert other.cached(node) == before[node], other.cached(node)
        other.release()
        assert other.run.wait() == 0, other.said()
        other.check_result()
        for node in bed.names:
            wait_for(f"{node} is clean of bin's job", lambda: other.cached(node)[:-1] == [f"scr.{one.number}"])
        # What is left is bin's own, and bin's to clean.
        assert int(other.cached("n1")[-1]) > 0
        done = clean(bed, "bin", "--jobid", one.number, "--ended", "--force")
        assert (done.returncode, other.cached("n1")) == (0, ["0"]), (done, other.cached("n1"))


if __name__ == "__main__":
    main()
