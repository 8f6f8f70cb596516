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

static void forget(struct recorder *witness)
{
    witness->texts_file = trail_file(witness->trail);
    witness->n_texts = witness->n_fresh = 0;
}

bool recorder_refer(struct recorder *witness, struct record *r, const char *key,
                   const uint8_t digest[SHA256_BYTES])
{
    if (witness->texts_file != trail_file(witness->trail))
        return false;
    for (size_t i = 0; i < witness->n_texts; i++) {
        const struct recorder_text *text = &witness->texts[i];

        if (!is_same(text, key, digest))
            continue;
        record_number(r, "text_seq", text->seq);
        if (text->masked) {
            record_number(r, "masked", text->masked);
            record_number(r, "hidden_bytes", text->hidden_bytes);
        }
        r->needs_file = witness->texts_file;
        return true;
    }
    return false;
}

void recorder_note_text(struct recorder *witness, const char *key, const uint8_t digest[SHA256_BYTES],
                       uint64_t masked, uint64_t hidden_bytes)
{
    struct recorder_text *text;

    if (witness->n_fresh == ARRAY_SIZE(witness->fresh))
        return;
    text = &witness->fresh[witness->n_fresh++];
    *text = (struct recorder_text){.key = key, .masked = masked, .hidden_bytes = hidden_bytes};
    memcpy(text->digest, digest, SHA256_BYTES);
}

/* The record stands at `seq`: so do its texts. */
static void remember(struct recorder *witness, uint64_t seq)
{
    size_t n = witness->n_fresh;

    if (witness->texts_file != trail_file(witness->trail)) {
        forget(witness);
        witness->n_fresh = n;
    }
    /* Pruning may have begun another file behind the record. */
    if (seq < trail_file(witness->trail))
        return;
    for (size_t i = 0; i < n; i++) {
        size_t at = witness->n_texts < ARRAY_SIZE(witness->texts)
                        ? witness->n_texts++
                        : witness->next_text++ % ARRAY_SIZE(witness->texts);

        witness->texts[at] = witness->fresh[i];
        witness->texts[at].seq = seq;
    }
}

int recorder_append(struct recorder *witness, const char *owner, const struct record *record,
                   enum trail_part part, struct record_mark *ret_mark, struct error *err)
{
    struct record_mark mark = {0};
    int r = trail_append(witness->trail, record, part, &mark, err);

    if (r == 0)
        remember(witness, mark.seq);
    else if (r > 0)
        forget(witness);
    witness->n_fresh = 0;
    if (r == 0)
        recorder_count(witness, owner, record->text.len);
    if (r == 0 && witness->on_written)
        witness->on_written(witness->user, owner, record->text.len);
    if (r == 0 && ret_mark)
        *ret_mark = mark;
    return r;
}

int recorder_append_new(struct recorder *witness, const char *owner, const struct record *record,
                        enum trail_part part, struct error *err)
{
    if (recorder_check_share(witness, owner, record->text.len, err) < 0) {
        witness->n_fresh = 0;
        return -1;
    }
    return recorder_append(witness, owner, record, part, NULL, err);
}
