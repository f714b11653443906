/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.c - measured devices, remembered. A file of lines that is JSON too, for whoever else reads it:
 *
 *     { "resplit": 1, "devices": [
 *     { "id": "8:1", "mount": "/data", "measured": 1763200000, "latency": 9e-05, ... },
 *     { "id": "8:2", ... }
 *     ] }
 *
 * We read only lines as we write them. The cache is a convenience: whatever is wrong with it, it is ignored and written
 * anew.
 */
#include "device.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "jsonout.h"

enum {
    DAYS = 30,
    MOST_KEPT = 64,
    MOST_LINE = 6 * PATH_MAX + 1024, /* bytes; a character of a path may take six */
};

static const char FIRST_LINE[] = "{ \"resplit\": 1, \"devices\": [\n"; /* 1 is the version */
static const char LAST_LINE[] = "] }\n";

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

/* The cache, its first line read; NULL: none, or another version. */
static FILE *open_cache(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[sizeof FIRST_LINE];

    if (file && (!fgets(line, sizeof line, file) || strcmp(line, FIRST_LINE) != 0)) {
        (void)fclose(file);
        file = NULL;
    }
    return file;
}

/* ---- Lines ---- */

/* Past a text, if it is what comes next. */
static bool skip_word(const char **at, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

/* Past a string, whatever is in it. */
static bool skip_string(const char **at)
{
    if (!skip_word(at, "\""))
        return false;
    while (**at && **at != '"')
        *at += **at == '\\' && (*at)[1] ? 2 : 1;
    return skip_word(at, "\"");
}

/* Past , "key": */
static bool skip_key(const char **at, const char *key)
{
    return skip_word(at, ", \"") && skip_word(at, key) && skip_word(at, "\": ");
}

/* A number that is finite and above 0. */
static bool read_number(const char **at, double *out)
{
    char *end;

    *out = strtod(*at, &end);
    bool ok = end != *at && isfinite(*out) && *out > 0;
    *at = end;
    return ok;
}

static bool is_fresh(double measured)
{
    double age = (double)time(NULL) - measured;

    return age >= 0 && age < DAYS * 86400.0;
}

/* A device, if the line is whole and not too old. */
static bool read_line(const char *line, resplit_device *out)
{
    const char *at = line;
    double measured;

    *out = (resplit_device){.name = "measured"};
    if (!skip_word(&at, "{ \"id\": ") || !skip_string(&at) || !skip_key(&at, "mount") || !skip_string(&at)
        || !skip_key(&at, "measured") || !read_number(&at, &measured) || !is_fresh(measured))
        return false;
    for (int i = 0; i < N_NUMBERS; i++) {
        double number;
        if (!skip_key(&at, NUMBERS[i].key) || !read_number(&at, &number))
            return false;
        memcpy((char *)out + NUMBERS[i].member, &number, sizeof number);
    }
    return skip_word(&at, " }") && (strcmp(at, ",\n") == 0 || strcmp(at, "\n") == 0);
}

/* What a line of this place begins with. */
static void begin_line(struct cli_out *out, const struct place *place)
{
    cli_out_open(out, NULL, '{');
    cli_out_text(out, "id", place->id);
    cli_out_text(out, "mount", place->mount);
}

static bool is_of(const char *line, const struct cli_out *begun)
{
    return strncmp(line, begun->text, begun->n) == 0;
}

/* ---- All of it ---- */

static bool recall(const char *path, const struct place *place, resplit_device *out)
{
    FILE *file = open_cache(path);
    struct cli_out begun = {0};
    char line[MOST_LINE];
    bool found = false;

    begin_line(&begun, place);
    while (file && !begun.failed && !found && fgets(line, sizeof line, file))
        found = is_of(line, &begun) && read_line(line, out);
    cli_out_release(&begun);
    if (file)
        (void)fclose(file);
    return found;
}

/* Of the other places, those that are still fresh. */
static void copy_others(FILE *from, const struct cli_out *begun, FILE *to)
{
    char line[MOST_LINE];
    resplit_device device;
    int n = 0;

    while (n < MOST_KEPT && fgets(line, sizeof line, from)) {
        if (!read_line(line, &device) || is_of(line, begun))
            continue;
        line[strcspn(line, "\n") - (strstr(line, "},\n") ? 1 : 0)] = '\0';
        fprintf(to, ",\n%s", line);
        n++;
    }
}

/* Writes the cache: this device first. False: it is not whole. */
static bool write_cache(FILE *to, FILE *old, const struct place *place, const resplit_device *device)
{
    struct cli_out out = {0}, begun = {0};

    begin_line(&begun, place);
    begin_line(&out, place);
    cli_out_integer(&out, "measured", (int64_t)time(NULL));
    for (int i = 0; i < N_NUMBERS; i++) {
        double number;
        char text[40];
        memcpy(&number, (const char *)device + NUMBERS[i].member, sizeof number);
        snprintf(text, sizeof text, "%.17g", number);
        cli_out_raw(&out, NUMBERS[i].key, text);
    }
    cli_out_close(&out, '}');
    bool ok = !out.failed && !begun.failed;
    if (ok) {
        fprintf(to, "%s%s", FIRST_LINE, out.text);
        if (old)
            copy_others(old, &begun, to);
        fprintf(to, "\n%s", LAST_LINE);
    }
    cli_out_release(&out);
    cli_out_release(&begun);
    return ok && !ferror(to);
}

/* Writes the cache anew, beside the old one, whose place it takes. */
static void remember(const char *path, const struct place *place, const resplit_device *device)
{
    char part[PATH_MAX];
    int n = snprintf(part, sizeof part, "%s.XXXXXX", path);
    int fd = n < (int)sizeof part ? mkstemp(part) : -1;
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL, *old = to ? open_cache(path) : NULL;
    bool ok = to && write_cache(to, old, place, device);

    if (old)
        (void)fclose(old);
    if (to)
        ok = fclose(to) == 0 && ok;
    else if (fd >= 0)
        (void)close(fd);
    if (fd >= 0 && (!ok || rename(part, path) != 0))
        (void)unlink(part);
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
