/* Many files: paths in, one list of results out. The files are read without the interpreter's
 * lock; objects are made at the end, in the order of the paths, and only of what was asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "library/code/module_internal.h"
#include "library/code/scan.h"

#define PAUSE_MS 200

struct scan_job {
    struct scan scan;
    struct code_cache cache;
    PyObject *paths; /* a tuple of bytes, which the files' paths point into */
    PyObject *names; /* as they were given */
    PyObject *pattern, *matches, *decode, *say, *progress;
    bool has_files;
    Py_ssize_t limit; /* of results; -1: none */
    size_t count;
    PyObject *results, *skipped;
    PyThreadState *thread;
    int64_t paused_ms;
};

/* ---- while it runs ---- */

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Signals are looked at and somebody is told how far we are, a few times a second. */
static bool on_pause(void *arg, size_t done)
{
    struct scan_job *job = arg;
    PyObject *told = NULL;
    bool goes_on;

    if (now_ms() - job->paused_ms < PAUSE_MS)
        return true;
    PyEval_RestoreThread(job->thread);
    goes_on = PyErr_CheckSignals() == 0;
    if (goes_on && job->progress != Py_None) {
        told = PyObject_CallFunction(job->progress, "nn", (Py_ssize_t)done,
                                     (Py_ssize_t)job->scan.n_files);
        goes_on = told;
        Py_XDECREF(told);
    }
    job->thread = PyEval_SaveThread();
    job->paused_ms = now_ms();
    return goes_on;
}

/* ---- which names ---- */

static int call_matches(const struct scan_job *job, PyObject *name)
{
    PyObject *found = PyObject_CallOneArg(job->matches, name);
    int r = found ? PyObject_IsTrue(found) : -1;

    Py_XDECREF(found);
    return r;
}

static int is_called(PyObject *callee, PyObject *name)
{
    PyObject *tail;
    Py_ssize_t found;

    if (PyUnicode_Compare(callee, name) == 0)
        return 1;
    tail = PyUnicode_FromFormat("::%U", name);
    found = tail ? PyUnicode_Tailmatch(callee, tail, 0, PY_SSIZE_T_MAX, 1) : -1;
    Py_XDECREF(tail);
    if (found)
        return (int)found;
    tail = PyUnicode_FromFormat(".%U", name);
    found = tail ? PyUnicode_Tailmatch(callee, tail, 0, PY_SSIZE_T_MAX, 1) : -1;
    Py_XDECREF(tail);
    return (int)found;
}

/* 1: it is one of those asked for; -1: an error. */
static int judge(struct scan_job *job, struct code_maker *m, struct piece piece)
{
    const struct scan_query *q = &job->scan.query;
    const char *text = outline_text(m->o, piece);
    struct code_cached *cached;
    PyObject *name;
    int r;

    if (!q->pattern && !q->is_judged_later)
        return 1;
    cached = code_cached(&job->cache, text, piece.len);
    if (cached && !q->is_judged_later)
        return scan_is_match(q, text, piece.len);
    if (cached && cached->verdict)
        return cached->verdict > 0;
    name = code_name(m, piece);
    if (!name)
        return -1;
    if (q->is_judged_later)
        r = call_matches(job, name);
    else
        r = q->what == SCAN_CALLS ? is_called(name, job->pattern)
                                  : PyUnicode_Contains(name, job->pattern);
    Py_DECREF(name);
    /* The call may have been anything, and made the cache larger. */
    cached = r < 0 ? NULL : code_cached(&job->cache, text, piece.len);
    if (cached)
        cached->verdict = (int8_t)(r > 0 ? 1 : -1);
    return r;
}

/* ---- results ---- */

static bool is_full(const struct scan_job *job)
{
    return job->limit >= 0 && job->count >= (size_t)job->limit;
}

/* Takes the entry, also when it fails. */
static int add(struct scan_job *job, PyObject *entry, PyObject *path)
{
    int r = entry ? 0 : -1;

    if (r == 0 && job->has_files)
        r = PyDict_SetItem(entry, code_keys.file, path);
    if (r == 0)
        r = PyList_Append(job->results, entry);
    Py_XDECREF(entry);
    job->count++;
    return r;
}

/* 1: an entry for it is wanted. 0: it is not, or counting it was all. -1: an exception. */
static int wants_entry(struct scan_job *job, struct code_maker *m, struct piece name)
{
    int verdict = judge(job, m, name);

    if (verdict <= 0 || !job->scan.query.is_counting)
        return verdict;
    job->count++;
    return 0;
}

static int add_defs(struct scan_job *job, struct code_maker *m, PyObject *path)
{
    bool wants_classes = job->scan.query.what == SCAN_CLASSES;

    for (size_t i = 0; i < m->o->n_defs && !is_full(job); i++) {
        int wants;

        if ((m->o->defs[i].kind == OUTLINE_CLASS) != wants_classes)
            continue;
        wants = wants_entry(job, m, m->o->defs[i].name);
        if (wants < 0 || (wants && add(job, code_def(m, i, CODE_SUMMARY, job->say), path) < 0))
            return -1;
    }
    return 0;
}

static PyObject *make_call(struct code_maker *m, const struct outline_call *call)
{
    PyObject *dict = PyDict_New();
    bool is_outside = call->within == OUTLINE_NOWHERE;

    if (!dict || code_put(dict, code_keys.line, code_number(call->line)) < 0 ||
        code_put(dict, code_keys.col, code_number(call->col)) < 0 ||
        code_put(dict, code_keys.callee,
                 call->callee.len ? code_name(m, call->callee) : PyUnicode_FromString("<expr>")) <
            0 ||
        code_put(dict, code_keys.context,
                 is_outside ? PyUnicode_FromString("<module>") : code_scope(m, call->within)) < 0 ||
        code_put(dict, code_keys.nargs, code_number(call->n_args)) < 0 ||
        code_put(dict, code_keys.kwargs, code_number(call->n_keywords)) < 0)
        Py_CLEAR(dict);
    return code_with_language(m->o, dict);
}

static int add_calls(struct scan_job *job, struct code_maker *m, PyObject *path)
{
    for (size_t i = 0; i < m->o->n_calls && !is_full(job); i++) {
        int wants = wants_entry(job, m, m->o->calls[i].callee);

        if (wants < 0 || (wants && add(job, make_call(m, &m->o->calls[i]), path) < 0))
            return -1;
    }
    return 0;
}

/* "x as y", "from m import n". */
static PyObject *import_words(struct code_maker *m, const struct outline_import *i)
{
    PyObject *module = code_name(m, i->module), *name = code_name(m, i->name);
    PyObject *alias = i->alias.len ? code_name(m, i->alias) : PyUnicode_FromString("");
    const char *as = i->alias.len ? " as " : "";
    char dots[65];
    PyObject *words = NULL;

    memset(dots, '.', sizeof(dots));
    dots[m->o->language ? 0 : i->level < sizeof(dots) ? i->level : sizeof(dots) - 1] = '\0';
    if (module && name && alias)
        words = i->is_from
                    ? PyUnicode_FromFormat("from %s%U import %U%s%U", dots, module, name, as, alias)
                    : PyUnicode_FromFormat("%U%s%U", module, as, alias);
    Py_XDECREF(module);
    Py_XDECREF(name);
    Py_XDECREF(alias);
    return words;
}

static PyObject *make_imports(struct code_maker *m)
{
    PyObject *plain = PyList_New(0), *from = PyList_New(0), *details = PyList_New(0);
    PyObject *dict = PyDict_New();
    int r = plain && from && details && dict ? 0 : -1;

    for (size_t i = 0; r == 0 && i < m->o->n_imports; i++)
        if (code_append(m->o->imports[i].is_from ? from : plain,
                        import_words(m, &m->o->imports[i])) < 0 ||
            code_append(details, code_import(m, i)) < 0)
            r = -1;
    if (r < 0 || PyDict_SetItem(dict, code_keys.imports, plain) < 0 ||
        PyDict_SetItem(dict, code_keys.from_imports, from) < 0 ||
        PyDict_SetItem(dict, code_keys.details, details) < 0)
        Py_CLEAR(dict);
    Py_XDECREF(plain);
    Py_XDECREF(from);
    Py_XDECREF(details);
    return code_with_language(m->o, dict);
}

/* The function with the most branches; None where there is none. */
static PyObject *worst_of(struct code_maker *m)
{
    const struct outline_def *worst = NULL;
    PyObject *dict;

    for (size_t i = 0; i < m->o->n_defs; i++)
        if (m->o->defs[i].kind != OUTLINE_CLASS &&
            (!worst || m->o->defs[i].branches > worst->branches))
            worst = &m->o->defs[i];
    if (!worst)
        return Py_NewRef(Py_None);
    dict = PyDict_New();
    if (!dict ||
        code_put(dict, code_keys.name, code_scope(m, (uint32_t)(worst - m->o->defs))) < 0 ||
        code_put(dict, code_keys.value, code_number(worst->branches + 1)) < 0 ||
        code_put(dict, code_keys.line, code_number(worst->line)) < 0)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *modules_of(struct code_maker *m)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < m->o->n_imports; i++)
        if (code_append(list, Py_BuildValue("(IN)", m->o->imports[i].level,
                                            code_name(m, m->o->imports[i].module))) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *make_figures(struct code_maker *m)
{
    const struct outline *o = m->o;
    PyObject *dict = PyDict_New();
    uint32_t classes = 0;

    for (size_t i = 0; i < o->n_defs; i++)
        classes += o->defs[i].kind == OUTLINE_CLASS;
    if (!dict ||
        code_put(dict, code_keys.functions, code_number((uint32_t)o->n_defs - classes)) < 0 ||
        code_put(dict, code_keys.classes, code_number(classes)) < 0 ||
        code_put(dict, code_keys.lines, code_number(o->lines)) < 0 ||
        code_put(dict, code_keys.code_lines, code_number(o->code_lines)) < 0 ||
        code_put(dict, code_keys.comment_lines, code_number(o->comment_lines)) < 0 ||
        code_put(dict, code_keys.blank_lines, code_number(o->blank_lines)) < 0 ||
        code_put(dict, code_keys.branches, code_number(o->branches)) < 0 ||
        code_put(dict, code_keys.worst, worst_of(m)) < 0 ||
        code_put(dict, code_keys.modules, modules_of(m)) < 0)
        Py_CLEAR(dict);
    return code_with_language(m->o, dict);
}

static PyObject *piece_text(const struct scan_unused_list *list, struct piece piece)
{
    return PyUnicode_DecodeUTF8(list->text + piece.at, piece.len, "replace");
}

static bool is_package(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strcmp(slash ? slash + 1 : path, "__init__.py") == 0;
}

/* The module with its dots; and that with the name behind it. */
static int name_unused(const struct scan_unused_list *list, const struct scan_unused *u,
                       PyObject **ret_module, PyObject **ret_name)
{
    PyObject *module = piece_text(list, u->module), *name = piece_text(list, u->name);
    char dots[65];

    memset(dots, '.', sizeof(dots));
    dots[u->level < sizeof(dots) ? u->level : sizeof(dots) - 1] = '\0';
    *ret_module = *ret_name = NULL;
    if (module && name)
        *ret_module = PyUnicode_FromFormat("%s%U", dots, module);
    if (*ret_module)
        *ret_name = u->name.len ? PyUnicode_FromFormat("%U%s%U", *ret_module,
                                                       u->module.len ? "." : "", name)
                                : Py_NewRef(*ret_module);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return *ret_name ? 0 : -1;
}

static PyObject *make_unused(const struct scan_unused_list *list, const struct scan_unused *u,
                             bool is_of_package)
{
    PyObject *module, *name, *dict = PyDict_New();
    bool is_kept = is_of_package && u->is_global;

    if (name_unused(list, u, &module, &name) < 0 || !dict ||
        PyDict_SetItem(dict, code_keys.name, name) < 0 ||
        code_put(dict, code_keys.binding, piece_text(list, u->binding)) < 0 ||
        PyDict_SetItem(dict, code_keys.module, module) < 0 ||
        code_put(dict, code_keys.line, code_number(u->line)) < 0 ||
        code_put(dict, code_keys.removable, code_boolean(!is_kept)) < 0 ||
        code_put(dict, code_keys.reason,
                 PyUnicode_FromString(is_kept ? "nothing in the package's own file uses it, others "
                                                "may"
                                              : "nothing uses it")) < 0)
        Py_CLEAR(dict);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return dict;
}

static int add_unused(struct scan_job *job, const struct scan_file *file, PyObject *path)
{
    const struct scan_unused_list *list = file->unused;

    for (size_t i = 0; list && i < list->count && !is_full(job); i++)
        if (add(job, make_unused(list, &list->items[i], is_package(file->path)), path) < 0)
            return -1;
    return 0;
}

static int add_outline(struct scan_job *job, const struct scan_file *file, PyObject *path)
{
    struct code_maker m = {.o = file->found, .cache = &job->cache};
    int r;

    switch (job->scan.query.what) {
    case SCAN_FUNCTIONS:
    case SCAN_CLASSES:
        r = add_defs(job, &m, path);
        break;
    case SCAN_CALLS:
        r = add_calls(job, &m, path);
        break;
    case SCAN_IMPORTS:
        r = add(job, make_imports(&m), path);
        break;
    default:
        r = add(job, make_figures(&m), path);
        break;
    }
    code_maker_done(&m);
    return r;
}

/* ---- files ---- */

static int add_skipped(struct scan_job *job, const struct scan_file *file, PyObject *path)
{
    PyObject *why;

    if (!file->why)
        why = PyUnicode_FromString(strerror(file->errnum));
    else if (file->line)
        why = PyUnicode_FromFormat("not valid Python: %s, line %u", file->why, file->line);
    else
        why = PyUnicode_FromString(file->why);
    return code_append(job->skipped, why ? Py_BuildValue("(ON)", path, why) : NULL);
}

/* Decodes a file that is not UTF-8 with the caller's function; a failure belongs to the file. */
static int add_decoded(struct scan_job *job, struct scan_file *file, PyObject *path)
{
    PyObject *text = PyObject_CallOneArg(job->decode, path), *why;
    PyObject *type, *value, *trace;
    struct scan_worker *worker;
    bool is_done;

    if (!text && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Fetch(&type, &value, &trace);
        why = value ? PyObject_Str(value) : PyUnicode_FromString("not valid in its encoding");
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        return code_append(job->skipped, why ? Py_BuildValue("(ON)", path, why) : NULL);
    }
    if (!text || !PyBytes_Check(text)) {
        Py_XDECREF(text);
        return text ? (PyErr_SetString(PyExc_TypeError, "decode returns bytes"), -1) : -1;
    }
    worker = scan_worker_new();
    is_done = worker && scan_text(&job->scan.query, worker, file, PyBytes_AS_STRING(text),
                                  (size_t)PyBytes_GET_SIZE(text));
    scan_worker_free(worker);
    Py_DECREF(text);
    return is_done ? 0 : (PyErr_NoMemory(), -1);
}

static int add_file(struct scan_job *job, size_t index)
{
    struct scan_file *file = &job->scan.files[index];
    PyObject *path = PyTuple_GET_ITEM(job->names, (Py_ssize_t)index);
    const struct scan_query *q = &job->scan.query;

    if (q->what == SCAN_BYTES && (file->state == SCAN_ODD || file->count)) {
        job->count++;
        return PyList_Append(job->results, path);
    }
    if (file->state == SCAN_ODD && add_decoded(job, file, path) < 0)
        return -1;
    if (file->state == SCAN_SKIPPED)
        return add_skipped(job, file, path);
    if (file->found)
        return add_outline(job, file, path);
    if (q->is_counting) {
        job->count += file->count;
        return 0;
    }
    return add_unused(job, file, path);
}

static int add_files(struct scan_job *job, size_t *ret_seen)
{
    for (size_t i = 0; i < job->scan.n_files && !is_full(job); i++) {
        if (job->scan.files[i].state == SCAN_UNSEEN)
            return 0;
        if (add_file(job, i) < 0)
            return -1;
        free(job->scan.files[i].found);
        job->scan.files[i].found = NULL;
        ++*ret_seen;
    }
    return 0;
}

/* ---- the call ---- */

static int read_what(struct scan_job *job, const char *what)
{
    static const char *const names[] = {"functions", "classes", "imports", "calls",
                                        "figures",   "unused",  "bytes"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(what, names[i]) == 0) {
            job->scan.query.what = (enum scan_what)i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "cannot scan for %s", what);
    return -1;
}

static int read_paths(struct scan_job *job)
{
    Py_ssize_t count = PyTuple_GET_SIZE(job->names);

    job->paths = PyTuple_New(count);
    job->scan.files = PyMem_Calloc((size_t)count + 1, sizeof(*job->scan.files));
    if (!job->paths || !job->scan.files)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *path = NULL;

        /* Refuses what has a NUL in it, too. */
        if (!PyUnicode_FSConverter(PyTuple_GET_ITEM(job->names, i), &path))
            return -1;
        PyTuple_SET_ITEM(job->paths, i, path);
        job->scan.files[i].path = PyBytes_AS_STRING(path);
    }
    job->scan.n_files = (size_t)count;
    return 0;
}

/* The rules of the sandbox hear of it as they hear of any other file that is opened. */
static int ask(const struct scan_job *job)
{
    if (!job->scan.n_files)
        return 0;
    return PySys_Audit("open", "Osi", PyTuple_GET_ITEM(job->names, 0), "r", 0);
}

static int read_pattern(struct scan_job *job)
{
    struct scan_query *q = &job->scan.query;
    Py_ssize_t len = 0;

    q->is_judged_later = job->matches != Py_None;
    q->limit = job->limit < 0 || q->is_judged_later ? SIZE_MAX : (size_t)job->limit;
    if (job->pattern == Py_None)
        return 0;
    if (PyBytes_Check(job->pattern)) {
        q->pattern = PyBytes_AS_STRING(job->pattern);
        q->pattern_len = (size_t)PyBytes_GET_SIZE(job->pattern);
        return 0;
    }
    q->pattern = PyUnicode_AsUTF8AndSize(job->pattern, &len);
    q->pattern_len = (size_t)len;
    return q->pattern ? 0 : -1;
}

static PyObject *run(struct scan_job *job)
{
    PyObject *results;
    size_t seen = 0;
    int was_collecting, r;

    if (read_paths(job) < 0 || read_pattern(job) < 0 || ask(job) < 0 ||
        !(job->results = PyList_New(0)) || !(job->skipped = PyList_New(0)))
        return NULL;
    job->scan.on_pause = on_pause;
    job->scan.arg = job;
    job->paused_ms = now_ms();
    job->thread = PyEval_SaveThread();
    scan_run(&job->scan);
    PyEval_RestoreThread(job->thread);
    if (PyErr_Occurred())
        return NULL;
    if (atomic_load(&job->scan.is_out_of_memory))
        return PyErr_NoMemory();
    /* So many objects at once look like garbage to be searched for, again and again. */
    was_collecting = PyGC_Disable();
    r = add_files(job, &seen);
    if (was_collecting)
        PyGC_Enable();
    if (r < 0)
        return NULL;
    results = job->scan.query.is_counting ? PyLong_FromSize_t(job->count) : Py_NewRef(job->results);
    return results ? Py_BuildValue("(NOn)", results, job->skipped, (Py_ssize_t)seen) : NULL;
}

static void job_done(struct scan_job *job)
{
    scan_done(&job->scan);
    code_cache_done(&job->cache);
    PyMem_Free(job->scan.files);
    Py_XDECREF(job->names);
    Py_XDECREF(job->paths);
    Py_XDECREF(job->results);
    Py_XDECREF(job->skipped);
}

static int read_limit(struct scan_job *job, PyObject *limit)
{
    if (limit == Py_None)
        return 0;
    job->limit = PyLong_AsSsize_t(limit);
    if (job->limit < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "limit must not be negative");
    return job->limit < 0 ? -1 : 0;
}

PyObject *code_scan(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"paths",     "what",   "pattern", "matches",  "limit",   "count_only",
                            "with_file", "decode", "say",     "progress", "threads", NULL};
    struct scan_job job = {.pattern = Py_None,
                           .matches = Py_None,
                           .decode = Py_None,
                           .say = Py_None,
                           .progress = Py_None,
                           .limit = -1};
    PyObject *paths, *limit = Py_None, *result = NULL;
    const char *what;
    int is_counting = 0, has_files = 0;
    unsigned threads = 0;

    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, named, "Os|OOOppOOOI", names, &paths, &what,
                                     &job.pattern, &job.matches, &limit, &is_counting, &has_files,
                                     &job.decode, &job.say, &job.progress, &threads))
        return NULL;
    if (read_limit(&job, limit) < 0)
        return NULL;
    if (is_counting)
        job.limit = -1;
    job.has_files = has_files;
    job.scan.query.is_counting = is_counting;
    job.scan.n_threads = threads ? threads : scan_cpus();
    job.names = PySequence_Tuple(paths);
    if (job.names && read_what(&job, what) == 0)
        result = run(&job);
    job_done(&job);
    return result;
}

PyObject *code_walk(PyObject *self, PyObject *args)
{
    struct scan_list list = {0};
    const char *pattern;
    PyObject *root = NULL, *prefix = NULL, *result = NULL;
    int r;

    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&s", PyUnicode_FSConverter, &root, PyUnicode_FSConverter,
                          &prefix, &pattern)) {
        Py_XDECREF(root);
        return NULL;
    }
    if (PySys_Audit("open", "Osi", root, "r", 0) == 0) {
        Py_BEGIN_ALLOW_THREADS;
        r = scan_walk(&list, PyBytes_AS_STRING(root), PyBytes_AS_STRING(prefix), pattern);
        Py_END_ALLOW_THREADS;
        if (r < 0)
            PyErr_SetFromErrno(PyExc_OSError);
        else
            result = PyList_New(0);
    }
    for (size_t i = 0; result && i < list.count; i++)
        if (code_append(result, PyUnicode_DecodeFSDefault(list.paths[i])) < 0)
            Py_CLEAR(result);
    scan_list_done(&list);
    Py_DECREF(root);
    Py_DECREF(prefix);
    return result;
}
