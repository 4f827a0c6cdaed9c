# SPDX-License-Identifier: BSD-3-Clause
"""Starts the runs of a history, and ends what does not end by itself."""
import os
import signal
import subprocess

PATIENCE = 60 # seconds of a run
HUNG = "a run or a command did not end"


class Hung(Exception):
    pass


class Launcher:
    """Starts runs: by promises_forked, or by an mpirun."""

    def __init__(self, args):
        self.args, self.process = args, None

    def run(self, ranks, directory, log, env, words):
        """The statuses of the ranks, or of mpirun."""
        if self.args.mpi:
            return self.launch(ranks, directory, log, env, words)
        if self.process is None:
            self.process = subprocess.Popen([self.args.forked], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True)
        settings = [f"{k}={v}" for k, v in env.items() if os.environ.get(k) != v]
        self.process.stdin.write("\t".join([str(ranks), str(PATIENCE), directory, log, *settings, "--", *words]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer or answer[0] == "hung":
            raise Hung
        return [int(status) for status in answer]

    def launch(self, ranks, directory, log, env, words):
        with open(log, "a", encoding="utf-8") as said:
            process = subprocess.Popen([self.args.mpi, "-n", str(ranks), self.args.launched, *words], cwd=directory,
                                       env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            return [process.wait(PATIENCE)]
        except subprocess.TimeoutExpired as late:
            kill_marked(env["TEST_RUNS_OF"])
            process.wait()
            raise Hung from late
        finally:
            kill_marked(env["TEST_RUNS_OF"])

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None


def kill_marked(mark):
    """All processes that were started for a history, by their environment."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if f"TEST_RUNS_OF={mark}".encode() in f.read():
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
