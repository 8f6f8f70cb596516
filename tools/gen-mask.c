/* Turns the table of src/mask/kinds.c into what the masker works with, at build time: the steps of
 * each pattern, and Vectorscan databases of their anchors, which take a while to compile and are
 * the same for everybody.
 *
 * An anchor is the beginning of a pattern as far as it is of fixed width. Where it ends, Vectorscan
 * says so; where it began then follows, which is all we ask of it. The databases are made for any
 * processor of the architecture.
 *
 * They are written as they lie in memory after loading, since loading copies them for each process.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hs/hs.h>

#include "mask/kinds.h"

#define CLASSES_MAX  512
#define ANCHOR_MAX   16
#define ANCHOR_LEAST 8   /* so wide is an anchor made, where the pattern lets it */
#define LEFT_LEAST   14  /* a first part as wide as this is looked for behind the anchor */
#define OPEN_END     512 /* what {m,} takes; the rest of the run goes with it */
#define ALIGNMENT    64

struct part {
    bool set[256];
    unsigned min, max;
    bool begins_group, ends_group;
};

struct parts {
    struct part items[MASKER_STEPS_MAX * 8];
    unsigned count;
};

static masker_class classes[CLASSES_MAX];
static unsigned n_classes;

static void die(const char *what, const char *pattern)
{
    (void)fprintf(stderr, "gen-mask: %s: %s\n", what, pattern);
    exit(1);
}

/* ---- reading a pattern ---- */

static const char *read_class(const char *at, struct part *part, const char *pattern)
{
    bool inverts = *at == '^';

    for (at += inverts; *at && *at != ']'; at++) {
        unsigned char from = (unsigned char)(*at == '\\' ? *++at : *at), to = from;

        if (at[1] == '-' && at[2] && at[2] != ']') {
            to = (unsigned char)at[2];
            at += 2;
        }
        for (unsigned c = from; c <= to; c++)
            part->set[c] = true;
    }
    if (*at != ']')
        die("a class without end", pattern);
    for (unsigned c = 0; inverts && c < 256; c++)
        part->set[c] = !part->set[c];
    return at + 1;
}

static const char *read_count(const char *at, struct part *part, const char *pattern)
{
    char *end;

    if (*at == '?') {
        part->min = 0;
        return at + 1;
    }
    if (*at != '{')
        return at;
    part->min = part->max = (unsigned)strtoul(at + 1, &end, 10);
    if (*end == ',')
        part->max = end[1] == '}' ? OPEN_END : (unsigned)strtoul(end + 1, &end, 10);
    end = strchr(end, '}');
    if (!end)
        die("a count without end", pattern);
    return end + 1;
}

static void fold_case(struct part *part)
{
    for (unsigned c = 'a'; c <= 'z'; c++)
        part->set[c] = part->set[toupper((int)c)] = part->set[c] || part->set[toupper((int)c)];
}

static void read_pattern(const struct masker_kind *kind, struct parts *parts)
{
    const char *at = kind->pattern;
    bool begins = false;

    parts->count = 0;
    while (*at) {
        struct part *part = &parts->items[parts->count];

        if (*at == '(') {
            begins = true;
            at++;
            continue;
        }
        if (*at == ')') {
            parts->items[parts->count - 1].ends_group = true;
            at++;
            continue;
        }
        *part = (struct part){.min = 1, .max = 1, .begins_group = begins};
        begins = false;
        if (*at == '[')
            at = read_class(at + 1, part, kind->pattern);
        else
            part->set[(unsigned char)(*at == '\\' ? *++at : *at)] = true, at++;
        if (kind->flags & MASKER_ANYCASE)
            fold_case(part);
        at = read_count(at, part, kind->pattern);
        parts->count++;
    }
}

/* ---- steps ---- */

static uint16_t class_of(const struct part *part)
{
    masker_class made = {0};

    for (unsigned c = 0; c < 256; c++)
        if (part->set[c])
            made[c >> 4] |= (uint16_t)(1u << (c & 15));
    for (unsigned i = 0; i < n_classes; i++)
        if (memcmp(classes[i], made, sizeof(made)) == 0)
            return (uint16_t)i;
    if (n_classes == CLASSES_MAX)
        die("too many classes", "");
    memcpy(classes[n_classes], made, sizeof(made));
    return (uint16_t)n_classes++;
}

static void make_anchor(const struct parts *parts, unsigned first, bool is_fragment,
                        struct masker_program *program)
{
    for (unsigned i = first; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        bool is_fixed = part->min == part->max && program->width + part->min <= ANCHOR_MAX;
        unsigned take = part->min;

        if (!is_fixed) {
            unsigned least = is_fragment ? 0 : ANCHOR_LEAST;
            unsigned room = program->width < least ? least - program->width : 0;

            take = take < room ? take : room;
        }
        for (unsigned n = 0; n < take; n++)
            program->anchor[program->width++] = class_of(part);
        if (!is_fixed)
            return;
    }
}

/* Literals of an anchor are part of it; the steps begin at its start all the same, and parts of one
 * byte each are put together where they can be. */
static void make_program(const struct masker_kind *kind, struct masker_program *program)
{
    static struct parts parts;
    unsigned first = 0;

    read_pattern(kind, &parts);
    *program = (struct masker_program){0};
    if (parts.count > 1 &&
        (parts.items[0].max >= LEFT_LEAST || parts.items[0].max > parts.items[0].min)) {
        const struct part *left = &parts.items[first++];

        program->left =
            (struct masker_step){class_of(left), (uint16_t)left->min, (uint16_t)left->max};
    }
    make_anchor(&parts, first, kind->flags & MASKER_FRAGMENT, program);
    program->group_to = UINT8_MAX;
    for (unsigned i = first, taken = 0; i < parts.count; i++) {
        const struct part *part = &parts.items[i];

        /* The bytes of the anchor are known to be there: a step of one byte each is not needed. */
        if (taken + part->max <= program->width && part->min == part->max && !part->begins_group) {
            taken += part->min;
            if (!program->n_steps || program->steps[0].class != UINT16_MAX) {
                program->steps[program->n_steps++] = (struct masker_step){UINT16_MAX, 0, 0};
            }
            program->steps[0].min = program->steps[0].max = (uint16_t)taken;
            continue;
        }
        taken = UINT16_MAX;
        if (program->n_steps == MASKER_STEPS_MAX)
            die("too many steps", kind->pattern);
        if (part->begins_group)
            program->group_from = program->n_steps;
        program->steps[program->n_steps++] =
            (struct masker_step){class_of(part), (uint16_t)part->min, (uint16_t)part->max};
        if (part->ends_group)
            program->group_to = program->n_steps;
    }
    if (program->group_to == UINT8_MAX)
        program->group_to = program->n_steps;
}

/* ---- databases ---- */

static char *anchor_expression(const struct masker_program *program)
{
    char *text = malloc((size_t)program->width * 1100 + 1), *at = text;

    if (!text)
        die("out of memory", "");
    for (unsigned i = 0; i < program->width; i++) {
        at += snprintf(at, 2, "[");
        for (unsigned c = 0; c < 256; c++)
            if (classes[program->anchor[i]][c >> 4] >> (c & 15) & 1)
                at += snprintf(at, 5, "\\x%02x", c);
        at += snprintf(at, 2, "]");
    }
    return text;
}

static void print_bytes(const char *name, const unsigned char *bytes, size_t size)
{
    (void)printf("\n_Alignas(%d) const unsigned char %s[] = {", ALIGNMENT, name);
    for (size_t i = 0; i < size; i++)
        (void)printf("%s%u,", i % 24 ? "" : "\n", bytes[i]);
    (void)printf("\n};\nconst unsigned %s_size = %zu;\n", name, size);
}

static void print_database(const char *name, const struct masker_program *programs,
                           unsigned without)
{
    const char **expressions = calloc(masker_kind_count, sizeof(*expressions));
    unsigned *flags = calloc(masker_kind_count, sizeof(*flags));
    unsigned *ids = calloc(masker_kind_count, sizeof(*ids));
    hs_platform_info_t any = {.tune = HS_TUNE_FAMILY_GENERIC};
    hs_database_t *database;
    hs_compile_error_t *error;
    unsigned count = 0;
    char *bytes;
    size_t size;
    void *loaded;

    for (unsigned i = 0; i < masker_kind_count; i++) {
        if (masker_kinds[i].flags & without)
            continue;
        expressions[count] = anchor_expression(&programs[i]);
        ids[count++] = i;
    }
    if (hs_compile_multi(expressions, flags, ids, count, HS_MODE_BLOCK, &any, &database, &error) !=
        HS_SUCCESS)
        die(error->message, error->expression >= 0 ? expressions[error->expression] : "");
    if (hs_serialize_database(database, &bytes, &size) != HS_SUCCESS)
        die("cannot serialize", name);
    (void)hs_serialized_database_size(bytes, size, &size);
    loaded = aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    memset(loaded, 0, size);
    (void)hs_serialize_database(database, &bytes, &size);
    if (hs_deserialize_database_at(bytes, size, loaded) != HS_SUCCESS)
        die("cannot load", name);
    (void)hs_serialized_database_size(bytes, size, &size);
    print_bytes(name, loaded, size);
}

/* ---- output ---- */

static void print_step(const struct masker_step *step)
{
    (void)printf("{%u,%u,%u},", step->class, step->min, step->max);
}

static void print_program(const struct masker_program *p)
{
    (void)printf("{{");
    for (unsigned i = 0; i < p->n_steps; i++)
        print_step(&p->steps[i]);
    (void)printf("},");
    print_step(&p->left);
    (void)printf("%u,%u,%u,%u,{", p->n_steps, p->width, p->group_from, p->group_to);
    for (unsigned i = 0; i < p->width; i++)
        (void)printf("%u,", p->anchor[i]);
    (void)printf("}},\n");
}

int main(void)
{
    struct masker_program *programs = calloc(masker_kind_count, sizeof(*programs));

    for (unsigned i = 0; i < masker_kind_count; i++)
        make_program(&masker_kinds[i], &programs[i]);
    (void)printf(
        "#include \"mask/kinds.h\"\n\nconst struct masker_program masker_programs[] = {\n");
    for (unsigned i = 0; i < masker_kind_count; i++)
        print_program(&programs[i]);
    (void)printf("};\n\nconst masker_class masker_classes[] = {\n");
    for (unsigned i = 0; i < n_classes; i++) {
        (void)printf("{");
        for (unsigned j = 0; j < 16; j++)
            (void)printf("%u,", classes[i][j]);
        (void)printf("},\n");
    }
    (void)printf("};\n");
    print_database("masker_database_secrets", programs, MASKER_AGGRESSIVE);
    print_database("masker_database_all", programs, 0);
    return ferror(stdout) ? 1 : 0;
}
