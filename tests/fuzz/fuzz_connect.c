/* The envelope of a message of the Connect protocol, of any bytes. What is accepted is the whole
 * body but its head, and writing it gives the same bytes again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "compat/e2b_connect.h"
#include "compat/e2b_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(struct span body, struct span message)
{
    cleanup(buf_done) struct buf again = BUF_OF(SIZE_MAX / 2);

    if (message.data != body.data + E2B_ENVELOPE_HEAD ||
        message.len != body.len - E2B_ENVELOPE_HEAD)
        abort();
    if (e2b_envelope_add(&again, 0, message.data, message.len, NULL) < 0)
        return;
    if (again.len != body.len || memcmp(again.data, body.data, body.len) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct span body = {(const char *)data, len}, message;
    json_t *mistake = NULL, *value;
    struct error err = {0};

    if (e2b_envelope_read(body, &message, &err) == 0)
        check(body, message);
    else if (err.code != E_INVALID || !err.message)
        abort();
    error_done(&err);
    value = e2b_load_envelope(body.data, body.len, &mistake);
    if (!value == !mistake || (value && !json_is_object(value)))
        abort();
    json_decref(value);
    json_decref(mistake);
    return 0;
}
