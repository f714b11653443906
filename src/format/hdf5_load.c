/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_load.c - finds libhdf5 and what we call in it. */
#define RS_HDF5_LOADING
#include "format/hdf5_calls.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

rs_hdf5_calls rs_h5;

#define ENTRY(name) {#name, offsetof(rs_hdf5_calls, name)},
static const struct {
    const char *name;
    size_t at;
} symbols[] = {RS_HDF5_CALLS(ENTRY) RS_HDF5_IDS(ENTRY)};

/* As the build found it, else as others call the same. */
static void *open_library(void)
{
    static const char *const names[] = {RESPLIT_HDF5_SONAME, "libhdf5_serial.so", "libhdf5.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* What headers say of structures holds for versions that differ in the last number only. */
static resplit_status check_version(resplit_error *err)
{
    unsigned major = 0, minor = 0, release = 0;
    bool same =
        rs_h5.H5get_libversion(&major, &minor, &release) >= 0 && major == H5_VERS_MAJOR && minor == H5_VERS_MINOR;
    return same ? RESPLIT_OK
                : rs_fail(err, RESPLIT_EUNSUPPORTED, "libhdf5 here is version %u.%u.%u, but this was built for %d.%d",
                          major, minor, release, H5_VERS_MAJOR, H5_VERS_MINOR);
}

/* Never unloaded: others may have it, too. */
resplit_status rs_hdf5_load(resplit_error *err)
{
    static bool loaded;
    if (loaded) {
        return RESPLIT_OK;
    }
    void *library = open_library();
    if (library == NULL) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "HDF5 files need libhdf5, and there is no %s here: install it",
                       RESPLIT_HDF5_SONAME);
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (found == NULL) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "libhdf5 here has no %s: it is older than what this was built for", symbols[i].name);
        }
        memcpy((char *)&rs_h5 + symbols[i].at, &found, sizeof found); /* of a function, too: POSIX has it so */
    }
    /* before all else: at exit it complains, loudly, of what it could not close itself after a damaged file */
    (void)rs_h5.H5dont_atexit();
    RS_TRY(check_version(err));
    loaded = true;
    return RESPLIT_OK;
}
