#include "cli/remote_line.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/typed_line.h"

void remote_line_want(struct remote *remote, struct client_stream *stream, const json_t *event)
{
    typed_line_hide(json_is_true(json_object_get(event, "hidden")));
    buf_done(&remote->typed);
    buf_init(&remote->typed, LIMIT_INPUT_LINE_BYTES);
    client_also_wait_for(stream, STDIN_FILENO);
}

void remote_line_forget(struct remote *remote, struct client_stream *stream)
{
    typed_line_hide(false);
    buf_done(&remote->typed);
    client_also_wait_for(stream, -1);
}

/* A server that has no use for it any more says so in the result, or not at all. */
static void send(struct remote *remote, bool is_end)
{
    cleanup_free char *path = client_path("/v1/runs/", remote->run_id, "/stdin");
    cleanup_json json_t *answer = NULL;
    json_t *body = json_pack("{s:o, s:b}", "text",
                             json_text_string(buf_str(&remote->typed), remote->typed.len), "close",
                             (int)(is_end && !remote->typed.len));

    if (path && body && *remote->run_id)
        (void)client_call(&remote->client, "POST", path, body, &answer, NULL);
    json_decref(body);
}

void remote_line_read(struct remote *remote, struct client_stream *stream)
{
    char data[4096];
    ssize_t n = read(STDIN_FILENO, data, sizeof(data));
    bool is_end;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    is_end = n <= 0 || buf_add(&remote->typed, data, (size_t)n, NULL) < 0;
    if (!is_end && data[n - 1] != '\n')
        return;
    send(remote, is_end);
    remote_line_forget(remote, stream);
    if (remote->on_line)
        remote->on_line(remote->on_line_user);
}
