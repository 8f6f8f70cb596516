/* Inside the masker.
 *
 * The text is looked at as a *view*: without colours and invisible characters, which are kept aside
 * with their places (`gaps`). Vectorscan finds anchors in it, matchers decide what stands there. A
 * matcher looks back at most MASKER_LOOK_BACK bytes, says masker_found() for what must go, and
 * masker_wait() when the text ends before it can say; it is then asked again when there is more.
 */
#pragma once

#include <string.h>

#include "base/buf.h"
#include "mask/bytes.h"
#include "mask/kinds.h"
#include "mask/masker.h"

/* Bytes that a matcher may examine before its anchor. */
#define MASKER_LOOK_BACK ((size_t)1024)

/* Text before its own that the second masker gets. */
#define MASKER_TAIL (2 * MASKER_LOOK_BACK)

/* The widest anchor: so much may stand at the end of the view without being found yet. */
#define MASKER_ANCHOR_MAX ((size_t)16)

/* Taken in at once. */
#define MASKER_BLOCK ((size_t)65536)

/* And where others want a turn between two looks (masker_options.between): the slowest texts take
 * some ten milliseconds for it. */
#define MASKER_PIECE (MASKER_BLOCK / 2)

/* Invisible bytes kept of those that stand in what waits; the rest of them is dropped. */
#define MASKER_GAPS_MAX (2 * MASKER_BLOCK)

/* Room for the rows of the table. */
#define MASKER_KINDS_MAX 896

/* Kinds that have no row. */
#define MASKER_KIND_VALUE 0x10000u
#define MASKER_KIND_OVER  0x11000u /* withheld: too much work */
#define MASKER_KIND_RULE  0x20000u /* + the rule's number */

struct masker_gap {
    size_t at;   /* before this byte of the view */
    size_t from; /* in gap_bytes */
    size_t len;
    bool is_escape; /* comes out in place of this byte */
};

struct masker_span {
    size_t start, end;
    size_t from; /* of its anchor */
    unsigned kind;
};

enum masker_swallow { SWALLOW_NONE, SWALLOW_RUN, SWALLOW_LINE, SWALLOW_PEM };

/* ---- how much work there may be ----
 *
 * Every matcher does a bounded amount of work for each byte: where a run of bytes ends is looked up
 * once and remembered (masker_run_end()), so is which words stand near (masker_near()), and a value
 * is judged by its beginning (MASKER_JUDGE_MAX). What is examined is counted, and the count is
 * limited all the same, in two steps.
 *
 * A look at the view is put off while more was done than MASKER_WORK_SOFT for each byte. That
 * changes when text comes out, never which: it is as if the stream came in larger pieces. Beyond
 * MASKER_WORK_HARD the rest of the view and of its last line is withheld. No text is known that
 * gets there; the fuzzer looks for one. */
#define MASKER_WORK_SOFT  ((uint64_t)64)
#define MASKER_WORK_HARD  ((uint64_t)256)
#define MASKER_WORK_FEED  ((uint64_t)512)     /* for each piece of the stream */
#define MASKER_WORK_START ((uint64_t)1 << 20) /* and for the masker */

/* A value or token is judged by so many bytes. */
#define MASKER_JUDGE_MAX ((size_t)256)

/* So many values with the same end, longer than MASKER_VAIN_LEN, are judged. The next one is masked
 * unseen. */
#define MASKER_VAIN_MAX 16
#define MASKER_VAIN_LEN 64

enum masker_run_kind {
    /* of unquoted values: bare.c says what they are */
    RUN_BARE,
    RUN_SCALAR,
    RUN_SETTING,
    RUN_TEXT,
    RUN_ESCAPED,
    RUN_LIST,
    RUN_IN_STRING, /* three quotes, without and with brackets */
    RUN_PARAMETER = RUN_IN_STRING + 6,

    RUN_ELEMENT,    /* of <name>, up to a blank or < */
    RUN_CDATA,      /* up to ]]> or the end of the line */
    RUN_CREDENTIAL, /* of a header */
    RUN_QUERY,      /* of a signature in a URL */
    RUN_WORD,       /* up to a blank or the end of the line */
    RUN_NAME,
    RUN_PERCENT,         /* in a URL that is a part of another */
    RUN_ESCAPED_ELEMENT, /* of &lt;name&gt; */
    RUN_MARKED, /* up to an escaped quote or the end of the line: one for each (escape.c) */
    RUN_SEGMENT = RUN_MARKED + 27, /* up to the end of the line, or of what a string calls one */
    RUN_KEY,                       /* up to the END of a private key */
    RUN_QUOTED, /* and behind it: three quotes, MASKER_LEVELS levels, and three in a row */
};

#define MASKER_MARKS  (RUN_SEGMENT - RUN_MARKED)
#define MASKER_LEVELS 4
#define MASKER_RUNS   (RUN_QUOTED + 3 * (MASKER_LEVELS + 1))

/* No byte of [from, end) ends the run; that at `end` does, or is the end of the view. */
struct masker_run {
    size_t from, end;
    size_t slashes; /* backslashes before the quote at `end` */
    size_t parts;   /* + 1: from here to the end, all parts that look secret were masked */
    unsigned vain;  /* how many values with this end were judged */
    bool is_set;
    bool is_more; /* more text is needed to know whether it ends here */
};

/* The last place of one of some words. */
struct masker_seen {
    const char *words;
    size_t longest; /* of them */
    uint32_t first; /* a bit for the lower five of what each begins with */
    size_t to;      /* places before were looked at */
    size_t last;    /* + 1; 0: nowhere */
};

#define MASKER_SEEN_MAX 16

/* Strings and brackets that are open at some place of a line. */
struct masker_line {
    size_t start;
    unsigned char quote;   /* of the string in which the place is; 0: in none */
    unsigned outer, inner; /* brackets around that string, and in it */
    bool has_escapes;      /* there was one of \n \r \t \" \' */
    bool is_escape;        /* the byte before is a backslash */
    bool is_known;         /* the line does not begin too far back */
};

/* Findings of matchers about the view; dropped when the view changes. */
struct masker_memory {
    struct masker_run runs[MASKER_RUNS];
    struct masker_line line; /* at line_to */
    size_t line_to;
    bool has_line;
    struct masker_seen seen[MASKER_SEEN_MAX];
    size_t secret_to,
        secret_last; /* "kind: Secret" was looked for up to here; was seen here, + 1 */
};

/* The meaning of a name for its value. */
enum masker_name {
    NAME_NONE,   /* names no secret */
    NAME_WEAK,   /* names one if the value looks like one */
    NAME_TOKEN,  /* a token or key: never a number or a plain word */
    NAME_SECRET, /* whatever stands there */
    NAME_PHRASE, /* whatever stands there, spaces included */
};

/* ---- tables (table.c) ---- */

#define MASKER_COLUMNS_MAX    40 /* of a table that is read */
#define MASKER_SECRET_COLUMNS 6

enum masker_table_style {
    TABLE_NONE,
    TABLE_FIELDS,
    TABLE_CELLS,
    TABLE_LEFT,
    TABLE_RIGHT,
    TABLE_MARKED
};

/* The form of its rows (rows.c). */
enum masker_rows { ROWS_LINES, ROWS_WRITTEN, ROWS_HTML, ROWS_LISTS };

#define MASKER_PREFIX_MAX 4

struct masker_cell {
    size_t start, end;
};

struct masker_secret_column {
    unsigned index;
    enum masker_name what;
};

/* The table that is being read, or the last one. */
struct masker_table {
    enum masker_table_style style;
    enum masker_rows rows;
    unsigned depth;           /* of ROWS_WRITTEN: the backslashes of a newline, */
    unsigned char quote;      /* and the string's quote */
    unsigned char prefix_len; /* what all lines begin with: > or # and the like */
    char prefix[MASKER_PREFIX_MAX];
    bool is_numbered;        /* and, before that, the number of the line */
    unsigned char delimiter; /* of TABLE_FIELDS */
    bool is_sure;            /* other columns show that it is one of accounts: words count, too */
    bool is_login;           /* and that people log in there: words with digits are tokens */
    bool is_ruled;           /* dashes tell where aligned columns begin and end */
    bool is_either;          /* its first row is aligned both ways */
    bool has_gaps;           /* two blanks or more stand between its names, */
    bool has_index;          /* and blanks before the first one */
    unsigned columns, n_secret;
    struct masker_secret_column secret[MASKER_SECRET_COLUMNS];
    struct masker_cell places[MASKER_COLUMNS_MAX]; /* of aligned columns, in characters */
    uint64_t next; /* where its next line begins in the stream; headers before were read */
};

/* A masker that reads what came out once more (hidden_text.c). */
struct masker_reading {
    struct masker *masker; /* made when it is needed */
    bool is_reading;
    struct buf tail;   /* what came out last, while nobody reads it */
    struct buf joined; /* what came out before, and what was read once more */
    uint64_t lines;
};

/* The decoded reading ends with a line when there was no escape for so long. */
#define MASKER_QUIET ((size_t)1024)

/* Room for an escape that is not whole. */
#define MASKER_RAW_MAX 24

struct masker {
    struct masker_options options;
    bool is_broken;
    bool is_final; /* no more text comes */
    uint64_t count;
    uint64_t hidden; /* bytes behind labels */

    uint64_t work;   /* bytes examined */
    uint64_t *meter; /* the same, for matchers, to whom the masker is const */
    uint64_t fed;    /* bytes that came */
    uint64_t feeds;  /* pieces in which they came */
    size_t over;     /* where the work became too much; SIZE_MAX: nowhere */
    bool was_over;   /* text was withheld because of that */

    struct buf view;
    uint64_t view_offset; /* of view.data[0] in the stream */
    uint64_t lines;       /* before `emitted` */
    size_t emitted;       /* everything before has come out */
    size_t done;          /* anchors before are decided */
    size_t swallowed;     /* no anchor begins before the end of what was swallowed */
    size_t rules_done;    /* the operator's rules have seen everything before, */
    size_t rules_to;      /* and in this look everything before this, */
    bool rules_cut;       /* which is in the middle of a line */

    unsigned char *inside; /* bits: these bytes of the view are in something that was found */

    struct masker_gap *gaps;
    size_t n_gaps, gaps_size, gaps_out; /* those before gaps_out have come out */
    struct buf gap_bytes;
    unsigned char half[4]; /* a character of which bytes are missing */
    unsigned n_half;
    int escape; /* state of a terminal sequence */
    size_t escape_len;
    unsigned char escape_last;
    bool escape_is_title; /* OSC, which BEL ends */

    bool is_literal;                        /* reads strings of terminal sequences as text */
    bool is_decoded;                        /* reads escapes as the characters they stand for */
    bool has_strings;                       /* there was such a sequence in this stream */
    struct masker_reading literal, decoded; /* further readings of what came out */
    size_t plain_out; /* so much of `out` came before the first such sequence */
    struct buf half_escape, whole_escape;

    unsigned char raw[MASKER_RAW_MAX]; /* of the decoded view: an escape that is not whole, */
    size_t n_raw;
    bool is_in_url; /* whether + is a blank, */
    size_t quiet;   /* and the bytes since the last escape */

    uint64_t block_from, block_to; /* the last value of several lines: places in the stream */

    struct masker_table table;

    enum masker_swallow swallow;
    bool pem_has_begun; /* its first line has been taken */

    /* of one look at the view */
    struct masker_span *spans;
    size_t n_spans, spans_size;
    size_t hold;       /* nothing from here on may come out */
    size_t redo;       /* anchors from here on are to be looked at again */
    size_t anchor_end; /* of the anchor that is looked at; 0: none */
    size_t pem;        /* where a private key begins; SIZE_MAX: nowhere */
    unsigned hold_kind, pem_kind;
    size_t tried[MASKER_KINDS_MAX]; /* tokens of that kind were looked for up to here */
    size_t *headers; /* lines that may be headers of tables: places of words in them */
    size_t n_headers, headers_size;
    size_t headers_to; /* looked at up to here */
    size_t header;     /* the one that is looked at */
    /* Candidates before this one were read from text far before the end of the view, and no table
     * goes on behind them; it was then `headers_next`. SIZE_MAX: not known. */
    size_t headers_sure;
    uint64_t headers_next;
    struct masker_memory remembered;
    struct masker_memory *memory; /* the same, for matchers */

    struct buf out;
};

enum masker_read { READ_NONE, READ_VALUE, READ_MORE };

/* ---- for matchers ---- */

static inline unsigned char masker_at(const struct masker *s, size_t i)
{
    return (unsigned char)s->view.data[i];
}

static inline const char *masker_view(const struct masker *s, size_t i)
{
    return s->view.data + i;
}

/* Does the text go on behind this place, in a way we cannot know yet? */
static inline bool masker_is_open(const struct masker *s, size_t i)
{
    return i >= s->view.len && !s->is_final;
}

void masker_found(struct masker *s, unsigned kind, size_t from, size_t start, size_t end);

/* Ask again when there is more; until then nothing from `hold` on comes out. */
void masker_wait(struct masker *s, unsigned kind, size_t from, size_t hold);

/* Behind the blanks at `at`, a few at most; behind at most `max` bytes of the set. */
size_t masker_skip_blanks(const struct masker *s, size_t at);
size_t masker_skip_any(const struct masker *s, size_t at, const char *set, size_t max);

/* The text stands here, in any case. */
bool masker_is_at(const struct masker *s, size_t at, const char *text);

/* The text ends before it is known whether this stands here. */
bool masker_is_half(const struct masker *s, size_t at, const char *text);

/* An invisible thing stands right before this byte. */
bool masker_has_gap(const struct masker *s, size_t at);

/* Bytes before the anchor that belong to it; SIZE_MAX: it does not fit. */
size_t masker_left(const struct masker *s, unsigned kind, size_t from);

/* Does a word begin here? */
bool masker_begins_word(const struct masker *s, size_t at);

/* One of the words, in any case, in the lines before `at`. */
bool masker_near(const struct masker *s, size_t at, const char *words);

/* So many bytes were examined. */
static inline void masker_charge(const struct masker *s, size_t bytes)
{
    *s->meter += bytes;
}

/* Is it too much by now? Nothing from `at` on is then looked at any more. */
void masker_check_work(struct masker *s, size_t at);

void masker_forget(struct masker *s);

bool masker_is_credential_char(unsigned char c);

/* The end of the run to which `at` belongs. */
struct masker_run *masker_run_end(const struct masker *s, enum masker_run_kind kind, size_t at);

/* Counts the values with this end. Returns true where there were too many to judge another one. */
bool masker_in_vain(struct masker_run *run, size_t start);

/* [start, end) is a secret, but may hold code where the language sees the end of it earlier: from
 * `code` on only what looks secret by itself is masked. `run`: what told its end, or NULL for one
 * that no other has. */
void masker_found_parts(struct masker *s, unsigned kind, size_t from, size_t start, size_t code,
                        size_t end, struct masker_run *run);

struct masker_line masker_line_at(const struct masker *s, size_t at);

/* ---- unquoted values (bare.c) ---- */

/* The bytes that end the string that begins here. */
enum masker_run_kind masker_bare_kind(const struct masker *s, size_t at, bool begins_line,
                                      bool is_colon);
enum masker_read masker_ends_bare(const struct masker *s, enum masker_run_kind kind, size_t at);

/* Is this the quote of the string around it? */
bool masker_is_quote_of(enum masker_run_kind kind, unsigned char quote);

/* Its end without the punctuation behind it. */
size_t masker_trim_bare(const struct masker *s, size_t start, size_t end);

/* ---- escaped quotes and signs (escape.c) ---- */

enum masker_sign_form { SIGN_FORM_TEXT, SIGN_FORM_URL, SIGN_FORM_ELEMENT };

enum masker_read masker_quote_at(const struct masker *s, size_t at, unsigned *ret_quote,
                                 size_t *ret_end);
enum masker_read masker_sign_at(const struct masker *s, size_t at, enum masker_sign_form *ret_form,
                                size_t *ret_end);
enum masker_read masker_ends_marked(const struct masker *s, unsigned quote, size_t at);
enum masker_read masker_ends_escaped(const struct masker *s, size_t at);
bool masker_ends_percent(const struct masker *s, size_t at);
size_t masker_skip_percent(const struct masker *s, size_t at);
size_t masker_skip_escape(const struct masker *s, size_t start, size_t from);

/* ---- parts ---- */

/* The constructor of clean text. It is for maskers only. */
struct clean_text masker_clean(const char *data, size_t len);

int masker_view_add(struct masker *s, const unsigned char *data, size_t len, struct error *err);
int masker_view_finish(struct masker *s, struct error *err);

/* The number of bytes before the first terminal sequence that may hold text. */
size_t masker_plain_part(const unsigned char *data, size_t len);

/* Has other maskers read s->out, if there is anything to read. */
int masker_read_again(struct masker *s, bool is_end, struct clean_text *ret_text,
                      struct error *err);

/* ---- escaped text (decoded.c) ---- */

/* Finds the first escape, or the word before it that it may say something about. SIZE_MAX: there is
 * none. */
size_t masker_find_escape(const struct buf *tail, const char *text, size_t len);

/* The bytes at the end that may be the beginning of an escape. */
size_t masker_half_escape(const char *text, size_t len);

/* To the view of a masker that is_decoded. */
int masker_view_add_decoded(struct masker *s, const unsigned char *data, size_t len,
                            struct error *err);
int masker_view_finish_decoded(struct masker *s, struct error *err);

/* Adds text as it is; a character in place of its escape. */
int masker_view_add_text(struct masker *s, const unsigned char *data, size_t len,
                         struct error *err);
int masker_view_add_escape(struct masker *s, const unsigned char *data, size_t len, unsigned char c,
                           struct error *err);

void masker_match(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_token(struct masker *s, unsigned kind, size_t from);
void masker_match_name(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_query(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_signature(struct masker *s, unsigned kind, size_t from, size_t to);

/* Behind the word before the value of a pair: content= and , value: of a field that has a name. */
size_t masker_skip_value_name(const struct masker *s, size_t at);

/* v1=X,v0=Y: the second signature of a header, in another version, at `at`. */
void masker_next_signature(struct masker *s, unsigned kind, size_t from, size_t at);

void masker_match_header(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_scheme(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_cookie(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_login(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_url(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_manifest(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_near(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_aws(struct masker *s, unsigned kind, size_t from);
void masker_match_pem(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_personal(struct masker *s, unsigned kind, size_t from, size_t to);

/* Holds back the end of the view where it may be the beginning of an anchor. */
void masker_hold_tail(struct masker *s);

void masker_values_scan(struct masker *s);
void masker_rules_scan(struct masker *s);
void masker_rules_settle(struct masker *s);
const char *masker_rules_name(const struct masker_rules *rules, unsigned index);
const char *masker_rules_label(const struct masker_rules *rules, unsigned index);
const char *masker_rules_pattern(const struct masker_rules *rules, unsigned index);

/* The end of the line, or of what a string calls one. *ret_next: where the next one begins. */
size_t masker_segment_end(const struct masker *s, size_t at, size_t *ret_next);

/* Consumes what belongs to a private key from s->emitted on; false: it may go on. */
bool masker_swallow_pem(struct masker *s);

void masker_match_command(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_echo(struct masker *s, unsigned kind, size_t from, size_t to);

void masker_match_call(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_account(struct masker *s, unsigned kind, size_t from, size_t to);
void masker_match_before(struct masker *s, unsigned kind, size_t from, size_t to);

/* ---- a printed Series (series.c) ---- */

/* Its name stands at [start, end). */
void masker_match_series(struct masker *s, unsigned kind, size_t from, size_t start, size_t end,
                         enum masker_name what);

/* Holds back rows at the end of the view whose name may follow. */
void masker_hold_series(struct masker *s);

void masker_match_encoded(struct masker *s, unsigned kind, size_t from);

void masker_match_here(struct masker *s, unsigned kind, size_t from, size_t to);

void masker_match_sql(struct masker *s, unsigned kind, size_t from, size_t to);

/* The state of reading a sentence. */
struct masker_sentence {
    size_t at;
    unsigned words, is_free; /* words that were read; those that may be anything */
    bool has_verb;
    bool is_url;           /* blanks are written as in a URL */
    bool is_verb, is_code; /* the name: "pass", or one with underscores */
    bool is_foreign;       /* or one of another language, of which we know few words */
    bool ends_verb;        /* the last word was a verb */
    size_t start, end;     /* the secret */
};

/* A value in the sentence behind a name that begins at `name` and ends at `at`. True: it was found,
 * or more must come. */
bool masker_match_sentence(struct masker *s, unsigned kind, size_t from, size_t name, size_t at,
                           enum masker_name what);

/* Is it one of the words of the list, in any case? */
bool masker_is_listed(const struct masker *s, size_t start, size_t end, const char *list);

/* The word at `at`, without punctuation and quotes around it. Returns its end with them. */
size_t masker_word_end(const struct masker *s, size_t at, bool is_url, size_t *ret_start,
                       size_t *ret_end);

/* Does it look like a secret in a sentence that says it is one? */
bool masker_looks_said(const struct masker *s, enum masker_name what, size_t start, size_t end);

/* ---- values before their names (said.c) ---- */

/* use X as the password */
void masker_match_use(struct masker *s, unsigned kind, size_t from, size_t to);

/* X is the password: the name stands at [start, end). */
void masker_match_said(struct masker *s, unsigned kind, size_t from, size_t start, size_t end);

/* Holds back a word at the end of the view that such a sentence may follow. */
void masker_hold_said(struct masker *s);

/* The bytes of such a word that stands before `at`, where the text ends or an escape begins.
 * `tail`: what stood before the text. */
size_t masker_said_before(const struct buf *tail, const char *text, size_t len, size_t at);

/* Most that it returns. */
#define MASKER_SAID_MAX 128

/* Finds values in secret columns: a line that may be a header, all lines, and when it is known how
 * much came out. */
void masker_table_candidate(struct masker *s, size_t from);
void masker_table_scan(struct masker *s);
void masker_table_settle(struct masker *s);

/* ---- review (review.c) ---- */

static inline bool masker_is_review(const struct masker *s)
{
    return s->options.mode == MASKER_REVIEW;
}

/* Is this a kind that proves itself? */
bool masker_is_certain(unsigned kind);

/* Does this token, which the pattern found, prove itself? */
bool masker_is_proven(unsigned kind, const char *text, size_t len);

/* A byte that may be hidden from a person who decides. */
bool masker_may_hide(unsigned char c);

/* The body of a private key, line by line. `at`: behind the BEGIN line. */
void masker_review_pem(struct masker *s, unsigned kind, size_t from, size_t at);

/* ---- checks (check.c) ---- */

bool masker_check(enum masker_check check, const char *text, size_t len, bool is_whole_word);
double masker_entropy(const char *text, size_t len);
bool masker_is_mixed(const char *text, size_t len);

/* Its letters follow one another as in words. */
bool masker_reads_as_words(const char *text, size_t len);
/* GoogleCloudV1Secret; enable-login-2fa: names of things, with a digit or two. */
bool masker_is_type_name(const char *text, size_t len);
bool masker_is_title(const char *text, size_t len);

/* Small letters and capitals, which follow one another as in no word. */
bool masker_is_drawn(const char *text, size_t len); /* as chance mixes characters */
bool masker_looks_random(const char *text,
                         size_t len); /* the floor for what a name alone makes suspicious */
bool masker_is_basic(const char *text, size_t len); /* user:password in base64 */
bool masker_is_luhn(const char *digits, size_t len);
bool masker_has_checksum(enum masker_check check, const char *text, size_t len);
int masker_base64_value(unsigned char c); /* both alphabets; -1: none of it */
size_t masker_base64_decode(const char *text, size_t len, unsigned char *out, size_t size);

/* ---- names and values (name.c, value.c) ---- */

enum masker_list {
    LIST_NEUTRAL,
    LIST_KEYS_STRONG,
    LIST_KEYS_PUBLIC,
    LIST_PASSWORDS,
    LIST_TOKENS,
    LIST_HOSTS,
    LIST_PHRASES,
    LIST_PHRASE_FIRST,
    LIST_WEAK,
    LIST_COUNTS,
    LIST_PUBLIC,
    LIST_NOTHING,
    LIST_VERBS,
    LIST_FILLERS,
    LIST_OPENERS,
    LIST_ACCOUNTS,
    LIST_LOGINS,
    LIST_FOREIGN,
    LIST_SPEECH,
    MASKER_LISTS
};

#define MASKER_WORD_MAX 32

/* The lists in which a word stands, in any case: a bit for each. */
unsigned masker_lists_of(const char *text, size_t len);

enum masker_name masker_name_of(const char *text, size_t len);

/* May a command of a shell stand here? */
enum masker_shell {
    SHELL_NO,
    SHELL_MAYBE, /* or a line of settings */
    SHELL_YES,
};

struct masker_value {
    size_t start, end;
    struct masker_run *run; /* that told its end */
    char quote;             /* 0: none */
    enum masker_shell shell;
    bool is_option;     /* --name value */
    bool has_arguments; /* words follow it, as behind a command */
    bool is_format;     /* {...} in it is code */
    bool is_expanded;   /* $(...) in double quotes may be code */
    bool is_quoted;
    bool has_lines;   /* several, up to its quote */
    bool is_open;     /* three quotes that are not closed in their line */
    bool is_data;     /* in a notation that has no code */
    bool is_env;      /* name=value without spaces */
    bool is_constant; /* NAME or --name: what follows is no piece of code */
    bool has_line;    /* name and value are all of the line */
    bool is_text;     /* no code stands in its place: words with dots between them are words */
    bool ends_line;   /* nothing follows it */
};

/* The value that begins at `at`, quotes and all; `bare`: what ends it without quotes. READ_MORE:
 * hold from ret->start on. */
enum masker_read masker_read_value(const struct masker *s, size_t at, enum masker_run_kind bare,
                                   struct masker_value *ret);
bool masker_is_secret_value(const struct masker *s, enum masker_name name,
                            const struct masker_value *value);

/* Variants with and without text that may be code; and for one of too many secrets with the same
 * end. */
bool masker_is_secret_text(const struct masker *s, enum masker_name name,
                           const struct masker_value *value);

/* Is it not known yet what follows a value that may be a call? */
bool masker_is_half_call(const struct masker *s, const struct masker_value *value);

/* Masks it, but for what may be code in it. */
void masker_found_value(struct masker *s, unsigned kind, size_t from,
                        const struct masker_value *value);

/* Words with one sign between them, as people make passwords of them: river-stone-maple. Words with
 * blanks between them must be four. False: the words are those of a sentence, or of code. */
bool masker_is_phrase(const char *text, size_t len);

/* A word that says something about a password, and is none: mismatched, SecureString. */
bool masker_describes(const char *text, size_t len);

/* The kind of a secret that its place alone tells. */
unsigned masker_generic_kind(void);

/* ---- what stands in place of a value (placeholder.c) ---- */

/* A value that is longer than this stands for nothing else. */
#define MASKER_PLACEHOLDER_MAX MASKER_JUDGE_MAX

bool masker_is_placeholder(const char *text, size_t len);

/* A technical term with digits: sha256, oauth2, base64-encoded, 16-byte. */
bool masker_is_technical(const char *text, size_t len);

/* A name of two letters or more, with no digit before a capital: k9Zx is none. */
bool masker_is_identifier(const char *text, size_t len);

size_t masker_odd_digits(const char *text, size_t len); /* of no common number, such as 256 */
bool masker_is_domain(const char *text, size_t len);

bool masker_has_digit(const char *text, size_t len);

/* The number of bytes before the first byte of the set. */
size_t masker_text_until(const char *text, size_t len, const char *set);

/* ---- values of several lines (multiline.c) ---- */

/* Masks the lines of [start, end) that look secret. */
void masker_found_lines(struct masker *s, unsigned kind, size_t from, enum masker_name what,
                        size_t start, size_t end);

/* Masks a string with three quotes, of which this is the first line. Waits for its end. */
void masker_read_triple(struct masker *s, unsigned kind, size_t from, enum masker_name what,
                        const struct masker_value *value);

/* Finds the end of the string whose text begins at `at` and continues in the next lines. READ_NONE:
 * not near, or the string has words and is not a secret. */
enum masker_read masker_find_closing(const struct masker *s, size_t at, unsigned char quote,
                                     size_t *ret_end);

/* The sign of a block scalar stands here, | or >; its lines begin at *ret_lines. */
enum masker_read masker_begins_block(const struct masker *s, size_t at, size_t *ret_lines);

/* Masks its lines that look secret: those that are indented farther than its name. Waits for them.
 */
void masker_read_block(struct masker *s, unsigned kind, size_t from, enum masker_name what,
                       size_t at, size_t column);

/* ---- split over lines (wrapped.c) ---- */

/* A JSON web token over several lines; true: it is one, or may be. */
bool masker_match_jwt_lines(struct masker *s, unsigned kind, size_t from);

/* Masks parts of a value that was found which stand behind it: more strings, lines of base64. */
void masker_follow_value(struct masker *s, unsigned kind, size_t from,
                         const struct masker_value *value);

/* The rest of a word that a backslash continues in the next line. */
enum masker_read masker_find_rest(const struct masker *s, const struct masker_value *value,
                                  struct masker_value *ret);

/* The value that begins in the next line. READ_VALUE: *at is where; READ_MORE: it may. */
enum masker_read masker_next_line(const struct masker *s, size_t *at);

/* ---- values that are not at once behind the name (nested.c) ---- */

/* Would it be taken for a secret with less than a name and a sign before it? */
bool masker_is_strong(const struct masker *s, enum masker_name what, size_t start, size_t end);

/* Has it letters and digits, or signs, as a word of a text has not? */
bool masker_is_unlike_words(const struct masker *s, size_t start, size_t end);

/* ["a", "b"] or {"value": "a"} begins here. Masks strings in it. Waits for its end. */
bool masker_begins_nested(const struct masker *s, size_t at);
void masker_read_nested(struct masker *s, unsigned kind, size_t from, enum masker_name what,
                        bool is_plural, size_t at);

/* A list of YAML below a name that stands for many: its items. Returns false where there is none,
 * and waits for the end of it. */
bool masker_read_items(struct masker *s, unsigned kind, size_t from, size_t at);

/* Skips what stands before the string in Some("..."). READ_MORE: it may be one. */
enum masker_read masker_skip_wrapper(const struct masker *s, size_t *at);

/* Behind brackets, quotes and | base64 -d, which end a line that shows a secret. */
size_t masker_skip_last(const struct masker *s, size_t at);

/* Behind > and ```, which stand before a value that is set off from its name. */
size_t masker_skip_fence(const struct masker *s, size_t at);

/* A value alone in the line below a name that is alone in its line or behind a prompt. */
void masker_match_below(struct masker *s, unsigned kind, size_t from, size_t start, size_t end,
                        enum masker_name what);

/* ---- commands behind values (shell.c) ---- */

/* Is the name that begins here where a command begins? */
enum masker_shell masker_shell_at(const struct masker *s, size_t name);

/* Sets has_arguments of an unquoted value. READ_MORE: hold from its start on. */
enum masker_read masker_read_arguments(const struct masker *s, struct masker_value *value);

/* Does a shell run something at this $ or backtick? */
bool masker_begins_expansion(const struct masker *s, size_t at, size_t end, enum masker_shell shell,
                             bool has_arguments);

/* The beginning of code in the value or after it; `end`: there is none. */
size_t masker_find_command(const struct masker *s, const struct masker_value *value, size_t end);
