/* A printed Series: its name stands below its values, which wait for it and for nothing else. */
#include "unit.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "mask/feed.h"

#define LABEL "[REDACTED_SECRET]"

static const struct {
    const char *text, *masked;
} texts[] = {
    {"0     hunter22\n1    Willow123\nName: password, dtype: object\n",
     "0     " LABEL "\n1    " LABEL "\nName: password, dtype: object\n"},
    {"ann     hunter22\nbob    Willow123\nName: db_password, Length: 2, dtype: object\n",
     "ann     " LABEL "\nbob    " LABEL "\nName: db_password, Length: 2, dtype: object\n"},
    {"x\n0    qzVQ81mfA02kLp7Rt5Yw\nName: token, dtype: string\n",
     "x\n0    " LABEL "\nName: token, dtype: string\n"},
    /* Other names, other values, other lines between. */
    {"0     hunter22\n1    Willow123\nName: host, dtype: object\n",
     "0     hunter22\n1    Willow123\nName: host, dtype: object\n"},
    {"0    running\n1    stopped\nName: password, dtype: object\n",
     "0    running\n1    stopped\nName: password, dtype: object\n"},
    {"0    hunter22\nthe end\nName: password, dtype: object\n",
     "0    hunter22\nthe end\nName: password, dtype: object\n"},
    {"0    hunter22\nName: password\n", "0    hunter22\nName: password\n"},
};

TEST(rows_above_a_secret_name_are_masked_wherever_the_stream_is_cut)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        for (size_t piece = 1; piece <= strlen(texts[i].text); piece++) {
            size_t len = strlen(texts[i].text);

            begin(NULL);
            for (size_t at = 0; at < len; at += piece)
                (void)feed_bytes(texts[i].text + at, len - at < piece ? len - at : piece);
            assert_string_equal(finish(), texts[i].masked);
        }
}

TEST(other_lines_do_not_wait)
{
    static const char *const lines[] = {"total 48\n",     "a    b\n",       "one two three\n",
                                        "key    value\n", "0    running\n", "Name: ann\n"};

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        begin(NULL);
        assert_string_equal(feed(lines[i]), lines[i]);
    }
}

/* Rows without end come out, those of the last two kilobytes aside. */
TEST(what_waits_for_a_name_is_bounded)
{
    size_t fed = 0;

    begin(NULL);
    for (int i = 0; i < 1000; i++) {
        char line[64];

        fed += (size_t)snprintf(line, sizeof(line), "%-4d    Willow%04d\n", i, i);
        (void)feed(line);
        assert_true(out.len + 2200 > fed);
    }
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

UNIT_MAIN_WITH(NULL, teardown)
