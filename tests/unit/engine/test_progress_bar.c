#include "unit.h"

#include <string.h>

#include "engine/progress_bar.h"

static void assert_bar(const char *text, uint64_t done, uint64_t total, const char *name)
{
    struct progress_bar bar;

    if (!progress_bar_find(text, strlen(text), &bar))
        fail_msg("no bar in `%s`", text);
    assert_int_equal(bar.done, done);
    assert_int_equal(bar.total, total);
    assert_int_equal(bar.name_len, strlen(name));
    assert_memory_equal(bar.name, name, bar.name_len);
}

TEST(bars_as_tqdm_draws_them)
{
    assert_bar("\r  0%|          | 0/10 [00:00<?, ?it/s]", 0, 10, "");
    assert_bar("\r 45%|####5     | 45/100 [00:01<00:01, 33.3it/s]", 45, 100, "");
    assert_bar("\rEpoch 3:  50%|\xe2\x96\x88\xe2\x96\x88   | 5/10 [00:01<00:01]", 5, 10, "Epoch 3");
    assert_bar("\r100%|##########| 1.50k/2M [00:01<00:00]\n", 1500, 2000000, "");
    assert_bar("\r 10%|#  | 1/10 [0]\r 20%|##  | 2/10 [0]\r\n", 2, 10, "");
    assert_bar("warning: x\n 10%|#  | 1/10 [0]\nmore", 1, 10, "");
}

TEST(other_text_is_none)
{
    static const char *const texts[] = {
        "",          "\r",          "50%",          "50%| done",    "50%|#| ", "50%|#| 5",
        "50%|#| 5/", "50%|#| 5/10", "50%|#| a/b [", "50%|#| 5/10[", "%|||",    "\r\n\r\n"};
    struct progress_bar bar;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (progress_bar_find(texts[i], strlen(texts[i]), &bar))
            fail_msg("a bar in `%s`", texts[i]);
}

TEST(numbers_and_names_without_end_are_harmless)
{
    static char text[70000];
    struct progress_bar bar;

    memset(text, 'n', sizeof(text));
    memcpy(text + sizeof(text) - 20, " 1%|#| 99999999999 [", 20);
    assert_false(progress_bar_find(text, sizeof(text), &bar));
    memcpy(text + sizeof(text) - 20, "    1%|#| 1/9999T [0", 20);
    assert_true(progress_bar_find(text, sizeof(text), &bar));
    assert_int_equal(bar.name_len, 0);
    assert_true(bar.total == UINT64_C(9999000000000000));
    memset(text, '9', sizeof(text));
    assert_false(progress_bar_find(text, sizeof(text), &bar));
}

UNIT_MAIN()
