/* Names that nobody can guess. */
#pragma once

/* An id that sorts by time and cannot be guessed: the prefix, then 26 characters. Returns -1 when
 * Linux has no random bytes to give. */
int id_make(char id[32], const char prefix[4]);
