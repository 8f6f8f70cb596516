#include "engine/masking.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/hidden_mark.h"
#include "base/limits.h"
#include "base/quote.h"
#include "base/span.h"
#include "base/utf8.h"

/* A masker for whole texts. One that is in the middle of a long text, in a fiber that pauses, is in
 * nobody else's hands. */
struct texts {
    struct masker *masker;
    struct run_masked *masked; /* what counts the finds of the present text, or NULL */
    unsigned generation;       /* of the rules and values that it knows */
};

struct masks {
    const struct masker_rules *rules;
    const struct masker_values *values;
    /* The last that was used, by what is to be masked. What it gave out holds until it is taken
     * again. */
    struct texts *for_texts[RUN_MASK_COUNT], *for_trail[RUN_MASK_COUNT];
    struct review *for_review;
    unsigned generation; /* of rules and values */
};

static void texts_free(struct texts *texts)
{
    if (texts)
        masker_free(texts->masker);
    free(texts);
}

struct found {
    const char *label;
    size_t len;
};

/* A masker for texts that somebody decides on, and what it found in one of them. */
struct review {
    struct masker *masker;
    unsigned generation;
    struct found *items;
    size_t count, size;
    bool is_incomplete;
};

static void review_free(struct review *review)
{
    if (review) {
        masker_free(review->masker);
        free(review->items);
    }
    free(review);
}

struct masks *masks_new(const struct masker_rules *rules, const struct masker_values *values,
                        struct error *err)
{
    struct masks *masks = calloc(1, sizeof(*masks));

    if (masks)
        masks_set(masks, rules, values);
    else
        error_memory(err);
    return masks;
}

void masks_set(struct masks *masks, const struct masker_rules *rules,
               const struct masker_values *values)
{
    masks->rules = rules;
    masks->values = values;
    for (size_t i = 0; i < ARRAY_SIZE(masks->for_texts); i++) {
        texts_free(masks->for_texts[i]);
        texts_free(masks->for_trail[i]);
        masks->for_texts[i] = masks->for_trail[i] = NULL;
    }
    review_free(masks->for_review);
    masks->for_review = NULL;
    masks->generation++;
}

void masks_free(struct masks *masks)
{
    if (masks)
        masks_set(masks, NULL, NULL);
    free(masks);
}

struct mask_context mask_context_of(struct run *run)
{
    return (struct mask_context){.level = run->terms.masking,
                                 .masks = run->masks,
                                 .names = run->names,
                                 .masked = &run->result.masked,
                                 .error = &run->result.error};
}

static void count(struct run_masked *masked, const struct masker_find *find)
{
    masked->count++;
    for (size_t i = 0; i < masked->n_kinds; i++)
        if (strcmp(masked->kinds[i], find->kind) == 0)
            return;
    if (masked->n_kinds < ARRAY_SIZE(masked->kinds))
        masked->kinds[masked->n_kinds++] = find->kind;
}

static void on_find(void *arg, const struct masker_find *find)
{
    if (arg)
        count(arg, find);
}

static void on_find_in_text(void *arg, const struct masker_find *find)
{
    const struct texts *texts = arg;

    if (texts->masked)
        count(texts->masked, find);
}

static struct clean_text withhold(struct mask_context context)
{
    if (context.error && context.error->code == E_NONE && !fiber_is_cancelled())
        error_set(context.error, E_INTERNAL, "the masker failed, so the output is withheld");
    return clean_literal("");
}

/* In a fiber others have their turn between two blocks of a text. */
static bool go_on(void)
{
    fiber_pause();
    return !fiber_is_cancelled();
}

static struct masker *make(struct mask_context context,
                           void (*found)(void *, const struct masker_find *), void *arg)
{
    return masker_new(&(struct masker_options){.is_aggressive = context.level == RUN_MASK_ALL,
                                               .rules = context.masks->rules,
                                               .values = context.masks->values,
                                               .names = context.names,
                                               .on_find = found,
                                               .between = go_on,
                                               .arg = arg});
}

struct clean_text mask_stream(struct mask_context context, struct masker **masker, const char *data,
                              size_t len)
{
    struct clean_text text;

    if (context.level == RUN_MASK_NOTHING)
        return masker_pass_unmasked(data, len); /* the operator switched masking off */
    if (!*masker && context.masks)
        *masker = make(context, on_find, context.masked);
    if (!*masker || masker_feed(*masker, data, len, &text, NULL) < 0)
        return withhold(context);
    return text;
}

struct clean_text mask_stream_end(struct mask_context context, struct masker **masker)
{
    struct clean_text text;

    if (!*masker)
        return clean_literal("");
    return masker_finish(*masker, &text, NULL) < 0 ? withhold(context) : text;
}

void mask_stream_free(struct masker **masker)
{
    masker_free(*masker);
    *masker = NULL;
}

/* The idle one of this place, or a new one; NULL: out of memory. */
static struct texts *take_texts(struct texts **place, struct mask_context context)
{
    struct texts *texts = take_ptr(*place);

    if (texts && texts->generation == context.masks->generation)
        return texts;
    texts_free(texts);
    texts = calloc(1, sizeof(*texts));
    if (texts) {
        texts->generation = context.masks->generation;
        texts->masker = make(context, on_find_in_text, texts);
    }
    if (texts && texts->masker)
        return texts;
    free(texts);
    return NULL;
}

/* The last one that is given back stays: its text is the one that the caller reads now. */
static void give_texts(struct texts **place, struct texts *texts)
{
    texts->masked = NULL;
    texts_free(*place);
    *place = texts;
}

struct clean_text mask_text(struct mask_context context, struct span text)
{
    struct texts **place, *texts;
    struct clean_text clean;

    if (context.level == RUN_MASK_NOTHING)
        return masker_pass_unmasked(text.data, text.len);
    if (fiber_is_cancelled() || !context.masks)
        return withhold(context);
    place = &context.masks->for_texts[context.level];
    texts = take_texts(place, context);
    if (!texts)
        return withhold(context);
    texts->masked = context.masked;
    masker_use_names(texts->masker, context.names);
    if (masker_text(texts->masker, text.data, text.len, &clean, NULL) < 0) {
        texts_free(texts); /* a broken one stays broken */
        return withhold(context);
    }
    give_texts(place, texts);
    return clean;
}

static struct mask_count count_of(const struct texts *texts)
{
    return (struct mask_count){masker_count(texts->masker), masker_hidden_bytes(texts->masker)};
}

static struct clean_text withhold_from_trail(struct span text, struct mask_count *ret_count)
{
    if (ret_count)
        *ret_count = (struct mask_count){1, text.len};
    return clean_literal("[WITHHELD]");
}

struct clean_text mask_for_trail(struct masks *masks, enum run_masking masking, struct span text,
                                 struct mask_count *ret_count)
{
    const struct mask_context context = {.level = masking, .masks = masks};
    struct texts *texts;
    struct clean_text clean;
    struct mask_count before, after;

    if (!text.len)
        return clean_literal("");
    texts = take_texts(&masks->for_trail[masking], context);
    if (!texts)
        return withhold_from_trail(text, ret_count);
    before = count_of(texts);
    if (masker_text(texts->masker, text.data, text.len, &clean, NULL) < 0) {
        texts_free(texts); /* a broken one stays broken */
        return withhold_from_trail(text, ret_count);
    }
    after = count_of(texts);
    give_texts(&masks->for_trail[masking], texts);
    if (ret_count)
        *ret_count = (struct mask_count){after.finds - before.finds, after.bytes - before.bytes};
    return clean;
}

/* Bytes of a message that another process wrote. */
#define ERROR_BYTES ((size_t)2 * KIB)

static char *error_line(struct masks *masks, struct span text)
{
    struct clean_text clean = mask_for_trail(masks, RUN_MASK_SECRETS, text, NULL);

    return quote_line((struct span){clean_data(clean), clean_len(clean)}, ERROR_BYTES);
}

void mask_error(struct masks *masks, struct error *err, enum error_code code, struct span message,
                struct span hint)
{
    cleanup_free char *line = error_line(masks, message);
    cleanup_free char *advice = hint.len ? error_line(masks, hint) : NULL;

    error_set(err, code, "%s", line ? line : "out of memory");
    if (advice)
        error_hint(err, "%s", advice);
}

/* ---- texts that somebody decides on ---- */

static void on_find_in_review(void *arg, const struct masker_find *find)
{
    struct review *review = arg;
    struct found *grown = array_grow(review->items, review->count, &review->size, sizeof(*grown));

    if (!grown) {
        review->is_incomplete = true;
        return;
    }
    review->items = grown;
    review->items[review->count++] = (struct found){find->label, find->len};
}

/* NULL: out of memory. */
static struct review *take_review(struct masks *masks)
{
    struct review *review = take_ptr(masks->for_review);

    if (!review && (review = calloc(1, sizeof(*review)))) {
        review->generation = masks->generation;
        review->masker = masker_new(&(struct masker_options){.mode = MASKER_REVIEW,
                                                             .values = masks->values,
                                                             .on_find = on_find_in_review,
                                                             .between = go_on,
                                                             .arg = review});
    }
    if (review && review->masker) {
        review->count = 0;
        review->is_incomplete = false;
        return review;
    }
    review_free(review);
    return NULL;
}

static void give_review(struct masks *masks, struct review *review)
{
    if (masks->for_review || review->generation != masks->generation)
        review_free(review);
    else
        masks->for_review = review;
}

/* The text with a mark in place of each label. A label begins with a bracket, which is never
 * hidden: where both differ is a label, and nothing else. */
static int put_marks(const struct review *finds, struct span real, struct clean_text masked,
                     struct buf *out, struct error *err)
{
    size_t i = 0, at = 0, next = 0;

    while (at < clean_len(masked)) {
        size_t from = i, label;

        while (at < clean_len(masked) && i < real.len && clean_data(masked)[at] == real.data[i]) {
            at++;
            i++;
        }
        if (i > from && buf_add(out, real.data + from, i - from, err) < 0)
            return -1;
        if (at == clean_len(masked))
            break;
        label = next < finds->count ? strlen(finds->items[next].label) : 0;
        if (!label || clean_len(masked) - at < label ||
            memcmp(clean_data(masked) + at, finds->items[next].label, label) != 0 ||
            finds->items[next].len > real.len - i)
            return error_set(err, E_INTERNAL, "the text cannot be shown");
        if (hidden_mark(out, finds->items[next].len, err) < 0)
            return -1;
        at += label;
        i += finds->items[next++].len;
    }
    return i == real.len ? 0 : error_set(err, E_INTERNAL, "the text cannot be shown");
}

int mask_for_review(struct mask_context context, struct span text, struct buf *out,
                    struct error *err)
{
    struct review *review;
    struct clean_text masked;
    size_t len = out->len;
    int r;

    if (context.level == RUN_MASK_NOTHING || !text.len)
        return buf_add(out, text.data, text.len, err);
    review = context.masks ? take_review(context.masks) : NULL;
    if (!review || masker_text(review->masker, text.data, text.len, &masked, NULL) < 0) {
        review_free(review); /* a broken one stays broken */
        return error_set(err, E_INTERNAL, "the text cannot be shown");
    }
    r = review->is_incomplete ? error_memory(err) : put_marks(review, text, masked, out, err);
    give_review(context.masks, review);
    if (r < 0)
        out->len = len;
    return r;
}

static json_t *review_text(struct mask_context context, struct span text, uint64_t *hidden)
{
    cleanup(buf_done) struct buf shown = BUF_OF(8 * MIB);
    int64_t count;

    if (mask_for_review(context, text, &shown, NULL) < 0)
        return NULL;
    count = hidden_count(text, (struct span){buf_str(&shown), shown.len});
    if (count < 0)
        return NULL;
    *hidden += (uint64_t)count;
    return json_stringn(buf_str(&shown), shown.len);
}

/* A number in which a value is hidden becomes a text. */
static json_t *review_number(struct mask_context context, const json_t *value, uint64_t *hidden)
{
    cleanup_free char *text = json_dumps(value, JSON_ENCODE_ANY);
    uint64_t before = *hidden;
    json_t *shown = text ? review_text(context, span_of(text), hidden) : NULL;

    if (!shown || *hidden != before)
        return shown;
    json_decref(shown);
    return json_copy((json_t *)value);
}

static json_t *review_object(struct mask_context context, const json_t *value, uint64_t *hidden)
{
    json_t *copy = json_object(), *item;
    const char *key;

    json_object_foreach((json_t *)value, key, item)
    {
        json_t *name = review_text(context, span_of(key), hidden);
        json_t *shown = mask_json_for_review(context, item, hidden);
        bool is_new = name && !json_object_get(copy, json_string_value(name));
        int r = is_new && shown ? json_object_set(copy, json_string_value(name), shown) : -1;

        json_decref(name);
        json_decref(shown);
        if (r < 0) { /* two names that look alike are one too few */
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

json_t *mask_json_for_review(struct mask_context context, const json_t *value, uint64_t *ret_hidden)
{
    json_t *copy, *item;
    size_t i;

    if (json_is_string(value))
        return review_text(context,
                           (struct span){json_string_value(value), json_string_length(value)},
                           ret_hidden);
    if (json_is_number(value))
        return review_number(context, value, ret_hidden);
    if (json_is_object(value))
        return review_object(context, value, ret_hidden);
    if (!json_is_array(value))
        return json_copy((json_t *)value);
    copy = json_array();
    json_array_foreach((json_t *)value, i, item)
    {
        if (json_array_append_new(copy, mask_json_for_review(context, item, ret_hidden)) < 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

/* ---- JSON ---- */

/* No label is longer: [REDACTED_ and the name of a rule. */
#define LABEL_MAX ((size_t)64)

/* Outside of strings, a capital, or a bracket before one, begins one of our labels and nothing
 * else: JSON has no such value. Returns its length, or 0. */
static size_t label_length(const char *text, size_t len)
{
    size_t n = 1;

    if (len && text[0] >= 'A' && text[0] <= 'Z') {
        while (n < len && (isupper((unsigned char)text[n]) || isdigit((unsigned char)text[n]) ||
                           text[n] == '_'))
            n++;
        return n;
    }
    if (len < 3 || text[0] != '[' || text[1] < 'A' || text[1] > 'Z')
        return 0;
    while (n < len && n < LABEL_MAX && text[n] != ']' && text[n] != '"')
        n++;
    return n < len && text[n] == ']' ? n + 1 : 0;
}

/* Four digits; -1: they are none. */
static int32_t read_unit(const char *text, size_t len)
{
    int32_t unit = 0;

    if (len < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = text[i] ? strchr(digits, tolower((unsigned char)text[i])) : NULL;

        if (!digit)
            return -1;
        unit = unit << 4 | (int32_t)(digit - digits);
    }
    return unit;
}

static size_t put_utf8(char *to, uint32_t c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint32_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = n; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(heads[n] | c);
    return n;
}

/* The character of an escape as itself, of quotes and backslashes as the escape that everybody
 * writes. Returns how long the escape was; 0: it stays. */
static size_t unescape(const char *text, size_t len, char *to, size_t *n)
{
    int32_t unit = read_unit(text, len), low;

    if (len > 1 && text[1] == '/') {
        to[(*n)++] = '/';
        return 2;
    }
    if (unit == '"' || unit == '\\') {
        to[(*n)++] = '\\';
        to[(*n)++] = (char)unit;
        return 6;
    }
    if (unit >= 0xd800 && unit < 0xdc00) {
        low = read_unit(text + 6, len - 6);
        if (low < 0xdc00 || low > 0xdfff)
            return 0;
        *n +=
            put_utf8(to + *n, 0x10000 + (((uint32_t)unit - 0xd800) << 10) + (uint32_t)low - 0xdc00);
        return 12;
    }
    if (unit <= 0 || (unit >= 0xdc00 && unit < 0xe000))
        return 0;
    *n += put_utf8(to + *n, (uint32_t)unit);
    return 6;
}

/* A reader of JSON sees no escapes, and neither does the masker: escaped colours, invisible
 * characters and letters are decoded first. Never longer than it was. NULL: out of memory. */
static char *spell_out(struct span text, size_t *ret_len)
{
    char *copy = malloc(text.len + 1);
    size_t n = 0;

    for (size_t i = 0; copy && i < text.len;) {
        size_t len = text.data[i] == '\\' ? unescape(text.data + i, text.len - i, copy, &n) : 0;

        i += len;
        if (len)
            continue;
        if (text.data[i] == '\\' && i + 1 < text.len)
            copy[n++] = text.data[i++];
        copy[n++] = text.data[i++];
    }
    *ret_len = n;
    return copy;
}

static size_t count_controls(struct clean_text text)
{
    size_t count = 0;

    for (size_t i = 0; i < clean_len(text); i++)
        count += (unsigned char)clean_data(text)[i] < 0x20;
    return count;
}

/* Labels as strings, and control characters in strings as escapes again. */
static char *spell_json(struct clean_text clean, size_t labels)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    char *copy = malloc(clean_len(clean) + 2 * labels + 5 * count_controls(clean) + 1);
    bool is_string = false;

    for (size_t i = 0; copy && i < clean_len(clean); i++) {
        size_t label =
            is_string || !labels ? 0 : label_length(clean_data(clean) + i, clean_len(clean) - i);
        unsigned char c = (unsigned char)clean_data(clean)[i];

        if (label) {
            copy[n++] = '"';
            memcpy(copy + n, clean_data(clean) + i, label);
            n += label;
            copy[n++] = '"';
            i += label - 1;
            labels--;
            continue;
        }
        if (is_string && c < 0x20) {
            memcpy(copy + n, "\\u00", 4);
            copy[n + 4] = digits[c >> 4];
            copy[n + 5] = digits[c & 15];
            n += 6;
            continue;
        }
        if (is_string && c == '\\' && i + 1 < clean_len(clean) &&
            (unsigned char)clean_data(clean)[i + 1] >= 0x20)
            copy[n++] = clean_data(clean)[i++];
        else if (c == '"')
            is_string = !is_string;
        copy[n++] = clean_data(clean)[i];
    }
    if (copy)
        copy[n] = '\0';
    return copy;
}

char *mask_json(struct mask_context context, struct span text)
{
    struct run_masked own = {0};
    uint64_t before;
    cleanup_free char *plain = NULL;
    size_t len = 0;
    struct clean_text clean;

    if (context.level == RUN_MASK_NOTHING)
        return strndup(text.data, text.len);
    if (!context.masked)
        context.masked = &own;
    before = context.masked->count;
    plain = spell_out(text, &len);
    if (!plain)
        return NULL;
    fiber_pause();
    clean = mask_text(context, (struct span){plain, len});
    return spell_json(clean, (size_t)(context.masked->count - before));
}

/* ---- types ---- */

/* By its name, or because it can be read: a type that nobody knows is no way out. */
static bool is_text(struct span mime, struct span data)
{
    return (mime.len > 5 && memcmp(mime.data, "text/", 5) == 0) || span_ends_with(mime, "json") ||
           span_ends_with(mime, "xml") || span_ends_with(mime, "javascript") ||
           span_ends_with(mime, "yaml") ||
           (!memchr(data.data, '\0', data.len) && utf8_valid(data.data, data.len) == data.len);
}

bool mask_form(struct mask_context context, struct span mime, struct span *data, char **ret_copy)
{
    struct clean_text clean;

    if (!data->len || !is_text(mime, *data))
        return true;
    if (span_ends_with(mime, "json")) {
        *ret_copy = mask_json(context, *data);
        *data = (struct span){*ret_copy, *ret_copy ? strlen(*ret_copy) : 0};
        return *ret_copy;
    }
    clean = mask_text(context, *data);
    *ret_copy = malloc(clean_len(clean) + 1);
    if (!*ret_copy)
        return false;
    memcpy(*ret_copy, clean_data(clean), clean_len(clean));
    *data = (struct span){*ret_copy, clean_len(clean)};
    return true;
}
