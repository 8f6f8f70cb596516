/* Texts that come again: a batch runs one program a thousand times. The first record of a file of
 * the trail that has a text keeps it; later ones in the same file say where it is (`text_seq`) and
 * have its hash, as every record has. References never lead to another file, so that an old file
 * can go without taking anything away from the others.
 *
 * What is remembered is this process's own. Another one that writes to the same trail keeps a text
 * of its own once. */
#include <string.h>

#include "base/cleanup.h"
#include "engine/recorder_internal.h"

static bool is_same(const struct recorder_text *text, const char *key,
                    const uint8_t digest[SHA256_BYTES])
{
    return memcmp(text->digest, digest, SHA256_BYTES) == 0 && strcmp(text->key, key) == 0;
}

static void forget(struct recorder *recorder)
{
    recorder->texts_file = trail_file(recorder->trail);
    recorder->n_texts = recorder->n_fresh = 0;
}

bool recorder_refer(struct recorder *recorder, struct record *r, const char *key,
                    const uint8_t digest[SHA256_BYTES])
{
    if (recorder->texts_file != trail_file(recorder->trail))
        return false;
    for (size_t i = 0; i < recorder->n_texts; i++) {
        const struct recorder_text *text = &recorder->texts[i];

        if (!is_same(text, key, digest))
            continue;
        record_number(r, "text_seq", text->seq);
        if (text->masked) {
            record_number(r, "masked", text->masked);
            record_number(r, "hidden_bytes", text->hidden_bytes);
        }
        r->needs_file = recorder->texts_file;
        return true;
    }
    return false;
}

void recorder_note_text(struct recorder *recorder, const char *key,
                        const uint8_t digest[SHA256_BYTES], uint64_t masked, uint64_t hidden_bytes)
{
    struct recorder_text *text;

    if (recorder->n_fresh == ARRAY_SIZE(recorder->fresh))
        return;
    text = &recorder->fresh[recorder->n_fresh++];
    *text = (struct recorder_text){.key = key, .masked = masked, .hidden_bytes = hidden_bytes};
    memcpy(text->digest, digest, SHA256_BYTES);
}

/* The record stands at `seq`: so do its texts. */
static void remember(struct recorder *recorder, uint64_t seq)
{
    size_t n = recorder->n_fresh;

    if (recorder->texts_file != trail_file(recorder->trail)) {
        forget(recorder);
        recorder->n_fresh = n;
    }
    /* Pruning may have begun another file behind the record. */
    if (seq < trail_file(recorder->trail))
        return;
    for (size_t i = 0; i < n; i++) {
        size_t at = recorder->n_texts < ARRAY_SIZE(recorder->texts)
                        ? recorder->n_texts++
                        : recorder->next_text++ % ARRAY_SIZE(recorder->texts);

        recorder->texts[at] = recorder->fresh[i];
        recorder->texts[at].seq = seq;
    }
}

int recorder_append(struct recorder *recorder, const char *owner, const struct record *record,
                    enum trail_part part, struct record_mark *ret_mark, struct error *err)
{
    struct record_mark mark = {0};
    int r = trail_append(recorder->trail, record, part, &mark, err);

    if (r == 0)
        remember(recorder, mark.seq);
    else if (r > 0)
        forget(recorder);
    recorder->n_fresh = 0;
    if (r == 0)
        recorder_count(recorder, owner, record->text.len);
    if (r == 0 && recorder->on_written)
        recorder->on_written(recorder->user, owner, record->text.len);
    if (r == 0 && ret_mark)
        *ret_mark = mark;
    return r;
}

int recorder_append_new(struct recorder *recorder, const char *owner, const struct record *record,
                        enum trail_part part, struct error *err)
{
    if (recorder_check_share(recorder, owner, record->text.len, err) < 0) {
        recorder->n_fresh = 0;
        return -1;
    }
    return recorder_append(recorder, owner, record, part, NULL, err);
}
