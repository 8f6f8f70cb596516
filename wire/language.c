#include "wire/language.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* As PATH in sandboxes begins (src/sandbox/ns.c). */
static const char *const places[] = {"/usr/local/bin", "/usr/bin"};

const struct language languages[RUN_LANGUAGES + 1] = {
#define X(id, name, title, aliases, suffixes, interpreters, kernel, programs, packages, arguments) \
    [RUN_##id] = {name,         title,    aliases,  suffixes, interpreters,                        \
                  RUN_##kernel, programs, packages, arguments},
    LANGUAGES(X)
#undef X
        [RUN_COMMAND] = {.name = "command",
                         .title = "commands",
                         .aliases = "",
                         .suffixes = "",
                         .interpreters = "",
                         .kernel = RUN_BASH,
                         .programs = "",
                         .packages = "",
                         .arguments = ""},
};

struct span language_next_word(const char **list)
{
    struct span word = {*list, strcspn(*list, " ")};

    *list += word.len;
    *list += strspn(*list, " ");
    return word;
}

static bool is_same(struct span a, struct span b)
{
    return a.len == b.len && strncasecmp(a.data, b.data, a.len) == 0;
}

static bool is_in(const char *list, struct span wanted)
{
    while (*list)
        if (is_same(language_next_word(&list), wanted))
            return true;
    return false;
}

int language_find(struct span word)
{
    for (int i = 0; i < RUN_LANGUAGES; i++)
        if (is_in(languages[i].name, word) || is_in(languages[i].aliases, word))
            return i;
    return -1;
}

int language_of_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

    for (int i = 0; dot && i < RUN_LANGUAGES; i++)
        if (is_in(languages[i].suffixes, (struct span){dot, strlen(dot)}))
            return i;
    return -1;
}

/* "python3.11" for "python". */
static bool is_version_of(struct span word, struct span name)
{
    if (word.len < name.len || memcmp(word.data, name.data, name.len) != 0)
        return false;
    for (size_t i = name.len; i < word.len; i++)
        if (!memchr("0123456789.", word.data[i], 11))
            return false;
    return true;
}

int language_of_interpreter(struct span word)
{
    for (int i = 0; i < RUN_LANGUAGES; i++)
        for (const char *list = languages[i].interpreters; *list;)
            if (is_version_of(word, language_next_word(&list)))
                return i;
    return -1;
}

bool language_has_driver(enum run_language language)
{
    return *languages[languages[language].kernel].arguments;
}

bool language_find_program(struct span name, char path[LANGUAGE_PATH_MAX])
{
    struct stat st;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int n = snprintf(path, LANGUAGE_PATH_MAX, "%s/%.*s", places[i], (int)name.len, name.data);

        if (n < LANGUAGE_PATH_MAX && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            access(path, X_OK) == 0)
            return true;
    }
    return false;
}

bool language_missing(enum run_language language, struct span *ret_program,
                      struct span *ret_package)
{
    const char *programs = languages[language].programs, *packages = languages[language].packages;
    char path[LANGUAGE_PATH_MAX];

    while (*programs) {
        *ret_program = language_next_word(&programs);
        *ret_package = language_next_word(&packages);
        if (!language_find_program(*ret_program, path))
            return true;
    }
    return false;
}
