/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.c - one table of options: it recognises them, gives them their values and describes them in the help.
 * The man page and the completions repeat the names; tests/python/test_cli.py compares.
 */
#include "options.h"

#include "words.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, TEXT, CHOICE, SIZE, COUNT, SHAPE, SHARDS, CHUNKS, ROI, STRATEGY, ACCESS, PART, PARTS, HELP, VERSION };

#define SINGLE (CLI_CONVERT | CLI_SPLIT | CLI_EXTRACT | CLI_MERGE)
#define WRITING (SINGLE | CLI_MPI)
#define TARGET (WRITING | CLI_PLAN)
#define READING (CLI_INFO | CLI_VERIFY | CLI_FINGERPRINT)
#define RUNNING (WRITING | CLI_RUN)
#define MOVING (RUNNING | CLI_VERIFY | CLI_FINGERPRINT)
#define EVERY (TARGET | READING)
#define ALL (EVERY | CLI_RUN | CLI_BENCH_DISK | CLI_FINISH)
#define FORMATS "raw|npy|zarr2|zarr3|hdf5|nifti|nifti1|nifti2|minc2"
#define TO(member) offsetof(struct cli_options, member)

/* A name may have several rows, for different commands; they are then of the same kind. */
static const struct row {
    const char *name;
    const char *value; /* as shown in the help; for a CHOICE also what is allowed; NULL: takes none */
    enum kind kind;
    unsigned commands;
    size_t member;
    const char *help;
} ROWS[] = {
    {"chunks", "LENGTHS", CHUNKS, TARGET & ~(unsigned)CLI_MERGE, TO(chunks),
     "how the target is cut, one length per axis: 64,64,64; -1 is the whole axis, 10+20+30 an uneven one; or auto: "
     "a cut that suits --for and is cheap to make"},
    {"for", "ACCESS", ACCESS, TARGET & ~(unsigned)CLI_MERGE, TO(access),
     "with --chunks auto, how the target will be read: series:0 (long along axis 0), slices:2 (thin along axis 2) or "
     "cubes (default)"},
    {"block-size", "SIZE", SIZE, TARGET & ~(unsigned)CLI_MERGE, TO(block_size),
     "with --chunks auto, about how large a block is to be; default: 4MiB"},
    {"to", "LENGTHS", CHUNKS, CLI_PLAN, TO(to), "the same as --chunks"},
    {"roi", "SLICES", ROI, CLI_CONVERT | CLI_EXTRACT | CLI_PLAN | CLI_MPI, TO(roi),
     "only this region, one NumPy slice per axis: 10:20,:,-5:"},
    {"memory", "SIZE", SIZE, TARGET | CLI_VERIFY | CLI_FINGERPRINT, TO(memory),
     "the most memory to use: 512MiB, 2GB, 1.5GiB; default: half of what is available"},
    {"strategy", "NAME", STRATEGY, TARGET, TO(strategy), "how to go about it; default: auto, the cheapest that fits"},
    {"minimize", "seconds|seeks|bytes|memory", CHOICE, TARGET, TO(minimize),
     "what auto looks for among the plans that fit; default: seconds"},
    {"device", "hdd|ssd|nvme|nfs|measure", CHOICE, TARGET, TO(device),
     "what seconds are predicted for; measure: the disk that DST lies on, remembered for 30 days; default: ssd"},
    {"temp", "DIR", TEXT, TARGET, TO(temp), "folder for a temporary file, should one be needed; default: beside DST"},
    {"size", "SIZE", SIZE, CLI_BENCH_DISK, TO(size),
     "of each of the two files to measure with: 4GiB, 500MB; rounded up to whole MiB; default: 1GiB"},
    {"curve", NULL, FLAG, CLI_PLAN, TO(curve), "tabulate the cost against memory"},
    {"codec", "CODEC", TEXT, TARGET, TO(codec),
     "of a Zarr, HDF5 or MINC target: zstd:3, blosc:lz4:5:bitshuffle, shuffle+zlib:6, none; of NIfTI files: gzip:6, "
     "none; "
     "default: as the source; of HDF5 or MINC files in a folder: none"},
    {"shards", "LENGTHS", SHARDS, TARGET, TO(shards),
     "of a Zarr target, or of HDF5 or MINC files in a folder: how much of each axis is in one file, a multiple of its "
     "chunks; -1 is the whole axis"},
    {"to-order", "C|F", CHOICE, TARGET, TO(to_order),
     "of the elements in a block of the target; default: as the source"},
    {"to-dtype", "TYPE", TEXT, TARGET, TO(to_dtype), "cast values to this type; what that loses is said"},
    {"write-empty", NULL, FLAG, TARGET, TO(write_empty),
     "write blocks of a Zarr target too that hold nothing but its fill value"},
    {"ome", NULL, FLAG, TARGET, TO(ome), "make an OME-Zarr image, with one level; as a DST that ends in .ome.zarr"},
    {"virtual", NULL, FLAG, TARGET, TO(is_virtual),
     "DST is one HDF5 file that has no data of its own but says in which HDF5 files of SRC they are"},
    {"all-levels", NULL, FLAG, SINGLE, TO(all_levels), "of an OME-Zarr image: every level of it"},
    {"format", FORMATS, CHOICE, TARGET, TO(format), "of the target; default: by the suffix of DST, else as the source"},
    {"format", FORMATS, CHOICE, READING, TO(from_format), "of the files; default: by content and name"},
    {"pattern", "NAMES", TEXT, TARGET, TO(pattern),
     "names of the target's files: 'brain_{2}_{1}_{0}.raw', {0} the block index along axis 0, {0.start} its first "
     "element, {0:03} with zeros"},
    {"pattern", "NAMES", TEXT, READING, TO(from_pattern), "names of the files in the folder: '{0}_{1}.npy'"},
    {"save", "FILE", TEXT, CLI_PLAN, TO(save), "write the plan to a file, for 'resplit run FILE'"},
    {"picture", "FILE", TEXT, CLI_PLAN, TO(picture),
     "draw the plan into this SVG file: grids, buffers, seeks in each block, memory"},
    {"part", "K/N", PART, SINGLE | CLI_RUN | CLI_PLAN, TO(part),
     "only partition K of N, which share no file of DST: run all of them, on any machines, then 'resplit finish DST'"},
    {"parts", "N", PARTS, CLI_PLAN, TO(parts), "plan for N partitions, each with this memory"},
    {"parts", "N", PARTS, CLI_MPI, TO(parts), "divide the work into N partitions; default: one for each rank"},
    {"overwrite", NULL, FLAG, WRITING | CLI_RUN | CLI_FINISH, TO(overwrite),
     "replace DST if it is there, when the new one is complete"},
    {"resume", NULL, FLAG, RUNNING, TO(resume),
     "go on with what a run left that was killed, stopped or failed; without such a run, start anew"},
    {"sync", "none|end|each", CHOICE, RUNNING | CLI_FINISH, TO(sync),
     "when data is brought to disk: end (default), before DST gets its name and every half minute; each, whenever "
     "progress is noted; none, when the system likes"},
    {"threads", "N", COUNT, MOVING, TO(threads), "workers at most; default: by the machine and the memory"},
    {"io", "uring|threads|auto", CHOICE, MOVING, TO(io), "how files are read and written; default: auto"},
    {"direct", "on|off|auto", CHOICE, MOVING, TO(direct),
     "pass by the page cache; default: auto, for long transfers of what is not in it"},
    {"exact", NULL, FLAG, CLI_VERIFY, TO(exact), "compare all bytes, not fingerprints"},
    {"dtype", "TYPE", TEXT, EVERY, TO(dtype), "element type of a raw source: uint16, <f4, >i2"},
    {"order", "C|F", CHOICE, EVERY, TO(order), "of a raw source: C, last axis fastest (default), or F"},
    {"shape", "LENGTHS", SHAPE, EVERY, TO(shape), "of a raw source, the whole array: 250,250,100"},
    {"from", "LENGTHS", CHUNKS, EVERY, TO(from), "how a raw source is cut into files, as --chunks"},
    {"skip", "BYTES", SIZE, EVERY, TO(skip), "bytes before the data of each raw file"},
    {"from-format", FORMATS, CHOICE, TARGET, TO(from_format), "of the source; default: by content and name"},
    {"from-pattern", "NAMES", TEXT, TARGET, TO(from_pattern), "names of the source's files, as --pattern"},
    {"json", NULL, FLAG, ALL, TO(json), "print one JSON object instead of text"},
    {"quiet", NULL, FLAG, ALL, TO(quiet), "no report, no notes, no progress bar"},
    {"help", NULL, HELP, ALL, 0, "print this text"},
    {"version", NULL, VERSION, CLI_CONVERT, 0, "print the version"},
};

enum { N_ROWS = sizeof ROWS / sizeof ROWS[0] };

static const struct {
    enum cli_command_id id;
    const char *name;
} COMMAND_NAMES[] = {
    {CLI_CONVERT, "resplit"},       {CLI_SPLIT, "split"},   {CLI_MERGE, "merge"},
    {CLI_EXTRACT, "extract"},       {CLI_PLAN, "plan"},     {CLI_INFO, "info"},
    {CLI_VERIFY, "verify"},         {CLI_RUN, "run"},       {CLI_FINGERPRINT, "fingerprint"},
    {CLI_BENCH_DISK, "bench-disk"}, {CLI_FINISH, "finish"}, {CLI_MPI, "resplit-mpi"},
};

/* ---- argv into words and pairs -------------------------------------------------------------------------------- */

/* getopt found nothing of this name. `word` is what was typed. */
static bool fail_unknown(const char *word, resplit_error *err)
{
    const char *names[N_ROWS + 1] = {NULL};
    char typed[40];

    for (int i = 0; i < N_ROWS; i++)
        names[i] = ROWS[i].name;
    if (strncmp(word, "--", 2) != 0)
        return cli_fail(err, RESPLIT_EINVAL, "'-%c' is not an option: options are words, as --chunks", optopt);
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (int i = 0; i < N_ROWS; i++) {
        if (strcmp(ROWS[i].name, typed) == 0)
            return cli_fail(err, RESPLIT_EINVAL, "--%s takes no value", typed);
    }
    const char *nearest = cli_nearest(typed, names);
    if (nearest)
        return cli_fail(err, RESPLIT_EINVAL, "'--%s' is not an option; did you mean '--%s'?", typed, nearest);
    return cli_fail(err, RESPLIT_EINVAL, "'--%s' is not an option", typed);
}

static void fill_long_options(struct option *options)
{
    int n = 0;

    for (int i = 0; i < N_ROWS; i++) {
        /* getopt calls two entries of one name ambiguous: the first row stands for all. */
        if (i > 0 && strcmp(ROWS[i].name, ROWS[i - 1].name) == 0)
            continue;
        options[n++] = (struct option){ROWS[i].name, ROWS[i].value ? required_argument : no_argument, NULL, 256 + i};
    }
    options[n] = (struct option){0};
}

/* What getopt_long returned, put into the line. */
static bool take_item(int found, char **argv, struct cli_line *line, resplit_error *err)
{
    const char *typed = argv[optind - 1];

    if (found == 1) {
        line->words[line->n_words++] = optarg;
    } else if (found == 'h') {
        line->help = true;
    } else if (found == ':') {
        return cli_fail(err, RESPLIT_EINVAL, "'%.60s' needs a value", typed);
    } else if (found < 256) {
        return fail_unknown(typed, err);
    } else {
        const struct row *row = &ROWS[found - 256];
        line->help |= row->kind == HELP;
        line->version |= row->kind == VERSION;
        line->pairs[line->n_pairs++] = (struct cli_pair){found - 256, optarg};
    }
    return true;
}

bool cli_line_read(int argc, char **argv, struct cli_line *line, resplit_error *err)
{
    struct option options[N_ROWS + 1];
    int found;

    *line = (struct cli_line){0};
    line->words = calloc((size_t)argc + 1, sizeof *line->words);
    line->pairs = calloc((size_t)argc + 1, sizeof *line->pairs);
    if (!line->words || !line->pairs)
        return cli_fail(err, RESPLIT_ENOMEM, "no memory for %d arguments", argc);
    fill_long_options(options);
    opterr = 0;
    /* '-': words are returned in their place, as option 1. ':': a missing value is told from an unknown option. */
    while ((found = getopt_long(argc, argv, "-:h", options, NULL)) != -1) {
        if (!take_item(found, argv, line, err))
            return false;
    }
    line->n_literal = argc - optind;
    for (int i = optind; i < argc; i++)
        line->words[line->n_words++] = argv[i];
    return true;
}

void cli_line_release(struct cli_line *line)
{
    free(line->words);
    free(line->pairs);
    *line = (struct cli_line){0};
}

/* ---- Pairs into values ---------------------------------------------------------------------------------------- */

/* The row by which a command understands an option, or NULL. */
static const struct row *row_of(const char *name, enum cli_command_id id)
{
    for (int i = 0; i < N_ROWS; i++) {
        if ((ROWS[i].commands & (unsigned)id) && strcmp(ROWS[i].name, name) == 0)
            return &ROWS[i];
    }
    return NULL;
}

/* An option that exists, but not here: say where. */
static bool fail_elsewhere(const char *name, const char *command, resplit_error *err)
{
    char list[120] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof COMMAND_NAMES / sizeof COMMAND_NAMES[0]; i++) {
        if (row_of(name, COMMAND_NAMES[i].id) && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", COMMAND_NAMES[i].name);
    }
    return cli_fail(err, RESPLIT_EINVAL, "'--%s' is not an option of '%s'; it belongs to: %s", name, command, list);
}

static bool check_strategy(const char *name, resplit_error *err)
{
    char list[200] = "auto";
    size_t used = strlen(list);
    bool known = strcmp(name, "auto") == 0;

    for (int i = 0; resplit_strategy_name(i); i++) {
        const char *each = resplit_strategy_name(i);
        known |= strcmp(name, each) == 0;
        if (strcmp(each, "auto") != 0 && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, ", %s", each);
    }
    return known || cli_fail(err, RESPLIT_EINVAL, "'%.60s' is not a strategy: choose from %s", name, list);
}

static bool read_value(const struct row *row, const char *value, struct cli_options *options, resplit_error *err)
{
    void *member = (char *)options + row->member;

    switch (row->kind) {
    case FLAG: *(bool *)member = true; return true;
    case SIZE: return cli_parse_size(value, member, err);
    case COUNT: return cli_parse_count(value, member, err);
    case SHAPE: return cli_parse_shape(value, member, err);
    case SHARDS: return cli_parse_shards(value, member, err);
    case CHUNKS:
        if (row->member != TO(from) && strcmp(value, "auto") == 0) {
            options->chunks_auto = true;
            return true;
        }
        return cli_parse_chunks(value, member, err);
    case PART: return cli_parse_part(value, member, err);
    case PARTS: return cli_parse_parts(value, member, err);
    case ACCESS: return cli_parse_access(value, member, err);
    case ROI: return cli_parse_roi(value, member, err);
    case CHOICE:
        if (!cli_is_choice(value, row->value))
            return cli_fail(err, RESPLIT_EINVAL, "'%.60s' is not one of %s", value, row->value);
        break;
    case STRATEGY:
        if (!check_strategy(value, err))
            return false;
        break;
    case TEXT:
        if (value[0] == '\0')
            return cli_fail(err, RESPLIT_EINVAL, "the value is empty");
        break;
    case HELP:
    case VERSION: return true;
    }
    *(const char **)member = value;
    return true;
}

bool cli_options_read(const struct cli_line *line, enum cli_command_id id, const char *name,
                      struct cli_options *options, resplit_error *err)
{
    *options = (struct cli_options){0};
    for (int i = 0; i < line->n_pairs; i++) {
        const char *option = ROWS[line->pairs[i].option].name;
        const struct row *row = row_of(option, id);
        resplit_error why;

        if (!row)
            return fail_elsewhere(option, name, err);
        if (!read_value(row, line->pairs[i].value, options, &why))
            return cli_fail(err, why.code, "--%s: %.900s", option, why.message);
        if (row->member == TO(memory) && row->kind == SIZE && options->memory == 0)
            return cli_fail(err, RESPLIT_EINVAL, "--memory: nothing fits 0 bytes");
        if (row->member == TO(size) && row->kind == SIZE && options->size == 0)
            return cli_fail(err, RESPLIT_EINVAL, "--size: nothing is measured with 0 bytes");
    }
    if (options->part.n > 0 && options->parts > 0)
        return cli_fail(err, RESPLIT_EINVAL, "--part is one partition and --parts all of them: give one of them");
    bool is_cut = options->chunks.ndim || options->to.ndim;
    if (!options->chunks_auto && (options->access.kind != CLI_ANY || options->block_size > 0))
        return cli_fail(err, RESPLIT_EINVAL, "--for and --block-size are for --chunks auto");
    if ((options->chunks.ndim && options->to.ndim) || (options->chunks_auto && is_cut))
        return cli_fail(err, RESPLIT_EINVAL, "--chunks and --to are the same: give one of them");
    return true;
}

void cli_options_release(struct cli_options *options)
{
    cli_chunks_release(&options->chunks);
    cli_chunks_release(&options->to);
    cli_chunks_release(&options->from);
}

/* ---- Help ----------------------------------------------------------------------------------------------------- */

#define COLUMN 24
#define WIDTH 100

/* Text from column COLUMN on, broken between words; the cursor is at `column`. */
static void print_wrapped(FILE *stream, const char *text, int column)
{
    while (*text) {
        int n = (int)strcspn(text, " ");

        if (column > COLUMN && column + 1 + n > WIDTH) {
            fprintf(stream, "\n%*s", COLUMN, "");
            column = COLUMN;
        } else if (column > COLUMN) {
            fputc(' ', stream);
            column++;
        }
        fprintf(stream, "%.*s", n, text);
        column += n;
        text += n + (text[n] == ' ');
    }
    fputc('\n', stream);
}

void cli_options_help(FILE *stream, enum cli_command_id id)
{
    for (int i = 0; i < N_ROWS; i++) {
        if (!(ROWS[i].commands & (unsigned)id))
            continue;
        int n =
            fprintf(stream, "  --%s%s%s", ROWS[i].name, ROWS[i].value ? " " : "", ROWS[i].value ? ROWS[i].value : "");
        fprintf(stream, "%*s", n < COLUMN ? COLUMN - n : 0, "");
        if (n >= COLUMN)
            fprintf(stream, "\n%*s", COLUMN, "");
        print_wrapped(stream, ROWS[i].help, COLUMN);
    }
}
