#include "guest/program.h"
#include "guest/interpreter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admit/profile.h"
#include "guest/interpreter.h"

#define OUTPUT_MAX ((size_t)1 << 20)

/* Under the address checker: no search for leaks. The interpreter is never taken down, and every
 * program's process would search through all of its memory. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

int program_start(const char *const *modules, size_t count)
{
    PyPreConfig pre;
    PyConfig config;
    PyStatus status;

    PyPreConfig_InitIsolatedConfig(&pre);
    pre.utf8_mode = 1;
    if (PyStatus_Exception(Py_PreInitialize(&pre)))
        return -1;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 1;
    config.install_signal_handlers = 0;
    status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        return -1;
    for (size_t i = 0; i < count; i++) {
        PyObject *module = PyImport_ImportModule(modules[i]);

        if (!module) {
            PyErr_Print();
            return -1;
        }
        Py_DECREF(module);
    }
    interpreter_tell_libraries();
    return policy_prepare();
}

struct policy *program_policy(const char *name)
{
    struct profile *profile = NULL;
    struct error err = {0};
    struct policy *policy;

    if (profile_load(name, POLICIES_DIR, &profile, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    policy = policy_load(profile_encoded(profile));
    profile_free(profile);
    if (!policy)
        abort();
    return policy;
}

PyObject *program_parse(const char *source)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_ONLY_AST | PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    PyObject *name = PyUnicode_FromString(policy_filename());
    struct span text = policy_source_text((struct span){source, strlen(source)});
    PyObject *tree = Py_CompileStringObject(text.data, name, Py_file_input, &flags, -1);

    Py_XDECREF(name);
    return tree;
}

int program_check(const struct policy *policy, const char *source, struct policy_report *report)
{
    PyObject *tree;
    int r = policy_check_source(policy, (struct span){source, strlen(source)}, report);

    if (r < 0 || report->count)
        return r;
    tree = program_parse(source);
    if (!tree)
        return -1;
    r = policy_check_tree(policy, tree, report);
    Py_DECREF(tree);
    return r;
}

/* ---- in the child ---- */

static enum program_end run_here(const char *profile, const char *source)
{
    struct policy *policy = program_policy(profile);
    struct policy_report report = {0};
    PyObject *compile = PyDict_GetItemString(PyEval_GetBuiltins(), "compile");
    PyObject *globals = PyModule_GetDict(PyImport_AddModule("__main__"));
    PyObject *tree, *code, *value;
    bool is_exit;

    if (policy_check_source(policy, (struct span){source, strlen(source)}, &report) < 0)
        return PROGRAM_BROKE;
    tree = report.count ? NULL : program_parse(source);
    if (!tree && PyErr_Occurred()) {
        PyErr_Print();
        return PROGRAM_RAISED;
    }
    if (tree && policy_check_tree(policy, tree, &report) < 0)
        return PROGRAM_BROKE;
    for (size_t i = 0; i < report.count; i++)
        printf("%u:%u %s %s: %s\n", report.items[i].line, report.items[i].column,
               report.items[i].rule, report.items[i].name, report.items[i].message);
    if (report.count)
        return PROGRAM_REFUSED;
    code = PyObject_CallFunction(compile, "OssiO", tree, policy_filename(), "exec", 0, Py_True);
    if (!code || policy_seal(policy) < 0)
        return PROGRAM_BROKE;
    value = PyEval_EvalCode(code, globals, globals);
    if (value)
        return PROGRAM_RAN;
    is_exit = PyErr_ExceptionMatches(PyExc_SystemExit);
    if (is_exit)
        PyErr_Clear();
    else
        PyErr_Print();
    return is_exit ? PROGRAM_RAN : PROGRAM_RAISED;
}

static void flush(const char *name)
{
    PyObject *file = PySys_GetObject(name);
    PyObject *done = file ? PyObject_CallMethod(file, "flush", NULL) : NULL;

    PyErr_Clear();
    Py_XDECREF(done);
}

/* ---- in the parent ---- */

static char *read_all(int fd)
{
    char *text = malloc(OUTPUT_MAX + 1);
    size_t len = 0;
    ssize_t n;

    while (text && len < OUTPUT_MAX) {
        n = read(fd, text + len, OUTPUT_MAX - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    if (text)
        text[len] = '\0';
    return text;
}

struct program_result program_run(const char *profile, const char *source)
{
    struct program_result result = {.end = PROGRAM_BROKE};
    int pipe_fds[2], status;
    pid_t pid;

    (void)fflush(NULL);
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return result;
    PyOS_BeforeFork();
    pid = fork();
    if (pid == 0) {
        enum program_end end;

        PyOS_AfterFork_Child();
        (void)dup2(pipe_fds[1], 1);
        (void)dup2(pipe_fds[1], 2);
        end = run_here(profile, source);
        flush("stdout");
        flush("stderr");
        (void)fflush(NULL);
        _exit((int)end);
    }
    PyOS_AfterFork_Parent();
    (void)close(pipe_fds[1]);
    result.output = read_all(pipe_fds[0]);
    (void)close(pipe_fds[0]);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status))
        result.end = (enum program_end)WEXITSTATUS(status);
    return result;
}

void program_result_done(struct program_result *result)
{
    free(result->output);
    result->output = NULL;
}
