/* SPDX-License-Identifier: BSD-3-Clause */
/* Free memory, from texts as kernels give them, and free room for files. */
#include "helper_fault.h"
#include "helper_tmp.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

static const uint64_t MIB = 1024 * 1024;

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

/* <test_tmp()>/<path> with its directories. */
static void put(const char *path, const char *text)
{
    char dir[300];
    for (const char *at = strchr(path, '/'); at != NULL; at = strchr(at + 1, '/')) {
        snprintf(dir, sizeof dir, "%.*s", (int)(at - path), path);
        mkdir(test_path("%s", dir), 0700);
    }
    test_put(test_path("%s", path), text, strlen(text));
}

static struct scr_memory_at here(void)
{
    return (struct scr_memory_at){ test_path("proc"), test_path("cgroup") };
}

static uint64_t left(void)
{
    struct scr_memory_at at = here();
    return scr_memory_left(&test_fault_sys, &at);
}

static void fresh(void **state)
{
    (void)state;
    test_tmp_remove();
    put("proc/meminfo", "MemTotal:       16384000 kB\n"
                        "MemFree:          200000 kB\n"
                        "MemAvailable:    8192000 kB\n"
                        "Buffers:            1000 kB\n");
}

static void without_groups_what_is_available_counts(void **state)
{
    fresh(state);
    assert_int_equal(left(), 8000 * MIB);
}

static void a_kernel_that_reports_nothing_sets_no_bound(void **state)
{
    (void)state;
    test_tmp_remove();
    assert_true(left() == UINT64_MAX);
    put("proc/meminfo", "MemTotal: 16384000 kB\nMemFree: 200000 kB\n");
    assert_true(left() == UINT64_MAX);
    put("proc/meminfo", "MemAvailable: many kB\n");
    assert_true(left() == UINT64_MAX);
}

/* The limit of the job binds, though the step below it has none; pages of
 * files can be dropped. */
static void a_limit_of_version_2_counts_wherever_it_is_set(void **state)
{
    fresh(state);
    put("proc/self/cgroup", "0::/system.slice/job_7/step_0\n");
    put("cgroup/system.slice/job_7/step_0/memory.max", "max\n");
    put("cgroup/system.slice/job_7/step_0/memory.current", "1000\n");
    put("cgroup/system.slice/job_7/memory.max", "4294967296\n");
    put("cgroup/system.slice/job_7/memory.current", "3221225472\n");
    assert_int_equal(left(), 1024 * MIB);
    put("cgroup/system.slice/job_7/memory.stat", "anon 2147483648\n"
                                                 "file 1073741824\n"
                                                 "shmem 536870912\n"
                                                 "inactive_anon 5\n"
                                                 "inactive_file 268435456\n"
                                                 "active_file 268435456\n");
    assert_int_equal(left(), 1536 * MIB);
}

static void a_limit_of_version_1_counts_too(void **state)
{
    fresh(state);
    put("proc/self/cgroup", "9:cpu,cpuacct:/other\n"
                            "4:hugetlb,memory:/slurm/uid_1/job_7\n"
                            "1:name=systemd:/memory\n");
    put("cgroup/memory/slurm/uid_1/job_7/memory.limit_in_bytes",
        "9223372036854771712\n");
    put("cgroup/memory/slurm/uid_1/job_7/memory.usage_in_bytes", "1048576\n");
    put("cgroup/memory/slurm/memory.limit_in_bytes", "2147483648\n");
    put("cgroup/memory/slurm/memory.usage_in_bytes", "1610612736\n");
    assert_int_equal(left(), 512 * MIB);
    put("cgroup/memory/slurm/memory.stat", "cache 805306368\n"
                                           "active_file 1\n"
                                           "total_inactive_file 134217728\n"
                                           "total_active_file 134217728\n");
    assert_int_equal(left(), 768 * MIB);
}

/* In a container the path is that of the host, and the top is the container's. */
static void a_container_shows_its_limit_at_the_top(void **state)
{
    fresh(state);
    put("proc/self/cgroup", "0::/kubepods/pod1/c1\n");
    put("cgroup/memory.max", "1073741824\n");
    put("cgroup/memory.current", "536870912\n");
    assert_int_equal(left(), 512 * MIB);
}

static void nothing_is_left_where_more_is_used_than_the_limit(void **state)
{
    fresh(state);
    put("proc/self/cgroup", "0::/job\n");
    put("cgroup/job/memory.max", "1048576\n");
    put("cgroup/job/memory.current", "2097152\n");
    assert_int_equal(left(), 0);
}

static void texts_that_are_none_set_no_bound(void **state)
{
    static const char *const lines[] = { "",         "\n",       "0:",
                                         "x\n0::\n", "4:memory", "4:memory:" };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        fresh(state);
        put("proc/self/cgroup", lines[i]);
        assert_int_equal(left(), 8000 * MIB);
    }
}

/* Whatever cannot be read sets no bound, and nothing stays open. */
static void every_failing_call_is_survived(void **state)
{
    int fired = 1;
    fresh(state);
    put("proc/self/cgroup", "0::/job\n");
    put("cgroup/job/memory.max", "1073741824\n");
    put("cgroup/job/memory.current", "536870912\n");
    for (long n = 0; fired; n++) {
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        uint64_t got = left();
        fired = test_fault_off();
        assert_true(got == 512 * MIB || (fired && got >= 512 * MIB));
    }
}

/* --- file systems --- */

static struct {
    struct scr_sys sys;
    long type;
    uint64_t blocks, avail;
} fs;

static int fs_statvfs(const char *path, struct statvfs *st)
{
    int rc = scr_sys_posix.statvfs(path, st);
    st->f_frsize = 4096;
    st->f_blocks = fs.blocks;
    st->f_bavail = fs.avail;
    return rc;
}

static int fs_fstatfs(int fd, struct statfs *st)
{
    int rc = scr_sys_posix.fstatfs(fd, st);
    st->f_type = fs.type;
    return rc;
}

static uint64_t room(long type, uint64_t blocks, uint64_t avail)
{
    struct scr_memory_at at = here();
    fs.sys = scr_sys_posix;
    fs.sys.statvfs = fs_statvfs;
    fs.sys.fstatfs = fs_fstatfs;
    fs.type = type;
    fs.blocks = blocks;
    fs.avail = avail;
    return scr_room_at(&fs.sys, &at, test_tmp());
}

static void a_disk_has_what_is_free(void **state)
{
    fresh(state);
    put("proc/meminfo", "MemAvailable: 4 kB\n");
    assert_int_equal(room(0xEF53, 1000, 600), 600 * 4096);
    assert_int_equal(room(0xEF53, 1000, 0), 0);
}

static void memory_keeps_a_quarter_for_the_program(void **state)
{
    fresh(state);
    put("proc/meminfo", "MemAvailable: 4000 kB\n");
    assert_int_equal(room(TMPFS_MAGIC, 1000000, 600000), 3000 * 1024);
    assert_int_equal(room(TMPFS_MAGIC, 1000000, 10), 10 * 4096);
    assert_int_equal(room(RAMFS_MAGIC, 0, 0), 3000 * 1024);
}

static void a_file_system_that_reports_nothing_has_room(void **state)
{
    struct scr_memory_at at = here();
    (void)state;
    assert_true(scr_room_at(&scr_sys_posix, &at, test_path("none")) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_groups_what_is_available_counts),
        cmocka_unit_test(a_kernel_that_reports_nothing_sets_no_bound),
        cmocka_unit_test(a_limit_of_version_2_counts_wherever_it_is_set),
        cmocka_unit_test(a_limit_of_version_1_counts_too),
        cmocka_unit_test(a_container_shows_its_limit_at_the_top),
        cmocka_unit_test(nothing_is_left_where_more_is_used_than_the_limit),
        cmocka_unit_test(texts_that_are_none_set_no_bound),
        cmocka_unit_test(every_failing_call_is_survived),
        cmocka_unit_test(a_disk_has_what_is_free),
        cmocka_unit_test(memory_keeps_a_quarter_for_the_program),
        cmocka_unit_test(a_file_system_that_reports_nothing_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
