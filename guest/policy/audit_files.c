/* Events about files: what a profile without that power lets programs and libraries do. */
#include "guest/policy/internal.h"
#include "sandbox/places.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- arguments ---- */

PyObject *policy_arg(PyObject *args, Py_ssize_t index)
{
    return index < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, index) : Py_None;
}

bool policy_text_arg(PyObject *args, Py_ssize_t index, struct span *ret_text)
{
    PyObject *value = policy_arg(args, index);
    bool ok = false;

    if (PyUnicode_Check(value))
        *ret_text = span_of_str(value, &ok);
    else if (PyBytes_Check(value)) {
        *ret_text = (struct span){PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value)};
        ok = true;
    }
    return ok;
}

/* ---- files ---- */

/* Files that libraries read besides their own directories: fonts, time zones, facts about the
 * machine. */
static const char *const readable[] = {
    "/usr/share/",    "/usr/lib/",       "/usr/local/lib/",         "/etc/fonts/",
    "/etc/localtime", "/etc/timezone",   "/etc/mime.types",         "/proc/cpuinfo",
    "/proc/meminfo",  "/proc/self/maps", "/proc/self/stat",         "/proc/uptime",
    "/proc/loadavg",  "/sys/fs/cgroup/", "/sys/devices/system/cpu", "/dev/null",
    "/dev/urandom",
};

static bool may_read(struct span path)
{
    if (policy_is_library_path(path))
        return true;
    if (memmem(path.data, path.len, "/..", 3))
        return false;
    for (size_t i = 0; i < COUNT_OF(readable); i++)
        if (path.len >= strlen(readable[i]) &&
            memcmp(path.data, readable[i], strlen(readable[i])) == 0)
            return true;
    return false;
}

static bool opens_for_writing(PyObject *args)
{
    PyObject *flags = policy_arg(args, 2);
    struct span mode;
    long bits;

    if (policy_text_arg(args, 1, &mode))
        for (size_t i = 0; i < mode.len; i++)
            if (strchr("wax+", mode.data[i]))
                return true;
    if (!PyLong_Check(flags))
        return false;
    bits = PyLong_AsLong(flags);
    if (bits == -1 && PyErr_Occurred())
        PyErr_Clear();
    return (bits & O_ACCMODE) != O_RDONLY || (bits & (O_CREAT | O_TRUNC | O_APPEND));
}

int policy_refuse_file(const struct policy *policy, const char *event, struct span path)
{
    return policy_refuse(policy, PyExc_PermissionError, "builtin", span_of("open"), "%s of `%.*s`",
                         event, SHOWN(path));
}

/* The directory in which the program started: a granted one, if there is one. */
static char *start;

int policy_files_begin(void)
{
    free(start);
    start = getcwd(NULL, 0);
    return start ? 0 : -1;
}

static bool is_at_or_below(struct span path, const char *place)
{
    size_t len = strlen(place);

    return path.len >= len && memcmp(path.data, place, len) == 0 &&
           (path.len == len || path.data[len] == '/');
}

static bool leads_up(struct span path)
{
    return span_is(path, "..") || (path.len > 2 && memcmp(path.data, "../", 3) == 0) ||
           memmem(path.data, path.len, "/../", 4) ||
           (path.len > 3 && memcmp(path.data + path.len - 3, "/..", 3) == 0);
}

bool policy_is_in_workspace(struct span path)
{
    char here[PATH_MAX];

    if (path.len == 0 || leads_up(path))
        return false;
    if (path.data[0] != '/') {
        if (!getcwd(here, sizeof(here)))
            return false;
        path = span_of(here);
        if (start && is_at_or_below(path, start))
            return true;
    }
    return is_at_or_below(path, "/workspace") || is_at_or_below(path, "/tmp") ||
           (is_at_or_below(path, PLACES_HOME) && places_has_home());
}

bool policy_is_database_file(struct span path)
{
    return policy_is_in_workspace(path) || (start && path.len > 0 && path.data[0] == '/' &&
                                            !leads_up(path) && is_at_or_below(path, start));
}

/* Libraries that need a scratch file ask tempfile for it. It lies in a /tmp that nobody else sees.
 */
static bool is_scratch(struct span path)
{
    static const char *const makers[] = {"/tempfile.py"};

    return policy_is_in_workspace(path) && policy_caller_file_is(makers, COUNT_OF(makers));
}

static bool is_standard_stream(struct span path)
{
    return span_is(path, "/dev/stdin") || span_is(path, "/dev/stdout") ||
           span_is(path, "/dev/stderr");
}

/* An open file of the workspace, as tempfile.mkstemp() gives one: no pipe, socket or device. */
static bool is_file_descriptor(long fd)
{
    char link[64], path[PATH_MAX];
    struct stat st;
    ssize_t n;

    if (fd < 0 || fd > INT_MAX || fstat((int)fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%ld", fd);
    n = readlink(link, path, sizeof(path));
    return n > 0 && (size_t)n < sizeof(path) && path[0] == '/' &&
           policy_is_in_workspace((struct span){path, (size_t)n});
}

/* A file that the profile gives to programs: paths of the workspace, and open descriptors of files
 * in it and of the streams. */
static bool is_own_file(const struct policy *policy, PyObject *args, Py_ssize_t index)
{
    PyObject *value = policy_arg(args, index);
    struct span path;

    if (!(policy->powers & POWER_WORKSPACE))
        return false;
    if (policy_text_arg(args, index, &path))
        return policy_is_in_workspace(path) || is_standard_stream(path);
    if (PyLong_CheckExact(value) && !policy_caller_is_guest(false))
        return true;
    if (PyLong_CheckExact(value)) {
        long fd = PyLong_AsLong(value);

        PyErr_Clear();
        return (fd >= STDIN_FILENO && fd <= STDERR_FILENO) || is_file_descriptor(fd);
    }
    return value == Py_None;
}

/* There is no such place. A program that tries a path and has an answer for FileNotFoundError gets
 * that; it may ask os.path.exists() as well. With `makes_it`, the last part of the path is what the
 * program is about to make. */
static bool is_missing(struct span path, bool makes_it)
{
    static const char *const alive[] = {"/proc", "/dev", "/sys"};
    char text[PATH_MAX], *slash;
    struct stat st;

    if (!path.data || path.len < 2 || path.len >= sizeof(text) || path.data[0] != '/' ||
        leads_up(path) || memmem(path.data, path.len, "//", 2) || memchr(path.data, 0, path.len) ||
        policy_is_database_file(path))
        return false;
    for (size_t i = 0; i < COUNT_OF(alive); i++)
        if (is_at_or_below(path, alive[i]))
            return false;
    memcpy(text, path.data, path.len);
    text[path.len] = '\0';
    if (makes_it) {
        slash = strrchr(text, '/');
        if (slash[1] == '\0' || slash == text)
            return false;
        *slash = '\0';
    }
    return lstat(text, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static int say_missing(PyObject *args)
{
    errno = ENOENT;
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, policy_arg(args, 0));
    return -1;
}

bool policy_is_missing_directory(struct span path)
{
    return is_missing(path, true);
}

/* open(""): a path, and no place. */
static bool is_empty(PyObject *args)
{
    struct span path;

    return policy_text_arg(args, 0, &path) && path.len == 0;
}

/* Events about a file that has to be there. */
static bool needs_file(const char *event)
{
    static const char *const events[] = {"os.chdir",  "os.chmod",   "os.remove",
                                         "os.rename", "os.rmdir",   "os.truncate",
                                         "os.utime",  "os.listdir", "os.scandir"};

    for (size_t i = 0; i < COUNT_OF(events); i++)
        if (strcmp(event, events[i]) == 0)
            return true;
    return false;
}

/* Such an event is followed by others, one for each file. */
static bool is_summary(const char *event)
{
    return strncmp(event, "os.", 3) != 0 || strcmp(event, "os.walk") == 0 ||
           strcmp(event, "os.fwalk") == 0;
}

int policy_audit_open(const struct policy *policy, const char *event, PyObject *args)
{
    struct span path = {"", 0};
    bool has_path = policy_text_arg(args, 0, &path);

    if (is_own_file(policy, args, 0))
        return 0;
    if (!has_path) /* a descriptor that is open already */
        return policy_caller_is_guest(false) ? policy_refuse_file(policy, event, path) : 0;
    if (span_is(path, "/dev/null") || (!opens_for_writing(args) && may_read(path)) ||
        is_scratch(path))
        return 0;
    if (is_empty(args) || is_missing(path, opens_for_writing(args)))
        return say_missing(args);
    return policy_caller_is_importing() ? 0 : policy_refuse_file(policy, event, path);
}

int policy_audit_list(const struct policy *policy, const char *event, PyObject *args)
{
    struct span path = {"", 0};

    if (is_own_file(policy, args, 0) || ((policy->powers & POWER_WORKSPACE) && is_summary(event)))
        return 0;
    if (policy_text_arg(args, 0, &path) && may_read(path))
        return 0;
    if (needs_file(event) && (is_empty(args) || is_missing(path, false)))
        return say_missing(args);
    return policy_caller_is_importing() ? 0 : policy_refuse_file(policy, event, path);
}

/* Compiled libraries have no frames: what they remove looks as if the program did. */
static bool is_clean_up(const char *event, struct span path)
{
    return (strcmp(event, "os.remove") == 0 || strcmp(event, "os.rmdir") == 0) && path.len > 5 &&
           memcmp(path.data, "/tmp/", 5) == 0 && policy_is_in_workspace(path);
}

/* os.chdir(".."): where it leads is asked for, since a process that gets elsewhere can open nothing
 * there by a relative path. */
static bool is_step_up(const struct policy *policy, const char *event, PyObject *args)
{
    char text[PATH_MAX], real[PATH_MAX];
    struct span path;

    if (strcmp(event, "os.chdir") != 0 || !(policy->powers & POWER_WORKSPACE) ||
        !policy_text_arg(args, 0, &path) || !leads_up(path) || path.len >= sizeof(text) ||
        memchr(path.data, 0, path.len))
        return false;
    memcpy(text, path.data, path.len);
    text[path.len] = '\0';
    return realpath(text, real) && policy_is_in_workspace(span_of(real));
}

int policy_audit_change(const struct policy *policy, const char *event, PyObject *args)
{
    struct span path = {"", 0}, second;

    if ((policy->powers & POWER_WORKSPACE) &&
        (is_summary(event) ||
         (is_own_file(policy, args, 0) &&
          (!policy_text_arg(args, 1, &second) || policy_is_in_workspace(second)))))
        return 0;
    (void)policy_text_arg(args, 0, &path);
    if (is_scratch(path) || is_clean_up(event, path) || is_step_up(policy, event, args))
        return 0;
    if (needs_file(event)
            ? is_empty(args) || is_missing(path, false)
            : strcmp(event, "os.mkdir") == 0 && (is_empty(args) || is_missing(path, true)))
        return say_missing(args);
    return policy_caller_is_importing() ? 0 : policy_refuse_file(policy, event, path);
}
