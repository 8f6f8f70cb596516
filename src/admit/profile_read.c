/* One file of a profile: every key has a row in a table, and what has no row is refused by name. */
#include "admit/profile_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/layer.h"
#include "base/limits.h"
#include "base/net.h"
#include "base/suggest.h"
#include "base/toml.h"

/* ---- messages ---- */

/* "FILE:LINE: message". The lines are looked up only now, when there is a mistake to report. */
int profile_mistake(const struct profile_source *source, const char *key, struct error *err,
                    const char *fmt, ...)
{
    cleanup_json json_t *tree = NULL;
    cleanup_json json_t *lines = NULL;
    cleanup_free char *text = NULL;
    va_list args;
    int line = 0;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    if (toml_load_lines(source->path, &tree, &lines, NULL) == 0)
        line = toml_line(lines, key);
    if (line > 0)
        return error_set(err, E_INVALID, "%s:%d: %s", source->path, line, text ? text : key);
    return error_set(err, E_INVALID, "%s: %s", source->path, text ? text : key);
}

static const char *json_kind(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "a table";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "text";
    case JSON_INTEGER:
        return "a number";
    case JSON_REAL:
        return "a fraction";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "nothing";
    }
}

int profile_wrong_kind(const struct profile_source *source, const char *key, const json_t *value,
                       const char *expected, struct error *err)
{
    return profile_mistake(source, key, err, "`%s` is %s, expected %s", key, json_kind(value),
                           expected);
}

/* ---- lists ---- */

/* The words that each list may have. */
enum word_kind { WORD_MODULE, WORD_NAME, WORD_LANGUAGE, WORD_LAYER, WORD_POWER, WORD_REACH };

/* A language that another one's kernel runs goes by that name: both can do the same. */
static const char *const profile_languages[] = {
#define X(id, name, title, aliases, suffixes, interpreters, kernel, ...)                           \
    RUN_##id == RUN_##kernel ? (name) : NULL,
    LANGUAGES(X)
#undef X
};

const char *const profile_layers[] = {
#define X(layer, name) name,
    WIRE_LAYERS(X)
#undef X
        "machine",
};
_Static_assert(ARRAY_SIZE(profile_layers) == RUN_LAYER_COUNT, "each has a bit");

const char *const profile_powers[] = {
#define X(power, name) name,
    POLICY_POWERS(X)
#undef X
};

const char *const profile_reach[] = {
#define X(reach, name) name,
    RUN_REACHES(X)
#undef X
};

static const struct {
    const char *what;
    const char *const *words; /* NULL: any identifier; some may be NULL */
    size_t count;
} word_kinds[] = {
    [WORD_MODULE] = {"a module name", NULL, 0},
    [WORD_NAME] = {"a name", NULL, 0},
    [WORD_LANGUAGE] = {"a language (`python`, `bash`, `javascript`)", profile_languages,
                       ARRAY_SIZE(profile_languages)},
    [WORD_LAYER] = {"a layer of the sandbox", profile_layers, ARRAY_SIZE(profile_layers)},
    [WORD_REACH] = {"something that programs may ask for", profile_reach,
                    ARRAY_SIZE(profile_reach)},
    [WORD_POWER] = {"one of the things code may do at run time", profile_powers,
                    ARRAY_SIZE(profile_powers)},
};

/* Identifiers of Python may be any letters; what is refused is what can never be one. */
static bool is_identifier(const char *word, bool may_have_dots)
{
    bool at_start = true;

    if (!*word || strlen(word) > POLICY_KEY_MAX / 2)
        return false;
    for (const char *c = word; *c; c++) {
        if (*c == '.' && may_have_dots && !at_start) {
            at_start = true;
            continue;
        }
        if (!isalnum((unsigned char)*c) && *c != '_' && !((unsigned char)*c & 0x80))
            return false;
        if (at_start && isdigit((unsigned char)*c))
            return false;
        at_start = false;
    }
    return !at_start;
}

static int check_word(const struct profile_source *source, const char *key, enum word_kind kind,
                      const char *word, struct error *err)
{
    const char *near;

    if (!word_kinds[kind].words) {
        if (is_identifier(word, kind == WORD_MODULE))
            return 0;
        return profile_mistake(source, key, err, "`%s` is not %s", word, word_kinds[kind].what);
    }
    for (size_t i = 0; i < word_kinds[kind].count; i++)
        if (word_kinds[kind].words[i] && strcmp(word, word_kinds[kind].words[i]) == 0)
            return 0;
    near = suggest_nearest(word, word_kinds[kind].words, word_kinds[kind].count);
    profile_mistake(source, key, err, "`%s` is not %s", word, word_kinds[kind].what);
    return near ? error_hint(err, "did you mean `%s`?", near) : -1;
}

/* The nearest member of a set, for "-nmupy". */
static const char *nearest_member(json_t *set, const char *word)
{
    const char *names[PROFILE_NAMES_MAX];
    size_t count = 0;
    const char *name;
    json_t *value;

    json_object_foreach(set, name, value)
    {
        if (count < PROFILE_NAMES_MAX && abs((int)strlen(name) - (int)strlen(word)) <= 2)
            names[count++] = name;
    }
    return suggest_nearest(word, names, count);
}

/* "-name" takes away what the parent had, "-*" all of it. Taking away what is not there is a slip
 * of the pen that would leave something in force, so it is an error. */
static int take_away(const struct profile_source *source, const char *key, json_t *set,
                     const char *word, struct error *err)
{
    const char *near;

    if (strcmp(word, "*") == 0)
        return json_object_clear(set);
    if (json_object_del(set, word) == 0)
        return 0;
    near = nearest_member(set, word);
    profile_mistake(source, key, err, "`-%s` removes an entry that no parent has put into `%s`",
                    word, key);
    return near ? error_hint(err, "did you mean `-%s`?", near) : -1;
}

static int merge_list(const struct profile_source *source, const char *key, const json_t *value,
                      enum word_kind kind, json_t *set, struct error *err)
{
    size_t index;
    json_t *item;

    if (!json_is_array(value))
        return profile_wrong_kind(source, key, value, "a list", err);
    json_array_foreach(value, index, item)
    {
        cleanup_free char *word = NULL;
        size_t len;

        if (!json_is_string(item))
            return profile_wrong_kind(source, key, item, "a list of names in quotes", err);
        word = strdup(json_string_value(item));
        if (!word)
            return error_memory(err);
        /* "api.*" says the same as "api": a package stands for what is in it. */
        len = strlen(word);
        if (kind == WORD_MODULE && len > 2 && strcmp(word + len - 2, ".*") == 0)
            word[len - 2] = '\0';
        if (word[0] == '-') {
            if (take_away(source, key, set, word + 1, err) < 0)
                return -1;
            continue;
        }
        if (check_word(source, key, kind, word, err) < 0)
            return -1;
        if (json_object_set_new(set, word, json_true()) < 0)
            return error_memory(err);
    }
    return 0;
}

/* ---- fields ---- */

static int read_text(const struct profile_source *source, const char *key, const json_t *value,
                     struct error *err)
{
    if (!json_is_string(value))
        return profile_wrong_kind(source, key, value, "text in quotes", err);
    return 0;
}

static int read_bool(const struct profile_source *source, const char *key, const json_t *value,
                     bool *ret_value, struct error *err)
{
    if (!json_is_boolean(value))
        return profile_wrong_kind(source, key, value, "true or false", err);
    *ret_value = json_is_true(value);
    return 0;
}

static int read_number(const struct profile_source *source, const char *key, const json_t *value,
                       uint64_t least, uint64_t most, uint64_t *ret_value, struct error *err)
{
    json_int_t number;

    if (!json_is_integer(value))
        return profile_wrong_kind(source, key, value, "a whole number", err);
    number = json_integer_value(value);
    if (number < 0 || (uint64_t)number < least || (uint64_t)number > most)
        return profile_mistake(source, key, err,
                               "`%s` is %" JSON_INTEGER_FORMAT ", expected %" PRIu64 " to %" PRIu64,
                               key, number, least, most);
    *ret_value = (uint64_t)number;
    return 0;
}

/* One of two words. */
static int read_choice(const struct profile_source *source, const char *key, const json_t *value,
                       const char *yes, const char *no, bool *ret_is_yes, struct error *err)
{
    const char *word = json_string_value(value);

    if (word && strcmp(word, yes) == 0)
        *ret_is_yes = true;
    else if (word && strcmp(word, no) == 0)
        *ret_is_yes = false;
    else
        return profile_mistake(source, key, err, "`%s` is %s%s%s, expected `%s` or `%s`", key,
                               word ? "`" : "", word ? word : json_kind(value), word ? "`" : "",
                               yes, no);
    return 0;
}

static int read_from(const struct profile_source *source, const char *key, const json_t *value,
                     struct error *err)
{
    json_t *modules = source->profile->sets[POLICY_IMPORT_FROM];
    const char *module;
    json_t *names;

    if (!json_is_object(value))
        return profile_wrong_kind(source, key, value, "a table of `module = [names]`", err);
    json_object_foreach((json_t *)value, module, names)
    {
        cleanup_free char *path = NULL;
        json_t *set;

        if (asprintf(&path, "%s.%s", key, module) < 0) {
            path = NULL;
            return error_memory(err);
        }
        if (check_word(source, path, WORD_MODULE, module, err) < 0)
            return -1;
        set = json_object_get(modules, module);
        if (!set) {
            set = json_object();
            if (json_object_set_new(modules, module, set) < 0)
                return error_memory(err);
        }
        if (merge_list(source, path, names, WORD_NAME, set, err) < 0)
            return -1;
    }
    return 0;
}

static int read_hints(const struct profile_source *source, const char *key, const json_t *value,
                      const char *kind, struct error *err)
{
    const char *name;
    json_t *text;

    if (!json_is_object(value))
        return profile_wrong_kind(source, key, value, "a table of `name = \"what to use instead\"`",
                                  err);
    json_object_foreach((json_t *)value, name, text)
    {
        cleanup_free char *full = NULL;

        if (!json_is_string(text))
            return profile_wrong_kind(source, key, text, "text in quotes", err);
        if (json_string_length(text) == 0 || json_string_length(text) > POLICY_VALUE_MAX)
            return profile_mistake(source, key, err, "the hint for `%s` is empty or too long",
                                   name);
        if (check_word(source, key, WORD_MODULE, name, err) < 0)
            return -1;
        if (asprintf(&full, "%s:%s", kind, name) < 0) {
            full = NULL;
            return error_memory(err);
        }
        if (json_object_set(source->profile->sets[POLICY_HINT], full, text) < 0)
            return error_memory(err);
    }
    return 0;
}

/* ---- limits: the keys of [limits] are the rows of base/run_limits.h ---- */

#define LIMITS "limits."

static int wrong_limit(const struct profile_source *source, const char *key,
                       const struct run_limit *limit, double per, const json_t *value,
                       struct error *err)
{
    if (!json_is_number(value) || (run_limit_is_whole(limit) && !json_is_integer(value)))
        return profile_wrong_kind(source, key, value,
                                  run_limit_is_whole(limit) ? "a whole number" : "a number", err);
    return profile_mistake(source, key, err, "`%s` is %.15g, expected %.15g to %.15g", key,
                           json_number_value(value), limit->min * per, limit->max * per);
}

/* `per`: how many of the key's unit make one of the limit's. */
static int read_limit(const struct profile_source *source, const char *key,
                      const struct run_limit *limit, double per, const json_t *value,
                      struct error *err)
{
    struct profile *p = source->profile;
    double number = json_number_value(value) / per;

    if (!json_is_number(value) || (run_limit_is_whole(limit) && !json_is_integer(value)) ||
        !run_limit_fits(limit, number))
        return wrong_limit(source, key, limit, per, value, err);
    run_limit_set(&p->limits, limit, number);
    p->limits_set |= 1u << (limit - run_limit_table);
    return 0;
}

/* Profiles of earlier versions keep working; a file that uses both names says two things. */
static int read_old_limit(const struct profile_source *source, const char *key,
                          const struct run_limit *limit, double per, const json_t *tree,
                          const json_t *value, struct error *err)
{
    if (json_object_get(json_object_get(tree, "limits"), limit->name)) {
        profile_mistake(source, key, err, "`%s` is the old name of `" LIMITS "%s`, which is set",
                        key, limit->name);
        return error_hint(err, "remove `%s`", key);
    }
    source->profile->limits_old |= 1u << (limit - run_limit_table);
    return read_limit(source, key, limit, per, value, err);
}

void profile_apply_limits(const struct profile *profile, struct run_limits *limits)
{
    for (size_t i = 0; i < RUN_LIMIT_ROWS; i++)
        if (profile->limits_set & (1u << i))
            run_limit_set_raw(limits, &run_limit_table[i],
                              run_limit_raw(&profile->limits, &run_limit_table[i]));
}

bool profile_old_limit(const struct profile *profile, size_t index, char *text, size_t size)
{
    for (size_t i = 0; i < RUN_LIMIT_ROWS; i++) {
        const struct run_limit *limit = &run_limit_table[i];

        if (!(profile->limits_old & (1u << i)) || index-- > 0)
            continue;
        (void)snprintf(text, size, "`" LIMITS "%s` is now called `" LIMITS "%s`",
                       run_limit_old_name(limit), limit->name);
        return true;
    }
    return false;
}

enum field_kind {
    FIELD_TEXT,
    FIELD_LIST,
    FIELD_LANGUAGES,
    FIELD_LAYERS,
    FIELD_PROCESS_LAYERS,
    FIELD_POWERS,
    FIELD_FROM,
    FIELD_HINTS,
    FIELD_IMPORT_MODE,
    FIELD_DUNDER,
    FIELD_PROCESSES,
    FIELD_GRANTS,
    FIELD_PROJECT,
    FIELD_PARTS,
    FIELD_CALLS,
    FIELD_NET,
    FIELD_BYTES,
    FIELD_LINES,
};

/* Those of the profile it inherits from stay. */
static int read_net(const struct profile_source *source, const char *key, const json_t *value,
                    struct error *err)
{
    struct profile *p = source->profile;
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return profile_wrong_kind(source, key, value, "an array of hosts", err);
    if (!p->net && !(p->net = net_new()))
        return error_memory(err);
    json_array_foreach(value, i, item)
    {
        cleanup_error struct error why = {0};

        if (!json_is_string(item))
            return profile_wrong_kind(source, key, item, "a host", err);
        if (net_add(p->net, json_string_value(item), &why) < 0)
            return profile_mistake(source, key, err, "`%s`: %s", key, why.message);
    }
    return 0;
}

static const struct field {
    const char *key;
    enum field_kind kind;
    enum policy_list list;
    enum word_kind words;
    const char *hint_kind;
} fields[] = {
    {"description", FIELD_TEXT},
    {"inherits", FIELD_TEXT},
    {"languages", FIELD_LANGUAGES},
    {"imports.mode", FIELD_IMPORT_MODE},
    {"imports.allow", FIELD_LIST, POLICY_IMPORT_ALLOW, WORD_MODULE},
    {"imports.deny", FIELD_LIST, POLICY_IMPORT_DENY, WORD_MODULE},
    {"imports.from", FIELD_FROM},
    {"imports.project", FIELD_PROJECT},
    {"imports.parts", FIELD_PARTS},
    {"imports.hints", FIELD_HINTS, .hint_kind = "import"},
    {"builtins.deny", FIELD_LIST, POLICY_BUILTIN_DENY, WORD_NAME},
    {"builtins.hints", FIELD_HINTS, .hint_kind = "builtin"},
    {"attributes.dunder", FIELD_DUNDER},
    {"attributes.allow", FIELD_LIST, POLICY_ATTRIBUTE_ALLOW, WORD_NAME},
    {"attributes.deny", FIELD_LIST, POLICY_ATTRIBUTE_DENY, WORD_NAME},
    {"attributes.hints", FIELD_HINTS, .hint_kind = "attribute"},
    {"source.max_bytes", FIELD_BYTES},
    {"source.max_lines", FIELD_LINES},
    {"kernel.processes", FIELD_PROCESSES},
    {"isolation.require", FIELD_LAYERS},
    {"isolation.process", FIELD_PROCESS_LAYERS},
    {"grants.directories", FIELD_GRANTS},
    {"grants.calls", FIELD_CALLS},
    {"grants.net", FIELD_NET},
    {"runtime.allow", FIELD_POWERS},
};

static int read_field(const struct profile_source *source, const struct field *field,
                      const json_t *value, struct error *err)
{
    struct profile *p = source->profile;
    const char *key = field->key;

    switch (field->kind) {
    case FIELD_TEXT:
        return read_text(source, key, value, err);
    case FIELD_LIST:
        return merge_list(source, key, value, field->words, p->sets[field->list], err);
    case FIELD_LANGUAGES:
        return merge_list(source, key, value, WORD_LANGUAGE, p->languages, err);
    case FIELD_LAYERS:
        return merge_list(source, key, value, WORD_LAYER, p->layers, err);
    case FIELD_PROCESS_LAYERS:
        p->has_process = true;
        return merge_list(source, key, value, WORD_LAYER, p->process_layers, err);
    case FIELD_POWERS:
        return merge_list(source, key, value, WORD_POWER, p->powers, err);
    case FIELD_CALLS:
        return merge_list(source, key, value, WORD_REACH, p->reach, err);
    case FIELD_NET:
        return read_net(source, key, value, err);
    case FIELD_FROM:
        return read_from(source, key, value, err);
    case FIELD_HINTS:
        return read_hints(source, key, value, field->hint_kind, err);
    case FIELD_IMPORT_MODE:
        return read_choice(source, key, value, "allow", "deny", &p->is_listed, err);
    case FIELD_DUNDER:
        return read_choice(source, key, value, "allow", "deny", &p->has_dunder, err);
    case FIELD_PROCESSES:
        return read_bool(source, key, value, &p->has_processes, err);
    case FIELD_GRANTS:
        return read_bool(source, key, value, &p->has_grants, err);
    case FIELD_PROJECT:
        return read_bool(source, key, value, &p->has_project, err);
    case FIELD_PARTS:
        return read_bool(source, key, value, &p->has_parts, err);
    case FIELD_BYTES:
        return read_number(source, key, value, 1, LIMIT_CODE_BYTES, &p->max_bytes, err);
    case FIELD_LINES:
        return read_number(source, key, value, 1, LIMIT_CODE_BYTES, &p->max_lines, err);
    }
    return error_set(err, E_INTERNAL, "no reader for `%s`", key);
}

static int unknown_key(const struct profile_source *source, const char *key, struct error *err)
{
    const char *known[ARRAY_SIZE(fields) + RUN_LIMIT_ROWS];
    char limits[RUN_LIMIT_ROWS][32];
    size_t count = 0;
    const char *near;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        known[count++] = fields[i].key;
    for (size_t i = 0; i < RUN_LIMIT_ROWS; i++) {
        (void)snprintf(limits[i], sizeof(limits[i]), LIMITS "%s", run_limit_table[i].name);
        known[count++] = limits[i];
    }
    near = suggest_nearest(key, known, count);
    profile_mistake(source, key, err, "unknown key `%s`", key);
    return near ? error_hint(err, "did you mean `%s`?", near) : -1;
}

/* True when "key." begins some known key: it is a table whose members are looked at one by one. */
static bool is_table(const char *key)
{
    size_t len = strlen(key);

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strncmp(fields[i].key, key, len) == 0 && fields[i].key[len] == '.')
            return true;
    return strcmp(key, "limits") == 0;
}

static int read_key(const struct profile_source *source, const char *key, const json_t *tree,
                    json_t *value, struct error *err)
{
    const char *name = strncmp(key, LIMITS, strlen(LIMITS)) == 0 ? key + strlen(LIMITS) : "";
    const struct run_limit *limit = run_limit_find(name);
    double per = 1;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcmp(key, fields[i].key) == 0)
            return read_field(source, &fields[i], value, err);
    if (limit)
        return read_limit(source, key, limit, 1, value, err);
    limit = run_limit_find_old(name, &per);
    if (limit)
        return read_old_limit(source, key, limit, per, tree, value, err);
    return unknown_key(source, key, err);
}

/* A profile that requires a layer of its own says anew whether it runs without namespaces: what its
 * parent accepts may be too little for it. */
static bool requires_more(const json_t *tree)
{
    const json_t *isolation = json_object_get(tree, "isolation"), *item;
    size_t i;

    json_array_foreach(json_object_get(isolation, "require"), i, item)
    {
        const char *word = json_string_value(item);

        if (word && word[0] != '-')
            return true;
    }
    return false;
}

int profile_read(const struct profile_source *source, json_t *tree, struct error *err)
{
    const char *name;
    json_t *value;

    if (requires_more(tree)) {
        source->profile->has_process = false;
        (void)json_object_clear(source->profile->process_layers);
    }

    json_object_foreach(tree, name, value)
    {
        const char *member;
        json_t *item;

        if (!is_table(name)) {
            if (read_key(source, name, tree, value, err) < 0)
                return -1;
            continue;
        }
        if (!json_is_object(value))
            return profile_wrong_kind(source, name, value, "a table", err);
        json_object_foreach(value, member, item)
        {
            cleanup_free char *key = NULL;

            if (asprintf(&key, "%s.%s", name, member) < 0) {
                key = NULL;
                return error_memory(err);
            }
            if (read_key(source, key, tree, item, err) < 0)
                return -1;
        }
    }
    return 0;
}
