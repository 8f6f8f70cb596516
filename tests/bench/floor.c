/* floor: the least that a cell can cost. Two processes with a Unix socket between them: one sends a
 * piece of Python, the other evaluates it and sends back what it printed or its value. No sandbox,
 * no limits, no policy, no supervisor, no measuring of anything.
 *
 *     floor RUNS CODE EXPECTED
 *
 * One line of JSON comes out: {"failed": 0, "ms": […]}
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX 4096
#define RUNS_MAX 100000

/* Not timed: imports, first calls. */
#define WARM_UP 2

/* --- the one that evaluates --- */

static void evaluate(const char *code, PyObject *globals)
{
    PyObject *program = Py_CompileString(code, "<cell>", Py_eval_input);
    PyObject *out = PySys_GetObject("stdout"), *value, *flushed;

    if (!program) {
        PyErr_Clear();
        program = Py_CompileString(code, "<cell>", Py_file_input);
    }
    value = program ? PyEval_EvalCode(program, globals, globals) : NULL;
    if (value && value != Py_None)
        (void)PyFile_WriteObject(value, out, 0);
    if (!value)
        PyErr_Print();
    flushed = PyObject_CallMethod(out, "flush", NULL);
    Py_XDECREF(flushed);
    Py_XDECREF(value);
    Py_XDECREF(program);
}

/* Requests and answers end with a NUL. */
static int serve(int fd)
{
    char code[TEXT_MAX];
    PyObject *globals;

    if (dup2(fd, STDOUT_FILENO) < 0)
        return 1;
    Py_InitializeEx(0);
    globals = PyModule_GetDict(PyImport_AddModule("__main__"));
    while (read(fd, code, sizeof(code)) > 0) {
        evaluate(code, globals);
        if (write(fd, "", 1) != 1)
            return 1;
    }
    return 0;
}

/* --- the one that asks --- */

static double now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Returns whether the answer was right. */
static int ask(int fd, const char *code, const char *expected)
{
    size_t len = strlen(code) + 1, got = 0;
    char answer[TEXT_MAX];

    if (len > TEXT_MAX || write(fd, code, len) != (ssize_t)len)
        return 0;
    do {
        ssize_t n = read(fd, answer + got, sizeof(answer) - got);

        if (n <= 0)
            return 0;
        got += (size_t)n;
    } while (answer[got - 1] != '\0' && got < sizeof(answer));
    return answer[got - 1] == '\0' && strcmp(answer, expected) == 0;
}

int main(int argc, char **argv)
{
    unsigned long runs = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned long failed = 0;
    int pair[2];

    if (runs < 1 || runs > RUNS_MAX || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) {
        (void)fputs("usage: floor RUNS CODE EXPECTED\n", stderr);
        return 64;
    }
    if (fork() == 0) {
        (void)close(pair[0]);
        _exit(serve(pair[1]));
    }
    (void)close(pair[1]);
    for (int i = 0; i < WARM_UP; i++)
        (void)ask(pair[0], argv[2], argv[3]);
    (void)printf("{\"ms\": [");
    for (unsigned long i = 0; i < runs; i++) {
        double begin = now_ms();

        failed += !ask(pair[0], argv[2], argv[3]);
        (void)printf("%s%.4f", i ? ", " : "", now_ms() - begin);
    }
    (void)printf("], \"failed\": %lu}\n", failed);
    return 0;
}
