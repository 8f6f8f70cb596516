/* Answers of the engine inside. It masks what it says; here it is masked again, with all that this
 * server knows, since a machine that was taken over says what it wants. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/result_read.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/layer.h"
#include "base/loop.h"
#include "engine/masking.h"
#include "mask/kinds.h"
#include "sandbox/files.h"
#include "vm/inside_internal.h"

static const struct json_text_limits limits = {
    .bytes = INSIDE_ANSWER_MAX, .depth = 210, .allows_nul = true};

/* --- masking --- */

static struct span text_span(const char *text)
{
    return (struct span){text, text ? strlen(text) : 0};
}

/* A text that is the run's own. */
static void mask_in_place(struct run *run, char **text)
{
    struct clean_text clean;

    if (!*text)
        return;
    clean = mask_text(mask_context_of(run), text_span(*text));
    free(*text);
    *text = strndup(clean_data(clean) ? clean_data(clean) : "", clean_len(clean));
}

static struct clean_text mask_denial(struct run *run, const char *text, size_t len)
{
    return mask_text(mask_context_of(run), (struct span){text, len});
}

static void mask_texts(struct run *run)
{
    struct run_result *r = &run->result;
    char **texts[] = {&r->value_text,          &r->exception.name, &r->exception.message,
                      &r->exception.traceback, &r->exception.hint, &r->hint};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        mask_in_place(run, texts[i]);
    for (size_t i = 0; i < r->n_violations; i++) {
        struct run_violation *v = &r->violations[i];

        mask_in_place(run, &v->rule);
        mask_in_place(run, &v->name);
        mask_in_place(run, &v->message);
        mask_in_place(run, &v->hint);
    }
    run_mask_denials(run, mask_denial);
}

/* --- files --- */

static uint64_t number_of(const json_t *object, const char *key)
{
    json_int_t number = json_integer_value(json_object_get(object, key));

    return number > 0 ? (uint64_t)number : 0;
}

/* The path as bytes, masked; NULL: it is none. */
static char *take_path(struct run *run, const json_t *text)
{
    char path[PATH_MAX], *copy;

    if (!json_is_string(text) || json_string_length(text) >= PATH_MAX)
        return NULL;
    files_path_unescape(json_string_value(text), path);
    copy = strdup(path);
    mask_in_place(run, &copy);
    return copy;
}

static void take_file(struct run *run, const json_t *path, uint64_t size,
                      enum run_file_change change)
{
    struct run_file *file;

    if (!run->result.files)
        run->result.files = calloc(LIMIT_FILES_NAMED, sizeof(*run->result.files));
    if (!run->result.files || run->result.n_files == LIMIT_FILES_NAMED) {
        run->result.has_more_files = true;
        return;
    }
    file = &run->result.files[run->result.n_files];
    *file = (struct run_file){.path = take_path(run, path), .size = size, .change = change};
    if (file->path)
        run->result.n_files++;
}

static void take_files(struct run *run, const json_t *object)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(object, "files"), i, one)
    {
        take_file(run, json_object_get(one, "path"), number_of(one, "size"), RUN_FILE_NEW);
    }
    json_array_foreach(json_object_get(object, "files_gone"), i, one)
    {
        take_file(run, one, 0, RUN_FILE_GONE);
    }
    run->result.has_more_files |= json_is_true(json_object_get(object, "files_truncated"));
}

/* False: there is no room for its bytes. */
static bool take_content(struct run *run, const json_t *object, struct run_collected *file)
{
    static const struct span text_type = {"text/plain", 10};
    const json_t *content = json_object_get(object, "content");
    const char *encoding = json_string_value(json_object_get(object, "encoding"));
    cleanup(buf_done) struct buf bytes =
        BUF_OF(LIMIT_COLLECTED_BYTES - run->result.collected_bytes);
    struct span data;
    int r;

    if (!json_is_string(content))
        return true;
    r = encoding && strcmp(encoding, "base64") == 0
            ? base64_decode(&bytes, json_string_value(content), json_string_length(content), NULL)
            : buf_add(&bytes, json_string_value(content), json_string_length(content), NULL);
    if (r < 0)
        return false;
    data = (struct span){buf_str(&bytes), bytes.len};
    if (!mask_form(mask_context_of(run),
                   encoding && strcmp(encoding, "base64") == 0 ? (struct span){"", 0} : text_type,
                   &data, &file->data))
        return false;
    if (!file->data) {
        file->data = malloc(data.len + 1);
        if (!file->data)
            return false;
        memcpy(file->data, data.data, data.len + 1);
    }
    file->len = data.len;
    run->result.collected_bytes += data.len;
    return true;
}

static void take_collected(struct run *run, const json_t *object)
{
    const json_t *list = json_object_get(object, "collected"), *one;
    size_t i;

    run->result.has_more_collected = json_is_true(json_object_get(object, "collected_truncated"));
    if (!run->program.collect || !json_array_size(list))
        return;
    run->result.collected = calloc(LIMIT_FILES_COLLECTED, sizeof(*run->result.collected));
    json_array_foreach(list, i, one)
    {
        struct run_collected *file;

        if (!run->result.collected || run->result.n_collected == LIMIT_FILES_COLLECTED) {
            run->result.has_more_collected = true;
            return;
        }
        file = &run->result.collected[run->result.n_collected];
        *file = (struct run_collected){.path = take_path(run, json_object_get(one, "path")),
                                       .size = number_of(one, "size")};
        if (!file->path)
            continue;
        run->result.n_collected++;
        run->result.has_more_collected |= !take_content(run, one, file);
    }
}

/* --- the rest --- */

/* A name that the masker has, too, and that lives as long as the program. */
static const char *known_kind(const char *name)
{
    const struct masker_kind *kind;

    for (unsigned i = 0; (kind = masker_kind_at(i)) != NULL; i++)
        if (strcmp(kind->name, name) == 0)
            return kind->name;
    return NULL;
}

static void take_masked(struct run *run, const json_t *masked)
{
    struct run_masked *m = &run->result.masked;
    const json_t *one;
    size_t i;

    m->count += number_of(masked, "count");
    json_array_foreach(json_object_get(masked, "kinds"), i, one)
    {
        const char *name = json_is_string(one) ? known_kind(json_string_value(one)) : NULL;
        bool is_there = false;

        for (size_t n = 0; name && n < m->n_kinds; n++)
            is_there |= strcmp(m->kinds[n], name) == 0;
        if (name && !is_there && m->n_kinds < RUN_MASKED_KINDS)
            m->kinds[m->n_kinds++] = name;
    }
}

static uint32_t layers_of(const json_t *list)
{
    uint32_t layers = RUN_LAYER_MACHINE;
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        for (unsigned n = 0; n < WIRE_LAYER_COUNT; n++)
            if (json_is_string(one) && strcmp(json_string_value(one), wire_layer_name(n)) == 0)
                layers |= (uint32_t)1 << n;
    }
    return layers;
}

static int check_layers(struct run *run, struct error *err)
{
    uint32_t missing = run->terms.required_layers & ~run->result.layers & ~(uint32_t)LAYER_NO_EXEC;

    for (unsigned i = 0; i < RUN_LAYER_COUNT; i++)
        if (missing >> i & 1)
            return error_set(err, E_UNSUPPORTED,
                             "profile `%s` requires the layer `%s`, which the virtual machine does "
                             "not provide",
                             run->terms.profile, run_layer_name(i));
    return 0;
}

static void take_fingerprint(struct run *run, const json_t *object)
{
    const char *text = json_get_text(json_object_get(object, "deterministic"), "fingerprint");
    size_t len = strspn(text, "0123456789abcdef");

    if (len < sizeof(run->result.fingerprint) && text[len] == '\0')
        memcpy(run->result.fingerprint, text, len + 1);
}

static int take_value(struct run *run, const json_t *object, struct error *err)
{
    const json_t *value = json_object_get(json_object_get(object, "result"), "json");
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_RESULT_BYTES);

    if (!run->result.value_text || !value || json_is_null(value))
        return 0;
    /* The text is there in any case. */
    if (json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) == 0)
        run->result.value_json =
            mask_json(mask_context_of(run), (struct span){buf_str(&text), text.len});
    (void)err;
    return 0;
}

/* Of a cell: whether the variables are still there. */
static void take_state(struct run *run, const json_t *object)
{
    const char *word = json_get_text(object, "session_state");

    for (int i = RUN_STATE_KEPT; *run->origin.session && i <= RUN_STATE_FRESH; i++)
        if (strcmp(word, run_state_name((enum run_state)i)) == 0)
            run->result.state = (enum run_state)i;
}

/* No host can be granted in a machine, so `net` is no traffic; denials have layers of ours. The
 * rest of both is text that nobody has masked. */
static int drop_unknown(struct run *run, json_t *object, struct error *err)
{
    json_t *known = json_array();
    const json_t *list = json_object_get(object, "denials");

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);

        if (!run_denial_is_layer(json_get_text(one, "layer")))
            run->result.denials_more++;
        else if (json_array_append(known, one) < 0)
            break;
    }
    (void)json_object_del(object, "net");
    return json_object_set_new(object, "denials", known) < 0 ? error_memory(err) : 0;
}

static int take_result(struct run *run, struct inside_live *live, json_t *object, struct error *err)
{
    if (json_is_object(object) && drop_unknown(run, object, err) < 0)
        return -1;
    run->result.layers = layers_of(json_object_get(object, "layers"));
    if (result_read(object, run, err) < 0 ||
        (run->result.status != RUN_REFUSED && check_layers(run, err) < 0))
        return -1;
    take_masked(run, json_object_get(object, "masked"));
    take_state(run, object);
    inside_take_streams(run, live, object);
    inside_take_displays(run, live, json_object_get(object, "displays"));
    take_files(run, object);
    take_collected(run, object);
    take_fingerprint(run, object);
    if (take_value(run, object, err) < 0)
        return -1;
    mask_texts(run);
    return 0;
}

/* The machine has no say in tokens, nor in which sessions this server has lost. */
static enum error_code code_of(const char *name)
{
    enum error_code code = error_code_find(name);

    return code == E_AUTH || code == E_LOST ? E_PROTOCOL : code;
}

static void take_error(struct masks *masks, const json_t *answer, struct error *err)
{
    const json_t *error = json_object_get(answer, "error");
    const char *message = json_get_text(error, "message"), *hint = json_get_text(error, "hint");

    mask_error(masks, err, code_of(json_get_text(error, "code")),
               text_span(*message ? message : "the virtual machine gave no answer"),
               text_span(hint));
}

void inside_take_error(struct masks *masks, const char *body, size_t len, struct error *err)
{
    cleanup_json json_t *answer = NULL;

    if (json_text_load(body, len, &limits, &answer, err) < 0)
        (void)error_wrap(err, "the virtual machine's answer");
    else
        take_error(masks, answer, err);
}

/* The machine says how long it took, and a quota is charged for it: no more than the time that has
 * passed here. */
static void bound_usage(struct run_result *result, unsigned cpus)
{
    double all_ms = (double)(result->ended_ns - result->started_ns) / 1e6;
    double most_ms = all_ms * cpus;
    struct run_usage *usage = &result->usage;

    if (!(usage->wall_ms >= 0 && usage->wall_ms <= all_ms))
        usage->wall_ms = all_ms;
    usage->start_ms = all_ms - usage->wall_ms;
    if (!(usage->cpu_ms >= 0))
        usage->cpu_ms = 0;
    if (usage->cpu_ms > most_ms)
        usage->cpu_ms = most_ms;
}

void inside_take_answer(struct run *run, struct inside_live *live, int status, const char *body,
                        size_t len)
{
    cleanup_json json_t *answer = NULL;
    struct error err = {0};

    if (json_text_load(body, len, &limits, &answer, &err) < 0)
        error_wrap(&err, "the virtual machine's answer");
    else if (status != 200)
        take_error(run->masks, answer, &run->result.error);
    else
        (void)take_result(run, live, answer, &err);
    if (err.code != E_NONE && run->result.error.code == E_NONE)
        error_move(&run->result.error, &err);
    error_done(&err);
    run->result.ended_ns = loop_now_ns();
    bound_usage(&run->result, live->cpus);
}
