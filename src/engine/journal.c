/* SPDX-License-Identifier: BSD-3-Clause */
/* journal.c - a header and records of fixed size, each with a checksum. */
#include "engine/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME RS_JOURNAL_NAME
#define NEW_NAME RS_JOURNAL_NEW
#define MAGIC UINT64_C(0x316c6e6a6c707372) /* "rspljnl1" */

enum {
    NOTE_MS = 20,    /* between records, so that a million tiny blocks do not make a million */
    SYNC_MS = 30000, /* between two times that data is brought to disk while a run is under way */
    BOOT_BYTES = 40, /* of a boot's name */
};

typedef struct header {
    uint64_t magic;
    rs_job_id id;
    char boot[BOOT_BYTES];
    uint64_t check;
} header;

typedef struct record {
    int64_t buffer, block;
    uint64_t fingerprint;
    uint64_t on_disk;
    uint64_t check;
} record;

uint64_t rs_check_of(const void *bytes, size_t n, uint64_t seed)
{
    uint64_t hash = rs_mix(seed, (int64_t)n);
    for (size_t i = 0; i + 8 <= n; i += 8) {
        int64_t word;
        memcpy(&word, (const char *)bytes + i, sizeof word);
        hash = rs_mix(hash, word);
    }
    return hash;
}

static uint64_t check_header(const header *h)
{
    return rs_check_of(h, offsetof(header, check), MAGIC);
}

static uint64_t check_record(const record *r, const header *h)
{
    return rs_check_of(r, offsetof(record, check), h->check);
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The name of this boot of the system; empty where it has none, and then no two are the same. */
static void find_boot(char boot[BOOT_BYTES])
{
    const char *told = getenv("RESPLIT_BOOT_ID"); /* for tests: another boot without one */
    memset(boot, 0, BOOT_BYTES);
    if (told != NULL) {
        (void)snprintf(boot, BOOT_BYTES, "%s", told);
        return;
    }
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, boot, BOOT_BYTES - 1);
        boot[n > 0 ? n : 0] = '\0';
        (void)close(fd);
    }
}

/* ---- Writing --------------------------------------------------------------------------------- */

static resplit_status sync_data(const rs_journal *journal, resplit_error *err)
{
#ifdef __linux__
    int failed = syncfs(journal->folder);
#else
    int failed = 0;
    sync();
#endif
    return failed == 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot bring what was written to disk");
}

static resplit_status sync_journal(const rs_journal *journal, resplit_error *err)
{
    return fdatasync(journal->fd) == 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot bring the journal to disk");
}

static resplit_status add_record(rs_journal *journal, const rs_progress *progress, bool on_disk, resplit_error *err)
{
    record r = {.buffer = progress->now.buffer,
                .block = progress->now.block,
                .fingerprint = progress->fingerprint,
                .on_disk = on_disk};
    r.check = check_record(&r, &(header){.check = journal->check});
    RS_TRY(rs_file_write(journal->fd, NAME, &r, sizeof r, journal->at, err));
    journal->at += (int64_t)sizeof r;
    journal->noted_ms = now_ms();
    journal->noted = progress->now;
    return on_disk && journal->sync != RS_SYNC_NONE ? sync_journal(journal, err) : RESPLIT_OK;
}

static resplit_status write_new(rs_journal *journal, const rs_job_id *id, const rs_progress *done, bool on_disk,
                                resplit_error *err)
{
    header h = {.magic = MAGIC, .id = *id};
    find_boot(h.boot);
    h.check = check_header(&h);
    journal->check = h.check;
    journal->fd = openat(journal->folder, NEW_NAME, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (journal->fd < 0) {
        return rs_fail_errno(err, errno, "cannot make a journal");
    }
    RS_TRY(rs_file_write(journal->fd, NAME, &h, sizeof h, 0, err));
    journal->at = (int64_t)sizeof h;
    if (done->now.buffer > 0 || done->now.block > 0) {
        RS_TRY(add_record(journal, done, on_disk, err));
    }
    if (journal->sync != RS_SYNC_NONE) {
        RS_TRY(sync_journal(journal, err));
    }
    if (renameat(journal->folder, NEW_NAME, journal->folder, NAME) != 0) {
        return rs_fail_errno(err, errno, "cannot rename a journal");
    }
    return RESPLIT_OK;
}

resplit_status rs_journal_begin(rs_journal *journal, int folder, rs_sync sync, const rs_job_id *id,
                                const rs_progress *done, bool on_disk, resplit_error *err)
{
    *journal = (rs_journal){.fd = -1, .folder = folder, .sync = sync};
    journal->synced_ms = journal->noted_ms = now_ms();
    resplit_status rc = write_new(journal, id, done, on_disk, err);
    if (rc != RESPLIT_OK) {
        rs_journal_end(journal);
    }
    return rc;
}

void rs_journal_end(rs_journal *journal)
{
    if (journal->fd >= 0) {
        (void)close(journal->fd);
    }
    journal->fd = -1;
}

bool rs_journal_claim(rs_journal *journal, rs_time now)
{
    if (journal->busy || !rs_time_before(journal->noted, now)
        || (journal->sync != RS_SYNC_EACH && now_ms() - journal->noted_ms < NOTE_MS)) {
        return false;
    }
    journal->busy = true;
    return true;
}

void rs_journal_unclaim(rs_journal *journal)
{
    journal->busy = false;
}

/* What is done was handed to the system before; brought to disk now, it may be said to be there. */
resplit_status rs_journal_note(rs_journal *journal, const rs_progress *progress, resplit_error *err)
{
    bool each = journal->sync == RS_SYNC_EACH;
    bool due = each || (journal->sync == RS_SYNC_END && now_ms() - journal->synced_ms >= SYNC_MS);
    if (due) {
        RS_TRY(sync_data(journal, err));
        journal->synced_ms = now_ms();
    }
    return add_record(journal, progress, due, err);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* False at the end, and where bytes are missing or cannot be read. */
static bool read_at(int fd, void *bytes, size_t n, int64_t at)
{
    return pread(fd, bytes, n, at) == (ssize_t)n;
}

static bool read_records(int fd, rs_job_id *id, rs_progress *done, bool *on_disk)
{
    header h;
    record r;
    char boot[BOOT_BYTES];
    if (!read_at(fd, &h, sizeof h, 0) || h.magic != MAGIC || h.check != check_header(&h)) {
        return false;
    }
    find_boot(boot);
    bool same_boot = boot[0] != '\0' && memcmp(boot, h.boot, BOOT_BYTES) == 0;
    *id = h.id;
    for (int64_t at = (int64_t)sizeof h; read_at(fd, &r, sizeof r, at) && r.check == check_record(&r, &h);
         at += (int64_t)sizeof r) {
        if (same_boot || r.on_disk != 0) {
            *done = (rs_progress){{r.buffer, r.block}, r.fingerprint};
            *on_disk = r.on_disk != 0;
        }
    }
    return true;
}

resplit_status rs_journal_read(int folder, rs_job_id *id, rs_progress *done, bool *on_disk, bool *found,
                               resplit_error *err)
{
    *found = false;
    *done = (rs_progress){{0, 0}, 0};
    *on_disk = true;
    int fd = openat(folder, NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot open the journal of an earlier run");
    }
    *found = read_records(fd, id, done, on_disk);
    (void)close(fd);
    return RESPLIT_OK;
}
