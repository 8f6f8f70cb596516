/* CodeRunner's browser: a page as text. A program of ours fetches it in a fresh sandbox, through
 * the gate like any other; nothing on the page is run. */
#include <stdlib.h>
#include <string.h>

#include "api/page.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/stream.h"
#include "compat/coderunner_internal.h"
#include "compat/compat.h"

#define TEXT_MAX (64 * KIB)

/* Fields that ask a browser for more than text are read and have no meaning here. */
const struct schema_field coderunner_page_fields[] = {
    {"url", SCHEMA_STRING, .is_required = true, .max_len = 4096,
     .help = "an http or https address of a granted host"},
    {"wait_timeout", SCHEMA_INTEGER, .help = "ignored: nothing on the page is run"},
    {"include_interactive", SCHEMA_BOOLEAN, .help = "ignored"},
    {"include_anchors", SCHEMA_BOOLEAN, .help = "ignored"},
    {"max_anchors", SCHEMA_INTEGER, .help = "ignored"},
    {0},
};

/* The page that the program found, or NULL. */
static json_t *page_of(const struct run *run)
{
    static const struct json_text_limits limits = {
        .bytes = LIMIT_RESULT_BYTES, .depth = 4, .allows_nul = true};
    const char *text = run->result.value_json;
    json_t *page = NULL;

    if (run->result.status != RUN_SUCCESS || !text ||
        json_text_load(text, strlen(text), &limits, &page, NULL) < 0)
        return NULL;
    return page;
}

static json_t *field(const json_t *page, const char *name)
{
    json_t *value = json_object_get(page, name);

    return value ? json_incref(value) : json_string("");
}

/* `error` is there where there is no page. */
static int add_reason(const struct run *run, json_t *body, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(TEXT_MAX);

    if (compat_stderr(run, &text, err) < 0)
        return -1;
    while (text.len && strchr("\r\n", text.data[text.len - 1]))
        text.len--;
    (void)json_object_set_new(body, "error", json_text_string(buf_str(&text), text.len));
    return 0;
}

static int write_page(const struct run *run, const char *url, bool is_content, struct buf *out,
                      int *ret_status, struct error *err)
{
    json_t *page, *body;
    const char *status;

    if (run->result.error.code != E_NONE) {
        *ret_status = error_code_http(run->result.error.code);
        return compat_dump(coderunner_error_body(&run->result.error), out, err);
    }
    page = page_of(run);
    status = page ? "success" : "error";
    body = is_content ? json_pack("{s:{s:o}, s:s}", "readable_content", "content",
                                  field(page, "text"), "status", status)
                      : json_pack("{s:s, s:o, s:o, s:o}", "status", status, "url",
                                  page ? field(page, "url") : json_text_string(url, strlen(url)),
                                  "content", field(page, "text"), "title", field(page, "title"));
    if (!body || (!page && add_reason(run, body, err) < 0)) {
        json_decref(body);
        json_decref(page);
        return body ? -1 : error_memory(err);
    }
    json_decref(page);
    return compat_dump(body, out, err);
}

static int write_navigated(const struct run *run, void *user, struct buf *out, int *ret_status,
                           struct error *err)
{
    return write_page(run, user, false, out, ret_status, err);
}

static int write_content(const struct run *run, void *user, struct buf *out, int *ret_status,
                         struct error *err)
{
    return write_page(run, user, true, out, ret_status, err);
}

static int make_run(const struct request *request, const json_t *url, struct run **ret_run,
                    struct error *err)
{
    const struct admission admission = api_admission(request->api, request->caller);
    cleanup(buf_done) struct buf code = BUF_OF(TEXT_MAX);
    struct run_request asked = {.profile = CODERUNNER_PROFILE};

    if (page_program(url, "result = {name: page[name] for name in ('url', 'title', 'text')}", &code,
                     err) < 0)
        return -1;
    asked.code = (struct span){buf_str(&code), code.len};
    return admit_request(&admission, &asked, ret_run, err);
}

static void fetch(struct request *request, bool is_content)
{
    const struct api *api = request->api;
    cleanup(compat_done) struct compat c;
    const json_t *url;
    struct job_order order;
    struct run *run = NULL;
    struct error err = {0};

    compat_read(&c, request, coderunner_page_fields, false);
    if (compat_refuses(&c, request))
        return;
    url = json_object_get(c.body, "url");
    if (make_run(request, url, &run, &err) < 0) {
        coderunner_answer_error(request, &err);
        return;
    }
    order = job_order_of(request, run);
    order.form = (struct job_form){.write = is_content ? write_content : write_navigated,
                                   .free = free,
                                   .user = strdup(json_string_value(url))};
    if (!order.form.user) {
        run_free(run);
        error_memory(&err);
        coderunner_answer_error(request, &err);
        return;
    }
    (void)jobs_start_or_answer(api->jobs, request, &order);
}

void coderunner_navigate(struct request *request)
{
    fetch(request, false);
}

void coderunner_read_page(struct request *request)
{
    fetch(request, true);
}
