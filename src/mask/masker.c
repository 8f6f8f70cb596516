#include "mask/masker.h"

#include <assert.h>
#include <stdlib.h>

#include <hs/hs_runtime.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "mask/internal.h"
#include "mask/pseudonyms.h"

/* Block, what waits, what is looked back at, and the window of a matcher. */
#define VIEW_MAX (4 * MASKER_BLOCK)

/* Cost of an anchor before its matcher has examined anything. */
#define ANCHOR_WORK 16

/* Gaps that have come out are forgotten in batches. */
#define GAPS_OUT_MAX 8

/* Vectorscan's working memory, made when the first text comes and shared by all maskers of the
 * process: they work one after the other. */
static hs_scratch_t *scratch;
static bool has_scratch[2]; /* for secrets, for all */

static const hs_database_t *database_of(const struct masker *s)
{
    return (const hs_database_t *)(s->options.is_aggressive ? masker_database_all
                                                            : masker_database_secrets);
}

static void init_reading(struct masker_reading *reading)
{
    buf_init(&reading->tail, 8 * MASKER_TAIL);
    buf_init(&reading->joined, SIZE_MAX / 2);
}

static void done_reading(struct masker_reading *reading)
{
    buf_done(&reading->tail);
    buf_done(&reading->joined);
    masker_free(reading->masker);
}

struct masker *masker_new(const struct masker_options *options)
{
    struct masker *s = calloc(1, sizeof(*s));

    assert(masker_kind_count <= MASKER_KINDS_MAX);
    if (!s)
        return NULL;
    s->options = *options;
    if (masker_is_review(s)) {
        s->options.is_aggressive = false;
        s->options.rules = NULL;
        s->options.names = NULL;
    }
    s->lines = 1;
    buf_init(&s->view, VIEW_MAX);
    buf_init(&s->gap_bytes, MASKER_GAPS_MAX);
    buf_init(&s->out, SIZE_MAX / 2);
    init_reading(&s->literal);
    init_reading(&s->decoded);
    buf_init(&s->half_escape, MASKER_RAW_MAX + MASKER_SAID_MAX);
    buf_init(&s->whole_escape, SIZE_MAX / 2);
    s->meter = &s->work;
    s->memory = &s->remembered;
    s->over = SIZE_MAX;
    return s;
}

void masker_free(struct masker *s)
{
    if (!s)
        return;
    buf_wipe(&s->view);
    buf_done(&s->gap_bytes);
    buf_done(&s->out);
    done_reading(&s->literal);
    done_reading(&s->decoded);
    buf_done(&s->half_escape);
    buf_done(&s->whole_escape);
    free(s->gaps);
    free(s->spans);
    free(s->headers);
    free(s->inside);
    free(s);
}

/* The masker itself, and those that read once more; NULL: it has none. */
static const struct masker *reader(const struct masker *s, unsigned which)
{
    return which == 0 ? s : which == 1 ? s->literal.masker : s->decoded.masker;
}

#define READERS 3

void masker_use_names(struct masker *s, struct pseudonyms *names)
{
    s->options.names = names;
    if (s->literal.masker)
        s->literal.masker->options.names = names;
    if (s->decoded.masker)
        s->decoded.masker->options.names = names;
}

uint64_t masker_count(const struct masker *s)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < READERS; i++)
        count += reader(s, i) ? reader(s, i)->count : 0;
    return count;
}

uint64_t masker_hidden_bytes(const struct masker *s)
{
    uint64_t hidden = 0;

    for (unsigned i = 0; i < READERS; i++)
        hidden += reader(s, i) ? reader(s, i)->hidden : 0;
    return hidden;
}

uint64_t masker_work(const struct masker *s)
{
    uint64_t work = 0;

    for (unsigned i = 0; i < READERS; i++)
        work += reader(s, i) ? reader(s, i)->work : 0;
    return work;
}

bool masker_is_over(const struct masker *s)
{
    for (unsigned i = 0; i < READERS; i++)
        if (reader(s, i) && reader(s, i)->was_over)
            return true;
    return false;
}

const struct masker_kind *masker_kind_at(unsigned index)
{
    return index < masker_kind_count ? &masker_kinds[index] : NULL;
}

/* ---- what is inside something that was found ---- */

/* Words in a secret name nothing. It must not matter whether it has come out already, so this is
 * remembered as long as the bytes are in the view; and it counts only for anchors that come behind
 * the one that found it, wherever the stream was cut. */
static void cover(struct masker *s, size_t start, size_t end)
{
    if (!s->anchor_end)
        return;
    start = start + 1 > s->anchor_end ? start + 1 : s->anchor_end;
    end = end < VIEW_MAX ? end : VIEW_MAX;
    if (start >= end)
        return;
    if (!s->inside) {
        s->inside = calloc(1, VIEW_MAX / 8);
        if (!s->inside) {
            s->is_broken = true;
            return;
        }
    }
    masker_charge(s, (end - start) / 16);
    for (; start < end && start % 8; start++)
        s->inside[start / 8] |= (unsigned char)(1 << start % 8);
    if (end - start >= 8)
        memset(s->inside + start / 8, 0xff, (end - start) / 8);
    for (start = end - (end > start ? (end - start) % 8 : 0); start < end; start++)
        s->inside[start / 8] |= (unsigned char)(1 << start % 8);
}

static bool is_inside(const struct masker *s, size_t at)
{
    return s->inside && at < VIEW_MAX && s->inside[at / 8] >> at % 8 & 1;
}

/* `drop`: a multiple of 8; `len`: of the view before. */
static void move_inside(struct masker *s, size_t drop, size_t len)
{
    size_t bytes = (len + 7) / 8 < VIEW_MAX / 8 ? (len + 7) / 8 : VIEW_MAX / 8;

    if (!s->inside)
        return;
    memmove(s->inside, s->inside + drop / 8, bytes - drop / 8);
    memset(s->inside + bytes - drop / 8, 0, drop / 8);
}

/* ---- what matchers say ---- */

void masker_found(struct masker *s, unsigned kind, size_t from, size_t start, size_t end)
{
    if (start >= end || s->is_broken)
        return;
    cover(s, start, end);
    if (end <= s->emitted)
        return;
    if (s->n_spans == s->spans_size) {
        size_t size = s->spans_size ? 2 * s->spans_size : 16;
        struct masker_span *grown = reallocarray(s->spans, size, sizeof(*grown));

        if (!grown) {
            s->is_broken = true;
            return;
        }
        s->spans = grown;
        s->spans_size = size;
    }
    if (start < s->emitted)
        start = s->emitted;
    s->spans[s->n_spans++] = (struct masker_span){start, end, from, kind};
}

void masker_wait(struct masker *s, unsigned kind, size_t from, size_t hold)
{
    if (from < s->redo)
        s->redo = from;
    if (hold < s->emitted)
        hold = s->emitted;
    if (hold < s->hold) {
        s->hold = hold;
        s->hold_kind = kind;
    }
}

/* ---- how much work there may be ---- */

static uint64_t allowance(const struct masker *s, uint64_t for_each_byte)
{
    return MASKER_WORK_START + for_each_byte * s->fed + MASKER_WORK_FEED * s->feeds;
}

void masker_check_work(struct masker *s, size_t at)
{
    if (s->work > allowance(s, MASKER_WORK_HARD) && s->over == SIZE_MAX)
        s->over = at;
}

/* May the view be looked at, or should more text come first? */
static bool may_look(const struct masker *s)
{
    return s->is_final || s->view.len - s->emitted > MASKER_BLOCK ||
           s->work <= allowance(s, MASKER_WORK_SOFT);
}

/* ---- one look at the view ---- */

static bool is_generic(unsigned kind)
{
    return kind < MASKER_KIND_VALUE && masker_kinds[kind].flags & MASKER_GENERIC;
}

static int on_anchor(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                     void *arg)
{
    struct masker *s = arg;
    size_t end = s->done + (size_t)to, start = end - masker_programs[id].width;

    (void)from;
    (void)flags;
    if (masker_is_review(s) && !masker_is_certain(id))
        return 0;
    /* Inside something that goes anyway, or behind what waits: it is looked at again. What may
     * begin before that is looked at now, or its beginning would come out. */
    if (start >= s->hold + masker_programs[id].left.max || (is_generic(id) && is_inside(s, start)))
        return 0;
    masker_charge(s, ANCHOR_WORK);
    s->anchor_end = end;
    masker_match(s, id, start, end);
    s->anchor_end = 0;
    masker_check_work(s, start);
    return s->is_broken || s->pem != SIZE_MAX || s->over != SIZE_MAX;
}

static void hold_end(struct masker *s)
{
    masker_hold_tail(s);
    masker_hold_series(s);
}

static int look(struct masker *s, struct error *err)
{
    hs_error_t r;

    s->n_spans = s->n_headers = s->headers_to = 0;
    s->headers_sure = SIZE_MAX;
    s->hold = s->redo = s->view.len;
    s->pem = SIZE_MAX;
    s->over = SIZE_MAX;
    memset(s->tried, 0, sizeof(s->tried));
    if (!has_scratch[s->options.is_aggressive]) {
        if (hs_alloc_scratch(database_of(s), &scratch) != HS_SUCCESS)
            return error_set(err, E_SYSTEM, "cannot start the masker");
        has_scratch[s->options.is_aggressive] = true;
    }
    r = hs_scan(database_of(s), s->view.data + s->done, (unsigned)(s->view.len - s->done), 0,
                scratch, on_anchor, s);
    if (r == HS_SCRATCH_IN_USE || (r != HS_SUCCESS && r != HS_SCAN_TERMINATED))
        return error_set(err, E_INTERNAL, "the masker failed (%d)", r);
    /* Of the view only what was scanned counts; where a private key begins, the scan has ended. */
    masker_charge(s, (s->pem != SIZE_MAX ? s->pem : s->view.len) - s->done);
    if (s->pem != SIZE_MAX && s->pem < s->hold)
        s->hold = s->pem;
    if (s->options.values && s->over == SIZE_MAX)
        masker_values_scan(s);
    if (s->options.rules && s->over == SIZE_MAX)
        masker_rules_scan(s);
    if (s->over == SIZE_MAX)
        masker_table_scan(s);
    if (!s->is_final && s->pem == SIZE_MAX && s->over == SIZE_MAX)
        hold_end(s);
    if (s->over != SIZE_MAX && s->over < s->hold)
        s->hold = s->over;
    return s->is_broken ? error_memory(err) : 0;
}

/* ---- what comes out ---- */

static int add_gaps(struct masker *s, size_t to, bool keeps, struct error *err)
{
    for (; s->gaps_out < s->n_gaps && s->gaps[s->gaps_out].at <= to; s->gaps_out++) {
        const struct masker_gap *gap = &s->gaps[s->gaps_out];

        if (keeps && buf_add(&s->out, s->gap_bytes.data + gap->from, gap->len, err) < 0)
            return -1;
    }
    return 0;
}

/* The escape that comes out in place of this byte. */
static bool is_escape_at(const struct masker *s, size_t at)
{
    return s->gaps_out < s->n_gaps && s->gaps[s->gaps_out].at == at &&
           s->gaps[s->gaps_out].is_escape;
}

/* The gaps right before this byte, not that in its place. */
static int add_gaps_before(struct masker *s, size_t at, struct error *err)
{
    while (s->gaps_out < s->n_gaps && s->gaps[s->gaps_out].at <= at && !is_escape_at(s, at)) {
        const struct masker_gap *gap = &s->gaps[s->gaps_out++];

        if (buf_add(&s->out, s->gap_bytes.data + gap->from, gap->len, err) < 0)
            return -1;
    }
    return 0;
}

/* The view from s->emitted on, with its gaps, those right before `to` included. */
static int pass(struct masker *s, size_t to, struct error *err)
{
    while (s->emitted < to) {
        size_t stop = to;

        if (add_gaps_before(s, s->emitted, err) < 0)
            return -1;
        if (is_escape_at(s, s->emitted)) {
            const struct masker_gap *gap = &s->gaps[s->gaps_out++];

            if (buf_add(&s->out, s->gap_bytes.data + gap->from, gap->len, err) < 0)
                return -1;
            s->emitted++;
            continue;
        }
        if (s->gaps_out < s->n_gaps && s->gaps[s->gaps_out].at < to)
            stop = s->gaps[s->gaps_out].at;
        if (buf_add(&s->out, s->view.data + s->emitted, stop - s->emitted, err) < 0)
            return -1;
        s->emitted = stop;
    }
    return add_gaps_before(s, to, err);
}

static void describe(const struct masker *s, unsigned kind, struct masker_find *find)
{
    if (kind >= MASKER_KIND_RULE) {
        find->kind = masker_rules_name(s->options.rules, kind - MASKER_KIND_RULE);
        find->label = masker_rules_label(s->options.rules, kind - MASKER_KIND_RULE);
        find->rule = masker_rules_pattern(s->options.rules, kind - MASKER_KIND_RULE);
    } else if (kind == MASKER_KIND_OVER) {
        find->kind = "withheld";
        find->label = "[WITHHELD]";
        find->rule = "text that takes too much work to mask";
    } else if (kind == MASKER_KIND_VALUE) {
        find->kind = "registered_value";
        find->label = "[REDACTED_SECRET]";
        find->rule = "a value known to be secret";
    } else {
        find->kind = masker_kinds[kind].name;
        find->label = masker_kinds[kind].label;
        find->rule = masker_kinds[kind].pattern;
    }
}

static void count_lines(struct masker *s, size_t from, size_t to)
{
    const char *at = s->view.data + from, *end = s->view.data + to;

    if (!s->options.on_find)
        return;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        s->lines++;
        at++;
    }
}

/* Secrets have labels and nothing else: a name is turned back. */
static bool is_personal(unsigned kind)
{
    return kind < MASKER_KIND_VALUE && masker_kinds[kind].flags & MASKER_AGGRESSIVE;
}

static int mask_all(struct masker *s, unsigned kind, size_t start, size_t end, struct error *err)
{
    struct masker_find find = {.len = end - start};
    const char *name = NULL;

    count_lines(s, s->emitted, start);
    if (pass(s, start, err) < 0)
        return -1;
    describe(s, kind, &find);
    if (s->options.names && is_personal(kind))
        name = pseudonyms_label(s->options.names, find.label, s->view.data + start, end - start);
    if (name)
        find.label = name;
    find.offset = s->view_offset + start;
    find.line = s->lines;
    if (buf_add_str(&s->out, find.label, err) < 0)
        return -1;
    if (s->options.on_find)
        s->options.on_find(s->options.arg, &find);
    s->count++;
    s->hidden += end - start;
    count_lines(s, start, end);
    if (end > start)
        (void)add_gaps(s, end - 1, false, err); /* invisible things inside go with it */
    s->emitted = end;
    return 0;
}

/* The end of the bytes that may be hidden from `at` on: the next byte that may not be, or the next
 * gap. */
static size_t hidden_run(const struct masker *s, size_t at, size_t end)
{
    if (s->gaps_out < s->n_gaps && s->gaps[s->gaps_out].at > at && s->gaps[s->gaps_out].at < end)
        end = s->gaps[s->gaps_out].at;
    while (at < end && masker_may_hide(masker_at(s, at)))
        at++;
    return at;
}

static int mask(struct masker *s, unsigned kind, size_t start, size_t end, struct error *err)
{
    if (!masker_is_review(s))
        return mask_all(s, kind, start, end, err);
    for (size_t at = start; at < end;) {
        size_t stop;

        if (pass(s, at, err) < 0)
            return -1;
        stop = hidden_run(s, at, end);
        if (stop > at && mask_all(s, kind, at, stop, err) < 0)
            return -1;
        at = stop > at ? stop : at + 1;
    }
    return 0;
}

static int compare_spans(const void *a, const void *b)
{
    const struct masker_span *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Things that overlap become one; the name that says most is kept. */
static size_t merge_spans(struct masker *s)
{
    size_t kept = 0;

    if (!s->n_spans)
        return 0;
    masker_charge(s, 8 * s->n_spans);
    qsort(s->spans, s->n_spans, sizeof(*s->spans), compare_spans);
    for (size_t i = 1; i < s->n_spans; i++) {
        struct masker_span *last = &s->spans[kept], *next = &s->spans[i];

        if (next->start >= last->end) {
            s->spans[++kept] = *next;
            continue;
        }
        if (is_generic(last->kind) && !is_generic(next->kind))
            last->kind = next->kind;
        if (next->end > last->end)
            last->end = next->end;
        if (next->from < last->from)
            last->from = next->from;
    }
    return kept + 1;
}

/* No table goes on behind it: its rows may not be there any more. */
static void begin_swallow(struct masker *s, enum masker_swallow what)
{
    s->swallow = what;
    s->table.style = TABLE_NONE;
}

/* The waiting text has become too long for anything but a secret. */
static int give_up_waiting(struct masker *s, struct error *err)
{
    /* A person decides: what has not proved itself is shown. */
    if (masker_is_review(s) && s->hold_kind != MASKER_KIND_VALUE) {
        count_lines(s, s->emitted, s->emitted + MASKER_HOLD_MAX);
        if (pass(s, s->emitted + MASKER_HOLD_MAX, err) < 0)
            return -1;
        s->done = s->emitted;
        return 0;
    }
    if (mask(s, s->hold_kind, s->emitted, s->emitted + MASKER_HOLD_MAX, err) < 0)
        return -1;
    begin_swallow(s, SWALLOW_RUN);
    s->done = s->emitted;
    return 0;
}

/* Too much was done: the rest of the view and of its last line goes unseen. */
static int withhold(struct masker *s, struct error *err)
{
    s->was_over = true;
    if (s->emitted < s->view.len && mask(s, MASKER_KIND_OVER, s->emitted, s->view.len, err) < 0)
        return -1;
    s->emitted = s->done = s->view.len;
    begin_swallow(s, SWALLOW_LINE);
    return 0;
}

static int settle(struct masker *s, struct error *err)
{
    size_t count = merge_spans(s), limit = s->hold, i = 0;

    for (i = 0; i < count && s->spans[i].end <= limit; i++)
        if (mask(s, s->spans[i].kind, s->spans[i].start, s->spans[i].end, err) < 0)
            return -1;
    if (i < count && s->spans[i].start < limit)
        limit = s->spans[i].start;
    for (; i < count; i++)
        if (s->spans[i].from < s->redo)
            s->redo = s->spans[i].from;
    count_lines(s, s->emitted, limit);
    if (pass(s, limit, err) < 0)
        return -1;
    if (s->options.rules)
        masker_rules_settle(s);
    masker_table_settle(s);
    s->done = s->redo < limit ? s->redo : limit;
    /* The beginning of an anchor may stand at the end of the view. */
    if (!s->is_final && s->done + MASKER_ANCHOR_MAX > s->view.len + 1)
        s->done = s->view.len < MASKER_ANCHOR_MAX ? 0 : s->view.len + 1 - MASKER_ANCHOR_MAX;
    if (s->done < s->swallowed)
        s->done = s->swallowed;
    return 0;
}

/* Returns false when everything was swallowed and it may go on. */
static bool swallow(struct masker *s)
{
    size_t at = s->emitted;
    bool has_ended;

    if (s->swallow == SWALLOW_PEM) {
        has_ended = masker_swallow_pem(s);
    } else {
        while (at < s->view.len &&
               (s->swallow == SWALLOW_LINE ? masker_at(s, at) != '\n'
                                           : !masker_is_space(masker_at(s, at)) &&
                                                 !strchr("\"'`<>;&|()", masker_at(s, at))))
            at++;
        masker_charge(s, at - s->emitted);
        has_ended = at < s->view.len;
        s->emitted = at;
    }
    if (s->emitted > 0)
        (void)add_gaps(s, s->emitted - 1, false, NULL);
    s->done = s->swallowed = s->emitted;
    if (s->rules_done < s->emitted)
        s->rules_done = s->emitted;
    if (has_ended || s->is_final)
        s->swallow = SWALLOW_NONE;
    return has_ended;
}

/* Forgets what nobody looks back at any more. */
static void compact(struct masker *s)
{
    size_t low = s->done < s->emitted ? s->done : s->emitted, drop, kept = 0;

    if (s->options.rules && s->rules_done < low)
        low = s->rules_done;
    drop = low > MASKER_LOOK_BACK ? (low - MASKER_LOOK_BACK) / 8 * 8 : 0;
    if (drop < MASKER_LOOK_BACK && s->gaps_out < GAPS_OUT_MAX && s->gap_bytes.len < MASKER_BLOCK)
        return;
    masker_charge(s, (s->view.len - drop) / 16 + s->n_gaps); /* moving is cheaper than looking */
    move_inside(s, drop, s->view.len);
    buf_consume(&s->view, drop);
    s->view_offset += drop;
    s->emitted -= drop;
    s->done -= drop;
    s->swallowed -= s->swallowed < drop ? s->swallowed : drop;
    s->rules_done -= s->rules_done < drop ? s->rules_done : drop;
    /* Gaps that came out are remembered by their place, once, as long as it is in the view. */
    for (size_t i = 0; i < s->n_gaps; i++) {
        struct masker_gap gap = s->gaps[i];

        if (i < s->gaps_out && (gap.at < drop || (kept && s->gaps[kept - 1].at == gap.at - drop)))
            continue;
        gap.at -= gap.at < drop ? gap.at : drop;
        s->gaps[kept++] = gap;
    }
    s->gaps_out -= s->n_gaps - kept;
    s->n_gaps = kept;
    if (s->gaps_out == s->n_gaps) {
        buf_clear(&s->gap_bytes);
    } else {
        size_t from = s->gaps[s->gaps_out].from;

        buf_consume(&s->gap_bytes, from);
        for (size_t i = s->gaps_out; i < s->n_gaps; i++)
            s->gaps[i].from -= from;
    }
}

static int process(struct masker *s, struct error *err)
{
    if (!may_look(s))
        return 0;
    masker_forget(s); /* the view is another one, and stays as it is until it is made smaller */
    for (;;) {
        if (s->swallow != SWALLOW_NONE && !swallow(s))
            break;
        if (!s->view.len) {
            if (add_gaps(s, 0, true, err) < 0)
                return -1;
            break;
        }
        if (look(s, err) < 0 || settle(s, err) < 0)
            return -1;
        if (s->over != SIZE_MAX) {
            if (withhold(s, err) < 0)
                return -1;
            break;
        }
        if (s->pem != SIZE_MAX && s->emitted == s->pem) {
            if (mask(s, s->pem_kind, s->pem, s->pem + 1, err) < 0)
                return -1;
            begin_swallow(s, SWALLOW_PEM);
            s->done = s->emitted;
            continue;
        }
        if (s->pem == SIZE_MAX && s->hold < s->view.len && s->emitted <= s->hold &&
            s->view.len - s->emitted > MASKER_HOLD_MAX) {
            if (give_up_waiting(s, err) < 0)
                return -1;
            continue;
        }
        break;
    }
    compact(s);
    return 0;
}

/* ---- the stream ---- */

static int fail(struct masker *s, struct clean_text *ret_text, struct error *err)
{
    s->is_broken = true;
    *ret_text = clean_literal("");
    if (err && err->code == E_NONE)
        return error_set(err, E_INTERNAL, "the masker has failed before");
    return -1;
}

static int feed(struct masker *s, const unsigned char *data, size_t len, struct error *err)
{
    while (len && !s->is_broken) {
        size_t most = s->options.between ? MASKER_PIECE : MASKER_BLOCK;
        size_t n = len < most ? len : most, part;

        /* Text that can come out before the first string of a terminal does come out before it, and
         * is read once: as if the stream were cut there. */
        part = s->has_strings || s->is_literal ? n : masker_plain_part(data, n);
        n = part ? part : n;
        s->fed += n;
        s->feeds++;
        masker_charge(s, n);
        if (masker_view_add(s, data, n, err) < 0 || process(s, err) < 0)
            return -1;
        if (!s->has_strings)
            s->plain_out = s->out.len;
        data += n;
        len -= n;
        if (len && s->options.between && !s->options.between())
            return error_set(err, E_BUSY, "the text is no longer wanted");
    }
    return s->is_broken ? -1 : 0;
}

int masker_feed(struct masker *s, const void *data, size_t len, struct clean_text *ret_text,
                struct error *err)
{
    buf_clear(&s->out);
    if (feed(s, data, len, err) < 0 || masker_read_again(s, false, ret_text, err) < 0)
        return fail(s, ret_text, err);
    return 0;
}

static void restart(struct masker *s)
{
    if (s->inside)
        memset(s->inside, 0,
               (s->view.len + 7) / 8 < VIEW_MAX / 8 ? (s->view.len + 7) / 8 : VIEW_MAX / 8);
    buf_clear(&s->view);
    buf_clear(&s->gap_bytes);
    s->n_gaps = s->gaps_out = 0;
    s->view_offset = 0;
    s->lines = 1;
    s->emitted = s->done = s->swallowed = s->rules_done = 0;
    s->block_from = s->block_to = 0;
    s->table = (struct masker_table){0};
    s->swallow = SWALLOW_NONE;
    s->is_final = false;
}

static int finish(struct masker *s, struct error *err)
{
    if (s->is_broken || masker_view_finish(s, err) < 0)
        return -1;
    s->is_final = true;
    if (s->view.len && process(s, err) < 0)
        return -1;
    if (add_gaps(s, SIZE_MAX, true, err) < 0)
        return -1;
    restart(s);
    return 0;
}

int masker_finish(struct masker *s, struct clean_text *ret_text, struct error *err)
{
    buf_clear(&s->out);
    if (finish(s, err) < 0 || masker_read_again(s, true, ret_text, err) < 0)
        return fail(s, ret_text, err);
    return 0;
}

int masker_text(struct masker *s, const void *data, size_t len, struct clean_text *ret_text,
                struct error *err)
{
    buf_clear(&s->out);
    if (feed(s, data, len, err) < 0 || finish(s, err) < 0 ||
        masker_read_again(s, true, ret_text, err) < 0)
        return fail(s, ret_text, err);
    return 0;
}
