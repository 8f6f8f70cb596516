/* The audit hook: the profile at run time.
 *
 * CPython announces what it is about to do ("open", "import", "os.system", ...). The hook looks the
 * announcement up in a table and asks whether the profile gives that power, and if not, who is
 * asking: libraries open their own data, build classes with exec() and read frames, and must go on
 * doing so. It is the second half of the doorman. It cannot be removed from Python; native code
 * could undo it, and then the kernel's walls are still there.
 */
#include "guest/policy/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct policy *sealed;
static unsigned long sealed_thread;

/* This thread parses text that is checked elsewhere. Each parse announces itself once, before it
 * reads a byte, and is expected; warnings of the parser and collections of garbage run code of the
 * program after that. */
static __thread struct {
    bool is_open, is_expected;
    int had_gc;
} parsing;

/* Nothing but our own text is being compiled on this thread. */
static __thread bool is_own;

const struct policy *policy_sealed(void)
{
    return sealed;
}

bool policy_may_import(struct span module)
{
    return !sealed || policy_module_allowed(sealed, module) ||
           policy_module_granular(sealed, module);
}

bool policy_may_import_whole(struct span module)
{
    return !sealed ||
           (policy_module_allowed(sealed, module) && !policy_module_granular(sealed, module));
}

bool policy_may_say_import(struct span module)
{
    return !sealed ||
           (policy_import_allowed(sealed, module, (struct span){"", 0}) &&
            (!policy_module_granular(sealed, module) || (sealed->flags & POLICY_PARTS_SHOWN)));
}

unsigned long policy_sealed_thread(void)
{
    return sealed_thread;
}

int policy_refuse(const struct policy *policy, PyObject *type, const char *kind, struct span name,
                  const char *fmt, ...)
{
    struct span hint = policy_hint(policy, kind, name);
    PyObject *message, *arguments;
    char text[1024];
    va_list args;
    int len;

    len = snprintf(text, sizeof(text), "blocked by profile `%s`: ", policy->profile);
    va_start(args, fmt);
    len += vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, args);
    va_end(args);
    if (hint.len && (size_t)len < sizeof(text))
        len += snprintf(text + len, sizeof(text) - (size_t)len, "; %.*s", SHOWN(hint));
    if ((size_t)len >= sizeof(text))
        len = (int)sizeof(text) - 1;
    /* Names are cut by length, so that the last character may be half of one. */
    message = PyUnicode_DecodeUTF8(text, len, "replace");
    /* Libraries look at errno of what they take for an error of the system. */
    arguments = message && type == PyExc_PermissionError ? Py_BuildValue("iO", EPERM, message)
                                                         : Py_XNewRef(message);
    if (arguments)
        PyErr_SetObject(type, arguments);
    Py_XDECREF(arguments);
    Py_XDECREF(message);
    return -1;
}

/* ---- imports ---- */

static int on_import(const struct policy *policy, const char *event, PyObject *args)
{
    struct span module, file;

    (void)event;
    if (policy_text_arg(args, 1, &file) && !(policy->powers & POWER_NATIVE) &&
        !policy_is_library_path(file))
        return policy_refuse(policy, PyExc_ImportError, "import", file,
                             "loading native code from `%.*s`", SHOWN(file));
    if (!policy_text_arg(args, 0, &module) || policy_module_allowed(policy, module) ||
        policy_module_granular(policy, module))
        return 0;
    if (!policy_caller_is_guest(false))
        return 0;
    /* `from os import path`: the name decides, and the guard of __import__() has seen it. */
    if (policy_guard_is_importing())
        return 0;
    return policy_refuse(policy, PyExc_ModuleNotFoundError, "import", module,
                         "importing module `%.*s`", SHOWN(module));
}

/* ---- evaluation ---- */

/* Parts of the library that only parse, for themselves. */
static const char *const parsers[] = {"/ast.py", "/inspect.py"};

/* Parts that write code themselves and paste names of the program into it. */
static const char *const generators[] = {
    "/dataclasses.py", "/collections/__init__.py",
    "/attr/_make.py",  "/networkx/utils/decorators.py",
    "/decorator.py",   "/scipy/_lib/_bunch.py",
};

/* Parts that evaluate annotations. */
static const char *const annotators[] = {"/typing.py", "/inspect.py", "/annotationlib.py",
                                         "/typing_extensions.py"};

/* Text that a library evaluates for the program is a program: typing.get_type_hints(), sympify(),
 * timeit. The same rules hold. What does not parse is left to the one who asked. */
static int check_text(const struct policy *policy, struct span text, enum policy_text kind)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_ONLY_AST | PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    struct policy_report report = {0};
    PyObject *name = PyUnicode_FromString(policy_filename());
    char *copy = span_dup(text);
    PyObject *tree = NULL;
    int r = 0;

    if (!name || !copy) {
        r = -1;
    } else {
        policy_parse_expect();
        tree = Py_CompileStringObject(copy, name, Py_file_input, &flags, -1);
    }
    free(copy);
    Py_XDECREF(name);
    PyErr_Clear();
    if (tree)
        r = policy_check_text(policy, tree, kind, &report);
    Py_XDECREF(tree);
    if (r == 0 && report.count > 0)
        r = policy_refuse(policy, PyExc_PermissionError, report.items[0].rule,
                          span_of(report.items[0].name), "evaluating text: %s",
                          report.items[0].message);
    else if (r < 0)
        PyErr_SetString(PyExc_PermissionError, "text to evaluate could not be checked");
    policy_report_done(&report);
    return r;
}

static int check_tree(const struct policy *policy, PyObject *tree)
{
    struct policy_report report = {0};
    int r = policy_check_text(policy, tree, TEXT_PROGRAM, &report);

    if (r == 0 && report.count > 0)
        r = policy_refuse(policy, PyExc_PermissionError, report.items[0].rule,
                          span_of(report.items[0].name), "evaluating a tree: %s",
                          report.items[0].message);
    else if (r < 0)
        PyErr_SetString(PyExc_PermissionError, "a tree to evaluate could not be checked");
    policy_report_done(&report);
    return r;
}

/* The file of the library holds this very text: it is being imported. The name alone proves
 * nothing, it is an argument of compile(). */
static bool is_in_file(struct span path, struct span text)
{
    char name[PATH_MAX];
    char chunk[16384];
    size_t at = 0;
    bool same;
    ssize_t n = -1;
    int fd;

    if ((!policy_is_library_path(path) && !policy_is_project_path(path)) ||
        path.len >= sizeof(name) || memchr(path.data, '\0', path.len))
        return false;
    memcpy(name, path.data, path.len);
    name[path.len] = '\0';
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return false;
    for (same = true; same; at += (size_t)n) {
        n = read(fd, chunk, sizeof(chunk));
        if (n <= 0)
            break;
        same = (size_t)n <= text.len - at && memcmp(chunk, text.data + at, (size_t)n) == 0;
    }
    (void)close(fd);
    return same && n == 0 && at == text.len;
}

/* Modules of the library evaluate text and make code when they are loaded; native ones, too. */
static bool is_loading(void)
{
    static const char *const names[] = {"create_dynamic", "exec_dynamic", NULL};

    return policy_caller_says(names, SAID_AT_ALL) || policy_caller_is_module();
}

/* Code that jinja2 makes of a template (pandas keeps some for its tables) reads attributes and
 * calls functions through jinja2, so that the guards see it. */
static bool is_template(void)
{
    static const char *const makers[] = {"/jinja2/environment.py"};

    return policy_caller_file_is(makers, COUNT_OF(makers)) &&
           policy_caller_behind_is(makers[0], "/jinja2/loaders.py");
}

int policy_parse_begin(void)
{
    if (parsing.is_open)
        return -1;
    parsing.is_open = true;
    parsing.had_gc = PyGC_Disable();
    return 0;
}

void policy_parse_expect(void)
{
    parsing.is_expected = true;
}

void policy_parse_end(void)
{
    parsing.is_open = parsing.is_expected = false;
    if (parsing.had_gc)
        (void)PyGC_Enable();
}

static int on_compile(const struct policy *policy, const char *event, PyObject *args)
{
    static const char *const names[] = {"compile", "exec", "eval", NULL};
    struct span text = {"", 0}, file = {"", 0};
    bool has_text;
    int r;

    (void)event;
    if (parsing.is_expected) {
        parsing.is_expected = false;
        return 0;
    }
    (void)policy_text_arg(args, 1, &file);
    has_text = policy_text_arg(args, 0, &text);
    if (policy_is_program_file(file) && policy_caller_is_absent())
        return 0;
    /* api.code_transform looks whether a file it has changed is still Python; nobody gets the code.
     */
    if (is_loading() || policy_caller_is_own("/ast.py", "api._edit"))
        return 0;
    if (!policy_caller_says(names, SAID_AS_GLOBAL))
        return policy_refuse(policy, PyExc_PermissionError, "builtin", span_of("exec"),
                             "compiling text at run time");
    if ((has_text && is_in_file(file, text)) || is_template())
        return 0;
    if (policy_claims_library(file))
        return policy_refuse(policy, PyExc_PermissionError, "builtin", span_of("exec"),
                             "compiling text in the name of `%.*s`", SHOWN(file));
    if (policy_caller_file_is(parsers, COUNT_OF(parsers)) &&
        !policy_caller_behind_is("/ast.py", "/pandas/core/computation/"))
        return 0;
    if (policy_parse_begin() < 0)
        return policy_refuse(policy, PyExc_PermissionError, "builtin", span_of("exec"),
                             "compiling text while text is parsed");
    if (has_text)
        r = check_text(policy, text,
                       policy_caller_file_is(annotators, COUNT_OF(annotators))   ? TEXT_ANNOTATION
                       : policy_caller_file_is(generators, COUNT_OF(generators)) ? TEXT_GENERATED
                                                                                 : TEXT_PROGRAM);
    else
        r = policy_arg(args, 0) == Py_None ? 0 : check_tree(policy, policy_arg(args, 0));
    policy_parse_end();
    return r;
}

static int on_pickle(const struct policy *policy, const char *event, PyObject *args)
{
    /* Not getattr, by which members of an Enum and methods are pickled: it looks at the name. */
    static const char *const tools[] = {"setattr", "delattr", "hasattr", "vars", "globals",
                                        "locals",  "dir",     "type",    "super"};
    static const char *const helpers[] = {"copyreg:_reconstructor", "copyreg:__newobj__",
                                          "_codecs:encode", "_operator:or_", "__main__:"};
    struct span module, name, refused;
    char pair[2 * POLICY_KEY_MAX];
    bool ok;

    if (!policy_text_arg(args, 0, &module) || !policy_text_arg(args, 1, &name))
        return policy_refuse(policy, PyExc_PermissionError, "import", span_of("pickle"), "%s",
                             event);
    ok = policy_import_allowed(policy, module, name) &&
         !policy_path_refused(policy, name, &refused) && !memchr(name.data, '.', name.len);
    if (span_is(module, "builtins")) {
        ok = !policy_builtin_refused(policy, name);
        for (size_t i = 0; i < COUNT_OF(tools); i++)
            ok = ok && !span_is(name, tools[i]);
    }
    (void)snprintf(pair, sizeof(pair), "%.*s:%.*s", SHOWN(module), SHOWN(name));
    for (size_t i = 0; i < COUNT_OF(helpers); i++)
        ok = ok || strcmp(pair, helpers[i]) == 0 ||
             (helpers[i][strlen(helpers[i]) - 1] == ':' &&
              strncmp(pair, helpers[i], strlen(helpers[i])) == 0 &&
              !policy_path_refused(policy, name, &refused));
    if (ok)
        return 0;
    return policy_refuse(policy, PyExc_PermissionError, "import", module, "unpickling `%.*s.%.*s`",
                         SHOWN(module), SHOWN(name));
}

/* ---- introspection ---- */

static int refuse_event(const struct policy *policy, const char *event)
{
    return policy_refuse(policy, PyExc_PermissionError, "event", span_of(event), "`%s`", event);
}

/* The defaults of a function may be read where they stand after a dot: the tree was checked. */
static bool is_read_of_defaults(const struct policy *policy, const char *event, struct span name)
{
    return strcmp(event, "object.__getattr__") == 0 &&
           (span_is(name, "__defaults__") || span_is(name, "__kwdefaults__")) &&
           !policy_on_list(policy, POLICY_ATTRIBUTE_DENY, name);
}

/* Compiled Fortran counts the arguments of the function that it is to call. These files of scipy
 * call it, and the code object stays in there. */
static bool is_count_of_arguments(const char *event, struct span name)
{
    static const char *const files[] = {
        "/scipy/integrate/_ode.py",      "/scipy/integrate/_ivp/lsoda.py",
        "/scipy/optimize/_cobyla_py.py", "/scipy/linalg/_decomp_schur.py",
        "/scipy/linalg/_decomp_qz.py",   "/scipy/linalg/_interpolative_backend.py",
    };

    return strcmp(event, "object.__getattr__") == 0 && span_is(name, "__code__") &&
           policy_caller_file_is(files, COUNT_OF(files));
}

static int on_attribute(const struct policy *policy, const char *event, PyObject *args)
{
    struct span name;

    if (!policy_text_arg(args, 1, &name) || !policy_attribute_refused(policy, name) ||
        is_read_of_defaults(policy, event, name) || is_count_of_arguments(event, name) ||
        (policy_attribute_is_copied(name) && !policy_caller_is_guest(false)) ||
        policy_caller_says((const char *const[]){name.data, NULL}, SAID_AT_ALL))
        return 0;
    return policy_refuse(policy, PyExc_PermissionError, "attribute", name, "attribute `%.*s`",
                         SHOWN(name));
}

/* Names in the code of a library that does this itself. An event that is not listed has its own
 * name. */
static const struct {
    const char *event;
    const char *words[10];
} sayings[] = {
    {"marshal.load", {"marshal"}},
    {"mmap.__new__", {"mmap"}},
    {"os.exec", {"execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe"}},
    {"os.fork", {"fork", "fork_exec", "multiprocessing", "Process", "Pool", "ProcessPoolExecutor"}},
    {"os.kill", {"kill", "terminate", "send_signal"}},
    {"os.posix_spawn", {"posix_spawn", "posix_spawnp"}},
    {"pty.spawn", {"pty"}},
    {"subprocess.Popen",
     {"subprocess", "Popen", "check_output", "check_call", "getoutput", "popen"}},
};

/* The program does it, also by way of the standard library, or gave the function to a library that
 * calls what it is given: DataFrame.apply(os.system). */
static bool is_by_hand(const char *event)
{
    const char *dot = strrchr(event, '.');

    if (policy_caller_is_guest(true))
        return true;
    /* An import calls the hooks of sys.path_hooks itself, which the program can set. */
    if (policy_caller_is_importing() && !policy_caller_is_importlib())
        return false;
    if (strncmp(event, "ctypes.", 7) == 0)
        return !policy_hand_has("ctypes");
    for (size_t i = 0; i < COUNT_OF(sayings); i++)
        if (strcmp(event, sayings[i].event) == 0)
            return !policy_hand_says(sayings[i].words);
    return !policy_hand_says((const char *const[]){dot ? dot + 1 : event, NULL});
}

/* git, as api.git_operations starts and ends it, with arguments and an environment of its own
 * making. Where the kernel refuses new processes nothing helps, and the words say so earlier. */
static int on_start(const struct policy *policy, const char *event, PyObject *args)
{
    struct span program = {"", 0};
    bool is_kill = strcmp(event, "os.killpg") == 0;

    if (!(policy->flags & POLICY_NO_PROCESSES)) {
        if (!is_by_hand(event))
            return 0;
        if (policy_caller_is_own("/subprocess.py", "api._git") &&
            (is_kill || (policy_text_arg(args, 0, &program) && span_is(program, "/usr/bin/git"))))
            return 0;
    }
    return refuse_event(policy, event);
}

/* The library code in which a call must stand for an event to count as the library's. */
static int on_exec(const struct policy *policy, const char *event, PyObject *args)
{
    static const char *const names[] = {"exec", "eval", NULL};

    (void)args;
    return is_loading() || policy_caller_says(names, SAID_AS_GLOBAL) ? 0
                                                                     : refuse_event(policy, event);
}

/* Callbacks of sys.monitoring get code objects. Since Python 3.12 cProfile uses it, and registers
 * methods of its own, written in C, which only count. */
static int on_monitoring(const struct policy *policy, const char *event, PyObject *args)
{
    PyObject *function = policy_arg(args, 0);
    PyObject *self = PyCFunction_CheckExact(function) ? PyCFunction_GET_SELF(function) : NULL;

    /* A class made in Python can have any name, but no module written in C. */
    for (PyTypeObject *type = self ? Py_TYPE(self) : NULL; type; type = type->tp_base) {
        PyObject *module =
            type->tp_flags & Py_TPFLAGS_HEAPTYPE ? ((PyHeapTypeObject *)type)->ht_module : NULL;
        const PyModuleDef *def = module ? PyModule_GetDef(module) : NULL;

        if (def && strcmp(def->m_name, "_lsprof") == 0)
            return 0;
    }
    return function == Py_None || !policy_caller_is_guest(true) ? 0 : refuse_event(policy, event);
}

/* doctest has a debugger at hand, whether or not it needs one. */
static int on_debugger(const struct policy *policy, const char *event, PyObject *args)
{
    (void)args;
    return policy_caller_behind_is("/pdb.py", "/doctest.py") ? 0 : refuse_event(policy, event);
}

/* doctest gives back at its end what there was before. */
static int on_trace(const struct policy *policy, const char *event, PyObject *args)
{
    static const char *const files[] = {"/doctest.py"};

    (void)args;
    return policy_caller_file_is(files, COUNT_OF(files)) || !policy_caller_is_guest(true)
               ? 0
               : refuse_event(policy, event);
}

static int on_making(const struct policy *policy, const char *event, PyObject *args)
{
    static const struct {
        const char *event;
        const char *names[3];
    } makers[] = {
        {"code.__new__", {"CodeType", "__code__"}},
        {"function.__new__", {"FunctionType"}},
        {"marshal.loads", {"marshal", "get_frozen_object"}},
        {"sys._getframe", {"_getframe"}},
    };

    (void)args;
    for (size_t i = 0; i < COUNT_OF(makers); i++)
        if (strcmp(event, makers[i].event) == 0 && policy_caller_says(makers[i].names, SAID_AT_ALL))
            return 0;
    return is_loading() ? 0 : refuse_event(policy, event);
}

/* ---- table ---- */

/* The callers that a row stops if the profile does not give the power. */
enum who {
    ANYBODY, /* libraries too */
    REMOTE,  /* ANYBODY, but not helpers of the operator, who says which hosts there are */
    STARTS,  /* HAND, and anybody where the kernel refuses new processes anyway */
    HAND,    /* the program, also through the standard library, or by the hand of a library */
    BY_RULE, /* `check` decides */
};

/* Sorted by name. */
static const struct event {
    const char *name;
    enum policy_power power;
    enum who who;
    int (*check)(const struct policy *policy, const char *event, PyObject *args);
} events[] = {
    /* clang-format off */
    {"code.__new__",               POWER_EVALUATE,      BY_RULE, on_making},
    {"compile",                    POWER_EVALUATE,      BY_RULE, on_compile},
    {"cpython.PyInterpreterState_New", POWER_EVALUATE,  ANYBODY, NULL}, /* has none of the guards */
    {"exec",                       POWER_EVALUATE,      BY_RULE, on_exec},
    {"ftplib.connect",             POWER_NETWORK,       REMOTE , NULL},
    {"ftplib.sendcmd",             POWER_NETWORK,       REMOTE , NULL},
    {"function.__new__",           POWER_EVALUATE,      BY_RULE, on_making},
    {"gc.get_objects",             POWER_INTROSPECTION, HAND,    NULL},
    {"gc.get_referents",           POWER_INTROSPECTION, HAND,    NULL},
    {"gc.get_referrers",           POWER_INTROSPECTION, HAND,    NULL},
    {"glob.glob",                  POWER_FILES,         BY_RULE, policy_audit_list},
    {"glob.glob/2",                POWER_FILES,         BY_RULE, policy_audit_list},
    {"http.client.connect",        POWER_NETWORK,       REMOTE , NULL},
    {"http.client.send",           POWER_NETWORK,       REMOTE , NULL},
    {"imaplib.open",               POWER_NETWORK,       REMOTE , NULL},
    {"import",                     POWER_NATIVE,        BY_RULE, on_import},
    {"marshal.load",               POWER_EVALUATE,      HAND,    NULL},
    {"marshal.loads",              POWER_EVALUATE,      BY_RULE, on_making},
    {"mmap.__new__",               POWER_FILES,         HAND,    NULL},
    {"nntplib.connect",            POWER_NETWORK,       REMOTE , NULL},
    {"object.__delattr__",         POWER_INTROSPECTION, BY_RULE, on_attribute},
    {"object.__getattr__",         POWER_INTROSPECTION, BY_RULE, on_attribute},
    {"object.__setattr__",         POWER_INTROSPECTION, BY_RULE, on_attribute},
    {"open",                       POWER_FILES,         BY_RULE, policy_audit_open},
    {"os.chdir",                   POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.chflags",                 POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.chmod",                   POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.chown",                   POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.exec",                    POWER_PROCESSES,     STARTS,  NULL},
    {"os.fork",                    POWER_PROCESSES,     STARTS,  NULL},
    {"os.forkpty",                 POWER_PROCESSES,     STARTS,  NULL},
    {"os.fwalk",                   POWER_FILES,         BY_RULE, policy_audit_list},
    {"os.getxattr",                POWER_FILES,         BY_RULE, policy_audit_list},
    {"os.kill",                    POWER_PROCESSES,     STARTS,  NULL},
    {"os.killpg",                  POWER_PROCESSES,     BY_RULE, on_start},
    {"os.link",                    POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.listdir",                 POWER_FILES,         BY_RULE, policy_audit_list},
    {"os.listxattr",               POWER_FILES,         BY_RULE, policy_audit_list},
    {"os.lockf",                   POWER_FILES,         HAND,    NULL},
    {"os.mkdir",                   POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.posix_spawn",             POWER_PROCESSES,     STARTS,  NULL},
    {"os.remove",                  POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.removexattr",             POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.rename",                  POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.rmdir",                   POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.scandir",                 POWER_FILES,         BY_RULE, policy_audit_list},
    {"os.setxattr",                POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.spawn",                   POWER_PROCESSES,     STARTS,  NULL},
    {"os.symlink",                 POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.system",                  POWER_PROCESSES,     STARTS,  NULL},
    {"os.truncate",                POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.utime",                   POWER_FILES,         BY_RULE, policy_audit_change},
    {"os.walk",                    POWER_FILES,         BY_RULE, policy_audit_list},
    {"pathlib.Path.glob",          POWER_FILES,         BY_RULE, policy_audit_list},
    {"pathlib.Path.rglob",         POWER_FILES,         BY_RULE, policy_audit_list},
    {"pathlib.Path.walk",          POWER_FILES,         BY_RULE, policy_audit_list},
    {"pdb.Pdb",                    POWER_EVALUATE,      BY_RULE, on_debugger},
    {"pickle.find_class",          POWER_UNPICKLE,      BY_RULE, on_pickle},
    {"poplib.connect",             POWER_NETWORK,       REMOTE , NULL},
    {"pty.spawn",                  POWER_PROCESSES,     STARTS,  NULL},
    {"resource.prlimit",           POWER_PROCESSES,     HAND,    NULL},
    {"resource.setrlimit",         POWER_PROCESSES,     HAND,    NULL},
    {"shutil.chown",               POWER_FILES,         BY_RULE, policy_audit_change},
    {"shutil.copyfile",            POWER_FILES,         BY_RULE, policy_audit_change},
    {"shutil.copymode",            POWER_FILES,         BY_RULE, policy_audit_change},
    {"shutil.copystat",            POWER_FILES,         BY_RULE, policy_audit_change},
    {"shutil.copytree",            POWER_FILES,         BY_RULE, policy_audit_change},
    {"shutil.make_archive",        POWER_FILES,         BY_RULE, policy_audit_change},
    {"shutil.move",                POWER_FILES,         BY_RULE, policy_audit_change},
    {"shutil.rmtree",              POWER_FILES,         BY_RULE, policy_audit_change},
    {"shutil.unpack_archive",      POWER_FILES,         BY_RULE, policy_audit_change},
    {"signal.pthread_kill",        POWER_PROCESSES,     HAND,    NULL},
    {"smtplib.connect",            POWER_NETWORK,       REMOTE , NULL},
    {"smtplib.send",               POWER_NETWORK,       REMOTE , NULL},
    {"socket.bind",                POWER_NETWORK,       REMOTE , NULL},
    {"socket.connect",             POWER_NETWORK,       REMOTE , NULL},
    {"socket.getaddrinfo",         POWER_NETWORK,       REMOTE , NULL},
    {"socket.gethostbyaddr",       POWER_NETWORK,       REMOTE , NULL},
    {"socket.gethostbyname",       POWER_NETWORK,       REMOTE , NULL},
    {"socket.getnameinfo",         POWER_NETWORK,       REMOTE , NULL},
    {"socket.sendmsg",             POWER_NETWORK,       REMOTE , NULL},
    {"socket.sendto",              POWER_NETWORK,       REMOTE , NULL},
    {"socket.sethostname",         POWER_NETWORK,       REMOTE , NULL},
    {"sqlite3.connect",            POWER_FILES,         BY_RULE, policy_audit_sqlite},
    {"sqlite3.enable_load_extension", POWER_NATIVE,     ANYBODY, NULL},
    {"sqlite3.load_extension",     POWER_NATIVE,        ANYBODY, NULL},
    {"subprocess.Popen",           POWER_PROCESSES,     BY_RULE, on_start},
    {"sys._current_exceptions",    POWER_INTROSPECTION, HAND,    NULL},
    {"sys._current_frames",        POWER_INTROSPECTION, HAND,    NULL},
    {"sys._getframe",              POWER_INTROSPECTION, BY_RULE, on_making},
    {"sys.addaudithook",           POWER_INTROSPECTION, ANYBODY, NULL},
    {"sys.monitoring.register_callback", POWER_INTROSPECTION, BY_RULE, on_monitoring},
    {"sys.remote_exec",            POWER_INTROSPECTION, ANYBODY, NULL},
    {"sys.setprofile",             POWER_INTROSPECTION, HAND,    NULL},
    {"sys.settrace",               POWER_INTROSPECTION, BY_RULE, on_trace},
    {"tempfile.mkdtemp",           POWER_FILES,         BY_RULE, policy_audit_change},
    {"tempfile.mkstemp",           POWER_FILES,         BY_RULE, policy_audit_change},
    {"urllib.Request",             POWER_NETWORK,       REMOTE , NULL},
    {"webbrowser.open",            POWER_PROCESSES,     ANYBODY, NULL},
    /* clang-format on */
};

/* Everything of ctypes reaches past the interpreter; sklearn's thread control uses it too. */
static const struct event ctypes_event = {"ctypes", POWER_NATIVE, HAND, NULL};

static int compare_names(const void *name, const void *event)
{
    return strcmp(name, ((const struct event *)event)->name);
}

static const struct event *find_event(const char *name)
{
    if (strncmp(name, "ctypes.", 7) == 0)
        return &ctypes_event;
    return bsearch(name, events, COUNT_OF(events), sizeof(events[0]), compare_names);
}

static bool concerns(const struct policy *policy, const struct event *event, const char *name)
{
    switch (event->who) {
    case ANYBODY:
        return true;
    case REMOTE:
        return !policy_caller_is_helper();
    case STARTS:
        return (policy->flags & POLICY_NO_PROCESSES) || is_by_hand(name);
    case HAND:
        return is_by_hand(name);
    default:
        return policy_caller_is_guest(false);
    }
}

static int hook(const char *name, PyObject *args, void *data)
{
    const struct policy *policy = sealed;
    const struct event *event;

    (void)data;
    if (!policy || is_own)
        return 0;
    event = find_event(name);
    if (!event)
        return 0;
    if (event->check == on_import)
        return on_import(policy, name, args);
    if (policy->powers & event->power)
        return 0;
    if (event->check)
        return event->check(policy, name, args);
    if (!concerns(policy, event, name))
        return 0;
    return refuse_event(policy, name);
}

PyObject *policy_compile_own(const char *source, const char *filename)
{
    int had_gc = PyGC_Disable(); /* a collection runs finalizers, which are the program's */
    PyObject *code;

    is_own = true;
    code = Py_CompileString(source, filename, Py_file_input);
    is_own = false;
    if (had_gc)
        (void)PyGC_Enable();
    return code;
}

int policy_audit_prepare(void)
{
    static bool is_added;

    if (is_added)
        return 0;
    is_added = PySys_AddAuditHook(hook, NULL) == 0;
    /* Here for the C library, which looks up at its first use what it needs for it. */
    return is_added ? policy_files_begin() : -1;
}

int policy_seal(const struct policy *policy)
{
    if (policy_restricts_nothing(policy)) {
        sealed = NULL;
        return 0;
    }
    sealed_thread = PyThread_get_thread_ident();
    if (policy_files_begin() < 0 || policy_guard_install(policy) < 0) {
        PyErr_Clear();
        return -1;
    }
    sealed = policy;
    return 0;
}
