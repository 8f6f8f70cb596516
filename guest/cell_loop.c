#include "guest/cell_loop.h"

#include <stdbool.h>
#include <string.h>

/* Functions of library/_belljar_loop.py. */
static PyObject *module;
static bool is_offered, is_used;

int cell_loop_prepare(void)
{
    module = PyImport_ImportModule("_belljar_loop");
    return module ? 0 : -1;
}

static void forget(PyObject *done)
{
    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
}

void cell_loop_offer(struct span code)
{
    if (is_offered || (!PyDict_GetItemString(PyImport_GetModuleDict(), "asyncio") &&
                       !memmem(code.data, code.len, "asyncio", strlen("asyncio"))))
        return;
    is_offered = is_used = true;
    forget(PyObject_CallMethod(module, "offer", NULL));
}

PyObject *cell_loop_run(PyObject *coroutine)
{
    is_used = true;
    return PyObject_CallMethod(module, "run", "O", coroutine);
}

void cell_loop_wait(int fd)
{
    if (is_used)
        forget(PyObject_CallMethod(module, "wait", "i", fd));
}

void cell_loop_close(void)
{
    PyObject *type, *value, *tb;

    if (!is_used)
        return;
    PyErr_Fetch(&type, &value, &tb);
    forget(PyObject_CallMethod(module, "close", NULL));
    PyErr_Restore(type, value, tb);
}
