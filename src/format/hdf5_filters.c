/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_filters.c - filters of HDF5 as stages of a chain, and back. Both go by the text that Zarr has for a codec, which
 * every codec reads and prints, so that nothing here knows what is inside of one.
 */
#include "format/hdf5.h"

#include <stdio.h>
#include <string.h>

enum { MAX_VALUES = 20 };

/* A filter, and the codec that does the same; its only setting by the codec's word, where it has one. */
typedef struct filter {
    H5Z_filter_t id;
    const char *codec, *key;
} filter;

enum {
    BZIP2 = 307,
    LZF = 32000,
    BLOSC = 32001,
    LZ4 = 32004,
    BITSHUFFLE = 32008,
    ZFP = 32013,
    ZSTD = 32015,
    BLOSC2 = 32026
};

static const filter filters[] = {
    {H5Z_FILTER_DEFLATE, "zlib", "level"},
    {H5Z_FILTER_SHUFFLE, "shuffle", "elementsize"},
    {H5Z_FILTER_FLETCHER32, "fletcher32", NULL},
    {BZIP2, "bz2", "level"},
    {LZF, "lzf", NULL},
    {LZ4, "lz4-hdf5", "blocksize"},
    {BLOSC, "blosc", NULL},
    {ZSTD, "zstd", "level"},
};

static const char *const blosc_names[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd", NULL};

/* Of filters that we lack, for messages. */
static const struct {
    H5Z_filter_t id;
    const char *name;
} lacking[] = {{H5Z_FILTER_SZIP, "szip"},
               {H5Z_FILTER_NBIT, "nbit"},
               {H5Z_FILTER_SCALEOFFSET, "scaleoffset"},
               {BITSHUFFLE, "bitshuffle"},
               {ZFP, "zfp"},
               {BLOSC2, "blosc2"}};

static const filter *find_filter(H5Z_filter_t id)
{
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        if (filters[i].id == id) {
            return &filters[i];
        }
    }
    return NULL;
}

static resplit_status fail_unknown(const char *path, H5Z_filter_t id, const char *name, resplit_error *err)
{
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        name = lacking[i].id == id ? lacking[i].name : name;
    }
    return rs_fail(
        err, RESPLIT_EUNSUPPORTED,
        "'%s' uses filter %d (%.60s), which is not handled: h5repack -f can write it with another, as GZIP=1", path,
        (int)id, name[0] != '\0' ? name : "of no name");
}

/* The JSON of a codec from the settings of a filter; those that a file lacks are zero. */
static resplit_status print_config(const filter *f, const unsigned *values, size_t n, rs_text *out, resplit_error *err)
{
    unsigned v[MAX_VALUES] = {0};
    memcpy(v, values, (n < MAX_VALUES ? n : MAX_VALUES) * sizeof *v);
    if (f->id != BLOSC) {
        RS_TRY(rs_text_add(out, err, "{\"id\": \"%s\"", f->codec));
        return f->key == NULL ? rs_text_add(out, err, "}") : rs_text_add(out, err, ", \"%s\": %u}", f->key, v[0]);
    }
    /* blosc: revision, version, size of elements, bytes of a chunk, level, shuffle, library */
    const unsigned most = sizeof blosc_names / sizeof blosc_names[0] - 2;
    return rs_text_add(out, err,
                       "{\"id\": \"blosc\", \"typesize\": %u, \"clevel\": %u, \"shuffle\": %u, \"cname\": \"%s\"}",
                       v[2] > 0 ? v[2] : 1, n > 4 ? v[4] : 5, n > 5 ? v[5] : 1, blosc_names[v[6] < most ? v[6] : most]);
}

static resplit_status add_stage(const filter *f, const unsigned *values, size_t n, const rs_element *element,
                                rs_chain *out, resplit_error *err)
{
    rs_text text = {0};
    rs_json_document *document = NULL;
    resplit_status rc = print_config(f, values, n, &text, err);
    if (rc == RESPLIT_OK) {
        rc = rs_json_parse(text.s, text.n, "filter", &document, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_chain_add(out, RS_BY_HDF5, f->codec, rs_json_root(document), element, err);
        rs_json_free(document);
    }
    rs_text_release(&text);
    return rc;
}

resplit_status rs_hdf5_read_filters(hid_t creation, const char *path, const rs_element *element, rs_chain *out,
                                    resplit_error *err)
{
    int n = H5Pget_nfilters(creation);
    rs_element at = *element;
    memset(out, 0, sizeof *out);
    if (n < 0) {
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read the filters of '%s'", path);
    }
    for (int i = 0; i < n; i++) {
        unsigned flags, values[MAX_VALUES] = {0}, config;
        size_t n_values = MAX_VALUES;
        char name[64] = "";
        H5Z_filter_t id = H5Pget_filter2(creation, (unsigned)i, &flags, &n_values, values, sizeof name, name, &config);
        const filter *f = find_filter(id);
        if (id < 0 || f == NULL) {
            return id < 0 ? rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read filter %d of '%s'", i, path)
                          : fail_unknown(path, id, name, err);
        }
        if (f->id == H5Z_FILTER_SHUFFLE && i > 0) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has shuffle as filter %d: only the first can be", path,
                           i + 1);
        }
        RS_TRY(add_stage(f, values, n_values < MAX_VALUES ? n_values : MAX_VALUES, &at, out, err));
        at = rs_stage_element(&out->stage[out->n - 1]);
    }
    return RESPLIT_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int64_t setting(const rs_json *config, const char *key, int64_t usual)
{
    int64_t value;
    const rs_json *found = rs_json_get(config, key);
    return found != NULL && rs_json_int64(found, &value) ? value : usual;
}

static void set_blosc(const rs_json *config, const rs_stage *stage, int64_t bytes, unsigned *values)
{
    const rs_json *name = rs_json_get(config, "cname");
    int64_t shuffle = setting(config, "shuffle", 1);
    values[0] = 2; /* of the filter, and of the format of Blosc */
    values[1] = 2;
    values[2] = (unsigned)rs_min(stage->element.itemsize, 255);
    values[3] = (unsigned)bytes;
    values[4] = (unsigned)setting(config, "clevel", 5);
    values[5] = (unsigned)(shuffle < 0 ? (stage->element.itemsize == 1 ? 2 : 1) : shuffle);
    for (unsigned i = 0; blosc_names[i] != NULL; i++) {
        values[6] = name != NULL && rs_json_is(name, blosc_names[i]) ? i : values[6];
    }
}

/* libhdf5 knows how to set up its own; those of others it need not have, since they are optional, and blocks are
   encoded by us. */
static resplit_status add_filter(hid_t creation, const filter *f, const rs_stage *stage, const rs_json *config,
                                 int64_t bytes, resplit_error *err)
{
    unsigned values[MAX_VALUES] = {0};
    size_t n = f->key != NULL ? 1 : 0;
    int64_t level = f->key != NULL ? setting(config, f->key, 0) : 0;
    herr_t rc;
    if (f->id == BLOSC) {
        set_blosc(config, stage, bytes, values);
        n = 7;
    } else if (f->id == LZF) { /* as h5py's: revision of the filter, version of the format */
        values[0] = 4;
        values[1] = 0x0105;
        values[2] = (unsigned)bytes;
        n = 3;
    } else {
        values[0] = (unsigned)level;
    }
    switch (f->id) {
    case H5Z_FILTER_DEFLATE: rc = H5Pset_deflate(creation, (unsigned)(level < 0 ? 6 : level)); break;
    case H5Z_FILTER_SHUFFLE: rc = H5Pset_shuffle(creation); break;
    case H5Z_FILTER_FLETCHER32: rc = H5Pset_fletcher32(creation); break;
    default: rc = H5Pset_filter(creation, f->id, H5Z_FLAG_OPTIONAL, n, values);
    }
    return rc >= 0 ? RESPLIT_OK : rs_hdf5_fail(err, RESPLIT_EUNSUPPORTED, "cannot use filter %s in HDF5", f->codec);
}

/* libhdf5 shuffles by the size of elements, and only elements. */
static resplit_status check_shuffle(const rs_chain *chain, int i, const rs_json *config, resplit_error *err)
{
    int64_t size = setting(config, "elementsize", 0), own = chain->stage[i].element.itemsize;
    return !rs_json_is(rs_json_get(config, "id"), "shuffle") || (i == 0 && size == own)
               ? RESPLIT_OK
               : rs_fail(
                   err, RESPLIT_EUNSUPPORTED,
                   "HDF5 shuffles elements of %lld bytes, before all else: give shuffle first, and by no other size",
                   (long long)own);
}

static resplit_status add_codec(hid_t creation, const rs_stage *stage, const rs_json *config, int64_t bytes,
                                resplit_error *err)
{
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        if (rs_json_is(rs_json_get(config, "id"), filters[i].codec)) {
            return add_filter(creation, &filters[i], stage, config, bytes, err);
        }
    }
    const rs_json *id = rs_json_get(config, "id");
    return rs_fail(
        err, RESPLIT_EUNSUPPORTED,
        "HDF5 has no filter for codec %.*s: give zlib, shuffle+zlib, fletcher32, zstd, blosc, lz4, lzf, bz2 or none",
        id != NULL ? (int)id->n : 0, id != NULL ? id->text : "");
}

resplit_status rs_hdf5_add_filters(hid_t creation, const rs_chain *chain, int64_t bytes, resplit_error *err)
{
    for (int i = 0; i < chain->n; i++) {
        rs_text text = {0};
        rs_json_document *document = NULL;
        resplit_status rc = rs_stage_print(&chain->stage[i], 2, &text, err);
        if (rc == RESPLIT_OK) {
            rc = rs_json_parse(text.s, text.n, "codec", &document, err);
        }
        if (rc == RESPLIT_OK) {
            rc = check_shuffle(chain, i, rs_json_root(document), err);
            rc = rc == RESPLIT_OK ? add_codec(creation, &chain->stage[i], rs_json_root(document), bytes, err) : rc;
            rs_json_free(document);
        }
        rs_text_release(&text);
        RS_TRY(rc);
    }
    return RESPLIT_OK;
}
