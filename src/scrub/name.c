/* Does a name say that what is assigned to it is secret? `DB_PASSWORD` and `apiKey` do,
 * `max_tokens` and `primary_key` do not. */
#include "scrub/scrub_internal.h"

#define WORDS_MAX 12
#define WORD_MAX  24

struct words {
    char items[WORDS_MAX][WORD_MAX];
    unsigned count;
};

static bool is_one_of(const char *word, const char *list)
{
    size_t len = strlen(word);

    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " ");

        if (n == len && memcmp(at, word, len) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static bool ends_with(const char *word, const char *list)
{
    size_t len = strlen(word);

    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " ");

        if (n < len && memcmp(at, word + len - n, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
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
        bool is_part = i < len && scrub_is_alnum((unsigned char)text[i]);
        bool begins = is_part && i && is_upper(text[i]) &&
                      (is_lower(text[i - 1]) || (i + 1 < len && is_lower(text[i + 1]) &&
                                                 is_upper(text[i - 1]) && i + 2 < len));

        if (n && (!is_part || begins)) {
            words->items[words->count++][n] = '\0';
            n = 0;
        }
        if (is_part && words->count < WORDS_MAX && n < WORD_MAX - 1)
            words->items[words->count][n++] = (char)(is_upper(text[i]) ? text[i] | 32 : text[i]);
    }
}

/* Words behind the one that matters: PASSWORD_PROD, token_v2, secret_key_base. */
static const char neutral[] =
    "prod production dev development stage staging test testing qa live old new current previous "
    "default primary secondary main value val base data str string text plain plaintext raw b64 "
    "base64 hex confirm confirmation backup local remote internal external us eu v1 v2 v3 a b env "
    "admin root master db mysql postgres redis";

static bool is_neutral(const char *word)
{
    return is_one_of(word, neutral) || strspn(word, "0123456789") == strlen(word);
}

/* What comes before `key` when the key opens something. */
static const char keys_strong[] =
    "api access secret private encryption encrypt decryption signing sign master auth account "
    "shared "
    "session service storage client app application admin root license deploy ssh aes rsa hmac jwt "
    "crypto cipher wallet webhook consumer subscription integration security vault server project "
    "team user developer stripe openai anthropic github gitlab google aws azure gcp slack sendgrid "
    "mailgun twilio datadog sentry heroku django flask rails laravel fernet salt write read ingest "
    "license activation cloudflare algolia firebase recaptcha maps pusher segment mixpanel bot dd "
    "instrumentation functions function host db database redis cookie symmetric token pgp gpg tls "
    "ssl "
    "kms data oauth sas restricted live prod test dev";

/* ... and when it only finds something. */
static const char keys_public[] =
    "public primary foreign sort cache partition hash dict unique index row group object lookup "
    "known map config setting settings column field json yaml query param registry hot arrow press "
    "shift ctrl alt natural surrogate composite candidate idempotency dedup routing message event "
    "metric label tag i18n translation locale feature flag bucket s3 file path route answer the a "
    "publishable pub name type";

static const char passwords[] =
    "password passwd passwort pwd passphrase passcode pass pw pswd passw userpass dbpass";
static const char tokens[] = "token secret apikey accesskey secretkey privatekey authkey masterkey "
                             "encryptionkey signingkey accountkey jwt sessionid sessid phpsessid "
                             "jsessionid authtoken pat";
static const char ends_password[] = "password passwd passphrase pwd";
static const char ends_token[] =
    "token secret apikey secretkey accesskey privatekey sessid sessionid";

static enum scrub_name judge_key(const struct words *words, unsigned last)
{
    if (!last)
        return NAME_NONE;
    if (is_one_of(words->items[last - 1], keys_public))
        return NAME_NONE;
    return is_one_of(words->items[last - 1], keys_strong) ? NAME_TOKEN : NAME_WEAK;
}

static enum scrub_name judge(const struct words *words, unsigned last)
{
    const char *word = words->items[last];

    if (is_one_of(word, "passphrase mnemonic") ||
        (last && strcmp(word, "phrase") == 0 &&
         is_one_of(words->items[last - 1], "seed recovery pass backup")))
        return NAME_PHRASE;
    if (is_one_of(word, passwords) || ends_with(word, ends_password))
        return NAME_SECRET;
    if (is_one_of(word, tokens) || ends_with(word, ends_token))
        return NAME_TOKEN;
    if (strcmp(word, "key") == 0)
        return judge_key(words, last);
    if (strcmp(word, "id") == 0 && last && strcmp(words->items[last - 1], "session") == 0)
        return NAME_WEAK;
    if (is_one_of(word, "auth credential credentials sess secrets sid"))
        return NAME_WEAK;
    return NAME_NONE;
}

enum scrub_name scrub_name_of(const char *text, size_t len)
{
    struct words words;
    unsigned last;

    split(text, len, &words);
    if (!words.count)
        return NAME_NONE;
    for (last = words.count - 1; last && is_neutral(words.items[last]); last--)
        ;
    /* max_token and n_token count things */
    if (is_one_of(words.items[0], "max min num n total count") && words.count > 1)
        return NAME_NONE;
    for (unsigned i = 0; i < words.count; i++)
        if (is_one_of(words.items[i], "public publishable"))
            return NAME_NONE;
    return judge(&words, last);
}
