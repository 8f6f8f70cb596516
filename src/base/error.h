/* The one error type: a code for machines, a message for people, a hint for what to do next.
 *
 * A function that can fail returns 0 or a negative number and takes `struct error *err` last. The
 * error is filled once, where the cause is known; callers add context with error_wrap(). Success
 * leaves *err alone. `err` may be NULL where the caller does not want the words.
 */
#pragma once

#include <stdarg.h>

/*        code           wire name      HTTP  CLI */
#define ERROR_CODES(X)                                                                             \
    X(E_INVALID, "invalid", 400, 64)         /* the request is malformed */                        \
    X(E_AUTH, "auth", 401, 77)               /* no token, or a wrong one */                        \
    X(E_DENIED, "denied", 403, 77)           /* policy said no */                                  \
    X(E_NOT_FOUND, "not_found", 404, 66)     /* no such session, file, tool */                     \
    X(E_LOST, "session_lost", 410, 66)       /* the session is gone with its machine */            \
    X(E_BUSY, "busy", 429, 75)               /* no room now; retry later */                        \
    X(E_TOO_LARGE, "too_large", 413, 65)     /* a fixed limit was exceeded */                      \
    X(E_UNSUPPORTED, "unsupported", 501, 69) /* this host or kernel lacks it */                    \
    X(E_PROTOCOL, "protocol", 502, 76)       /* the sandbox side broke the rules */                \
    X(E_SYSTEM, "system", 500, 71)           /* a system call failed: see errnum */                \
    X(E_INTERNAL, "internal", 500, 70)       /* a bug in Belljar */

enum error_code {
    E_NONE = 0,
#define X(code, name, http, cli) code,
    ERROR_CODES(X)
#undef X
};

struct error {
    enum error_code code;
    int errnum;    /* errno at the cause, or 0 */
    char *message; /* what happened, one line, no secret, no trailing period */
    char *hint;    /* what the reader can do next, or NULL */
};

#define error_printf(fmt, args) __attribute__((format(printf, fmt, args)))

/* Fills *err and returns -1, so that `return error_set(...)` reads well. */
int error_set(struct error *err, enum error_code code, const char *fmt, ...) error_printf(3, 4);

/* E_SYSTEM with the present errno; the message becomes "<what>: <strerror>". Returns -errno. */
int error_errno(struct error *err, const char *fmt, ...) error_printf(2, 3);

/* E_SYSTEM, "out of memory". Returns -1. */
int error_memory(struct error *err);

/* Sets or replaces the hint. Returns -1. */
int error_hint(struct error *err, const char *fmt, ...) error_printf(2, 3);

/* Puts "<context>: " before the message; code, errnum and hint stay. Returns -1. */
int error_wrap(struct error *err, const char *fmt, ...) error_printf(2, 3);

#if defined(__clang_analyzer__) && !defined(ERROR_IMPLEMENTATION)
/* Clang's analyzer sees one file at a time. Without these it would follow failures that return 0.
 */
static inline int error_negative(int unused)
{
    (void)unused;
    return -1;
}
#define error_set(...)    error_negative(error_set(__VA_ARGS__))
#define error_errno(...)  error_negative(error_errno(__VA_ARGS__))
#define error_memory(err) error_negative(error_memory(err))
#define error_hint(...)   error_negative(error_hint(__VA_ARGS__))
#define error_wrap(...)   error_negative(error_wrap(__VA_ARGS__))
#endif

/* Makes *to say what *from says. Out of memory loses the words, never the code. */
void error_copy(struct error *to, const struct error *from);

/* Moves *from into *to and empties *from. */
void error_move(struct error *to, struct error *from);

/* Frees the words and sets the error to zero. Accepts NULL. */
void error_done(struct error *err);

/* The message, also of an error that had no memory for its own. */
const char *error_message(const struct error *err);

/* E_SYSTEM: there is no such name. */
enum error_code error_code_find(const char *name);
const char *error_code_name(enum error_code code);

/* The code of that name; E_PROTOCOL: there is none (it may be NULL). */
enum error_code error_code_by_name(const char *name);
int error_code_http(enum error_code code);
int error_code_exit(enum error_code code);
