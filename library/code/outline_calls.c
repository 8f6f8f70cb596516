/* Expressions, token by token: what is called, by which name, with how many arguments. */
#include "library/code/outline_internal.h"

static void begin_primary(struct reader *r, bool is_dotted)
{
    struct frame *f = outline_top(r);

    f->state = STATE_PRIMARY;
    f->is_dotted = is_dotted;
    f->start = r->t.start;
    f->end = r->t.end;
    f->line = r->t.line;
    f->col = r->t.col;
    f->pieces++;
}

static uint32_t add_call(struct reader *r)
{
    const struct frame *f = outline_top(r);
    struct outline_call *call;
    struct piece callee = {0};

    if (!(r->wishes & OUTLINE_CALLS) || r->is_pattern)
        return OUTLINE_NOWHERE;
    if (f->is_dotted)
        callee = outline_keep_dotted(r->o, r->lex.text + f->start, f->end - f->start);
    call = ADD(r->o, calls, n_calls);
    if (!call)
        return OUTLINE_NOWHERE;
    call->callee = callee;
    call->line = f->line;
    call->col = f->col;
    call->within = r->within;
    return (uint32_t)(r->o->n_calls - 1);
}

static void push(struct reader *r, struct frame inner)
{
    if (r->depth + 1 < FRAMES_MAX)
        r->frames[++r->depth] = inner;
}

static void open_bracket(struct reader *r)
{
    struct frame *f = outline_top(r);

    if (f->state == STATE_PRIMARY && r->t.op == '(') {
        uint32_t call = add_call(r);

        push(r, (struct frame){.is_call = true, .call = call});
        return;
    }
    if (f->state != STATE_PRIMARY || r->t.op != '[')
        begin_primary(r, false);
    push(r, (struct frame){0});
}

static void end_argument(struct frame *f)
{
    if (!f->has_begun)
        return;
    if (f->is_keyword)
        f->keywords++;
    else
        f->args++;
    f->has_begun = f->is_keyword = false;
    f->names = 0;
}

static void close_bracket(struct reader *r)
{
    struct frame inner = *outline_top(r), *outer;

    if (!r->depth)
        return;
    end_argument(&inner);
    if (inner.is_call && inner.call != OUTLINE_NOWHERE && inner.call < r->o->n_calls) {
        r->o->calls[inner.call].n_args = inner.args;
        r->o->calls[inner.call].n_keywords = inner.keywords;
    }
    r->depth--;
    outer = outline_top(r);
    outer->state = STATE_PRIMARY;
    /* (a.b)(x) calls a.b. */
    outer->is_dotted = !inner.is_call && r->t.op == ')' && inner.pieces == 1 && inner.is_dotted &&
                       inner.state == STATE_PRIMARY && outer->end == outer->start + 1;
    if (outer->is_dotted) {
        outer->start = inner.start;
        outer->end = inner.end;
    }
}

static void note_argument(struct reader *r)
{
    struct frame *f = outline_top(r);

    if (!f->is_call)
        return;
    if (!f->has_begun && r->t.kind == LEX_OP && r->t.op == OP_POWER)
        f->is_keyword = true;
    if (f->has_begun && f->names == 1 && r->t.kind == LEX_OP && r->t.op == '=')
        f->is_keyword = true;
    f->names = f->has_begun ? f->names + (f->names < 3) : r->t.kind == LEX_NAME ? 1 : 2;
    f->has_begun = true;
}

static void track_op(struct reader *r)
{
    struct frame *f = outline_top(r);

    switch (r->t.op) {
    case '(':
    case '[':
    case '{':
        note_argument(r);
        open_bracket(r);
        return;
    case ')':
    case ']':
    case '}':
        close_bracket(r);
        return;
    case '.':
        note_argument(r);
        f->state = f->state == STATE_PRIMARY ? STATE_DOT : STATE_NONE;
        return;
    case ',':
        if (f->is_call && !f->lambdas && !f->is_target)
            end_argument(f);
        break;
    case ':':
        if (f->lambdas)
            f->lambdas--;
        break;
    default:
        note_argument(r);
        break;
    }
    if (r->t.op == OP_ELLIPSIS) {
        begin_primary(r, false);
        return;
    }
    f->state = STATE_NONE;
    f->pieces++;
}

static void track_name(struct reader *r)
{
    struct frame *f = outline_top(r);

    note_argument(r);
    if (f->state == STATE_DOT) {
        f->state = STATE_PRIMARY;
        f->end = r->t.end;
        return;
    }
    if (!lex_is_reserved(r->t.word)) {
        begin_primary(r, true);
        return;
    }
    if (r->t.word == WORD_NONE_VALUE || r->t.word == WORD_TRUE || r->t.word == WORD_FALSE) {
        begin_primary(r, false);
        return;
    }
    if (r->t.word == WORD_LAMBDA)
        f->lambdas++;
    if (r->t.word == WORD_FOR || r->t.word == WORD_IN)
        f->is_target = r->t.word == WORD_FOR;
    f->state = STATE_NONE;
    f->pieces++;
}

void outline_track(struct reader *r)
{
    struct frame *f = outline_top(r);
    bool is_string = r->t.kind == LEX_STRING || r->t.kind == LEX_FIELDS;

    switch (r->t.kind) {
    case LEX_NAME:
        track_name(r);
        break;
    case LEX_NUMBER:
    case LEX_STRING:
    case LEX_FIELDS:
        note_argument(r);
        if (!is_string || !r->was_string || f->state != STATE_PRIMARY)
            begin_primary(r, false);
        f->is_dotted = false;
        if (r->t.kind == LEX_FIELDS)
            push(r, (struct frame){0});
        break;
    case LEX_FIELD:
        push(r, (struct frame){0});
        break;
    case LEX_FIELD_END:
        if (r->depth)
            r->depth--;
        break;
    case LEX_FIELDS_END:
        if (r->depth)
            r->depth--;
        is_string = true;
        break;
    case LEX_OP:
        track_op(r);
        break;
    default:
        return;
    }
    r->was_string = is_string;
}
