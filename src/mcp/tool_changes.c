/* Copy-on-write directories: what the session changed in them, and what becomes of it. */
#include <stdlib.h>
#include <string.h>

#include "api/changes.h"
#include "api/changes_view.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/terminal_text.h"
#include "mcp/tools.h"

/* Bytes of one list, for each token of an answer; paths narrow it down. */
#define SHOWN_BYTES ((size_t)3)

/* Of it so much is for diffs. A change that does not fit counts as hidden. */
#define DIFF_BYTES ((size_t)2)

#define ROOM_MAX ((size_t)512 * KIB)

/* It is done whether somebody waits for it or not. */
struct reviewing {
    struct mcp_call *call; /* NULL: it was cancelled */
};

static void on_cancel(struct mcp_call *call)
{
    struct reviewing *reviewing = call->user;

    reviewing->call = NULL;
}

static size_t room_of(const struct mcp_call *call, size_t bytes)
{
    size_t room = call->max_tokens * bytes;

    return room && room < ROOM_MAX ? room : ROOM_MAX;
}

/* --- as text: the strings are masked and of one line, but for the diffs. Nothing in them is
 * invisible: what is there for the model alone, or for nobody, is what somebody has to know --- */

static int add_facts(const json_t *change, struct buf *out)
{
    const char *mode = json_get_text(change, "mode"), *old_mode = json_get_text(change, "old_mode");
    const char *kind = json_get_text(change, "kind"), *old_kind = json_get_text(change, "old_kind");
    const char *not_shown = json_get_text(change, "not_shown");
    json_int_t hidden = json_integer_value(json_object_get(change, "hidden_bytes"));

    if (strcmp(kind, old_kind) != 0 && buf_printf(out, NULL, " %s -> %s", old_kind, kind) < 0)
        return -1;
    if (*mode && *old_mode && strcmp(mode, old_mode) != 0 &&
        buf_printf(out, NULL, " mode %s -> %s", old_mode, mode) < 0)
        return -1;
    if (*mode && !*old_mode && strcmp(kind, "file") == 0 &&
        changes_view_is_special((unsigned)strtoul(mode, NULL, 8)) &&
        buf_printf(out, NULL, " mode %s", mode) < 0)
        return -1;
    if (json_is_true(json_object_get(change, "has_invisible")) &&
        buf_add_str(out, " — has invisible characters, shown as \\xNN", NULL) < 0)
        return -1;
    if (*not_shown && buf_printf(out, NULL, " — NOT SHOWN: %s, sha256 %s", not_shown,
                                 json_get_text(change, "sha256")) < 0)
        return -1;
    return hidden ? buf_printf(out, NULL, " — %lld bytes hidden", (long long)hidden) : 0;
}

static int add_change(const json_t *change, struct buf *out)
{
    const json_t *added = json_object_get(change, "added");
    const char *obstacle = json_get_text(change, "obstacle");

    if (buf_printf(out, NULL, "%s %s", json_get_text(change, "change"),
                   json_get_text(change, "path")) < 0)
        return -1;
    if (json_is_integer(added) &&
        buf_printf(out, NULL, " +%lld -%lld", (long long)json_integer_value(added),
                   (long long)json_integer_value(json_object_get(change, "removed"))) < 0)
        return -1;
    if (json_is_true(json_object_get(change, "is_binary")) &&
        buf_printf(out, NULL, " binary, %lld bytes, sha256 %s",
                   (long long)json_integer_value(json_object_get(change, "size")),
                   json_get_text(change, "sha256")) < 0)
        return -1;
    if (add_facts(change, out) < 0)
        return -1;
    return buf_printf(out, NULL, "%s%s\n", *obstacle ? " — will not be applied: " : "", obstacle);
}

static int add_list(const json_t *answer, struct buf *out)
{
    const json_t *changes = json_object_get(answer, "changes");

    for (size_t i = 0; i < json_array_size(changes); i++)
        if (add_change(json_array_get(changes, i), out) < 0)
            return -1;
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const char *diff = json_get_text(json_array_get(changes, i), "diff");

        if (terminal_exact(diff, strlen(diff), out, NULL) < 0)
            return -1;
    }
    return 0;
}

static void add_shown(const struct mcp_call *call, const json_t *answer, struct buf *out)
{
    struct buf list;

    if (json_array_size(json_object_get(answer, "changes")) == 0) {
        (void)buf_add_str(out, "nothing has changed", NULL);
        return;
    }
    buf_init(&list, room_of(call, SHOWN_BYTES));
    if (add_list(answer, &list) < 0)
        (void)buf_printf(out, NULL, "%s\n… there is more: name `paths`\n", buf_str(&list));
    else
        (void)buf_add_str(out, buf_str(&list), NULL);
    if (json_integer_value(json_object_get(answer, "hidden_bytes")))
        (void)buf_printf(
            out, NULL,
            "%lld bytes of this are hidden: to apply it anyway, pass accept_hidden %lld\n",
            (long long)json_integer_value(json_object_get(answer, "hidden_bytes")),
            (long long)json_integer_value(json_object_get(answer, "hidden_bytes")));
    (void)buf_printf(out, NULL, "%sversion %s",
                     json_is_true(json_object_get(answer, "has_more"))
                         ? "… and more that was not looked at\n"
                         : "",
                     json_get_text(answer, "version"));
    buf_done(&list);
}

static void add_settled(const json_t *answer, const char *what, struct buf *out)
{
    const json_t *skipped = json_object_get(answer, "skipped");
    size_t done = json_array_size(json_object_get(answer, "done"));

    (void)buf_printf(out, NULL, "%zu change%s %s", done, done == 1 ? "" : "s", what);
    for (size_t i = 0; i < json_array_size(skipped); i++) {
        const json_t *item = json_array_get(skipped, i);

        if (buf_printf(out, NULL, "\nnot %s: %s: %s", what, json_get_text(item, "path"),
                       json_get_text(item, "message")) < 0)
            break;
    }
}

static void on_settled(void *user, json_t *answer, struct error *err)
{
    struct reviewing *reviewing = user;
    struct mcp_call *call = reviewing->call;
    cleanup(buf_done) struct buf text = {0};

    free(reviewing);
    if (!call)
        return;
    if (!answer) {
        mcp_call_fail(call, err);
        return;
    }
    buf_init(&text, 2 * room_of(call, SHOWN_BYTES) + KIB);
    if (json_object_get(answer, "changes"))
        add_shown(call, answer, &text);
    else
        add_settled(answer,
                    strcmp(json_get_text(call->arguments, "action"), "apply") == 0 ? "applied"
                                                                                   : "discarded",
                    &text);
    mcp_call_answer(call, mcp_text_result(buf_str(&text), text.len, false));
}

static enum changes_action action_of(const struct mcp_call *call)
{
    const char *action = json_get_text(call->arguments, "action");

    return strcmp(action, "apply") == 0     ? CHANGES_APPLY
           : strcmp(action, "discard") == 0 ? CHANGES_DISCARD
                                            : CHANGES_SHOW;
}

static void review(struct mcp_call *call)
{
    const struct changes_wish wish = {
        .action = action_of(call),
        .paths = json_object_get(call->arguments, "paths"),
        .version = json_string_value(json_object_get(call->arguments, "version")),
        .has_diffs = true,
        .accept_hidden =
            (uint64_t)json_integer_value(json_object_get(call->arguments, "accept_hidden")),
        .room = room_of(call, DIFF_BYTES),
    };
    struct reviewing *reviewing = calloc(1, sizeof(*reviewing));
    struct error err = {0};
    struct session *session = mcp_session_need(call, &err);

    /* The one client of a pipe has what the command line grants. */
    if (session && reviewing && !mcp_host_of(call)->is_pipe && !call->caller->rights.has_grants) {
        error_set(&err, E_DENIED, "this token may not use directories of the host");
    } else if (session && reviewing) {
        reviewing->call = call;
        call->user = reviewing;
        call->on_cancel = on_cancel;
        if (changes_start(&mcp_host_of(call)->api->changes, mcp_host_of(call)->api->loop, session,
                          &wish, on_settled, reviewing, &err) == 0)
            return;
    }
    if (err.code == E_NONE)
        error_memory(&err);
    free(reviewing);
    call->on_cancel = NULL;
    mcp_call_fail(call, &err);
}

/* clang-format off */
static const struct schema_field review_fields[] = {
    {"action", SCHEMA_STRING, .choices = "show,apply,discard", .example = "\"show\"",
     .help = "show: as a diff; apply: write to disk; discard: forget"},
    {"paths", SCHEMA_STRINGS, .max_len = 100, .help = "only these, or below"},
    {"version", SCHEMA_STRING, .max_len = 64, .help = "only if nothing changed since it was shown"},
    {"accept_hidden", SCHEMA_INTEGER, .min = 0, .max = 1e15,
     .help = "apply although so many bytes are hidden"},
    MCP_SESSION_FIELD,
    {0},
};

const struct mcp_tool mcp_tool_changes = {
    .name = "review_changes",
    .title = "Review changes",
    .description = "What the session changed in directories that are copy-on-write: nothing of it is "
                   "on the disk until it is applied.",
    .input = review_fields,
    .hints = MCP_DESTRUCTIVE,
    .call = review,
};
/* clang-format on */
