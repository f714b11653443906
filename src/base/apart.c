/* SPDX-License-Identifier: BSD-3-Clause */
/* apart.c - children: how they begin, what they may take, how they end. */
#include "base/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Of one step: more than any sound file needs, by far. Time that passes is not counted: a program may be suspended, a
   disk be slow. */
enum { PROCESSOR_SECONDS = 15 };
static const int64_t MEMORY = INT64_C(1) << 30, BYTES_A_SECOND = 4 << 20;

struct rs_child {
    pid_t pid, parent; /* a process that the parent forks has this too, but is not to end it */
    bool ended;        /* and was waited for */
    int how;           /* as waitpid tells; 0 also when nobody knows */
    const char *library;
    char *subject;
    pthread_mutex_t lock; /* of the wire */
    rs_wire wire;
};

/* ---- In the child ------------------------------------------------------------------------------ */

static bool is_apart; /* only ever set in a child */

bool rs_is_apart(void)
{
    return is_apart;
}

/* Private memory of the process, in bytes; -1: not known. It is the sixth number, in pages. */
static int64_t data_bytes(void)
{
    char line[256] = "", *at = line;
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    bool read = file != NULL && fgets(line, sizeof line, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    for (int i = 0; i < 6 && read; i++) {
        char *end = at;
        pages = strtoll(at, &end, 10);
        read = end != at;
        at = end;
    }
    return read ? pages * (int64_t)sysconf(_SC_PAGESIZE) : -1;
}

static void limit_memory(int64_t more)
{
    struct rlimit limit;
    int64_t now = data_bytes(), most;
    if (IS_SANITIZED || now < 0 || !rs_add(now, more, &most) || getrlimit(RLIMIT_DATA, &limit) != 0) {
        return;
    }
    limit.rlim_cur = limit.rlim_max < (rlim_t)most ? limit.rlim_max : (rlim_t)most;
    (void)setrlimit(RLIMIT_DATA, &limit);
}

static void limit_time(int64_t more)
{
    (void)setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = PROCESSOR_SECONDS + more}, NULL);
}

void rs_apart_go_on(int64_t work, int64_t memory)
{
    if (!is_apart) {
        return;
    }
    limit_time(work / BYTES_A_SECOND);
    if (memory > 0 && rs_add(memory, MEMORY, &memory)) {
        limit_memory(memory);
    }
}

/* What ends a child is to end it, whatever the program does with such signals. */
static void reset_signals(void)
{
    static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF};
    sigset_t some;
    (void)sigemptyset(&some);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)signal(ends[i], SIG_DFL);
        (void)sigaddset(&some, ends[i]);
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &some, NULL);
}

/* Of a program that it may outlast by a moment, a child that stays holds no pipes and locks. */
static void close_others(int fd)
{
#ifdef SYS_close_range
    if (fd > 3) {
        (void)syscall(SYS_close_range, 3U, (unsigned)fd - 1, 0);
    }
    (void)syscall(SYS_close_range, (unsigned)fd + 1, ~0U, 0);
#else
    (void)fd;
#endif
}

/* libc says on stderr why it ends a program, beside the sentence that the user gets. What we open is closed on exec: a
   file of ours that has this number, where the program has no stderr, is left alone. */
static void be_silent(void)
{
    int flags = fcntl(STDERR_FILENO, F_GETFD);
    if (IS_SANITIZED || flags < 0 || (flags & FD_CLOEXEC) != 0) {
        return;
    }
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO);
        (void)close(nowhere);
    }
}

static void settle(const rs_apart *task, pid_t parent, int fd)
{
    is_apart = true;
    reset_signals();
    be_silent();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    (void)prctl(PR_SET_DUMPABLE, 0); /* no core for those who collect them all, either */
    limit_memory(MEMORY);
    limit_time(0);
    if (task->answer != NULL) {
        close_others(fd);
    }
#ifdef M_PERTURB
    (void)mallopt(M_ARENA_MAX, 1);                     /* its threads call the library one at a time */
    (void)mallopt(M_PERTURB, task->writes ? 0 : 0xa5); /* what is used after it was freed is to show */
#endif
}

static _Noreturn void be_child(const rs_apart *task, pid_t parent, int fd)
{
    rs_wire *wire = malloc(sizeof *wire);
    resplit_error err = {0};
    settle(task, parent, fd);
    if (wire == NULL) {
        _exit(1);
    }
    *wire = (rs_wire){.fd = fd, .sends = true};
    resplit_status rc = task->work(task->payload, &err);
    rs_wire_put(wire, &rc, sizeof rc);
    if (rc != RESPLIT_OK) {
        rs_wire_put(wire, &err, sizeof err);
    } else if (task->pass != NULL) {
        task->pass(wire, task->payload);
    }
    rs_wire_flush(wire);
    if (rc == RESPLIT_OK && task->answer != NULL && !wire->broken) {
        (void)prctl(PR_SET_PDEATHSIG, 0); /* it would also come when the thread that has begun this one ends */
        task->answer(wire, task->payload);
    }
    _exit(0);
}

/* ---- In the parent ----------------------------------------------------------------------------- */

static void hang_up(rs_child *child)
{
    if (child->wire.fd >= 0) {
        (void)close(child->wire.fd);
    }
    child->wire.fd = -1;
}

/* It has ended, or will, now that nobody listens. Others may have waited for it, or nobody can: then there is no
   more to know. */
static void wait_for(rs_child *child)
{
    pid_t got;
    hang_up(child);
    if (child->ended || child->parent != getpid()) {
        return;
    }
    do {
        got = waitpid(child->pid, &child->how, 0);
    } while (got < 0 && errno == EINTR);
    child->how = got == child->pid ? child->how : 0;
    child->ended = true;
}

/* It did not say how it ended. */
static resplit_status died(rs_child *child, resplit_error *err)
{
    wait_for(child);
    int signal = WIFSIGNALED(child->how) ? WTERMSIG(child->how) : 0;
    if (child->wire.no_memory) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for what is known of '%s'", child->subject);
    }
    switch (signal) {
    case 0:
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' is damaged: %s fails on it, without a word", child->subject,
                       child->library);
    case SIGKILL:
        return rs_fail(err, RESPLIT_EIO, "the process that looks at '%s' was killed: is there too little memory?",
                       child->subject);
    case SIGPROF:
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' is damaged: %s comes to no end with it", child->subject,
                       child->library);
    default:
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' is damaged: %s fails on it, by signal %d", child->subject,
                       child->library, signal);
    }
}

static resplit_status receive(rs_child *child, const rs_apart *task, resplit_error *err)
{
    resplit_status rc = RESPLIT_OK;
    resplit_error why;
    rs_wire *wire = &child->wire;
    if (rs_wire_get(wire, &rc, sizeof rc) && rc != RESPLIT_OK) {
        return rs_wire_get(wire, &why, sizeof why) ? rs_fail_with(err, &why) : died(child, err);
    }
    if (task->pass != NULL) {
        task->pass(wire, task->payload);
    }
    return wire->broken ? died(child, err) : RESPLIT_OK;
}

static void free_child(rs_child *child)
{
    (void)pthread_mutex_destroy(&child->lock);
    hang_up(child);
    free(child->subject);
    free(child);
}

/* NULL: there is no memory. */
static rs_child *make_child(const rs_apart *task)
{
    rs_child *child = calloc(1, sizeof *child);
    char *subject = rs_strdup(task->subject);
    if (child == NULL || subject == NULL) {
        free(subject);
        free(child);
        return NULL;
    }
    child->subject = subject;
    child->library = task->library;
    child->parent = getpid();
    child->wire.fd = -1;
    (void)pthread_mutex_init(&child->lock, NULL);
    return child;
}

static resplit_status begin(const rs_apart *task, rs_child *child, resplit_error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return rs_fail_errno(err, errno, "cannot look at '%s' in a process of its own", task->subject);
    }
    (void)pthread_mutex_lock(task->lock);
    child->pid = fork();
    int why = errno;
    (void)pthread_mutex_unlock(task->lock);
    if (child->pid == 0) {
        (void)close(pair[0]);
        be_child(task, child->parent, pair[1]);
    }
    (void)close(pair[1]);
    child->wire.fd = pair[0];
    return child->pid > 0 ? RESPLIT_OK
                          : rs_fail_errno(err, why, "cannot look at '%s' in a process of its own", task->subject);
}

resplit_status rs_apart_run(const rs_apart *task, rs_child **out, resplit_error *err)
{
    if (out != NULL) {
        *out = NULL;
    }
    if (is_apart) {
        return task->work(task->payload, err);
    }
    rs_child *child = make_child(task);
    if (child == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a process that looks at '%s'", task->subject);
    }
    resplit_status rc = begin(task, child, err);
    if (rc != RESPLIT_OK) {
        free_child(child);
        return rc;
    }
    rc = receive(child, task, err);
    if (rc == RESPLIT_OK && out != NULL && task->answer != NULL) {
        *out = child;
        return rc;
    }
    wait_for(child);
    free_child(child);
    return rc;
}

resplit_status rs_child_ask(rs_child *child, const void *question, size_t n_question, void *answer, size_t n_answer,
                            resplit_error *err)
{
    resplit_error why;
    resplit_status rc = RESPLIT_OK;
    rs_wire *wire = &child->wire;
    (void)pthread_mutex_lock(&child->lock);
    rs_wire_put(wire, question, n_question);
    rs_wire_flush(wire);
    bool got = rs_wire_get(wire, &rc, sizeof rc);
    if (got && rc == RESPLIT_OK) {
        got = rs_wire_get(wire, answer, n_answer);
    } else if (got) {
        got = rs_wire_get(wire, &why, sizeof why);
    }
    if (!got) {
        rc = died(child, err);
    } else if (rc != RESPLIT_OK) {
        (void)rs_fail_with(err, &why);
    }
    (void)pthread_mutex_unlock(&child->lock);
    return rc;
}

/* A process of this number is killed only where it is certain that it is still ours. */
void rs_child_end(rs_child *child)
{
    if (child == NULL) {
        return;
    }
    if (!child->ended && child->parent == getpid() && waitpid(child->pid, &child->how, WNOHANG) == 0) {
        (void)kill(child->pid, SIGKILL);
        wait_for(child);
    }
    free_child(child);
}
