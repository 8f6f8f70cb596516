#include "pool/mask.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

static const struct scrub_rules *the_rules;
static const struct scrub_values *the_values;

/* For whole texts, of which one is masked after the other: by what is to be masked. */
static struct scrub *for_texts[RUN_MASK_COUNT];
static struct run *texts_of; /* whose text it is */
static struct scrub *for_trail[RUN_MASK_COUNT];

void mask_configure(const struct scrub_rules *rules, const struct scrub_values *values)
{
    the_rules = rules;
    the_values = values;
    for (size_t i = 0; i < ARRAY_SIZE(for_texts); i++) {
        scrub_free(for_texts[i]);
        scrub_free(for_trail[i]);
        for_texts[i] = for_trail[i] = NULL;
    }
}

static void count(struct run *run, const struct scrub_find *find)
{
    struct run_masked *masked = &run->masked;

    masked->count++;
    for (size_t i = 0; i < masked->n_kinds; i++)
        if (strcmp(masked->kinds[i], find->kind) == 0)
            return;
    if (masked->n_kinds < ARRAY_SIZE(masked->kinds))
        masked->kinds[masked->n_kinds++] = find->kind;
}

static void on_find(void *arg, const struct scrub_find *find)
{
    count(arg, find);
}

static void on_find_in_text(void *arg, const struct scrub_find *find)
{
    (void)arg;
    count(texts_of, find);
}

static struct clean_text withhold(struct run *run)
{
    if (run->error.code == E_NONE)
        error_set(&run->error, E_INTERNAL, "the masker failed, so the output is withheld");
    return scrub_vouch("", 0);
}

static struct scrub *make(const struct run *run, void (*found)(void *, const struct scrub_find *),
                          void *arg)
{
    return scrub_new(&(struct scrub_options){.is_aggressive = run->masking == RUN_MASK_ALL,
                                             .rules = the_rules,
                                             .values = the_values,
                                             .names = run->names,
                                             .on_find = found,
                                             .arg = arg});
}

struct clean_text mask_stream(struct run *run, struct scrub **scrub, const char *data, size_t len)
{
    struct clean_text text;

    if (run->masking == RUN_MASK_NOTHING)
        return scrub_vouch(data, len); /* the operator wants it so */
    if (!*scrub)
        *scrub = make(run, on_find, run);
    if (!*scrub || scrub_feed(*scrub, data, len, &text, NULL) < 0)
        return withhold(run);
    return text;
}

struct clean_text mask_stream_end(struct run *run, struct scrub **scrub)
{
    struct clean_text text;

    if (!*scrub)
        return scrub_vouch("", 0);
    return scrub_finish(*scrub, &text, NULL) < 0 ? withhold(run) : text;
}

struct clean_text mask_text(struct run *run, struct span text)
{
    struct scrub **scrub = &for_texts[run->masking];
    struct clean_text clean;

    if (run->masking == RUN_MASK_NOTHING)
        return scrub_vouch(text.data, text.len);
    if (!*scrub)
        *scrub = make(run, on_find_in_text, NULL);
    texts_of = run;
    if (*scrub)
        scrub_use_names(*scrub, run->names);
    if (!*scrub || scrub_text(*scrub, text.data, text.len, &clean, NULL) < 0) {
        scrub_free(*scrub); /* a broken one stays broken */
        *scrub = NULL;
        return withhold(run);
    }
    return clean;
}

struct clean_text mask_for_trail(enum run_masking masking, struct span text, uint64_t *ret_count)
{
    static const char withheld[] = "[WITHHELD]";
    struct scrub **scrub = &for_trail[masking];
    const struct run model = {.masking = masking};
    struct clean_text clean;
    uint64_t before;

    if (!text.len)
        return scrub_vouch("", 0);
    if (!*scrub)
        *scrub = make(&model, NULL, NULL);
    before = *scrub ? scrub_count(*scrub) : 0;
    if (!*scrub || scrub_text(*scrub, text.data, text.len, &clean, NULL) < 0) {
        scrub_free(*scrub); /* a broken one stays broken */
        *scrub = NULL;
        return scrub_vouch(withheld, sizeof(withheld) - 1);
    }
    if (ret_count)
        *ret_count = scrub_count(*scrub) - before;
    return clean;
}

/* ---- JSON ---- */

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
    while (n < len && text[n] != ']' && text[n] != '"')
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

/* Whoever reads JSON sees no escapes, and neither does the masker: colours and invisible characters
 * are what they are, and a letter may not hide. Never longer than it was. NULL: out of memory. */
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

    for (size_t i = 0; i < text.len; i++)
        count += (unsigned char)text.data[i] < 0x20;
    return count;
}

/* Labels as strings, and control characters in strings as escapes again. */
static char *spell_json(struct clean_text clean, size_t labels)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    char *copy = malloc(clean.len + 2 * labels + 5 * count_controls(clean) + 1);
    bool is_string = false;

    for (size_t i = 0; copy && i < clean.len; i++) {
        size_t label = is_string || !labels ? 0 : label_length(clean.data + i, clean.len - i);
        unsigned char c = (unsigned char)clean.data[i];

        if (label) {
            copy[n++] = '"';
            memcpy(copy + n, clean.data + i, label);
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
        if (is_string && c == '\\' && i + 1 < clean.len && (unsigned char)clean.data[i + 1] >= 0x20)
            copy[n++] = clean.data[i++];
        else if (c == '"')
            is_string = !is_string;
        copy[n++] = clean.data[i];
    }
    if (copy)
        copy[n] = '\0';
    return copy;
}

char *mask_json(struct run *run, struct span text)
{
    uint64_t before = run->masked.count;
    cleanup_free char *plain = NULL;
    size_t len = 0;
    struct clean_text clean;

    if (run->masking == RUN_MASK_NOTHING)
        return strndup(text.data, text.len);
    plain = spell_out(text, &len);
    if (!plain)
        return NULL;
    clean = mask_text(run, (struct span){plain, len});
    return spell_json(clean, (size_t)(run->masked.count - before));
}

/* ---- types ---- */

static bool ends_with(struct span text, const char *end)
{
    size_t len = strlen(end);

    return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

/* By its name, or because it can be read: a type that nobody knows is no way out. */
static bool is_text(struct span mime, struct span data)
{
    return (mime.len > 5 && memcmp(mime.data, "text/", 5) == 0) || ends_with(mime, "json") ||
           ends_with(mime, "xml") || ends_with(mime, "javascript") || ends_with(mime, "yaml") ||
           (!memchr(data.data, '\0', data.len) && utf8_valid(data.data, data.len) == data.len);
}

bool mask_form(struct run *run, struct span mime, struct span *data, char **ret_copy)
{
    struct clean_text clean;

    if (!data->len || !is_text(mime, *data))
        return true;
    if (ends_with(mime, "json")) {
        *ret_copy = mask_json(run, *data);
        *data = (struct span){*ret_copy, *ret_copy ? strlen(*ret_copy) : 0};
        return *ret_copy;
    }
    clean = mask_text(run, *data);
    *ret_copy = malloc(clean.len + 1);
    if (!*ret_copy)
        return false;
    memcpy(*ret_copy, clean.data, clean.len);
    *data = (struct span){*ret_copy, clean.len};
    return true;
}
