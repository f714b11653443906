/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.c - what the configuration of a codec says, checked where it comes in. */
#include <stdio.h>
#include <string.h>

#include "codec/stage.h"

/* The value of a key that is there and not null. */
static const rs_json *find(const rs_json *config, const char *key)
{
    const rs_json *value = config == NULL ? NULL : rs_json_get(config, key);
    return value == NULL || value->kind == RS_JSON_NULL ? NULL : value;
}

/* No more of what a file says than fits a sentence. */
static int shown(size_t n)
{
    return (int)rs_min((int64_t)n, 40);
}

resplit_status rs_check_keys(const rs_codec *codec, const rs_json *config, resplit_error *err)
{
    if (config != NULL && config->kind != RS_JSON_OBJECT) {
        return rs_fail(err, RESPLIT_EFORMAT, "the configuration of codec '%s' is '%.*s', not an object", codec->id,
                       shown(config->n), config->text);
    }
    for (const rs_json *member = config == NULL ? NULL : config->first; member != NULL; member = member->next) {
        bool is_known = rs_json_key_is(member, "id");
        for (int i = 0; !is_known && codec->keys[i] != NULL; i++) {
            is_known = rs_json_key_is(member, codec->keys[i]);
        }
        if (!is_known) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "codec '%s' has a setting %.*s that is not known", codec->id,
                           shown(member->key_n), member->key);
        }
    }
    return RESPLIT_OK;
}

resplit_status rs_take_int(const rs_codec *codec, const rs_json *config, const char *key, int64_t lo, int64_t hi,
                           int64_t *out, resplit_error *err)
{
    const rs_json *value = find(config, key);
    int64_t number = 0;
    if (value == NULL) {
        return RESPLIT_OK;
    }
    if (!rs_json_int64(value, &number) || number < lo || number > hi) {
        return rs_fail(err, RESPLIT_EFORMAT, "codec '%s' has %s %.*s; an integer from %lld to %lld is needed",
                       codec->id, key, shown(value->n), value->text, (long long)lo, (long long)hi);
    }
    *out = number;
    return RESPLIT_OK;
}

resplit_status rs_take_word(const rs_codec *codec, const rs_json *config, const char *key, const char *const *words,
                            int64_t *out, resplit_error *err)
{
    const rs_json *value = find(config, key);
    char all[100] = "";
    if (value == NULL) {
        return RESPLIT_OK;
    }
    for (int i = 0; words[i] != NULL; i++) {
        size_t n = strlen(all);
        if (rs_json_is(value, words[i])) {
            *out = i;
            return RESPLIT_OK;
        }
        (void)snprintf(all + n, sizeof all - n, i > 0 ? ", %s" : "%s", words[i]);
    }
    return rs_fail(err, RESPLIT_EFORMAT, "codec '%s' has %s %.*s; one of %s is needed", codec->id, key, shown(value->n),
                   value->text, all);
}

resplit_status rs_need(const rs_codec *codec, const rs_json *config, const char *key, resplit_error *err)
{
    return find(config, key) != NULL
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EFORMAT, "codec '%s' has no %s, which it needs", codec->id, key);
}

resplit_status rs_print_level(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    (void)version;
    return rs_text_add(out, err, "\"%s\": %lld", stage->codec->keys[0], (long long)stage->set.number[0]);
}

void rs_describe_level(const rs_stage *stage, char *text, size_t room)
{
    (void)snprintf(text, room, "%s:%lld", stage->codec->id, (long long)stage->set.number[0]);
}

void rs_describe_id(const rs_stage *stage, char *text, size_t room)
{
    (void)snprintf(text, room, "%s", stage->codec->id);
}

resplit_status rs_print_nothing(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    (void)stage;
    (void)version;
    (void)out;
    (void)err;
    return RESPLIT_OK;
}

resplit_status rs_fail_room(const rs_stage *stage, const rs_pass *pass, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EFORMAT, "%lld bytes of '%s' hold more than the %lld bytes expected",
                   (long long)pass->n_in, stage->codec->id, (long long)pass->room);
}
