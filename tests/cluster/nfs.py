#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A scenario with the shared file system on NFS: nfs.py SCENARIO.py [ARGUMENT...]

The kernel of this machine need not know NFS: a Linux that runs as a process (User-mode Linux) does. It has the files
of this machine, read-only, memory of its own in /tmp and the like, and runs the scenario. The head of the test bed
exports a directory with the NFS server of that kernel; the head and each node mount it, version 4.2, hard, with
attribute caching, each as a client of its own. Ends as the scenario does; 77 if there is no User-mode Linux or NFS
server.
"""
import ctypes
import glob
import os
import shutil
import subprocess
import sys
import tempfile

from bed import Bed, search_path

KERNEL, SKIPPED = "linux.uml", 77
NEEDED = (KERNEL, "rpc.nfsd", "rpc.mountd", "exportfs")
INSIDE, END = "--inside", "ended with "
MODULES = ("veth", "bridge", "nfsv4", "nfsd")
LEASE = "10"  # seconds, the least that the server takes: it keeps the locks of a silent client for so long
MOUNT = "vers=4.2,hard,proto=tcp"  # attributes are cached by default

POWER_OFF, FINIT_MODULE = 0x4321fedc, 313
KEPT = ("SCR_", "OMPI_", "PATH", "LD_")


class NfsBed(Bed):
    """bed.pfs is an NFS mount on the head and on all nodes; here it is the directory that the head exports."""
    is_served = False

    def __init__(self, **how):
        super().__init__(**how)
        self.silent = {}

    def power_off(self, name):
        """The processes stay, as the kernel, which all nodes share, would wait for the server to unmount."""
        self.plug(name, "down")
        self.silent[name] = self.nodes.pop(name)

    def __exit__(self, *unused):
        for name, node in self.silent.items():
            self.plug(name, "up")
            self.nodes[name] = node
        super().__exit__()

    def wait_idle(self, names):
        super().wait_idle(names)
        if not self.is_served:
            self.serve()
            names = ["head", *names]
            self.is_served = True
        for name in names:
            self.run(name, "mount", "-n", "-i", "-t", "nfs4", "-o",
                     f"{MOUNT},addr={self.address('head')},clientaddr={self.address(name)}",
                     f"{self.address('head')}:/", self.pfs, cwd="/")

    def serve(self):
        """In the network of the head, with the mounts of this machine."""
        network = ["nsenter", "--net", "--target", str(self.nodes["head"].pid)]
        self.call(*network, "mount", "-n", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
        self.call(*network, "exportfs", "-i", "-o", "rw,fsid=0,no_root_squash,no_subtree_check,insecure",
                  f"*:{self.pfs}")
        self.call(*network, "rpc.mountd", "--no-nfs-version", "3", "--no-udp")
        self.call(*network, "rpc.nfsd", "--no-nfs-version", "3", "-G", LEASE, "-L", LEASE, "4")


# --- inside: process 1 of the other Linux ---

def load(where):
    """MODULES, and before each those it needs, which modules.dep lists last to first."""
    top = glob.glob(f"{where}/*/")[0]
    with open(f"{top}/modules.dep") as f:
        needs = {os.path.basename(path)[:-len(".ko")]: rest.split() + [path]
                 for path, rest in (line.strip().split(":") for line in f)}
    for name in MODULES:
        *first, last = needs[name]
        for path in [*reversed(first), last]:
            with open(os.path.join(top, path), "rb") as f:  # most were loaded before
                ctypes.CDLL(None).syscall(FINIT_MODULE, f.fileno(), b"", 0)


def mount_all():
    for kind, path in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/tmp"), ("tmpfs", "/run"),
                       ("tmpfs", "/var/lib"), ("tmpfs", "/dev/shm"), ("devpts", "/dev/pts")):
        os.makedirs(path, exist_ok=True)
        subprocess.run(["mount", "-n", "-t", kind, kind, path], check=False)
    os.makedirs("/var/lib/nfs")
    for name in ("etab", "rmtab"):
        with open(f"/var/lib/nfs/{name}", "w"):
            pass


def live(modules, words):
    mount_all()
    load(modules)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    run = subprocess.run([sys.executable, "-B", *words], check=False, cwd=os.path.dirname(os.path.abspath(__file__)),
                         env={**os.environ, "SCR_TEST_NFS": "1", "TMPDIR": "/tmp"})
    print(f"{END}{run.returncode}", flush=True)
    ctypes.CDLL(None).reboot(POWER_OFF)


# --- outside ---

def why_not():
    missing = [name for name in NEEDED if shutil.which(name, path=search_path()) is None]
    return f"no {', '.join(missing)} here (scripts/install-deps.sh nfs)" if missing else None


def main(*words):
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    kernel = shutil.which(KERNEL, path=search_path())
    modules = os.path.normpath(f"{os.path.dirname(kernel)}/../lib/uml/modules")
    kept = "".join(f"export {name}='{value}'\n" for name, value in os.environ.items() if name.startswith(KEPT))
    with tempfile.TemporaryDirectory(prefix="scr-nfs.") as top:
        init = os.path.join(top, "init")
        with open(init, "w") as f:
            f.write(f"#!/bin/sh\n{kept}exec {sys.executable} -B {os.path.abspath(__file__)} {INSIDE} {modules} "
                    f"{' '.join(words)}\n")
        os.chmod(init, 0o755)
        run = subprocess.Popen([kernel, "mem=2G", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", f"init={init}",
                                "con=null", "con0=null,fd:1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": top}, errors="replace")
        status = 1
        for line in run.stdout:
            print(line.rstrip(), flush=True)
            if line.startswith(END):
                status = int(line[len(END):])
        run.wait()
    return status


if __name__ == "__main__":
    if sys.argv[1] == INSIDE:
        live(sys.argv[2], sys.argv[3:])
    sys.exit(main(*sys.argv[1:]))
