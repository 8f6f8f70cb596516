/* How a page gets a token: somebody who has one asks for a code, and the page gives the code for a
 * token of its own. So no token is ever in an address, and the code in one is used up. */
#include <string.h>

#include "admit/access.h"
#include "admit/page_tokens.h"
#include "api/api.h"
#include "api/events.h"
#include "base/cleanup.h"
#include "base/json.h"

static void make_code(struct request *request)
{
    const struct api *api = request->api;
    char code[PAGE_CODE_LEN + 1] = "", path[64];
    struct error err = {0};

    if (request->page) {
        error_set(&err, E_DENIED, "the token of a console page cannot make codes");
        (void)error_hint(&err, "run `belljar console` again");
        api_refuse(request, "console", &err);
        return;
    }
    if (page_code_make(auth_pages(api->auth), request->caller, loop_now_ns(), code, &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    (void)snprintf(path, sizeof(path), "/console/#code=%s", code);
    request_answer_json(request, 201,
                        json_pack("{s:s, s:i, s:s, s:o, s:b}", "code", code, "expires_in_s",
                                  PAGE_CODE_S, "path", path, "origin",
                                  json_string_or_null(*api->origin ? api->origin : NULL),
                                  "has_console", (int)api->has_console));
    explicit_bzero(code, sizeof(code));
    explicit_bzero(path, sizeof(path));
}

static void redeem(struct request *request)
{
    const struct api *api = request->api;
    const char *code = json_string_value(json_object_get(request->json, "code"));
    char token[TOKEN_LEN + 1] = "";
    struct caller *caller;
    struct error err = {0};

    if (access_redeem_code(api->auth, api->recorder, span_of(code), token, &caller, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200,
                            json_pack("{s:s, s:i, s:s, s:b}", "token", token, "expires_in_s",
                                      PAGE_TOKEN_S, "name", caller->name, "operator",
                                      (int)caller->rights.is_operator));
    explicit_bzero(token, sizeof(token));
}

static void end_token(struct request *request)
{
    const struct api *api = request->api;
    struct error err = {0};

    if (!request->page) {
        error_set(&err, E_INVALID, "this is not the token of a console page");
        (void)error_hint(&err, "`belljar token rm` removes others");
        request_answer_error(request, &err);
        return;
    }
    page_token_end(auth_pages(api->auth), request->page);
    events_end_unknown(api->events);
    request_answer_empty(request, 204);
}

/* clang-format off */
static const struct schema_field nothing[] = {{0}};

static const struct schema_field code_fields[] = {
    {"code", SCHEMA_STRING, .is_required = true, .max_len = 64, .help = "from POST /v1/console/codes"},
    {0},
};

const struct route api_console_routes[] = {
    {"POST", "/v1/console/codes", make_code, .body = nothing, .max_body = KIB, .answers = "ConsoleCode", .status = 201, .tag = "console",
     .summary = "a code that gives a page a token once, within a minute, with the rights of the token that asks"},
    {"POST", "/v1/console/token", redeem, .body = code_fields, .max_body = KIB, .access = ROUTE_PUBLIC, .answers = "ConsoleToken",
     .status = 200, .tag = "console", .summary = "the token of a page, for a code"},
    {"DELETE", "/v1/console/token", end_token, .status = 204, .tag = "console", .summary = "end the page's token that asks"},
    {0},
};
/* clang-format on */
