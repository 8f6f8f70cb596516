/* `input.line`: the next line of a program's standard input, where a person types it. */
#include "calls/call.h"

static const struct call_field line_fields[] = {{"hidden", CALL_FLAG, false, 0}, {0}};

bool call_line_is_hidden(const struct call *call)
{
    return json_is_true(json_object_get(call->arguments, "hidden"));
}

void call_give_line(struct call *call, const char *text, size_t len)
{
    struct error err = {0};
    json_t *line = text ? json_stringn(text, len) : json_null();

    call_asked(call, NULL);
    if (line) {
        call_answer(call, line);
        return;
    }
    error_set(&err, E_INVALID, "what was typed is not UTF-8");
    error_hint(&err, "type it again");
    call_fail(call, &err);
}

void call_refuse_line(struct call *call)
{
    struct error err = {0};

    call_asked(call, NULL);
    error_set(&err, E_BUSY, "another thread waits for a line of input");
    error_hint(&err, "read standard input in one thread");
    call_fail(call, &err);
}

/* Without somebody who types, the input is at its end. */
static void want_line(struct call *call)
{
    if (call->run->program.is_typed && call->run->on_event)
        call_want_line(call);
    else
        call_answer(call, json_null());
}

const struct call_row call_input_rows[] = {
    {"input.line", 0, line_fields, want_line},
    {0},
};
