#include "pool/mask.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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

char *mask_json(struct run *run, struct span text)
{
    uint64_t before = run->masked.count;
    struct clean_text clean = mask_text(run, text);
    size_t labels = (size_t)(run->masked.count - before), n = 0;
    char *copy = malloc(clean.len + 2 * labels + 1);
    bool is_string = false;

    for (size_t i = 0; copy && i < clean.len; i++) {
        size_t label = is_string || !labels ? 0 : label_length(clean.data + i, clean.len - i);

        if (label) {
            copy[n++] = '"';
            memcpy(copy + n, clean.data + i, label);
            n += label;
            copy[n++] = '"';
            i += label - 1;
            labels--;
            continue;
        }
        if (is_string && clean.data[i] == '\\' && i + 1 < clean.len)
            copy[n++] = clean.data[i++];
        else if (clean.data[i] == '"')
            is_string = !is_string;
        copy[n++] = clean.data[i];
    }
    if (copy)
        copy[n] = '\0';
    return copy;
}

/* ---- types ---- */

static bool ends_with(struct span text, const char *end)
{
    size_t len = strlen(end);

    return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

static bool is_text(struct span mime)
{
    return (mime.len > 5 && memcmp(mime.data, "text/", 5) == 0) || ends_with(mime, "json") ||
           ends_with(mime, "xml") || ends_with(mime, "javascript") || ends_with(mime, "yaml");
}

bool mask_form(struct run *run, struct span mime, struct span *data, char **ret_copy)
{
    struct clean_text clean;

    if (!data->len || !is_text(mime))
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
