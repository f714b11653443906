/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_info.c - `resplit info`: what an array is and how it is cut. Opening it checks every block's name and size. */
#include "commands.h"
#include "group.h"

static int list_one(const struct cli_args *args, const char *name, const struct cli_job *job, struct cli_list *list,
                    void *payload, resplit_error *err)
{
    const resplit_info *info = resplit_array_info(job->source);

    (void)payload;
    if (args->options.json)
        return cli_json_info(info, list, err) ? CLI_DONE : CLI_FAILED;
    cli_report_line(name, info);
    return CLI_DONE;
}

int cli_cmd_info(const struct cli_args *args, resplit_error *err)
{
    struct cli_job job = {0};

    if (resplit_is_group(args->words[0]))
        return cli_group_each(args, list_one, NULL, err);
    int code = cli_job_source(&job, args->words[0], &args->options, err);
    if (code == CLI_DONE) {
        const resplit_info *info = resplit_array_info(job.source);

        if (!args->options.json)
            cli_report_info(info);
        else if (!cli_json_info(info, NULL, err))
            code = CLI_FAILED;
    }
    cli_job_close(&job);
    return code;
}
