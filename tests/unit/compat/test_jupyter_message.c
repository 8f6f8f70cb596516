#include "unit.h"

#include "base/json.h"
#include "base/limits.h"
#include "compat/jupyter_message.h"

#define HEADER "{\"msg_id\":\"1\",\"msg_type\":\"t\"}"

static int read_text(const char *text)
{
    struct jupyter_message m;
    struct error err = {0};
    int r = jupyter_message_read(text, strlen(text), false, &m, &err);

    if (r == 0)
        jupyter_message_done(&m);
    else
        assert_true(err.code == E_INVALID || err.code == E_TOO_LARGE);
    error_done(&err);
    return r;
}

TEST(a_text_needs_channel_header_and_content)
{
    assert_int_equal(read_text("{\"channel\":\"shell\",\"header\":" HEADER ",\"content\":{}}"), 0);
    assert_int_equal(read_text("{\"channel\":\"x\",\"header\":" HEADER ",\"content\":{}}"), -1);
    assert_int_equal(read_text("{\"channel\":\"shell\",\"content\":{}}"), -1);
    assert_int_equal(read_text("{\"channel\":\"shell\",\"header\":" HEADER "}"), -1);
    assert_int_equal(read_text("[]"), -1);
    assert_int_equal(read_text(""), -1);
}

TEST(a_message_of_ours_is_read_as_the_same_in_both_forms)
{
    json_t *content = json_pack("{s:s}", "text", "h\xc3\xa9");
    const struct jupyter_answer answer = {JUPYTER_IOPUB, "stream", "id", "ses", NULL, content};

    for (int is_binary = 0; is_binary < 2; is_binary++) {
        struct buf text = BUF_OF(MIB);
        struct jupyter_message m;

        assert_int_equal(jupyter_message_write(&answer, is_binary, &text, NULL), 0);
        assert_int_equal(jupyter_message_read(text.data, text.len, is_binary, &m, NULL), 0);
        assert_int_equal(m.channel, JUPYTER_IOPUB);
        assert_true(json_equal(m.content, content));
        assert_string_equal(json_get_text(m.header, "msg_type"), "stream");
        jupyter_message_done(&m);
        buf_done(&text);
    }
    json_decref(content);
}

TEST(offsets_that_lead_elsewhere_are_refused)
{
    json_t *content = json_object();
    const struct jupyter_answer answer = {JUPYTER_SHELL, "t", "id", "ses", NULL, content};
    struct buf text = BUF_OF(MIB);

    assert_int_equal(jupyter_message_write(&answer, true, &text, NULL), 0);
    for (size_t i = 0; i < 7; i++) {
        struct jupyter_message m;
        struct error err = {0};
        uint8_t before = (uint8_t)text.data[8 * i + 7];

        text.data[8 * i + 7] = 0x7f; /* far behind the end */
        assert_int_equal(jupyter_message_read(text.data, text.len, true, &m, &err), -1);
        text.data[8 * i + 7] = (char)before;
        error_done(&err);
    }
    for (size_t n = 0; n < text.len; n++) { /* cut short */
        struct jupyter_message m;
        struct error err = {0};

        assert_int_equal(jupyter_message_read(text.data, n, true, &m, &err), -1);
        error_done(&err);
    }
    buf_done(&text);
    json_decref(content);
}

UNIT_MAIN()
