/* SPDX-License-Identifier: BSD-3-Clause */
/* test_probe.c - measuring a file system: numbers that can be computed with, and nothing left behind. No speeds. */
#include "files.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

static resplit_error err;

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int n = 0;
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(dir);
    return n;
}

static int count_open_files(void)
{
    return count_entries("/proc/self/fd");
}

static void assert_is_measured(const resplit_device *device)
{
    const double numbers[] = {device->latency, device->depth, device->read_bandwidth, device->write_bandwidth,
                              device->both_bandwidth};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (!isfinite(numbers[i]) || numbers[i] <= 0) {
            fail_msg("number %zu is %g", i, numbers[i]);
        }
    }
    assert_true(device->depth >= 1);
    assert_string_equal(device->name, "measured");
}

static void test_a_disk_is_measured_and_left_as_it_was(void **state)
{
    resplit_device device;
    int n_open = count_open_files();
    assert_works(resplit_device_measure(*state, &device, &err), err);
    assert_is_measured(&device);
    assert_int_equal(count_entries(*state), 0);
    assert_int_equal(count_open_files(), n_open);
}

static void test_memory_that_is_a_file_system_is_measured_too(void **state)
{
    resplit_device device;
    (void)state;
    if (access("/dev/shm", W_OK) != 0) {
        skip();
    }
    char folder[] = "/dev/shm/resplit-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_works(resplit_device_measure(folder, &device, &err), err);
    int n_left = count_entries(folder);
    remove_tree(folder);
    assert_is_measured(&device);
    assert_int_equal(n_left, 0);
}

static void test_what_cannot_be_measured_says_why(void **state)
{
    resplit_device device;
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/nowhere", (const char *)*state);
    assert_fails(resplit_device_measure(path, &device, &err), RESPLIT_EIO, err, "/nowhere'");
    assert_int_equal(err.sys_errno, ENOENT);
    assert_fails(resplit_device_measure("/proc", &device, &err), RESPLIT_EIO, err, "'/proc'");
    assert_fails(resplit_device_measure("", &device, &err), RESPLIT_EINVAL, err, "no folder");
    assert_true(device.depth == 1 && device.name[0] == '\0');
}

/* A disk that is full while the probe writes: the limit of a file's size fails the same way. */
static void test_a_full_disk_fails_and_leaves_nothing(void **state)
{
    resplit_device device;
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 4096;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    resplit_status rc = resplit_device_measure(*state, &device, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, RESPLIT_EIO);
    assert_int_equal(count_entries(*state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_disk_is_measured_and_left_as_it_was, make_folder, drop_folder),
        cmocka_unit_test(test_memory_that_is_a_file_system_is_measured_too),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_measured_says_why, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_a_full_disk_fails_and_leaves_nothing, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
