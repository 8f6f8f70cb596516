/* Lines of JSON-RPC in: every request is answered at most once and with its own id, every exchange
 * that is not kept open ends, and everything can be freed at any moment. The first byte says
 * whether there are headers, and how the scene ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/mcp/mcp_scene.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MESSAGES_MAX 256

static void check_answer(const json_t *answer)
{
    const char *version = json_string_value(json_object_get(answer, "jsonrpc"));
    bool has_result = json_object_get(answer, "result"),
         has_error = json_object_get(answer, "error");
    const json_t *item;
    size_t i;

    if (json_is_array(answer)) {
        if (!json_array_size(answer))
            abort();
        json_array_foreach(answer, i, item)
        {
            check_answer(item);
        }
        return;
    }
    if (!version || strcmp(version, "2.0") != 0)
        abort();
    if (json_object_get(answer, "method"))
        return;
    if (has_result == has_error || !json_object_get(answer, "id"))
        abort();
    if (has_error && !json_is_integer(json_object_get(json_object_get(answer, "error"), "code")))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct mcp_scene scene;
    const char *at = (const char *)data + 1, *end = (const char *)data + len;
    const json_t *answer;
    size_t i;

    if (!len)
        return 0;
    if (mcp_scene_open(&scene) < 0)
        abort();
    if (data[0] & 1)
        scene.headers = json_pack("{s:s, s:s, s:s}", "mcp-protocol-version", "2026-07-28",
                                  "mcp-method", "tools/call", "mcp-name", "echo");
    /* Each is a request of its own in the server, and has a turn of its own. */
    for (unsigned messages = 0; at < end && messages < MESSAGES_MAX; messages++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = newline ? (size_t)(newline - at) : (size_t)(end - at);

        mcp_scene_say(&scene, at, n);
        at += n + 1;
    }
    json_array_foreach(scene.sent, i, answer)
    {
        check_answer(answer);
    }
    if (data[0] & 2 && scene.parked)
        mcp_call_answer_text(scene.parked, "late", false);
    if (data[0] & 4)
        mcp_server_stop(scene.server);
    if (data[0] & 8)
        mcp_scene_leave(&scene);
    mcp_server_changed(scene.server, MCP_TOOLS);
    mcp_server_updated(scene.server, NULL, "scene://fixed");
    mcp_scene_close(&scene);
    return 0;
}
