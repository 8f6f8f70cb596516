#include <Python.h>

#include "unit.h"

#include "guest/report.h"

/* The value of a Python expression. */
static PyObject *value_of(const char *expression)
{
    PyObject *globals = PyDict_New();
    PyObject *value;

    assert_non_null(globals);
    (void)PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins());
    value = PyRun_String(expression, Py_eval_input, globals, globals);
    if (!value)
        PyErr_Print();
    assert_non_null(value);
    Py_DECREF(globals);
    return value;
}

static void assert_json(const char *expression, const char *expected)
{
    PyObject *value = value_of(expression), *json = report_json(value);

    assert_null(PyErr_Occurred());
    if (!json)
        fail_msg("%s has no JSON", expression);
    assert_string_equal(PyUnicode_AsUTF8(json), expected);
    Py_DECREF(json);
    Py_DECREF(value);
}

static void assert_not_plain(const char *expression)
{
    PyObject *value = value_of(expression), *json = report_json(value);

    assert_null(PyErr_Occurred());
    if (json)
        fail_msg("%s became %s", expression, PyUnicode_AsUTF8(json));
    Py_DECREF(value);
}

TEST(plain_data_is_json)
{
    assert_json("None", "null");
    assert_json("[True, False]", "[true,false]");
    assert_json("(1, -2, 0)", "[1,-2,0]");
    assert_json("{'a': {'b': []}, 'c': ()}", "{\"a\":{\"b\":[]},\"c\":[]}");
    assert_json("''", "\"\"");
    assert_json("{}", "{}");
}

TEST(numbers_keep_their_value)
{
    assert_json("0.1", "0.1");
    assert_json("-0.0", "-0.0");
    assert_json("1e300", "1e+300");
    assert_json("5e-324", "5e-324");
    assert_json("2**64", "18446744073709551616");
    assert_json("-2**63", "-9223372036854775808");
}

TEST(what_json_cannot_say_is_not_said)
{
    assert_not_plain("float('nan')");
    assert_not_plain("float('inf')");
    assert_not_plain("[1, float('-inf')]");
    assert_not_plain("{'a': float('nan')}");
    assert_not_plain("1j");
    assert_not_plain("b'bytes'");
    assert_not_plain("{1, 2}");
    assert_not_plain("object()");
    assert_not_plain("print");
}

TEST(a_number_of_too_many_digits_is_not_said)
{
    assert_not_plain("10**5000"); /* more than the interpreter turns into text */
    assert_not_plain("[10**5000]");
}

TEST(keys_that_are_no_text_are_not_said)
{
    assert_not_plain("{1: 2}");
    assert_not_plain("{None: 2}");
    assert_not_plain("{'a': 1, (1, 2): 3}");
    assert_not_plain("[{'a': {True: 1}}]");
}

/* A class of the program's own could run code in its repr(). */
TEST(subclasses_are_not_plain)
{
    assert_not_plain("type('S', (str,), {})('x')");
    assert_not_plain("type('I', (int,), {'__repr__': lambda s: 1/0})(3)");
    assert_not_plain("type('F', (float,), {'__repr__': lambda s: 'x'})(3)");
    assert_not_plain("type('L', (list,), {})()");
    assert_not_plain("type('D', (dict,), {})()");
    assert_not_plain("{type('S', (str,), {})('x'): 1}");
}

TEST(text_is_escaped)
{
    assert_json("'a\"b\\\\c'", "\"a\\\"b\\\\c\"");
    assert_json("'\\n\\t\\x00\\x1f\\x7f'", "\"\\u000a\\u0009\\u0000\\u001f\x7f\"");
    assert_json("'\\u00e9\\u20ac\\U0001f600'", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    assert_json("{'\\x00': 1}", "{\"\\u0000\":1}");
}

TEST(lone_surrogates_are_not_said)
{
    assert_not_plain("'\\ud800'");
    assert_not_plain("['ok', 'x\\udfffy']");
    assert_not_plain("{'\\ud800': 1}");
}

TEST(depth_has_an_end)
{
    assert_json("__import__('functools').reduce(lambda x, _: [x], range(3), 1)", "[[[1]]]");
    PyObject *deep = value_of("__import__('functools').reduce(lambda x, _: [x], range(60), 1)");
    PyObject *json = report_json(deep);

    assert_non_null(json);
    Py_DECREF(json);
    Py_DECREF(deep);
    assert_not_plain("__import__('functools').reduce(lambda x, _: [x], range(70), 1)");
    assert_not_plain("__import__('functools').reduce(lambda x, _: {'a': x}, range(70), 1)");
    assert_not_plain("__import__('functools').reduce(lambda x, _: (x,), range(100000), 1)");
}

TEST(what_holds_itself_has_an_end)
{
    assert_not_plain("(lambda l: (l.append(l), l)[1])([])");
    assert_not_plain("(lambda d: (d.update(a=d), d)[1])({})");
}

TEST(size_has_an_end)
{
    assert_not_plain("'x' * (1 << 20)");
    assert_not_plain("[0] * (1 << 20)");
    assert_not_plain("['x' * 1000] * 2000");
    /* Exactly at the limit, with the quotes. */
    PyObject *value = value_of("'x' * ((1 << 20) - 2)"), *json = report_json(value);

    assert_non_null(json);
    assert_int_equal(PyUnicode_GET_LENGTH(json), REPORT_TEXT_MAX);
    Py_DECREF(json);
    Py_DECREF(value);
}

/* Eight times a doubling of one list is small in memory and huge in text. */
TEST(a_bomb_of_references_has_an_end)
{
    assert_not_plain("__import__('functools').reduce(lambda x, _: [x] * 10, range(30), 1)");
}

/* Python's own reader reads what we write. */
TEST(python_reads_the_same_value_back)
{
    static const char *const values[] = {
        "[1.5, -0.0, 1e-7, 123456789012345678901234567890, 'a\\u2028b', {'k': [None, True]}]",
        "[chr(i) for i in range(0x2000) if not 0xd800 <= i < 0xe000]",
        "{str(i): [i / 7, i ** 20] for i in range(500)}",
    };
    PyObject *module = PyImport_ImportModule("json");

    assert_non_null(module);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        PyObject *value = value_of(values[i]), *json = report_json(value);
        PyObject *again = json ? PyObject_CallMethod(module, "loads", "O", json) : NULL;

        assert_non_null(again);
        assert_int_equal(PyObject_RichCompareBool(value, again, Py_EQ), 1);
        Py_DECREF(again);
        Py_DECREF(json);
        Py_DECREF(value);
    }
    Py_DECREF(module);
}

static int setup(void **state)
{
    (void)state;
    Py_InitializeEx(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return Py_FinalizeEx();
}

UNIT_MAIN_WITH(setup, teardown)
