/* The masker at work: everything a program says goes through here before anybody keeps it, measures
 * it against a limit or passes it on.
 *
 * A context says what is masked, and where that is counted. When the masker fails, the text is
 * withheld, and a run ends as Belljar's own failure.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/clean.h"
#include "base/run.h"
#include "mask/masker.h"

struct pseudonyms; /* mask/pseudonyms.h */

/* The secrets of one engine: the operator's rules and the values known to be secret. Both are lent
 * and may be NULL. */
struct masks;

/* How a text is masked. Small enough to be passed by value; what it points to outlives the text. */
struct mask_context {
    enum run_masking level;
    struct masks *masks;       /* NULL: the text is withheld, unless the level is to mask nothing */
    struct pseudonyms *names;  /* of a session, or NULL: personal data has no names */
    struct run_masked *masked; /* finds are counted here; NULL: nowhere */
    struct error *error;       /* is set when the masker fails; NULL: the text is just missing */
};

/* Everything a run says. */
struct mask_context mask_context_of(struct run *run);

/* NULL: out of memory. */
struct masks *masks_new(const struct masker_rules *rules, const struct masker_values *values,
                        struct error *err);

/* For every text from here on. */
void masks_set(struct masks *masks, const struct masker_rules *rules,
               const struct masker_values *values);

/* After the last run that uses them. Accepts NULL. */
void masks_free(struct masks *masks);

/* The next bytes of one stream. *masker is the stream's own, NULL before its first byte. What is
 * returned holds until the next call for that stream. */
struct clean_text mask_stream(struct mask_context context, struct masker **masker, const char *data,
                              size_t len);

/* The end of the stream: what was held back, which holds until *masker is freed. */
struct clean_text mask_stream_end(struct mask_context context, struct masker **masker);

void mask_stream_free(struct masker **masker);

/* A text that is whole. Holds until the next text is masked. */
struct clean_text mask_text(struct mask_context context, struct span text);

/* Masks a text of JSON, which stays JSON: a number that is masked becomes a string. Returns a copy
 * with a NUL after it, or NULL. */
char *mask_json(struct mask_context context, struct span text);

struct mask_count {
    uint64_t finds;
    uint64_t bytes; /* that labels stand for */
};

/* A text that is whole, for the trail: it counts for no run, and what cannot be masked is not
 * there. *ret_count, which may be NULL, is how much was masked. Holds until the next such call. */
struct clean_text mask_for_trail(struct masks *masks, enum run_masking masking, struct span text,
                                 struct mask_count *ret_count);

/* An error that a helper process reports: masked, each text one bounded line (base/quote.h). An
 * empty hint is none. */
void mask_error(struct masks *masks, struct error *err, enum error_code code, struct span message,
                struct span hint);

/* A text that somebody decides on: only registered values and tokens that prove themselves are
 * hidden, never syntax, and a mark with their number of bytes stands in their place
 * (base/hidden_mark.h). Everything else, newlines included, stays. Added to `out`. -1: it cannot be
 * shown. */
int mask_for_review(struct mask_context context, struct span text, struct buf *out,
                    struct error *err);

/* Masks each text, name and number of a JSON value in the same way: a copy, or NULL. *ret_hidden:
 * bytes that marks stand for. */
json_t *mask_json_for_review(struct mask_context context, const json_t *value,
                             uint64_t *ret_hidden);

/* A copy of bytes of this type, which becomes *data; NULL: out of memory. Only text is looked at,
 * by its type or because it is UTF-8: true for others, and no copy. */
bool mask_form(struct mask_context context, struct span mime, struct span *data, char **ret_copy);
