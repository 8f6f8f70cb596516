/* Names that people, clients and programs choose: of tokens, sessions, checkpoints, states, skills.
 *
 * One rule for all of them: letters, digits, `_`, `-` and, where `has_dots`, `.`, of which the
 * first is a letter or a digit. Such a name is never `.` or `..`, no hidden file, no option of a
 * command, needs no escaping in a path or a URL, and is one word to whoever reads it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* At most `max` bytes. */
bool name_is_plain(const char *text, size_t max, bool has_dots);
