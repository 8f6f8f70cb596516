#include "engine/reads_input.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"

static bool is_word_at(const char *text, const char *at, const char *word)
{
    size_t len = strlen(word);

    return strncmp(at, word, len) == 0 && !isalnum((unsigned char)at[len]) && at[len] != '_' &&
           (at == text || !isalnum((unsigned char)at[-1]));
}

/* The words before a command in its line: `;`, `&&`, `then` and the like. Behind a pipe and in the
 * head of a loop, a command reads from elsewhere more often than not. */
static bool begins_command(const char *text, const char *at)
{
    static const char *const words[] = {"do", "then", "else", "if"};

    while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    if (at == text || strchr("\n;&{(", at[-1]))
        return true;
    if (at[-1] == '|')
        return at - text > 1 && at[-2] == '|';
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t len = strlen(words[i]);

        if ((size_t)(at - text) >= len && is_word_at(text, at - len, words[i]))
            return true;
    }
    return false;
}

/* `read name`, without a file or text of its own. */
static bool bash_reads(const char *text)
{
    for (const char *at = strstr(text, "read"); at; at = strstr(at + 1, "read")) {
        size_t len = strcspn(at, "\n;");

        if (is_word_at(text, at, "read") && begins_command(text, at) && !memchr(at, '<', len))
            return true;
    }
    return false;
}

static bool script_reads(const char *text)
{
    static const char *const ways[] = {"process.stdin", "readFileSync(0", "/dev/stdin"};

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
        if (strstr(text, ways[i]))
            return true;
    return false;
}

bool reads_input(enum run_language language, const char *text)
{
    switch (language) {
    case RUN_PYTHON: /* it has EOFError, or has got what was typed */
    case RUN_COMMAND:
        return false;
    case RUN_BASH:
        return bash_reads(text);
    default:
        return script_reads(text);
    }
}
