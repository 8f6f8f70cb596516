#include "guest/program_file.h"

#include <Python.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guest/main_module.h"
#include "guest/policy/policy.h"

/* The file that was made, for the process that made it. */
static char made[160];
static pid_t maker;

static bool mentions(struct span code, const char *const *words)
{
    for (; *words; words++)
        if (span_contains(code, *words))
            return true;
    return false;
}

bool program_file_is_read(struct span code)
{
    static const char *const words[] = {"inspect", "traceback", "linecache", "doctest",  "unittest",
                                        "logging", "warnings",  "__file__",  "exc_info", NULL};

    return mentions(code, words);
}

static void make(const char *path, struct span code)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0)
        return; /* there is one, which is somebody's */
    if (write(fd, code.data, code.len) == (ssize_t)code.len) {
        (void)snprintf(made, sizeof(made), "%s", path);
        maker = getpid();
    }
    (void)close(fd);
}

int program_file_set(struct span code)
{
    static const char *const words[] = {"__file__", "spawn", "forkserver", NULL};
    PyObject *globals = main_module_names();
    const char *name = policy_filename();
    PyObject *file;
    char path[160];
    int r;

    (void)snprintf(path, sizeof(path), "/workspace/%s", name[0] == '<' ? "program.py" : name);
    file = PyUnicode_FromString(path);
    r = file ? PyDict_SetItemString(globals, "__file__", file) : -1;
    Py_XDECREF(file);
    /* That of an interpreter without a program is a class, which inspect.getmembers() would list
     * among those of the program. */
    if (PyDict_SetItemString(globals, "__loader__", Py_None) < 0)
        r = -1;
    PyErr_Clear();
    if (r == 0 && mentions(code, words))
        make(path, code);
    return r;
}

void program_file_remove(void)
{
    if (!made[0])
        return;
    if (getpid() == maker)
        (void)unlink(made);
    made[0] = '\0';
}
