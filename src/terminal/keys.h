/* Keys of a terminal: bytes in, keys out.
 *
 * The bytes come from a terminal, which sends what somebody pastes, and answers what a program
 * asked of it. Any bytes are possible: a sequence that is not known is one key that does nothing,
 * bytes that are not UTF-8 are dropped, and nothing is kept without a bound.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum key_kind {
    KEY_NONE,    /* nothing yet: more bytes are needed */
    KEY_TEXT,    /* a character */
    KEY_CONTROL, /* `code` is the letter: Ctrl-A is 'A'; Enter is 'M', Tab is 'I' */
    KEY_ALT,     /* `code` with Alt, or Escape before it */
    KEY_BACKSPACE,
    KEY_DELETE,
    KEY_DELETE_WORD,
    KEY_ESCAPE,
    KEY_UP,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_WORD_LEFT,
    KEY_WORD_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_BACK_TAB,
    KEY_PASTE_BEGIN,
    KEY_PASTE_END,
    KEY_UNKNOWN, /* a sequence that means nothing here */
};

struct key {
    enum key_kind kind;
    bool is_pasted; /* of KEY_TEXT: it was pasted, and may be a newline or a tab */
    char code;
    char text[5]; /* of KEY_TEXT: the character in UTF-8, and a NUL */
    unsigned len;
};

#define KEYS_HELD_MAX 32

/* All zero before its first use. */
struct keys {
    char held[KEYS_HELD_MAX]; /* the beginning of a sequence or of a character */
    size_t n;
    bool is_pasting;
    bool was_return; /* in a paste: a newline after it belongs to it */
};

/* Takes one byte or none of them. Returns how many were taken; if it took none, the key is complete
 * without the byte, which is given again. */
size_t keys_take(struct keys *keys, char byte, struct key *ret_key);

/* No more bytes came for a while: a lone Escape is a key of its own. */
void keys_flush(struct keys *keys, struct key *ret_key);

/* Something is held that time decides on. */
static inline bool keys_is_open(const struct keys *keys)
{
    return keys->n > 0 && !keys->is_pasting;
}
