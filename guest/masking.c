#define PY_SSIZE_T_CLEAN
#include "guest/masking.h"

#include "mask/internal.h"
#include "mask/masker.h"

/* Rules are the operator's, and stay outside. */
const char *masker_rules_name(const struct masker_rules *rules, unsigned index)
{
    (void)rules;
    (void)index;
    return "";
}

const char *masker_rules_label(const struct masker_rules *rules, unsigned index)
{
    return masker_rules_name(rules, index);
}

const char *masker_rules_pattern(const struct masker_rules *rules, unsigned index)
{
    return masker_rules_name(rules, index);
}

void masker_rules_scan(struct masker *s)
{
    (void)s;
}

void masker_rules_settle(struct masker *s)
{
    (void)s;
}

static void on_find(void *arg, const struct masker_find *find)
{
    PyObject *found = Py_BuildValue("(ssnnn)", find->kind, find->label, (Py_ssize_t)find->offset,
                                    (Py_ssize_t)(find->offset + find->len), (Py_ssize_t)find->line);

    if (!found || PyList_Append(arg, found) < 0)
        PyErr_Clear(); /* the text counts; a list without an entry is noticed by its length */
    Py_XDECREF(found);
}

static PyObject *mask(PyObject *self, PyObject *args)
{
    PyObject *finds = PyList_New(0), *result = NULL;
    struct masker *masker = NULL;
    struct clean_text text;
    Py_buffer source;
    int is_aggressive = 0;

    (void)self;
    if (!finds || !PyArg_ParseTuple(args, "y*|p", &source, &is_aggressive)) {
        Py_XDECREF(finds);
        return NULL;
    }
    masker = masker_new(
        &(struct masker_options){.is_aggressive = is_aggressive, .on_find = on_find, .arg = finds});
    if (!masker || masker_text(masker, source.buf, (size_t)source.len, &text, NULL) < 0)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("(y#O)", clean_data(text), (Py_ssize_t)clean_len(text), finds);
    masker_free(masker);
    PyBuffer_Release(&source);
    Py_DECREF(finds);
    return result;
}

static PyObject *kinds(PyObject *self, PyObject *args)
{
    PyObject *list = PyList_New(0);
    const struct masker_kind *kind;

    (void)self;
    (void)args;
    for (unsigned i = 0; list && (kind = masker_kind_at(i)); i++) {
        PyObject *row = Py_BuildValue("(ssO)", kind->name, kind->label,
                                      kind->flags & MASKER_AGGRESSIVE ? Py_True : Py_False);

        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"mask", mask, METH_VARARGS,
     "mask(bytes, aggressive=False): (bytes, [(kind, label, start, end, line)])"},
    {"kinds", kinds, METH_NOARGS, "kinds(): [(name, label, is_personal)]"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_belljar_mask", .m_size = -1,
                                 .m_methods = methods};

PyObject *masking_module(void)
{
    return PyModule_Create(&definition);
}
