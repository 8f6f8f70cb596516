#include "api/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/language.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "base/terminal_text.h"

#define FIELDS_MAX 64

/* Bytes of a wrong value that the message quotes. */
#define SHOWN_MAX 40

/* --- messages --- */

/* "python,bash" as "one of python, bash" */
static void describe_choices(const char *choices, char *text, size_t size)
{
    size_t len = (size_t)snprintf(text, size, "one of ");

    for (const char *c = choices; *c && len + 2 < size; c++) {
        text[len++] = *c;
        if (*c == ',')
            text[len++] = ' ';
    }
    text[len] = '\0';
}

/* "a whole number from 1 to 300" */
static void describe(const struct schema_field *f, char *text, size_t size)
{
    static const char *const words[] = {
        [SCHEMA_STRING] = "a string",
        [SCHEMA_INTEGER] = "a whole number",
        [SCHEMA_NUMBER] = "a number",
        [SCHEMA_BOOLEAN] = "true or false",
        [SCHEMA_STRINGS] = "an array of strings",
        [SCHEMA_MAP] = "an object of strings",
        [SCHEMA_OBJECTS] = "an array of objects",
        [SCHEMA_OBJECT] = "an object",
    };

    if (f->choices)
        describe_choices(f->choices, text, size);
    else if (f->min != 0 || f->max != 0)
        (void)snprintf(text, size, "%s from %.15g to %.15g", words[f->type], f->min, f->max);
    else if (f->max_len && f->type == SCHEMA_STRING)
        (void)snprintf(text, size, "a string of at most %zu bytes", f->max_len);
    else if (f->max_len)
        (void)snprintf(text, size, "%s, at most %zu", words[f->type], f->max_len);
    else
        (void)snprintf(text, size, "%s", words[f->type]);
}

/* The value that was read, cut to fit into one line. */
static void show(const json_t *value, char *text, size_t size)
{
    cleanup(buf_done) struct buf dumped = BUF_OF(KIB);
    size_t n;

    if (json_is_object(value) || json_is_array(value)) {
        (void)snprintf(text, size, "an %s", json_is_object(value) ? "object" : "array");
        return;
    }
    if (json_is_string(value) && json_string_length(value) > SHOWN_MAX) {
        (void)snprintf(text, size, "a string of %zu bytes", json_string_length(value));
        return;
    }
    if (json_text_dump(value, JSON_TEXT_COMPACT, &dumped, NULL) < 0)
        buf_clear(&dumped);
    n = dumped.len < size - 1 ? dumped.len : size - 1;
    memcpy(text, buf_str(&dumped), n);
    text[n] = '\0';
}

static int hint_example(const struct schema_field *f, struct error *err)
{
    return f->example ? error_hint(err, "for example \"%s\": %s", f->name, f->example) : -1;
}

static int wrong(const struct schema_field *f, const json_t *value, struct error *err)
{
    char expected[256], read[4 * SHOWN_MAX + 64];

    describe(f, expected, sizeof(expected));
    show(value, read, sizeof(read));
    error_set(err, E_INVALID, "`%s`: read %s, expected %s", f->name, read, expected);
    return hint_example(f, err);
}

static int unknown(const struct schema_field *fields, const char *name, struct error *err)
{
    const char *known[FIELDS_MAX] = {0}, *nearest;
    cleanup(buf_done) struct buf shown = BUF_OF(KIB);
    size_t count = 0;

    for (; count < FIELDS_MAX && fields[count].name; count++)
        known[count] = fields[count].name;
    nearest = suggest_nearest(name, known, count);
    (void)terminal_line(name, strnlen(name, SHOWN_MAX), &shown, NULL);
    error_set(err, E_INVALID, "unknown field `%s`", buf_str(&shown));
    if (nearest)
        return error_hint(err, "did you mean `%s`?", nearest);
    buf_clear(&shown);
    for (size_t i = 0; i < count; i++)
        (void)buf_printf(&shown, NULL, "%s%s", i ? ", " : "", known[i]);
    return count ? error_hint(err, "known are %s", buf_str(&shown))
                 : error_hint(err, "requests are not accepted here");
}

/* --- checking --- */

static bool is_choice(const char *choices, const char *text)
{
    for (const char *c = choices; c;) {
        size_t n = strcspn(c, ",");

        if (n == strlen(text) && memcmp(c, text, n) == 0)
            return true;
        c = c[n] ? c + n + 1 : NULL;
    }
    return false;
}

bool schema_has_language(const char *text)
{
    return language_find((struct span){text, strlen(text)}) >= 0;
}

static bool fits_string(const struct schema_field *f, const json_t *value)
{
    return json_is_string(value) && (!f->max_len || json_string_length(value) <= f->max_len) &&
           (!f->choices || is_choice(f->choices, json_string_value(value)) ||
            (f->has_alias && f->has_alias(json_string_value(value))));
}

static bool fits_number(const struct schema_field *f, const json_t *value)
{
    double number = json_number_value(value);

    if (f->type == SCHEMA_INTEGER && !json_is_integer(value))
        return false;
    return json_is_number(value) &&
           ((f->min == 0 && f->max == 0) || (number >= f->min && number <= f->max));
}

static bool fits_strings(const struct schema_field *f, const json_t *value)
{
    size_t i;
    const json_t *item;

    if (!json_is_array(value) || (f->max_len && json_array_size(value) > f->max_len))
        return false;
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item))
            return false;
    }
    return true;
}

static bool fits_map(const struct schema_field *f, const json_t *value)
{
    const char *key;
    json_t *item;

    if (!json_is_object(value) || (f->max_len && json_object_size(value) > f->max_len))
        return false;
    json_object_foreach((json_t *)value, key, item)
    {
        if (!json_is_string(item))
            return false;
    }
    return true;
}

static int check_objects(const struct schema_field *f, const json_t *value, struct error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value) || (f->max_len && json_array_size(value) > f->max_len))
        return wrong(f, value, err);
    json_array_foreach(value, i, item)
    {
        if (!json_is_object(item))
            return wrong(f, value, err);
        if (schema_check(f->items, item, err) < 0)
            return error_wrap(err, "`%s[%zu]`", f->name, i);
    }
    return 0;
}

static int check_field(const struct schema_field *f, const json_t *value, struct error *err)
{
    bool fits = false;

    switch (f->type) {
    case SCHEMA_STRING:
        fits = fits_string(f, value);
        break;
    case SCHEMA_INTEGER:
    case SCHEMA_NUMBER:
        fits = fits_number(f, value);
        break;
    case SCHEMA_BOOLEAN:
        fits = json_is_boolean(value);
        break;
    case SCHEMA_STRINGS:
        fits = fits_strings(f, value);
        break;
    case SCHEMA_MAP:
        fits = fits_map(f, value);
        break;
    case SCHEMA_OBJECTS:
        return check_objects(f, value, err);
    case SCHEMA_OBJECT:
        if (json_is_object(value) && f->items)
            return schema_check(f->items, value, err) < 0 ? error_wrap(err, "`%s`", f->name) : 0;
        fits = json_is_object(value);
        break;
    }
    return fits ? 0 : wrong(f, value, err);
}

static const struct schema_field *find(const struct schema_field *fields, const char *name)
{
    for (const struct schema_field *f = fields; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

void schema_drop_null(const struct schema_field *fields, json_t *value)
{
    for (const struct schema_field *f = fields; f && f->name; f++) {
        json_t *member = json_object_get(value, f->name), *item;
        size_t i;

        if (json_is_null(member) && !f->is_required) {
            (void)json_object_del(value, f->name);
            continue;
        }
        for (i = 0; f->type == SCHEMA_OBJECTS && i < json_array_size(member); i++) {
            item = json_array_get(member, i);
            schema_drop_null(f->items, item);
        }
    }
}

int schema_check(const struct schema_field *fields, const json_t *value, struct error *err)
{
    const char *key;
    json_t *item;

    json_object_foreach((json_t *)value, key, item)
    {
        const struct schema_field *f = find(fields, key);

        if (!f)
            return unknown(fields, key, err);
        if (check_field(f, item, err) < 0)
            return -1;
    }
    for (const struct schema_field *f = fields; f->name; f++)
        if (f->is_required && !json_object_get(value, f->name)) {
            error_set(err, E_INVALID, "the field `%s` is missing", f->name);
            return hint_example(f, err);
        }
    return 0;
}

/* --- queries --- */

/* The guard has seen to it that two hex digits follow each percent sign; one without stays itself.
 */
size_t schema_decode(struct span text, bool is_query, char *ret_text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        int high = i + 2 < text.len ? hex_value(text.data[i + 1]) : -1;
        int low = i + 2 < text.len ? hex_value(text.data[i + 2]) : -1;

        if (c == '%' && high >= 0 && low >= 0) {
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        ret_text[n++] = c;
    }
    ret_text[n] = '\0';
    return n;
}

/* As the type that the table wants; what is none stays a string and is refused by the check. */
static json_t *query_value(const struct schema_field *f, const char *text, size_t len)
{
    char *end;
    double real;
    long long whole;

    if (f && f->type == SCHEMA_BOOLEAN && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return json_boolean(text[0] == 't');
    errno = 0;
    if (f && f->type == SCHEMA_INTEGER && strspn(text, "-0123456789") == len && len) {
        whole = strtoll(text, &end, 10);
        if (!*end && !errno)
            return json_integer(whole);
    }
    if (f && f->type == SCHEMA_NUMBER && strspn(text, "-0123456789.") == len && len) {
        real = strtod(text, &end);
        if (!*end && !errno)
            return json_real(real);
    }
    return json_stringn(text, len); /* NULL where it is not UTF-8 */
}

/* `value` is taken over. */
static int append(json_t *object, const struct schema_field *f, json_t *value, struct error *err)
{
    json_t *list = json_object_get(object, f->name);
    int r;

    if (f->type != SCHEMA_STRINGS)
        r = json_object_set_new(object, f->name, value);
    else if (list)
        r = json_array_append_new(list, value);
    else
        r = json_object_set_new(object, f->name, json_pack("[o]", value));
    return r < 0 ? error_memory(err) : 0;
}

int schema_add_text(const struct schema_field *fields, const char *name, const char *text,
                    size_t len, json_t *object, struct error *err)
{
    const struct schema_field *f = find(fields, name);
    json_t *value;

    if (!f)
        return unknown(fields, name, err);
    if (json_object_get(object, name) && f->type != SCHEMA_STRINGS)
        return error_set(err, E_INVALID, "`%s` is given twice", f->name);
    if (f->max_len && f->type == SCHEMA_STRINGS &&
        json_array_size(json_object_get(object, name)) >= f->max_len)
        return error_set(err, E_INVALID, "`%s` is given more than %zu times", f->name, f->max_len);
    value = memchr(text, '\0', len) ? NULL : query_value(f, text, len);
    if (!value)
        return error_set(err, E_INVALID, "`%s` is not text in UTF-8", f->name);
    return append(object, f, value, err);
}

static int add_pair(const struct schema_field *fields, struct span pair, json_t *object,
                    struct error *err)
{
    cleanup_free char *name = malloc(pair.len + 1), *text = malloc(pair.len + 1);
    const char *equals = memchr(pair.data, '=', pair.len);
    size_t name_len = equals ? (size_t)(equals - pair.data) : pair.len;
    size_t len;

    if (!name || !text)
        return error_memory(err);
    (void)schema_decode((struct span){pair.data, name_len}, true, name);
    len = equals ? schema_decode((struct span){equals + 1, pair.len - name_len - 1}, true, text)
                 : schema_decode((struct span){"", 0}, true, text);
    return schema_add_text(fields, name, text, len, object, err);
}

int schema_read_query(const struct schema_field *fields, struct span query, json_t **ret_value,
                      struct error *err)
{
    static const struct schema_field none[] = {{0}};
    json_t *object = json_object();
    int r = object ? 0 : error_memory(err);

    fields = fields ? fields : none;
    while (r == 0 && query.len) {
        const char *amp = memchr(query.data, '&', query.len);
        size_t n = amp ? (size_t)(amp - query.data) : query.len;

        if (n)
            r = add_pair(fields, (struct span){query.data, n}, object, err);
        query.data += n + (amp != NULL);
        query.len -= n + (amp != NULL);
    }
    if (r == 0)
        r = schema_check(fields, object, err);
    if (r < 0) {
        json_decref(object);
        return r;
    }
    *ret_value = object;
    return 0;
}

/* --- as JSON Schema --- */

static json_t *choices_json(const char *choices)
{
    json_t *list = json_array();

    for (const char *c = choices; list && c;) {
        size_t n = strcspn(c, ",");

        (void)json_array_append_new(list, json_stringn(c, n));
        c = c[n] ? c + n + 1 : NULL;
    }
    return list;
}

/* 300, not 300.0: somebody pays for each of these characters. */
static json_t *bound_json(double bound)
{
    return bound == (double)(json_int_t)bound ? json_integer((json_int_t)bound) : json_real(bound);
}

static json_t *field_json(const struct schema_field *f)
{
    static const char *const types[] = {
        [SCHEMA_STRING] = "string",   [SCHEMA_INTEGER] = "integer", [SCHEMA_NUMBER] = "number",
        [SCHEMA_BOOLEAN] = "boolean", [SCHEMA_STRINGS] = "array",   [SCHEMA_MAP] = "object",
        [SCHEMA_OBJECTS] = "array",   [SCHEMA_OBJECT] = "object",
    };
    json_t *object = json_pack("{s:s, s:s*}", "type", types[f->type], "description", f->help);
    bool is_array = f->type == SCHEMA_STRINGS || f->type == SCHEMA_OBJECTS;
    const char *most = is_array                ? "maxItems"
                       : f->type == SCHEMA_MAP ? "maxProperties"
                                               : "maxLength";
    json_t *shape;

    if (f->min != 0 || f->max != 0) {
        (void)json_object_set_new(object, "minimum", bound_json(f->min));
        (void)json_object_set_new(object, "maximum", bound_json(f->max));
    }
    if (f->max_len)
        (void)json_object_set_new(object, most, json_integer((json_int_t)f->max_len));
    if (f->choices)
        (void)json_object_set_new(object, "enum", choices_json(f->choices));
    if (f->type == SCHEMA_STRINGS)
        (void)json_object_set_new(object, "items", json_pack("{s:s}", "type", "string"));
    if (f->type == SCHEMA_MAP)
        (void)json_object_set_new(object, "additionalProperties",
                                  json_pack("{s:s}", "type", "string"));
    if (f->type == SCHEMA_OBJECTS)
        (void)json_object_set_new(object, "items", schema_json(f->items));
    if (f->type == SCHEMA_OBJECT && f->items) {
        shape = schema_json(f->items);
        (void)json_object_update_missing(object, shape);
        json_decref(shape);
    }
    return object;
}

json_t *schema_json(const struct schema_field *fields)
{
    json_t *properties = json_object(), *required = json_array();
    json_t *object;

    for (const struct schema_field *f = fields; f->name; f++) {
        (void)json_object_set_new(properties, f->name, field_json(f));
        if (f->is_required)
            (void)json_array_append_new(required, json_string(f->name));
    }
    object = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                       "additionalProperties", 0);
    if (json_array_size(required))
        (void)json_object_set_new(object, "required", required);
    else
        json_decref(required);
    return object;
}
