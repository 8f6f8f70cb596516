#include "serve/console.h"

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "serve/console_files.h"

/* The rights of a page of ours. Displays of programs are frames without any permission, and inherit
 * it; images are data, so that no text of theirs can send a request. */
#define POLICY                                                                                     \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "           \
    "img-src data:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "   \
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types display\r\n"

#define HEADERS                                                                                    \
    POLICY "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"           \
           "Vary: Accept-Encoding\r\n"

/* Not for sheets: the frames of displays have no origin, and one sheet is for them. */
#define SAME_ORIGIN "Cross-Origin-Resource-Policy: same-origin\r\n"

#define TAG_SIZE 40

static bool is_on(const struct config *config)
{
    return strcmp(config->console, "on") == 0;
}

bool console_is_there(const struct config *config)
{
    return is_on(config) && console_files[0].name;
}

static const struct console_file *find(const char *name)
{
    for (const struct console_file *file = console_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

static void tag_of(const struct console_file *file, char tag[TAG_SIZE])
{
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    sha256(file->bytes, file->n_bytes, digest);
    sha256_to_hex(digest, hex);
    (void)snprintf(tag, TAG_SIZE, "\"%.32s\"", hex);
}

static int check(const struct request *request, const struct console_file *file, struct error *err)
{
    const struct api *api = request->api;

    if (!is_on(api->config)) {
        error_set(err, E_NOT_FOUND, "the web console is switched off");
        return error_hint(err, "the operator sets `console = \"on\"`");
    }
    if (!console_files[0].name) {
        error_set(err, E_NOT_FOUND, "this build has no web console");
        return error_hint(err, "build it where npm is installed: `meson setup -Dconsole=enabled`");
    }
    if (file)
        return 0;
    error_set(err, E_NOT_FOUND, "the web console has no file with that name");
    return error_hint(err, "reload the page: the server may have another version now");
}

static bool takes_gzip(const struct request *request)
{
    struct span accepted = request_header(request, "accept-encoding");

    return accepted.data && (memmem(accepted.data, accepted.len, "gzip", 4) ||
                             memmem(accepted.data, accepted.len, "*", 1));
}

static void send(struct request *request, const struct console_file *file)
{
    struct span known = request_header(request, "if-none-match");
    char tag[TAG_SIZE], headers[KIB];
    bool is_known;

    tag_of(file, tag);
    is_known = known.data && memmem(known.data, known.len, tag, strlen(tag));
    (void)snprintf(headers, sizeof(headers), HEADERS "%s%sETag: %s\r\nCache-Control: %s\r\n",
                   strstr(file->type, "text/css") ? "" : SAME_ORIGIN,
                   is_known ? "" : "Content-Encoding: gzip\r\n", tag,
                   *file->name ? "public, max-age=31536000, immutable" : "no-store");
    request_begin(request, is_known ? 304 : 200, file->type, headers, is_known ? 0 : file->n_bytes);
    if (!is_known)
        (void)request_write(request, file->bytes, file->n_bytes);
    request_end(request);
}

static void answer(struct request *request, const char *name)
{
    const struct console_file *file = find(name);
    struct error err = {0};

    if (check(request, file, &err) < 0) {
        request_answer_error(request, &err);
    } else if (!takes_gzip(request)) {
        error_set(&err, E_INVALID, "the web console is stored compressed");
        (void)error_hint(&err, "send the header `Accept-Encoding: gzip`");
        request_answer_error(request, &err);
    } else {
        send(request, file);
    }
}

static void show_page(struct request *request)
{
    answer(request, "");
}

static void show_file(struct request *request)
{
    answer(request, request->params[0]);
}

/* clang-format off */
const struct route console_routes[] = {
    {"GET", "/console", show_page, .access = ROUTE_PUBLIC, .passes_query = true, .status = 200, .type = "text/html", .tag = "console",
     .summary = "the web console, a page that uses these routes"},
    {"GET", "/console/", show_page, .access = ROUTE_PUBLIC, .passes_query = true, .status = 200, .type = "text/html", .tag = "console",
     .summary = "the same", .is_unlisted = true},
    {"GET", "/console/{file}", show_file, .access = ROUTE_PUBLIC, .status = 200, .type = "application/octet-stream", .tag = "console",
     .summary = "a file of the web console"},
    {0},
};
/* clang-format on */
