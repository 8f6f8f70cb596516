/* Does a name say that what is assigned to it is secret? `DB_PASSWORD` and `apiKey` do,
 * `max_tokens` and `primary_key` do not. */
#include "base/cleanup.h"
#include "mask/internal.h"

#define WORDS_MAX 12
#define WORD_MAX  24

struct words {
    char items[WORDS_MAX][WORD_MAX];
    unsigned lists[WORDS_MAX]; /* in which they stand */
    unsigned count;
};

static bool is_one_of(const struct words *words, unsigned i, enum masker_list list)
{
    return words->lists[i] >> list & 1;
}

struct ending {
    const char *text;
    size_t len;
};

#define ENDING(text)                                                                               \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static bool ends_with(const char *word, const struct ending *endings, size_t count)
{
    size_t len = strlen(word);

    for (size_t i = 0; i < count; i++)
        if (endings[i].len < len &&
            memcmp(endings[i].text, word + len - endings[i].len, endings[i].len) == 0)
            return true;
    return false;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* snake_case, kebab-case, dotted.names, camelCase and HTTPHeader become words in small letters. */
static void split(const char *text, size_t len, struct words *words)
{
    size_t n = 0;

    words->count = 0;
    for (size_t i = 0; i <= len && words->count < WORDS_MAX; i++) {
        bool is_part = i < len && masker_is_alnum((unsigned char)text[i]);
        bool begins = is_part && i && is_upper(text[i]) &&
                      (is_lower(text[i - 1]) || (i + 1 < len && is_lower(text[i + 1]) &&
                                                 is_upper(text[i - 1]) && i + 2 < len));

        if (n && (!is_part || begins)) {
            words->items[words->count][n] = '\0';
            words->lists[words->count] = masker_lists_of(words->items[words->count], n);
            words->count++;
            n = 0;
        }
        if (is_part && words->count < WORDS_MAX && n < WORD_MAX - 1)
            words->items[words->count][n++] = (char)(is_upper(text[i]) ? text[i] | 32 : text[i]);
    }
}

static bool is_neutral(const struct words *words, unsigned i)
{
    const char *word = words->items[i];

    return is_one_of(words, i, LIST_NEUTRAL) ||
           (masker_is_digit((unsigned char)*word) && strspn(word, "0123456789") == strlen(word));
}

static const struct ending ends_password[] = {
    ENDING("password"), ENDING("passwd"),   ENDING("passphrase"), ENDING("pwd"),
    ENDING("passwort"), ENDING("kennwort"), ENDING("wachtwoord"), ENDING("passord")};
static const struct ending ends_token[] = {
    ENDING("token"),     ENDING("secret"),     ENDING("apikey"), ENDING("secretkey"),
    ENDING("accesskey"), ENDING("privatekey"), ENDING("sessid"), ENDING("sessionid")};

static enum masker_name judge_key(const struct words *words, unsigned last)
{
    if (!last)
        return NAME_NONE;
    if (is_one_of(words, last - 1, LIST_KEYS_PUBLIC))
        return NAME_NONE;
    return is_one_of(words, last - 1, LIST_KEYS_STRONG) ? NAME_TOKEN : NAME_WEAK;
}

static enum masker_name judge(const struct words *words, unsigned last)
{
    const char *word = words->items[last];

    if (is_one_of(words, last, LIST_PHRASES) ||
        (last && strcmp(word, "phrase") == 0 && is_one_of(words, last - 1, LIST_PHRASE_FIRST)))
        return NAME_PHRASE;
    if (is_one_of(words, last, LIST_PASSWORDS) ||
        ends_with(word, ends_password, ARRAY_SIZE(ends_password)))
        return NAME_SECRET;
    if (is_one_of(words, last, LIST_TOKENS) || ends_with(word, ends_token, ARRAY_SIZE(ends_token)))
        return NAME_TOKEN;
    if (last && strcmp(word, "code") == 0 && is_one_of(words, last - 1, LIST_PHRASE_FIRST))
        return NAME_SECRET;
    if (last && strcmp(word, "content") == 0 && strcmp(words->items[last - 1], "key") == 0)
        return NAME_SECRET;       /* of a wireless network */
    if (strcmp(word, "pat") == 0) /* or a pattern */
        return last && is_one_of(words, last - 1, LIST_HOSTS) ? NAME_TOKEN : NAME_NONE;
    if (strcmp(word, "key") == 0)
        return judge_key(words, last);
    if (strcmp(word, "keys") == 0)
        return judge_key(words, last) == NAME_TOKEN ? NAME_WEAK : NAME_NONE;
    if (strcmp(word, "auth") == 0 && last && strncmp(words->items[last - 1], "redis", 5) == 0)
        return NAME_SECRET;
    if (last && strcmp(word, "community") == 0 && strcmp(words->items[last - 1], "snmp") == 0)
        return NAME_SECRET;
    if (last && strcmp(word, "u00f1a") == 0 && strcmp(words->items[last - 1], "contrase") == 0)
        return NAME_SECRET; /* as JSON writes it */
    if (last && strcmp(word, "cookie") == 0 && strcmp(words->items[last - 1], "session") == 0)
        return NAME_WEAK;
    if (strcmp(word, "id") == 0 && last && strcmp(words->items[last - 1], "session") == 0)
        return NAME_WEAK;
    if (is_one_of(words, last, LIST_WEAK))
        return NAME_WEAK;
    return NAME_NONE;
}

enum masker_name masker_name_of(const char *text, size_t len)
{
    struct words words;
    unsigned last;

    split(text, len, &words);
    if (!words.count)
        return NAME_NONE;
    for (last = words.count - 1; last && is_neutral(&words, last); last--)
        ;
    /* max_token and n_token count things */
    if (is_one_of(&words, 0, LIST_COUNTS) && words.count > 1)
        return NAME_NONE;
    for (unsigned i = 0; i < words.count; i++)
        if (is_one_of(&words, i, LIST_PUBLIC))
            return NAME_NONE;
    return judge(&words, last);
}
