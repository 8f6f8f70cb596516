#include "terminal/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define ESCAPE    '\033'
#define PASTE_END "\033[201~"

/* Modifiers as terminals send them: 1 and a sum of these. */
enum { WITH_SHIFT = 1, WITH_ALT = 2, WITH_CONTROL = 4 };

static void give(struct keys *keys, enum key_kind kind, struct key *ret_key)
{
    keys->n = 0;
    ret_key->kind = kind;
}

/* --- characters --- */

static void give_text(struct keys *keys, const char *text, size_t len, struct key *ret_key)
{
    memcpy(ret_key->text, text, len);
    ret_key->len = (unsigned)len;
    ret_key->is_pasted = keys->is_pasting;
    give(keys, KEY_TEXT, ret_key);
}

/* Joins what is held and the byte: a character, its beginning, or neither. Controls beyond ASCII
 * and marks that change the direction of writing are dropped: they would make a line read otherwise
 * than it is. */
static size_t take_character(struct keys *keys, char byte, struct key *ret_key)
{
    uint32_t c = 0;
    int len;

    keys->held[keys->n++] = byte;
    len = utf8_decode(keys->held, keys->n, &c);
    if (len == UTF8_PARTIAL)
        return 1;
    if (len == UTF8_INVALID && keys->n > 1) { /* the byte may begin another one */
        give(keys, KEY_UNKNOWN, ret_key);
        return 0;
    }
    if (len == UTF8_INVALID || !utf8_is_harmless(c))
        give(keys, KEY_UNKNOWN, ret_key);
    else
        give_text(keys, keys->held, keys->n, ret_key);
    return 1;
}

static bool is_ascii(char byte)
{
    return (unsigned char)byte < 0x80;
}

static bool is_control(char byte)
{
    return (unsigned char)byte < 0x20 || byte == 0x7f;
}

/* --- sequences --- */

static const struct {
    char final;
    enum key_kind plain, with_modifier; /* the latter: with Alt or Ctrl */
} finals[] = {
    {'A', KEY_UP, KEY_UP},
    {'B', KEY_DOWN, KEY_DOWN},
    {'C', KEY_RIGHT, KEY_WORD_RIGHT},
    {'D', KEY_LEFT, KEY_WORD_LEFT},
    {'F', KEY_END, KEY_END},
    {'H', KEY_HOME, KEY_HOME},
    {'Z', KEY_BACK_TAB, KEY_BACK_TAB},
    {'c', KEY_WORD_RIGHT, KEY_WORD_RIGHT}, /* rxvt */
    {'d', KEY_WORD_LEFT, KEY_WORD_LEFT},
};

static const struct {
    unsigned number; /* before a tilde */
    enum key_kind plain, with_modifier;
} numbered[] = {
    {1, KEY_HOME, KEY_HOME}, {3, KEY_DELETE, KEY_DELETE_WORD},
    {4, KEY_END, KEY_END},   {7, KEY_HOME, KEY_HOME},
    {8, KEY_END, KEY_END},   {200, KEY_PASTE_BEGIN, KEY_PASTE_BEGIN},
};

static unsigned read_number(const char **at, const char *end)
{
    unsigned value = 0;

    while (*at < end && **at >= '0' && **at <= '9' && value < 10000)
        value = value * 10 + (unsigned)(*(*at)++ - '0');
    return value;
}

static enum key_kind of_final(char final, bool has_modifier)
{
    for (size_t i = 0; i < ARRAY_SIZE(finals); i++)
        if (finals[i].final == final)
            return has_modifier ? finals[i].with_modifier : finals[i].plain;
    return KEY_UNKNOWN;
}

/* "\033[" NUMBER ";" MODIFIER LETTER, which is complete. */
static enum key_kind of_sequence(const struct keys *keys)
{
    const char *at = keys->held + 2, *end = keys->held + keys->n - 1;
    unsigned number = read_number(&at, end), modifier = 0;
    bool has_modifier;

    if (at < end && *at == ';') {
        at++;
        modifier = read_number(&at, end);
    }
    if (at != end)
        return KEY_UNKNOWN;
    has_modifier = modifier && ((modifier - 1) & (WITH_ALT | WITH_CONTROL));
    if (*end != '~')
        return of_final(*end, has_modifier);
    for (size_t i = 0; i < ARRAY_SIZE(numbered); i++)
        if (numbered[i].number == number)
            return has_modifier ? numbered[i].with_modifier : numbered[i].plain;
    return KEY_UNKNOWN;
}

/* The second byte after Escape. */
static size_t take_second(struct keys *keys, char byte, struct key *ret_key)
{
    if (byte == '[' || byte == 'O') {
        keys->held[keys->n++] = byte;
        return 1;
    }
    if (byte == ESCAPE || !is_ascii(byte)) {
        give(keys, KEY_ESCAPE, ret_key);
        return 0;
    }
    ret_key->code = byte;
    give(keys, KEY_ALT, ret_key);
    return 1;
}

static size_t take_sequence(struct keys *keys, char byte, struct key *ret_key)
{
    bool is_final = byte >= 0x40 && byte < 0x7f;

    if (is_control(byte) || !is_ascii(byte)) { /* it was cut off */
        give(keys, KEY_UNKNOWN, ret_key);
        return 0;
    }
    if (keys->held[1] == 'O') {
        give(keys, of_final(byte, false), ret_key);
        return 1;
    }
    /* A sequence that is too long is read to its end, and means nothing. */
    if (keys->n < KEYS_HELD_MAX)
        keys->held[keys->n++] = byte;
    if (!is_final)
        return 1;
    give(keys, keys->held[keys->n - 1] == byte ? of_sequence(keys) : KEY_UNKNOWN, ret_key);
    if (ret_key->kind == KEY_PASTE_BEGIN)
        keys->is_pasting = true;
    return 1;
}

/* --- pastes --- */

static size_t take_pasted(struct keys *keys, char byte, struct key *ret_key)
{
    bool was_return = keys->was_return;

    if (keys->n && keys->held[0] == ESCAPE) {
        if (byte != PASTE_END[keys->n]) { /* it was text */
            give(keys, KEY_UNKNOWN, ret_key);
            return 0;
        }
        keys->held[keys->n++] = byte;
        if (keys->n < strlen(PASTE_END))
            return 1;
        keys->is_pasting = false;
        give(keys, KEY_PASTE_END, ret_key);
        return 1;
    }
    keys->was_return = byte == '\r';
    if (!keys->n && byte == ESCAPE)
        keys->held[keys->n++] = byte;
    else if (!keys->n && byte == '\n' && was_return)
        ret_key->kind = KEY_UNKNOWN;
    else if (!keys->n && (byte == '\r' || byte == '\n'))
        give_text(keys, "\n", 1, ret_key);
    else if (!keys->n && byte == '\t')
        give_text(keys, "\t", 1, ret_key);
    else
        return take_character(keys, byte, ret_key);
    return 1;
}

size_t keys_take(struct keys *keys, char byte, struct key *ret_key)
{
    *ret_key = (struct key){.kind = KEY_NONE};
    if (keys->is_pasting)
        return take_pasted(keys, byte, ret_key);
    if (keys->n && keys->held[0] == ESCAPE)
        return keys->n == 1 ? take_second(keys, byte, ret_key) : take_sequence(keys, byte, ret_key);
    if (keys->n)
        return take_character(keys, byte, ret_key);
    if (byte == ESCAPE) {
        keys->held[keys->n++] = byte;
    } else if (byte == 0x7f) {
        ret_key->kind = KEY_BACKSPACE;
    } else if (is_control(byte)) {
        ret_key->kind = KEY_CONTROL;
        ret_key->code = (char)(byte + '@');
    } else {
        return take_character(keys, byte, ret_key);
    }
    return 1;
}

void keys_flush(struct keys *keys, struct key *ret_key)
{
    bool is_escape = keys->n == 1 && keys->held[0] == ESCAPE;

    *ret_key = (struct key){.kind = KEY_NONE};
    if (keys_is_open(keys))
        give(keys, is_escape ? KEY_ESCAPE : KEY_UNKNOWN, ret_key);
}
