# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe for the tree it stands in:

    spack repo add packaging/spack
    spack install scr_own.scr ^openmpi
"""
import os

from spack.package import *


class Scr(CMakePackage):
    """Scalable checkpoint and restart for MPI programs: checkpoints in node-local storage,
    protected over nodes, rebuilt after failures, copied to the parallel file system in part."""

    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("zstd", default=True, description="Compress files on their way to the file system")
    variant("man", default=True, description="Make the manual pages")
    variant("fortran", default=True, description="Make libscrf with the module scr")
    variant("python", default=False, description="Install the Python package")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.18:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("pandoc", type="build", when="+man")
    depends_on("mpi@3:")
    depends_on("isa-l")
    depends_on("jansson")
    depends_on("zstd", when="+zstd")
    depends_on("python@3.8:", type=("build", "run"), when="+python")
    extends("python", when="+python")

    def cmake_args(self):
        mpi = self.spec["mpi"]
        python = self.spec["python"].command.path if self.spec.satisfies("+python") else "OFF"
        return [
            self.define("SCR_MPI", mpi.name),
            self.define("SCR_MPICC", mpi.mpicc),
            self.define("SCR_MPIRUN", os.path.join(mpi.prefix.bin, "mpirun")),
            self.define_from_variant("SCR_WITH_ZSTD", "zstd"),
            self.define("SCR_FORTRAN", "ON" if self.spec.satisfies("+fortran") else "OFF"),
            self.define("SCR_WITH_PYTHON", python),
            self.define("SCR_TESTS", False),
            self.define("SCR_CONFIG_FILE", os.path.join(self.prefix.etc, "scr.conf")),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_commands(self):
        Executable(self.prefix.bin.scr)("--version")
