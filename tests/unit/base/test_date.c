#include "unit.h"

#include "base/cleanup.h"
#include "base/date.h"

TEST(dates_are_rfc_3339_in_utc)
{
    char text[DATE_SIZE];

    date_seconds(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00Z");
    date_seconds(1709210096, text);
    assert_string_equal(text, "2024-02-29T12:34:56Z");
    date_millis(&(struct timespec){1709210096, 7999999}, text);
    assert_string_equal(text, "2024-02-29T12:34:56.007Z");
    date_millis(&(struct timespec){1709210096, 999999999}, text);
    assert_string_equal(text, "2024-02-29T12:34:56.999Z");
}

TEST(dates_are_read_as_they_are_written)
{
    static const char *const wrong[] = {"", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5Z",
                                        "2026-01-31T12:00:00.500", "2026-01-31T12:00:00.500Zx"};
    const struct timespec at = {.tv_sec = 1769860800, .tv_nsec = 7000000};
    char text[DATE_SIZE];

    date_millis(&at, text);
    assert_int_equal(date_read_millis(text), INT64_C(1769860800007));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(date_read_millis(wrong[i]), -1);
}

TEST(a_clock_that_is_far_off_keeps_the_form)
{
    static const time_t odd[] = {-62135596801, 253402300800, INT64_MAX, INT64_MIN};
    char text[DATE_SIZE];

    date_seconds(253402300799, text);
    assert_string_equal(text, "9999-12-31T23:59:59Z");
    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        date_millis(&(struct timespec){odd[i], 0}, text);
        assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    }
}

UNIT_MAIN()
