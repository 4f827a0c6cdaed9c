# SPDX-License-Identifier: BSD-3-Clause
"""A checkpointing job (ckpt_loop) that is started, killed with all its ranks, started again.

    with Victim(mpirun, program, SCR_FLUSH="7") as job:
        job.start()
        step = job.restarted_from()      # None: it did not say in time
        said = job.kill()                # stderr

The seed of job.rng is printed; give it as SEED=<n> to replay. Or rng is given.
"""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time


def send(sig, pids):
    for pid in pids:
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            pass


def kill_at_once(pids):
    """Stopped first, so that none sees another die."""
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        send(sig, pids)


class Victim:
    def __init__(self, mpirun, program, *args, rng=None, **settings):
        self.mpirun, self.program, self.args = mpirun, program, args
        self.rng = rng or self.seeded()
        self.work = tempfile.mkdtemp(prefix="scr-crash.")
        self.ledger = os.path.join(self.work, "ledger")
        self.prefix = os.path.join(self.work, "prefix")
        self.cache = os.path.join(self.work, "cache")
        self.tag = f"scr-crash-{os.getpid()}"
        self.env = {**os.environ, "SCR_PREFIX": self.prefix, "SCR_CACHE_BASE": self.cache,
                    "SCR_CNTL_BASE": self.cache, "SCR_VNODES": "4", "SCR_CACHE_SIZE": "2",
                    "SCR_JOB_ID": self.tag, "SCR_USER_NAME": "tester", **settings}
        os.mkdir(self.prefix)
        os.mkdir(self.cache)
        self.job, self.before = None, 0

    @staticmethod
    def seeded():
        seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
        print(f"seed {seed}", flush=True)
        return random.Random(seed)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.end_all() # daemons that copy outlive the ranks, and would write to what is removed
        shutil.rmtree(self.work)

    def processes(self, program=""):
        """Pids of the job's processes (that run program), by the job id in their environment."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f, open(f"/proc/{pid}/cmdline", "rb") as c:
                    if self.tag.encode() in f.read() and program.encode() in c.read().split(b"\0")[0]:
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def end_all(self, program=""):
        """Until none of processes(program) is left."""
        while pids := self.processes(program):
            send(signal.SIGKILL, pids)
            time.sleep(0.01)

    def ranks(self):
        return self.processes(os.path.basename(self.program))

    def lines(self):
        if not os.path.exists(self.ledger):
            return []
        with open(self.ledger) as f:
            return [line.split() for line in f]

    def done(self):
        """Numbers of the checkpoints that were acknowledged."""
        return [int(n) for what, n in self.lines() if what == "done"]

    def start(self, count=100000):
        self.before = len(self.lines())
        self.job = subprocess.Popen([self.mpirun, "-n", "4", self.program, self.ledger, str(count), *self.args],
                                    env=self.env, cwd=self.prefix, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, start_new_session=True)

    def restarted_from(self, deadline=240):
        """Waits until the new run says where it restarted from."""
        end = time.time() + deadline
        while time.time() < end:
            new = self.lines()[self.before:]
            if new:
                return int(new[0][1])
            time.sleep(0.005)
        return None

    def done_after(self, step, deadline=240):
        """Waits until a newer checkpoint was acknowledged, so that however slow it is the job gets on."""
        end = time.time() + deadline
        while max(self.done(), default=0) <= step and time.time() < end:
            time.sleep(0.005)

    def kill(self):
        """All ranks at once."""
        kill_at_once(self.ranks())
        return self.job.communicate()[1].decode(errors="replace")
