/* Hints for their reader.
 *
 * A hint is written where a cause is known, once for all doors. Its clauses are joined by "; " or
 * ", or ". Some are for one kind of reader: a command or an option is for a person at a terminal, a
 * field of a request for a client of the HTTP interface, a tool for a model, a line "in the cell"
 * for all who send code and have no file of it. Each door leaves out the clauses that its reader
 * cannot follow. "`timeout_s` (`--timeout`)" names a field and the
 * option for it; a reader gets one of the two.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "wire/pack.h"

enum hint_reader {
    HINT_FOR_ALL, /* unchanged: a door behind this one knows its reader */
    HINT_FOR_CLI,
    HINT_FOR_HTTP,
    HINT_FOR_MODEL,
};

struct hint_view {
    enum hint_reader reader;
    /* Of a model: whether the tool that it called has that argument. NULL: it has none. */
    bool (*has_field)(const void *user, const char *name, size_t len);
    const void *user;
};

/* Adds what the reader can follow. Of a model nothing may remain; it is then told whose matter it
 * is. A client of the HTTP interface gets what is for the command line in that case. */
int hint_add(const struct hint_view *view, const char *hint, struct buf *out);

/* The same as a malloc'd text; NULL: there is no hint, or no memory. */
char *hint_text(enum hint_reader reader, const char *hint);

/* Says which words are tools of the MCP door: they stand in hints without quotation marks. */
typedef bool (*hint_tool_fn)(const char *word, size_t len);
void hint_know_tools(hint_tool_fn fn);
