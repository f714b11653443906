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

/* ---- Thoroughly ---------------------------------------------------------------------------- */

enum { MIB = 1 << 20 };

static void assert_is_disk(const resplit_disk *disk, int64_t bytes)
{
    const double numbers[] = {disk->write_seconds, disk->read_seconds, disk->both_seconds, disk->random_latency,
                              disk->random_rate};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (!isfinite(numbers[i]) || numbers[i] <= 0) {
            fail_msg("number %zu is %g", i, numbers[i]);
        }
    }
    assert_int_equal(disk->bytes, bytes);
    assert_true(disk->random_depth >= 1 && disk->random_depth <= 64);
    /* The best depth is no worse than depth 1. */
    assert_true(disk->random_rate * disk->random_latency >= 1 - 1e-9);
}

static void measure_disk(const char *folder)
{
    /* Rounded up to whole MiB; one piece, more pieces than streams, and a number that is not even. */
    const struct {
        int64_t asked, got;
    } sizes[] = {{1, MIB}, {MIB, MIB}, {2 * MIB + 1, 3 * MIB}, {17 * MIB, 17 * MIB}};
    int n_open = count_open_files();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        resplit_disk disk;
        assert_works(resplit_disk_measure(folder, sizes[i].asked, &disk, &err), err);
        assert_is_disk(&disk, sizes[i].got);
        assert_int_equal(count_entries(folder), 0);
        assert_int_equal(count_open_files(), n_open);
    }
}

static void test_a_disk_is_measured_thoroughly_and_left_as_it_was(void **state)
{
    measure_disk(*state);
}

static void test_memory_is_measured_thoroughly_too(void **state)
{
    (void)state;
    if (access("/dev/shm", W_OK) != 0) {
        skip();
    }
    char folder[] = "/dev/shm/resplit-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    measure_disk(folder);
    remove_tree(folder);
}

static void test_a_disk_that_cannot_be_measured_says_why(void **state)
{
    resplit_disk disk;
    const char *file = in(*state, "file");
    write_text(file, "no folder");
    assert_fails(resplit_disk_measure(in(*state, "nowhere"), MIB, &disk, &err), RESPLIT_EIO, err, "/nowhere'");
    assert_int_equal(err.sys_errno, ENOENT);
    assert_fails(resplit_disk_measure(file, MIB, &disk, &err), RESPLIT_EIO, err, "/file'");
    assert_int_equal(err.sys_errno, ENOTDIR);
    assert_fails(resplit_disk_measure("/proc", MIB, &disk, &err), RESPLIT_EIO, err, "'/proc'");
    assert_fails(resplit_disk_measure("", MIB, &disk, &err), RESPLIT_EINVAL, err, "no folder");
    assert_fails(resplit_disk_measure(NULL, MIB, &disk, &err), RESPLIT_EINVAL, err, "no folder");
    assert_fails(resplit_disk_measure(*state, -1, &disk, &err), RESPLIT_EINVAL, err, "-1 bytes");
    assert_fails(resplit_disk_measure(*state, INT64_MAX, &disk, &err), RESPLIT_EINVAL, err, "9223372036854775807");
    assert_true(disk.bytes == 0 && disk.write_seconds == 0);
}

/* More than any disk has: refused before anything is written, with what is needed and what there is. */
static void test_too_little_space_is_told_in_numbers(void **state)
{
    resplit_disk disk;
    int64_t bytes = INT64_C(1) << 60;
    assert_fails(resplit_disk_measure(*state, bytes, &disk, &err), RESPLIT_EIO, err,
                 "two temporary files of 1152921504606846976 bytes need 2305843009213693952 bytes, but only ");
    assert_non_null(strstr(err.message, "are free in '"));
    assert_int_equal(count_entries(*state), 0);
}

static void test_a_disk_that_is_full_when_measured_thoroughly_is_left_as_it_was(void **state)
{
    resplit_disk disk;
    struct rlimit old, small;
    int n_open = count_open_files();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 2 * MIB;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    resplit_status rc = resplit_disk_measure(*state, 16 * MIB, &disk, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, RESPLIT_EIO);
    assert_non_null(strstr(err.message, "16777216 bytes"));
    assert_int_equal(count_entries(*state), 0);
    assert_int_equal(count_open_files(), n_open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_disk_is_measured_and_left_as_it_was, make_folder, drop_folder),
        cmocka_unit_test(test_memory_that_is_a_file_system_is_measured_too),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_measured_says_why, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_a_full_disk_fails_and_leaves_nothing, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_a_disk_is_measured_thoroughly_and_left_as_it_was, make_folder,
                                        drop_folder),
        cmocka_unit_test(test_memory_is_measured_thoroughly_too),
        cmocka_unit_test_setup_teardown(test_a_disk_that_cannot_be_measured_says_why, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_too_little_space_is_told_in_numbers, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_a_disk_that_is_full_when_measured_thoroughly_is_left_as_it_was,
                                        make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
