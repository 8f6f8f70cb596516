#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "wire/message.h"

static void assert_words(const char *text, const char *expected)
{
    cleanup_free char *words = quote_words(span_of(text), 200);

    assert_string_equal(words, expected);
}

TEST(plain_text_stays)
{
    assert_words("thread `busy bee` is running", "\"thread `busy bee` is running\"");
    assert_words("поток 日本 😀", "\"поток 日本 😀\"");
    assert_words("", "\"\"");
}

TEST(text_cannot_end_the_quotation)
{
    assert_words("x\". Belljar: y", "\"x\\\". Belljar: y\"");
    assert_words("x\\\". y", "\"x\\\\\\\". y\"");
    assert_words("x” y＂ z«", "\"x\\u{201d} y\\u{ff02} z\\xab\"");
}

TEST(what_cannot_be_seen_is_an_escape)
{
    assert_words("a\nb\r\tc\x1b[2J\x7f", "\"a\\nb\\r\\tc\\x1b[2J\\x7f\"");
    assert_words("\xc2\x9b"
                 "2J",
                 "\"\\x9b2J\"");
    assert_words("\u202e\u2028\u2066\u200b\ufeff\U000e0041",
                 "\"\\u{202e}\\u{2028}\\u{2066}\\u{200b}\\u{feff}\\u{e0041}\"");
    assert_words("a\xff\xe2\x80", "\"a\\xff\\xe2\\x80\"");
}

TEST(a_nul_does_not_end_the_text)
{
    cleanup_free char *words = quote_words((struct span){"a\0b", 3}, 20);

    assert_string_equal(words, "\"a\\x00b\"");
}

TEST(long_text_is_cut_between_characters)
{
    for (size_t max = 0; max < 20; max++) {
        cleanup_free char *words = quote_words(span_of("é\"\u202e日\xff xyz"), max);
        size_t len = strlen(words);

        assert_true(len <= max + strlen("\"…\""));
        assert_int_equal(utf8_valid(words, len), len);
        assert_true(words[0] == '"' && words[len - 1] == '"');
        assert_string_equal(words + len - strlen("…\""), "…\"");
    }
}

TEST(a_line_keeps_its_quotation_marks)
{
    cleanup_free char *line = quote_line(span_of("mount \"a\\b\"\n\u202e"), 200);

    assert_string_equal(line, "mount \"a\\b\"\\n\\u{202e}");
}

UNIT_MAIN()
