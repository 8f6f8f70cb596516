#include "library/code/tree.h"

#include <string.h>

/* clang-format off */
static const struct tree_language languages[] = {
    [TREE_JAVASCRIPT] = {TREE_JAVASCRIPT, "javascript", "JavaScript", ".js .mjs .cjs .jsx", "node nodejs deno bun", ".", true},
    [TREE_TYPESCRIPT] = {TREE_TYPESCRIPT, "typescript", "TypeScript", ".ts .mts .cts", "ts-node tsx", ".", true},
    [TREE_TSX] = {TREE_TSX, "tsx", "TSX", ".tsx", NULL, ".", true},
    [TREE_C] = {TREE_C, "c", "C", ".c .h", NULL, "::", true},
    [TREE_CPP] = {TREE_CPP, "cpp", "C++", ".cpp .cc .cxx .hpp .hh .hxx .ipp", NULL, "::", false},
    [TREE_GO] = {TREE_GO, "go", "Go", ".go", NULL, ".", false},
    [TREE_RUST] = {TREE_RUST, "rust", "Rust", ".rs", NULL, "::", false},
    [TREE_JAVA] = {TREE_JAVA, "java", "Java", ".java", NULL, ".", false},
    [TREE_BASH] = {TREE_BASH, "bash", "Bash", ".sh .bash", "sh bash dash ksh", ".", false},
    [TREE_JSON] = {TREE_JSON, "json", "JSON", ".json", NULL, ".", true},
};
/* clang-format on */

#define N_LANGUAGES (sizeof(languages) / sizeof(languages[0]))

_Static_assert(N_LANGUAGES == TREE_LANGUAGES, "each has its row");

const struct tree_language *tree_language_at(size_t n)
{
    return n < N_LANGUAGES ? &languages[n] : NULL;
}

const struct tree_language *tree_language_called(const char *name)
{
    for (size_t i = 0; i < N_LANGUAGES; i++)
        if (strcmp(languages[i].name, name) == 0)
            return &languages[i];
    return NULL;
}

/* Is the word one of those, which stand with single blanks between them? */
static bool is_among(const char *words, const char *word, size_t len)
{
    while (words && *words) {
        size_t n = strcspn(words, " ");

        if (n == len && memcmp(words, word, len) == 0)
            return true;
        words += n + (words[n] == ' ');
    }
    return false;
}

/* The program in "#!/usr/bin/env -S node --flag" or "#!/bin/sh": its last part, without a version.
 */
static size_t interpreter_of(const char *text, size_t len, const char **ret_name)
{
    const char *end = memchr(text, '\n', len);
    const char *at = text + 2, *name = NULL;
    size_t n = 0;

    if (len < 3 || memcmp(text, "#!", 2) != 0)
        return 0;
    end = end ? end : text + len;
    while (at < end) {
        const char *start = at;

        while (at < end && !memchr(" \t\r", *at, 3))
            at++;
        name = memrchr(start, '/', (size_t)(at - start));
        name = name ? name + 1 : start;
        n = (size_t)(at - name);
        if (n && *start != '-' && !(n == 3 && memcmp(name, "env", 3) == 0))
            break;
        at += at < end;
    }
    *ret_name = name;
    return n;
}

/* A header of C++, by what C cannot have at the beginning of a line. */
static bool is_of_cpp(const char *text, size_t len)
{
    static const char *const words[] = {"\nclass ", "\nnamespace ", "\ntemplate", "\npublic:"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (memmem(text, len, words[i], strlen(words[i])))
            return true;
    return false;
}

const struct tree_language *tree_language_of(const char *path, const char *text, size_t len)
{
    const char *slash = strrchr(path, '/'), *dot, *name = NULL;
    size_t n;

    path = slash ? slash + 1 : path;
    dot = strrchr(path, '.');
    for (size_t i = 0; dot && dot != path && i < N_LANGUAGES; i++)
        if (is_among(languages[i].endings, dot, strlen(dot)))
            return &languages[strcmp(dot, ".h") == 0 && is_of_cpp(text, len) ? TREE_CPP : i];
    /* A file name with an ending of another language decides, whatever the first line says. */
    n = dot && dot != path ? 0 : interpreter_of(text, len, &name);
    for (size_t i = 0; n && i < N_LANGUAGES; i++)
        if (is_among(languages[i].interpreters, name, n))
            return &languages[i];
    return NULL;
}
