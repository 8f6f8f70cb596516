/* The masker: a program's text goes in, text without secrets comes out.
 *
 * It is a stream: a secret that arrives in pieces is masked as if it had come in one. What might
 * still become one waits (at most MASKER_HOLD_MAX bytes); whatever ends with a newline does not,
 * but for a value whose quote is still open. What comes out does not depend on how the stream was
 * cut. Work is linear in the text, whatever the text is, and counted (masker_work()); memory is
 * bounded, and when anything fails nothing comes out any more.
 *
 * A value that a name makes secret ends where its notation ends it (bare.c has the table): strings
 * at the quote that is not escaped, unquoted values at a blank, words of a shell at an operator
 * before a command. Where it is in doubt whether a line is a command, the value goes on to the next
 * blank.
 *
 * It recognises the kinds of secrets in src/mask/kinds.c, personal data when it is aggressive, the
 * operator's own rules, and exact values it was told, in several encodings. Colours, other terminal
 * sequences and invisible characters inside a secret do not hide it.
 *
 * It does not look into pictures and archives, nor decode text that is not one of its encodings.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/error.h"

/* Most that waits for its end; a longer secret is masked in pieces, as one. */
#define MASKER_HOLD_MAX ((size_t)8192)

struct masker;
struct masker_rules;
struct masker_values;
struct pseudonyms; /* mask/pseudonyms.h */

/* One thing that was masked. */
struct masker_find {
    const char *kind;
    const char *label;
    const char *rule; /* how it was recognised */
    uint64_t offset;  /* of its first byte in the stream, without colours and invisible characters;
                       * nearly, where titles and links stand before it */
    uint64_t line;    /* from 1 */
    size_t len;
};

enum masker_mode {
    /* For everything that leaves: in doubt it is masked. */
    MASKER_FULL,
    /* For texts on which a person decides (changes, approvals, the trail): in doubt it is shown.
     * Hides registered values and tokens that prove themselves by a checksum, or by a fixed prefix,
     * alphabet and length, and of those only the bytes A-Z a-z 0-9 _ + / = . - so that no syntax is
     * ever hidden. Names, rules and personal data do not count. */
    MASKER_REVIEW,
};

struct masker_options {
    enum masker_mode mode;
    bool is_aggressive;                 /* personal data, too */
    const struct masker_rules *rules;   /* of the operator, or NULL; both outlive the masker */
    const struct masker_values *values; /* known secrets, or NULL */
    struct pseudonyms *names;           /* for personal data in place of labels, or NULL */
    void (*on_find)(void *arg, const struct masker_find *find); /* or NULL */
    /* Called between two blocks of a long text, where other maskers may work meanwhile. False: the
     * text is not wanted any more, and the masker fails. NULL: nothing is called. */
    bool (*between)(void);
    void *arg;
};

/* NULL: out of memory. Small until it is first fed. */
struct masker *masker_new(const struct masker_options *options);
void masker_free(struct masker *s);

/* The next piece of the stream. What can be said now is in *ret_text, which holds until the next
 * call. After a failure the stream is broken: every call fails and nothing more comes out. */
int masker_feed(struct masker *s, const void *data, size_t len, struct clean_text *ret_text,
                struct error *err);

/* The end of the stream: what was held back. The masker is ready for another stream. */
int masker_finish(struct masker *s, struct clean_text *ret_text, struct error *err);

/* A whole text: fed and finished. Not in the middle of a stream. */
int masker_text(struct masker *s, const void *data, size_t len, struct clean_text *ret_text,
                struct error *err);

/* Text that leaves without being masked here: because the operator switched masking off, or because
 * the server that sent it has masked it. tools/check-banned lists the callers. */
struct clean_text masker_pass_unmasked(const char *data, size_t len);

/* Short texts that came out of the masker unchanged, so that they need not be masked again. */
#define MASKER_RECENT_COUNT 8
#define MASKER_RECENT_SIZE  64

struct masker_recent {
    char texts[MASKER_RECENT_COUNT][MASKER_RECENT_SIZE];
    unsigned next;
};

/* *ret_text holds until the next masker_recent_keep(). */
bool masker_recent_find(const struct masker_recent *recent, const char *text,
                        struct clean_text *ret_text);

/* Keeps a copy unless it is too long. */
void masker_recent_keep(struct masker_recent *recent, struct clean_text text);

/* For the texts that follow; NULL: labels. Not in the middle of a stream. */
void masker_use_names(struct masker *s, struct pseudonyms *names);

/* The number of secrets masked since the masker was made. */
uint64_t masker_count(const struct masker *s);

/* The number of bytes examined since the masker was made. It grows with the text, whatever the text
 * is: see MASKER_WORK_HARD. */
uint64_t masker_work(const struct masker *s);

/* Was text withheld because it would have taken too much work? */
bool masker_is_over(const struct masker *s);

/* The number of bytes replaced by labels since the masker was made. */
uint64_t masker_hidden_bytes(const struct masker *s);

/* ---- known secrets ---- */

/* A value that is shorter would be found everywhere. */
#define MASKER_VALUE_MIN ((size_t)6)

struct masker_values *masker_values_new(void);
void masker_values_free(struct masker_values *values);

/* From here on the value is masked as it is, in base64 (wherever it stands in it), percent-encoded,
 * in hexadecimal and escaped as in JSON; one that can stand in the name of a host, in lower case,
 * too. E_INVALID: it is too short or too long. */
int masker_values_add(struct masker_values *values, const char *value, size_t len,
                      struct error *err);

/* ---- rules of the operator ---- */

struct masker_rules *masker_rules_new(void);
void masker_rules_free(struct masker_rules *rules);

/* A name for the result and the label, an expression (RE2), which is looked for in each line, and
 * words of which one has to stand in the same line or those before; NULL: anywhere. */
int masker_rules_add(struct masker_rules *rules, const char *name, const char *pattern,
                     const char *context, struct error *err);

/* ---- what there is ---- */

struct masker_kind;
const struct masker_kind *masker_kind_at(unsigned index); /* NULL: no more */
