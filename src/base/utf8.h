/* UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_INVALID 0    /* the first byte begins no character here */
#define UTF8_PARTIAL (-1) /* the bytes end inside a character that may still become valid */

/* The character at the front of `text` (len > 0): its length in bytes, UTF8_INVALID or
 * UTF8_PARTIAL. ret_char may be NULL and stays untouched when there is no character. */
int utf8_decode(const char *text, size_t len, uint32_t *ret_char);

/* Whether it may stand on a terminal: no control character, and no mark for the direction of
 * writing, which makes text read otherwise than it is. */
bool utf8_is_harmless(uint32_t c);

/* Harmless, and something is to be seen of it. Names and lines that somebody says yes to are shown
 * without what is not: joiners and selectors are part of good text, and a hiding place. */
bool utf8_is_visible(uint32_t c);
bool utf8_has_invisible(const char *text, size_t len);

/* Bytes at the end of `text` that begin a character and do not finish it: 0 to 3. */
size_t utf8_cut_at_end(const char *text, size_t len);

/* Length of the longest valid beginning. */
size_t utf8_valid(const char *text, size_t len);
