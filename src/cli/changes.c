#include "cli/changes.h"

#include <stdlib.h>
#include <string.h>

#include "api/changes_view.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/terminal_text.h"

/* A name is a stranger's, and so is the server that sends it: nothing of it moves the cursor,
 * and nothing of it is to be missed. */
static void print_line(FILE *out, const char *text, size_t len)
{
    cleanup(buf_done) struct buf shown = {0};

    buf_init(&shown, 8 * len + 64);
    if (terminal_exact_line(text, len, &shown, NULL) == 0)
        (void)fprintf(out, "%s", buf_str(&shown));
}

static void print_text(FILE *out, const json_t *text)
{
    print_line(out, json_string_value(text) ? json_string_value(text) : "?",
               json_string_value(text) ? json_string_length(text) : 1);
}

/* --- one line each --- */

static void print_numbers(FILE *out, const json_t *change)
{
    const json_t *added = json_object_get(change, "added");
    const char *kind = json_get_text(change, "kind");
    json_int_t size = json_integer_value(json_object_get(change, "size"));

    if (json_is_integer(added))
        (void)fprintf(out, "  +%lld -%lld", (long long)json_integer_value(added),
                      (long long)json_integer_value(json_object_get(change, "removed")));
    if (json_is_true(json_object_get(change, "is_binary")))
        (void)fprintf(out, "  binary");
    if (strcmp(kind, "file") != 0) {
        (void)fprintf(out, "  ");
        print_line(out, kind, strlen(kind));
    } else if (strcmp(json_get_text(change, "change"), "deleted") != 0) {
        (void)fprintf(out, "  %lld B", (long long)size);
    }
}

/* Properties that the lines below do not show. */
static void print_unseen(FILE *out, const json_t *change)
{
    const char *not_shown = json_get_text(change, "not_shown");
    const char *kind = json_get_text(change, "kind"), *old_kind = json_get_text(change, "old_kind");
    json_int_t hidden = json_integer_value(json_object_get(change, "hidden_bytes"));

    if (*old_kind && strcmp(kind, old_kind) != 0) {
        (void)fprintf(out, "  was a ");
        print_line(out, old_kind, strlen(old_kind));
    }
    if (*not_shown) {
        (void)fprintf(out, "  NOT SHOWN (");
        print_line(out, not_shown, strlen(not_shown));
        (void)fprintf(out, ")");
    }
    if (hidden > 0)
        (void)fprintf(out, "  %lld BYTES HIDDEN", (long long)hidden);
}

static void print_change(FILE *out, const json_t *change)
{
    const char *what = json_get_text(change, "change"),
               *obstacle = json_get_text(change, "obstacle");
    const char *mode = json_get_text(change, "mode"), *old_mode = json_get_text(change, "old_mode");

    (void)fprintf(out, "%c ",
                  strcmp(what, "created") == 0   ? 'A'
                  : strcmp(what, "deleted") == 0 ? 'D'
                                                 : 'M');
    print_text(out, json_object_get(change, "path"));
    print_numbers(out, change);
    if (*mode && *old_mode && strcmp(mode, old_mode) != 0) {
        (void)fprintf(out, "  mode ");
        print_line(out, old_mode, strlen(old_mode));
        (void)fprintf(out, " -> ");
        print_line(out, mode, strlen(mode));
    }
    if (*mode && !*old_mode && strcmp(json_get_text(change, "kind"), "file") == 0 &&
        changes_view_is_special((unsigned)strtoul(mode, NULL, 8))) {
        (void)fprintf(out, "  mode ");
        print_line(out, mode, strlen(mode));
    }
    print_unseen(out, change);
    if (json_is_true(json_object_get(change, "has_invisible")))
        (void)fprintf(out, "  INVISIBLE CHARACTERS");
    if (*obstacle) {
        (void)fprintf(out, "  (");
        print_line(out, obstacle, strlen(obstacle));
        (void)fprintf(out, ")");
    }
    (void)fprintf(out, "\n");
}

/* --- diffs --- */

static const char *color_of(const char *line)
{
    if (line[0] == '@')
        return "\033[36m";
    return line[0] == '+' ? "\033[32m" : line[0] == '-' ? "\033[31m" : "";
}

static void print_diff(FILE *out, const char *text, bool has_color)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        const char *color = has_color ? color_of(text) : "";

        (void)fprintf(out, "%s", color);
        print_line(out, text, len);
        (void)fprintf(out, "%s\n", *color ? "\033[0m" : "");
        text += len + (text[len] == '\n');
    }
}

/* Of what cannot be shown as lines: by what it can be told from another. */
static void print_digest(FILE *out, const json_t *change)
{
    const char *digest = json_get_text(change, "sha256");

    if (!*digest || !json_is_null(json_object_get(change, "diff")) ||
        (!json_is_true(json_object_get(change, "is_binary")) &&
         !*json_get_text(change, "not_shown")))
        return;
    (void)fprintf(out, "no lines of ");
    print_text(out, json_object_get(change, "path"));
    (void)fprintf(out, ": sha256 ");
    print_line(out, digest, strlen(digest));
    (void)fprintf(out, "\n");
}

size_t changes_print(FILE *out, const json_t *answer, bool has_color)
{
    const json_t *changes = json_object_get(answer, "changes");
    size_t count = json_array_size(changes);

    for (size_t i = 0; i < count; i++)
        print_change(out, json_array_get(changes, i));
    for (size_t i = 0; i < count; i++) {
        print_diff(out, json_get_text(json_array_get(changes, i), "diff"), has_color);
        print_digest(out, json_array_get(changes, i));
    }
    if (json_is_true(json_object_get(answer, "has_more")))
        (void)fprintf(out, "… and more that was not examined\n");
    if (json_integer_value(json_object_get(answer, "hidden_bytes")) > 0)
        (void)fprintf(out, "%lld bytes of these changes are hidden\n",
                      (long long)json_integer_value(json_object_get(answer, "hidden_bytes")));
    return count;
}

size_t changes_print_settled(FILE *out, const json_t *answer, const char *what)
{
    const json_t *skipped = json_object_get(answer, "skipped");
    size_t done = json_array_size(json_object_get(answer, "done"));

    (void)fprintf(out, "%zu change%s %s\n", done, done == 1 ? "" : "s", what);
    for (size_t i = 0; i < json_array_size(skipped); i++) {
        const json_t *item = json_array_get(skipped, i);

        (void)fprintf(out, "not %s: ", what);
        print_text(out, json_object_get(item, "path"));
        (void)fprintf(out, ": ");
        print_text(out, json_object_get(item, "message"));
        (void)fprintf(out, "\n");
    }
    return json_array_size(skipped);
}
