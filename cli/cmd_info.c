/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_info.c - `resplit info`: what an array is and how it is cut. Opening it checks every block's name and size. */
#include "commands.h"
#include "job.h"

int cli_cmd_info(const struct cli_args *args, resplit_error *err)
{
    struct cli_job job = {0};
    int code = cli_job_source(&job, args->words[0], &args->options, err);

    if (code == CLI_DONE) {
        const resplit_info *info = resplit_array_info(job.source);

        if (!args->options.json)
            cli_report_info(info);
        else if (!cli_json_info(info, err))
            code = CLI_FAILED;
    }
    cli_job_close(&job);
    return code;
}
