/* SPDX-License-Identifier: BSD-3-Clause */
/* manifest_write.c - writes resplit.json. */
#include "format/manifest.h"

#include "base/json.h"
#include "format/nifti_array.h"

static resplit_status add_string(rs_text *out, const char *key, const char *value, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "  \"%s\": ", key));
    RS_TRY(rs_json_write_string(out, value, err));
    return rs_text_add(out, err, ",\n");
}

static resplit_status add_chunks(rs_text *out, const resplit_chunks *chunks, resplit_error *err)
{
    if (chunks->count == 0) {
        return rs_text_add(out, err, "%lld", (long long)chunks->length);
    }
    RS_TRY(rs_text_add(out, err, "["));
    for (int64_t i = 0; i < chunks->count; i++) {
        RS_TRY(rs_text_add(out, err, i > 0 ? ", %lld" : "%lld", (long long)chunks->lengths[i]));
    }
    return rs_text_add(out, err, "]");
}

static resplit_status add_hex(rs_text *out, const char *key, uint64_t value, resplit_error *err)
{
    return value == 0 ? RESPLIT_OK : rs_text_add(out, err, "  \"%s\": \"%016llx\",\n", key, (unsigned long long)value);
}

const char *rs_manifest_name(const resplit_array *array)
{
    return array == NULL || array->zarr != NULL ? "." RS_MANIFEST_NAME : RS_MANIFEST_NAME;
}

/* In Zarr the array is described by its own metadata; what is left to say of it is what we know and others do not. */
static resplit_status write_short(uint64_t fingerprint, uint64_t token, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "{\n"));
    RS_TRY(add_hex(out, "fingerprint", fingerprint, err));
    RS_TRY(add_hex(out, "run", token, err));
    return rs_text_add(out, err, "  \"resplit\": %d\n}\n", RS_MANIFEST_VERSION);
}

resplit_status rs_manifest_write(const resplit_array *array, uint64_t fingerprint, uint64_t token, rs_text *out,
                                 resplit_error *err)
{
    if (array == NULL || array->zarr != NULL) {
        return write_short(fingerprint, token, out, err);
    }
    char order[2] = {array->order, '\0'};
    const resplit_info *info = array->files != NULL ? &array->files->info : &array->info; /* of what has a file each */
    RS_TRY(rs_text_add(out, err, "{\n  \"resplit\": %d,\n", RS_MANIFEST_VERSION));
    RS_TRY(add_string(out, "format", array->format->name, err));
    RS_TRY(add_string(out, "dtype", array->dtype.descr, err));
    RS_TRY(add_string(out, "order", order, err));
    RS_TRY(rs_text_add(out, err, "  \"shape\": ["));
    for (int d = 0; d < info->ndim; d++) {
        RS_TRY(rs_text_add(out, err, d > 0 ? ", %lld" : "%lld", (long long)info->shape[d]));
    }
    RS_TRY(rs_text_add(out, err, "],\n  \"chunks\": ["));
    for (int d = 0; d < info->ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%s", d > 0 ? ", " : ""));
        RS_TRY(add_chunks(out, &info->chunks[d], err));
    }
    RS_TRY(rs_text_add(out, err, "],\n"));
    if (info->pattern != NULL) {
        RS_TRY(add_string(out, "pattern", info->pattern, err));
    }
    RS_TRY(add_hex(out, "fingerprint", fingerprint, err));
    RS_TRY(add_hex(out, "run", token, err));
    if (array->nifti != NULL) {
        RS_TRY(rs_text_add(out, err, "  \"header\": \""));
        RS_TRY(rs_nifti_to_hex(array, out, err));
        RS_TRY(rs_text_add(out, err, "\",\n"));
    }
    return rs_text_add(out, err, "  \"data_offset\": %lld\n}\n", (long long)array->data_offset);
}
