#include "gate/profile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "base/toml.h"
#include "wire/message.h"
#include "wire/policy.h"

/* A chain of parents longer than this is a mistake, not a design. */
#define INHERIT_MAX 16

/* Known names gathered for a suggestion. */
#define NAMES_MAX 64

/* Lists are jansson objects used as ordered sets ({"numpy": true, ...}): the file's order is kept,
 * a name is there once, and taking one away is one call. */
struct profile {
    char *name;
    char *system_dir; /* where a profile that does serve a language is looked for; or NULL */
    json_t *sets[POLICY_LIST_END]; /* by enum policy_list; POLICY_IMPORT_FROM holds sets,
                                      POLICY_HINT strings */
    json_t *languages;
    json_t *layers;
    json_t *powers;
    bool is_listed;
    bool has_dunder;
    bool has_processes;
    bool has_grants;
    uint64_t max_bytes;
    uint64_t max_lines;
    struct run_limits limits;
    uint32_t limits_set; /* bit per row of limit_fields */
    struct pack encoded;
};

/* One file being read into the profile. */
struct source {
    const char *path;
    struct profile *profile;
};

static void json_decref_p(json_t **json)
{
    json_decref(*json);
}

#define cleanup_json cleanup(json_decref_p)

/* -------------------------------------------------------------------------------------------
 * messages */

/* "FILE:LINE: message". The lines are looked up only now, when there is a mistake to report. */
static int __attribute__((format(printf, 4, 5)))
mistake(const struct source *source, const char *key, struct error *err, const char *fmt, ...)
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

static int wrong_kind(const struct source *source, const char *key, const json_t *value,
                      const char *expected, struct error *err)
{
    return mistake(source, key, err, "`%s` is %s, expected %s", key, json_kind(value), expected);
}

/* ----------------------------------------------------------------------------------------------
 * lists */

/* What the words of a list may be. */
enum word_kind { WORD_MODULE, WORD_NAME, WORD_LANGUAGE, WORD_LAYER, WORD_POWER };

static const char *const language_words[] = {"python", "bash"};

static const char *const layer_words[] = {
#define X(layer, name) name,
    WIRE_LAYERS(X)
#undef X
};

static const char *const power_words[] = {
#define X(power, name) name,
    POLICY_POWERS(X)
#undef X
};

static const struct {
    const char *what;
    const char *const *words; /* NULL: any identifier */
    size_t count;
} word_kinds[] = {
    [WORD_MODULE] = {"a module name",                             NULL,           0                         },
    [WORD_NAME] = {"a name",                                    NULL,           0                         },
    [WORD_LANGUAGE] = {"a language (`python`, `bash`)",             language_words, ARRAY_SIZE(language_words)},
    [WORD_LAYER] = {"a layer of the sandbox",                    layer_words,    ARRAY_SIZE(layer_words)   },
    [WORD_POWER] = {"one of the things code may do at run time", power_words,
                     ARRAY_SIZE(power_words)                                                                },
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

static int check_word(const struct source *source, const char *key, enum word_kind kind,
                      const char *word, struct error *err)
{
    const char *near;

    if (!word_kinds[kind].words) {
        if (is_identifier(word, kind == WORD_MODULE))
            return 0;
        return mistake(source, key, err, "`%s` is not %s", word, word_kinds[kind].what);
    }
    for (size_t i = 0; i < word_kinds[kind].count; i++)
        if (strcmp(word, word_kinds[kind].words[i]) == 0)
            return 0;
    near = suggest_nearest(word, word_kinds[kind].words, word_kinds[kind].count);
    mistake(source, key, err, "`%s` is not %s", word, word_kinds[kind].what);
    return near ? error_hint(err, "did you mean `%s`?", near) : -1;
}

/* The nearest member of a set, for "-nmupy". */
static const char *nearest_member(json_t *set, const char *word)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    const char *name;
    json_t *value;

    json_object_foreach(set, name, value)
    {
        if (count < NAMES_MAX && abs((int)strlen(name) - (int)strlen(word)) <= 2)
            names[count++] = name;
    }
    return suggest_nearest(word, names, count);
}

/* "-name" takes away what the parent had, "-*" all of it. Taking away what is not there is a slip
 * of the pen that would leave something in force, so it is an error. */
static int take_away(const struct source *source, const char *key, json_t *set, const char *word,
                     struct error *err)
{
    const char *near;

    if (strcmp(word, "*") == 0)
        return json_object_clear(set);
    if (json_object_del(set, word) == 0)
        return 0;
    near = nearest_member(set, word);
    mistake(source, key, err, "`-%s` takes away what no parent has put into `%s`", word, key);
    return near ? error_hint(err, "did you mean `-%s`?", near) : -1;
}

static int merge_list(const struct source *source, const char *key, const json_t *value,
                      enum word_kind kind, json_t *set, struct error *err)
{
    size_t index;
    json_t *item;

    if (!json_is_array(value))
        return wrong_kind(source, key, value, "a list", err);
    json_array_foreach(value, index, item)
    {
        cleanup_free char *word = NULL;
        size_t len;

        if (!json_is_string(item))
            return wrong_kind(source, key, item, "a list of names in quotes", err);
        word = strdup(json_string_value(item));
        if (!word)
            return error_set(err, E_INTERNAL, "out of memory");
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
            return error_set(err, E_INTERNAL, "out of memory");
    }
    return 0;
}

/* ---------------------------------------------------------------------------------------------
 * fields */

static int read_text(const struct source *source, const char *key, const json_t *value,
                     struct error *err)
{
    if (!json_is_string(value))
        return wrong_kind(source, key, value, "text in quotes", err);
    return 0;
}

static int read_bool(const struct source *source, const char *key, const json_t *value,
                     bool *ret_value, struct error *err)
{
    if (!json_is_boolean(value))
        return wrong_kind(source, key, value, "true or false", err);
    *ret_value = json_is_true(value);
    return 0;
}

static int read_number(const struct source *source, const char *key, const json_t *value,
                       uint64_t least, uint64_t most, uint64_t *ret_value, struct error *err)
{
    json_int_t number;

    if (!json_is_integer(value))
        return wrong_kind(source, key, value, "a whole number", err);
    number = json_integer_value(value);
    if (number < 0 || (uint64_t)number < least || (uint64_t)number > most)
        return mistake(source, key, err,
                       "`%s` is %" JSON_INTEGER_FORMAT ", expected %" PRIu64 " to %" PRIu64, key,
                       number, least, most);
    *ret_value = (uint64_t)number;
    return 0;
}

/* One of two words. */
static int read_choice(const struct source *source, const char *key, const json_t *value,
                       const char *yes, const char *no, bool *ret_is_yes, struct error *err)
{
    const char *word = json_string_value(value);

    if (word && strcmp(word, yes) == 0)
        *ret_is_yes = true;
    else if (word && strcmp(word, no) == 0)
        *ret_is_yes = false;
    else
        return mistake(source, key, err, "`%s` is %s%s%s, expected `%s` or `%s`", key,
                       word ? "`" : "", word ? word : json_kind(value), word ? "`" : "", yes, no);
    return 0;
}

static int read_from(const struct source *source, const char *key, const json_t *value,
                     struct error *err)
{
    json_t *modules = source->profile->sets[POLICY_IMPORT_FROM];
    const char *module;
    json_t *names;

    if (!json_is_object(value))
        return wrong_kind(source, key, value, "a table of `module = [names]`", err);
    json_object_foreach((json_t *)value, module, names)
    {
        cleanup_free char *path = NULL;
        json_t *set;

        if (asprintf(&path, "%s.%s", key, module) < 0) {
            path = NULL;
            return error_set(err, E_INTERNAL, "out of memory");
        }
        if (check_word(source, path, WORD_MODULE, module, err) < 0)
            return -1;
        set = json_object_get(modules, module);
        if (!set) {
            set = json_object();
            if (json_object_set_new(modules, module, set) < 0)
                return error_set(err, E_INTERNAL, "out of memory");
        }
        if (merge_list(source, path, names, WORD_NAME, set, err) < 0)
            return -1;
    }
    return 0;
}

static int read_hints(const struct source *source, const char *key, const json_t *value,
                      const char *kind, struct error *err)
{
    const char *name;
    json_t *text;

    if (!json_is_object(value))
        return wrong_kind(source, key, value, "a table of `name = \"what to use instead\"`", err);
    json_object_foreach((json_t *)value, name, text)
    {
        cleanup_free char *full = NULL;

        if (!json_is_string(text))
            return wrong_kind(source, key, text, "text in quotes", err);
        if (json_string_length(text) == 0 || json_string_length(text) > POLICY_VALUE_MAX)
            return mistake(source, key, err, "the hint for `%s` is empty or too long", name);
        if (check_word(source, key, WORD_MODULE, name, err) < 0)
            return -1;
        if (asprintf(&full, "%s:%s", kind, name) < 0) {
            full = NULL;
            return error_set(err, E_INTERNAL, "out of memory");
        }
        if (json_object_set(source->profile->sets[POLICY_HINT], full, text) < 0)
            return error_set(err, E_INTERNAL, "out of memory");
    }
    return 0;
}

/* Limits a profile may state. Ranges are wide: the operator's own ceilings are checked where the
 * request is. */
static const struct limit_field {
    const char *key;
    size_t offset;
    bool is_64;
    uint64_t unit; /* what one means in the unit of struct run_limits */
    uint64_t least;
    uint64_t most;
} limit_fields[] = {
#define LIMIT(name, member, unit, least, most)                                                     \
    {                                                                                              \
        "limits." name, offsetof(struct run_limits, member),                                       \
            sizeof(((struct run_limits *)0)->member) == sizeof(uint64_t), unit, least, most        \
    }
    LIMIT("timeout_s", timeout_ms, 1000, 1, 86400),
    LIMIT("cpu_s", cpu_ms, 1000, 1, 86400),
    LIMIT("memory_mb", memory_bytes, MIB, 16, 1 << 20),
    LIMIT("cpu_percent", cpu_percent, 1, 1, 100000),
    LIMIT("pids", processes, 1, 1, 65536),
    LIMIT("descriptors", descriptors, 1, 16, 65536),
    LIMIT("file_mb", file_bytes, MIB, 1, 1 << 20),
    LIMIT("disk_mb", disk_bytes, MIB, 1, 1 << 20),
    LIMIT("inodes", inodes, 1, 16, 10000000),
    LIMIT("output_bytes", output_bytes, 1, 1, LIMIT_OUTPUT_BYTES_MAX),
#undef LIMIT
};

static int read_limit(const struct source *source, size_t index, const json_t *value,
                      struct error *err)
{
    const struct limit_field *field = &limit_fields[index];
    char *at = (char *)&source->profile->limits + field->offset;
    uint64_t number;
    uint32_t small;

    if (read_number(source, field->key, value, field->least, field->most, &number, err) < 0)
        return -1;
    number *= field->unit;
    small = (uint32_t)number;
    memcpy(at, field->is_64 ? (void *)&number : (void *)&small, field->is_64 ? 8 : 4);
    source->profile->limits_set |= 1u << index;
    return 0;
}

enum field_kind {
    FIELD_TEXT,
    FIELD_LIST,
    FIELD_LANGUAGES,
    FIELD_LAYERS,
    FIELD_POWERS,
    FIELD_FROM,
    FIELD_HINTS,
    FIELD_IMPORT_MODE,
    FIELD_DUNDER,
    FIELD_PROCESSES,
    FIELD_GRANTS,
    FIELD_BYTES,
    FIELD_LINES,
};

static const struct field {
    const char *key;
    enum field_kind kind;
    enum policy_list list;
    enum word_kind words;
    const char *hint_kind;
} fields[] = {
    {"description",           FIELD_TEXT                      },
    {"inherits",              FIELD_TEXT                      },
    {"languages",             FIELD_LANGUAGES                 },
    {"imports.mode",          FIELD_IMPORT_MODE               },
    {"imports.allow",         FIELD_LIST,                       POLICY_IMPORT_ALLOW, WORD_MODULE},
    {"imports.deny",            FIELD_LIST,                                            POLICY_IMPORT_DENY, WORD_MODULE},
    {"imports.from",  FIELD_FROM},
    {"imports.hints",                       FIELD_HINTS,                                          .hint_kind = "import"},
    {"builtins.deny",                       FIELD_LIST,                                                                     POLICY_BUILTIN_DENY, WORD_NAME},
    {"builtins.hints",  FIELD_HINTS,.hint_kind = "builtin"},
    {"attributes.dunder",FIELD_DUNDER},
    {"attributes.allow",                       FIELD_LIST,                                        POLICY_ATTRIBUTE_ALLOW, WORD_NAME},
    {"attributes.deny", FIELD_LIST,                                         POLICY_ATTRIBUTE_DENY, WORD_NAME},
    {"attributes.hints",                     FIELD_HINTS,                                                                                                                      .hint_kind = "attribute"},
    {"source.max_bytes",FIELD_BYTES},
    {"source.max_lines",                       FIELD_LINES                                      },
    {"kernel.processes",  FIELD_PROCESSES},
    {"isolation.require",      FIELD_LAYERS      },
    {"grants.directories",                       FIELD_GRANTS                                     },
    {"runtime.allow",                       FIELD_POWERS                                                                            },
};

static int read_field(const struct source *source, const struct field *field, const json_t *value,
                      struct error *err)
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
    case FIELD_POWERS:
        return merge_list(source, key, value, WORD_POWER, p->powers, err);
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
    case FIELD_BYTES:
        return read_number(source, key, value, 1, LIMIT_CODE_BYTES, &p->max_bytes, err);
    case FIELD_LINES:
        return read_number(source, key, value, 1, LIMIT_CODE_BYTES, &p->max_lines, err);
    }
    return error_set(err, E_INTERNAL, "no reader for `%s`", key);
}

static int unknown_key(const struct source *source, const char *key, struct error *err)
{
    const char *known[ARRAY_SIZE(fields) + ARRAY_SIZE(limit_fields)];
    size_t count = 0;
    const char *near;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        known[count++] = fields[i].key;
    for (size_t i = 0; i < ARRAY_SIZE(limit_fields); i++)
        known[count++] = limit_fields[i].key;
    near = suggest_nearest(key, known, count);
    mistake(source, key, err, "unknown key `%s`", key);
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

static int read_key(const struct source *source, const char *key, json_t *value, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcmp(key, fields[i].key) == 0)
            return read_field(source, &fields[i], value, err);
    for (size_t i = 0; i < ARRAY_SIZE(limit_fields); i++)
        if (strcmp(key, limit_fields[i].key) == 0)
            return read_limit(source, i, value, err);
    return unknown_key(source, key, err);
}

static int read_tree(const struct source *source, json_t *tree, struct error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(tree, name, value)
    {
        const char *member;
        json_t *item;

        if (!is_table(name)) {
            if (read_key(source, name, value, err) < 0)
                return -1;
            continue;
        }
        if (!json_is_object(value))
            return wrong_kind(source, name, value, "a table", err);
        json_object_foreach(value, member, item)
        {
            cleanup_free char *key = NULL;

            if (asprintf(&key, "%s.%s", name, member) < 0) {
                key = NULL;
                return error_set(err, E_INTERNAL, "out of memory");
            }
            if (read_key(source, key, item, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* --------------------------------------------------------------------------------------------
 * finding */

static char *operator_dir(void)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    char *dir = NULL;

    if (config && config[0] == '/') {
        if (asprintf(&dir, "%s/belljar/policies", config) < 0)
            return NULL;
    } else if (home && home[0] == '/') {
        if (asprintf(&dir, "%s/.config/belljar/policies", home) < 0)
            return NULL;
    }
    return dir;
}

static bool is_profile_name(const char *name)
{
    if (!*name || strlen(name) > NAME_MAX - 5)
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            return false;
    return true;
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* DIR/NAME.toml if it is there, else NULL. */
static char *path_in(const char *dir, const char *name)
{
    char *path = NULL;

    if (!dir || asprintf(&path, "%s/%s.toml", dir, name) < 0)
        return NULL;
    if (!is_file(path)) {
        free(path);
        return NULL;
    }
    return path;
}

static size_t add_names(const char *dir, char **names, size_t count)
{
    cleanup_closedir DIR *handle = dir ? opendir(dir) : NULL;
    struct dirent *entry;

    while (handle && count < NAMES_MAX && (entry = readdir(handle))) {
        size_t len = strlen(entry->d_name);

        if (len <= 5 || strcmp(entry->d_name + len - 5, ".toml") != 0)
            continue;
        names[count] = strndup(entry->d_name, len - 5);
        if (names[count])
            count++;
    }
    return count;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int unknown_profile(const char *name, const char *system_dir, struct error *err)
{
    cleanup_free char *dir = operator_dir();
    char *names[NAMES_MAX];
    size_t count = add_names(system_dir, names, add_names(dir, names, 0));
    const char *near = suggest_nearest(name, (const char *const *)names, count);
    char list[512] = "";
    size_t len = 0;

    qsort(names, count, sizeof(names[0]), compare_names);
    error_set(err, E_NOT_FOUND, "there is no profile `%s`", name);
    for (size_t i = 0; i < count && !near; i++) {
        int n = snprintf(list + len, sizeof(list) - len, "%s`%s`", i ? ", " : "", names[i]);

        if (n < 0 || (size_t)n >= sizeof(list) - len)
            break;
        len += (size_t)n;
    }
    if (near)
        error_hint(err, "did you mean `%s`?", near);
    else if (count > 0)
        error_hint(err, "there are %s", list);
    else
        error_hint(err, "there are no profiles in %s",
                   system_dir ? system_dir : "the data directory");
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    return -1;
}

/* The file of a profile. `child` is the file that inherits, or NULL: an operator's `strict` may
 * inherit `strict`, which then means the one of the system. */
static int find_file(const char *name, const char *system_dir, const char *child, char **ret_path,
                     struct error *err)
{
    cleanup_free char *path = NULL;

    if (strchr(name, '/')) {
        if (name[0] != '/' && child) {
            const char *slash = strrchr(child, '/');
            int dir_len = slash ? (int)(slash - child) : 1;

            if (asprintf(&path, "%.*s/%s", dir_len, slash ? child : ".", name) < 0)
                path = NULL;
        } else {
            path = strdup(name);
        }
        if (!path)
            return error_set(err, E_INTERNAL, "out of memory");
    } else if (is_profile_name(name)) {
        cleanup_free char *dir = operator_dir();

        path = path_in(dir, name);
        if (!path || (child && strcmp(path, child) == 0)) {
            free(path);
            path = path_in(system_dir, name);
        }
    }
    if (!path)
        return unknown_profile(name, system_dir, err);
    *ret_path = take_ptr(path);
    return 0;
}

/* ------------------------------------------------------------------------------------------
 * inheriting */

struct chain {
    char *paths[INHERIT_MAX];
    json_t *trees[INHERIT_MAX];
    size_t count;
};

static void chain_done(struct chain *chain)
{
    for (size_t i = 0; i < chain->count; i++) {
        free(chain->paths[i]);
        json_decref(chain->trees[i]);
    }
}

static bool same_file(const char *a, const char *b)
{
    struct stat st_a, st_b;

    return stat(a, &st_a) == 0 && stat(b, &st_b) == 0 && st_a.st_dev == st_b.st_dev &&
           st_a.st_ino == st_b.st_ino;
}

/* Reads the file and its parents, child first. */
static int chain_load(struct chain *chain, const char *name, const char *system_dir,
                      struct error *err)
{
    const char *next = name;

    while (next) {
        const char *child = chain->count ? chain->paths[chain->count - 1] : NULL;
        const struct source source = {.path = child};
        cleanup_free char *path = NULL;
        json_t *tree = NULL;
        const json_t *parent;

        if (find_file(next, system_dir, child, &path, err) < 0)
            return child ? error_wrap(err, "%s: `inherits`", child) : -1;
        for (size_t i = 0; i < chain->count; i++)
            if (same_file(chain->paths[i], path))
                return mistake(&source, "inherits", err, "`%s` inherits from itself", next);
        if (chain->count == INHERIT_MAX)
            return mistake(&source, "inherits", err, "more than %d profiles inherit in a row",
                           INHERIT_MAX);
        if (toml_load(path, &tree, err) < 0)
            return -1;
        chain->paths[chain->count] = take_ptr(path);
        chain->trees[chain->count] = tree;
        chain->count++;
        parent = json_object_get(tree, "inherits");
        if (parent && !json_is_string(parent)) {
            const struct source here = {.path = chain->paths[chain->count - 1]};

            return wrong_kind(&here, "inherits", parent, "the name of a profile", err);
        }
        next = json_string_value(parent);
    }
    return 0;
}

/* ---------------------------------------------------------------------------------------------
 * encoding */

static uint32_t bits_of(json_t *set, const char *const *words, size_t count)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < count; i++)
        if (json_object_get(set, words[i]))
            bits |= 1u << i;
    return bits;
}

static size_t count_rows(const struct profile *p)
{
    size_t rows = 0;
    const char *key;
    json_t *value;

    for (int list = POLICY_IMPORT_ALLOW; list < POLICY_LIST_END; list++) {
        if (list != POLICY_IMPORT_FROM) {
            rows += json_object_size(p->sets[list]);
            continue;
        }
        json_object_foreach(p->sets[list], key, value) rows += json_object_size(value);
    }
    return rows;
}

static void fill_rows(const struct profile *p, struct wire_policy *policy)
{
    const char *key, *name;
    json_t *value, *unused;

    for (int list = POLICY_IMPORT_ALLOW; list < POLICY_LIST_END; list++) {
        json_object_foreach(p->sets[list], key, value)
        {
            struct policy_row row = {.list = (enum policy_list)list, .key = span_of(key)};

            if (list == POLICY_HINT)
                row.value = span_of(json_string_value(value));
            if (list != POLICY_IMPORT_FROM) {
                policy->rows[policy->n_rows++] = row;
                continue;
            }
            json_object_foreach(value, name, unused)
            {
                row.value = span_of(name);
                policy->rows[policy->n_rows++] = row;
            }
        }
    }
}

static int encode(struct profile *p, struct error *err)
{
    cleanup_free struct policy_row *rows = calloc(count_rows(p) + 1, sizeof(*rows));
    struct wire_policy policy = {
        .profile = span_of(p->name),
        .flags = (p->is_listed ? (unsigned)POLICY_IMPORTS_LISTED : 0) |
                 (p->has_dunder ? 0 : (unsigned)POLICY_DUNDER_DENIED) |
                 (p->has_processes ? 0 : (unsigned)POLICY_NO_PROCESSES),
        .powers = bits_of(p->powers, power_words, ARRAY_SIZE(power_words)),
        .max_bytes = (uint32_t)p->max_bytes,
        .max_lines = (uint32_t)p->max_lines,
        .rows = rows,
    };

    if (!rows)
        return error_set(err, E_INTERNAL, "out of memory");
    fill_rows(p, &policy);
    pack_init(&p->encoded, POLICY_BYTES_MAX);
    wire_policy_encode(&policy, &p->encoded);
    if (p->encoded.failed)
        return error_set(err, E_TOO_LARGE, "profile `%s` is too large: at most %d entries", p->name,
                         POLICY_ROWS_MAX);
    return 0;
}

/* ----------------------------------------------------------------------------------------------
 * loading */

/* Everything that is not said is refused. */
static struct profile *profile_new(const char *name, const char *system_dir)
{
    struct profile *p = calloc(1, sizeof(*p));
    const char *base = strrchr(name, '/');
    size_t len;

    if (!p)
        return NULL;
    base = base ? base + 1 : name;
    len = strlen(base);
    if (len > 5 && strcmp(base + len - 5, ".toml") == 0)
        len -= 5;
    p->name = strndup(base, len < 64 ? len : 64);
    p->system_dir = system_dir ? strdup(system_dir) : NULL;
    p->is_listed = true;
    p->max_bytes = LIMIT_CODE_BYTES;
    p->max_lines = LIMIT_CODE_BYTES;
    p->languages = json_object();
    p->layers = json_object();
    p->powers = json_object();
    if (!p->name || !p->languages || !p->layers || !p->powers)
        goto fail;
    for (int list = POLICY_IMPORT_ALLOW; list < POLICY_LIST_END; list++) {
        p->sets[list] = json_object();
        if (!p->sets[list])
            goto fail;
    }
    return p;
fail:
    profile_free(p);
    return NULL;
}

static void profile_free_p(struct profile **profile)
{
    profile_free(*profile);
}

int profile_load(const char *name, const char *system_dir, struct profile **ret_profile,
                 struct error *err)
{
    cleanup(profile_free_p) struct profile *p = profile_new(name, system_dir);
    cleanup(chain_done) struct chain chain = {0};

    if (!p)
        return error_set(err, E_INTERNAL, "out of memory");
    if (chain_load(&chain, name, system_dir, err) < 0)
        return -1;
    for (size_t i = chain.count; i-- > 0;) {
        const struct source source = {.path = chain.paths[i], .profile = p};

        if (read_tree(&source, chain.trees[i], err) < 0)
            return -1;
    }
    if (json_object_size(p->languages) == 0) {
        error_set(err, E_INVALID, "%s: the profile serves no language", chain.paths[0]);
        return error_hint(err, "add `languages = [\"python\"]`");
    }
    if (encode(p, err) < 0)
        return -1;
    *ret_profile = take_ptr(p);
    return 0;
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    for (int list = 0; list < POLICY_LIST_END; list++)
        json_decref(profile->sets[list]);
    json_decref(profile->languages);
    json_decref(profile->layers);
    json_decref(profile->powers);
    pack_done(&profile->encoded);
    free(profile->name);
    free(profile->system_dir);
    free(profile);
}

/* ----------------------------------------------------------------------------------------------
 * asking */

const char *profile_name(const struct profile *profile)
{
    return profile->name;
}

static bool serves(const struct profile *profile, enum run_language language)
{
    return json_object_get(profile->languages, language_words[language]) != NULL;
}

/* The ready profiles that do serve the language, widest last, as words for a hint. */
static void hint_serving(const struct profile *profile, enum run_language language,
                         struct error *err)
{
    static const char *const candidates[] = {"standard", "open"};
    const char *found[ARRAY_SIZE(candidates)];
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        struct profile *other = NULL;

        if (profile_load(candidates[i], profile->system_dir, &other, NULL) < 0)
            continue;
        if (serves(other, language))
            found[count++] = candidates[i];
        profile_free(other);
    }
    if (count == 2)
        error_hint(err, "use `--profile %s` or `--profile %s`", found[0], found[1]);
    else if (count == 1)
        error_hint(err, "use `--profile %s`", found[0]);
}

int profile_check_language(const struct profile *profile, enum run_language language,
                           struct error *err)
{
    if (serves(profile, language))
        return 0;
    if (language == RUN_BASH)
        error_set(err, E_DENIED,
                  "profile `%s` does not run bash: its rules are about Python, and no policy can "
                  "read Bash",
                  profile->name);
    else
        error_set(err, E_DENIED, "profile `%s` does not run %s", profile->name,
                  language_words[language]);
    hint_serving(profile, language, err);
    return -1;
}

bool profile_allows_processes(const struct profile *profile)
{
    return profile->has_processes;
}

bool profile_allows_grants(const struct profile *profile)
{
    return profile->has_grants;
}

uint32_t profile_required_layers(const struct profile *profile)
{
    return bits_of(profile->layers, layer_words, ARRAY_SIZE(layer_words));
}

void profile_apply_limits(const struct profile *profile, struct run_limits *limits)
{
    for (size_t i = 0; i < ARRAY_SIZE(limit_fields); i++) {
        const struct limit_field *field = &limit_fields[i];

        if (profile->limits_set & (1u << i))
            memcpy((char *)limits + field->offset, (const char *)&profile->limits + field->offset,
                   field->is_64 ? sizeof(uint64_t) : sizeof(uint32_t));
    }
}

struct span profile_encoded(const struct profile *profile)
{
    return (struct span){(const char *)profile->encoded.data, profile->encoded.len};
}
