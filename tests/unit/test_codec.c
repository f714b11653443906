/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_codec.c - codecs: what they make of bytes, what they refuse, and that damage is never more than an error.
 *
 * What numcodecs wrote (fixtures beside the checkout, or where RESPLIT_FIXTURES points) must be read, and written again
 * byte for byte where the library decides nothing. Sums are compared with published values.
 *
 * usage: test_codec           runs the tests
 *        test_codec serve     encodes and decodes what comes from standard input: see tests/python/test_codecs.py
 */
#include "files.h"

#include "codec/checksum.h"
#include "codec/codec.h"

static const rs_element u2 = {'u', 2, '<'}, f4 = {'f', 4, '<'}, f8 = {'f', 8, '<'}, b1 = {'b', 1, '|'};

/* ---- Helpers --------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Smooth, with some noise: neither all the same nor incompressible. */
static uint8_t *make_data(int64_t n, uint64_t seed)
{
    uint8_t *data = malloc((size_t)n + 1);
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++) {
        int64_t value = i / 2 * 3 + (int64_t)(next_random(&seed) & 7);
        data[i] = (uint8_t)(i % 2 == 0 ? value : value >> 8);
    }
    return data;
}

typedef struct bytes {
    uint8_t *at; /* of exactly this size, so that a sanitizer sees what is beyond */
    int64_t n;
} bytes;

static bytes encode(const rs_chain *chain, const void *data, int64_t n)
{
    rs_coder *coder = NULL;
    resplit_error err = {0};
    bytes out = {malloc((size_t)rs_chain_bound(chain, n) + 1), 0};
    assert_non_null(out.at);
    assert_works(rs_coder_new(chain, n, true, &coder, &err), err);
    assert_works(rs_encode(coder, data, out.at, &out.n, &err), err);
    assert_true(out.n <= rs_chain_bound(chain, n));
    rs_coder_free(coder);
    out.at = realloc(out.at, out.n > 0 ? (size_t)out.n : 1);
    return out;
}

static resplit_status decode(const rs_chain *chain, const void *data, int64_t n_in, void *out, int64_t n,
                             resplit_error *err)
{
    rs_coder *coder = NULL;
    resplit_status rc = rs_coder_new(chain, n, false, &coder, err);
    if (rc == RESPLIT_OK) {
        rc = rs_decode(coder, data, n_in, out, err);
    }
    rs_coder_free(coder);
    return rc;
}

static void parse(const char *text, const rs_element *element, rs_chain *chain)
{
    resplit_error err = {0};
    assert_works(rs_chain_parse(text, element, chain, &err), err);
}

/* Adds the stages of a JSON array to a chain. */
static resplit_status add_all(const char *json, int version, rs_element element, rs_chain *chain, resplit_error *err)
{
    rs_json_document *document = NULL;
    rs_text name = {0};
    resplit_status rc = rs_json_parse(json, strlen(json), "test", &document, err);
    memset(chain, 0, sizeof *chain);
    for (const rs_json *one = rc == RESPLIT_OK ? rs_json_root(document)->first : NULL; one != NULL && rc == RESPLIT_OK;
         one = one->next) {
        const char *key = version == 2 ? "id" : "name";
        rs_text_release(&name);
        assert_int_equal(rs_json_add_string(rs_json_get(one, key), &name, NULL), RESPLIT_OK);
        rc =
            rs_chain_add(chain, version, name.s, version == 2 ? one : rs_json_get(one, "configuration"), &element, err);
        element = rc == RESPLIT_OK ? rs_stage_element(&chain->stage[chain->n - 1]) : element;
    }
    rs_text_release(&name);
    rs_json_free(document);
    return rc;
}

/* ---- Round trips ----------------------------------------------------------------------------- */

static const char *const lossless[] = {
    "none",
    "zstd",
    "zstd:1",
    "zstd:-5",
    "zstd:19:true",
    "zlib:0",
    "zlib:1",
    "zlib:6",
    "zlib:9",
    "zlib:-1",
    "gzip:1",
    "gzip:6",
    "lz4",
    "lz4:100",
    "bz2:1",
    "bz2:9",
    "lzma:0",
    "lzma:1:2",
    "blosc",
    "blosc:blosclz:5:shuffle",
    "blosc:blosclz:9:bitshuffle",
    "blosc:lz4:5:bitshuffle",
    "blosc:lz4:0",
    "blosc:lz4hc:9:noshuffle",
    "blosc:zlib:1:shuffle",
    "blosc:zstd:5:shuffle",
    "blosc:zstd:1:autoshuffle:4096",
    "shuffle:0",
    "shuffle:1",
    "crc32",
    "crc32:end",
    "crc32c",
    "crc32c:start",
    "adler32",
    "fletcher32",
    "zstd:3+crc32c",
    "zstd:3+crc32+crc32c+adler32",
    "crc32c+zstd:1",
    "crc32+crc32c+lz4+blosc:lz4:1:noshuffle+bz2+fletcher32",
};

static void round_trip(const char *text, const rs_element *element, int64_t n)
{
    rs_chain chain;
    resplit_error err = {0};
    parse(text, element, &chain);
    uint8_t *data = make_data(n, 1), *back = calloc((size_t)n + 1, 1);
    assert_non_null(back);
    bytes stored = encode(&chain, data, n);
    assert_works(decode(&chain, stored.at, stored.n, back, n, &err), err);
    if (n > 0) {
        assert_memory_equal(back, data, (size_t)n);
    }
    free(stored.at);
    free(back);
    free(data);
}

static void what_is_encoded_comes_back(void **state)
{
    static const int64_t sizes[] = {0, 1, 7, 4096, 1000000};
    (void)state;
    for (size_t i = 0; i < sizeof lossless / sizeof *lossless; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            round_trip(lossless[i], &u2, sizes[k]);
        }
    }
}

static void elements_come_back(void **state)
{
    static const char *const texts[] = {
        "shuffle:2",  "shuffle:4", "shuffle:8",    "shuffle:3",    "shuffle:12",   "delta",
        "delta:u1",   "delta:i4",  "delta:<i8",    "delta:>i4",    "delta:u2:>i8", "delta:<u2:<u4+shuffle:4+zlib:6",
        "astype:>u2", "astype:i4", "astype:f8:i4", "astype:f4:i2", "astype:u4:i4", "bitround:23"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rs_chain chain;
        parse(texts[i], strstr(texts[i], "bitround") != NULL ? &f4 : &u2, &chain);
        assert_true(rs_stage_is_lossless(&chain.stage[0]));
        round_trip(texts[i], strstr(texts[i], "bitround") != NULL ? &f4 : &u2, 0);
        round_trip(texts[i], strstr(texts[i], "bitround") != NULL ? &f4 : &u2, 24);
        round_trip(texts[i], strstr(texts[i], "bitround") != NULL ? &f4 : &u2, 24 * 1000);
        round_trip(texts[i], strstr(texts[i], "bitround") != NULL ? &f4 : &u2, 24 * 10007);
    }
}

static void a_coder_is_used_again_and_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lossless / sizeof *lossless; i++) {
        enum { N = 20000 };
        rs_chain chain;
        rs_coder *in = NULL, *out = NULL;
        resplit_error err = {0};
        uint8_t back[N];
        parse(lossless[i], &u2, &chain);
        assert_works(rs_coder_new(&chain, N, true, &in, &err), err);
        assert_works(rs_coder_new(&chain, N, false, &out, &err), err);
        uint8_t *stored = malloc((size_t)rs_chain_bound(&chain, N));
        assert_non_null(stored);
        for (uint64_t seed = 1; seed < 5; seed++) {
            uint8_t *data = make_data(N, seed);
            int64_t n = 0;
            assert_works(rs_encode(in, data, stored, &n, &err), err);
            if (n > 8) { /* a block that failed leaves nothing behind */
                (void)rs_decode(out, stored, n - 5, back, NULL);
            }
            assert_works(rs_decode(out, stored, n, back, &err), err);
            assert_memory_equal(back, data, N);
            free(data);
        }
        free(stored);
        rs_coder_free(in);
        rs_coder_free(out);
    }
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static void try_damaged(rs_coder *coder, const uint8_t *data, int64_t n_in, int64_t n)
{
    resplit_error err = {0};
    uint8_t *in = malloc(n_in > 0 ? (size_t)n_in : 1), *out = malloc((size_t)n);
    assert_non_null(in);
    assert_non_null(out);
    memcpy(in, data, (size_t)n_in);
    resplit_status rc = rs_decode(coder, in, n_in, out, &err);
    if (rc != RESPLIT_OK) {
        assert_true(rc == RESPLIT_EFORMAT || rc == RESPLIT_EUNSUPPORTED);
        assert_true(err.code == rc && err.message[0] != '\0');
    }
    free(in);
    free(out);
}

static void damage_is_an_error_or_other_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lossless / sizeof *lossless; i++) {
        enum { N = 3000, MORE = 40 };
        rs_chain chain;
        rs_coder *coder = NULL;
        resplit_error err = {0};
        uint64_t seed = 77 + i;
        uint8_t *data = make_data(N, 5), damaged[3 * N];
        parse(lossless[i], &u2, &chain);
        bytes stored = encode(&chain, data, N);
        assert_works(rs_coder_new(&chain, N, false, &coder, &err), err);
        for (int64_t cut = 0; cut < stored.n; cut += cut < 64 ? 1 : 97) {
            try_damaged(coder, stored.at, cut, N);
        }
        memset(damaged, 0, sizeof damaged);
        memcpy(damaged, stored.at, (size_t)stored.n);
        for (int64_t more = 1; more < MORE; more++) {
            try_damaged(coder, damaged, stored.n + more, N);
        }
        for (int flip = 0; flip < 400; flip++) {
            int64_t at = (int64_t)(next_random(&seed) % (uint64_t)(flip % 2 == 0 ? stored.n : rs_min(stored.n, 40)));
            memcpy(damaged, stored.at, (size_t)stored.n);
            damaged[at] ^= (uint8_t)(1 + next_random(&seed) % 255);
            try_damaged(coder, damaged, stored.n, N);
        }
        rs_coder_free(coder);
        free(stored.at);
        free(data);
    }
}

static void a_block_of_another_size_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lossless / sizeof *lossless; i++) {
        rs_chain chain;
        resplit_error err = {0};
        uint8_t *data = make_data(1000, 3), out[1200];
        parse(lossless[i], &u2, &chain);
        bytes stored = encode(&chain, data, 1000);
        assert_int_equal(decode(&chain, stored.at, stored.n, out, 900, &err), RESPLIT_EFORMAT);
        assert_int_equal(decode(&chain, stored.at, stored.n, out, 1200, &err), RESPLIT_EFORMAT);
        free(stored.at);
        free(data);
    }
}

static void headers_that_promise_too_much_are_refused(void **state)
{
    static const struct {
        const char *codec, *bytes;
        size_t n;
        const char *sentence;
    } all[] = {
        {"blosc", "\x02\x01\x21\x02\xff\xff\xff\x7f\x00\x00\x10\x00\x14\x00\x00\x00....", 20, "'blosc'"},
        {"blosc", "\x02\x01\x21\x02\xe8\x03\x00\x00\x00\x00\x10\x00\xff\xff\xff\x7f....", 20, "end too early"},
        {"blosc", "", 0, "end too early"},
        {"lz4", "\xff\xff\xff\x7f....", 8, "more than the 1000 bytes"},
        {"lz4", "\xe8\x03", 2, "no block of 'lz4'"},
        /* a frame with a window of 2 GiB */
        {"zstd", "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9, "gives 0 bytes where there should be 1000"},
        {"zstd", "\x27\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9, "no frame of 'zstd' at byte 0 of 9"},
        {"zstd", "", 0, "no frame of 'zstd'"},
        /* .lzma with a dictionary of 4 GiB - 1 */
        {"lzma:6:2", "\x5d\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00", 18, "bytes of memory"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_chain chain;
        resplit_error err = {0};
        uint8_t out[1000];
        parse(all[i].codec, &u2, &chain);
        resplit_status rc = decode(&chain, all[i].bytes, (int64_t)all[i].n, out, sizeof out, &err);
        assert_true(rc == RESPLIT_EFORMAT || rc == RESPLIT_EUNSUPPORTED);
        if (strstr(err.message, all[i].sentence) == NULL) {
            fail_msg("expected '%s' in '%s'", all[i].sentence, err.message);
        }
    }
}

/* As numcodecs, that is Python, has it. */
static void what_follows_a_stream_is_as_in_python(void **state)
{
    static const struct {
        const char *codec, *more;
        size_t n;
        resplit_status code;
    } all[] = {
        {"zlib:1", "garbage", 7, RESPLIT_OK},
        {"gzip:1", "garbage", 7, RESPLIT_EFORMAT},
        {"gzip:1", "\0\0\0", 3, RESPLIT_OK},
        {"bz2:1", "garbage", 7, RESPLIT_OK},
        {"bz2:1", "BZ", 2, RESPLIT_EFORMAT},
        {"lzma:0", "garbage garbage", 15, RESPLIT_OK},
        {"lzma:0", "\xfd", 1, RESPLIT_EFORMAT},
        {"zstd:1", "garbage", 7, RESPLIT_EFORMAT},
        {"zstd:1", "\x50\x2a\x4d\x18\x02\0\0\0..", 10, RESPLIT_OK}, /* a frame to skip */
        {"blosc", "garbage", 7, RESPLIT_OK},
        {"lz4", "garbage", 7, RESPLIT_EFORMAT},
        {"crc32c", "garb", 4, RESPLIT_EFORMAT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_chain chain;
        resplit_error err = {0};
        uint8_t *data = make_data(500, 3), out[500];
        parse(all[i].codec, &u2, &chain);
        bytes stored = encode(&chain, data, 500);
        stored.at = realloc(stored.at, (size_t)stored.n + all[i].n);
        assert_non_null(stored.at);
        memcpy(stored.at + stored.n, all[i].more, all[i].n);
        if (decode(&chain, stored.at, stored.n + (int64_t)all[i].n, out, 500, &err) != all[i].code) {
            fail_msg("%s followed by '%s': '%s'", all[i].codec, all[i].more, err.message);
        }
        free(stored.at);
        free(data);
    }
}

static void several_streams_in_a_row_are_one(void **state)
{
    static const char *const texts[] = {"gzip:1", "zstd:1", "bz2:1", "lzma:0"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rs_chain chain;
        resplit_error err = {0};
        uint8_t *data = make_data(5000, 3), out[5000];
        parse(texts[i], &u2, &chain);
        bytes a = encode(&chain, data, 3000), b = encode(&chain, data + 3000, 2000);
        a.at = realloc(a.at, (size_t)(a.n + b.n));
        assert_non_null(a.at);
        memcpy(a.at + a.n, b.at, (size_t)b.n);
        assert_works(decode(&chain, a.at, a.n + b.n, out, 5000, &err), err);
        assert_memory_equal(out, data, 5000);
        free(a.at);
        free(b.at);
        free(data);
    }
}

/* ---- Settings -------------------------------------------------------------------------------- */

static void settings_are_printed_as_they_are_read(void **state)
{
    static const struct {
        const char *v2, *v3; /* NULL: the same stage reads from the other one, too */
    } all[] = {
        {"{\"id\": \"zstd\", \"level\": 3}",
         "{\"name\": \"zstd\", \"configuration\": {\"level\": 3, \"checksum\": false}}"},
        {"{\"id\": \"zstd\", \"level\": -7, \"checksum\": true}",
         "{\"name\": \"zstd\", \"configuration\": {\"level\": -7, \"checksum\": true}}"},
        {"{\"id\": \"gzip\", \"level\": 5}", "{\"name\": \"gzip\", \"configuration\": {\"level\": 5}}"},
        {"{\"id\": \"zlib\", \"level\": -1}", "{\"name\": \"numcodecs.zlib\", \"configuration\": {\"level\": -1}}"},
        {"{\"id\": \"blosc\", \"cname\": \"lz4\", \"clevel\": 5, \"shuffle\": 1, \"blocksize\": 0}",
         "{\"name\": \"blosc\", \"configuration\": {\"cname\": \"lz4\", \"clevel\": 5, \"shuffle\": \"shuffle\", "
         "\"typesize\": 8, \"blocksize\": 0}}"},
        {"{\"id\": \"lz4\", \"acceleration\": 0}",
         "{\"name\": \"numcodecs.lz4\", \"configuration\": {\"acceleration\": 0}}"},
        {"{\"id\": \"bz2\", \"level\": 9}", "{\"name\": \"numcodecs.bz2\", \"configuration\": {\"level\": 9}}"},
        {"{\"id\": \"lzma\", \"format\": 1, \"check\": -1, \"preset\": null, \"filters\": null}",
         "{\"name\": \"numcodecs.lzma\", \"configuration\": {\"format\": 1, \"check\": -1, \"preset\": null, "
         "\"filters\": null}}"},
        {"{\"id\": \"lzma\", \"format\": 3, \"check\": -1, \"preset\": null, \"filters\": [{\"id\": 3, \"dist\": 4}, "
         "{\"id\": 33, \"preset\": 1, \"lc\": 0, \"lp\": 2, \"pb\": 0, \"nice_len\": 64}]}",
         NULL},
        {"{\"id\": \"shuffle\", \"elementsize\": 4}",
         "{\"name\": \"numcodecs.shuffle\", \"configuration\": {\"elementsize\": 4}}"},
        {"{\"id\": \"crc32\"}", "{\"name\": \"numcodecs.crc32\", \"configuration\": {}}"},
        {"{\"id\": \"crc32c\"}", "{\"name\": \"crc32c\"}"},
        {"{\"id\": \"crc32c\", \"location\": \"start\"}",
         "{\"name\": \"numcodecs.crc32c\", \"configuration\": {\"location\": \"start\"}}"},
        {"{\"id\": \"fletcher32\"}", "{\"name\": \"numcodecs.fletcher32\", \"configuration\": {}}"},
        {"{\"id\": \"delta\", \"dtype\": \"<f8\", \"astype\": \"<f4\"}",
         "{\"name\": \"numcodecs.delta\", \"configuration\": {\"dtype\": \"<f8\", \"astype\": \"<f4\"}}"},
        {"{\"id\": \"fixedscaleoffset\", \"scale\": 10, \"offset\": 0.1, \"dtype\": \"<f8\", "
         "\"astype\": \"|u1\"}",
         NULL},
        {"{\"id\": \"fixedscaleoffset\", \"scale\": 2.0, \"offset\": 1e+300, \"dtype\": \"<f8\", \"astype\": \"<f8\"}",
         NULL},
        {"{\"id\": \"quantize\", \"digits\": -2, \"dtype\": \"<f8\", \"astype\": \"<f2\"}", NULL},
        {"{\"id\": \"bitround\", \"keepbits\": 12}",
         "{\"name\": \"numcodecs.bitround\", \"configuration\": {\"keepbits\": 12}}"},
        {"{\"id\": \"astype\", \"encode_dtype\": \"<f4\", \"decode_dtype\": \"<f8\"}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_chain two, three;
        resplit_error err = {0};
        rs_text text = {0}, json = {0};
        assert_int_equal(rs_text_add(&json, NULL, "[%s]", all[i].v2), RESPLIT_OK);
        assert_works(add_all(json.s, 2, f8, &two, &err), err);
        assert_works(rs_stage_print(&two.stage[0], 2, &text, &err), err);
        assert_string_equal(text.s, all[i].v2);
        rs_text_release(&text);
        assert_works(rs_stage_print(&two.stage[0], 3, &text, &err), err);
        if (all[i].v3 != NULL) {
            assert_string_equal(text.s, all[i].v3);
        }
        rs_text_release(&json);
        assert_int_equal(rs_text_add(&json, NULL, "[%s]", text.s), RESPLIT_OK);
        assert_works(add_all(json.s, 3, f8, &three, &err), err);
        assert_true(rs_chain_is(&two, &three));
        rs_text_release(&text);
        rs_text_release(&json);
    }
}

static void what_a_user_writes_is_what_is_shown(void **state)
{
    static const struct {
        const char *written, *shown;
    } all[] = {{"none", "none"},
               {"zstd:3+crc32c", "zstd:3+crc32c"},
               {"zstd:1:true", "zstd:1:true"},
               {"zstd", "zstd:0"},
               {"blosc", "blosc:lz4:5:shuffle"},
               {"blosc:zstd:9:bitshuffle:65536", "blosc:zstd:9:bitshuffle:65536"},
               {"blosc:lz4:5:2", "blosc:lz4:5:bitshuffle"},
               {"shuffle:2+zlib:6", "shuffle+zlib:6"},
               {"shuffle", "shuffle"},
               {"shuffle:4", "shuffle:4"},
               {"delta", "delta:<u2:<u2"},
               {"delta:int16:i4", "delta:<i2:<i4"},
               {"crc32:end", "crc32:end"},
               {"lzma", "lzma"},
               {"lzma:6", "lzma:6"},
               {"astype:f4", "astype:<f4:<u2"},
               {"astype:f4+bitround:7+zstd:2", "astype:<f4:<u2+bitround:7+zstd:2"},
               {"astype:f8+fixedscaleoffset:1.5:10:f8:i2", "astype:<f8:<u2+fixedscaleoffset:1.5:10:<f8:<i2"}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_chain chain, again;
        char text[200];
        parse(all[i].written, &u2, &chain);
        assert_string_equal(rs_chain_text(&chain, text), all[i].shown);
        parse(text, &u2, &again);
        assert_true(rs_chain_is(&chain, &again));
    }
}

static void wrong_words_are_refused(void **state)
{
    static const struct {
        const char *text;
        resplit_status code;
        const char *sentence;
    } all[] = {
        {"", RESPLIT_EINVAL, "codec '' is not known; there are blosc zstd"},
        {"zip", RESPLIT_EINVAL, "codec 'zip' is not known"},
        {"zstd+", RESPLIT_EINVAL, "codec '' is not known"},
        {"zstd+none", RESPLIT_EINVAL, "codec 'none' is not known"},
        {"zstd:", RESPLIT_EINVAL, "bad setting ''"},
        {"zstd:fast", RESPLIT_EINVAL, "codec 'zstd' has level \"fast\"; an integer from"},
        {"zstd:3:true:4", RESPLIT_EINVAL, "too many settings: zstd has 2"},
        {"zstd:3:maybe", RESPLIT_EINVAL, "true or false is needed"},
        {"zstd:3\"", RESPLIT_EINVAL, "bad setting '3\"'"},
        {"zlib:10", RESPLIT_EINVAL, "codec 'zlib' has level 10; an integer from -1 to 9 is needed"},
        {"bz2:0", RESPLIT_EINVAL, "from 1 to 9"},
        {"blosc:best", RESPLIT_EINVAL, "codec 'blosc' has cname \"best\"; one of blosclz, lz4"},
        {"blosc:lz4:11", RESPLIT_EINVAL, "clevel 11"},
        {"blosc:lz4:5:round", RESPLIT_EINVAL, "one of noshuffle, shuffle, bitshuffle"},
        {"crc32c:middle", RESPLIT_EINVAL, "one of start, end"},
        {"bitround:3", RESPLIT_EUNSUPPORTED, "floating-point numbers only"},
        {"astype:f4+bitround:24", RESPLIT_EINVAL, "from 0 to 23"},
        {"astype:c8", RESPLIT_EUNSUPPORTED, "encode_dtype \"c8\"; booleans, integers"},
        {"astype", RESPLIT_EINVAL, "has no encode_dtype, which it needs"},
        {"packbits", RESPLIT_EUNSUPPORTED, "for booleans, not for 'u2'"},
        {"lzma:6:3", RESPLIT_EINVAL, "no filters"},
        {"zstd+zstd+zstd+zstd+zstd+zstd+zstd+zstd+zstd", RESPLIT_EUNSUPPORTED, "more than 8 codecs"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_chain chain;
        resplit_error err = {0};
        assert_fails(rs_chain_parse(all[i].text, &u2, &chain, &err), all[i].code, err, all[i].sentence);
    }
}

static void wrong_metadata_is_refused(void **state)
{
    static const struct {
        int version;
        const char *json;
        resplit_status code;
        const char *sentence;
    } all[] = {
        {2, "[{\"id\": \"vlen-utf8\"}]", RESPLIT_EUNSUPPORTED, "codec 'vlen-utf8' is not known"},
        {3, "[{\"name\": \"zlib\"}]", RESPLIT_EUNSUPPORTED, "codec 'zlib' is not known"},
        {3, "[{\"name\": \"numcodecs.pcodec\"}]", RESPLIT_EUNSUPPORTED, "is not known"},
        {2, "[{\"id\": \"zstd\", \"level\": 3, \"workers\": 8}]", RESPLIT_EUNSUPPORTED,
         "\"workers\" that is not known"},
        {2, "[{\"id\": \"zstd\", \"level\": 3.5}]", RESPLIT_EFORMAT, "level 3.5"},
        {3, "[{\"name\": \"zstd\", \"configuration\": [3]}]", RESPLIT_EFORMAT, "not an object"},
        {2, "[{\"id\": \"delta\", \"dtype\": \"<M8[ns]\"}]", RESPLIT_EUNSUPPORTED, "dtype \"<M8[ns]\""},
        {2, "[{\"id\": \"delta\", \"dtype\": \"|O\"}]", RESPLIT_EUNSUPPORTED, "dtype \"|O\""},
        {2, "[{\"id\": \"quantize\", \"digits\": 1, \"dtype\": \"<i4\"}]", RESPLIT_EFORMAT, "floating-point"},
        {2, "[{\"id\": \"quantize\", \"dtype\": \"<f4\"}]", RESPLIT_EFORMAT, "has no digits"},
        {2, "[{\"id\": \"fixedscaleoffset\", \"offset\": 1000, \"scale\": 1, \"dtype\": \"|i1\"}]",
         RESPLIT_EUNSUPPORTED, "offset 1000, which its dtype '|i1' does not hold"},
        {2, "[{\"id\": \"fixedscaleoffset\", \"offset\": \"x\", \"scale\": 1, \"dtype\": \"<f8\"}]", RESPLIT_EFORMAT,
         "no number"},
        {2, "[{\"id\": \"lzma\", \"format\": 3, \"filters\": [{\"id\": 4}, {\"id\": 33}]}]", RESPLIT_EUNSUPPORTED,
         "filters that are not known"},
        {2, "[{\"id\": \"lzma\", \"preset\": 6, \"filters\": [{\"id\": 33}]}]", RESPLIT_EFORMAT, "only one of them"},
        {2, "[{\"id\": \"lzma\", \"preset\": 77}]", RESPLIT_EUNSUPPORTED, "cannot be used"},
        {2, "[{\"id\": \"lzma\", \"format\": 2, \"check\": 4}]", RESPLIT_EFORMAT, "only format 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_chain chain;
        resplit_error err = {0};
        assert_fails(add_all(all[i].json, all[i].version, f8, &chain, &err), all[i].code, err, all[i].sentence);
    }
}

static void levels_do_not_matter_for_decoding(void **state)
{
    static const struct {
        const char *a, *b;
        bool like;
    } all[] = {{"zstd:1", "zstd:19:true", true},
               {"zlib:1", "gzip:1", false},
               {"blosc:lz4:1", "blosc:zstd:9:bitshuffle", true},
               {"shuffle:2+zlib:1", "shuffle:4+zlib:1", false},
               {"zstd", "zstd+crc32c", false},
               {"crc32", "crc32:end", false},
               {"delta:i2", "delta:u2", false},
               {"lzma:1", "lzma:9", true},
               {"lzma:1", "lzma:1:2", false},
               {"none", "none", true}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_chain a, b;
        parse(all[i].a, &u2, &a);
        parse(all[i].b, &u2, &b);
        assert_int_equal(rs_chain_decodes_like(&a, &b), all[i].like);
        assert_int_equal(rs_chain_is(&a, &b), strcmp(all[i].a, all[i].b) == 0);
        assert_true(rs_chain_is(&a, &a));
    }
}

static void kinds_and_elements_are_told(void **state)
{
    rs_chain chain;
    (void)state;
    parse("delta:u2:>i4+shuffle:4+zstd+crc32c", &u2, &chain);
    rs_element element = rs_stage_element(&chain.stage[0]);
    assert_true(element.kind == 'i' && element.itemsize == 4 && element.byteorder == '>');
    element = rs_stage_element(&chain.stage[1]);
    assert_true(element.kind == 'V' && element.itemsize == 1 && element.byteorder == '|');
    assert_true(rs_stage_is_on_elements(&chain.stage[0]) && !rs_stage_is_on_elements(&chain.stage[1]));
    assert_true(rs_stage_is_compressor(&chain.stage[2]) && !rs_stage_is_compressor(&chain.stage[3]));
    parse("packbits", &b1, &chain);
    assert_int_equal(rs_chain_bound(&chain, 17), 4);
    parse("delta", &f4, &chain);
    assert_false(rs_stage_is_lossless(&chain.stage[0]));
    assert_int_equal(rs_chain_bound(&chain, 17), -1);
}

static void what_is_too_large_is_known_before(void **state)
{
    static const char *const texts[] = {"blosc", "lz4", "zstd", "zlib", "bz2", "lzma", "delta:i1:i8", "crc32c"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rs_chain chain;
        rs_coder *coder = NULL;
        resplit_error err = {0};
        parse(texts[i], &u2, &chain);
        assert_int_equal(rs_chain_bound(&chain, INT64_MAX), -1);
        assert_int_equal(rs_coder_bytes(&chain, INT64_MAX, true), -1);
        assert_fails(rs_coder_new(&chain, INT64_MAX, true, &coder, &err), RESPLIT_EUNSUPPORTED, err,
                     "is more than codec");
    }
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static void sums_are_the_published_ones(void **state)
{
    static const struct {
        const char *codec;
        uint32_t sum;
    } all[] = {{"crc32:end", 0xcbf43926}, {"crc32c", 0xe3069283}, {"adler32:end", 0x091e01de}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_chain chain;
        parse(all[i].codec, &u2, &chain);
        bytes stored = encode(&chain, "123456789", 9);
        assert_int_equal(stored.n, 13);
        assert_memory_equal(stored.at, "123456789", 9);
        assert_int_equal(rs_load32(stored.at + 9), all[i].sum);
        free(stored.at);
    }
}

static void both_ways_to_a_crc32c_agree(void **state)
{
    uint8_t *data = make_data(200000, 9);
    uint8_t zeros[32] = {0};
    (void)state;
    assert_int_equal(rs_crc32c(zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    assert_int_equal(rs_crc32c_portable(zeros, 32), 0x8a9136aa);
    for (int64_t n = 0; n < 200000; n += n < 100 ? 1 : 4093) {
        assert_int_equal(rs_crc32c(data + n % 7, n - n % 7), rs_crc32c_portable(data + n % 7, n - n % 7));
    }
    free(data);
}

/* ---- What numcodecs wrote -------------------------------------------------------------------- */

static uint8_t *read_all(const char *path, int64_t *n)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *n = ftell(file);
    rewind(file);
    uint8_t *all = malloc((size_t)*n + 1);
    assert_non_null(all);
    assert_int_equal(fread(all, 1, (size_t)*n, file), (size_t)*n);
    all[*n] = '\0';
    fclose(file);
    return all;
}

/* The elements of a .npy file, and their type. */
static const uint8_t *elements_of(const uint8_t *npy, int64_t *n, rs_element *element)
{
    const char *descr = strstr((const char *)npy + 10, "'descr': '");
    int64_t start = 10 + (npy[8] | npy[9] << 8);
    assert_non_null(descr);
    descr += strlen("'descr': '");
    *element = (rs_element){descr[1], atoll(descr + 2), descr[0]};
    *n -= start;
    return npy + start;
}

/* Other versions of these libraries write other bytes. */
static bool is_same_everywhere(const char *config)
{
    return strstr(config, "\"zlib\"") == NULL && strstr(config, "gzip") == NULL && strstr(config, "blosc") == NULL
           && strstr(config, "zstd") == NULL && strstr(config, "lz") == NULL;
}

static void check_fixture(const char *folder, const char *config, int number)
{
    char path[600], json[2000];
    int64_t n = 0, n_stored = 0;
    rs_element element;
    rs_chain chain;
    resplit_error err = {0};
    (void)snprintf(path, sizeof path, "%s/../array.%02d.npy", folder, number);
    uint8_t *npy = read_all(path, &n);
    (void)snprintf(path, sizeof path, "%s/encoded.%02d.dat", folder, number);
    uint8_t *stored = read_all(path, &n_stored);
    assert_non_null(npy);
    assert_non_null(stored);
    const uint8_t *data = elements_of(npy, &n, &element);
    (void)snprintf(json, sizeof json, "[%s]", config);
    assert_works(add_all(json, 2, element, &chain, &err), err);

    uint8_t *back = malloc((size_t)n + 1);
    assert_non_null(back);
    resplit_status rc = decode(&chain, stored, n_stored, back, n, &err);
    if (rc == RESPLIT_EUNSUPPORTED && strstr(config, "snappy") != NULL) {
        goto out; /* as the library was built */
    }
    assert_works(rc, err);
    bytes again = encode(&chain, data, n);
    if (is_same_everywhere(config)) {
        assert_int_equal(again.n, n_stored);
        assert_memory_equal(again.at, stored, (size_t)n_stored);
    }
    if (rs_stage_is_lossless(&chain.stage[0])) {
        assert_memory_equal(back, data, (size_t)n);
        assert_works(decode(&chain, again.at, again.n, back, n, &err), err);
        assert_memory_equal(back, data, (size_t)n);
    }
    free(again.at);
out:
    free(back);
    free(npy);
    free(stored);
}

/* Every codec.NN below a folder; returns the number of arrays. */
static int check_folder(const char *folder, int depth)
{
    int n = 0;
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char inner[500], path[600];
        int64_t size = 0;
        (void)snprintf(inner, sizeof inner, "%s/%s", folder, entry->d_name);
        (void)snprintf(path, sizeof path, "%s/config.json", inner);
        uint8_t *config = entry->d_name[0] == '.' ? NULL : read_all(path, &size);
        if (config == NULL && entry->d_name[0] != '.' && depth < 3) {
            n += check_folder(inner, depth + 1);
        }
        for (int i = 0; config != NULL; i++) {
            (void)snprintf(path, sizeof path, "%s/encoded.%02d.dat", inner, i);
            if (access(path, R_OK) != 0) {
                break;
            }
            check_fixture(inner, (const char *)config, i);
            n++;
        }
        free(config);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return n;
}

static const char *fixtures(const char *name)
{
    static char path[1000];
    const char *folder = getenv("RESPLIT_FIXTURES");
    const char *source = __FILE__;
    (void)snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "", name);
    if (folder == NULL) { /* beside the checkout: this file is in tests/unit */
        (void)snprintf(path, sizeof path, "%.*s/../../../shared/fixtures/%s", (int)(strrchr(source, '/') - source),
                       source, name);
    }
    return access(path, R_OK) == 0 ? path : NULL;
}

static void what_numcodecs_wrote_is_read_and_written_again(void **state)
{
    char command[2200], folder[500];
    const char *archive = fixtures("numcodecs.tar.zst");
    if (archive == NULL) {
        print_message("no numcodecs.tar.zst in ../shared/fixtures or RESPLIT_FIXTURES\n");
        skip();
    }
    (void)snprintf(command, sizeof command, "tar --zstd -xf '%s' -C '%s'", archive, (const char *)*state);
    if (system(command) != 0) {
        print_message("no tar that unpacks zstd\n");
        skip();
    }
    (void)snprintf(folder, sizeof folder, "%s/fixture", (const char *)*state);
    int n = check_folder(folder, 0);
    print_message("%d arrays of numcodecs\n", n);
    assert_true(n > 500);
}

/* ---- For other programs ------------------------------------------------------------------------ */

/*
 * Requests, until the input ends: "encode 2 u2< N JSON DATA\n", that is direction, version, element, bytes of elements,
 * bytes of the JSON array of codecs, bytes of data, then both. Answers: "ok N\n" and N bytes, or "error CODE
 * SENTENCE\n".
 */
static int serve(void)
{
    char way[8], kind, order;
    int version;
    long long itemsize, n, n_json, n_data;
    while (scanf("%7s %d %c%lld%c %lld %lld %lld", way, &version, &kind, &itemsize, &order, &n, &n_json, &n_data)
           == 8) {
        bool is_encode = strcmp(way, "encode") == 0;
        rs_chain chain;
        rs_coder *coder = NULL;
        resplit_error err = {0};
        char *json = calloc((size_t)n_json + 1, 1);
        uint8_t *data = malloc((size_t)n_data + 1), *out = NULL;
        int64_t n_out = n;
        if (json == NULL || data == NULL || getchar() != '\n' || fread(json, 1, (size_t)n_json, stdin) != (size_t)n_json
            || fread(data, 1, (size_t)n_data, stdin) != (size_t)n_data) {
            return 1;
        }
        resplit_status rc = add_all(json, version, (rs_element){kind, itemsize, order}, &chain, &err);
        if (rc == RESPLIT_OK) {
            rc = rs_coder_new(&chain, n, is_encode, &coder, &err);
        }
        if (rc == RESPLIT_OK) {
            out = malloc((size_t)(is_encode ? rs_chain_bound(&chain, n) : n) + 1);
            rc = is_encode ? rs_encode(coder, data, out, &n_out, &err) : rs_decode(coder, data, n_data, out, &err);
        }
        if (rc == RESPLIT_OK) {
            printf("ok %lld\n", (long long)n_out);
            (void)fwrite(out, 1, (size_t)n_out, stdout);
        } else {
            printf("error %s %s\n", resplit_status_name(rc), err.message);
        }
        (void)fflush(stdout);
        rs_coder_free(coder);
        free(out);
        free(data);
        free(json);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_encoded_comes_back),
        cmocka_unit_test(elements_come_back),
        cmocka_unit_test(a_coder_is_used_again_and_again),
        cmocka_unit_test(damage_is_an_error_or_other_bytes),
        cmocka_unit_test(a_block_of_another_size_is_refused),
        cmocka_unit_test(headers_that_promise_too_much_are_refused),
        cmocka_unit_test(what_follows_a_stream_is_as_in_python),
        cmocka_unit_test(several_streams_in_a_row_are_one),
        cmocka_unit_test(settings_are_printed_as_they_are_read),
        cmocka_unit_test(what_a_user_writes_is_what_is_shown),
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(wrong_metadata_is_refused),
        cmocka_unit_test(levels_do_not_matter_for_decoding),
        cmocka_unit_test(kinds_and_elements_are_told),
        cmocka_unit_test(what_is_too_large_is_known_before),
        cmocka_unit_test(sums_are_the_published_ones),
        cmocka_unit_test(both_ways_to_a_crc32c_agree),
        cmocka_unit_test_setup_teardown(what_numcodecs_wrote_is_read_and_written_again, make_folder, drop_folder),
    };
    if (argc == 2 && strcmp(argv[1], "serve") == 0) {
        return serve();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
