/* Names in expressions: what is used, what turns out to be assigned, and in whose scope. */
#include "library/code/names_internal.h"

#include <string.h>

uint32_t names_note(struct names_reader *r, enum names_kind kind, uint32_t start, uint32_t len)
{
    struct names *n = r->n;
    uint32_t word = names_word(n, start, len);
    struct names_event *e =
        names_add(n, (void **)&n->events, &n->n_events, &n->events_size, sizeof(*e));

    if (!e)
        return NAMES_NOWHERE;
    *e = (struct names_event){
        .start = start,
        .len = len,
        .line = r->t.line,
        .name = word,
        .scope = r->scope,
        .about = NAMES_NOWHERE,
        .order = n->order++,
        .kind = (uint8_t)kind,
        .is_in_fields = r->fields > 0,
    };
    return (uint32_t)n->n_events - 1;
}

uint32_t names_note_token(struct names_reader *r, enum names_kind kind)
{
    return names_note(r, kind, r->t.start, r->t.end - r->t.start);
}

static struct names_event *event(struct names_reader *r, uint32_t index)
{
    return index == NAMES_NOWHERE ? NULL : &r->n->events[index];
}

static bool is_called(struct names_reader *r, uint32_t index, const char *name)
{
    const struct names_event *e = event(r, index);

    return e && e->len == strlen(name) && memcmp(r->n->text + e->start, name, e->len) == 0;
}

/* ---- assigned or not ---- */

void names_settle_targets(struct names_reader *r, enum names_kind kind, bool is_late)
{
    for (unsigned i = 0; i < r->n_targets; i++) {
        struct names_event *e = event(r, r->targets[i]);

        e->kind = (uint8_t)kind;
        e->is_late = is_late;
        if (kind == NAMES_ANNOTATE)
            r->annotated = r->targets[i];
    }
    r->has_late |= is_late && r->n_targets;
    r->n_targets = 0;
}

/* The last name has something behind it: x.y, x[0] and f() assign to no name. */
static void forget_target(struct names_reader *r)
{
    if (r->n_targets && r->targets[r->n_targets - 1] == names_top(r)->last)
        r->n_targets--;
}

/* ---- lambdas ---- */

static struct names_lambda *lambda_here(struct names_reader *r)
{
    struct names_lambda *l = r->n_lambdas ? &r->lambdas[r->n_lambdas - 1] : NULL;

    return l && l->depth == r->depth ? l : NULL;
}

/* The one whose parameters are being read. */
static struct names_lambda *params_here(struct names_reader *r)
{
    struct names_lambda *l = lambda_here(r);

    return l && !l->is_body ? l : NULL;
}

static void end_bodies(struct names_reader *r)
{
    for (struct names_lambda *l = lambda_here(r); l && l->is_body; l = lambda_here(r)) {
        r->scope = l->outer;
        r->n_lambdas--;
    }
}

static void begin_lambda(struct names_reader *r)
{
    if (r->n_lambdas == NAMES_LAMBDAS_MAX)
        return;
    r->lambdas[r->n_lambdas++] = (struct names_lambda){
        .depth = r->depth,
        .scope = names_add_scope(r->n, SCOPE_LAMBDA, r->scope, r->t.line),
        .outer = r->scope,
        .is_item_start = true,
    };
}

/* ---- comprehensions ---- */

/* The tokens since the bracket turn out to belong to the comprehension. */
static uint32_t adopt(struct names_reader *r, const struct names_frame *f)
{
    struct names *n = r->n;
    uint32_t scope = names_add_scope(n, SCOPE_COMPREHENSION, r->scope, r->t.line);

    for (size_t i = f->first_event; i < n->n_events; i++)
        if (n->events[i].scope == r->scope && !n->events[i].is_fixed)
            n->events[i].scope = scope;
    for (size_t i = f->first_scope; i + 1 < n->n_scopes; i++)
        if (n->scopes[i].parent == r->scope)
            n->scopes[i].parent = scope;
    return scope;
}

static void begin_for(struct names_reader *r)
{
    struct names_frame *f = names_top(r);
    bool is_first = f->comprehension == NAMES_NOWHERE;

    if (f->kind < FRAME_GROUP || f->kind > FRAME_CALL)
        return;
    end_bodies(r);
    if (is_first)
        f->comprehension = adopt(r, f);
    r->scope = f->comprehension;
    r->n_targets = 0;
    f->is_first_iter = is_first;
    f->is_for_target = f->may_be_target = true;
}

static void on_in(struct names_reader *r)
{
    struct names_frame *f = names_top(r);

    if (f->is_for_target) {
        names_settle_targets(r, NAMES_STORE, false);
        f->is_for_target = f->may_be_target = false;
        if (f->is_first_iter && f->comprehension < r->n->n_scopes) /* evaluated outside */
            r->scope = r->n->scopes[f->comprehension].parent;
    } else if (!r->depth && r->is_for_target) {
        names_settle_targets(r, NAMES_STORE, true);
        r->is_for_target = false;
    }
}

static void on_if(struct names_reader *r)
{
    struct names_frame *f = names_top(r);

    if (f->is_first_iter && !f->is_for_target) {
        f->is_first_iter = false;
        r->scope = f->comprehension;
    }
    if (!r->depth)
        r->is_pattern = false; /* the guard of a case */
}

/* ---- types in words ---- */

static bool is_typing_module(struct names_reader *r, const struct names_import *m)
{
    const char *text = r->n->text + m->module;

    return (m->module_len == 6 && memcmp(text, "typing", 6) == 0) ||
           (m->module_len == 17 && memcmp(text, "typing_extensions", 17) == 0);
}

/* Is this name, or attribute, something of `typing`? */
static bool is_typing(struct names_reader *r, uint32_t index)
{
    const struct names_event *e = event(r, index), *base;
    bool is_member = e && e->kind != NAMES_ATTRIBUTE;

    if (!e || !r->has_typing)
        return false;
    base = is_member ? e : event(r, e->about);
    for (size_t i = 0; base && i < r->n->n_imports; i++) {
        const struct names_import *m = &r->n->imports[i];
        const struct names_event *binding = event(r, m->binding);

        if (binding && binding->name == base->name && is_typing_module(r, m) &&
            (m->name != NAMES_NOWHERE) == is_member)
            return true;
    }
    return false;
}

static bool takes_types(struct names_reader *r, uint32_t index)
{
    static const char *const names[] = {"cast", "TypeVar", "NewType", "NamedTuple", "TypedDict"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (is_called(r, index, names[i]))
            return is_typing(r, index);
    return false;
}

void names_type_text(struct names_reader *r, uint32_t start, uint32_t len)
{
    struct lex lex;
    struct lex_token t;
    uint32_t last = NAMES_NOWHERE;
    bool is_behind_dot = false;

    lex_init(&lex, r->n->text + start, len);
    lex.depth = LEX_DEPTH_MAX / 2; /* line ends mean nothing */
    memset(lex.brackets, '(', lex.depth);
    lex.is_line_start = false;
    for (lex_next(&lex, &t); t.kind != LEX_END && t.kind != LEX_BAD; lex_next(&lex, &t)) {
        if (t.kind == LEX_NAME && !lex_is_reserved(t.word)) {
            uint32_t made = names_note(r, is_behind_dot ? NAMES_ATTRIBUTE : NAMES_TYPE_USE,
                                       start + t.start, t.end - t.start);

            if (made != NAMES_NOWHERE && is_behind_dot)
                r->n->events[made].about = last;
            last = made;
        }
        is_behind_dot = t.kind == LEX_OP && t.op == '.';
    }
}

static void track_string(struct names_reader *r)
{
    struct names_frame *f = names_top(r);
    uint32_t start = r->t.start, end = r->t.end, quotes = 1;
    char quote;

    f->state = AT_PRIMARY;
    f->last = NAMES_NOWHERE;
    if ((!r->is_export && !f->is_annotation) || r->t.prefix & LEX_PREFIX_BYTES)
        return;
    while (r->n->text[start] != '\'' && r->n->text[start] != '"')
        start++;
    quote = r->n->text[start];
    if (end - start >= 6 && r->n->text[start + 1] == quote && r->n->text[start + 2] == quote)
        quotes = 3;
    if (end - start <= 2 * quotes)
        return;
    if (r->is_export)
        (void)names_note(r, NAMES_EXPORT, start + quotes, end - start - 2 * quotes);
    else
        names_type_text(r, start + quotes, end - start - 2 * quotes);
}

/* ---- brackets ---- */

void names_push(struct names_reader *r, enum frame_kind kind)
{
    struct names_frame *f = names_top(r), *inner;
    uint32_t last = f->state == AT_PRIMARY ? f->last : NAMES_NOWHERE;
    bool is_group = kind == FRAME_GROUP || kind == FRAME_LIST;

    if (r->depth + 1 >= NAMES_FRAMES_MAX)
        return;
    inner = &r->frames[++r->depth];
    *inner = (struct names_frame){
        .kind = kind,
        .last = NAMES_NOWHERE,
        .callee = last,
        .scope = r->scope,
        .first_event = (uint32_t)r->n->n_events,
        .first_scope = (uint32_t)r->n->n_scopes,
        .comprehension = NAMES_NOWHERE,
        .may_be_target = is_group && f->may_be_target,
        .is_annotation = f->is_annotation,
        .is_item_start = true,
    };
    if (kind == FRAME_SUBSCRIPT) {
        inner->is_annotation =
            !is_called(r, last, "Literal") && (f->is_annotation || is_typing(r, last));
        inner->ends_annotation = is_called(r, last, "Annotated");
    } else if (kind == FRAME_CALL && takes_types(r, last)) {
        inner->is_annotation = true;
    }
}

static void pop(struct names_reader *r)
{
    if (!r->depth)
        return;
    while (r->n_lambdas && r->lambdas[r->n_lambdas - 1].depth >= r->depth)
        r->n_lambdas--;
    r->scope = names_top(r)->scope;
    r->depth--;
    names_top(r)->state = AT_PRIMARY;
    names_top(r)->last = NAMES_NOWHERE;
}

static void open_bracket(struct names_reader *r)
{
    struct names_frame *f = names_top(r);
    bool is_behind = f->state == AT_PRIMARY;
    bool is_class = r->head == WORD_CLASS;

    if (is_behind)
        forget_target(r);
    if (r->awaits_params && !r->depth) {
        f->state = AT_NOTHING;
        r->awaits_params = r->t.op == '[';
        names_push(r, r->t.op == '[' ? FRAME_TYPE_PARAMS : is_class ? FRAME_CALL : FRAME_PARAMS);
    } else if (r->t.op == '(') {
        names_push(r, is_behind ? FRAME_CALL : FRAME_GROUP);
    } else if (r->t.op == '[') {
        names_push(r, is_behind ? FRAME_SUBSCRIPT : FRAME_LIST);
    } else {
        names_push(r, FRAME_BRACE);
    }
}

static void close_bracket(struct names_reader *r)
{
    end_bodies(r);
    if (names_top(r)->is_as_target)
        names_settle_targets(r, NAMES_STORE, false);
    pop(r);
}

/* ---- signs ---- */

static void on_comma(struct names_reader *r)
{
    struct names_frame *f = names_top(r);
    struct names_lambda *l;

    end_bodies(r);
    l = params_here(r);
    if (l) {
        l->is_item_start = true;
        return;
    }
    if (f->is_as_target)
        names_settle_targets(r, NAMES_STORE, false);
    f->is_as_target = false;
    f->is_item_start = true;
    if (f->kind == FRAME_PARAMS || f->ends_annotation)
        f->is_annotation = false;
}

static void on_colon(struct names_reader *r)
{
    struct names_lambda *l;

    end_bodies(r);
    l = params_here(r);
    if (l) {
        l->is_body = true;
        r->scope = l->scope;
        return;
    }
    if (names_top(r)->kind == FRAME_PARAMS)
        names_top(r)->is_annotation = true;
    r->is_colon = !r->depth;
}

static void on_equals(struct names_reader *r, bool was_first_name)
{
    struct names_frame *f = names_top(r);
    struct names_event *last = event(r, f->last);

    if (params_here(r))
        return;
    if (f->kind == FRAME_CALL && was_first_name && last && names_is_name(last->kind)) {
        forget_target(r);
        last->kind = r->is_pattern ? NAMES_ATTRIBUTE : NAMES_KEYWORD;
        last->about = f->callee;
    } else if (f->kind == FRAME_PARAMS) {
        f->is_annotation = false;
    } else if (!r->depth) {
        if (r->annotated != NAMES_NOWHERE) {
            event(r, r->annotated)->kind = NAMES_STORE;
            event(r, r->annotated)->is_late = r->has_late = true;
        }
        names_settle_targets(r, NAMES_STORE, true);
        f->is_annotation = false;
    }
}

/* x := 1 binds where the comprehension stands. */
static void on_walrus(struct names_reader *r)
{
    struct names_event *e = event(r, names_top(r)->last);

    if (!e)
        return;
    forget_target(r);
    e->kind = NAMES_STORE;
    e->is_fixed = true;
    while (r->n->scopes[e->scope].kind == SCOPE_COMPREHENSION)
        e->scope = r->n->scopes[e->scope].parent;
}

static void on_dot(struct names_reader *r)
{
    struct names_frame *f = names_top(r);

    forget_target(r);
    if (r->n->n_events == r->first_event + 1)
        r->is_export = false; /* __all__.extend() */
    f->state = f->state == AT_PRIMARY ? AT_DOT : AT_NOTHING;
}

/* A value that no name stands for. */
static void on_nameless(struct names_reader *r)
{
    names_top(r)->state = AT_PRIMARY;
    names_top(r)->last = NAMES_NOWHERE;
}

/* Signs inside an expression, and of the statement around it. */
static void track_sign(struct names_reader *r, bool was_first_name)
{
    switch (r->t.op) {
    case ':':
        on_colon(r);
        break;
    case '=':
        on_equals(r, was_first_name);
        break;
    case OP_AUGMENT:
        if (!r->depth)
            names_settle_targets(r, NAMES_AUGMENT, true);
        break;
    case OP_ASSIGN:
        on_walrus(r);
        break;
    case OP_ARROW:
        names_top(r)->is_annotation = !r->depth;
        break;
    default:
        break;
    }
}

static void track_op(struct names_reader *r, bool was_first_name)
{
    struct names_frame *f = names_top(r);
    bool is_star = r->t.op == '*' || r->t.op == OP_POWER || r->t.op == '/';

    switch (r->t.op) {
    case '(':
    case '[':
    case '{':
        f->is_item_start = false;
        open_bracket(r);
        return;
    case ')':
    case ']':
    case '}':
        close_bracket(r);
        return;
    case '.':
        on_dot(r);
        return;
    case OP_ELLIPSIS:
        on_nameless(r);
        return;
    case ',':
        on_comma(r);
        f->state = AT_NOTHING;
        return;
    default:
        track_sign(r, was_first_name);
        break;
    }
    f->state = AT_NOTHING;
    if (!is_star)
        f->is_item_start = false;
}

/* ---- names ---- */

static void track_keyword(struct names_reader *r)
{
    struct names_frame *f = names_top(r);

    f->is_item_start = false;
    f->state = AT_NOTHING;
    switch (r->t.word) {
    case WORD_NONE_VALUE:
    case WORD_TRUE:
    case WORD_FALSE:
        on_nameless(r);
        return;
    case WORD_LAMBDA:
        begin_lambda(r);
        return;
    case WORD_FOR:
        begin_for(r);
        return;
    case WORD_IN:
        on_in(r);
        return;
    case WORD_IF:
        on_if(r);
        return;
    case WORD_AS:
        end_bodies(r);
        if (r->head == WORD_WITH || r->head == WORD_EXCEPT) {
            r->n_targets = 0;
            f->is_as_target = true;
        }
        return;
    default:
        return;
    }
}

/* A name in a pattern binds, unless it is of a class, a value (a.B) or an attribute (x=). */
static enum names_kind pattern_kind(const struct names_reader *r)
{
    struct lex lex = r->lex;
    struct lex_token t;

    do
        lex_next(&lex, &t);
    while (t.kind == LEX_COMMENT);
    return t.kind == LEX_OP && (t.op == '.' || t.op == '(' || t.op == '=') ? NAMES_USE
                                                                           : NAMES_STORE;
}

static bool track_param(struct names_reader *r)
{
    struct names_frame *f = names_top(r);
    struct names_lambda *l = params_here(r);
    uint32_t made;

    if (l ? !l->is_item_start
          : !(f->is_item_start && (f->kind == FRAME_PARAMS || f->kind == FRAME_TYPE_PARAMS)))
        return false;
    made = names_note_token(r, f->kind == FRAME_TYPE_PARAMS ? NAMES_STORE : NAMES_PARAM);
    if (made != NAMES_NOWHERE) {
        r->n->events[made].scope = l ? l->scope : r->opens;
        r->n->events[made].is_fixed = true;
    }
    if (l)
        l->is_item_start = false;
    else
        f->is_item_start = false;
    f->state = AT_NOTHING;
    return true;
}

static void track_name(struct names_reader *r)
{
    struct names_frame *f = names_top(r);
    bool is_wildcard = r->t.end - r->t.start == 1 && r->n->text[r->t.start] == '_';
    uint32_t made;

    if (f->state == AT_DOT) {
        made = names_note_token(r, NAMES_ATTRIBUTE);
        if (made != NAMES_NOWHERE)
            r->n->events[made].about = f->last;
        f->last = made;
        f->state = AT_PRIMARY;
        return;
    }
    if (lex_is_reserved(r->t.word)) {
        track_keyword(r);
        return;
    }
    if (track_param(r))
        return;
    f->state = AT_PRIMARY;
    f->is_first_name = f->is_item_start;
    f->is_item_start = false;
    f->last = NAMES_NOWHERE;
    if (r->is_pattern) {
        if (!is_wildcard)
            f->last = names_note_token(r, pattern_kind(r));
        return;
    }
    f->last = names_note_token(r, NAMES_USE);
    if (f->may_be_target && f->last != NAMES_NOWHERE && r->n_targets < NAMES_TARGETS_MAX)
        r->targets[r->n_targets++] = f->last;
}

static void begin_fields(struct names_reader *r)
{
    names_top(r)->is_item_start = false;
    names_top(r)->state = AT_NOTHING;
    names_push(r, FRAME_STRING);
    r->fields++;
}

void names_track(struct names_reader *r)
{
    struct names_frame *f = names_top(r);
    bool was_first_name = f->is_first_name;

    f->is_first_name = false;
    r->is_colon = false;
    switch (r->t.kind) {
    case LEX_NAME:
        track_name(r);
        break;
    case LEX_STRING:
        track_string(r);
        f->is_item_start = false;
        break;
    case LEX_NUMBER:
        on_nameless(r);
        f->is_item_start = false;
        break;
    case LEX_FIELDS:
        begin_fields(r);
        break;
    case LEX_FIELD:
        names_push(r, FRAME_FIELD);
        break;
    case LEX_FIELD_END:
        end_bodies(r);
        pop(r);
        break;
    case LEX_FIELDS_END:
        pop(r);
        r->fields -= r->fields > 0;
        break;
    case LEX_OP:
        track_op(r, was_first_name);
        break;
    default:
        break;
    }
}
