#include "unit.h"

#include "program.h"

#include <stdio.h>
#include <string.h>

#include "guest/display.h"
#include "guest/display_bundle.h"
#include "guest/hint.h"
#include "guest/policy/policy.h"

/* Runs the lines and gives what they call `x`. */
static PyObject *x_of(const char *lines)
{
    PyObject *globals = PyDict_New(), *done, *x;

    assert_int_equal(PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()), 0);
    done = PyRun_String(lines, Py_file_input, globals, globals);
    if (!done)
        PyErr_Print();
    assert_non_null(done);
    Py_DECREF(done);
    x = Py_XNewRef(PyDict_GetItemString(globals, "x"));
    assert_non_null(x);
    Py_DECREF(globals);
    return x;
}

static const char *form(const struct display_bundle *b, const char *mime)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (strcmp(b->forms[i].mime, mime) == 0)
            return PyBytes_AS_STRING(b->forms[i].bytes);
    return NULL;
}

TEST(an_object_without_forms_is_text)
{
    struct display_bundle b = {0};
    PyObject *x = x_of("x = [1, 'a']\n");

    assert_false(display_bundle_is_rich(x));
    assert_int_equal(display_bundle_fill(&b, x), 0);
    assert_int_equal(b.count, 1);
    assert_string_equal(form(&b, "text/plain"), "[1, 'a']");
    display_bundle_done(&b);
    assert_int_equal(b.count, 0);
    Py_DECREF(x);
}

TEST(a_picture_tells_its_size)
{
    struct display_bundle b = {0};
    PyObject *png =
        PyBytes_FromStringAndSize("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0", 24);
    PyObject *cut = PyBytes_FromStringAndSize("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80", 20);

    display_bundle_add(&b, "image/png", png);
    assert_int_equal(b.width, 640);
    assert_int_equal(b.height, 480);
    display_bundle_done(&b);
    display_bundle_add(&b, "image/png", cut);
    assert_int_equal(b.count, 1);
    assert_int_equal(b.width, 0);
    display_bundle_done(&b);
    Py_DECREF(png);
    Py_DECREF(cut);
}

TEST(forms_have_to_be_of_their_kind)
{
    struct display_bundle b = {0};
    PyObject *text = PyUnicode_FromString("t"), *bytes = PyBytes_FromString("b");

    display_bundle_add(&b, "image/png", text);
    display_bundle_add(&b, "text/html", bytes);
    display_bundle_add(&b, "application/json", bytes);
    display_bundle_add(&b, "no type", text);
    display_bundle_add(&b, "text/plain\n", text);
    display_bundle_add(&b, "TEXT/plain", text);
    display_bundle_add(&b, "", text);
    assert_int_equal(b.count, 0);
    display_bundle_add(&b, "image/svg+xml", text);
    display_bundle_add(&b, "application/json", text);
    display_bundle_add(&b, "text/html", text);
    display_bundle_add(&b, "text/html", text);
    assert_int_equal(b.count, 3);
    assert_string_equal(form(&b, "application/json"), "\"t\"");
    display_bundle_drop(&b, "image/svg+xml");
    display_bundle_drop(&b, "image/svg+xml");
    assert_int_equal(b.count, 2);
    assert_non_null(form(&b, "text/html"));
    display_bundle_done(&b);
    Py_DECREF(text);
    Py_DECREF(bytes);
}

TEST(there_is_room_for_so_much_and_no_more)
{
    struct display_bundle b = {0};
    PyObject *large = PyBytes_FromStringAndSize(NULL, DISPLAY_BUNDLE_BYTES_MAX - 10);
    PyObject *text = PyUnicode_FromString("eleven char"), *few = PyUnicode_FromString("few");
    char mime[32];

    display_bundle_add(&b, "image/png", large);
    display_bundle_add(&b, "text/html", text);
    assert_int_equal(b.count, 1);
    display_bundle_add(&b, "text/html", few);
    assert_int_equal(b.count, 2);
    display_bundle_done(&b);
    for (int i = 0; i < WIRE_FORMS_MAX + 3; i++) {
        (void)snprintf(mime, sizeof(mime), "text/x%d", i);
        display_bundle_add(&b, mime, few);
    }
    assert_int_equal(b.count, WIRE_FORMS_MAX);
    display_bundle_done(&b);
    Py_DECREF(large);
    Py_DECREF(text);
    Py_DECREF(few);
}

TEST(text_is_cut_between_characters)
{
    struct display_bundle b = {0};
    PyObject *x = x_of("x = 'a' + '\\u00e4' * 2000000\n");
    Py_ssize_t len;

    display_bundle_add(&b, "text/plain", x);
    assert_int_equal(b.count, 1);
    len = PyBytes_GET_SIZE(b.forms[0].bytes);
    assert_true(len <= (Py_ssize_t)DISPLAY_BUNDLE_TEXT_MAX &&
                len > (Py_ssize_t)DISPLAY_BUNDLE_TEXT_MAX - 4);
    assert_int_equal(len % 2, 1); /* one byte, then pairs */
    display_bundle_done(&b);
    Py_DECREF(x);
}

TEST(failures_become_words_and_interrupts_do_not)
{
    struct display_bundle b = {0};
    PyObject *x = x_of("class X:\n    def __repr__(self): raise ValueError('v')\nx = X()\n");

    assert_int_equal(display_bundle_fill(&b, x), 0);
    assert_string_equal(form(&b, "text/plain"), "<repr failed: ValueError: v>");
    display_bundle_done(&b);
    Py_DECREF(x);
    x = x_of("class X:\n    def _repr_html_(self): raise KeyboardInterrupt\nx = X()\n");
    assert_true(display_bundle_is_rich(x));
    assert_int_equal(display_bundle_fill(&b, x), -1);
    assert_true(PyErr_ExceptionMatches(PyExc_KeyboardInterrupt));
    PyErr_Clear();
    display_bundle_done(&b);
    Py_DECREF(x);
}

TEST(classes_and_magic_are_not_asked)
{
    PyObject *x = x_of("class x:\n    def _repr_html_(self): 1/0\n");
    PyObject *magic = x_of("class X:\n    def __getattr__(self, n): 1/0\nx = X()\n");

    assert_false(display_bundle_is_rich(x));
    assert_false(display_bundle_is_rich(magic));
    Py_DECREF(x);
    Py_DECREF(magic);
}

TEST(hints_are_names)
{
    PyObject *x = x_of("try:\n    import jsn\nexcept ImportError as e:\n    x = e\n");
    struct hint hint;

    hint_find(x, &hint);
    assert_int_equal(hint.advice, WIRE_ADVICE_MODULE);
    assert_string_equal(hint.nearest, "json");
    Py_DECREF(x);
    x = x_of("try:\n    math\nexcept NameError as e:\n    x = e\n");
    hint_find(x, &hint);
    assert_int_equal(hint.advice, WIRE_ADVICE_IMPORT);
    assert_memory_equal(hint.names.items[0].data, "math", 5);
    Py_DECREF(x);
    x = x_of("x = NameError('no name in it')\n");
    hint_find(x, &hint);
    assert_int_equal(hint.advice, WIRE_ADVICE_NONE);
    Py_DECREF(x);
    x = x_of("class E(ModuleNotFoundError):\n    name = property(lambda s: 1/0)\nx = E()\n");
    hint_find(x, &hint);
    assert_int_equal(hint.advice, WIRE_ADVICE_NONE);
    assert_null(PyErr_Occurred());
    Py_DECREF(x);
}

int main(void)
{
    Py_InitializeEx(0);
    if (display_prepare() < 0 || policy_prepare() < 0)
        return 1;
    return unit_run(NULL, NULL);
}
