#define ERROR_IMPLEMENTATION
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
    const char *name;
    int http;
    int exit;
} codes[] = {
#define X(code, name, http, cli) [code] = {name, http, cli},
    X(E_NONE, "none", 200, 0) ERROR_CODES(X)
#undef X
};

/* Out of memory while describing an error must not lose the error: the code survives, the words do
 * not. */
__attribute__((format(printf, 1, 0))) static char *format(const char *fmt, va_list args)
{
    char *text = NULL;

    return vasprintf(&text, fmt, args) < 0 ? NULL : text;
}

int error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return -1;
    error_done(err);
    err->code = code;
    va_start(args, fmt);
    err->message = format(fmt, args);
    va_end(args);
    return -1;
}

int error_errno(struct error *err, const char *fmt, ...)
{
    int saved = errno;
    cleanup_free char *what = NULL;
    va_list args;

    if (!err)
        return saved > 0 ? -saved : -1;
    va_start(args, fmt);
    what = format(fmt, args);
    va_end(args);

    error_set(err, E_SYSTEM, "%s: %s", what ? what : "system call", strerror(saved));
    err->errnum = saved;
    return saved > 0 ? -saved : -1;
}

int error_memory(struct error *err)
{
    return error_set(err, E_SYSTEM, "out of memory");
}

int error_hint(struct error *err, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return -1;
    free(err->hint);
    va_start(args, fmt);
    err->hint = format(fmt, args);
    va_end(args);
    return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
    cleanup_free char *context = NULL;
    char *joined = NULL;
    va_list args;

    if (!err)
        return -1;
    va_start(args, fmt);
    context = format(fmt, args);
    va_end(args);

    if (context && asprintf(&joined, "%s: %s", context, err->message ? err->message : "") >= 0) {
        free(err->message);
        err->message = joined;
    }
    return -1;
}

void error_copy(struct error *to, const struct error *from)
{
    if (!to)
        return;
    error_done(to);
    *to = (struct error){
        .code = from->code,
        .errnum = from->errnum,
        .message = from->message ? strdup(from->message) : NULL,
        .hint = from->hint ? strdup(from->hint) : NULL,
    };
}

void error_move(struct error *to, struct error *from)
{
    if (to) {
        error_done(to);
        *to = *from;
        *from = (struct error){0};
    } else {
        error_done(from);
    }
}

void error_done(struct error *err)
{
    if (!err)
        return;
    free(err->message);
    free(err->hint);
    *err = (struct error){0};
}

const char *error_message(const struct error *err)
{
    return err->message ? err->message : "out of memory";
}

enum error_code error_code_find(const char *name)
{
    for (size_t i = 1; i < sizeof(codes) / sizeof(*codes); i++)
        if (strcmp(codes[i].name, name) == 0)
            return (enum error_code)i;
    return E_SYSTEM;
}

const char *error_code_name(enum error_code code)
{
    return codes[code].name;
}

enum error_code error_code_by_name(const char *name)
{
    for (size_t i = 1; name && i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(codes[i].name, name) == 0)
            return (enum error_code)i;
    return E_PROTOCOL;
}

int error_code_http(enum error_code code)
{
    return codes[code].http;
}

int error_code_exit(enum error_code code)
{
    return codes[code].exit;
}
