#include "guest/main_module.h"

static PyObject *name;

int main_module_prepare(void)
{
    if (!name)
        name = PyUnicode_InternFromString("__main__");
    return name ? 0 : -1;
}

PyObject *main_module(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *found = name && PyDict_CheckExact(modules) ? PyDict_GetItem(modules, name) : NULL;

    return found && PyModule_Check(found) ? found : PyImport_AddModule("__main__");
}

PyObject *main_module_names(void)
{
    PyObject *module = main_module();

    return module ? PyModule_GetDict(module) : NULL;
}
