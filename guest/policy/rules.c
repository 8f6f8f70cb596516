/* The rules as one hash table: every name of a profile, and the lists it stands on. */
#include "guest/policy/internal.h"

#include <stdlib.h>
#include <string.h>

#include "guest/name_distance.h"

#define BIT(list) (1u << (list))

_Static_assert(2 * POLICY_ROWS_MAX < UINT16_MAX, "a place holds the index of any rule");

static uint32_t hash_bytes(uint32_t hash, struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 16777619u;
    return hash;
}

#define HASH_START 2166136261u

/* The place of `a` followed by `b` (one of them may be empty), or a free one. */
static uint16_t *place_of(const struct policy *policy, uint32_t hash, struct span a, struct span b)
{
    size_t at = hash & policy->mask;

    for (;; at = (at + 1) & policy->mask) {
        const struct rule *rule = &policy->rules[policy->places[at]];

        if (!policy->places[at] || (rule->hash == hash && rule->key_len == a.len + b.len &&
                                    memcmp(rule->key, a.data, a.len) == 0 &&
                                    memcmp(rule->key + a.len, b.data, b.len) == 0))
            return &policy->places[at];
    }
}

static const struct rule *find(const struct policy *policy, struct span a, struct span b)
{
    uint32_t hash = hash_bytes(hash_bytes(HASH_START, a), b);

    return &policy->rules[*place_of(policy, hash, a, b)];
}

static const struct span nothing = {"", 0};

static uint32_t lists_of(const struct policy *policy, struct span name)
{
    return find(policy, name, nothing)->lists;
}

static void add(struct policy *policy, enum policy_list list, struct span key, struct span value)
{
    uint32_t hash = hash_bytes(HASH_START, key);
    uint16_t *place = place_of(policy, hash, key, nothing);
    struct rule *rule;

    if (!*place) {
        *place = (uint16_t)policy->n_rules++;
        policy->rules[*place] =
            (struct rule){.key = key.data, .key_len = (uint32_t)key.len, .hash = hash};
    }
    rule = &policy->rules[*place];
    rule->lists |= BIT(list);
    if (list == POLICY_HINT) {
        rule->value = value.data;
        rule->value_len = (uint32_t)value.len;
    }
}

/* "io:StringIO": a name cannot hold a colon, so the pair cannot be taken for a module. */
static size_t add_pair(struct policy *policy, const struct policy_row *row, char *at)
{
    size_t len = row->key.len + 1 + row->value.len;

    memcpy(at, row->key.data, row->key.len);
    at[row->key.len] = ':';
    memcpy(at + row->key.len + 1, row->value.data, row->value.len);
    add(policy, POLICY_IMPORT_FROM, (struct span){at, len}, nothing);
    add(policy, POLICY_IMPORT_FROM, row->key, nothing);
    return len;
}

/* Modules of the environment, which the operator has put together: on every list of what may be
 * imported. */
static char **own_modules;
static size_t n_own_modules;

/* "os" of a package would be found in the standard library: that is not what was asked for. */
static bool is_standard(struct span name)
{
    PyObject *all = PySys_GetObject("stdlib_module_names");
    PyObject *key = PyUnicode_FromStringAndSize(name.data, (Py_ssize_t)name.len);
    int found = all && key ? PySequence_Contains(all, key) : -1;

    Py_XDECREF(key);
    PyErr_Clear();
    return found != 0;
}

int policy_allow_modules(const struct wire_strings *names)
{
    own_modules = calloc(names->count + 1, sizeof(*own_modules));
    if (!own_modules)
        return -1;
    for (size_t i = 0; i < names->count; i++) {
        if (is_standard(names->items[i]))
            continue;
        own_modules[n_own_modules] = span_dup(names->items[i]);
        if (!own_modules[n_own_modules++])
            return -1;
    }
    return 0;
}

/* Memory is asked for exactly: every page of it is one that the run has to wait for. */
static int fill(struct policy *policy, const struct wire_policy *message)
{
    size_t places = 16, most = 1 + message->n_rows + n_own_modules, pair_bytes = 0;

    for (size_t i = 0; i < message->n_rows; i++)
        if (message->rows[i].list == POLICY_IMPORT_FROM) { /* takes two */
            pair_bytes += message->rows[i].key.len + 1 + message->rows[i].value.len;
            most++;
        }
    while (places < 2 * most)
        places *= 2;
    policy->rules = malloc(most * sizeof(*policy->rules));
    policy->places = calloc(places, sizeof(*policy->places));
    policy->pairs = malloc(pair_bytes + 1);
    if (!policy->rules || !policy->places || !policy->pairs)
        return -1;
    policy->rules[0] = (struct rule){0};
    policy->n_rules = 1;
    policy->mask = places - 1;
    pair_bytes = 0;
    for (size_t i = 0; i < message->n_rows; i++) {
        const struct policy_row *row = &message->rows[i];

        if (row->list == POLICY_IMPORT_FROM)
            pair_bytes += add_pair(policy, row, policy->pairs + pair_bytes);
        else
            add(policy, row->list, row->key, row->value);
    }
    for (size_t i = 0; policy->flags & POLICY_IMPORTS_LISTED && i < n_own_modules; i++)
        add(policy, POLICY_IMPORT_ALLOW, span_of(own_modules[i]), nothing);
    return 0;
}

struct policy *policy_load(struct span encoded)
{
    struct policy *policy = calloc(1, sizeof(*policy));
    struct wire_policy message = {0};
    int r = -1;

    if (!policy)
        return NULL;
    policy->bytes = malloc(encoded.len + 1);
    if (policy->bytes) {
        memcpy(policy->bytes, encoded.data, encoded.len);
        r = wire_policy_decode((struct span){policy->bytes, encoded.len}, &message);
    }
    if (r == 0) {
        policy->profile = span_dup(message.profile);
        policy->flags = message.flags;
        policy->powers = message.powers;
        policy->max_bytes = message.max_bytes;
        policy->max_lines = message.max_lines;
        r = policy->profile ? fill(policy, &message) : -1;
    }
    wire_policy_done(&message);
    if (r < 0) {
        policy_free(policy);
        return NULL;
    }
    return policy;
}

static struct policy *known[WIRE_POLICIES_MAX];

int policy_learn(const struct wire_policies *policies)
{
    for (uint32_t i = 0; i < policies->count; i++) {
        known[i] = policy_load(policies->items[i]);
        if (!known[i])
            return -1;
        known[i]->builtins = policy_guard_builtins(known[i]);
        if (!known[i]->builtins)
            return -1;
    }
    return 0;
}

struct policy *policy_of_run(const struct wire_run *run)
{
    return run->known_policy ? known[run->known_policy - 1] : policy_load(run->policy);
}

struct policy *policy_rehearsal(void)
{
    struct policy_row rows[] = {
        {.list = POLICY_IMPORT_ALLOW, .key = span_of("sys")},
        {.list = POLICY_IMPORT_ALLOW, .key = span_of("math")},
        {.list = POLICY_ATTRIBUTE_ALLOW, .key = span_of("__init__")},
        {.list = POLICY_BUILTIN_DENY, .key = span_of("eval")},
    };
    struct wire_policy message = {.profile = span_of("rehearsal"),
                                  .flags = POLICY_IMPORTS_LISTED | POLICY_DUNDER_DENIED,
                                  .max_bytes = 1 << 20,
                                  .max_lines = 1 << 20,
                                  .rows = rows,
                                  .n_rows = COUNT_OF(rows)};
    struct policy *policy = NULL;
    struct pack p;

    pack_init(&p, 4096);
    wire_policy_encode(&message, &p);
    if (!p.failed)
        policy = policy_load((struct span){(const char *)p.data, p.len});
    pack_done(&p);
    return policy;
}

void policy_free(struct policy *policy)
{
    if (!policy)
        return;
    free(policy->bytes);
    free(policy->pairs);
    free(policy->profile);
    free(policy->rules);
    free(policy->places);
    Py_XDECREF(policy->builtins);
    free(policy);
}

bool policy_restricts_nothing(const struct policy *policy)
{
    if (policy->flags || policy->powers != POLICY_POWERS_ALL)
        return false;
    for (size_t i = 1; i < policy->n_rules; i++)
        if (policy->rules[i].lists & ~BIT(POLICY_HINT))
            return false;
    return true;
}

bool policy_on_list(const struct policy *policy, enum policy_list list, struct span name)
{
    return lists_of(policy, name) & BIT(list);
}

/* "a.b.c" -> "a.b" -> "a" -> "" */
static struct span parent_of(struct span module)
{
    while (module.len > 0 && module.data[module.len - 1] != '.')
        module.len--;
    if (module.len > 0)
        module.len--;
    return module;
}

bool policy_module_allowed(const struct policy *policy, struct span module)
{
    for (struct span at = module; at.len > 0; at = parent_of(at)) {
        uint32_t lists = lists_of(policy, at);

        if (lists & BIT(POLICY_IMPORT_DENY))
            return false;
        if (lists & BIT(POLICY_IMPORT_ALLOW))
            return true;
    }
    if (!(policy->flags & POLICY_IMPORTS_LISTED))
        return true;
    if ((policy->flags & POLICY_PROJECT_ALLOWED) && policy_is_project_module(module))
        return true;
    /* Nobody has it but the program itself, in a file of the run that is checked when it is
     * imported; or it is missing, and the import says so. */
    return (policy->flags & POLICY_PARTS_SHOWN) && (policy->powers & POWER_WORKSPACE) &&
           module.len > 0 && !policy_module_exists(module) &&
           !policy_hint(policy, "import", module).len; /* the profile has a better answer */
}

bool policy_module_named(const struct policy *policy, struct span module)
{
    uint32_t lists = lists_of(policy, module);

    return (lists & BIT(POLICY_IMPORT_ALLOW)) && !(lists & BIT(POLICY_IMPORT_DENY));
}

bool policy_module_granular(const struct policy *policy, struct span module)
{
    return policy_on_list(policy, POLICY_IMPORT_FROM, module);
}

bool policy_from_allowed(const struct policy *policy, struct span module, struct span name)
{
    char pair[2 * POLICY_KEY_MAX];

    if (module.len + 1 + name.len > sizeof(pair))
        return false;
    memcpy(pair, module.data, module.len);
    pair[module.len] = ':';
    return find(policy, (struct span){pair, module.len + 1}, name)->lists & BIT(POLICY_IMPORT_FROM);
}

bool policy_builtin_refused(const struct policy *policy, struct span name)
{
    return policy_on_list(policy, POLICY_BUILTIN_DENY, name);
}

static bool is_dunder(struct span name)
{
    return name.len > 4 && memcmp(name.data, "__", 2) == 0 &&
           memcmp(name.data + name.len - 2, "__", 2) == 0;
}

bool policy_attribute_refused(const struct policy *policy, struct span name)
{
    uint32_t lists = lists_of(policy, name);

    if (lists & BIT(POLICY_ATTRIBUTE_DENY))
        return true;
    return (policy->flags & POLICY_DUNDER_DENIED) && is_dunder(name) &&
           !(lists & BIT(POLICY_ATTRIBUTE_ALLOW));
}

bool policy_class_is_soft(const struct policy *policy)
{
    return !policy_on_list(policy, POLICY_ATTRIBUTE_DENY, span_of("__class__"));
}

bool policy_module_object_allowed(const struct policy *policy, PyObject *module,
                                  struct span reached)
{
    return policy_module_named(policy, reached) || policy_module_view(policy, module) != VIEW_NONE;
}

PyObject *policy_star_brings(const struct policy *policy, PyObject *module)
{
    PyObject *dict = PyModule_GetDict(module);
    PyObject *key, *value;
    Py_ssize_t at = 0;

    if (PyDict_GetItemString(dict, "__all__"))
        return NULL;
    while (PyDict_Next(dict, &at, &key, &value))
        if (PyUnicode_CheckExact(key) && PyUnicode_GET_LENGTH(key) > 0 &&
            PyUnicode_READ_CHAR(key, 0) != '_' && PyModule_Check(value) &&
            !policy_module_object_allowed(policy, value, nothing))
            return key;
    return NULL;
}

bool policy_import_allowed(const struct policy *policy, struct span module, struct span name)
{
    char dotted[2 * POLICY_KEY_MAX];
    int len;

    if (!name.len)
        return policy_module_granular(policy, module) ? policy->flags & POLICY_PARTS_SHOWN
                                                      : policy_module_allowed(policy, module);
    if (module.len + name.len + 2 > sizeof(dotted))
        return false;
    len = snprintf(dotted, sizeof(dotted), "%.*s.%.*s", (int)module.len, module.data, (int)name.len,
                   name.data);
    if (len > 0 && policy_module_named(policy, (struct span){dotted, (size_t)len}))
        return true; /* `from os import path`, although os is refused */
    if (policy_module_granular(policy, module))
        return policy_from_allowed(policy, module, name);
    return policy_module_allowed(policy, module) &&
           !policy_on_list(policy, POLICY_IMPORT_DENY, (struct span){dotted, (size_t)len});
}

struct span policy_hint(const struct policy *policy, const char *kind, struct span name)
{
    char key[POLICY_KEY_MAX];
    int len = snprintf(key, sizeof(key), "%s:", kind);

    if (len < 0 || (size_t)len >= sizeof(key))
        return nothing;
    for (struct span at = name; at.len > 0; at = parent_of(at)) {
        const struct rule *rule = find(policy, (struct span){key, (size_t)len}, at);

        if (rule->value)
            return (struct span){rule->value, rule->value_len};
    }
    return nothing;
}

bool policy_list_modules(const struct policy *policy, char *text, size_t size)
{
    size_t len = 0, count = 0;

    if (!(policy->flags & POLICY_IMPORTS_LISTED))
        return false;
    for (size_t i = 1; i < policy->n_rules; i++) { /* the first stands for none */
        const struct rule *rule = &policy->rules[i];
        int n;

        if (!(rule->lists & BIT(POLICY_IMPORT_ALLOW)) || (rule->lists & BIT(POLICY_IMPORT_DENY)) ||
            memchr(rule->key, '.', rule->key_len) || rule->key[0] == '_')
            continue;
        n = snprintf(text + len, size - len, "%s%.*s", count++ ? ", " : "allowed are ",
                     (int)rule->key_len, rule->key);
        if (n < 0 || (size_t)n >= size - len)
            return false;
        len += (size_t)n;
    }
    return count > 0;
}

struct span policy_nearest_module(const struct policy *policy, struct span name)
{
    size_t best = name_distance_tolerance(name.len) + 1;
    struct span nearest = nothing;

    for (size_t i = 1; i < policy->n_rules; i++) { /* the first stands for none */
        const struct rule *rule = &policy->rules[i];
        size_t d;

        if (!(rule->lists & BIT(POLICY_IMPORT_ALLOW)) || (rule->lists & BIT(POLICY_IMPORT_DENY)) ||
            memchr(rule->key, '.', rule->key_len))
            continue;
        d = name_distance(name.data, name.len, rule->key, rule->key_len);
        if (d < best) {
            best = d;
            nearest = (struct span){rule->key, rule->key_len};
        }
    }
    return nearest;
}
