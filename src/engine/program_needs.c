#include "engine/program_needs.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/protected_python.h"
#include "wire/pack.h"

/* A longer text is not searched, since other clients wait meanwhile. */
#define TEXT_LEN_MAX ((size_t)64 * 1024)

/* No module has a longer name. */
#define NAME_LEN_MAX 64

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static struct span next_word(const char **at, const char *end)
{
    const char *begin = *at;

    while (begin < end && !is_word(*begin))
        begin++;
    *at = begin;
    while (*at < end && is_word(**at))
        (*at)++;
    return (struct span){begin, (size_t)(*at - begin)};
}

static bool is(struct span word, const char *text, size_t len)
{
    return word.len == len && memcmp(word.data, text, len) == 0;
}

static bool is_listed(struct span word, char *const *modules, size_t n_modules)
{
    for (size_t i = 0; i < n_modules; i++)
        if (is(word, modules[i], strcspn(modules[i], ".")))
            return true;
    return false;
}

static int compare_names(const void *name, const void *entry)
{
    return strcmp(name, *(const char *const *)entry);
}

/* Modules of the library that programs find here import nothing of the data stack either. */
static bool is_standard(struct span word)
{
    static const char *const own[] = {"api", "belljar", "execution_runtime", "servers"};
    char name[NAME_LEN_MAX + 1];

    if (word.len > NAME_LEN_MAX)
        return false;
    memcpy(name, word.data, word.len);
    name[word.len] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    return bsearch(name, protected_python_names, protected_python_n_names,
                   sizeof(*protected_python_names), compare_names) != NULL;
}

/* Of `import a, b.c as d` only the first name is looked at: more in a line are rare, and those of
 * the data stack are found anywhere. */
static bool begins_statement(const char *text, const char *word)
{
    while (word > text && (word[-1] == ' ' || word[-1] == '\t'))
        word--;
    return word == text || word[-1] == '\n' || word[-1] == ';' || word[-1] == ':';
}

bool program_needs(const struct run_program *program, char *const *modules, size_t n_modules)
{
    const char *text = program->code.data, *at = text, *end = text + program->code.len;
    bool is_imported = false;

    if (program->language != RUN_PYTHON || program->only_checks)
        return false;
    if (program->code.len > TEXT_LEN_MAX)
        return true;
    while (at < end) {
        struct span word = next_word(&at, end);

        if (!word.len)
            return false;
        if (is_listed(word, modules, n_modules) || (is_imported && !is_standard(word)))
            return true;
        is_imported =
            (is(word, "import", 6) || is(word, "from", 4)) && begins_statement(text, word.data);
    }
    return false;
}
