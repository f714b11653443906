/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - the table of commands, and the way from argv to one of them. The only place that prints errors and decides
 * the exit code.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "words.h"

static const struct cli_command COMMANDS[] = {
    {
        .id = CLI_CONVERT,
        .n_needed = 2,
        .words = {"SRC", "DST"},
        .usage = "SRC DST --chunks LENGTHS [OPTION]...",
        .summary = "from any grid of files to any other",
        .text =
            "Rewrites the array SRC as DST, cut anew. SRC and DST are one file (.npy, .nii, .nii.gz, .mnc, .raw), a\n"
            "dataset (brain.h5:/data), a Zarr array (brain.zarr), or a folder of blocks. Without --chunks, DST is one\n"
            "file, or keeps the chunks of SRC. Of a Zarr group, all arrays are rewritten.\n",
        .run = cli_cmd_resplit,
    },
    {
        .name = "split",
        .id = CLI_SPLIT,
        .n_needed = 2,
        .words = {"SRC", "DST"},
        .usage = "split SRC DST --chunks LENGTHS [OPTION]...",
        .summary = "one array into a grid of files",
        .text = "Cuts the one file SRC into the folder DST.\n",
        .run = cli_cmd_resplit,
    },
    {
        .name = "merge",
        .id = CLI_MERGE,
        .n_needed = 2,
        .words = {"SRC", "DST"},
        .usage = "merge SRC DST [OPTION]...",
        .summary = "a grid of files into one array",
        .text = "Puts the blocks in the folder SRC together as the one file DST.\n",
        .run = cli_cmd_resplit,
    },
    {
        .name = "extract",
        .id = CLI_EXTRACT,
        .n_needed = 2,
        .words = {"SRC", "DST"},
        .usage = "extract SRC DST --roi SLICES [--chunks LENGTHS] [OPTION]...",
        .summary = "a region of interest",
        .text = "Copies a box of SRC to DST, from any grid to any grid. Without --chunks the region becomes one\n"
                "block.\n",
        .run = cli_cmd_resplit,
    },
    {
        .name = "plan",
        .id = CLI_PLAN,
        .words = {"SRC", "DST"},
        .usage = "plan SRC [DST] --chunks LENGTHS [OPTION]...\n"
                 "       resplit plan --shape LENGTHS --dtype TYPE --from LENGTHS --to LENGTHS [OPTION]...",
        .summary = "predict what a run would do, touching nothing",
        .text = "Prints the plan that a run would follow and what it costs. The arrays are files, or only described.\n",
        .run = cli_cmd_plan,
    },
    {
        .name = "run",
        .id = CLI_RUN,
        .n_needed = 1,
        .words = {"PLAN"},
        .usage = "run PLAN [OPTION]...",
        .summary = "run a plan that was saved",
        .text =
            "Runs the plan in the file PLAN, which 'resplit plan SRC DST --save PLAN' wrote. The arrays are opened\n"
            "anew and the plan is checked: what is not sound, or not for these arrays, is refused.\n",
        .run = cli_cmd_run,
    },
    {
        .name = "finish",
        .id = CLI_FINISH,
        .n_needed = 1,
        .words = {"PLAN|DST"},
        .usage = "finish PLAN|DST [OPTION]...",
        .summary = "publish an array that was made in partitions",
        .text = "When all partitions (--part) of DST are complete: adds up their fingerprints and gives DST its name. "
                "Says\n"
                "which are missing, if any are. Can be repeated at any time.\n",
        .run = cli_cmd_finish,
    },
    {
        .name = "info",
        .id = CLI_INFO,
        .n_needed = 1,
        .words = {"PATH"},
        .usage = "info PATH [OPTION]...",
        .summary = "what an array is and how it is cut",
        .text = "Checks the name and the size of every block of PATH and describes the array.\n",
        .run = cli_cmd_info,
    },
    {
        .name = "fingerprint",
        .id = CLI_FINGERPRINT,
        .n_needed = 1,
        .words = {"PATH"},
        .usage = "fingerprint PATH [OPTION]...",
        .summary = "a number for the values of an array",
        .text = "Reads all of PATH and prints 16 hexadecimal digits: the same for the same values, shape and type,\n"
                "whatever the blocks, formats, orders and byte orders.\n",
        .run = cli_cmd_fingerprint,
    },
    {
        .name = "verify",
        .id = CLI_VERIFY,
        .n_needed = 2,
        .words = {"A", "B"},
        .usage = "verify A B [OPTION]...",
        .summary = "do two arrays hold the same values?",
        .text = "Compares values, bit for bit, whatever the blocks, formats and orders of the two: by their\n"
                "fingerprints, or with --exact byte by byte. Prints 'equal' and exits with 0, or one difference and\n"
                "their number and exits with 1. The options describe raw sides.\n",
        .run = cli_cmd_verify,
    },
    {
        .name = "bench-disk",
        .id = CLI_BENCH_DISK,
        .n_needed = 1,
        .words = {"DIR"},
        .usage = "bench-disk DIR [--size SIZE] [OPTION]...",
        .summary = "what a disk can do",
        .text =
            "Measures how fast the disk that the folder DIR lies on is read and written, past the page cache, and how\n"
            "many random reads it makes. Uses two temporary files that have no names and leaves nothing.\n",
        .run = cli_cmd_bench_disk,
    },
};

enum { N_COMMANDS = sizeof COMMANDS / sizeof COMMANDS[0] };

static const struct cli_command *command_named(const char *name)
{
    for (int i = 1; i < N_COMMANDS; i++) {
        if (strcmp(COMMANDS[i].name, name) == 0)
            return &COMMANDS[i];
    }
    return NULL;
}

/* ---- Texts ---------------------------------------------------------------------------------------------------- */

static void print_commands(FILE *stream)
{
    fprintf(stream, "Commands:\n");
    fprintf(stream, "  %-20s  %s\n", "resplit SRC DST", COMMANDS[0].summary);
    for (int i = 1; i < N_COMMANDS; i++)
        fprintf(stream, "  %-20s  %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    fprintf(stream, "  %-20s  %s\n\n", "help COMMAND", "the options of a command");
}

static void print_help(const struct cli_command *command)
{
    printf("Usage: resplit %s\n\n%s\n", command->usage, command->text);
    if (!command->name)
        print_commands(stdout);
    printf("Options:\n");
    cli_options_help(stdout, command->id);
    if (!command->name)
        printf("\nExit status: 0 done, 1 failed, 2 the command line is wrong.\n");
}

/* For whoever types the bare name. */
static void print_hint(void)
{
    fprintf(stderr, "resplit splits, merges and resplits N-dimensional arrays that are larger than memory.\n\n"
                    "  resplit volume.npy blocks --chunks 64,64,64 --memory 512MiB\n"
                    "  resplit merge blocks volume.npy\n\n");
    print_commands(stderr);
    fprintf(stderr, "'resplit --help' lists the options.\n");
}

static void print_names(const char *label, const char *first, const char *(*name)(int))
{
    printf("%s: %s", label, first);
    for (int i = 0; name(i); i++) {
        if (strcmp(name(i), first) != 0)
            printf(", %s", name(i));
    }
    printf("\n");
}

static void print_version(void)
{
    printf("resplit %s\n", resplit_version());
    print_names("strategies", "auto", resplit_strategy_name);
    print_names("formats", "raw", resplit_format_name);
    print_names("codecs", "none", resplit_codec_name);
}

/* ---- Which command -------------------------------------------------------------------------------------------- */

static bool is_there(const char *word)
{
    return access(word, F_OK) == 0;
}

static bool is_path(const char *word)
{
    return strchr(word, '/') || strchr(word, '.') || is_there(word);
}

/* SRC is not there, but DST is: the other way round, they would make sense. A colon leads into a file. */
static bool are_swapped(const struct cli_line *line)
{
    return line->n_words == 2 && !is_there(line->words[0]) && !strchr(line->words[0], ':') && is_there(line->words[1]);
}

/* The first word names a command or is SRC; anything else is a slip. NULL: usage. */
static const struct cli_command *command_of(const struct cli_line *line, resplit_error *err)
{
    const char *names[N_COMMANDS + 1] = {NULL};

    if (line->n_words == 0 || line->n_literal == line->n_words)
        return &COMMANDS[0];
    const char *word = line->words[0];
    const struct cli_command *command = command_named(word);
    if (command || (is_path(word) && !are_swapped(line)))
        return command ? command : &COMMANDS[0];
    for (int i = 1; i < N_COMMANDS; i++)
        names[i - 1] = COMMANDS[i].name;
    names[N_COMMANDS - 1] = "help";
    const char *nearest = is_path(word) ? NULL : cli_nearest(word, names);
    if (nearest)
        cli_fail(err, RESPLIT_EINVAL, "'%.200s' is neither a command nor a file; did you mean '%s'?", word, nearest);
    else
        cli_fail(err, RESPLIT_EINVAL, "'%.200s' is neither a command nor a file that exists%s", word,
                 are_swapped(line) ? "; SRC comes first, then DST" : "");
    return NULL;
}

/* "help", "help COMMAND" and --help. Returns -1 when the line asks for no help. */
static int help(const struct cli_line *line, resplit_error *err)
{
    bool is_word = line->n_words > line->n_literal && strcmp(line->words[0], "help") == 0;
    const char *topic =
        is_word ? (line->n_words > 1 ? line->words[1] : NULL) : (line->n_words > 0 ? line->words[0] : NULL);

    if (!is_word && !line->help)
        return -1;
    const struct cli_command *command = topic ? command_named(topic) : NULL;
    if (is_word && topic && !command) {
        cli_fail(err, RESPLIT_EINVAL, "there is no command '%.200s' to help with", topic);
        return CLI_USAGE;
    }
    print_help(command ? command : &COMMANDS[0]);
    return CLI_DONE;
}

static int check_words(const struct cli_command *command, int n_words, const char *const *words, resplit_error *err)
{
    int n_most = command->words[1] ? 2 : 1;

    if (n_words < command->n_needed) {
        cli_fail(err, RESPLIT_EINVAL, "%s is missing: write resplit %s", command->words[n_words], command->usage);
        return CLI_USAGE;
    }
    if (n_words > n_most) {
        cli_fail(err, RESPLIT_EINVAL, "'%.200s' is one word too many: write resplit %s", words[n_most], command->usage);
        return CLI_USAGE;
    }
    return CLI_DONE;
}

static int run_command(const struct cli_line *line, const struct cli_command **command, resplit_error *err)
{
    int code = help(line, err);

    if (code >= 0)
        return code;
    if (line->version) {
        print_version();
        return CLI_DONE;
    }
    *command = command_of(line, err);
    if (!*command)
        return CLI_USAGE;
    const char *name = (*command)->name;
    struct cli_args args = {.command = name, .id = (*command)->id};
    args.words = (const char *const *)line->words + (name ? 1 : 0);
    args.n_words = line->n_words - (name ? 1 : 0);
    code = CLI_USAGE;
    if (cli_options_read(line, args.id, name ? name : "resplit", &args.options, err))
        code = check_words(*command, args.n_words, args.words, err);
    if (code == CLI_DONE)
        code = (*command)->run(&args, err);
    cli_options_release(&args.options);
    return code;
}

int main(int argc, char **argv)
{
    struct cli_line line;
    resplit_error err = {0};
    const struct cli_command *command = NULL;
    int code = CLI_USAGE;

    if (argc < 2) {
        print_hint();
        return CLI_USAGE;
    }
    if (cli_line_read(argc, argv, &line, &err))
        code = run_command(&line, &command, &err);
    cli_line_release(&line);
    /* A full disk or a closed pipe behind stdout loses the result: that is a failure too. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_DONE) {
        cli_fail(&err, RESPLIT_EIO, "cannot write the result to the standard output");
        code = CLI_FAILED;
    }
    if (code != CLI_DONE && err.message[0])
        fprintf(stderr, "resplit: %s\n", err.message);
    if (code == CLI_USAGE)
        fprintf(stderr, "resplit: try 'resplit %s%s--help'\n", command && command->name ? command->name : "",
                command && command->name ? " " : "");
    return code;
}
