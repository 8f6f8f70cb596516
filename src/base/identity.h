/* The name and the address that git writes into commits, as text: `Name <mail@example.org>`. */
#pragma once

#include <stdbool.h>

#define IDENTITY_PART_BYTES 256 /* of a name or of an address, with its NUL */

/* Whether git could write it into a commit: not empty, valid UTF-8, no angle brackets, no control
 * characters, and not too long. */
bool identity_is_part(const char *text);

/* Takes `Name <mail>` apart. False: it has another form. */
bool identity_split(const char *text, char name[IDENTITY_PART_BYTES],
                    char email[IDENTITY_PART_BYTES]);

/* Whether the setting `git_identity` may have that value: `host`, `off` or `Name <mail>`. */
bool identity_is_setting(const char *text);
