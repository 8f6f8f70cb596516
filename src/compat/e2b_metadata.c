/* Metadata of files, which clients send as headers `X-Metadata-NAME` when they write one. It is
 * kept in the server, by path, as long as the sandbox lives; programs in it do not see it. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "compat/e2b_internal.h"

#define PREFIX "x-metadata-"

#define NAMES_MAX 32
#define NAME_MAX_ ((size_t)128)
#define BYTES_MAX ((size_t)4 * KIB)
#define FILES_MAX 1024

/* Of all files of a sandbox, about: each text takes memory of its own. */
#define TOTAL_MAX  ((size_t)MIB)
#define TEXT_BYTES ((size_t)64)

static bool is_ours(struct span name)
{
    return name.len > strlen(PREFIX) && strncasecmp(name.data, PREFIX, strlen(PREFIX)) == 0;
}

int e2b_metadata_check(const struct request *request, struct error *err)
{
    size_t count = 0, bytes = 0;

    for (size_t i = 0; i < request->head.n_headers; i++) {
        const struct http_header *h = &request->head.headers[i];

        if (!is_ours(h->name))
            continue;
        bytes += h->name.len + h->value.len;
        if (++count > NAMES_MAX || h->name.len > NAME_MAX_ || bytes > BYTES_MAX)
            return error_set(err, E_INVALID,
                             "the metadata of a file has at most %d names and %zu bytes", NAMES_MAX,
                             BYTES_MAX);
    }
    return 0;
}

/* Names of headers have no case: it is the lower one. */
static json_t *read_headers(const struct request *request)
{
    json_t *values = NULL;

    for (size_t i = 0; i < request->head.n_headers; i++) {
        const struct http_header *h = &request->head.headers[i];
        char name[NAME_MAX_ + 1];
        size_t len = 0;

        if (!is_ours(h->name))
            continue;
        for (size_t at = strlen(PREFIX); at < h->name.len && len < NAME_MAX_; at++)
            name[len++] = (char)tolower((unsigned char)h->name.data[at]);
        name[len] = '\0';
        if (!values)
            values = json_object();
        json_set(values, name, json_text_string(h->value.data, h->value.len));
    }
    return values;
}

static size_t weight_of(const char *path, json_t *values)
{
    size_t bytes = TEXT_BYTES + strlen(path);
    const json_t *value;
    const char *name;

    json_object_foreach(values, name, value)
    {
        bytes += 2 * TEXT_BYTES + strlen(name) + json_string_length(value);
    }
    return bytes;
}

static void forget(struct e2b_sandbox *sandbox, const char *path)
{
    json_t *values = json_object_get(sandbox->file_metadata, path);

    if (!values)
        return;
    sandbox->file_metadata_bytes -= weight_of(path, values);
    (void)json_object_del(sandbox->file_metadata, path);
}

json_t *e2b_metadata_set(struct e2b_sandbox *sandbox, const char *path,
                         const struct request *request)
{
    json_t *values = read_headers(request);
    size_t bytes = weight_of(path, values);

    if (!sandbox->file_metadata)
        sandbox->file_metadata = json_object();
    forget(sandbox, path);
    if (!values)
        return NULL;
    while (json_object_size(sandbox->file_metadata) >= FILES_MAX ||
           (json_object_size(sandbox->file_metadata) &&
            sandbox->file_metadata_bytes + bytes > TOTAL_MAX)) /* the oldest makes room */
        forget(sandbox, json_object_iter_key(json_object_iter(sandbox->file_metadata)));
    json_set(sandbox->file_metadata, path, json_incref(values));
    sandbox->file_metadata_bytes += bytes;
    return values;
}

json_t *e2b_metadata_get(const struct e2b_sandbox *sandbox, const char *path)
{
    return sandbox ? json_object_get(sandbox->file_metadata, path) : NULL;
}

static bool is_below(const char *path, const char *root)
{
    size_t len = strlen(root);

    return strncmp(path, root, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

void e2b_metadata_move(struct e2b_sandbox *sandbox, const char *from, const char *to)
{
    json_t *old = sandbox->file_metadata, *kept, *value;
    const char *path;
    size_t bytes = 0;

    if (!json_object_size(old))
        return;
    kept = json_object();
    json_object_foreach(old, path, value)
    {
        cleanup(buf_done) struct buf name = BUF_OF((size_t)2 * PATH_MAX);

        if (!is_below(path, from)) {
            if (!to || !is_below(path, to))
                json_set(kept, path, json_incref(value));
        } else if (to && buf_printf(&name, NULL, "%s%s", to, path + strlen(from)) == 0) {
            json_set(kept, buf_str(&name), json_incref(value));
        }
    }
    json_decref(old);
    json_object_foreach(kept, path, value)
    {
        bytes += weight_of(path, value);
    }
    sandbox->file_metadata = kept;
    sandbox->file_metadata_bytes = bytes;
}
