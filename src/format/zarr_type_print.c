/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_type_print.c - data types as JSON: a record is read token by token from its NumPy name. */
#include <string.h>

#include "format/literal.h"
#include "format/zarr_parts.h"

static resplit_status add_token_string(const rs_token *token, rs_text *out, resplit_error *err)
{
    rs_text copy = {0};
    resplit_status rc;
    if (memchr(token->text, '\\', token->n) != NULL) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "a field '%.*s' with a backslash in its name cannot be written as JSON", rs_shown(token->n),
                       token->text);
    }
    rc = rs_text_add_bytes(&copy, token->text, token->n, err);
    rc = rc != RESPLIT_OK ? rc : rs_json_write_string(out, copy.s, err);
    rs_text_release(&copy);
    return rc;
}

/* The Python literal with JSON's marks. */
static resplit_status print_v2_record(const char *descr, rs_text *out, resplit_error *err)
{
    rs_scanner scanner = {descr, descr + strlen(descr)};
    for (;;) {
        rs_token token = rs_scanner_next(&scanner);
        switch (token.kind) {
        case RS_TOKEN_END: return RESPLIT_OK;
        case RS_TOKEN_STRING: RS_TRY(add_token_string(&token, out, err)); break;
        case RS_TOKEN_NUMBER: RS_TRY(rs_text_add(out, err, "%lld", (long long)token.number)); break;
        case RS_TOKEN_MARK: {
            rs_token after = rs_scanner_peek(&scanner);
            bool last = token.mark == ',' && (after.mark == ')' || after.mark == ']');
            const char *mark = token.mark == '(' || token.mark == '['   ? "["
                               : token.mark == ')' || token.mark == ']' ? "]"
                                                                        : ", ";
            RS_TRY(rs_text_add(out, err, "%s", last ? "" : mark));
            break;
        }
        case RS_TOKEN_NAME:
        case RS_TOKEN_BAD: return rs_fail(err, RESPLIT_EINTERNAL, "a type '%s' that cannot be read", descr);
        }
    }
}

static resplit_status print_v3_field_type(const rs_token *token, rs_text *out, resplit_error *err)
{
    char descr[64];
    rs_dtype type;
    if (token->n >= sizeof descr) {
        return rs_fail(err, RESPLIT_EINTERNAL, "a type of %zu bytes in a record", token->n);
    }
    memcpy(descr, token->text, token->n);
    descr[token->n] = '\0';
    RS_TRY(rs_dtype_parse(descr, &type, err));
    resplit_status rc =
        type.byteorder == '>'
            ? rs_fail(err, RESPLIT_EUNSUPPORTED,
                      "a record with a field of type '%s' cannot be written in Zarr version 3: its readers expect "
                      "little-endian fields",
                      descr)
            : rs_zarr_type_print_simple(&type, out, err);
    rs_dtype_release(&type);
    return rc;
}

/* [('a', '<i4'), ('b', [...])]; depth was limited when it was parsed. */
static resplit_status print_v3_record(rs_scanner *scanner, rs_text *out, resplit_error *err)
{
    (void)rs_scanner_take(scanner, '[');
    RS_TRY(rs_text_add(out, err, "{\"name\": \"structured\", \"configuration\": {\"fields\": ["));
    for (int n = 0; !rs_scanner_take(scanner, ']'); n++) {
        (void)rs_scanner_take(scanner, '(');
        rs_token name = rs_scanner_next(scanner);
        if (name.kind != RS_TOKEN_STRING) { /* (title, name), or something that dtype.c does not write */
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "fields with titles cannot be written in Zarr version 3");
        }
        RS_TRY(rs_text_add(out, err, n > 0 ? ", [" : "["));
        RS_TRY(add_token_string(&name, out, err));
        RS_TRY(rs_text_add(out, err, ", "));
        (void)rs_scanner_take(scanner, ',');
        if (rs_scanner_peek(scanner).mark == '[') {
            RS_TRY(print_v3_record(scanner, out, err));
        } else {
            rs_token type = rs_scanner_next(scanner);
            RS_TRY(print_v3_field_type(&type, out, err));
        }
        if (!rs_scanner_take(scanner, ')')) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "the field '%.*s' has a shape: Zarr version 3 cannot say that",
                           rs_shown(name.n), name.text);
        }
        RS_TRY(rs_text_add(out, err, "]"));
        (void)rs_scanner_take(scanner, ',');
    }
    return rs_text_add(out, err, "]}}");
}

resplit_status rs_zarr_type_print(const rs_dtype *dtype, int version, rs_text *out, resplit_error *err)
{
    bool record = dtype->descr[0] == '[';
    if (version == 2) {
        return record ? print_v2_record(dtype->descr, out, err) : rs_json_write_string(out, dtype->descr, err);
    }
    if (record) {
        rs_scanner scanner = {dtype->descr, dtype->descr + strlen(dtype->descr)};
        return print_v3_record(&scanner, out, err);
    }
    return rs_zarr_type_print_simple(dtype, out, err);
}
