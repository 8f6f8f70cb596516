#include "guest/report.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "guest/display_bundle.h"
#include "guest/helper.h"
#include "guest/hint.h"
#include "wire/frame.h"
#include "wire/message.h"

#define REFUSED_MAX ((size_t)1 << 20)

/* The process that began the program. A child that it forks also returns from the program, but must
 * not report how it ended. */
static pid_t speaker;

static int send_pack(int control, enum wire_type type, struct pack *p)
{
    int r = frame_send(control, type, p, NULL, 0);

    pack_done(p);
    return r;
}

int report_refused(int control, const struct policy_report *report)
{
    struct pack p;

    pack_init(&p, REFUSED_MAX);
    pack_u32(&p, (uint32_t)report->count);
    for (size_t i = 0; i < report->count; i++) {
        const struct policy_violation *v = &report->items[i];

        wire_pack_violation(&p, &(struct wire_violation){
                                    .rule = span_of(v->rule),
                                    .name = span_of(v->name),
                                    .message = span_of(v->message),
                                    .hint = span_of(v->hint),
                                    .line = v->line,
                                    .column = v->column,
                                });
    }
    pack_u32(&p, (uint32_t)report->more);
    return send_pack(control, WIRE_REFUSED, &p);
}

int report_started(int control)
{
    speaker = getpid();
    return frame_send(control, WIRE_STARTED, NULL, NULL, 0);
}

static int send_failure(int control, enum error_code code, const char *message)
{
    struct pack p;

    pack_init(&p, 4096);
    wire_pack_failure(&p, &(struct wire_failure){.code = code, .message = span_of(message)});
    return send_pack(control, WIRE_FAILED, &p);
}

int report_failed(int control, const char *message)
{
    return send_failure(control, E_NONE, message);
}

int report_no_directory(int control, int errnum)
{
    return send_failure(control, E_INVALID, strerror(errnum));
}

/* The text as UTF-8 in *ret, cut to the limit at a character; lone surrogates become "?". Keeps a
 * reference in *ret_owner. */
static struct span text_of(PyObject *str, PyObject **ret_owner)
{
    struct span s;

    PyObject *head = NULL;

    /* Of a text that fills the memory, no second copy. */
    if (str)
        head = PyUnicode_GetLength(str) > (Py_ssize_t)REPORT_TEXT_MAX
                   ? PyUnicode_Substring(str, 0, REPORT_TEXT_MAX)
                   : Py_NewRef(str);
    *ret_owner = head ? PyUnicode_AsEncodedString(head, "utf-8", "replace") : NULL;
    Py_XDECREF(head);
    if (!*ret_owner) {
        PyErr_Clear();
        return span_of("");
    }
    s = (struct span){PyBytes_AS_STRING(*ret_owner), (size_t)PyBytes_GET_SIZE(*ret_owner)};
    if (s.len > REPORT_TEXT_MAX) {
        s.len = REPORT_TEXT_MAX;
        while (s.len && ((unsigned char)s.data[s.len] & 0xc0) == 0x80)
            s.len--;
    }
    return s;
}

static PyObject *float_form, *last_traceback, *last_exception;

void report_set_float_form(PyObject *form)
{
    Py_XSETREF(float_form, Py_XNewRef(form));
}

PyObject *report_repr(PyObject *value)
{
    if (float_form && PyFloat_CheckExact(value))
        return PyUnicode_Format(float_form, value);
    return display_bundle_is_pretty(value) ? display_bundle_pretty(value) : PyObject_Repr(value);
}

PyObject *report_last_traceback(void)
{
    return last_traceback;
}

PyObject *report_last_exception(void)
{
    return last_exception;
}

/* Keeps it where Python's own prompt does, too: for `%debug`, pdb.pm() and traceback.print_last().
 */
static void keep_exception(PyObject *type, PyObject *value, PyObject *tb)
{
    static const char *const names[] = {"last_type", "last_value", "last_traceback", "last_exc"};
    PyObject *const things[] = {type, value, tb, value};

    Py_XSETREF(last_exception, Py_XNewRef(value));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (PySys_SetObject(names[i], things[i]) < 0)
            PyErr_Clear();
}

void report_forget_exception(void)
{
    keep_exception(NULL, NULL, NULL);
}

int report_value(int control, PyObject *value, PyObject *own_text)
{
    PyObject *repr, *json, *repr_bytes = NULL, *json_bytes = NULL;
    struct span text;
    struct pack p;
    int r;

    if (getpid() != speaker)
        return 0;
    json = report_json(value);
    repr = own_text ? Py_NewRef(own_text) : report_repr(value);
    if (!repr)
        repr = display_bundle_failure("repr");
    if (!repr) { /* an interrupt */
        Py_XDECREF(json);
        return -1;
    }
    pack_init(&p, 2 * REPORT_TEXT_MAX + 64);
    text = text_of(repr, &repr_bytes);
    pack_bytes(&p, text.data, text.len);
    if (json) {
        struct span s = text_of(json, &json_bytes);

        pack_bytes(&p, s.data, s.len);
    } else {
        pack_str(&p, "");
    }
    r = send_pack(control, WIRE_RESULT, &p);
    Py_XDECREF(repr);
    Py_XDECREF(json);
    Py_XDECREF(repr_bytes);
    Py_XDECREF(json_bytes);
    return r;
}

/* SystemExit is an end, not an exception: None is 0, a number itself, anything else is printed
 * and 1. */
static int exit_code_of(PyObject *value)
{
    PyObject *code = PyObject_GetAttrString(value, "code");
    int result = 1;

    if (!code) {
        PyErr_Clear();
    } else if (code == Py_None) {
        result = 0;
    } else if (PyLong_Check(code)) {
        result = (int)PyLong_AsLong(code);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            result = 255;
        }
    } else {
        PyObject *err = PySys_GetObject("stderr");

        if (!err || err == Py_None || PyFile_WriteObject(code, err, Py_PRINT_RAW) < 0 ||
            PyFile_WriteString("\n", err) < 0)
            PyErr_Clear();
    }
    Py_XDECREF(code);
    return result & 0xff;
}

static bool is_of_program(PyObject *file)
{
    Py_ssize_t len;
    const char *text = PyUnicode_Check(file) ? PyUnicode_AsUTF8AndSize(file, &len) : NULL;

    if (!text)
        PyErr_Clear();
    return text && policy_is_program_file((struct span){text, (size_t)len});
}

/* The last line of the program's own that the traceback passes through. */
static unsigned line_of(PyObject *value, PyObject *tb)
{
    unsigned line = 0;

    if (PyErr_GivenExceptionMatches(value, PyExc_SyntaxError)) {
        PyObject *lineno = PyObject_GetAttrString(value, "lineno");

        if (lineno && PyLong_Check(lineno))
            line = (unsigned)PyLong_AsUnsignedLongMask(lineno);
        Py_XDECREF(lineno);
        PyErr_Clear();
        if (line)
            return line;
    }
    for (PyTracebackObject *t = (PyTracebackObject *)tb; t && PyTraceBack_Check((PyObject *)t);
         t = t->tb_next) {
        PyCodeObject *code = PyFrame_GetCode(t->tb_frame);

        if (is_of_program(code->co_filename))
            line =
                (unsigned)(t->tb_lineno > 0 ? t->tb_lineno : PyCode_Addr2Line(code, t->tb_lasti));
        Py_DECREF(code);
    }
    return line;
}

/* A frame ends with a line of marks. It is blank where the code stands for a shorter line, such as
 * one of a notebook, and lies behind its end. */
static void drop_blank_marks(PyObject *lines)
{
    for (Py_ssize_t i = 0; lines && PyList_CheckExact(lines) && i < PyList_GET_SIZE(lines); i++) {
        PyObject *frame = PyList_GET_ITEM(lines, i), *shorter;
        Py_ssize_t len = 0, n;
        const char *text = PyUnicode_CheckExact(frame) ? PyUnicode_AsUTF8AndSize(frame, &len) : "";

        if (!text)
            PyErr_Clear();
        if (!text || strncmp(text, "  File \"", 8) != 0 || text[len - 1] != '\n')
            continue;
        for (n = len - 1; text[n - 1] == ' ';)
            n--;
        if (n == len - 1 || text[n - 1] != '\n')
            continue;
        shorter = PyUnicode_FromStringAndSize(text, n);
        if (!shorter || PyList_SetItem(lines, i, shorter) < 0)
            PyErr_Clear();
    }
}

/* traceback.format_exception() joined, or NULL. The module reads the program's lines through
 * linecache. */
static PyObject *format_traceback(PyObject *type, PyObject *value, PyObject *tb)
{
    PyObject *module = report_module("traceback");
    PyObject *lines = NULL, *text = NULL, *empty = PyUnicode_FromString("");

    if (module)
        lines =
            PyObject_CallMethod(module, "format_exception", "OOO", type, value, tb ? tb : Py_None);
    drop_blank_marks(lines);
    if (lines && empty)
        text = PyUnicode_Join(empty, lines);
    Py_XDECREF(module);
    Py_XDECREF(lines);
    Py_XDECREF(empty);
    if (!text)
        PyErr_Clear();
    return text;
}

static bool is_ours(PyObject *tb)
{
    static const char frozen[] = "<frozen _belljar_";
    PyCodeObject *code = PyFrame_GetCode(((PyTracebackObject *)tb)->tb_frame);
    Py_ssize_t len;
    const char *file = PyUnicode_AsUTF8AndSize(code->co_filename, &len);
    bool is = file && (strcmp(file, HELPER_FILENAME) == 0 ||
                       strncmp(file, frozen, sizeof(frozen) - 1) == 0);

    if (!file)
        PyErr_Clear();
    Py_DECREF(code);
    return is;
}

/* Our loop and asyncio's, above a cell that awaits. */
static void leave_out_loop(PyObject **tb)
{
    PyObject *at = *tb;

    if (!at || !PyTraceBack_Check(at) || !is_ours(at))
        return;
    while (at && PyTraceBack_Check(at)) {
        PyCodeObject *code = PyFrame_GetCode(((PyTracebackObject *)at)->tb_frame);
        bool is = is_of_program(code->co_filename);

        Py_DECREF(code);
        if (is) {
            Py_SETREF(*tb, Py_NewRef(at));
            return;
        }
        at = (PyObject *)((PyTracebackObject *)at)->tb_next;
    }
}

/* An exception may come by way of our own Python, which is nothing a reader has to know. */
static void leave_out_ours(PyObject **tb)
{
    PyObject **at = tb;

    while (*at && PyTraceBack_Check(*at)) {
        if (is_ours(*at))
            Py_SETREF(*at, Py_XNewRef((PyObject *)((PyTracebackObject *)*at)->tb_next));
        else
            at = (PyObject **)&((PyTracebackObject *)*at)->tb_next;
    }
}

PyObject *report_module(const char *name)
{
    return PyImport_ImportModuleLevel(name, NULL, NULL, NULL, 0);
}

static void print_exception(PyObject *type, PyObject *value, PyObject *tb, PyObject *text)
{
    PyObject *err = PySys_GetObject("stderr");

    if (!text) {
        PyErr_Restore(Py_NewRef(type), Py_NewRef(value), Py_XNewRef(tb));
        PyErr_PrintEx(0);
    } else if (!err || err == Py_None || PyFile_WriteObject(text, err, Py_PRINT_RAW) < 0) {
        PyErr_Clear();
    }
}

static void send_exception(int control, PyObject *type, PyObject *value, PyObject *tb,
                           PyObject *text)
{
    PyObject *message = PyObject_Str(value), *bytes[2] = {0};
    struct hint hint;
    struct pack p;

    if (!message)
        PyErr_Clear();
    hint_find(value, &hint);
    pack_init(&p, 3 * REPORT_TEXT_MAX);
    wire_pack_exception(&p, &(struct wire_exception){
                                .name = span_of(((PyTypeObject *)type)->tp_name),
                                .message = text_of(message, &bytes[0]),
                                .traceback = text_of(text, &bytes[1]),
                                .line = line_of(value, tb),
                                .advice = hint.advice,
                                .names = hint.names,
                            });
    (void)send_pack(control, WIRE_EXCEPTION, &p); /* the exit code says it, too */
    Py_XDECREF(message);
    Py_XDECREF(bytes[0]);
    Py_XDECREF(bytes[1]);
}

/* The program's own sys.excepthook, borrowed, or NULL. */
static PyObject *own_hook(void)
{
    PyObject *hook = PySys_GetObject("excepthook"), *usual = PySys_GetObject("__excepthook__");

    return hook && hook != usual && hook != Py_None ? hook : NULL;
}

/* Calls it in place of our own printing, and says of one that fails what the interpreter says.
 * Returns the exit code: `code`, or another that the hook chose. */
static int call_hook(PyObject *hook, PyObject *type, PyObject *value, PyObject *tb, PyObject *text,
                     int code)
{
    PyObject *result =
        PyObject_CallFunctionObjArgs(hook, type, value, tb ? tb : Py_None, (PyObject *)NULL);
    PyObject *type2, *value2, *tb2, *text2;

    Py_XDECREF(result);
    if (result)
        return code;
    PyErr_Fetch(&type2, &value2, &tb2);
    PyErr_NormalizeException(&type2, &value2, &tb2);
    if (PyErr_GivenExceptionMatches(value2, PyExc_SystemExit)) {
        code = exit_code_of(value2);
    } else {
        text2 = format_traceback(type2, value2, tb2);
        PySys_WriteStderr("Error in sys.excepthook:\n");
        print_exception(type2, value2, tb2, text2);
        PySys_WriteStderr("\nOriginal exception was:\n");
        print_exception(type, value, tb, text);
        Py_XDECREF(text2);
    }
    Py_XDECREF(type2);
    Py_XDECREF(value2);
    Py_XDECREF(tb2);
    return code;
}

static int report(int control, PyObject *type, PyObject *value, PyObject **tb, bool is_cell,
                  bool prints)
{
    int code = PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt) ? 130 : 1;
    PyObject *hook = is_cell ? NULL : own_hook(), *text;

    if (PyErr_GivenExceptionMatches(value, PyExc_SystemExit))
        return exit_code_of(value);
    Py_XINCREF(hook); /* the texts below are the program's, which may set another */
    leave_out_loop(tb);
    leave_out_ours(tb);
    text = format_traceback(type, value, *tb);
    Py_XSETREF(last_traceback, Py_XNewRef(text));
    if (getpid() == speaker)
        send_exception(control, type, value, *tb, text);
    if (hook)
        code = call_hook(hook, type, value, *tb, text, code);
    else if (prints || getpid() != speaker)
        print_exception(type, value, *tb, text);
    Py_XDECREF(hook);
    Py_XDECREF(text);
    return code;
}

int report_exception(int control, bool is_cell, bool prints)
{
    PyObject *type, *value, *tb;
    int code;

    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    code = report(control, type, value, &tb, is_cell, prints);
    /* The frames keep what is in them until the next failure; not where memory is short. */
    if (is_cell && PyErr_GivenExceptionMatches(value, PyExc_MemoryError)) {
        report_forget_exception();
    } else if (is_cell && !PyErr_GivenExceptionMatches(value, PyExc_SystemExit)) {
        if (PyException_SetTraceback(value, tb ? tb : Py_None) < 0)
            PyErr_Clear();
        keep_exception(type, value, tb);
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    PyErr_Clear();
    return code;
}
