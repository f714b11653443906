/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_bench_disk.c - `resplit bench-disk`: what the disk can do here, as a yardstick for what programs make of it. */
#include "commands.h"
#include "report.h"

int cli_cmd_bench_disk(const struct cli_args *args, resplit_error *err)
{
    const char *folder = args->words[0];
    resplit_disk disk;

    /* Ctrl-C ends the process at once: the files have no names, so there is nothing to put in order. */
    if (resplit_disk_measure(folder, args->options.size, &disk, err) != RESPLIT_OK)
        return CLI_FAILED;
    if (!args->options.json)
        cli_report_disk(folder, &disk);
    else if (!cli_json_disk(folder, &disk, err))
        return CLI_FAILED;
    return CLI_DONE;
}
