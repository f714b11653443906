/* SPDX-License-Identifier: BSD-3-Clause */
/* error.c - one code and one sentence. Whoever detects a failure writes the sentence; whoever passes it
   on adds nothing. */
#include "base/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say(resplit_error *err, resplit_status code, int sys_errno, const char *format, va_list args)
{
    if (err == NULL) {
        return;
    }
    err->code = code;
    err->sys_errno = sys_errno;
    err->needed_bytes = 0;
    err->resumable = false;
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    if (sys_errno != 0) {
        size_t n = strlen(err->message);
        (void)snprintf(err->message + n, sizeof err->message - n, ": %s", strerror(sys_errno));
    }
}

resplit_status rs_fail(resplit_error *err, resplit_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(err, code, 0, format, args);
    va_end(args);
    return code;
}

resplit_status rs_fail_errno(resplit_error *err, int sys_errno, const char *format, ...)
{
    resplit_status code = sys_errno == ENOMEM ? RESPLIT_ENOMEM : RESPLIT_EIO;
    va_list args;
    va_start(args, format);
    say(err, code, sys_errno, format, args);
    va_end(args);
    return code;
}

resplit_status rs_fail_with(resplit_error *err, const resplit_error *why)
{
    if (err != NULL) {
        *err = *why;
    }
    return why->code;
}

const char *resplit_status_name(resplit_status status)
{
    static const char *const names[] = {"OK",           "EINVAL", "ENOMEM",  "EBUDGET",   "EFORMAT",
                                        "EUNSUPPORTED", "EIO",    "EEXISTS", "ECANCELED", "EINTERNAL"};
    size_t i = (size_t)status;
    return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}
