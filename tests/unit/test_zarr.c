/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_zarr.c - metadata of Zarr arrays and groups. Expected values follow from the specifications (zarr-specs,
 * zarr-extensions), from IEEE 754 by hand, or are what zarr-python 3 writes.
 */
#include "files.h"

#include "format/zarr.h"

/* ---- Metadata with one key changed ---- */

typedef struct member {
    const char *key, *value;
} member;

static const member members2[] = {
    {"zarr_format", "2"},  {"shape", "[10, 6]"}, {"chunks", "[4, 3]"}, {"dtype", "\"<f4\""},
    {"fill_value", "0.0"}, {"order", "\"C\""},   {"filters", "null"},  {"compressor", "null"},
};

#define LITTLE "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}"
#define BIG "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}}"
#define CRC "{\"name\": \"crc32c\"}"
#define REGULAR(shape) "{\"name\": \"regular\", \"configuration\": {\"chunk_shape\": " shape "}}"
#define SHARDS(part, codecs, index, more)                                                                              \
    "{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": " part ", \"codecs\": " codecs              \
    ", \"index_codecs\": " index more "}}"
#define TRANSPOSE(order) "{\"name\": \"transpose\", \"configuration\": {\"order\": " order "}}"

static const member members3[] = {
    {"zarr_format", "3"},         {"node_type", "\"array\""},        {"shape", "[10, 6]"},
    {"data_type", "\"float32\""}, {"chunk_grid", REGULAR("[4, 3]")}, {"chunk_key_encoding", "{\"name\": \"default\"}"},
    {"fill_value", "0.0"},        {"codecs", "[" LITTLE "]"},
};

/* Replaces up to three keys; "-" leaves one out, an unknown one is added. Returns a static text. */
static const char *metadata(int version, const member *change, size_t n_change)
{
    static char text[8000];
    const member *all = version == 2 ? members2 : members3;
    size_t n = 8, at = 0;
    bool used[4] = {false};
    for (size_t i = 0; i < n + n_change; i++) {
        const member *m = i < n ? &all[i] : &change[i - n];
        for (size_t k = 0; i < n && k < n_change; k++) {
            if (strcmp(m->key, change[k].key) == 0) {
                m = &change[k];
                used[k] = true;
                break;
            }
        }
        if ((i < n || !used[i - n]) && strcmp(m->value, "-") != 0) {
            at += (size_t)snprintf(text + at, sizeof text - at, "%s\"%s\": %s", at == 0 ? "{" : ", ", m->key, m->value);
        }
    }
    (void)snprintf(text + at, sizeof text - at, "}");
    return text;
}

static resplit_status parse(int version, const member *change, size_t n, rs_zarr *out, resplit_error *err)
{
    const char *text = metadata(version, change, n);
    return rs_zarr_parse(version, text, strlen(text), "a/meta", out, err);
}

static resplit_status parse1(int version, const char *key, const char *value, rs_zarr *out, resplit_error *err)
{
    return parse(version, &(member){key, value}, 1, out, err);
}

/* What print gives, in a static text. */
static char printed[2][8000];

static resplit_status take(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    (void)payload;
    (void)err;
    assert_true(strlen(text->s) == text->n);
    (void)snprintf(printed[strcmp(name, ".zattrs") == 0], sizeof *printed, "%s", text->s);
    return RESPLIT_OK;
}

static void print(const rs_zarr *zarr)
{
    resplit_error err;
    printed[0][0] = printed[1][0] = '\0';
    assert_works(rs_zarr_print(zarr, take, NULL, &err), err);
}

#define assert_has(text, part)                                                                                         \
    do {                                                                                                               \
        if (strstr((text), (part)) == NULL) {                                                                          \
            fail_msg("expected '%s' in '%s'", (part), (text));                                                         \
        }                                                                                                              \
    } while (0)

/* ---- Reading ---- */

static void a_version_2_array_is_read(void **state)
{
    rs_zarr zarr;
    resplit_error err;
    const member change[] = {
        {"order", "\"F\""}, {"compressor", "{\"id\": \"zlib\", \"level\": 1}"}, {"more", "[1, {}]"}};
    (void)state;
    assert_works(parse(2, change, 3, &zarr, &err), err);
    assert_int_equal(zarr.version, 2);
    assert_int_equal(zarr.ndim, 2);
    assert_int_equal(zarr.shape[0], 10);
    assert_int_equal(zarr.chunk[1], 3);
    assert_string_equal(zarr.dtype.descr, "<f4");
    assert_int_equal(zarr.order[0], 1);
    assert_int_equal(zarr.order[1], 0);
    assert_true(zarr.has_fill && zarr.v2_keys && zarr.separator == '.');
    assert_int_equal(zarr.chain.n, 1);
    assert_int_equal(zarr.n_levels, 0);
    assert_int_equal(zarr.opaque.code, RESPLIT_OK);
    print(&zarr);
    assert_has(printed[0], "\"more\": [1, {}]"); /* unknown keys are kept */
    assert_has(printed[0], "\"order\": \"F\"");
    assert_has(printed[0], "\"compressor\": {\"id\": \"zlib\", \"level\": 1}");
    rs_zarr_release(&zarr);

    assert_works(parse1(2, "filters", "[]", &zarr, &err), err); /* contrary to the specification, and common */
    print(&zarr);
    assert_has(printed[0], "\"filters\": null");
    rs_zarr_release(&zarr);
    assert_works(parse1(2, "dimension_separator", "\"/\"", &zarr, &err), err);
    assert_int_equal(zarr.separator, '/');
    rs_zarr_release(&zarr);
}

static void a_version_3_array_is_read(void **state)
{
    rs_zarr zarr;
    resplit_error err;
    const member change[] = {{"attributes", "{\"a\" : 1e400}"},
                             {"dimension_names", "[\"x\", null]"},
                             {"ext", "{\"must_understand\": false, \"k\": 1}"}};
    (void)state;
    assert_works(parse(3, change, 3, &zarr, &err), err);
    assert_int_equal(zarr.version, 3);
    assert_string_equal(zarr.dtype.descr, "<f4");
    assert_true(!zarr.v2_keys && zarr.separator == '/' && zarr.endian == '<');
    assert_string_equal(zarr.attributes.s, "{\"a\" : 1e400}");
    assert_string_equal(zarr.names.s, "[\"x\", null]");
    print(&zarr);
    assert_has(printed[0], "\"attributes\": {\"a\" : 1e400}");
    assert_has(printed[0], "\"dimension_names\": [\"x\", null]");
    assert_has(printed[0], "\"ext\": {\"must_understand\": false, \"k\": 1}");
    rs_zarr_release(&zarr);

    const member bare[] = {{"chunk_key_encoding", "\"v2\""}, {"codecs", "[\"bytes\"]"}, {"data_type", "\"int8\""}};
    assert_works(parse(3, bare, 3, &zarr, &err), err); /* names alone, since 3.1 */
    assert_true(zarr.v2_keys && zarr.separator == '.' && zarr.endian == 0);
    rs_zarr_release(&zarr);
    const member old[] = {{"codecs", "[{\"name\": \"endian\", \"configuration\": {\"endian\": \"big\"}}]"}};
    assert_works(parse(3, old, 1, &zarr, &err), err);
    assert_string_equal(zarr.dtype.descr, ">f4");
    rs_zarr_release(&zarr);
}

static void wrong_metadata_name_file_key_and_value(void **state)
{
    static const struct {
        int version;
        const char *key, *value, *text;
        resplit_status code;
    } all[] = {
        {2, "zarr_format", "3", "\"zarr_format\" is 3", RESPLIT_EFORMAT},
        {2, "zarr_format", "\"2\"", "\"zarr_format\" is \"2\"", RESPLIT_EFORMAT},
        {2, "shape", "-", "\"shape\" is missing", RESPLIT_EFORMAT},
        {2, "shape", "[10, -6]", "\"shape\" is [10, -6]", RESPLIT_EFORMAT},
        {2, "shape", "[10, 6.0]", "\"shape\" is [10, 6.0]", RESPLIT_EFORMAT},
        {2, "shape", "10", "\"shape\" is 10", RESPLIT_EFORMAT},
        {2, "shape", "[10]", "1 axes, the chunks have 2", RESPLIT_EFORMAT},
        {2, "shape", "[9223372036854775807, 9223372036854775807]", "64 bits", RESPLIT_EFORMAT},
        {2, "shape", "[9223372036854775808, 1]", "\"shape\"", RESPLIT_EFORMAT},
        {2, "shape", "[9223372036854775807, 0]", "64 bits", RESPLIT_EFORMAT},
        {2, "shape", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "17 axes", RESPLIT_EUNSUPPORTED},
        {2, "chunks", "[0, 3]", "\"chunks\" is [0, 3]", RESPLIT_EFORMAT},
        {2, "chunks", "[4294967296, 4294967296]", "the chunk has", RESPLIT_EFORMAT},
        {2, "chunks", "null", "\"chunks\" is null", RESPLIT_EFORMAT},
        {2, "dtype", "\"<f5\"", "\"dtype\"", RESPLIT_EFORMAT},
        {2, "dtype", "7", "\"dtype\" is 7", RESPLIT_EFORMAT},
        {2, "dtype", "[[\"a\"]]", "\"dtype\" is [\"a\"]", RESPLIT_EFORMAT},
        {2, "dtype", "[]", "can only be copied", RESPLIT_OK}, /* elements of no size */
        {2, "order", "\"A\"", "\"order\" is \"A\"", RESPLIT_EFORMAT},
        {2, "filters", "{}", "\"filters\" is {}", RESPLIT_EFORMAT},
        {2, "filters", "[{}]", "an \"id\"", RESPLIT_EFORMAT},
        {2, "compressor", "\"zlib\"", "\"compressor\" is \"zlib\"", RESPLIT_EFORMAT},
        {2, "dimension_separator", "\"-\"", "\"dimension_separator\" is \"-\"", RESPLIT_EFORMAT},
        {3, "zarr_format", "2", "\"zarr_format\" is 2", RESPLIT_EFORMAT},
        {3, "node_type", "\"group\"", "\"node_type\" is \"group\"", RESPLIT_EFORMAT},
        {3, "chunk_grid", "-", "\"chunk_grid\" is missing", RESPLIT_EFORMAT},
        {3, "chunk_grid", REGULAR("[4]"), "the chunks have 1", RESPLIT_EFORMAT},
        {3, "chunk_grid", REGULAR("[4, 0]"), "\"chunk_shape\" is [4, 0]", RESPLIT_EFORMAT},
        {3, "chunk_grid", "{\"name\": \"hex\"}", "the chunk grid {\"name\": \"hex\"}", RESPLIT_EUNSUPPORTED},
        {3, "chunk_key_encoding", "{\"name\": \"fanout\"}", "fanout", RESPLIT_EUNSUPPORTED},
        {3, "chunk_key_encoding", "{\"name\": \"v2\", \"configuration\": {\"separator\": \"_\"}}", "\"separator\"",
         RESPLIT_EFORMAT},
        {3, "fill_value", "-", "\"fill_value\" is missing", RESPLIT_EFORMAT},
        {3, "fill_value", "null", "\"fill_value\" is null", RESPLIT_EFORMAT},
        {3, "codecs", "[]", "\"codecs\" is []", RESPLIT_EFORMAT},
        {3, "codecs", "[{\"name\": \"bytes\"}]", "needs an \"endian\"", RESPLIT_EFORMAT},
        {3, "codecs", "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"middle\"}}]", "\"middle\"",
         RESPLIT_EFORMAT},
        {3, "codecs", "[" TRANSPOSE("[0, 0]") ", " LITTLE "]", "permutation", RESPLIT_EFORMAT},
        {3, "codecs", "[" TRANSPOSE("[0]") ", " LITTLE "]", "permutation", RESPLIT_EFORMAT},
        {3, "codecs", "[" TRANSPOSE("[0, 2]") ", " LITTLE "]", "permutation", RESPLIT_EFORMAT},
        {3, "codecs", "[" CRC ", " LITTLE "]", "come after \"bytes\"", RESPLIT_EFORMAT},
        {3, "codecs", "[" SHARDS("[3, 3]", "[" LITTLE "]", "[" LITTLE "]", "") "]", "shards of 4 along axis 0",
         RESPLIT_EFORMAT},
        {3, "codecs", "[" SHARDS("[2, 3]", "[" LITTLE "]", "[" LITTLE "]", ", \"index_location\": \"mid\"") "]",
         "\"index_location\" is \"mid\"", RESPLIT_EFORMAT},
        {3, "codecs", "[" SHARDS("[2, 3]", "[" LITTLE "]", "[]", "") "]", "\"index_codecs\" is []", RESPLIT_EFORMAT},
        {3, "codecs", "[" SHARDS("[2, 3]", "[]", "[" LITTLE "]", "") "]", "\"codecs\" is []", RESPLIT_EFORMAT},
        {3, "attributes", "[]", "\"attributes\" is []", RESPLIT_EFORMAT},
        {3, "dimension_names", "[\"x\"]", "\"dimension_names\" is [\"x\"]", RESPLIT_EFORMAT},
        {3, "dimension_names", "[\"x\", 1]", "\"dimension_names\"", RESPLIT_EFORMAT},
        {3, "storage_transformers", "[{\"name\": \"x\"}]", "storage transformers", RESPLIT_EUNSUPPORTED},
        {3, "unknown", "{}", "\"unknown\" that must be understood", RESPLIT_EUNSUPPORTED},
        {3, "unknown", "{\"must_understand\": true}", "must be understood", RESPLIT_EUNSUPPORTED},
        {3, "unknown", "1", "must be understood", RESPLIT_EUNSUPPORTED},
        {3, "data_type", "{\"name\": \"null_terminated_bytes\"}", "\"length_bytes\" is missing", RESPLIT_EFORMAT},
        {3, "data_type", "{\"name\": \"fixed_length_utf32\", \"configuration\": {\"length_bytes\": 6}}",
         "\"length_bytes\" is 6", RESPLIT_EFORMAT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_zarr zarr;
        resplit_error err;
        resplit_status rc = parse1(all[i].version, all[i].key, all[i].value, &zarr, &err);
        if (rc != all[i].code) {
            fail_msg("%s = %s: %d %s", all[i].key, all[i].value, rc, rc == RESPLIT_OK ? "" : err.message);
        }
        assert_has(rc == RESPLIT_OK ? zarr.opaque.message : err.message, all[i].text);
        assert_has(rc == RESPLIT_OK ? zarr.opaque.message : err.message, "'a/meta'");
        rs_zarr_release(&zarr);
    }
    rs_zarr zarr;
    resplit_error err;
    assert_fails(rs_zarr_parse(2, "[]", 2, "a/meta", &zarr, &err), RESPLIT_EFORMAT, err, "no JSON object");
    rs_zarr_release(&zarr);
    assert_fails(rs_zarr_parse(3, "{", 1, "a/meta", &zarr, &err), RESPLIT_EFORMAT, err, "not valid JSON");
    rs_zarr_release(&zarr);
}

static void transposes_are_an_order_of_axes(void **state)
{
    static const struct {
        const char *codecs;
        int order[3];
    } all[] = {
        {"[" LITTLE "]", {0, 1, 2}},
        {"[" TRANSPOSE("[2, 0, 1]") ", " LITTLE "]", {2, 0, 1}},
        {"[" TRANSPOSE("\"F\"") ", " LITTLE "]", {2, 1, 0}},
        {"[" TRANSPOSE("\"C\"") ", " LITTLE "]", {0, 1, 2}},
        /* [2, 0, 1] of what is [1, 2, 0]: 0, 1, 2 */
        {"[" TRANSPOSE("[1, 2, 0]") ", " TRANSPOSE("[2, 0, 1]") ", " LITTLE "]", {0, 1, 2}},
        {"[" TRANSPOSE("[1, 0, 2]") ", " TRANSPOSE("[0, 2, 1]") ", " LITTLE "]", {1, 2, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const member change[] = {
            {"shape", "[4, 5, 6]"}, {"chunk_grid", REGULAR("[2, 3, 4]")}, {"codecs", all[i].codecs}};
        rs_zarr zarr, again;
        resplit_error err;
        assert_works(parse(3, change, 3, &zarr, &err), err);
        assert_memory_equal(zarr.order, all[i].order, sizeof all[i].order);
        rs_zarr_wish wish = {.version = 3, .chain = &(rs_chain){0}}; /* codecs are written anew */
        assert_works(rs_zarr_derive(&zarr, NULL, 0, &wish, &again, &err), err);
        print(&again);
        rs_zarr_release(&again);
        assert_works(rs_zarr_parse(3, printed[0], strlen(printed[0]), "again", &again, &err), err);
        assert_memory_equal(again.order, all[i].order, sizeof all[i].order);
        rs_zarr_release(&again);
        rs_zarr_release(&zarr);
    }
}

static void shards_may_nest_and_be_transposed(void **state)
{
    rs_zarr zarr, again;
    resplit_error err;
    const member change[] = {
        {"shape", "[100, 60]"},
        {"chunk_grid", REGULAR("[40, 30]")},
        {"codecs", "[" TRANSPOSE("[1, 0]") ", " SHARDS("[15, 20]",
                                                       "[" SHARDS("[5, 10]", "[" TRANSPOSE("[1, 0]") ", " BIG "]",
                                                                  "[" BIG "]", ", \"index_location\": \"start\"") "]",
                                                       "[" LITTLE ", " CRC "]", "") ", " CRC "]"},
    };
    (void)state;
    assert_works(parse(3, change, 3, &zarr, &err), err);
    for (int round = 0; round < 2; round++) {
        const rs_zarr *z = round == 0 ? &zarr : &again;
        assert_int_equal(z->n_levels, 2);
        assert_int_equal(z->level[0].chunk[0], 40);
        assert_int_equal(z->level[0].chunk[1], 30);
        assert_int_equal(z->level[0].order[0], 1);
        assert_true(z->level[0].crc && z->level[0].index_crc && !z->level[0].index_first
                    && z->level[0].index_order == '<');
        assert_int_equal(z->level[1].chunk[0], 20); /* chunk_shape is in the order of the transpose */
        assert_int_equal(z->level[1].chunk[1], 15);
        assert_true(!z->level[1].crc && !z->level[1].index_crc && z->level[1].index_first
                    && z->level[1].index_order == '>');
        assert_int_equal(z->chunk[0], 10);
        assert_int_equal(z->chunk[1], 5);
        assert_int_equal(z->order[0], 0); /* transposed twice */
        assert_string_equal(z->dtype.descr, ">f4");
        assert_int_equal(z->opaque.code, RESPLIT_OK);
        if (round == 0) {
            print(z);
            assert_works(rs_zarr_parse(3, printed[0], strlen(printed[0]), "again", &again, &err), err);
        }
    }
    rs_zarr_release(&again);
    rs_zarr_release(&zarr);
}

static void what_cannot_be_decoded_is_opaque_and_says_why(void **state)
{
    static const struct {
        int version;
        const char *key, *value, *why;
        int64_t chunk0; /* what can be told apart without decoding */
        int n_levels;
    } all[] = {
        {2, "compressor", "{\"id\": \"nosuch\", \"x\": [1]}", "nosuch", 4, 0},
        {2, "dtype", "\"|O\"", "object", 4, 0},
        {2, "dtype", "\"|S1048577\"", "1048577 bytes", 4, 0}, /* whoever believes this needs memory for it */
        {3, "data_type", "\"string\"", "\"string\"", 4, 0},
        {3, "data_type", "{\"name\": \"optional\", \"configuration\": {}}", "optional", 4, 0},
        {3, "codecs", "[" LITTLE ", {\"name\": \"nosuch\"}]", "nosuch", 4, 0},
        {3, "codecs", "[{\"name\": \"vlen-utf8\"}]", "\"vlen-utf8\"", 4, 0},
        {3, "codecs", "[" SHARDS("[2, 3]", "[\"vlen-utf8\"]", "[" LITTLE "]", "") "]", "\"vlen-utf8\"", 2, 1},
        {3, "codecs", "[" SHARDS("[2, 3]", "[" LITTLE "]", "[" LITTLE ", {\"name\": \"gzip\"}]", "") "]", "index", 4,
         0},
        {3, "codecs", "[" SHARDS("[2, 3]", "[" LITTLE "]", "[" LITTLE "]", "") ", {\"name\": \"gzip\"}]", "\"gzip\"", 4,
         0},
        {3, "codecs", "[" SHARDS("[2, 3]", "[" LITTLE "]", "[" LITTLE "]", "") ", " CRC ", " CRC "]", "crc32c", 4, 0},
        {3, "codecs", "[\"odd\", " SHARDS("[2, 3]", "[" LITTLE "]", "[" LITTLE "]", "") "]", "\"odd\"", 4, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_zarr zarr, out;
        resplit_error err;
        int64_t other[2] = {2, 2}, shard[2] = {8, 6};
        assert_works(parse1(all[i].version, all[i].key, all[i].value, &zarr, &err), err);
        assert_int_equal(zarr.opaque.code, RESPLIT_EUNSUPPORTED);
        assert_has(zarr.opaque.message, all[i].why);
        assert_int_equal(zarr.chunk[0], all[i].chunk0);
        assert_int_equal(zarr.n_levels, all[i].n_levels);
        /* copied as it is, or into shards; anything else is refused with the same sentence */
        rs_zarr_wish wish = {.shard = all[i].version == 3 ? shard : NULL};
        assert_works(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), err);
        assert_int_equal(out.opaque.code, RESPLIT_EUNSUPPORTED);
        print(&out);
        if (all[i].n_levels == 0) {
            assert_has(printed[0], all[i].value);
        }
        rs_zarr_release(&out);
        wish = (rs_zarr_wish){.chunk = other};
        assert_fails(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), RESPLIT_EUNSUPPORTED, err, all[i].why);
        rs_zarr_release(&out);
        wish = (rs_zarr_wish){.version = 5 - all[i].version};
        assert_fails(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), RESPLIT_EUNSUPPORTED, err, all[i].why);
        rs_zarr_release(&out);
        rs_zarr_release(&zarr);
    }
}

static void a_rectilinear_grid_has_edges(void **state)
{
    rs_zarr zarr;
    resplit_error err;
    (void)state;
    assert_works(parse1(3, "chunk_grid",
                        "{\"name\": \"rectilinear\", \"configuration\": {\"kind\": \"inline\", \"chunk_shapes\": "
                        "[[[4, 2], 3], 5]}}",
                        &zarr, &err),
                 err);
    const int64_t edges[] = {4, 4, 3};
    assert_int_equal(zarr.n_edges[0], 3);
    assert_memory_equal(zarr.edges[0], edges, sizeof edges);
    assert_null(zarr.edges[1]);
    assert_int_equal(zarr.chunk[0], 4);
    assert_int_equal(zarr.chunk[1], 5);
    print(&zarr);
    assert_has(printed[0], "\"chunk_shapes\": [[4, 4, 3], 5]");
    rs_zarr_release(&zarr);
    static const char *const bad[] = {
        "[[4, 4], 5]", "[[[4, 9000000000000000000]], 5]", "[[0, 10], 5]", "[[10]]", "[[], 5]", "[[[4, -1], 10], 5]",
        "[\"a\", 5]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char grid[200];
        (void)snprintf(grid, sizeof grid,
                       "{\"name\": \"rectilinear\", \"configuration\": {\"kind\": \"inline\", \"chunk_shapes\": %s}}",
                       bad[i]);
        assert_fails(parse1(3, "chunk_grid", grid, &zarr, &err), RESPLIT_EFORMAT, err, "\"chunk_shapes\"");
        rs_zarr_release(&zarr);
    }
}

/* ---- Types and fill values ---- */

typedef struct value {
    int version;
    const char *type, *descr, *fill, *bytes; /* bytes in hexadecimal */
    const char *other;                       /* the fill value in the other version; NULL: cannot be */
} value;

static const value values[] = {
    {2, "\"|b1\"", "|b1", "true", "01", "true"},
    {2, "\"<i2\"", "<i2", "-2", "feff", "-2"},
    {2, "\">i2\"", ">i2", "258", "0102", "258"},
    {2, "\"<i4\"", "<i4", "7.0", "07000000", "7"}, /* old writers */
    {2, "\"<u8\"", "<u8", "18446744073709551615", "ffffffffffffffff", "18446744073709551615"},
    {2, "\"<i8\"", "<i8", "-9223372036854775808", "0000000000000080", "-9223372036854775808"},
    {2, "\"<i8\"", "<i8", "9007199254740993", "0100000000002000", "9007199254740993"},
    {2, "\"<f4\"", "<f4", "\"NaN\"", "0000c07f", "\"NaN\""},
    {2, "\"<f4\"", "<f4", "NaN", "0000c07f", "\"NaN\""},
    {2, "\"<f4\"", "<f4", "null", "00000000", "0.0"},
    {2, "\">f8\"", ">f8", "\"-Infinity\"", "fff0000000000000", "\"-Infinity\""},
    {2, "\"<c8\"", "<c8", "[1.0, \"NaN\"]", "0000803f0000c07f", "[1.0, \"NaN\"]"},
    {2, "\"|S5\"", "|S5", "\"YWI=\"", "6162000000", "\"YWI=\""},
    {2, "\"|S5\"", "|S5", "\"\"", "0000000000", "\"\""},
    {2, "\"<U3\"", "<U3", "\"a\\u00e9\"", "61000000e900000000000000", "\"a\xc3\xa9\""},
    {2, "\">U2\"", ">U2", "\"\\ud83d\\ude00\"", "0001f60000000000", "\"\xf0\x9f\x98\x80\""},
    {2, "\"|V3\"", "|V3", "\"AQID\"", "010203", "\"AQID\""},
    {2, "\"<M8[ns]\"", "<M8[ns]", "-9223372036854775808", "0000000000000080", "-9223372036854775808"},
    {2, "\"<m8[10us]\"", "<m8[10us]", "5", "0500000000000000", "5"},
    {2, "[[\"a\", \"<i2\"], [\"b\", \"|u1\"]]", "[('a', '<i2'), ('b', '|u1')]", "\"AQID\"", "010203", "\"AQID\""},
    {2, "[[\"a\", \"<i2\"], [\"b\", \"|u1\", [2]]]", "[('a', '<i2'), ('b', '|u1', (2,))]", "null", "00000000", NULL},
    {2, "[[\"a\", \">i2\"], [\"b\", [[\"c\", \"|u1\"]]]]", "[('a', '>i2'), ('b', [('c', '|u1')])]", "\"AQID\"",
     "010203", NULL},
    {2, "\"<f16\"", "<f16", "0", "00000000000000000000000000000000", NULL},
    {3, "\"bool\"", "|b1", "false", "00", "false"},
    {3, "\"int8\"", "|i1", "-128", "80", "-128"},
    {3, "\"uint16\"", "<u2", "65535", "ffff", "65535"},
    {3, "\"float16\"", "<f2", "\"NaN\"", "007e", "\"NaN\""},
    {3, "\"float16\"", "<f2", "65519.99", "ff7b", "65504.0"},
    {3, "\"float16\"", "<f2", "2049", "0068", "2048.0"}, /* half way: to even */
    {3, "\"float16\"", "<f2", "2051", "0268", "2052.0"}, /* half way: to even */
    {3, "\"float16\"", "<f2", "5.9604644775390625e-08", "0100", "5.9604644775390625e-08"},
    {3, "\"float16\"", "<f2", "2.9802322387695312e-08", "0000", "0.0"}, /* half of the smallest one */
    {3, "\"float32\"", "<f4", "16777217", "0000804b", "16777216.0"},
    {3, "\"float32\"", "<f4", "16777219", "0200804b", "16777220.0"},
    {3, "\"float32\"", "<f4", "1e-45", "01000000", "1.401298464324817e-45"},
    {3, "\"float32\"", "<f4", "0.1", "cdcccc3d", "0.10000000149011612"},
    {3, "\"float32\"", "<f4", "\"0x7fc00001\"", "0100c07f", "\"NaN\""},
    {3, "\"float32\"", "<f4", "-0.0", "00000080", "-0.0"},
    {3, "\"float64\"", "<f8", "0.1", "9a9999999999b93f", "0.1"},
    {3, "\"float64\"", "<f8", "1e300", "9c7500883ce4377e", "1e+300"},
    {3, "\"float64\"", "<f8", "123456789012345680", "350f63bab4697b43", "1.2345678901234568e+17"},
    {3, "\"float64\"", "<f8", "\"Infinity\"", "000000000000f07f", "\"Infinity\""},
    {3, "\"float64\"", "<f8", "\"0x7FF8000000000000\"", "000000000000f87f", "\"NaN\""},
    {3, "\"complex128\"", "<c16", "[\"-Infinity\", 2]", "000000000000f0ff0000000000000040", "[\"-Infinity\", 2.0]"},
    {3, "\"r24\"", "|V3", "[1, 2, 255]", "0102ff", "\"AQL/\""},
    {3, "{\"name\": \"raw_bytes\", \"configuration\": {\"length_bytes\": 2}}", "|V2", "\"AQI=\"", "0102", "\"AQI=\""},
    {3, "{\"name\": \"numpy.datetime64\", \"configuration\": {\"unit\": \"ms\", \"scale_factor\": 10}}", "<M8[10ms]",
     "\"NaT\"", "0000000000000080", "-9223372036854775808"},
    {3, "{\"name\": \"numpy.timedelta64\", \"configuration\": {\"unit\": \"generic\", \"scale_factor\": 1}}", "<m8",
     "3", "0300000000000000", "3"},
    {3, "{\"name\": \"fixed_length_utf32\", \"configuration\": {\"length_bytes\": 8}}", "<U2", "\"x\"",
     "7800000000000000", "\"x\""},
    {3, "{\"name\": \"null_terminated_bytes\", \"configuration\": {\"length_bytes\": 2}}", "|S2", "\"YQ==\"", "6100",
     "\"YQ==\""},
    {3,
     "{\"name\": \"struct\", \"configuration\": {\"fields\": [{\"name\": \"x\", \"data_type\": \"int16\"}, {\"name\": "
     "\"p\", "
     "\"data_type\": {\"name\": \"struct\", \"configuration\": {\"fields\": [{\"name\": \"y\", \"data_type\": "
     "\"uint8\"}]}}}]}}",
     "[('x', '<i2'), ('p', [('y', '|u1')])]", "{\"p\": {\"y\": 3}, \"x\": 513}", "010203", "\"AQID\""},
    {3, "{\"name\": \"structured\", \"configuration\": {\"fields\": [[\"x\", \"int16\"], [\"y\", \"int8\"]]}}",
     "[('x', '<i2'), ('y', '|i1')]", "\"AQID\"", "010203", "\"AQID\""},
    {3, "\"bfloat16\"", "|V2", "1.00390625", "803f", NULL}, /* half way: to even */
    {3, "\"bfloat16\"", "|V2", "\"NaN\"", "c07f", NULL},
    {3, "\"bfloat16\"", "|V2", "\"0x7fc1\"", "c17f", NULL},
    {3, "\"float8_e4m3\"", "|V1", "\"0x7f\"", "7f", NULL},
};

static void assert_bytes(const value *v, const rs_zarr *zarr)
{
    char text[200] = "";
    for (int64_t i = 0, n = 0; i < zarr->dtype.itemsize && n < 190; i++, n += 2) {
        (void)snprintf(text + n, 3, "%02x", (unsigned char)zarr->fill[i]);
    }
    if (strcmp(text, v->bytes) != 0) {
        fail_msg("fill value %s of %s: %s, expected %s", v->fill, v->type, text, v->bytes);
    }
}

static void fill_values_become_bytes_and_text_of_the_other_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const value *v = &values[i];
        const member change[] = {{v->version == 2 ? "dtype" : "data_type", v->type}, {"fill_value", v->fill}};
        rs_zarr zarr, out;
        resplit_error err;
        char expected[300];
        if (parse(v->version, change, 2, &zarr, &err) != RESPLIT_OK) {
            fail_msg("%s, %s: %s", v->type, v->fill, err.message);
        }
        assert_string_equal(zarr.dtype.descr, v->descr);
        assert_int_equal(zarr.opaque.code, RESPLIT_OK);
        assert_bytes(v, &zarr);
        print(&zarr); /* as it was written */
        (void)snprintf(expected, sizeof expected, "\"fill_value\": %s,", v->fill);
        assert_has(printed[0], expected);
        assert_has(printed[0], v->type);
        rs_zarr_wish wish = {.version = 5 - v->version};
        if (v->other == NULL) {
            assert_int_equal(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), RESPLIT_EUNSUPPORTED);
        } else {
            assert_works(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), err);
            print(&out);
            (void)snprintf(expected, sizeof expected, "\"fill_value\": %s,", v->other);
            assert_has(printed[0], expected);
            rs_zarr_release(&out);
            assert_works(rs_zarr_parse(5 - v->version, printed[0], strlen(printed[0]), "again", &out, &err), err);
            assert_string_equal(out.dtype.descr, v->descr);
            if (strcmp(v->other, "\"NaN\"") != 0) {
                assert_bytes(v, &out);
            }
        }
        rs_zarr_release(&out);
        rs_zarr_release(&zarr);
    }
}

static void wrong_fill_values_are_refused(void **state)
{
    static const struct {
        int version;
        const char *type, *fill;
    } all[] = {
        {2, "\"|u1\"", "256"},
        {2, "\"|u1\"", "-1"},
        {2, "\"|i1\"", "128"},
        {2, "\"|i1\"", "-129"},
        {2, "\"<i4\"", "0.5"},
        {2, "\"<i4\"", "\"0\""},
        {2, "\"<i4\"", "NaN"},
        {2, "\"<u8\"", "18446744073709551616"},
        {2, "\"|b1\"", "2"},
        {2, "\"|b1\"", "\"true\""},
        {2, "\"<f2\"", "65520"},
        {2, "\"<f4\"", "3.5e38"},
        {2, "\"<f8\"", "1e400"},
        {2, "\"<f4\"", "\"nan\""},
        {3, "\"float32\"", "\"0x7fc0\""},
        {3, "\"float32\"", "\"0x7fc0000g\""},
        {2, "\"<c8\"", "[1]"},
        {2, "\"<c8\"", "[1, 2, 3]"},
        {2, "\"|S2\"", "\"YWJj\""},
        {2, "\"|S2\"", "\"a\""},
        {2, "\"|S2\"", "\"Y=I=\""},
        {2, "\"|V2\"", "\"YQ==\""},
        {2, "\"<U1\"", "\"ab\""},
        {2, "\"<U1\"", "7"},
        {3, "\"r16\"", "[1]"},
        {3, "\"r16\"", "[1, 256]"},
        {2, "\"<M8[s]\"", "\"nat\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const member change[] = {{all[i].version == 2 ? "dtype" : "data_type", all[i].type},
                                 {"fill_value", all[i].fill}};
        rs_zarr zarr;
        resplit_error err;
        if (parse(all[i].version, change, 2, &zarr, &err) != RESPLIT_EFORMAT) {
            fail_msg("%s is taken for a %s", all[i].fill, all[i].type);
        }
        assert_has(err.message, "\"fill_value\"");
        rs_zarr_release(&zarr);
    }
}

/* ---- Keys, derived arrays ---- */

static void chunks_have_the_names_of_the_specification(void **state)
{
    static const struct {
        int ndim;
        bool v2;
        char separator;
        const char *name;
    } all[] = {
        {2, false, '/', "c/3/12"}, {2, false, '.', "c.3.12"}, {2, true, '.', "3.12"}, {2, true, '/', "3/12"},
        {0, false, '/', "c"},      {0, true, '.', "0"},       {1, true, '.', "3"},    {1, false, '/', "c/3"},
    };
    int64_t index[2] = {3, 12};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_zarr zarr = {.ndim = all[i].ndim, .v2_keys = all[i].v2, .separator = all[i].separator};
        char name[20];
        resplit_error err;
        assert_works(rs_zarr_key(&zarr, index, name, sizeof name, &err), err);
        assert_string_equal(name, all[i].name);
        assert_fails(rs_zarr_key(&zarr, index, name, strlen(all[i].name), &err), RESPLIT_EUNSUPPORTED, err,
                     "name of a chunk");
    }
}

static void an_array_can_be_made_from_nothing(void **state)
{
    rs_zarr zarr;
    rs_dtype dtype;
    resplit_error err;
    int64_t shape[2] = {10, 6}, chunk[2] = {4, 3}, shard[2] = {8, 6};
    rs_zarr_wish wish = {.shape = shape, .chunk = chunk, .shard = shard};
    (void)state;
    assert_works(rs_dtype_parse("<f4", &dtype, &err), err);
    assert_works(rs_zarr_derive(NULL, &dtype, 2, &wish, &zarr, &err), err);
    print(&zarr);
    /* as zarr-python writes it, white space and the order of keys aside */
    assert_string_equal(
        printed[0],
        "{\n  \"shape\": [10, 6],\n  \"data_type\": \"float32\",\n"
        "  \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [8, 6]}},\n"
        "  \"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": {\"separator\": \"/\"}},\n"
        "  \"fill_value\": 0.0,\n"
        "  \"codecs\": [{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [4, 3], \"codecs\": "
        "[" LITTLE "], \"index_codecs\": [" LITTLE ", " CRC "], \"index_location\": \"end\"}}],\n"
        "  \"attributes\": {},\n  \"zarr_format\": 3,\n  \"node_type\": \"array\",\n  \"storage_transformers\": "
        "[]\n}\n");
    rs_zarr_release(&zarr);
    wish = (rs_zarr_wish){.version = 2, .shape = shape, .chunk = chunk, .has_order = true, .order = {1, 0}};
    assert_works(rs_zarr_derive(NULL, &dtype, 2, &wish, &zarr, &err), err);
    print(&zarr);
    assert_string_equal(
        printed[0], "{\n  \"shape\": [10, 6],\n  \"chunks\": [4, 3],\n  \"dtype\": \"<f4\",\n  \"fill_value\": 0.0,\n"
                    "  \"order\": \"F\",\n  \"dimension_separator\": \".\",\n  \"filters\": null,\n"
                    "  \"compressor\": null,\n  \"zarr_format\": 2\n}\n");
    assert_string_equal(printed[1], "");
    rs_zarr_release(&zarr);
    wish.shard = shard;
    assert_fails(rs_zarr_derive(NULL, &dtype, 2, &wish, &zarr, &err), RESPLIT_EUNSUPPORTED, err, "no shards");
    rs_zarr_release(&zarr);
    wish = (rs_zarr_wish){.shape = shape, .chunk = shard, .shard = chunk};
    assert_fails(rs_zarr_derive(NULL, &dtype, 2, &wish, &zarr, &err), RESPLIT_EFORMAT, err, "cannot hold whole chunks");
    rs_zarr_release(&zarr);
    rs_dtype_release(&dtype);
}

static void casts_change_type_and_fill_value(void **state)
{
    const member change[] = {
        {"dtype", "\">i2\""}, {"fill_value", "-3"}, {"compressor", "{\"id\": \"zlib\", \"level\": 1}"}};
    rs_zarr zarr, out;
    resplit_error err;
    (void)state;
    assert_works(parse(2, change, 3, &zarr, &err), err);
    rs_zarr_wish wish = {.dtype = "<f4"};
    assert_works(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), err);
    print(&out);
    assert_has(printed[0], "\"dtype\": \"<f4\"");
    assert_has(printed[0], "\"fill_value\": -3.0,");
    assert_int_equal(out.chain.n, 1);
    rs_zarr_release(&out);
    wish.dtype = "<i2"; /* byte order alone */
    assert_works(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), err);
    assert_memory_equal(out.fill, "\xfd\xff", 2);
    print(&out);
    assert_has(printed[0], "\"dtype\": \"<i2\"");
    rs_zarr_release(&out);
    wish.dtype = "|u1";
    assert_works(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), err);
    assert_int_equal(out.fill[0], 0); /* the nearest that there is, as for any other value */
    rs_zarr_release(&out);
    wish.names = "[\"x\"]"; /* of two axes */
    wish.fill = "7";
    wish.version = 3;
    assert_fails(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), RESPLIT_EFORMAT, err,
                 "\"dimension_names\" is [\"x\"]");
    rs_zarr_release(&out);
    wish.names = NULL;
    wish.version = 0;
    assert_works(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), err);
    assert_int_equal(out.fill[0], 7);
    rs_zarr_release(&out);
    rs_zarr_release(&zarr);
}

static void names_of_axes_survive_a_change_of_version(void **state)
{
    const member change[] = {{"attributes", "{\"u\": \"m\"}"}, {"dimension_names", "[\"y\", \"x\"]"}};
    rs_zarr zarr, out;
    resplit_error err;
    rs_zarr_wish wish = {.version = 2};
    (void)state;
    assert_works(parse(3, change, 2, &zarr, &err), err);
    assert_works(rs_zarr_derive(&zarr, NULL, 0, &wish, &out, &err), err);
    print(&out);
    assert_string_equal(printed[1], "{\"_ARRAY_DIMENSIONS\": [\"y\", \"x\"],\"u\": \"m\"}\n");
    assert_has(printed[0], "\"dimension_separator\": \"/\"");
    rs_zarr_release(&out);
    wish.version = 3;
    wish.attributes = "{\"_ARRAY_DIMENSIONS\": [\"b\", \"a\"]}";
    assert_works(parse(2, NULL, 0, &out, &err), err);
    rs_zarr_release(&zarr);
    assert_works(rs_zarr_derive(&out, NULL, 0, &wish, &zarr, &err), err);
    print(&zarr);
    assert_has(printed[0], "\"dimension_names\": [\"b\", \"a\"]");
    rs_zarr_release(&out);
    rs_zarr_release(&zarr);
}

/* ---- On disk ---- */

static void put(const char *root, const char *name, const char *text)
{
    char path[1000];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static const char *get(const char *root, const char *name)
{
    static char text[8000];
    char path[1000];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        return NULL;
    }
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    (void)fclose(f);
    return text;
}

static resplit_status note(const char *name, bool is_array, int version, void *payload, resplit_error *err)
{
    char *all = payload;
    size_t n = strlen(all);
    (void)err;
    (void)snprintf(all + n, 2000 - n, "%s%c%d ", name, is_array ? 'a' : 'g', version);
    return RESPLIT_OK;
}

#define GROUP3 "{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {\"k\":  [NaN]}}"

static void arrays_are_opened_and_told_from_groups(void **state)
{
    rs_zarr zarr;
    resplit_error err;
    put(*state, "v2/.zarray", metadata(2, NULL, 0));
    put(*state, "v2/.zattrs", " {\"a\":  1}\n");
    put(*state, "v3/zarr.json", metadata(3, NULL, 0));
    put(*state, "v3/.zarray", metadata(2, NULL, 0));
    put(*state, "g/zarr.json", GROUP3);
    put(*state, "h/.zgroup", "{\"zarr_format\": 2}");
    put(*state, "bad/zarr.json", "{");
    assert_int_equal(rs_zarr_probe(in(*state, "v2")), 2);
    assert_int_equal(rs_zarr_probe(in(*state, "v3")), 3);
    assert_int_equal(rs_zarr_probe(in(*state, "g")), 0);
    assert_int_equal(rs_zarr_probe(*state), 0);
    assert_int_equal(rs_zarr_probe(in(*state, "bad")), 3);
    assert_int_equal(rs_zarr_is_group(in(*state, "g")), 3);
    assert_int_equal(rs_zarr_is_group(in(*state, "h")), 2);
    assert_int_equal(rs_zarr_is_group(in(*state, "v2")), 0);
    assert_works(rs_zarr_open(in(*state, "v2"), &zarr, &err), err);
    assert_string_equal(zarr.attributes.s, "{\"a\":  1}");
    assert_false(zarr.twin || zarr.guessed);
    rs_zarr_release(&zarr);
    assert_works(rs_zarr_open(in(*state, "v3"), &zarr, &err), err);
    assert_true(zarr.version == 3 && zarr.twin);
    rs_zarr_release(&zarr);
    assert_fails(rs_zarr_open(in(*state, "g"), &zarr, &err), RESPLIT_EFORMAT, err, "is a Zarr group");
    assert_fails(rs_zarr_open(in(*state, "none"), &zarr, &err), RESPLIT_EFORMAT, err, "no Zarr array");
    assert_fails(rs_zarr_open(in(*state, "bad"), &zarr, &err), RESPLIT_EFORMAT, err, "not valid JSON");
    rs_zarr_release(&zarr);
}

static void old_nested_stores_are_recognized(void **state)
{
    rs_zarr zarr;
    resplit_error err;
    put(*state, ".zarray", metadata(2, NULL, 0));
    put(*state, "2/1", "");
    assert_works(rs_zarr_open(*state, &zarr, &err), err);
    assert_true(zarr.separator == '/' && zarr.guessed);
    rs_zarr_release(&zarr);
    put(*state, ".zarray", metadata(2, &(member){"dimension_separator", "\".\""}, 1));
    assert_works(rs_zarr_open(*state, &zarr, &err), err);
    assert_true(zarr.separator == '.' && !zarr.guessed);
    rs_zarr_release(&zarr);
}

static void hierarchies_are_walked_parents_first(void **state)
{
    char seen[2000] = "";
    resplit_error err;
    put(*state, "zarr.json", GROUP3);
    put(*state, "b/c/zarr.json", metadata(3, NULL, 0));
    put(*state, "b/c/c/0/0", "");
    put(*state, "b/a/.zarray", metadata(2, NULL, 0));
    put(*state, "a/zarr.json", GROUP3);
    put(*state, "empty/x/y", "");
    put(*state, ".hidden/zarr.json", GROUP3);
    assert_works(rs_zarr_walk(*state, note, seen, &err), err);
    assert_string_equal(seen, "g3 ag3 bg0 b/aa2 b/ca3 ");
    assert_int_equal(symlink("b", in(*state, "empty/harmless")), 0);
    assert_works(rs_zarr_walk(*state, note, seen, &err), err);
    assert_int_equal(symlink("..", in(*state, "a/loop")), 0);
    assert_fails(rs_zarr_walk(*state, note, seen, &err), RESPLIT_EUNSUPPORTED, err, "symbolic link");
}

static void groups_keep_their_attributes_and_lose_copies(void **state)
{
    resplit_error err;
    put(*state, "a/zarr.json",
        "{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {\"k\":  [NaN]}, \"e\": {\"must_understand\": "
        "false}, "
        "\"consolidated_metadata\": {\"kind\": \"inline\", \"must_understand\": false, \"metadata\": {}}}");
    assert_true(rs_zarr_has_consolidated(in(*state, "a")));
    assert_works(rs_zarr_group_print(in(*state, "a"), 0, take, NULL, &err), err);
    assert_string_equal(printed[0],
                        "{\n  \"attributes\": {\"k\":  [NaN]},\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n"
                        "  \"e\": {\"must_understand\": false}\n}\n");
    assert_works(rs_zarr_group_print(in(*state, "a"), 2, take, NULL, &err), err);
    assert_string_equal(printed[0], "{\n  \"zarr_format\": 2\n}\n");
    assert_string_equal(printed[1], "{\"k\":  [NaN]}\n");
    assert_works(rs_zarr_group_print(in(*state, "none"), 3, take, NULL, &err), err); /* one without metadata */
    assert_has(printed[0], "\"attributes\": {}");
    put(*state, "b/zarr.json", "{\"zarr_format\": 3, \"node_type\": \"group\", \"e\": {}}");
    assert_fails(rs_zarr_group_print(in(*state, "b"), 0, take, NULL, &err), RESPLIT_EUNSUPPORTED, err,
                 "must be understood");
}

static void copies_of_metadata_are_made_and_removed(void **state)
{
    resplit_error err;
    const char *array = metadata(3, NULL, 0);
    char want[4000];
    put(*state, "zarr.json", GROUP3);
    put(*state, "s/zarr.json", GROUP3);
    put(*state, "s/x/zarr.json", array);
    put(*state, "o/.zgroup", "{\"zarr_format\": 2}");
    put(*state, "o/y/.zarray", "{\"shape\": [1], \"zarr_format\": 2}");
    put(*state, "o/y/.zattrs", "{}");
    assert_false(rs_zarr_has_consolidated(*state));
    assert_works(rs_zarr_consolidate(*state, &err), err);
    assert_true(rs_zarr_has_consolidated(*state));
    const char *text = get(*state, "zarr.json");
    assert_has(text, "\"attributes\": {\"k\":  [NaN]}");
    assert_has(text, "\"consolidated_metadata\": {\"kind\": \"inline\", \"must_understand\": false, \"metadata\": {");
    assert_has(text, "\"s\": {");
    assert_has(text, "\"s/x\": {");
    assert_null(strstr(text, "\"o")); /* version 2 */
    assert_works(rs_zarr_consolidate(in(*state, "o"), &err), err);
    (void)snprintf(want, sizeof want,
                   "{\n  \"metadata\": {\n    \".zgroup\": {\"zarr_format\": 2},\n    \"y/.zarray\": "
                   "{\"shape\": [1], \"zarr_format\": 2},\n    \"y/.zattrs\": {}\n  },\n"
                   "  \"zarr_consolidated_format\": 1\n}\n");
    assert_string_equal(get(*state, "o/.zmetadata"), want);
    assert_works(rs_zarr_unconsolidate(in(*state, "s/not/yet/there/"), &err), err);
    assert_null(strstr(get(*state, "zarr.json"), "consolidated"));
    assert_has(get(*state, "zarr.json"), "\"attributes\": {\"k\":  [NaN]}");
    assert_works(rs_zarr_unconsolidate(in(*state, "o/y"), &err), err);
    assert_null(get(*state, "o/.zmetadata"));
    assert_false(rs_zarr_has_consolidated(in(*state, "o")));
    assert_fails(rs_zarr_consolidate(in(*state, "s/x"), &err), RESPLIT_EFORMAT, err, "no Zarr group");
}

static void levels_of_images_are_found(void **state)
{
    char seen[2000] = "";
    resplit_error err;
    put(*state, "a/.zgroup", "{\"zarr_format\": 2}");
    put(*state, "a/.zattrs", "{\"multiscales\": [{\"datasets\": [{\"path\": \"0\"}, {\"path\": \"s/1\"}]}]}");
    put(*state, "a/0/.zarray", metadata(2, NULL, 0));
    put(*state, "b/zarr.json",
        "{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {\"ome\": {\"multiscales\": [{\"datasets\": "
        "[{\"path\": \"0\"}]}]}}}");
    put(*state, "b/0/zarr.json", metadata(3, NULL, 0));
    assert_works(rs_zarr_multiscale(in(*state, "a"), note, seen, &err), err);
    assert_string_equal(seen, "0a2 s/1g0 ");
    seen[0] = '\0';
    assert_works(rs_zarr_multiscale(in(*state, "b"), note, seen, &err), err);
    assert_string_equal(seen, "0a3 ");
    static const char *const bad[] = {"../x", "/etc", "", "a/../../b", "a//b", "."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "{\"multiscales\": [{\"datasets\": [{\"path\": \"%s\"}]}]}", bad[i]);
        put(*state, "a/.zattrs", text);
        assert_fails(rs_zarr_multiscale(in(*state, "a"), note, seen, &err), RESPLIT_EFORMAT, err, "leads out");
    }
}

/* ---- Arrays that others wrote ---- */

static resplit_status open_it(const char *name, bool is_array, int version, void *payload, resplit_error *err)
{
    char path[2000];
    rs_zarr zarr, again;
    (void)snprintf(path, sizeof path, "%s/%s", (const char *)payload, name);
    if (!is_array) {
        return RESPLIT_OK;
    }
    if (rs_zarr_open(path, &zarr, err) != RESPLIT_OK) {
        fail_msg("%s", err->message);
    }
    print(&zarr);
    assert_works(rs_zarr_parse(version, printed[0], strlen(printed[0]), path, &again, err), *err);
    assert_memory_equal(zarr.chunk, again.chunk, sizeof zarr.chunk);
    assert_memory_equal(zarr.fill, again.fill, (size_t)zarr.dtype.itemsize);
    rs_zarr_release(&again);
    rs_zarr_release(&zarr);
    return RESPLIT_OK;
}

static void every_array_of_other_programs_is_read(void **state)
{
    static const char *const sets[] = {"zarrita", "zarrs", "zarr_implementations"};
    const char *place = getenv("RESPLIT_FIXTURES");
    char beside[2000], command[5000];
    (void)snprintf(beside, sizeof beside, "%.*s../../../shared/fixtures", (int)(strrchr(__FILE__, '/') + 1 - __FILE__),
                   __FILE__);
    place = place != NULL ? place : beside;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        resplit_error err;
        (void)snprintf(command, sizeof command, "%s/%s.tar.zst", place, sets[i]);
        if (access(command, R_OK) != 0) {
            print_message("no fixtures in %s\n", place);
            skip();
        }
        (void)snprintf(command, sizeof command, "tar --zstd -xf '%s/%s.tar.zst' -C '%s'", place, sets[i],
                       (const char *)*state);
        assert_int_equal(system(command), 0);
        assert_works(rs_zarr_walk(*state, open_it, *state, &err), err);
    }
}

int main(void)
{
#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_2_array_is_read),
        cmocka_unit_test(a_version_3_array_is_read),
        cmocka_unit_test(wrong_metadata_name_file_key_and_value),
        cmocka_unit_test(transposes_are_an_order_of_axes),
        cmocka_unit_test(shards_may_nest_and_be_transposed),
        cmocka_unit_test(what_cannot_be_decoded_is_opaque_and_says_why),
        cmocka_unit_test(a_rectilinear_grid_has_edges),
        cmocka_unit_test(fill_values_become_bytes_and_text_of_the_other_version),
        cmocka_unit_test(wrong_fill_values_are_refused),
        cmocka_unit_test(chunks_have_the_names_of_the_specification),
        cmocka_unit_test(an_array_can_be_made_from_nothing),
        cmocka_unit_test(casts_change_type_and_fill_value),
        cmocka_unit_test(names_of_axes_survive_a_change_of_version),
        ON_DISK(arrays_are_opened_and_told_from_groups),
        ON_DISK(old_nested_stores_are_recognized),
        ON_DISK(hierarchies_are_walked_parents_first),
        ON_DISK(groups_keep_their_attributes_and_lose_copies),
        ON_DISK(copies_of_metadata_are_made_and_removed),
        ON_DISK(levels_of_images_are_found),
        ON_DISK(every_array_of_other_programs_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
