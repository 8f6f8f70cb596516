/* Lists of words, found at once: all of them are in one table, by their hash, with the lists in
 * which they stand. */
#include "mask/internal.h"

#define TABLE_SIZE 2048 /* a power of two, several times as many as there are words */

static const char *const lists[MASKER_LISTS] = {
    /* Words behind the one that matters: PASSWORD_PROD, token_v2, secret_key_base. */
    [LIST_NEUTRAL] =
        "prod production dev development stage staging test testing qa live old new current "
        "previous default primary secondary main value val base data str string text plain "
        "plaintext raw b64 base64 hex confirm confirmation backup local remote internal external "
        "us eu v1 v2 v3 a b env admin root master db mysql postgres redis",
    /* Words before `key` that make it a key which opens something. */
    [LIST_KEYS_STRONG] =
        "api access secret private encryption encrypt decryption signing sign master auth account "
        "shared session service storage client app application admin root license deploy ssh aes "
        "rsa hmac jwt crypto cipher wallet webhook consumer subscription integration security "
        "vault server project team user developer stripe openai anthropic github gitlab google aws "
        "azure gcp slack sendgrid mailgun twilio datadog sentry heroku django flask rails laravel "
        "fernet salt write read ingest license activation cloudflare algolia firebase recaptcha "
        "maps pusher segment mixpanel bot dd instrumentation functions function host db database "
        "redis cookie symmetric token pgp gpg tls ssl kms data oauth sas restricted live prod test "
        "dev",
    /* ... and when it only finds something. */
    [LIST_KEYS_PUBLIC] =
        "public primary foreign sort cache partition hash dict unique index row group object "
        "lookup known map config setting settings column field json yaml query param registry hot "
        "arrow press shift ctrl alt natural surrogate composite candidate idempotency dedup "
        "routing message event metric label tag i18n translation locale feature flag bucket s3 "
        "file path route answer the a publishable pub name type",
    [LIST_PASSWORDS] =
        "password passwd passwort pwd passphrase passcode pass pw pswd passw userpass dbpass",
    [LIST_TOKENS] = "token secret apikey accesskey secretkey privatekey authkey masterkey "
                    "encryptionkey signingkey accountkey jwt sessionid sessid phpsessid jsessionid "
                    "authtoken pat",
    [LIST_PHRASES] = "passphrase mnemonic",
    [LIST_PHRASE_FIRST] = "seed recovery pass backup",
    [LIST_WEAK] = "auth credential credentials sess secrets sid",
    [LIST_COUNTS] = "max min num n total count",
    [LIST_PUBLIC] = "public publishable",
    /* Values that stand for others, or for none. */
    [LIST_NOTHING] =
        "none null nil true false undefined empty redacted hidden masked secret password passwd "
        "token changeme change_me change-me string str bytes int integer float bool boolean number "
        "optional required default unknown missing invalid expired disabled enabled bearer basic "
        "incorrect correct accepted rejected changed updated deleted created revoked failed "
        "success successful succeeded error denied granted available unavailable configured unset "
        "not_set provided omitted username value object array object() dict list tuple text "
        "varchar any auto yes no on off private public removed rotated valid supplied present "
        "absent ignored pending active inactive filtered sensitive protected encrypted apikey "
        "api_key api-key admin user pass here todo tbd n/a na prompt input function lambda hunter "
        "strong weak",
};

struct word {
    const char *text;
    unsigned len;
    unsigned in; /* bits of the lists */
};

static struct word table[TABLE_SIZE];

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 32) : c;
}

static struct word *slot_of(const char *text, size_t len)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ lower((unsigned char)text[i])) * 16777619u;
    for (uint32_t i = hash;; i++) {
        struct word *word = &table[i % TABLE_SIZE];

        if (!word->text || (word->len == len && strncasecmp(word->text, text, len) == 0))
            return word;
    }
}

static void make_table(void)
{
    static bool is_made;

    if (is_made)
        return;
    is_made = true;
    for (unsigned list = 0; list < MASKER_LISTS; list++)
        for (const char *at = lists[list]; *at;) {
            size_t len = strcspn(at, " ");
            struct word *word = slot_of(at, len);

            word->text = at;
            word->len = (unsigned)len;
            word->in |= 1u << list;
            at += len + (at[len] == ' ');
        }
}

unsigned masker_lists_of(const char *text, size_t len)
{
    make_table();
    return len && len <= MASKER_WORD_MAX ? slot_of(text, len)->in : 0;
}
