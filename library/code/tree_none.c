/* In the place of the grammars, where the build has none. */
#include "library/code/tree.h"

#include <stdlib.h>

/* clang-format off */
static const char *const words[TREE_LANGUAGES] = {
#define NO(title) "this build has no grammar for " title
    [TREE_JAVASCRIPT] = NO("JavaScript"), [TREE_TYPESCRIPT] = NO("TypeScript"), [TREE_TSX] = NO("TSX"),
    [TREE_C] = NO("C"), [TREE_CPP] = NO("C++"), [TREE_GO] = NO("Go"), [TREE_RUST] = NO("Rust"),
    [TREE_JAVA] = NO("Java"), [TREE_BASH] = NO("Bash"), [TREE_JSON] = NO("JSON"),
#undef NO
};
/* clang-format on */

bool tree_is_there(const struct tree_language *language)
{
    (void)language;
    return false;
}

void tree_read(struct outline *o, const struct tree_language *language, const char *text,
               size_t len, unsigned wishes)
{
    (void)text;
    (void)len;
    (void)wishes;
    o->language = language;
    o->why = words[language->id];
}

void tree_names_read(struct tree_names *names, const struct tree_language *language,
                     const char *text, size_t len, const char *name, const char *other)
{
    (void)text;
    (void)len;
    (void)name;
    (void)other;
    names->why = words[language->id];
}

void tree_names_done(struct tree_names *names)
{
    free(names->items);
}
