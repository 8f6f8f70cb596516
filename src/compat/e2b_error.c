/* Errors as E2B's clients read them. The control plane has whole numbers as codes, the RPC has
 * words, the interpreter plain text; a stream of the RPC says it in its last envelope. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "compat/e2b_connect.h"
#include "compat/e2b_internal.h"

#define TEXT_MAX (4 * KIB)

void e2b_error_text(struct error *err, struct buf *text)
{
    cleanup_free char *hint = hint_text(HINT_FOR_HTTP, err->hint);

    (void)buf_printf(text, NULL, "%s%s%s", error_message(err), hint ? "; " : "", hint ? hint : "");
    error_done(err);
}

static json_t *text_json(struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(TEXT_MAX);

    e2b_error_text(err, &text);
    return json_text_string(buf_str(&text), text.len);
}

void e2b_control_error(struct request *request, int status, struct error *err)
{
    request_answer_json(request, status,
                        json_pack("{s:i, s:o}", "code", status, "message", text_json(err)));
}

const char *e2b_rpc_code(enum error_code code)
{
    static const struct {
        enum error_code code;
        const char *name;
    } codes[] = {
        {E_INVALID, "invalid_argument"},  {E_AUTH, "unauthenticated"},
        {E_DENIED, "permission_denied"},  {E_NOT_FOUND, "not_found"},
        {E_BUSY, "resource_exhausted"},   {E_TOO_LARGE, "invalid_argument"},
        {E_UNSUPPORTED, "unimplemented"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (codes[i].code == code)
            return codes[i].name;
    return "internal";
}

void e2b_rpc_error(struct request *request, int status, struct error *err)
{
    const char *code = e2b_rpc_code(err->code);

    request_answer_json(request, status == 413 || status == 415 ? 400 : status,
                        json_pack("{s:s, s:o}", "code", code, "message", text_json(err)));
}

void e2b_rpc_answer_code(struct request *request, int status, const char *code, const char *message)
{
    request_answer_json(request, status,
                        json_pack("{s:s, s:o}", "code", code, "message",
                                  json_text_string(message, strlen(message))));
}

void e2b_end_envelope(struct buf *out, const char *code, const char *message)
{
    cleanup(buf_done) struct buf text = BUF_OF(8 * TEXT_MAX);
    cleanup_json json_t *value = code
                                     ? json_pack("{s:{s:s, s:o}}", "error", "code", code, "message",
                                                 json_text_string(message, strlen(message)))
                                     : json_object();

    if (!value || json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) < 0)
        (void)buf_add_str(&text, "{\"error\":{\"code\":\"internal\"}}", NULL);
    (void)e2b_envelope_add(out, E2B_ENVELOPE_LAST, buf_str(&text), text.len, NULL);
}

/* Such an answer has the status 200, whatever it says. */
void e2b_stream_error(struct request *request, int status, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(TEXT_MAX), end = BUF_OF(16 * TEXT_MAX);
    const char *code = e2b_rpc_code(err->code);

    (void)status;
    e2b_error_text(err, &text);
    e2b_end_envelope(&end, code, buf_str(&text));
    request_begin(request, 200, "application/connect+json", NULL, end.len);
    (void)request_write(request, buf_str(&end), end.len);
    request_end(request);
}

void e2b_answer_plain(struct request *request, int status, const char *text)
{
    size_t len = strlen(text);

    request_begin(request, status, "text/plain; charset=utf-8", NULL, len);
    (void)request_write(request, text, len);
    request_end(request);
}

void e2b_text_error(struct request *request, int status, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(TEXT_MAX);

    e2b_error_text(err, &text);
    e2b_answer_plain(request, status, buf_str(&text));
}

void e2b_answer_gone(struct request *request, struct span id, const char *message)
{
    request_answer_json(request, 502,
                        json_pack("{s:o, s:s, s:i}", "sandboxId",
                                  json_text_string(id.data ? id.data : "", id.len), "message",
                                  message, "code", 502));
}
