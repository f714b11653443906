/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_chain.c - the chain of codecs that a target gets: in the words of all formats, or that of its source. */
#include "format/hdf5.h"

#include <string.h>

/* What others call gzip is a zlib stream in HDF5, and its lz4 has another head: the same
   compression in another envelope. */
static const struct {
    const char *word, *own;
    bool keep; /* the settings */
} same[] = {{"gzip", "zlib", true}, {"deflate", "zlib", true}, {"lz4", "lz4-hdf5", false}};

static resplit_status add_words(const char *codec, rs_text *out, resplit_error *err)
{
    for (const char *at = codec; *at != '\0';) {
        size_t word = strcspn(at, ":+"), all = strcspn(at, "+");
        const char *own = NULL;
        bool keep = true;
        for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
            if (strlen(same[i].word) == word && memcmp(same[i].word, at, word) == 0) {
                own = same[i].own;
                keep = same[i].keep;
            }
        }
        RS_TRY(own != NULL ? rs_text_add(out, err, "%s%.*s", own, keep ? (int)(all - word) : 0, at + word)
                           : rs_text_add(out, err, "%.*s", (int)all, at));
        at += all;
        if (*at == '+') {
            RS_TRY(rs_text_add(out, err, "+"));
            at++;
        }
    }
    return RESPLIT_OK;
}

/* What every libhdf5 can undo: programs that read MINC load no plugins, and see zeros in the place of other chunks. */
static bool is_common(const char *codec)
{
    static const char *const common[] = {"none", "zlib", "gzip", "deflate", "shuffle", "fletcher32"};
    while (*codec != '\0') {
        size_t word = strcspn(codec, ":+");
        bool found = false;
        for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
            found = found || (strlen(common[i]) == word && memcmp(common[i], codec, word) == 0);
        }
        if (!found) {
            return false;
        }
        codec += strcspn(codec, "+");
        codec += *codec == '+';
    }
    return true;
}

/* An image of another format is compressed as that was, where readers of MINC can undo it. */
static resplit_status choose_codec(const resplit_array *source, resplit_array *array, const char **codec,
                                   resplit_error *err)
{
    static const char usual[] = "zlib:4";
    char kept[200];
    if (array->minc != NULL && *codec != NULL && !is_common(*codec)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "programs for MINC do not read '%s', and would see zeros: choose zlib or none, or an HDF5 file",
                       *codec);
    }
    if (*codec != NULL || array->minc == NULL || source->minc != NULL
        || is_common(rs_chain_text(&source->chain, kept))) {
        return RESPLIT_OK;
    }
    *codec = usual;
    return rs_text_add_line(&array->notes, err, "programs for MINC do not read %s: chunks are compressed by %s", kept,
                            usual);
}

resplit_status rs_hdf5_set_chain(const resplit_array *source, const char *codec, resplit_array *array,
                                 resplit_error *err)
{
    rs_element element = rs_dtype_element(&array->dtype);
    char kept[200];
    rs_text words = {0};
    RS_TRY(choose_codec(source, array, &codec, err));
    if (codec == NULL && source->hdf5 != NULL && array->cast.kind != RS_CAST_VALUES) {
        array->chain = source->chain; /* also what no words tell */
        return RESPLIT_OK;
    }
    const char *text = codec != NULL ? codec : rs_chain_text(&source->chain, kept);
    resplit_status rc = add_words(text, &words, err);
    if (rc == RESPLIT_OK) {
        rc = rs_chain_parse(words.s != NULL ? words.s : "none", &element, &array->chain, err);
    }
    rs_text_release(&words);
    return rc;
}
