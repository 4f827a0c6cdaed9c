# SPDX-License-Identifier: BSD-3-Clause
"""Several nodes on one machine, with a real Slurm.

    with Bed(shared=[build, source]) as bed:
        bed.run("head", "srun", "-N4", "hostname").stdout
        job = bed.start("head", "salloc", "-N5", "sleep", "100")
        bed.crash("n2")
        bed.revive("n2")

A node is a set of namespaces: host name, processes, network, and storage of its own in /tmp and
/dev/shm, empty at first and lost with the node. n1, n2 … run slurmd, the node "head" slurmctld.
What stands in bed.pfs and in the shared directories is seen by all. The network is theirs alone.

Everything ends with the process that made it, however that one ends: the processes of a node die
with process 1 of the node, which dies with its maker; mounts and network go with the last process.
Only bed.state, a directory, is left if the maker is killed. Only root can make nodes.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid")
NET = "10.77.0"

# No cgroups, no accounting, no state that survives.
SLURM_CONF = """\
ClusterName=bed
SlurmctldHost=head({net}.254)
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/run/slurm
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmdSpoolDir=/run/slurm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault={mpi}
SlurmdTimeout={notice}
MessageTimeout=20
TCPTimeout=2
KillWait=2
KillOnBadExit={kill}
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-{count}] NodeAddr={net}.[1-{count}] CPUs=4 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES DefaultTime=30 OverSubscribe=EXCLUSIVE
{more}
"""
CGROUP_CONF = "CgroupPlugin=cgroup/v1\n"  # not used, but looked for unless it is named
# The default way in which Slurm 22.05 fences lets some starts of Open MPI hang.
MPI_CONF = "PMIxCollFence=ring\nPMIxTimeout=120\n"
SRUN_MPI = {"openmpi": "pmix", "mpich": "pmi2"}

ENVIRONMENT = {
    # root, more ranks than cores, no way out of the bed
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp",
    # a silent node is noticed soon
    "OMPI_MCA_oob_tcp_keepalive_time": "2", "OMPI_MCA_oob_tcp_keepalive_intvl": "1",
    "OMPI_MCA_oob_tcp_keepalive_probes": "3",
    "PDSH_RCMD_TYPE": "ssh",
    # lines are compared
    "SCR_LOG_TIME": "0",
}
NEEDED = ("unshare", "nsenter", "setpriv", "mount", "ip", "munged", "slurmctld", "slurmd", "srun", "pdsh")


def why_not():
    """What is missing for a bed; None if nothing."""
    missing = [name for name in NEEDED if shutil.which(name, path=search_path()) is None]
    if os.geteuid() != 0:
        return "only root can make namespaces"
    if missing:
        return f"no {', '.join(missing)} here (scripts/install-deps.sh cluster)"
    trial = "mount -t tmpfs none /mnt && ip link add br0 type bridge && ip link add v0 type veth"
    done = subprocess.run(["unshare", *NAMESPACES, "--fork", "sh", "-c", trial], text=True,
                          stderr=subprocess.PIPE, env=dict(os.environ, PATH=search_path()))
    return None if done.returncode == 0 else f"namespaces are not allowed: {done.stderr.strip()}"


def search_path():
    return os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


# Seconds until something that has not happened never will, also on a machine that is busy with other things.
PATIENCE = 240


def wait_for(what, condition):
    """Polls until condition() is true and returns what it gave."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"after {PATIENCE} s still not: {what}")
        time.sleep(0.02)
    return value


class Process(subprocess.Popen):
    """A command that runs on a node; log is the path of its output."""

    def wait(self, timeout=PATIENCE):
        return super().wait(timeout)


class Node:
    """Process 1 of a node: pid is its number outside."""

    def __init__(self, bed, name):
        # unshare dies with us, and its child with it
        self.maker = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", *NAMESPACES, "--fork", "--kill-child",
             os.path.join(HERE, "init.sh"), name, bed.address(name), bed.state, bed.size, *bed.shared],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", env=bed.environment, text=True,
            stderr=subprocess.DEVNULL, start_new_session=True)
        self.pid = int(self.maker.stdout.readline())

    def plugged(self, device):
        self.maker.stdin.write(device + "\n")
        self.maker.stdin.close()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.kill(self.pid, signal.SIGKILL)
        self.maker.wait()
        self.maker.stdout.close()


class Bed:
    """count nodes; size of each private storage; shared directories besides those of the bed; path:
    directories to look for commands first; mpi: whose programs srun starts; kill_on_bad_exit: KillOnBadExit of
    slurm.conf; notice: seconds of silence after which Slurm says by itself that a node is down: a machine that is
    busy, or stands still for a moment, is silent too; slurm: more lines of slurm.conf; topology: text of
    topology.conf, if slurm names the plugin that reads it. @STATE@ in slurm is bed.state."""

    def __init__(self, count=5, size="256m", shared=(), path=(), mpi="openmpi", kill_on_bad_exit=1, notice=60,
                 slurm="", topology="", **environment):
        self.names = [f"n{i}" for i in range(1, count + 1)]
        self.size, self.mpi, self.kill, self.notice = size, mpi, kill_on_bad_exit, notice
        self.slurm, self.topology = slurm, topology
        self.nodes, self.begun = {}, []
        self.state = tempfile.mkdtemp(prefix="scr-cluster.")
        self.shared = [self.state, HERE, *shared, *path]
        self.pfs = self.directory("pfs")
        self.logs = self.directory("log")
        self.environment = {
            "PATH": ":".join([self.directory("bin"), *path, search_path()]), "USER": "root",
            "HOME": self.directory("home"), "LANG": "C", "LC_ALL": "C", "TZ": "UTC",
            "OMPI_MCA_btl_tcp_if_include": f"{NET}.0/24", "OMPI_MCA_oob_tcp_if_include": f"{NET}.0/24",
            **ENVIRONMENT, **environment}

    def __enter__(self):
        try:
            self.write_files()
            head = self.add("head")
            self.call("ip", "link", "add", "br0", "netns", str(head.pid), "type", "bridge")
            head.plugged("br0")
            for name in self.names:
                self.revive(name, wait=False)
            self.wait_idle(self.names)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        for node in self.nodes.values():
            node.kill()
        for process in self.begun:
            process.wait()
        shutil.rmtree(self.state)

    # --- files that all nodes share ---

    def directory(self, name):
        path = os.path.join(self.state, name)
        os.makedirs(path, exist_ok=True)
        return path

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.state, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def address(self, name):
        return f"{NET}.{254 if name == 'head' else name[1:]}"

    def write_files(self):
        self.directory("slurm")
        self.write("slurm/slurm.conf", SLURM_CONF.format(net=NET, count=len(self.names),
                                                       mpi=SRUN_MPI[self.mpi], kill=self.kill,
                                                       notice=self.notice,
                                                       more=self.slurm.replace("@STATE@", self.state)))
        if self.topology:
            self.write("slurm/topology.conf", self.topology)
        self.write("slurm/mpi.conf", MPI_CONF)
        self.write("slurm/cgroup.conf", CGROUP_CONF)
        self.write("munge.key", os.urandom(32).hex(), 0o600)
        self.write("hosts", "127.0.0.1 localhost\n" + "".join(
            f"{self.address(name)} {name}\n" for name in ["head", *self.names]))
        os.symlink(os.path.join(HERE, "rsh.py"), os.path.join(self.state, "bin/ssh"))

    # --- nodes ---

    def add(self, name):
        self.nodes[name] = Node(self, name)
        return self.nodes[name]

    def revive(self, name, wait=True):
        """A node that is down comes back, empty."""
        node, head, cable = self.add(name), str(self.nodes["head"].pid), f"to-{name}"
        inside = ["nsenter", "--net", "--target", head, "ip", "link"]
        self.call(*inside, "delete", cable, check=False)  # what the last one left, if still there
        self.call("ip", "link", "add", cable, "netns", head, "type", "veth",
                  "peer", "name", "eth0", "address", f"02:00:00:00:00:{int(name[1:]):02x}",  # the one peers know
                  "netns", str(node.pid))
        self.call(*inside, "set", cable, "master", "br0", "up")
        node.plugged("eth0")
        if wait:
            self.wait_idle([name])

    def crash(self, *names, notify=False):
        """All processes and the private storage are gone; peers see their connections reset. Slurm finds
        out by itself (see notice), or is told at once."""
        for name in names:
            self.nodes.pop(name).kill()
        if notify:
            self.run("head", "scontrol", "update", f"nodename={','.join(names)}", "state=down", "reason=crash")

    def plug(self, name, state):
        """state: up, down."""
        self.call("nsenter", "--net", "--target", str(self.nodes["head"].pid), "ip", "link", "set",
                  f"to-{name}", state)

    def power_off(self, name):
        """The same, but peers hear nothing any more."""
        self.plug(name, "down")
        self.crash(name)

    def wait_idle(self, names):
        """Until they answer, and Slurm knows that."""
        for name in names:
            wait_for(f"{name} answers", lambda: self.run("head", "ssh", name, "true", check=False).returncode == 0)
        wait_for(f"idle: {names}", lambda: len(names) == len(set(
            self.run("head", "sinfo", "-h", "-N", "-t", "idle", "-n", ",".join(names), "-o", "%N",
                     check=False).stdout.split())))

    def resume_drained(self):
        """Slurm gives a node no more work when a step on it was killed and has not ended within a minute
        (UnkillableStepTimeout), as its daemons may need to notice that other nodes have died. Whoever manages
        the machine resumes such a node."""
        drained = self.run("head", "sinfo", "-h", "-N", "-t", "drain", "-o", "%N").stdout.split()
        for name in set(drained).intersection(self.nodes):
            self.run("head", "scontrol", "update", f"nodename={name}", "state=resume")

    # --- commands ---

    def call(self, *command, check=True, **how):
        """A command of the machine itself."""
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, env=self.environment, **how)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def on(self, name, command, cwd, environment):
        """The words that run a command on a node."""
        return ["nsenter", "--target", str(self.nodes[name].pid), *NAMESPACES, "env", "-C", cwd or self.pfs,
                *(f"{k}={v}" for k, v in environment.items()), *command]

    def run(self, name, *command, cwd=None, check=True, **environment):
        """Runs a command on a node to its end: gives returncode, stdout, stderr."""
        return self.call(*self.on(name, command, cwd, environment), check=check, timeout=PATIENCE)

    def start(self, name, *command, log, cwd=None, **environment):
        """Starts a command on a node; its output, both streams, goes to bed.logs/<log>."""
        path = os.path.join(self.logs, log)
        with open(path, "a") as out:
            process = Process(self.on(name, command, cwd, environment), stdout=out, stderr=out,
                              stdin=subprocess.DEVNULL, env=self.environment)
        process.log = path
        self.begun.append(process)
        return process
