/* Environment variables of one cell: a cell before it sets them, and one after it restores them.
 * Nobody reads these two; their turn is the order in which cells are started. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "compat/e2b_internal.h"

/* The texts of each language. The former values are kept in the kernel while the cell runs. */
static const struct recipe {
    enum run_language language;
    const char *begin; /* before the variables, */
    const char *end;   /* after them */
    const char *restore;
} recipes[] = {
    /* The JSON of a text is Python's and JavaScript's literal of it. */
    {RUN_PYTHON,
     "import os as __e2b_os, json as __e2b_json\n"
     "__e2b_new = __e2b_json.loads(",
     ")\n"
     "__e2b_old = {k: __e2b_os.environ.get(k) for k in __e2b_new}\n"
     "__e2b_os.environ.update(__e2b_new)\n",
     "for __e2b_k, __e2b_v in __e2b_old.items():\n"
     "    __e2b_os.environ.pop(__e2b_k, None)\n"
     "    if __e2b_v is not None: __e2b_os.environ[__e2b_k] = __e2b_v\n"
     "del __e2b_os, __e2b_json, __e2b_new, __e2b_old, __e2b_k, __e2b_v\n"},
    {RUN_JAVASCRIPT,
     "globalThis.__e2b_old = ((made) => { const old = {}; for (const k in made) { old[k] = "
     "process.env[k]; process.env[k] = made[k]; } return old; })(JSON.parse(",
     "));\n",
     "for (const k in globalThis.__e2b_old) if (globalThis.__e2b_old[k] === undefined) delete "
     "process.env[k]; else process.env[k] = globalThis.__e2b_old[k];\n"
     "delete globalThis.__e2b_old;\n"},
    /* `set`, with the variables as a list of names and values. */
    {RUN_BASH,
     "__e2b_set() { declare -gA __e2b_old=(); declare -ga __e2b_new=()\n"
     "while (($#)); do __e2b_new+=(\"$1\"); [[ -v $1 ]] && __e2b_old[$1]=${!1}\n"
     "export \"$1=$2\"; shift 2; done; }\n"
     "__e2b_set",
     "\n",
     "for __e2b_k in \"${__e2b_new[@]}\"; do if [[ -v __e2b_old[$__e2b_k] ]]; then\n"
     "printf -v \"$__e2b_k\" %s \"${__e2b_old[$__e2b_k]}\"; else unset -v \"$__e2b_k\"; fi; done\n"
     "unset -v __e2b_k __e2b_old __e2b_new; unset -f __e2b_set\n"},
};

static const struct recipe *recipe_of(enum run_language language)
{
    for (size_t i = 0; i < ARRAY_SIZE(recipes); i++)
        if (recipes[i].language == languages[language].kernel)
            return &recipes[i];
    return NULL;
}

int e2b_add_variable(const char *name, const json_t *value, struct run_request *asked,
                     struct error *err)
{
    if (!json_is_string(value))
        return error_set(err, E_INVALID, "the value of variable `%.64s` is not a text", name);
    if (!*name || strchr(name, '='))
        return error_set(err, E_INVALID, "invalid name of a variable: `%.64s`", name);
    if (strlen(name) + 1 + json_string_length(value) > LIMIT_ENV_BYTES)
        return error_set(err, E_TOO_LARGE, "variable `%.64s` is longer than %zu bytes", name,
                         LIMIT_ENV_BYTES);
    return run_request_add_variable(asked, (struct span){name, strlen(name)},
                                    json_string_value(value), err);
}

/* Bash has no other names. */
static bool is_name(const char *name, enum run_language language)
{
    const char *p = name;

    if (language != RUN_BASH)
        return *name && !strchr(name, '=');
    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    return *name && !*p && !isdigit((unsigned char)*name);
}

static int check(json_t *values, enum run_language language, struct error *err)
{
    const json_t *value;
    const char *name;

    if (!json_is_object(values) || json_object_size(values) > LIMIT_ENV_COUNT)
        return error_set(err, E_INVALID, "`env_vars`: expected an object with at most %d texts",
                         LIMIT_ENV_COUNT);
    json_object_foreach(values, name, value)
    {
        if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
            return error_set(err, E_INVALID, "`env_vars`: expected texts");
        if (!is_name(name, language))
            return error_set(err, E_INVALID, "`env_vars`: invalid name `%.64s`", name);
    }
    return 0;
}

/* As the literal of a text that holds JSON. */
static int write_literal(const json_t *values, struct buf *code, struct error *err)
{
    cleanup(buf_done) struct buf object = BUF_OF(LIMIT_CODE_BYTES), text = BUF_OF(LIMIT_CODE_BYTES);
    json_t *literal;
    int r;

    if (json_text_dump(values, JSON_TEXT_COMPACT, &object, err) < 0)
        return -1;
    literal = json_text_string(buf_str(&object), object.len);
    r = literal ? json_text_dump(literal, JSON_TEXT_COMPACT, &text, err) : error_memory(err);
    json_decref(literal);
    return r < 0 ? r : buf_add_str(code, buf_str(&text), err);
}

static int write_words(json_t *values, struct buf *code, struct error *err)
{
    const json_t *value;
    const char *name;

    json_object_foreach(values, name, value)
    {
        if (buf_printf(code, err, " %s '", name) < 0)
            return -1;
        for (const char *p = json_string_value(value); *p; p++)
            if ((*p == '\'' ? buf_add_str(code, "'\\''", err) : buf_add(code, p, 1, err)) < 0)
                return -1;
        if (buf_add_str(code, "'", err) < 0)
            return -1;
    }
    return 0;
}

static int start_silently(const struct e2b_variables *v, struct span code, struct error *err)
{
    struct api *api = v->request->api;
    struct admission admission = api_admission(api, v->request->caller);
    const struct run_request asked = {.code = code, .language = languages[v->language].kernel};
    struct job_order order;
    struct job *job = NULL;
    struct run *cell = NULL;

    admission.session = v->sandbox->session;
    if (admit_request(&admission, &asked, &cell, err) < 0)
        return -1;
    (void)snprintf(cell->program.context, sizeof(cell->program.context), "%s", v->context);
    cell->program.holds_variables = true;
    order = job_order_of(v->request, cell);
    order.session = v->sandbox->session;
    order.request = NULL;
    order.is_helper = true;
    return jobs_start(api->jobs, &order, &v->request->retry_s, &job, err);
}

int e2b_variables_begin(struct e2b_variables *v, const struct run *cell, struct error *err)
{
    cleanup(buf_done) struct buf code = BUF_OF(LIMIT_CODE_BYTES);
    const struct recipe *recipe = recipe_of(cell->program.language);

    if (json_is_null(v->values) || !recipe)
        v->values = NULL;
    if (!v->values)
        return 0;
    if (check(v->values, recipe->language, err) < 0)
        return -1;
    if (!json_object_size(v->values)) {
        v->values = NULL;
        return 0;
    }
    v->language = cell->program.language;
    (void)snprintf(v->context, sizeof(v->context), "%s", cell->program.context);
    if (buf_add_str(&code, recipe->begin, err) < 0 ||
        (recipe->language == RUN_BASH ? write_words(v->values, &code, err)
                                      : write_literal(v->values, &code, err)) < 0 ||
        buf_add_str(&code, recipe->end, err) < 0)
        return -1;
    return start_silently(v, (struct span){buf_str(&code), code.len}, err);
}

void e2b_variables_end(const struct e2b_variables *v)
{
    const struct recipe *recipe = v->values ? recipe_of(v->language) : NULL;

    if (recipe) /* where there is no room for it, the values stay */
        (void)start_silently(v, (struct span){recipe->restore, strlen(recipe->restore)}, NULL);
}
