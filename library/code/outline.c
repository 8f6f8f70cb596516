#include "library/code/outline.h"

#include <stdlib.h>
#include <string.h>

#include "library/code/outline_internal.h"
#include "library/code/summary.h"

static struct piece keep_token(struct reader *r)
{
    return outline_keep(r->o, r->lex.text + r->t.start, r->t.end - r->t.start);
}

static struct piece keep_dotted(struct reader *r, uint32_t start, uint32_t end)
{
    return outline_keep_dotted(r->o, r->lex.text + start, end - start);
}

/* ---- the next token that means something ---- */

static void count_lines(struct reader *r, uint32_t line, uint32_t end_line)
{
    uint32_t from = line > r->code_to ? line : r->code_to + 1;

    if (end_line >= from)
        r->o->code_lines += end_line - from + 1;
    if (end_line > r->code_to)
        r->code_to = end_line;
    r->last_line = end_line;
}

/* Comments are counted and forgotten. */
static void read_token(struct reader *r)
{
    for (;;) {
        lex_next(&r->lex, &r->t);
        if (r->t.kind != LEX_COMMENT)
            break;
        if (r->t.line > r->code_to) {
            r->o->comment_lines++;
            r->code_to = r->t.line;
        }
    }
    if (r->t.kind >= LEX_NAME && r->t.kind <= LEX_OP)
        count_lines(r, r->t.line, r->t.end_line);
}

static void next(struct reader *r)
{
    read_token(r);
    outline_track(r);
}

static bool is_op(const struct reader *r, uint8_t op)
{
    return r->t.kind == LEX_OP && r->t.op == op;
}

static bool is_word(const struct reader *r, enum lex_word word)
{
    return r->t.kind == LEX_NAME && r->t.word == word;
}

static bool is_over(const struct reader *r)
{
    return r->t.kind == LEX_END || r->t.kind == LEX_BAD || r->t.kind == LEX_NEWLINE ||
           r->o->is_out_of_memory;
}

/* ---- definitions ---- */

static void keep_docstring(struct reader *r, struct outline_def *def, const char *text, size_t len)
{
    char summary[SUMMARY_BYTES];
    size_t summary_len;

    if (r->wishes & OUTLINE_SUMMARIES && summary_make(text, len, summary, &summary_len)) {
        def->is_summary = true;
        def->docstring = outline_keep(r->o, summary, summary_len);
    } else if (r->wishes & (OUTLINE_DOCSTRINGS | OUTLINE_SUMMARIES)) {
        def->docstring = outline_keep(r->o, text, len);
    }
}

/* '('* STRING+ ')'* and the end of the statement, from here on. */
static void find_docstring(struct reader *r, struct outline_def *def)
{
    struct lex lex = r->lex;
    struct lex_token t;
    uint32_t start = 0, end = 0;

    do
        lex_next(&lex, &t);
    while (t.kind == LEX_COMMENT || t.kind == LEX_NEWLINE || t.kind == LEX_INDENT ||
           (t.kind == LEX_OP && t.op == '('));
    if (t.kind != LEX_STRING)
        return;
    start = t.start;
    while (t.kind == LEX_STRING || t.kind == LEX_COMMENT) {
        if (t.kind == LEX_STRING) {
            if (t.prefix & LEX_PREFIX_BYTES)
                return;
            end = t.end;
        }
        lex_next(&lex, &t);
    }
    while (t.kind == LEX_COMMENT || (t.kind == LEX_OP && t.op == ')'))
        lex_next(&lex, &t);
    if (t.kind != LEX_NEWLINE && t.kind != LEX_END && !(t.kind == LEX_OP && t.op == ';'))
        return;
    def->has_docstring = true;
    keep_docstring(r, def, r->lex.text + start, end - start);
}

/* Up to the comma that ends it, at this level, or the bracket that ends the level. */
static void skip_param(struct reader *r, unsigned depth, bool *ret_has_default)
{
    while (!is_over(r) && r->depth >= depth) {
        if (r->depth == depth && !outline_top(r)->lambdas) {
            if (is_op(r, ','))
                return;
            if (is_op(r, '='))
                *ret_has_default = true;
        }
        next(r);
    }
}

static void read_param(struct reader *r, enum outline_param_kind kind, unsigned depth)
{
    struct piece name = keep_token(r);
    bool has_default = false, has_annotation;
    struct outline_param *param;

    outline_top(r)->state = STATE_NONE; /* a name, no value */
    next(r);
    has_annotation = is_op(r, ':');
    skip_param(r, depth, &has_default);
    param = ADD(r->o, params, n_params);
    if (param)
        *param = (struct outline_param){name, kind, has_default, has_annotation};
}

/* Behind the opening bracket, up to the closing one. */
static uint32_t read_params(struct reader *r)
{
    enum outline_param_kind kind = PARAM_USUAL;
    uint32_t first = (uint32_t)r->o->n_params;
    unsigned depth = r->depth;

    for (next(r); !is_over(r) && r->depth >= depth; next(r)) {
        enum outline_param_kind own = kind;

        if (is_op(r, '/'))
            for (uint32_t i = first; i < r->o->n_params; i++)
                r->o->params[i].kind = PARAM_POSITIONAL;
        if (is_op(r, '*') || is_op(r, OP_POWER)) {
            own = is_op(r, '*') ? PARAM_VARIADIC : PARAM_KEYWORDS;
            kind = PARAM_KEYWORD;
            next(r);
        }
        if (r->t.kind == LEX_NAME)
            read_param(r, own, depth);
        if (r->depth < depth)
            break;
    }
    return (uint32_t)r->o->n_params - first;
}

static uint32_t read_bases(struct reader *r)
{
    uint32_t first = (uint32_t)r->o->n_params;
    unsigned depth = r->depth;

    next(r);
    while (!is_over(r) && r->depth >= depth) {
        uint32_t start = r->t.start, end = r->t.end;
        bool is_named = false, is_word_first = r->t.kind == LEX_NAME;
        unsigned count = 0;

        if (is_op(r, OP_POWER))
            is_named = true;
        while (!is_over(r) && r->depth >= depth && !(r->depth == depth && is_op(r, ','))) {
            if (r->depth == depth && count == 1 && is_word_first && is_op(r, '='))
                is_named = true;
            end = r->t.end;
            count++;
            next(r);
        }
        if (count && !is_named) {
            struct outline_param *base = ADD(r->o, params, n_params);

            if (base)
                base->name = outline_keep(r->o, r->lex.text + start, end - start);
        }
        if (is_op(r, ','))
            next(r);
    }
    return (uint32_t)r->o->n_params - first;
}

/* Type parameters, PEP 695. */
static void skip_type_params(struct reader *r)
{
    unsigned depth = r->depth;

    if (!is_op(r, '['))
        return;
    while (!is_over(r) && r->depth >= depth)
        next(r);
    outline_top(r)->state = STATE_NONE;
    next(r);
}

/* Up to the colon that opens the body. */
static void find_colon(struct reader *r, bool *ret_has_arrow)
{
    unsigned depth = r->depth;

    while (!is_over(r)) {
        if (r->depth == depth && is_op(r, OP_ARROW))
            *ret_has_arrow = true;
        if (r->depth == depth && !outline_top(r)->lambdas && is_op(r, ':'))
            return;
        next(r);
    }
}

/* At `def` or `class`. */
static void read_def(struct reader *r, enum outline_kind kind, uint32_t line, uint32_t col)
{
    struct outline *o = r->o;
    struct outline_def def = {.kind = kind,
                              .line = line,
                              .col = col,
                              .end_line = line,
                              .parent = r->within,
                              .decorator_line = r->decorator_line,
                              .first_decorator = r->first_decorator,
                              .n_decorators = (uint32_t)o->n_decorators - r->first_decorator};
    struct outline_def *place;

    next(r);
    if (r->t.kind != LEX_NAME)
        return;
    def.name = keep_token(r);
    outline_top(r)->state = STATE_NONE; /* what follows is no call */
    next(r);
    outline_top(r)->state = STATE_NONE;
    skip_type_params(r);
    def.first_param = (uint32_t)o->n_params;
    if (is_op(r, '('))
        def.n_params = kind == OUTLINE_CLASS ? read_bases(r) : read_params(r);
    find_colon(r, &def.has_returns);
    if (!is_op(r, ':'))
        return;
    find_docstring(r, &def);
    place = ADD(o, defs, n_defs);
    if (!place)
        return;
    *place = def;
    r->opens = (struct block){BLOCK_DEF, (uint32_t)(o->n_defs - 1)};
    r->decorator_line = 0;
    r->first_decorator = (uint32_t)o->n_decorators;
}

static void read_decorator(struct reader *r)
{
    uint32_t start, end;
    struct piece *place;
    struct piece name;

    if (!r->decorator_line)
        r->decorator_line = r->t.line;
    outline_top(r)->state = STATE_NONE;
    next(r);
    start = r->t.start;
    if (r->t.kind == LEX_NAME) {
        do {
            end = r->t.end;
            next(r);
        } while (!is_over(r) && (is_op(r, '.') ||
                                 (r->t.kind == LEX_NAME && outline_top(r)->state == STATE_PRIMARY &&
                                  outline_top(r)->start == start)));
        name = keep_dotted(r, start, end);
    } else {
        name = outline_keep(r->o, "", 0);
    }
    while (!is_over(r))
        next(r);
    place = ADD(r->o, decorators, n_decorators);
    if (place)
        *place = name;
}

/* ---- imports ---- */

static bool is_in(const struct reader *r, enum block_kind kind)
{
    if (r->is_inline && r->opens.kind == kind)
        return true;
    for (unsigned i = 0; i < r->n_blocks; i++)
        if (r->blocks[i].kind == kind)
            return true;
    return false;
}

static void add_import(struct reader *r, const struct outline_import *import)
{
    struct outline_import *place = ADD(r->o, imports, n_imports);

    if (!place)
        return;
    *place = *import;
    place->within = r->within;
    place->is_in_try = is_in(r, BLOCK_TRY);
    place->is_for_typing = is_in(r, BLOCK_TYPING);
}

/* a.b.c; afterwards at what follows. */
static struct piece read_module(struct reader *r)
{
    uint32_t start = r->t.start, end = start;

    while (r->t.kind == LEX_NAME && r->t.word != WORD_IMPORT && r->t.word != WORD_AS) {
        end = r->t.end;
        next(r);
        if (!is_op(r, '.'))
            break;
        next(r);
    }
    return keep_dotted(r, start, end);
}

static struct piece read_alias(struct reader *r)
{
    struct piece alias = {0};

    if (!is_word(r, WORD_AS))
        return alias;
    next(r);
    if (r->t.kind == LEX_NAME) {
        alias = keep_token(r);
        next(r);
    }
    return alias;
}

static bool ends_statement(const struct reader *r)
{
    return is_over(r) || is_op(r, ';');
}

static void read_import(struct reader *r)
{
    struct outline_import import = {.line = r->t.line, .col = r->t.col};

    next(r);
    while (!ends_statement(r)) {
        uint32_t at = r->t.start;

        import.module = read_module(r);
        import.alias = read_alias(r);
        if (import.module.len)
            add_import(r, &import);
        if (is_op(r, ','))
            next(r);
        else if (r->t.start == at)
            return; /* no Python */
    }
}

static void read_from(struct reader *r)
{
    struct outline_import import = {.line = r->t.line, .col = r->t.col, .is_from = true};

    next(r);
    for (; is_op(r, '.') || is_op(r, OP_ELLIPSIS); next(r))
        import.level += r->t.op == '.' ? 1 : 3;
    import.module = read_module(r);
    if (!is_word(r, WORD_IMPORT))
        return;
    outline_top(r)->state = STATE_NONE;
    next(r);
    if (is_op(r, '('))
        next(r);
    while (!ends_statement(r)) {
        uint32_t at = r->t.start;

        if (r->t.kind == LEX_NAME || is_op(r, '*')) {
            import.name = keep_token(r);
            next(r);
            import.alias = read_alias(r);
            add_import(r, &import);
        }
        if (is_op(r, ',') || is_op(r, ')'))
            next(r);
        else if (r->t.start == at)
            return; /* no Python */
    }
}

/* ---- statements ---- */

static void close_def(struct reader *r, uint32_t index)
{
    struct outline_def *def = &r->o->defs[index];

    def->end_line = r->last_line;
    if (def->parent != OUTLINE_NOWHERE)
        r->o->defs[def->parent].branches += def->branches;
    r->within = def->parent;
}

static void count_branch(struct reader *r)
{
    r->o->branches++;
    if (r->within != OUTLINE_NOWHERE)
        r->o->defs[r->within].branches++;
}

static bool is_for_typing(const struct reader *r)
{
    struct lex lex = r->lex;
    struct lex_token t = {0}, last = {0};

    do {
        last = t;
        lex_next(&lex, &t);
    } while (t.kind == LEX_NAME || (t.kind == LEX_OP && t.op == '.'));
    return t.kind == LEX_OP && t.op == ':' && last.kind == LEX_NAME &&
           last.end - last.start == 13 && memcmp(lex.text + last.start, "TYPE_CHECKING", 13) == 0;
}

static enum block_kind kind_of(const struct reader *r)
{
    switch (r->head) {
    case WORD_TRY:
    case WORD_EXCEPT:
    case WORD_FINALLY:
        return BLOCK_TRY;
    case WORD_IF:
    case WORD_ELIF:
        return is_for_typing(r) ? BLOCK_TYPING : BLOCK_OTHER;
    case WORD_MATCH:
        return BLOCK_MATCH;
    default:
        return BLOCK_OTHER;
    }
}

/* To the end of a statement that defines, imports and opens nothing. */
static void skip_statement(struct reader *r)
{
    uint32_t line, end_line;

    r->head = WORD_NONE;
    if (r->wishes & OUTLINE_CALLS)
        return;
    do {
        while (!r->lex.n_strings && lex_skip(&r->lex, &line, &end_line))
            count_lines(r, line, end_line);
        read_token(r);
    } while (!is_over(r) && !(is_op(r, ';') && !r->lex.depth));
    r->depth = 0;
    r->frames[0] = (struct frame){0};
    r->was_string = false;
}

/* A statement with a body cannot stand in the line of another one; otherwise there would be no
 * end. */
static bool is_misplaced(const struct reader *r)
{
    return r->is_inline && (r->head == WORD_DEF || r->head == WORD_CLASS || r->head == WORD_ASYNC);
}

/* `match` and `case` are words only where they can be. */
static bool begin_pattern(struct reader *r)
{
    if (r->head == WORD_MATCH ? !lex_is_match(&r->lex)
                              : !r->n_blocks || r->blocks[r->n_blocks - 1].kind != BLOCK_MATCH)
        return false;
    outline_top(r)->state = STATE_NONE;
    r->is_pattern = r->head == WORD_CASE;
    return true;
}

/* False for a statement that opens no block. */
static bool begin_block(struct reader *r)
{
    switch (r->head) {
    case WORD_IF:
    case WORD_ELIF:
    case WORD_FOR:
    case WORD_WHILE:
    case WORD_TRY:
    case WORD_EXCEPT:
        count_branch(r);
        break;
    case WORD_ELSE:
    case WORD_FINALLY:
    case WORD_WITH:
        break;
    case WORD_MATCH:
    case WORD_CASE:
        if (!begin_pattern(r))
            return false;
        break;
    default:
        return false;
    }
    r->opens = (struct block){kind_of(r), OUTLINE_NOWHERE};
    return true;
}

/* At the word it begins with, or behind `async`. */
static void begin_worded(struct reader *r, bool is_async, uint32_t line, uint32_t col)
{
    switch (r->head) {
    case WORD_DEF:
        read_def(r, is_async ? OUTLINE_ASYNC : OUTLINE_FUNCTION, line, col);
        break;
    case WORD_CLASS:
        read_def(r, OUTLINE_CLASS, line, col);
        break;
    case WORD_IMPORT:
        read_import(r);
        r->head = WORD_NONE;
        break;
    case WORD_FROM:
        read_from(r);
        r->head = WORD_NONE;
        break;
    default:
        if (!begin_block(r))
            skip_statement(r);
        break;
    }
}

/* At the first token of a statement; afterwards at what it has not taken. */
static void begin_statement(struct reader *r)
{
    uint32_t line = r->t.line, col = r->t.col;
    bool is_async = is_word(r, WORD_ASYNC);

    r->is_start = false;
    r->is_pattern = false;
    r->head = r->t.kind == LEX_NAME ? r->t.word : WORD_NONE;
    if (is_op(r, '@')) {
        read_decorator(r);
    } else if (r->t.kind != LEX_NAME || is_misplaced(r)) {
        skip_statement(r);
    } else {
        if (is_async) {
            next(r);
            r->head = r->t.word;
        }
        begin_worded(r, is_async, line, col);
    }
}

/* `else` and `finally` of a `try` are its parts; we do not know whose they are, and need not. */
static void on_colon(struct reader *r)
{
    if (r->head == WORD_NONE || r->depth || r->frames[0].lambdas)
        return;
    r->is_inline = true; /* unless the line ends here */
    r->is_start = true;
    r->is_pattern = false;
    r->head = WORD_NONE;
    if (r->opens.kind == BLOCK_DEF)
        r->within = r->opens.def;
}

static void on_newline(struct reader *r, bool was_colon)
{
    if (r->is_inline && !was_colon) {
        if (r->opens.kind == BLOCK_DEF)
            close_def(r, r->opens.def);
        r->opens = (struct block){BLOCK_OTHER, OUTLINE_NOWHERE};
    }
    r->is_inline = false;
    r->is_start = true;
    r->is_pattern = false;
    r->head = WORD_NONE;
    r->frames[0] = (struct frame){0};
}

static void on_dedent(struct reader *r)
{
    struct block block;

    r->is_start = true;
    if (!r->n_blocks)
        return;
    block = r->blocks[--r->n_blocks];
    if (block.kind == BLOCK_DEF)
        close_def(r, block.def);
}

static void on_indent(struct reader *r)
{
    if (r->n_blocks < LEX_INDENT_MAX)
        r->blocks[r->n_blocks++] = r->opens;
    r->opens = (struct block){BLOCK_OTHER, OUTLINE_NOWHERE};
}

static void on_op(struct reader *r)
{
    if (r->t.op == ';' && !r->depth)
        r->is_start = true;
    if (r->t.op == ':')
        on_colon(r);
}

static void read_all(struct reader *r)
{
    bool was_colon = false;

    while (!r->o->is_out_of_memory) {
        next(r);
        if (r->is_start && r->t.kind >= LEX_NAME && r->t.kind <= LEX_OP) {
            was_colon = false;
            begin_statement(r);
        }
        /* begin_statement() may have gone on to any of these. */
        switch (r->t.kind) {
        case LEX_END:
        case LEX_BAD:
            return;
        case LEX_NEWLINE:
            on_newline(r, was_colon);
            break;
        case LEX_INDENT:
            on_indent(r);
            break;
        case LEX_DEDENT:
            on_dedent(r);
            break;
        case LEX_OP:
            on_op(r);
            was_colon = r->t.op == ':' && r->is_start;
            break;
        default:
            if (is_word(r, WORD_IF) && !r->depth)
                r->is_pattern = false; /* the guard of a case */
            was_colon = false;
            break;
        }
    }
}

/* The lexer has counted those that it has seen. */
static uint32_t count_text_lines(const struct lex *lex)
{
    const char *text = lex->text;
    size_t len = lex->len;
    uint32_t lines = lex->line - 1;

    for (size_t i = lex->at; i < len; i++)
        if (text[i] == '\n' || (text[i] == '\r' && !(i + 1 < len && text[i + 1] == '\n')))
            lines++;
    return lines + (len && text[len - 1] != '\n' && text[len - 1] != '\r');
}

void outline_read(struct outline *o, const char *text, size_t len, unsigned wishes)
{
    struct reader *r = calloc(1, sizeof(*r));

    if (!r) {
        o->is_out_of_memory = true;
        return;
    }
    r->o = o;
    r->wishes = wishes;
    r->within = OUTLINE_NOWHERE;
    r->is_start = true;
    r->opens.def = OUTLINE_NOWHERE;
    lex_init(&r->lex, text, len);
    read_all(r);
    o->why = r->lex.why;
    o->why_line = r->t.line;
    o->lines = count_text_lines(&r->lex);
    o->blank_lines = o->lines > o->code_lines + o->comment_lines
                         ? o->lines - o->code_lines - o->comment_lines
                         : 0;
    free(r);
}

void outline_empty(struct outline *o)
{
    o->n_defs = o->n_params = o->n_decorators = o->n_imports = o->n_calls = o->n_names = 0;
    o->lines = o->code_lines = o->comment_lines = o->blank_lines = o->branches = 0;
    o->why = NULL;
    o->why_line = 0;
    o->is_out_of_memory = false;
    o->language = NULL;
    o->has_mistakes = false;
}

void outline_done(struct outline *o)
{
    free(o->defs);
    free(o->params);
    free(o->decorators);
    free(o->imports);
    free(o->calls);
    free(o->names);
    *o = (struct outline){0};
}
