/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_ome.c - where elements are, into the attributes of a Zarr array and of the OME-Zarr image around it. */
#include <string.h>

#include "format/literal.h"
#include "format/nifti.h"
#include "format/zarr_parts.h"
#include "format/zarr_space.h"

/* Members that are not about places, as they are written. */
static resplit_status copy_others(const rs_text *attributes, rs_text *out, resplit_error *err)
{
    rs_json_document *document;
    resplit_status rc = RESPLIT_OK;
    if (attributes == NULL || attributes->n == 0) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_json_parse(attributes->s, attributes->n, "attributes", &document, err));
    for (const rs_json *v = rs_json_root(document)->first; v != NULL && rc == RESPLIT_OK; v = v->next) {
        if (!rs_zarr_tells_space(v)) {
            rc = rs_text_add_bytes(out, v->key, v->key_n, err);
            rc = rc == RESPLIT_OK ? rs_text_add(out, err, ": ") : rc;
            rc = rc == RESPLIT_OK ? rs_text_add_bytes(out, v->text, v->n, err) : rc;
            rc = rc == RESPLIT_OK ? rs_text_add(out, err, ", ") : rc;
        }
    }
    rs_json_free(document);
    return rc;
}

resplit_status rs_zarr_space_attributes(const rs_text *attributes, const rs_space *space, rs_text *out,
                                        resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "{"));
    RS_TRY(copy_others(attributes, out, err));
    RS_TRY(rs_text_add(out, err, "\"space\": "));
    RS_TRY(rs_space_print(space, out, err));
    if (space->header != NULL) {
        RS_TRY(rs_text_add(out, err, ", \"nifti\": "));
        RS_TRY(rs_nifti_print(space->header, space->header_axis, out, err));
    }
    return rs_text_add(out, err, "}");
}

resplit_status rs_zarr_space_names(const rs_space *space, rs_text *out, resplit_error *err)
{
    for (int d = 0; d < space->ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%s", d > 0 ? ", " : "["));
        RS_TRY(rs_json_write_string(out, space->axis[d].name, err));
    }
    return rs_text_add(out, err, "]");
}

/* {"axes": ..., "datasets": [...]}, without its first brace */
static resplit_status add_image(const rs_space *space, const char *name, rs_text *out, resplit_error *err)
{
    double scale[RS_MAX_NDIM], translation[RS_MAX_NDIM];
    (void)rs_space_split(space, scale, translation);
    RS_TRY(rs_text_add(out, err, "\"name\": "));
    RS_TRY(rs_json_write_string(out, name, err));
    RS_TRY(rs_text_add(out, err, ", \"axes\": "));
    RS_TRY(rs_space_print_axes(space, false, out, err));
    RS_TRY(rs_text_add(out, err,
                       ", \"datasets\": [{\"path\": \"%s\", \"coordinateTransformations\": "
                       "[{\"type\": \"scale\", \"scale\": ",
                       RS_OME_LEVEL));
    RS_TRY(rs_space_print_numbers(scale, space->ndim, out, err));
    RS_TRY(rs_text_add(out, err, "}, {\"type\": \"translation\", \"translation\": "));
    RS_TRY(rs_space_print_numbers(translation, space->ndim, out, err));
    return rs_text_add(out, err, "}]}]}");
}

static resplit_status add_group(const rs_space *space, int version, const char *name, rs_zarr_file *add, void *payload,
                                rs_text *text, resplit_error *err)
{
    if (version == 3) {
        RS_TRY(rs_text_add(text, err, "{\n  \"attributes\": {\"ome\": {\"version\": \"0.5\", \"multiscales\": [{"));
        RS_TRY(add_image(space, name, text, err));
        RS_TRY(rs_text_add(text, err, "]}},\n  \"zarr_format\": 3,\n  \"node_type\": \"group\"\n}\n"));
        return add("zarr.json", text, payload, err);
    }
    RS_TRY(rs_text_add(text, err, "{\n  \"zarr_format\": 2\n}\n"));
    RS_TRY(add(".zgroup", text, payload, err));
    text->n = 0;
    RS_TRY(rs_text_add(text, err, "{\"multiscales\": [{\"version\": \"0.4\", "));
    RS_TRY(add_image(space, name, text, err));
    RS_TRY(rs_text_add(text, err, "]}\n"));
    return add(".zattrs", text, payload, err);
}

/* "a/brain.ome.zarr" -> "brain" */
static resplit_status name_of(const char *path, rs_text *out, resplit_error *err)
{
    static const char *const ends[] = {".zarr", ".ome"};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    size_t begin = n;
    while (begin > 0 && path[begin - 1] != '/') {
        begin--;
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t k = strlen(ends[i]);
        n -= n - begin > k && strncmp(path + n - k, ends[i], k) == 0 ? k : 0;
    }
    bool good = rs_utf8_is_valid(path + begin, n - begin);
    return good ? rs_text_add_bytes(out, path + begin, n - begin, err) : rs_text_add(out, err, "image");
}

resplit_status rs_zarr_ome_print(const rs_space *space, int version, const char *path, rs_zarr_file *add, void *payload,
                                 resplit_error *err)
{
    rs_text text = {0}, name = {0};
    resplit_status rc = name_of(path, &name, err);
    rc = rc == RESPLIT_OK ? add_group(space, version, name.s, add, payload, &text, err) : rc;
    rs_text_release(&name);
    rs_text_release(&text);
    return rc;
}
