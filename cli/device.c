/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.c - measured devices, remembered:
 *
 *     {"resplit": 1, "devices": [{"id": "8:1", "mount": "/data", "measured": 1763200000, "latency": 9e-05, ...}]}
 *
 * The cache is a convenience: whatever is wrong with it, it is ignored and written anew.
 */
#include "device.h"

#include <errno.h>
#include <json.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { VERSION = 1, DAYS = 30, MOST_KEPT = 64 };

/* A file system: its number may be another's after a reboot, so the mount point belongs to it. */
struct place {
    char id[40];
    char folder[PATH_MAX]; /* an existing one on it */
    char mount[PATH_MAX];
};

static const struct {
    const char *key;
    size_t member;
} NUMBERS[] = {
#define AT(member) offsetof(resplit_device, member)
    {"latency", AT(latency)},
    {"depth", AT(depth)},
    {"read_bandwidth", AT(read_bandwidth)},
    {"write_bandwidth", AT(write_bandwidth)},
    {"both_bandwidth", AT(both_bandwidth)},
};

enum { N_NUMBERS = sizeof NUMBERS / sizeof NUMBERS[0] };

/* ---- Where ---------------------------------------------------------------------------------------------------- */

/* Cuts the last name off an absolute path; false at the root. */
static bool cut_name(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash || path[1] == '\0')
        return false;
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

/* The folder that `path` is in or will be in: the nearest one that exists. */
static bool find_folder(const char *path, char folder[PATH_MAX])
{
    char given[PATH_MAX];
    struct stat st;

    if (snprintf(given, sizeof given, "%s%s", path && path[0] == '/' ? "" : "./", path ? path : "") >= PATH_MAX)
        return false;
    while (stat(given, &st) != 0 || !S_ISDIR(st.st_mode)) {
        char *slash = strrchr(given, '/');
        if (!slash)
            return false;
        slash[slash == given ? 1 : 0] = '\0';
        if (slash == given)
            break;
    }
    return realpath(given, folder) != NULL;
}

static bool find_place(const char *path, struct place *out, resplit_error *err)
{
    struct stat here, above;

    if (!find_folder(path, out->folder) || stat(out->folder, &here) != 0)
        return cli_fail(err, RESPLIT_EIO, "--device measure: cannot find the folder of '%.200s'", path ? path : ".");
    snprintf(out->id, sizeof out->id, "%u:%u", major(here.st_dev), minor(here.st_dev));
    snprintf(out->mount, sizeof out->mount, "%s", out->folder);
    char parent[PATH_MAX];
    snprintf(parent, sizeof parent, "%s", out->folder);
    while (cut_name(parent) && stat(parent, &above) == 0 && above.st_dev == here.st_dev)
        snprintf(out->mount, sizeof out->mount, "%s", parent);
    return true;
}

/* ---- The cache ------------------------------------------------------------------------------------------------ */

/* The path of the cache, its folders made; false where there is no place for one. */
static bool cache_path(char path[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;

    if (cache && cache[0] == '/')
        n = snprintf(path, PATH_MAX, "%s/resplit/devices.json", cache);
    else if (home && home[0] == '/')
        n = snprintf(path, PATH_MAX, "%s/.cache/resplit/devices.json", home);
    if (n < 0 || n >= PATH_MAX - 8)
        return false;
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!ok)
            return false;
    }
    return true;
}

/* The list of remembered devices, or NULL. The root that owns it goes to *root. */
static json_object *read_cache(const char *path, json_object **root)
{
    json_object *version, *list;

    *root = json_object_from_file(path);
    if (*root && json_object_is_type(*root, json_type_object) && json_object_object_get_ex(*root, "resplit", &version)
        && json_object_get_int(version) == VERSION && json_object_object_get_ex(*root, "devices", &list)
        && json_object_is_type(list, json_type_array))
        return list;
    return NULL;
}

static bool is_text(json_object *entry, const char *key, const char *text)
{
    json_object *value;

    return json_object_object_get_ex(entry, key, &value) && json_object_is_type(value, json_type_string)
           && strcmp(json_object_get_string(value), text) == 0;
}

static bool is_place(json_object *entry, const struct place *place)
{
    return json_object_is_type(entry, json_type_object) && is_text(entry, "id", place->id)
           && is_text(entry, "mount", place->mount);
}

static bool is_fresh(json_object *entry)
{
    json_object *value;
    int64_t age;

    if (!json_object_is_type(entry, json_type_object) || !json_object_object_get_ex(entry, "measured", &value)
        || !json_object_is_type(value, json_type_int))
        return false;
    return !__builtin_sub_overflow((int64_t)time(NULL), json_object_get_int64(value), &age) && age >= 0
           && age < DAYS * INT64_C(86400);
}

/* The numbers of an entry, every one of them checked. */
static bool read_device(json_object *entry, resplit_device *out)
{
    *out = (resplit_device){.name = "measured"};
    for (int i = 0; i < N_NUMBERS; i++) {
        json_object *value;
        if (!json_object_object_get_ex(entry, NUMBERS[i].key, &value)
            || !(json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int)))
            return false;
        double number = json_object_get_double(value);
        if (!isfinite(number) || number <= 0)
            return false;
        memcpy((char *)out + NUMBERS[i].member, &number, sizeof number);
    }
    return true;
}

static bool recall(const char *path, const struct place *place, resplit_device *out)
{
    json_object *root, *list = read_cache(path, &root);
    bool found = false;

    for (size_t i = 0; list && !found && i < json_object_array_length(list); i++) {
        json_object *entry = json_object_array_get_idx(list, i);
        found = is_place(entry, place) && is_fresh(entry) && read_device(entry, out);
    }
    json_object_put(root);
    return found;
}

static json_object *entry_of(const struct place *place, const resplit_device *device)
{
    json_object *entry = json_object_new_object();

    json_object_object_add(entry, "id", json_object_new_string(place->id));
    json_object_object_add(entry, "mount", json_object_new_string(place->mount));
    json_object_object_add(entry, "measured", json_object_new_int64((int64_t)time(NULL)));
    for (int i = 0; i < N_NUMBERS; i++) {
        double number;
        memcpy(&number, (const char *)device + NUMBERS[i].member, sizeof number);
        json_object_object_add(entry, NUMBERS[i].key, json_object_new_double(number));
    }
    return entry;
}

/* Is an entry worth keeping? */
static bool is_whole(json_object *entry)
{
    resplit_device device;
    json_object *value;

    return is_fresh(entry) && json_object_object_get_ex(entry, "id", &value)
           && json_object_object_get_ex(entry, "mount", &value) && read_device(entry, &device);
}

/* Writes the cache anew: this device, and of the others those that are still fresh. */
static void remember(const char *path, const struct place *place, const resplit_device *device)
{
    json_object *old_root, *old = read_cache(path, &old_root);
    json_object *root = json_object_new_object(), *list = json_object_new_array();
    char part[PATH_MAX];

    json_object_object_add(root, "resplit", json_object_new_int(VERSION));
    json_object_object_add(root, "devices", list);
    json_object_array_add(list, entry_of(place, device));
    for (size_t i = 0; old && i < json_object_array_length(old) && i < MOST_KEPT; i++) {
        json_object *entry = json_object_array_get_idx(old, i);
        if (is_whole(entry) && !is_place(entry, place))
            json_object_array_add(list, json_object_get(entry));
    }
    int n = snprintf(part, sizeof part, "%s.XXXXXX", path);
    int fd = n < (int)sizeof part ? mkstemp(part) : -1;
    if (fd >= 0) {
        bool ok = json_object_to_fd(fd, root, JSON_C_TO_STRING_PRETTY) == 0;
        ok = close(fd) == 0 && ok;
        if (!ok || rename(part, path) != 0)
            (void)unlink(part);
    }
    json_object_put(root);
    json_object_put(old_root);
}

bool cli_device_find(const char *name, const char *path, resplit_device *out, resplit_error *err)
{
    struct place place;
    char cache[PATH_MAX];

    if (!name || strcmp(name, "measure") != 0)
        return resplit_device_find(name ? name : "ssd", out, err) == RESPLIT_OK;
    if (!find_place(path, &place, err))
        return false;
    bool has_cache = cache_path(cache);
    if (has_cache && recall(cache, &place, out))
        return true;
    if (resplit_device_measure(place.folder, out, err) != RESPLIT_OK)
        return false;
    if (has_cache)
        remember(cache, &place, out);
    return true;
}
