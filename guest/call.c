#define PY_SSIZE_T_CLEAN
#include "guest/call.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "wire/frame.h"
#include "wire/message.h"

/* A thread that waits: for the reply to its call, or (id 0) for a call to be possible at all. */
struct waiter {
    struct waiter *next;
    uint64_t id;
    PyThread_type_lock lock; /* held by the waiter; whoever wakes it lets it go */
    bool is_woken;
    bool is_done;
    PyObject *reply; /* (is_ok, text), or NULL with an error for the waiter to make */
};

static int report_fd = -1, reply_fd = -1;
static pid_t owner;
static bool is_open; /* a program runs */
static struct frame_decoder decoder;
static bool is_lost; /* the pipe is at its end, or what comes from it makes no sense */
static bool is_being_read;
static uint64_t last_id;
static unsigned under_way; /* also those nobody waits for any more: outside they count, too */
static struct waiter *waiters;

/* A call whose waiter was interrupted, and which the next of its kind goes on with: a line that is
 * typed meanwhile is not lost. 0: none. Its reply, once that is there. */
static uint64_t kept_id;
static PyObject *kept_reply;

void call_open(int report, int replies)
{
    report_fd = report;
    reply_fd = replies;
    owner = getpid();
    frame_decoder_init(&decoder);
}

void call_begin(void)
{
    kept_id = 0; /* calls end with their cell */
    Py_CLEAR(kept_reply);
    is_open = true;
}

void call_end(void)
{
    is_open = false;
}

void call_reset(void)
{
    frame_decoder_done(&decoder);
    frame_decoder_init(&decoder);
    owner = getpid();
    under_way = 0;
    is_lost = is_being_read = false;
}

/* ---- waiting ---- */

static void wake(struct waiter *w)
{
    if (w->is_woken)
        return;
    w->is_woken = true;
    PyThread_release_lock(w->lock);
}

static void wake_all(void)
{
    for (struct waiter *w = waiters; w; w = w->next)
        wake(w);
}

/* One whose call may be possible now. */
static void wake_for_room(void)
{
    for (struct waiter *w = waiters; w; w = w->next)
        if (!w->id && !w->is_woken) {
            wake(w);
            return;
        }
}

static PyObject *build_reply(const struct wire_reply *reply)
{
    PyObject *built = Py_BuildValue("(Os#)", reply->is_ok ? Py_True : Py_False, reply->value.data,
                                    (Py_ssize_t)reply->value.len);

    if (!built)
        PyErr_Clear();
    return built;
}

static void take_reply(const struct wire_reply *reply)
{
    if (under_way)
        under_way--;
    wake_for_room();
    for (struct waiter *w = waiters; w; w = w->next) {
        if (w->id != reply->id || w->is_done)
            continue;
        w->is_done = true;
        w->reply = build_reply(reply);
        wake(w);
        return;
    }
    if (kept_id && reply->id == kept_id && !kept_reply) {
        kept_reply = build_reply(reply);
        kept_id = kept_reply ? kept_id : 0;
    }
}

/* False: this is no stream of replies, somebody else has read a part of it. */
static bool take_bytes(const uint8_t *data, size_t len)
{
    size_t at = 0;

    while (at < len) {
        struct wire_reply reply;
        struct frame frame;
        struct unpack u;
        size_t used;
        int r = frame_feed(&decoder, data + at, len - at, &used, &frame);

        at += used;
        if (r < 0 || (r == 1 && frame.type != WIRE_REPLY))
            return false;
        if (r == 0)
            continue;
        unpack_init(&u, frame.body, frame.len);
        if (!wire_unpack_reply(&u, &reply))
            return false;
        take_reply(&reply);
    }
    return true;
}

/* Waits for bytes and passes on what they say. False: a signal came first. */
static bool read_replies(void)
{
    uint8_t data[16384];
    ssize_t n;
    int e;

    is_being_read = true;
    Py_BEGIN_ALLOW_THREADS;
    n = read(reply_fd, data, sizeof(data));
    e = errno;
    Py_END_ALLOW_THREADS;
    is_being_read = false;
    if (n < 0 && e == EINTR)
        return false;
    if (n <= 0 || !take_bytes(data, (size_t)n)) {
        is_lost = true;
        wake_all();
    }
    return true;
}

/* Until somebody wakes this thread. False: a signal came first. */
static bool sleep_until_woken(struct waiter *w)
{
    PyLockStatus status;

    Py_BEGIN_ALLOW_THREADS;
    status = PyThread_acquire_lock_timed(w->lock, -1, 1);
    Py_END_ALLOW_THREADS;
    if (status == PY_LOCK_ACQUIRED)
        w->is_woken = false;
    return status == PY_LOCK_ACQUIRED;
}

static bool is_over(const struct waiter *w)
{
    return w->is_done || is_lost || (!w->id && under_way < WIRE_CALLS_MAX);
}

static void unlink_waiter(const struct waiter *w)
{
    struct waiter **at = &waiters;

    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

/* -1: an exception is set, the program's own handler of a signal has raised it. */
static int wait_for(struct waiter *w)
{
    int r = 0;

    w->lock = PyThread_allocate_lock();
    if (!w->lock) {
        PyErr_NoMemory();
        return -1;
    }
    (void)PyThread_acquire_lock(w->lock, WAIT_LOCK);
    w->is_woken = false;
    w->next = waiters;
    waiters = w;
    while (r == 0 && !is_over(w))
        if (!(is_being_read ? sleep_until_woken(w) : read_replies()))
            r = PyErr_CheckSignals();
    unlink_waiter(w);
    if (!w->is_woken)
        PyThread_release_lock(w->lock);
    PyThread_free_lock(w->lock);
    /* The next reader has to know that it is its turn. */
    if (!is_being_read && waiters)
        wake(waiters);
    return r;
}

/* ---- what the library calls ---- */

static int check_channel(void)
{
    const char *why = NULL;

    if (report_fd < 0 || getpid() != owner)
        why = "calls are made by the program's first process, not by one that it has forked";
    else if (!is_open)
        why = "calls are possible only while a cell runs";
    else if (is_lost)
        why = "the pipe for replies was closed, or read by something else";
    if (why)
        PyErr_SetString(PyExc_RuntimeError, why);
    return why ? -1 : 0;
}

static int send(uint64_t id, struct span name, struct span arguments)
{
    struct pack p;
    int r;

    pack_init(&p, wire_type_max(WIRE_CALL));
    wire_pack_call(&p, &(struct wire_call){id, name, arguments});
    if (p.failed || name.len > WIRE_CALL_NAME_MAX) {
        pack_done(&p);
        PyErr_Format(PyExc_ValueError, "a call has %zu bytes; the limit is %u", arguments.len,
                     wire_type_max(WIRE_CALL));
        return -1;
    }
    /* With the interpreter's lock, so that nobody else writes a frame into this one. */
    r = frame_send(report_fd, WIRE_CALL, &p, NULL, 0);
    pack_done(&p);
    if (r < 0) {
        PyErr_SetString(PyExc_RuntimeError, "calls are not possible here");
        return -1;
    }
    under_way++;
    return 0;
}

/* The id of a new call; 0: an exception is set. */
static uint64_t begin_call(struct span name, struct span arguments)
{
    struct waiter place = {0};

    while (under_way >= WIRE_CALLS_MAX && !is_lost && is_open)
        if (check_channel() < 0 || wait_for(&place) < 0)
            return 0;
    if (check_channel() < 0 || send(last_id + 1, name, arguments) < 0)
        return 0;
    return ++last_id;
}

/* Goes on with the call that was kept. */
static void resume(struct waiter *w)
{
    w->id = kept_id;
    w->reply = kept_reply;
    w->is_done = kept_reply != NULL;
    kept_id = 0;
    kept_reply = NULL;
}

static void keep(struct waiter *w)
{
    Py_XSETREF(kept_reply, w->reply);
    kept_id = w->is_done && !w->reply ? 0 : w->id;
    w->reply = NULL;
}

static PyObject *call(PyObject *self, PyObject *args)
{
    struct span name, arguments;
    struct waiter w = {0};
    Py_ssize_t name_len, len;
    int is_kept = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "s#s#|p:call", &name.data, &name_len, &arguments.data, &len,
                          &is_kept))
        return NULL;
    name.len = (size_t)name_len;
    arguments.len = (size_t)len;
    if (is_kept && kept_id && check_channel() == 0)
        resume(&w);
    else if (PyErr_Occurred() || (w.id = begin_call(name, arguments)) == 0)
        return NULL;
    if (wait_for(&w) < 0) {
        if (is_kept)
            keep(&w);
        Py_CLEAR(w.reply);
        return NULL;
    }
    if (!w.reply)
        PyErr_SetString(PyExc_RuntimeError,
                        is_lost ? "the reply was lost: the pipe for replies was closed, or read "
                                  "by something else"
                                : "the reply is invalid");
    return w.reply;
}

static PyMethodDef methods[] = {
    {"call", call, METH_VARARGS,
     "call(name, arguments, is_kept=False): (is_ok, text), both of them JSON; a kept one that is "
     "interrupted is gone on with by the next"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_belljar_call", .m_size = -1,
                                 .m_methods = methods};

PyObject *call_module(void)
{
    return PyModule_Create(&definition);
}
