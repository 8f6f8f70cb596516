#include "unit.h"

#include "base/cleanup.h"
#include "engine/program_needs.h"

static char *modules[] = {"numpy", "scipy.stats", "sklearn"};

static bool needs_in(enum run_language language, const char *code)
{
    struct run_program program = {.language = language};
    bool needs;

    buf_init(&program.code, 1 << 20);
    assert_int_equal(buf_add(&program.code, code, strlen(code), NULL), 0);
    needs = program_needs(&program, modules, ARRAY_SIZE(modules));
    buf_done(&program.code);
    return needs;
}

static bool needs(const char *code)
{
    return needs_in(RUN_PYTHON, code);
}

TEST(the_standard_library_needs_nothing)
{
    assert_false(needs(""));
    assert_false(needs("print(1)"));
    assert_false(
        needs("import os, sys\nfrom json import dumps\nimport xml.etree.ElementTree as e"));
    assert_false(needs("def f():\n    from collections import deque; import re"));
    assert_false(needs("import api\nfrom belljar import progress"));
}

TEST(a_listed_module_is_found_wherever_it_is_named)
{
    assert_true(needs("import numpy"));
    assert_true(needs("import os, numpy as np"));
    assert_true(needs("__import__('numpy')"));
    assert_true(needs("if x:\n\tfrom sklearn.svm import SVC"));
    assert_true(needs("from scipy import optimize")); /* what was imported of it is not the point */
    assert_false(needs("numpyx = 1; my_numpy = 2"));
}

TEST(other_modules_may_import_them_in_turn)
{
    assert_true(needs("import seaborn"));
    assert_true(needs("x = 1; import helper"));
    assert_true(needs("try: import polars\nexcept ImportError: pass"));
    assert_true(needs("from . import neighbour"));
    assert_false(needs("print('words from somebody')")); /* no statement */
    assert_false(needs("yield_from = 1\nyield from range(3)"));
}

TEST(only_python_needs_modules)
{
    assert_true(needs_in(RUN_PYTHON, "import numpy"));
    assert_false(needs_in(RUN_BASH, "python3 -c 'import numpy'"));
}

TEST(a_long_text_is_not_searched)
{
    char *code = malloc(70001);

    assert_non_null(code);
    memset(code, '#', 70000);
    code[70000] = '\0';
    assert_true(needs(code));
    code[60000] = '\0';
    assert_false(needs(code));
    free(code);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
