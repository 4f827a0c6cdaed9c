# SPDX-License-Identifier: BSD-3-Clause
# A thin front of CMake: installs what is missing, configures, builds, tests.
#
#   make          build the library and the commands
#   make drill    lose a node on this machine and restart from its neighbours
#   make check    build with warnings as errors and run all tests and linters
#   make quick    the same with linters, unit tests and a dozen of those under mpirun: a minute
#   make cluster  a shell on five emulated nodes under Slurm (as root)
#   make campaign thousands of random histories over all features against a specification (tests/campaign)
#   make points   every system call of runs and commands kills or fails, and power is lost (tests/campaign)
#   make flips losses  flipped bits in every kind of file; every subset of nodes lost in every phase (tests/campaign)
#   make html     the guide and all manual pages as web pages, in build/openmpi/html
#   make bench    time checkpoints, rebuilds and flushes on virtual nodes of this machine, and what grows with
#                 the number of ranks
#   make lint     the linters alone          make asan     unit tests and fuzzers, sanitized
#   make fuzz     every decoder and parser on changed inputs, SECONDS=600 of each, one after the other
#   make asan-mpi the tests under mpirun, sanitized (an hour or so; CTEST="-R 'async|memory'" for some)
#   make install  into PREFIX (/usr/local), below DESTDIR if set
#   make dist     a tar ball of the commit, in build/dist, and a recipe for Spack that has its sum
#   make package  Debian packages for both MPIs from this tar ball, in build/package
#   make rpm      RPM packages, in build/rpm
#   make package-check  installs them into a fresh system in a directory and runs a drill there (as root)
#   make clean    remove build/
#
# MPI=openmpi (default) or mpich; DRILL="--scheme PARTNER …"; CTEST="-L unit …"; JOBS=2;
# FUZZ="--only rm --seed 7" (tests/fuzz/run.py --help);
# BENCH="--cases XOR --rounds 5" (bench/run.py --help); FLUSH_BENCH="--mib 64" (bench/flush.py --help);
# SCALE_BENCH="--most 1000000" (bench/scale.c), which takes 4 GiB of memory;
# FILES_BENCH="--files 20000" (bench/files.py --help);
# CAMPAIGN="--count 20000 --first 1" (--help of promises.py, flips.py, losses.py in tests/campaign);
# POINTS="--most 2500 crash" (tests/campaign/points.py --help);
# SKIP_DEPS=1 leaves the installed packages alone.
MPI ?= openmpi
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
DRILL ?=
CTEST ?=
SECONDS ?= 5
FUZZ ?=
BENCH ?=
FLUSH_BENCH ?=
SCALE_BENCH ?=
FILES_BENCH ?= --files 1000 --rounds 3
CAMPAIGN ?=
BUILD ?= build/$(MPI)
CMAKE_ARGS ?=

# Tests start more processes than there are cores, but these wait for launchers, for each other and for
# disks: three at a time keep two cores busy, and timeouts honest. Those on the emulated nodes mostly wait
# for something to die or to come up.
TEST_JOBS ?= 3
CLUSTER_JOBS ?= 12
SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

ifeq ($(filter $(MPI),openmpi mpich),)
$(error MPI=$(MPI): expected openmpi or mpich)
endif
ifdef SKIP_DEPS
deps = @:
else
deps = scripts/install-deps.sh
endif

.PHONY: build drill html bench campaign points flips losses check quick lint asan asan-mpi asan-configure fuzz install
.PHONY: clean cluster dist
.PHONY: package rpm package-check deps-build deps-check deps-cluster deps-docs deps-fuzz deps-package
build: deps-build
	cmake -S . -B $(BUILD) -DSCR_MPI=$(MPI) -DSCR_TESTS=OFF -DSCR_WERROR=OFF \
	    -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_ARGS)
	cmake --build $(BUILD) -j$(JOBS)

drill: build
	$(BUILD)/scr drill $(DRILL)

html: deps-docs build
	cmake --build $(BUILD) --target html
	@test -e $(BUILD)/html/index.html && echo "open $(BUILD)/html/index.html"

cluster: deps-cluster build
	tests/cluster/shell.py $(MPI) $(abspath $(BUILD))

bench: build
	bench/run.py --mpirun mpirun.$(MPI) --ckpt $(BUILD)/bench/ckpt $(BENCH)
	bench/flush.py --mpirun mpirun.$(MPI) --ckpt $(BUILD)/bench/ckpt $(FLUSH_BENCH)
	bench/files.py --mpirun mpirun.$(MPI) --ckpt $(BUILD)/bench/ckpt --scr $(BUILD)/scr $(FILES_BENCH)
	bench/datasets.py --mpirun mpirun.$(MPI) --ckpt $(BUILD)/bench/ckpt --scr $(BUILD)/scr --dir /dev/shm --many 1000
	$(BUILD)/bench/throttle /dev/shm /dev/shm
	$(BUILD)/bench/scale $(SCALE_BENCH) /dev/shm
	bench/model.py --mpirun mpirun.$(MPI) --ckpt $(BUILD)/bench/ckpt --count $(BUILD)/bench/libscr_count.so

# Ranks are forked, which needs the handles of MPICH.
campaign points flips losses:
	+$(MAKE) MPI=mpich $@-mpich
.PHONY: campaign-mpich points-mpich flips-mpich losses-mpich forked
forked: deps-check
	cmake -S . -B $(BUILD) -DSCR_MPI=$(MPI) -DSCR_TESTS=ON -DSCR_WERROR=ON $(CMAKE_ARGS)
	cmake --build $(BUILD) -j$(JOBS) --target scr_tool promises_forked scr_strike
campaign-mpich: forked
	tests/campaign/promises.py --build $(BUILD) --shrink --keep $(BUILD) --count 5000 $(CAMPAIGN)
points-mpich: forked
	tests/campaign/points.py --build $(BUILD) --check --keep $(BUILD) $(POINTS)
flips-mpich losses-mpich: forked
	tests/campaign/$(@:-mpich=).py --build $(BUILD) --jobs $(TEST_JOBS) $(CAMPAIGN)

# ctest leaves out what matches all of several -LE, and only what matches the last of several -E.
# Those that mostly wait, for nodes that die and time limits, run after the others, many at a time.
WAITING = cluster|waits
NOT_WAITING = $(if $(filter -LE --label-exclude,$(CTEST)),-E '^cluster\.|^unit\.test_rm_remote$$',-LE '$(WAITING)')
check: deps-check
	cmake -S . -B $(BUILD) -DSCR_MPI=$(MPI) -DSCR_TESTS=ON -DSCR_WERROR=ON $(CMAKE_ARGS)
	cmake --build $(BUILD) -j$(JOBS)
	@! ctest --test-dir $(BUILD) -N $(CTEST) | grep -qx 'Total Tests: 0' || \
	    { echo "CTEST chooses no test" >&2; exit 1; }
	status=0; \
	ctest --test-dir $(BUILD) -j$(TEST_JOBS) --output-on-failure --no-tests=ignore $(CTEST) $(NOT_WAITING) || status=$$?; \
	ctest --test-dir $(BUILD) -j$(CLUSTER_JOBS) --output-on-failure --no-tests=ignore $(CTEST) -L '$(WAITING)' || status=$$?; \
	exit $$status

# What is short and meets most of the code: between two edits.
QUICK := ^(lint|unit)\.|^mpi\.test_core_(again|bypass|damage|datasets|halt|layout|lost_output|pfs|ranks|replaced|scavenge|shared)\.
quick: deps-check
	cmake -S . -B $(BUILD) -DSCR_MPI=$(MPI) -DSCR_TESTS=ON -DSCR_WERROR=ON $(CMAKE_ARGS)
	cmake --build $(BUILD) -j$(JOBS)
	ctest --test-dir $(BUILD) -j$(TEST_JOBS) --output-on-failure --no-tests=error -R '$(QUICK)' -E unit.test_rm_remote

lint: deps-check
	cmake -S . -B $(BUILD) -DSCR_MPI=$(MPI) -DSCR_TESTS=ON -DSCR_WERROR=ON $(CMAKE_ARGS)
	cmake --build $(BUILD) -j$(JOBS)
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L lint

asan-configure: deps-check
	cmake -S . -B build/asan -DSCR_MPI=$(MPI) -DSCR_TESTS=ON -DSCR_WERROR=ON \
	    -DSCR_FUZZ=ON -DSCR_DOCS=OFF -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS=$(SAN)" $(CMAKE_ARGS)

asan: asan-configure
	cmake --build build/asan -j$(JOBS) --target unit_tests fuzz_targets
	ctest --test-dir build/asan -j$(TEST_JOBS) --output-on-failure --no-tests=error -L 'unit|fuzz' $(CTEST)

asan-mpi: asan-configure
	cmake --build build/asan -j$(JOBS) --target mpi_tests
	ctest --test-dir build/asan --output-on-failure --no-tests=error -L cases $(CTEST)

# With libFuzzer where clang has it, else with the driver of tests/fuzz.
LIBFUZZER = $(shell echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
    clang -fsanitize=fuzzer -x c -o /dev/null - >/dev/null 2>&1 && echo 1)
FUZZ_BUILD = $(if $(LIBFUZZER),build/fuzz,build/asan)
fuzz: deps-fuzz
	$(if $(LIBFUZZER),cmake --preset fuzz -DSCR_MPI=$(MPI) $(CMAKE_ARGS),$(MAKE) asan-configure)
	cmake --build $(FUZZ_BUILD) -j$(JOBS) --target fuzz_targets
	tests/fuzz/run.py --seconds $(SECONDS) $(FUZZ) $(FUZZ_BUILD)

install: build
	cmake --install $(BUILD)

dist:
	packaging/dist.sh build/dist

# Of what is committed, for both MPIs.
package: deps-package
	packaging/deb.sh "$$(packaging/dist.sh build/dist)" build/package

rpm: deps-package
	packaging/rpm.sh "$$(packaging/dist.sh build/dist)" build/rpm

package-check: package
	packaging/check/check.sh build/package

clean:
	rm -rf build

deps-build:
	$(deps) build $(MPI)

# Only root can have a cluster, and others need no Slurm.
deps-check:
	$(deps) build $(MPI) check check-$(MPI) $(if $(filter 0,$(shell id -u)),cluster)

deps-docs:
	$(deps) docs

deps-cluster:
	$(deps) cluster

deps-fuzz:
	$(deps) build $(MPI) check fuzz

deps-package:
	$(deps) build package docs
