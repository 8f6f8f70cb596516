/* Whole programs: evasions that must not reach anything (evasions.txt), ordinary ones that must not
 * be disturbed (benign.txt). */
#include "unit.h"

#include <stdio.h>

#include "guest/program.h"

#define PROGRAMS_MAX 512

struct program {
    char *name;
    char *source;
    char *expected; /* or NULL */
};

struct corpus {
    char *text;
    struct program items[PROGRAMS_MAX];
    size_t count;
};

static char *read_file(const char *name)
{
    char path[4096];
    char *text = calloc(1, 1 << 20);
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", CORPUS_DIR, name);
    file = fopen(path, "re");
    if (!file || !text || fread(text, 1, (1 << 20) - 1, file) == 0)
        fail_msg("cannot read %s", path);
    if (file)
        (void)fclose(file);
    return text;
}

/* Cuts the text into programs in place: "=== name", the source, and where there is one, "---" and
 * the output. */
static void corpus_load(struct corpus *corpus, const char *file)
{
    char *at;

    corpus->count = 0;
    corpus->text = read_file(file);
    at = strstr(corpus->text, "\n=== ");
    while (at) {
        struct program *program = &corpus->items[corpus->count++];
        char *end, *output;

        assert_true(corpus->count < PROGRAMS_MAX);
        program->name = at + 5;
        program->source = strchr(program->name, '\n') + 1;
        program->source[-1] = '\0';
        end = strstr(program->source, "\n=== ");
        if (end)
            end[0] = '\0';
        output = strstr(program->source, "\n---\n");
        program->expected = output ? output + 5 : NULL;
        if (output)
            output[1] = '\0';
        at = end;
    }
}

TEST(no_evasion_reaches_anything)
{
    struct corpus corpus;
    size_t failed = 0;

    corpus_load(&corpus, "evasions.txt");
    assert_true(corpus.count > 100);
    for (size_t i = 0; i < corpus.count; i++) {
        struct program *program = &corpus.items[i];
        struct program_result result = program_run("strict", program->source);

        if ((result.end != PROGRAM_REFUSED && result.end != PROGRAM_RAISED) ||
            strstr(result.output, "ESCAPED")) {
            print_error("evasion `%s` ended as %d:\n%s\n", program->name, (int)result.end,
                        result.output);
            failed++;
        }
        program_result_done(&result);
    }
    free(corpus.text);
    assert_int_equal(failed, 0);
}

TEST(ordinary_programs_give_their_normal_output)
{
    struct corpus corpus;
    size_t failed = 0;

    corpus_load(&corpus, "benign.txt");
    assert_true(corpus.count >= 40);
    for (size_t i = 0; i < corpus.count; i++) {
        struct program *program = &corpus.items[i];
        struct program_result result = program_run("strict", program->source);
        size_t len = strlen(program->expected);

        /* The last newline belongs to the corpus. */
        if (result.end != PROGRAM_RAN || strncmp(result.output, program->expected, len) != 0 ||
            strspn(result.output + len, "\n") != strlen(result.output + len)) {
            print_error("program `%s` ended as %d:\n%s\n", program->name, (int)result.end,
                        result.output);
            failed++;
        }
        program_result_done(&result);
    }
    free(corpus.text);
    assert_int_equal(failed, 0);
}

/* Programs with syntax that older Pythons do not read. */
TEST(programs_with_newer_syntax_give_their_normal_output)
{
    struct corpus corpus;
    size_t failed = 0;

    if (PY_VERSION_HEX < 0x030d0000) {
        print_message("# skipped: their syntax is that of Python 3.13, this is %s\n", PY_VERSION);
        skip();
    }
    corpus_load(&corpus, "benign-3.13.txt");
    assert_true(corpus.count >= 5);
    for (size_t i = 0; i < corpus.count; i++) {
        struct program *program = &corpus.items[i];
        struct program_result result = program_run("strict", program->source);

        if (result.end != PROGRAM_RAN ||
            strncmp(result.output, program->expected, strlen(program->expected)) != 0) {
            print_error("program `%s` ended as %d:\n%s\n", program->name, (int)result.end,
                        result.output);
            failed++;
        }
        program_result_done(&result);
    }
    free(corpus.text);
    assert_int_equal(failed, 0);
}

TEST(ordinary_programs_run_under_standard_too)
{
    struct corpus corpus;
    size_t failed = 0;

    corpus_load(&corpus, "benign.txt");
    for (size_t i = 0; i < corpus.count; i++) {
        struct program_result result = program_run("standard", corpus.items[i].source);

        if (result.end != PROGRAM_RAN) {
            print_error("program `%s` ended as %d:\n%s\n", corpus.items[i].name, (int)result.end,
                        result.output);
            failed++;
        }
        program_result_done(&result);
    }
    free(corpus.text);
    assert_int_equal(failed, 0);
}

static int start(void **state)
{
    static const char *const modules[] = {
        "numpy",
        "pandas",
        "scipy.stats",
        "scipy.optimize",
        "sympy",
        "sklearn",
        "sklearn.linear_model",
        "sklearn.cluster",
        "matplotlib.pyplot",
        "networkx",
        "asyncio",
        "logging.config",
        "concurrent.futures",
    };

    (void)state;
    /* Preloading may write caches; the programs may not. */
    (void)setenv("MPLBACKEND", "Agg", 1);
    (void)setenv("HOME", "/nonexistent", 1);
    return program_start(modules, sizeof(modules) / sizeof(modules[0]));
}

UNIT_MAIN_WITH(start, NULL)
