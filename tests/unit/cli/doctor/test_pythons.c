/* The age of one build of Python beside that of another. */
#include "unit.h"

#include "cli/doctor/doctor.h"

TEST(a_build_is_older_by_its_version_and_then_by_its_date)
{
    static const char old[] = "3.11.2 (main, Mar 13 2023, 12:18:29) [GCC 12.2.0]";
    static const char new[] = "3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]";
    static const char next[] = "3.11.10 (main, Jan  1 2020, 00:00:00) [GCC 12.2.0]";

    assert_true(doctor_python_is_older(old, new));
    assert_false(doctor_python_is_older(new, old));
    assert_false(doctor_python_is_older(new, new));
    assert_true(doctor_python_is_older(new, next));
    assert_false(doctor_python_is_older(next, new));
}

TEST(what_cannot_be_read_is_not_older)
{
    assert_false(doctor_python_is_older("", "3.11.2 (main, Mar 13 2023, 12:18:29)"));
    assert_false(doctor_python_is_older("3.11.2 (main, Mar 13 2023, 12:18:29)", ""));
    assert_false(doctor_python_is_older("3.11.2 (x)", "3.11.2 (y)"));
    assert_false(doctor_python_is_older("3.11.2", "3.11.2 (main, Mar 13 2023, 12:18:29)"));
}

UNIT_MAIN()
