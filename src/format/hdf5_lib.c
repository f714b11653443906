/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_lib.c - libhdf5: one thread at a time, nothing printed, failures as sentences. And which dataset of a
   file is meant. */
#include "format/hdf5.h"

#include "format/hdf5_array.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { REASON = 160 }; /* bytes of what libhdf5 says */

/* Not every build of libhdf5 can be called by several threads, and none gets faster by it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Nobody is inside of libhdf5 when the processes part: its tables are sound in both. */
resplit_status rs_hdf5_apart(rs_apart task, rs_child **child, resplit_error *err)
{
    task.library = "libhdf5";
    task.lock = &lock;
    return rs_apart_run(&task, child, err);
}

resplit_status rs_hdf5_enter(rs_hdf5_session *session, resplit_error *err)
{
    *session = (rs_hdf5_session){0};
    (void)pthread_mutex_lock(&lock);
    resplit_status rc = rs_hdf5_load(err);
    if (rc != RESPLIT_OK) {
        (void)pthread_mutex_unlock(&lock);
        return rc;
    }
    (void)H5open();
    (void)H5Eget_auto2(H5E_DEFAULT, &session->print, &session->payload);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void)H5PLget_loading_state(&session->plugins);
    (void)H5PLset_loading_state(0);
    return RESPLIT_OK;
}

void rs_hdf5_leave(rs_hdf5_session *session)
{
    (void)H5Eclear2(H5E_DEFAULT);
    (void)H5PLset_loading_state(session->plugins);
    (void)H5Eset_auto2(H5E_DEFAULT, session->print, session->payload);
    (void)pthread_mutex_unlock(&lock);
}

/* The innermost comes first. */
static herr_t take_first(unsigned n, const H5E_error2_t *error, void *payload)
{
    char *text = payload;
    if (n == 0 && error->desc != NULL) {
        (void)snprintf(text, REASON, ": %.150s", error->desc);
    }
    return 0;
}

/* What libhdf5 says is wrong, after a colon; nothing when it says nothing. */
static void take_reason(char why[REASON])
{
    why[0] = '\0';
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, why);
    (void)H5Eclear2(H5E_DEFAULT);
}

resplit_status rs_hdf5_fail(resplit_error *err, resplit_status code, const char *format, ...)
{
    char text[sizeof err->message], why[REASON];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    take_reason(why);
    return rs_fail(err, code, "%.800s%s", text, why);
}

/* Every call forgets what the one before had to say; this one is made between a failure and its sentence. */
void rs_hdf5_close(hid_t id)
{
    if (id >= 0) {
        hid_t said = H5Eget_current_stack();
        (void)H5Idec_ref(id);
        (void)H5Eset_current_stack(said);
    }
}

/* The number that stands after these words. */
static bool find_number(const char *text, const char *words, unsigned long long *out)
{
    const char *at = strstr(text, words);
    char *end = NULL;
    *out = at != NULL ? strtoull(at + strlen(words), &end, 10) : 0;
    return at != NULL && end != at + strlen(words);
}

static resplit_status cannot_open(const char *path, resplit_error *err)
{
    char why[REASON];
    unsigned long long has, base, wants;
    take_reason(why);
    bool truncated = strncmp(why, ": truncated file: ", 18) == 0 && find_number(why, " eof = ", &has)
                     && find_number(why, "base_addr = ", &base) && find_number(why, "stored_eof = ", &wants);
    return truncated ? rs_fail(err, RESPLIT_EFORMAT, "'%s' is truncated: it has %llu bytes, and says that it has %llu",
                               path, has + base, wants)
                     : rs_fail(err, RESPLIT_EFORMAT, "cannot open '%s' as HDF5%s", path, why);
}

static resplit_status open_file(const rs_hdf5_io *io, const char *path, hid_t *out, resplit_error *err)
{
    struct stat st;
    if (!rs_is_apart()) {
        return rs_fail(err, RESPLIT_EINTERNAL, "'%s' would be opened where libhdf5 must not crash", path);
    }
    hid_t access = rs_hdf5_access(io, false);
    bool there = io->has_fd ? fstat(io->fd, &st) == 0 : stat(path, &st) == 0;
    rs_apart_go_on(there ? (int64_t)st.st_size : 0, 0);
    *out = access >= 0 ? H5Fopen(path, H5F_ACC_RDONLY, access) : -1;
    rs_hdf5_close(access);
    return *out >= 0 ? RESPLIT_OK : cannot_open(path, err);
}

resplit_status rs_hdf5_open_file(const char *path, hid_t *out, resplit_error *err)
{
    rs_hdf5_io io = {.floor = 0};
    return open_file(&io, path, out, err);
}

resplit_status rs_hdf5_open_descriptor(int fd, const char *path, hid_t *out, resplit_error *err)
{
    rs_hdf5_io io = {.has_fd = true, .fd = fd};
    return open_file(&io, path, out, err);
}

bool rs_hdf5_look(hid_t place, const char *name, H5O_type_t *type, uint64_t *address, unsigned *n_links)
{
#if H5_VERSION_GE(1, 12, 0)
    H5O_info1_t info;
#else
    H5O_info_t info;
#endif
    if (H5Oget_info_by_name2(place, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
        return false;
    }
    *type = info.type;
    *address = (uint64_t)info.addr;
    *n_links = info.rc;
    return true;
}

/* ---- Which dataset --------------------------------------------------------------------------- */

typedef struct search {
    int n, n_scales;
    char *first;     /* that is no scale */
    char *any;       /* the first of all */
    char names[400]; /* of some */
} search;

/* A dimension scale belongs to another dataset. */
static bool is_scale(hid_t file, const char *name)
{
    char class[32] = "";
    bool found = false;
    if (H5Aexists_by_name(file, name, "CLASS", H5P_DEFAULT) <= 0) {
        return false;
    }
    hid_t attribute = H5Aopen_by_name(file, name, "CLASS", H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0
        && H5Tget_size(type) < sizeof class && H5Aget_storage_size(attribute) < sizeof class) {
        found = H5Aread(attribute, type, class) >= 0 && strncmp(class, "DIMENSION_SCALE", 15) == 0;
    }
    rs_hdf5_close(type);
    rs_hdf5_close(attribute);
    return found;
}

static char *absolute(const char *name)
{
    size_t n = strlen(name) + 2;
    char *out = malloc(n);
    if (out != NULL) {
        (void)snprintf(out, n, "%s%s", name[0] == '/' ? "" : "/", name);
    }
    return out;
}

static herr_t count_dataset(hid_t file, const char *name, const rs_hdf5_link *info, void *payload)
{
    search *s = payload;
    H5O_type_t type;
    uint64_t address;
    unsigned n_links;
    if (info->type != H5L_TYPE_HARD || !rs_hdf5_look(file, name, &type, &address, &n_links)
        || type != H5O_TYPE_DATASET) {
        return 0;
    }
    if (s->any == NULL && (s->any = absolute(name)) == NULL) {
        return -1;
    }
    if (is_scale(file, name)) {
        s->n_scales++;
        return 0;
    }
    if (s->first == NULL && (s->first = absolute(name)) == NULL) {
        return -1;
    }
    size_t used = strlen(s->names);
    (void)snprintf(s->names + used, sizeof s->names - used, "%s/%s", used > 0 ? ", " : "", name);
    s->n++;
    return 0;
}

/* All links; of groups that are linked in a circle each once. */
static resplit_status search_file(hid_t file, const char *path, search *s, resplit_error *err)
{
    herr_t rc = rs_hdf5_visit_links(file, H5_INDEX_NAME, H5_ITER_INC, count_dataset, s);
    return rc >= 0 ? RESPLIT_OK : rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot list what is in '%s'", path);
}

static resplit_status choose(search *s, const char *path, char **found, resplit_error *err)
{
    if (s->n > 1) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has %d datasets: give one of them, as %s:%s; there are %s%s", path,
                       s->n, path, s->first, s->names, strlen(s->names) + 1 >= sizeof s->names ? "..." : "");
    }
    if (s->n == 0 && s->n_scales != 1) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has no dataset%s", path,
                       s->n_scales > 0 ? " but dimension scales: give one of them by its name" : "");
    }
    char **which = s->n == 1 ? &s->first : &s->any;
    *found = *which;
    *which = NULL;
    return RESPLIT_OK;
}

resplit_status rs_hdf5_find(hid_t file, const char *path, const char *name, char **found, resplit_error *err)
{
    search s = {0};
    H5O_type_t type;
    uint64_t address;
    unsigned n_links;
    *found = NULL;
    if (name != NULL) {
        *found = absolute(name);
        if (*found == NULL) {
            return rs_fail(err, RESPLIT_ENOMEM, "no memory for the name of a dataset");
        }
        if (rs_hdf5_look(file, *found, &type, &address, &n_links) && type == H5O_TYPE_DATASET) {
            return RESPLIT_OK;
        }
    }
    resplit_status rc = search_file(file, path, &s, err);
    if (rc == RESPLIT_OK && name != NULL) {
        rc = rs_fail(err, RESPLIT_EINVAL, "'%s' has no dataset '%s'; there are %s", path, name,
                     s.n > 0 ? s.names : "none");
    } else if (rc == RESPLIT_OK) {
        rc = choose(&s, path, found, err);
    }
    free(s.first);
    free(s.any);
    return rc;
}
