/* Commands of the system that lines of notebooks run: `!ls`, `x = !ls`, `%%bash`. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <Python.h>

#include "guest/main_module.h"
#include "guest/notebook_internal.h"
#include "guest/policy/policy.h"
#include "guest/user_packages.h"

/* Bytes of output that `x = !command` keeps. */
#define LINES_MAX (4 << 20)

extern char **environ;

void notebook_flush(const char *name)
{
    PyObject *out = PySys_GetObject(name), *done = NULL;

    if (out && out != Py_None)
        done = PyObject_CallMethod(out, "flush", NULL);
    Py_XDECREF(done);
    PyErr_Clear();
}

/* Profiles that run Bash let a program start it here, too. */
int notebook_check_shell(void)
{
    if (policy_has_shell())
        return 0;
    PyErr_SetString(PyExc_PermissionError,
                    "this profile does not run commands of the system and installs no packages; do "
                    "the work in Python, with os, shutil and pathlib; profiles `standard` and "
                    "`open` run commands");
    return -1;
}

/* `out`, `err`: descriptors for its streams, or -1: those of the program. */
static pid_t start(const char *command, int out, int err)
{
    char *argv[] = {"bash", "-c", (char *)command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    pid_t pid = -1;
    int failed;

    (void)sigemptyset(&usual);
    (void)sigaddset(&usual, SIGPIPE);
    (void)sigaddset(&usual, SIGINT);
    (void)sigaddset(&usual, SIGXFSZ);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return -1;
    }
    failed = posix_spawnattr_setsigdefault(&attributes, &usual) != 0 ||
             posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF) != 0 ||
             posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
             (out >= 0 && posix_spawn_file_actions_adddup2(&actions, out, 1) != 0) ||
             (err >= 0 && posix_spawn_file_actions_adddup2(&actions, err, 2) != 0);
    if (!failed && (errno = posix_spawn(&pid, "/bin/bash", &actions, &attributes, argv, environ)))
        pid = -1;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return failed ? -1 : pid;
}

/* Its status, or -1 with an exception: the program was interrupted. */
static int wait_for(pid_t pid)
{
    int status = 0;
    pid_t done;

    do {
        Py_BEGIN_ALLOW_THREADS;
        done = waitpid(pid, &status, 0);
        Py_END_ALLOW_THREADS;
        if (done < 0 && errno == EINTR && PyErr_CheckSignals() < 0) {
            (void)kill(pid, SIGTERM);
            (void)waitpid(pid, &status, 0);
            return -1;
        }
    } while (done < 0 && errno == EINTR);
    return done < 0 ? 0 : status;
}

/* As in IPython, the next line finds it in `_exit_code`. */
static void keep_status(int status)
{
    PyObject *names = main_module_names();
    PyObject *code = PyLong_FromLong(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));

    if (!code || PyDict_SetItemString(names, "_exit_code", code) < 0)
        PyErr_Clear();
    Py_XDECREF(code);
}

/* Of a command, enough to know it by: standard error may stand apart from what it printed. */
#define COMMAND_SHOWN 60

static void tell_status(int status, const char *command)
{
    size_t len = strcspn(command, "\n");
    const char *more = command[len] || len > COMMAND_SHOWN ? "…" : "";
    char shown[COMMAND_SHOWN + 1];

    keep_status(status);
    user_packages_look(); /* the command may have installed the first */
    if (len > COMMAND_SHOWN)
        for (len = COMMAND_SHOWN; len && ((unsigned char)command[len] & 0xc0) == 0x80; len--)
            continue;
    (void)snprintf(shown, sizeof(shown), "%.*s", (int)len, command);
    if (WIFSIGNALED(status))
        PySys_FormatStderr("(killed by signal %d: !%s%s)\n", WTERMSIG(status), shown, more);
    else if (WEXITSTATUS(status))
        PySys_FormatStderr("(exit code %d: !%s%s)\n", WEXITSTATUS(status), shown, more);
}

/* As in IPython: subprocess.CalledProcessError. */
static PyObject *fail_cell(int status, const char *command)
{
    size_t len = strcspn(command, "\n");
    PyObject *words = PyUnicode_DecodeUTF8(
        command, (Py_ssize_t)(len < COMMAND_SHOWN ? len : COMMAND_SHOWN), "replace");
    PyObject *what =
        Py_BuildValue("(iN)", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status), words);
    PyObject *done = what ? notebook_call_library("failed", what) : NULL;

    Py_XDECREF(what);
    return done;
}

/* Reads up to the limit; the rest is read and forgotten, so that the command ends. */
static int read_all(int fd, char *data, size_t *len)
{
    char spare[4096] = {0};
    ssize_t n;

    do {
        size_t room = LINES_MAX - *len;

        Py_BEGIN_ALLOW_THREADS;
        n = read(fd, room ? data + *len : spare, room ? room : sizeof(spare));
        Py_END_ALLOW_THREADS;
        if (n > 0 && room)
            *len += (size_t)n;
        if (n < 0 && errno == EINTR && PyErr_CheckSignals() < 0)
            return -1;
    } while (n > 0 || (n < 0 && errno == EINTR));
    return 0;
}

PyObject *notebook_run_for_lines(const char *command)
{
    char *data = PyMem_RawMalloc(LINES_MAX);
    int ends[2] = {-1, -1}, status = -1;
    PyObject *text = NULL, *lines = NULL;
    size_t len = 0;
    pid_t pid = -1;

    if (data && notebook_check_shell() == 0) {
        notebook_flush("stdout");
        if (pipe2(ends, O_CLOEXEC) == 0)
            pid = start(command, ends[1], -1);
        if (pid < 0)
            (void)PyErr_SetFromErrno(PyExc_OSError);
    }
    if (ends[1] >= 0)
        (void)close(ends[1]);
    if (pid >= 0 && read_all(ends[0], data, &len) < 0)
        (void)kill(pid, SIGTERM);
    if (ends[0] >= 0)
        (void)close(ends[0]);
    if (pid >= 0)
        status = wait_for(pid);
    if (status >= 0 && !PyErr_Occurred()) {
        tell_status(status, command);
        text = PyUnicode_DecodeUTF8(data, (Py_ssize_t)len, "replace");
        lines = text ? PyUnicode_Splitlines(text, 0) : NULL;
        if (lines)
            Py_SETREF(lines, notebook_call_library("lines", lines));
    }
    Py_XDECREF(text);
    PyMem_RawFree(data);
    return lines || PyErr_Occurred() ? lines : PyErr_NoMemory();
}

/* A file for one stream of a script, or -1: it is the program's. The disk limit holds for it. */
static int stream_file(bool is_wanted, int *fd)
{
    *fd = is_wanted ? open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    return is_wanted && *fd < 0 ? -1 : 0;
}

/* The text that was written, up to the limit; None if nobody wants it. */
static PyObject *stream_text(int fd)
{
    char *data = fd >= 0 ? PyMem_RawMalloc(LINES_MAX) : NULL;
    PyObject *text = NULL;
    size_t len = 0;

    if (fd < 0)
        return Py_NewRef(Py_None);
    if (data && lseek(fd, 0, SEEK_SET) == 0 && read_all(fd, data, &len) == 0)
        text = PyUnicode_DecodeUTF8(data, (Py_ssize_t)len, "replace");
    PyMem_RawFree(data);
    return text || PyErr_Occurred() ? text : PyErr_NoMemory();
}

/* Gives what the command has written to the streams that are wanted, None for the others. Returns
 * its status, or -1 with an exception. */
static int run_for_texts(const char *command, const int wants[2], PyObject *texts[2])
{
    int fds[2] = {-1, -1}, status = -1;
    pid_t pid = -1;

    if (stream_file(wants[0], &fds[0]) == 0 && stream_file(wants[1], &fds[1]) == 0)
        pid = start(command, fds[0], fds[1]);
    if (pid < 0)
        (void)PyErr_SetFromErrno(PyExc_OSError);
    else
        status = wait_for(pid);
    for (size_t i = 0; i < 2; i++) {
        if (status >= 0 && !(texts[i] = stream_text(fds[i])))
            status = -1;
        if (fds[i] >= 0)
            (void)close(fds[i]);
    }
    return status;
}

/* `%%bash --out a --err b`: (text or None, text or None). */
PyObject *notebook_run_for_streams(PyObject *what)
{
    PyObject *texts[2] = {NULL, NULL}, *both = NULL;
    int wants[2], must_work, status;
    const char *command;

    if (!PyArg_ParseTuple(what, "sppp", &command, &wants[0], &wants[1], &must_work) ||
        notebook_check_shell() < 0)
        return NULL;
    notebook_flush("stdout");
    notebook_flush("stderr");
    status = run_for_texts(command, wants, texts);
    if (status > 0 && must_work) {
        (void)fail_cell(status, command);
    } else if (status >= 0) {
        tell_status(status, command);
        both = PyTuple_Pack(2, texts[0], texts[1]);
    }
    Py_XDECREF(texts[0]);
    Py_XDECREF(texts[1]);
    return both;
}

/* A command whose output goes where `sys.stdout` and `sys.stderr` do not lead to the program's own:
 * %%capture, redirect_stdout(). */
static bool is_redirected(const char *name, int fd)
{
    PyObject *out = PySys_GetObject(name);
    int now = out && out != Py_None ? PyObject_AsFileDescriptor(out) : fd;

    PyErr_Clear(); /* it has no descriptor */
    return now != fd;
}

static int write_text(const char *name, PyObject *text)
{
    PyObject *out = PySys_GetObject(name);

    return text == Py_None || !out ? 0 : PyFile_WriteObject(text, out, Py_PRINT_RAW);
}

static int run_redirected(const char *command, const int wants[2])
{
    PyObject *texts[2] = {NULL, NULL};
    int status = run_for_texts(command, wants, texts);

    if (status >= 0 && (write_text("stdout", texts[0]) < 0 || write_text("stderr", texts[1]) < 0))
        status = -1;
    Py_XDECREF(texts[0]);
    Py_XDECREF(texts[1]);
    return status;
}

static int run_plainly(const char *command)
{
    pid_t pid = start(command, -1, -1);

    if (pid < 0)
        (void)PyErr_SetFromErrno(PyExc_OSError);
    return pid < 0 ? -1 : wait_for(pid);
}

/* `must_work`: a cell that fails ends the program, a line does not. */
PyObject *notebook_run_shell(const char *command, bool must_work)
{
    const int wants[2] = {is_redirected("stdout", STDOUT_FILENO),
                          is_redirected("stderr", STDERR_FILENO)};
    int status;

    if (notebook_check_shell() < 0)
        return NULL;
    notebook_flush("stdout");
    notebook_flush("stderr");
    status = wants[0] || wants[1] ? run_redirected(command, wants) : run_plainly(command);
    if (status < 0)
        return NULL;
    if (status && must_work)
        return fail_cell(status, command);
    tell_status(status, command);
    return Py_NewRef(Py_None);
}
