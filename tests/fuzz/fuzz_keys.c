/* Any bytes from a terminal into the line editor: the text stays UTF-8 without control characters,
 * the cursor stands between characters, and what is drawn has no control character but those of the
 * painter. */
#include <fcntl.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "terminal/editor_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void on_line(void *owner, const char *text)
{
    (void)owner;
    if (utf8_valid(text, strlen(text)) != strlen(text))
        abort();
}

static void on_end(void *owner, struct error *err)
{
    (void)owner;
    (void)err;
}

static bool is_complete(void *owner, const char *text)
{
    (void)owner;
    return strlen(text) % 3 != 0;
}

static void complete(void *owner, const char *text, size_t cursor)
{
    struct editor *e = *(struct editor **)owner;
    struct editor_words words = {.start = cursor ? cursor - 1 : 0};

    (void)text;
    editor_words_add(&words, "größe", "");
    editor_words_add(&words, "größer", "");
    editor_words_add(&words, "\033[2J", "");
    editor_offer(e, &words);
    editor_words_done(&words);
}

static void check(const struct editor *e)
{
    const char *text = buf_str(&e->line.text);
    size_t len = e->line.text.len;

    if (strlen(text) != len || utf8_valid(text, len) != len || e->line.cursor > len ||
        utf8_valid(text, e->line.cursor) != e->line.cursor)
        abort();
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\t')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct editor_events events = {on_line, on_end, is_complete, complete};
    static struct loop *loop;
    static int nowhere;
    struct editor *e = NULL;

    if (!loop) {
        (void)setlocale(LC_CTYPE, "C.UTF-8");
        loop = loop_new(NULL);
        nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    if (editor_new(loop,
                   &(struct editor_options){
                       .in = nowhere, .out = nowhere, .line_max = 4096, .has_color = true},
                   &events, &e, &e, NULL) < 0)
        abort();
    e->is_capable = true;
    for (size_t i = 0; i < len && i < 4096;) {
        struct key key;

        e->is_asking = true;
        e->has_ended = false;
        i += keys_take(&e->keys, (char)data[i], &key);
        if (key.kind != KEY_NONE)
            editor_press(e, &key);
        check(e);
        if (i % 16 == 0)
            editor_paint(e);
    }
    editor_free(e);
    return 0;
}
