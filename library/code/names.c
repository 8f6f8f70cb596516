/* Names in statements: definitions, imports, declarations, and the blocks they open. */
#include "library/code/names.h"

#include <stdlib.h>
#include <string.h>

#include "library/code/names_internal.h"

/* ---- tokens ---- */

static void next(struct names_reader *r)
{
    do
        lex_next(&r->lex, &r->t);
    while (r->t.kind == LEX_COMMENT);
}

static bool is_op(const struct names_reader *r, uint8_t op)
{
    return r->t.kind == LEX_OP && r->t.op == op;
}

static bool ends_statement(const struct names_reader *r)
{
    return r->t.kind == LEX_END || r->t.kind == LEX_BAD || r->t.kind == LEX_NEWLINE ||
           is_op(r, ';') || r->n->is_out_of_memory;
}

/* ---- imports ---- */

static void set_kind(struct names_reader *r, uint32_t index, enum names_kind kind)
{
    if (index != NAMES_NOWHERE)
        r->n->events[index].kind = (uint8_t)kind;
}

static void add_import(struct names_reader *r, struct names_import import)
{
    struct names *n = r->n;
    struct names_import *place =
        names_add(n, (void **)&n->imports, &n->n_imports, &n->imports_size, sizeof(*place));
    const char *module = n->text + import.module;

    if (!place)
        return;
    if (import.module_len >= 6 && memcmp(module, "typing", 6) == 0)
        r->has_typing = true;
    *place = import;
    if (import.binding != NAMES_NOWHERE)
        n->events[import.binding].about = (uint32_t)n->n_imports - 1;
    if (import.name != NAMES_NOWHERE)
        n->events[import.name].about = (uint32_t)n->n_imports - 1;
}

/* a.b.c: where it stands; returns the event of its first part. */
static uint32_t read_path(struct names_reader *r, struct names_import *import)
{
    uint32_t first = NAMES_NOWHERE;

    import->module = r->t.start;
    import->module_len = 0;
    while (r->t.kind == LEX_NAME && r->t.word != WORD_IMPORT && r->t.word != WORD_AS) {
        uint32_t made = names_note_token(r, NAMES_MODULE);

        if (first == NAMES_NOWHERE)
            first = made;
        import->module_len = r->t.end - import->module;
        next(r);
        if (!is_op(r, '.'))
            break;
        next(r);
    }
    return first;
}

/* The event of y in `as y`, or NAMES_NOWHERE. */
static uint32_t read_alias(struct names_reader *r)
{
    uint32_t made = NAMES_NOWHERE;

    if (r->t.kind != LEX_NAME || r->t.word != WORD_AS)
        return made;
    next(r);
    if (r->t.kind == LEX_NAME) {
        made = names_note_token(r, NAMES_ALIAS);
        next(r);
    }
    return made;
}

static bool is_same_word(const struct names *n, uint32_t a, uint32_t b)
{
    return a != NAMES_NOWHERE && b != NAMES_NOWHERE && n->events[a].name == n->events[b].name;
}

static void read_import(struct names_reader *r)
{
    struct names_import import = {.line = r->t.line, .name = NAMES_NOWHERE};

    for (next(r); !ends_statement(r); next(r)) {
        uint32_t first = read_path(r, &import);
        uint32_t alias = read_alias(r);
        bool is_plain = first != NAMES_NOWHERE && r->n->events[first].len == import.module_len;

        import.binding = alias;
        import.is_same = is_plain && is_same_word(r->n, first, alias);
        if (alias == NAMES_NOWHERE) {
            set_kind(r, first, NAMES_IMPORT);
            import.binding = first;
        }
        if (first != NAMES_NOWHERE)
            add_import(r, import);
        if (ends_statement(r))
            return;
    }
}

static void read_from(struct names_reader *r)
{
    struct names_import import = {.line = r->t.line};

    for (next(r); is_op(r, '.') || is_op(r, OP_ELLIPSIS); next(r))
        import.level += r->t.op == '.' ? 1 : 3;
    (void)read_path(r, &import);
    if (r->t.kind != LEX_NAME || r->t.word != WORD_IMPORT)
        return;
    next(r);
    if (is_op(r, '('))
        next(r);
    while (!ends_statement(r)) {
        if (r->t.kind == LEX_NAME) {
            uint32_t alias;

            import.name = names_note_token(r, NAMES_FROM);
            next(r);
            alias = read_alias(r);
            import.is_same = is_same_word(r->n, import.name, alias);
            import.binding = alias == NAMES_NOWHERE ? import.name : alias;
            if (alias != NAMES_NOWHERE)
                set_kind(r, import.name, NAMES_ORIGIN);
            add_import(r, import);
        } else {
            if (is_op(r, '*'))
                add_import(r, (struct names_import){.module = import.module,
                                                    .module_len = import.module_len,
                                                    .level = import.level,
                                                    .line = import.line,
                                                    .name = NAMES_NOWHERE,
                                                    .binding = NAMES_NOWHERE});
            next(r);
        }
    }
}

/* ---- statements ---- */

static void read_declared(struct names_reader *r, enum names_kind kind)
{
    for (next(r); !ends_statement(r); next(r))
        if (r->t.kind == LEX_NAME)
            (void)names_note_token(r, kind);
}

/* At `def` or `class`. */
static void read_def(struct names_reader *r)
{
    bool is_class = r->head == WORD_CLASS;
    uint32_t line = r->t.line, made;

    next(r);
    if (r->t.kind != LEX_NAME)
        return;
    made = names_note_token(r, is_class ? NAMES_CLASS : NAMES_DEF);
    r->opens = names_add_scope(r->n, is_class ? SCOPE_CLASS : SCOPE_FUNCTION, r->scope, line);
    if (!r->n->is_out_of_memory)
        r->n->scopes[r->opens].event = made;
    r->awaits_params = true;
    /* Bound when its decorators, defaults and bases have been looked at. */
    if (made != NAMES_NOWHERE)
        r->n->events[made].is_late = r->has_late = true;
    next(r);
}

static bool is_export(const struct names_reader *r)
{
    return !r->scope && r->t.end - r->t.start == 7 &&
           memcmp(r->n->text + r->t.start, "__all__", 7) == 0;
}

static void flush_late(struct names_reader *r)
{
    if (!r->has_late)
        return;
    for (size_t i = r->first_event; i < r->n->n_events; i++) {
        struct names_event *e = &r->n->events[i];

        if (e->is_late)
            e->order = r->n->order++;
        e->is_late = false;
    }
    r->has_late = false;
}

static void end_statement(struct names_reader *r)
{
    if (r->head == WORD_DEL)
        names_settle_targets(r, NAMES_DEL, false);
    else if (r->frames[0].is_as_target)
        names_settle_targets(r, NAMES_STORE, false);
    while (r->n_lambdas) {
        r->n_lambdas--;
        if (r->lambdas[r->n_lambdas].is_body)
            r->scope = r->lambdas[r->n_lambdas].outer;
    }
    flush_late(r);
    r->frames[0] = (struct names_frame){
        .last = NAMES_NOWHERE, .comprehension = NAMES_NOWHERE, .may_be_target = true};
    r->depth = 0;
    r->fields = 0;
    r->n_targets = 0;
    r->annotated = NAMES_NOWHERE;
    r->head = WORD_NONE;
    r->awaits_params = r->is_for_target = r->is_pattern = r->is_export = false;
    r->is_start = true;
}

/* Statements that bind names in a way of their own; false for all others. */
static bool read_binding(struct names_reader *r)
{
    switch (r->t.word) {
    case WORD_DEF:
    case WORD_CLASS:
        r->head = r->t.word;
        read_def(r);
        return true;
    case WORD_IMPORT:
        read_import(r);
        return true;
    case WORD_FROM:
        read_from(r);
        return true;
    case WORD_GLOBAL:
        read_declared(r, NAMES_GLOBAL);
        return true;
    case WORD_NONLOCAL:
        read_declared(r, NAMES_NONLOCAL);
        return true;
    default:
        return false;
    }
}

/* Does this word say what the expressions behind it are for? `match` and `case` only where they can
 * be words. */
static bool is_head(const struct names_reader *r)
{
    switch (r->t.word) {
    case WORD_MATCH:
        return lex_is_match(&r->lex);
    case WORD_CASE:
        return r->n_blocks && r->blocks[r->n_blocks - 1].is_match;
    case WORD_DEL:
    case WORD_IF:
    case WORD_ELIF:
    case WORD_ELSE:
    case WORD_FOR:
    case WORD_WHILE:
    case WORD_TRY:
    case WORD_EXCEPT:
    case WORD_FINALLY:
    case WORD_WITH:
        return true;
    default:
        return false;
    }
}

/* At the first token of a statement; afterwards at the first that it has not taken. */
static void begin_statement(struct names_reader *r)
{
    r->is_start = false;
    r->first_event = (uint32_t)r->n->n_events;
    r->starts_with_name = r->t.kind == LEX_NAME;
    if (r->t.kind != LEX_NAME)
        return;
    if (r->t.word == WORD_ASYNC)
        next(r);
    r->is_export = is_export(r);
    if (read_binding(r) || !is_head(r))
        return;
    r->is_pattern = r->t.word == WORD_CASE;
    r->is_for_target = r->t.word == WORD_FOR;
    r->head = r->t.word;
    next(r);
}

/* The colon of a statement: of its header, or of an annotation. */
static void on_statement_colon(struct names_reader *r)
{
    enum lex_word head = r->head;

    if (head == WORD_NONE || head == WORD_DEL) {
        if (r->starts_with_name && r->annotated == NAMES_NOWHERE) /* (x): int declares nothing */
            names_settle_targets(r, NAMES_ANNOTATE, false);
        r->frames[0].is_annotation = true;
        r->frames[0].may_be_target = false;
        return;
    }
    end_statement(r);
    r->was_colon = true;
    r->is_inline = true;
    r->inline_scope = r->scope;
    r->opens_match = head == WORD_MATCH;
    if (head == WORD_DEF || head == WORD_CLASS)
        r->scope = r->opens;
}

static void on_newline(struct names_reader *r)
{
    end_statement(r);
    if (r->is_inline && !r->was_colon) {
        r->scope = r->inline_scope;
        r->is_inline = false;
    }
}

static void on_indent(struct names_reader *r)
{
    struct names_block block = {r->is_inline ? r->inline_scope : r->scope, r->opens_match};

    if (r->n_blocks < LEX_INDENT_MAX)
        r->blocks[r->n_blocks++] = block;
    r->is_inline = r->was_colon = r->opens_match = false;
}

static void on_dedent(struct names_reader *r)
{
    if (r->n_blocks)
        r->scope = r->blocks[--r->n_blocks].scope;
    r->is_inline = r->was_colon = false;
}

static void read_all(struct names_reader *r)
{
    for (next(r); !r->n->is_out_of_memory; next(r)) {
        if (r->is_start && r->t.kind >= LEX_NAME && r->t.kind <= LEX_OP) {
            r->was_colon = false;
            begin_statement(r);
        }
        switch (r->t.kind) {
        case LEX_END:
        case LEX_BAD:
            end_statement(r);
            return;
        case LEX_NEWLINE:
            on_newline(r);
            break;
        case LEX_INDENT:
            on_indent(r);
            break;
        case LEX_DEDENT:
            on_dedent(r);
            break;
        default:
            if (is_op(r, ';') && !r->depth) {
                end_statement(r);
                break;
            }
            names_track(r);
            if (r->is_colon)
                on_statement_colon(r);
            break;
        }
    }
}

void names_read(struct names *n, const char *text, size_t len)
{
    struct names_reader *r = calloc(1, sizeof(*r));

    n->text = text;
    if (!r) {
        n->is_out_of_memory = true;
        return;
    }
    r->n = n;
    (void)names_add_scope(n, SCOPE_MODULE, NAMES_NOWHERE, 0);
    lex_init(&r->lex, text, len);
    end_statement(r); /* nothing has begun */
    if (!n->is_out_of_memory)
        read_all(r);
    n->why = r->lex.why;
    n->why_line = r->t.line;
    free(r);
}
