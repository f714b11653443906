/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.c - draws on stderr, only on a terminal, ten times a second at most. It never decides anything but "the
 * user asked to stop".
 */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "report.h"

#define REDRAW_SECONDS 0.1
#define LINE_MAX_CHARS 160

/* A handler can reach nothing else. */
static volatile sig_atomic_t stop_requested;

static void on_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

double cli_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void cli_progress_begin(struct cli_progress *progress, bool is_wanted)
{
    /* RESETHAND: whoever asks twice means it. The library leaves nothing that looks finished even then. */
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    *progress = (struct cli_progress){.visible = is_wanted && isatty(STDERR_FILENO), .start = cli_now()};
}

static int terminal_width(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        return size.ws_col;
    return 80;
}

/* "0:07", "1:02:03". Nothing sensible takes a thousand hours; what claims to is shown as unknown. */
static void format_duration(double seconds, char *out, size_t size)
{
    if (!(seconds >= 0 && seconds < 3.6e6)) {
        snprintf(out, size, "-:--");
        return;
    }
    long s = (long)(seconds + 0.5);
    if (s >= 3600)
        snprintf(out, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%ld:%02ld", s / 60, s % 60);
}

/* " 43% [########            ] 612 MB/s, ETA 0:12, memory 311 MiB" */
static int format_line(char *line, size_t size, double fraction, double rate, double eta, int64_t memory)
{
    char tail[80], memory_text[CLI_BYTES_TEXT], eta_text[32], bar[LINE_MAX_CHARS];
    int room = terminal_width() - 1;

    cli_format_bytes(memory, memory_text);
    format_duration(eta, eta_text, sizeof eta_text);
    int n_tail = snprintf(tail, sizeof tail, "%.0f MB/s, ETA %s, memory %s", rate / 1e6, eta_text, memory_text);
    if (room >= (int)size)
        room = (int)size - 1;
    int n_bar = room - n_tail - 9;
    if (n_bar < 4)
        return snprintf(line, (size_t)room + 1, "%3.0f%% %s", 100 * fraction, tail);
    if (n_bar > 40)
        n_bar = 40;
    for (int i = 0; i < n_bar; i++)
        bar[i] = (i + 1) <= fraction * n_bar + 1e-9 ? '#' : ' ';
    return snprintf(line, size, "%3.0f%% [%.*s] %s", 100 * fraction, n_bar, bar, tail);
}

static void draw(struct cli_progress *progress, int64_t done, int64_t total, int64_t memory)
{
    char line[LINE_MAX_CHARS];
    double elapsed = cli_now() - progress->start;
    double fraction = total > 0 ? (double)done / (double)total : 1;
    double rate = elapsed > 0 ? (double)done / elapsed : 0;
    double eta = done > 0 ? elapsed / fraction - elapsed : -1;

    format_line(line, sizeof line, fraction, rate, eta, memory);
    /* Padded with blanks: the line before may have been longer, and not every terminal knows "erase". */
    fprintf(stderr, "\r%-*s", progress->n_drawn, line);
    fflush(stderr);
    int n = 0;
    while (line[n])
        n++;
    progress->n_drawn = n;
}

int cli_progress_step(int64_t done_bytes, int64_t total_bytes, int64_t memory_in_use, void *payload)
{
    struct cli_progress *progress = payload;

    if (progress->visible) {
        double now = cli_now();
        bool is_last = done_bytes >= total_bytes;

        if (progress->n_drawn == 0 || is_last || now - progress->last_drawn >= REDRAW_SECONDS) {
            draw(progress, done_bytes, total_bytes, memory_in_use);
            progress->last_drawn = now;
        }
    }
    return stop_requested;
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->n_drawn > 0) {
        fprintf(stderr, "\r%*s\r", progress->n_drawn, "");
        fflush(stderr);
    }
    progress->n_drawn = 0;
}
