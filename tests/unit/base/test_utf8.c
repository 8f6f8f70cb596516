#include "unit.h"

#include "base/utf8.h"

TEST(characters_of_every_length_are_decoded)
{
    uint32_t c = 0;

    assert_int_equal(utf8_decode("A", 1, &c), 1);
    assert_int_equal(c, 'A');
    assert_int_equal(utf8_decode("\0", 1, &c), 1);
    assert_int_equal(c, 0);
    assert_int_equal(utf8_decode("é", 2, &c), 2);
    assert_int_equal(c, 0xe9);
    assert_int_equal(utf8_decode("…", 3, &c), 3);
    assert_int_equal(c, 0x2026);
    assert_int_equal(utf8_decode("😀!", 5, &c), 4);
    assert_int_equal(c, 0x1f600);
    assert_int_equal(utf8_decode("\xf4\x8f\xbf\xbf", 4, &c), 4);
    assert_int_equal(c, 0x10ffff);
}

TEST(forms_that_mean_nothing_are_invalid)
{
    static const char *const forms[] = {
        "\x80",             /* a continuation alone */
        "\xc0\x80",         /* NUL, overlong */
        "\xc1\xbf",         /* overlong */
        "\xe0\x9f\xbf",     /* overlong */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf0\x8f\xbf\xbf", /* overlong */
        "\xf4\x90\x80\x80", /* above U+10FFFF */
        "\xf5\x80\x80\x80", /* above U+10FFFF */
        "\xff",
        "\xe2\x28\xa1",
    };
    uint32_t c = 77;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        assert_int_equal(utf8_decode(forms[i], strlen(forms[i]), &c), UTF8_INVALID);
    assert_int_equal(c, 77);
}

TEST(what_cannot_be_seen_is_known)
{
    static const char *const hidden[] = {
        "a\u202eb", "\u200b", "\ufeffx", "x\ufe0f", "\u00ad",   "\U000e0041", "\x1b[m", "\u2800",
        "\u3164",   "\xff",   "\r",      "\u2066",  "a\u3000b", "\u00a0",     "\u202f", "\u2003"};
    static const char *const plain[] = {"", "a b\tc\n", "é…😀", "日本語"};

    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        assert_true(utf8_has_invisible(hidden[i], strlen(hidden[i])));
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        assert_false(utf8_has_invisible(plain[i], strlen(plain[i])));
    assert_true(utf8_is_harmless(0x200d)); /* what joins a family stays whole in output */
    assert_false(utf8_is_visible(0x200d));
}

TEST(a_cut_character_is_partial_and_not_invalid)
{
    assert_int_equal(utf8_decode("\xc3", 1, NULL), UTF8_PARTIAL);
    assert_int_equal(utf8_decode("\xe2\x80", 2, NULL), UTF8_PARTIAL);
    assert_int_equal(utf8_decode("\xf0\x9f\x98", 3, NULL), UTF8_PARTIAL);
    assert_int_equal(utf8_decode("\xed\xa0", 2, NULL), UTF8_INVALID);
}

TEST(every_character_is_read_back_as_itself)
{
    for (uint32_t c = 0x800; c < 0x10000; c++) {
        char text[3] = {(char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 63)),
                        (char)(0x80 | (c & 63))};
        uint32_t back = 0;
        int n = utf8_decode(text, 3, &back);

        if (c >= 0xd800 && c <= 0xdfff)
            assert_int_equal(n, UTF8_INVALID);
        else if (n != 3 || back != c)
            fail_msg("U+%04X", c);
    }
}

TEST(valid_counts_up_to_the_first_mistake)
{
    assert_int_equal(utf8_valid("aé…", 6), 6);
    assert_int_equal(utf8_valid("aé\xff…", 7), 3);
    assert_int_equal(utf8_valid("a\xc3", 2), 1);
    assert_int_equal(utf8_valid("", 0), 0);
}

UNIT_MAIN()
