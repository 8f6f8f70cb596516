#include "unit.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "terminal/keys.h"

/* The kinds of the keys that the bytes are, the last time with what is left over at their end. */
static size_t take(const char *bytes, size_t len, struct key *found, size_t max)
{
    struct keys keys = {0};
    size_t n = 0;

    for (size_t i = 0; i < len && n < max;) {
        i += keys_take(&keys, bytes[i], &found[n]);
        n += found[n].kind != KEY_NONE;
    }
    if (n < max && keys_is_open(&keys)) {
        keys_flush(&keys, &found[n]);
        n++;
    }
    return n;
}

static const struct {
    const char *bytes;
    enum key_kind kind;
    char code;
} single[] = {
    {"a", KEY_TEXT, 0},
    {"ü", KEY_TEXT, 0},
    {"漢", KEY_TEXT, 0},
    {"😀", KEY_TEXT, 0},
    {"\001", KEY_CONTROL, 'A'},
    {"\t", KEY_CONTROL, 'I'},
    {"\n", KEY_CONTROL, 'J'},
    {"\177", KEY_BACKSPACE, 0},
    {"\033", KEY_ESCAPE, 0},
    {"\033b", KEY_ALT, 'b'},
    {"\033\n", KEY_ALT, '\n'},
    {"\033[A", KEY_UP, 0},
    {"\033OA", KEY_UP, 0},
    {"\033[D", KEY_LEFT, 0},
    {"\033[1;5D", KEY_WORD_LEFT, 0},
    {"\033[1;3C", KEY_WORD_RIGHT, 0},
    {"\033[1;2C", KEY_RIGHT, 0},
    {"\033Od", KEY_WORD_LEFT, 0},
    {"\033[3~", KEY_DELETE, 0},
    {"\033[3;5~", KEY_DELETE_WORD, 0},
    {"\033[1~", KEY_HOME, 0},
    {"\033[H", KEY_HOME, 0},
    {"\033[4~", KEY_END, 0},
    {"\033[Z", KEY_BACK_TAB, 0},
    {"\033[15~", KEY_UNKNOWN, 0},
    {"\033[?62;4c", KEY_UNKNOWN, 0}, /* an answer of the terminal */
    {"\033[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1D", KEY_UNKNOWN, 0},
    {"\342\200\256", KEY_UNKNOWN, 0}, /* turns the direction of writing */
    {"\302\233", KEY_UNKNOWN, 0},     /* a control character of 8 bits */
    {"\377", KEY_UNKNOWN, 0},
};

TEST(a_key_is_known_by_its_bytes)
{
    for (size_t i = 0; i < ARRAY_SIZE(single); i++) {
        struct key found[4] = {0};
        size_t n = take(single[i].bytes, strlen(single[i].bytes), found, 4);

        if (n != 1 || found[0].kind != single[i].kind || found[0].code != single[i].code)
            fail_msg("row %zu: %zu keys, kind %d, code %d", i, n, (int)found[0].kind,
                     found[0].code);
        if (found[0].kind == KEY_TEXT)
            assert_string_equal(found[0].text, single[i].bytes);
    }
}

TEST(what_cuts_a_sequence_off_counts)
{
    struct key found[4];

    assert_int_equal(take("\033[1\033[A", 6, found, 4), 2);
    assert_int_equal(found[0].kind, KEY_UNKNOWN);
    assert_int_equal(found[1].kind, KEY_UP);
    assert_int_equal(take("\303a", 2, found, 4), 2);
    assert_int_equal(found[0].kind, KEY_UNKNOWN);
    assert_string_equal(found[1].text, "a");
    assert_int_equal(take("\033\303\274", 3, found, 4), 2);
    assert_int_equal(found[0].kind, KEY_ESCAPE);
    assert_string_equal(found[1].text, "ü");
}

/* The beginning of an end mark is left out: it was no text. */
TEST(a_paste_is_text_whatever_it_holds)
{
    static const char bytes[] = "\033[200~a\r\nb\rc\n\t\001\033[A\033[20\033[201~\r";
    struct key found[32];
    size_t n = take(bytes, sizeof(bytes) - 1, found, 32);
    struct buf text = BUF_OF(64);

    assert_int_equal(found[0].kind, KEY_PASTE_BEGIN);
    for (size_t i = 1; i + 2 < n; i++) {
        assert_true(found[i].kind == KEY_TEXT || found[i].kind == KEY_UNKNOWN);
        if (found[i].kind == KEY_TEXT) {
            assert_true(found[i].is_pasted);
            (void)buf_add_str(&text, found[i].text, NULL);
        }
    }
    assert_string_equal(buf_str(&text), "a\nb\nc\n\tA");
    assert_int_equal(found[n - 2].kind, KEY_PASTE_END);
    assert_int_equal(found[n - 1].kind, KEY_CONTROL);
    assert_int_equal(found[n - 1].code, 'M');
    buf_done(&text);
}

UNIT_MAIN()
