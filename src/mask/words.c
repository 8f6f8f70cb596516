/* Lists of words, found at once: all of them are in one table, by their hash, with the lists in
 * which they stand. */
#include "mask/internal.h"

#define TABLE_SIZE 4096 /* a power of two, several times as many as there are words */

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
        "fernet salt unseal recovery connection wifi insert write read ingest license activation "
        "cloudflare algolia firebase recaptcha "
        "maps pusher segment mixpanel bot dd instrumentation functions function host db database "
        "redis cookie symmetric token pgp gpg tls ssl kms data oauth sas restricted live prod test "
        "dev",
    /* ... and when it only finds something. */
    [LIST_KEYS_PUBLIC] =
        "public primary foreign sort cache restore partition hash dict unique index row group "
        "object "
        "lookup known map config setting settings column field json yaml query param registry hot "
        "arrow press shift ctrl alt natural surrogate composite candidate idempotency dedup "
        "routing message event metric label tag i18n translation locale feature flag bucket s3 "
        "file path route answer the a publishable pub name type",
    [LIST_PASSWORDS] =
        "password passwd passwort pwd passphrase passcode pass pw pswd passw userpass dbpass "
        "sshpass rootpass adminpass passe contrase psk kennwort wachtwoord senha heslo adgangskode "
        "salasana salasanasi salasananne bindpw requirepass masterauth rootpw passord parola "
        "parolan parolam parolaniz "
        "lozinka parool contrasenya sandi jelszav jelszavad jelszava authtok",
    [LIST_TOKENS] = "token secret apikey appkey accesskey secretkey privatekey authkey masterkey "
                    "encryptionkey signingkey accountkey jwt sessionid sessid phpsessid jsessionid "
                    "authtoken",
    /* Before `pat`: who issues personal access tokens. */
    [LIST_HOSTS] = "gh github git gitlab gitea azure ado devops access api bitbucket airtable "
                   "databricks snowflake tableau jira confluence",
    [LIST_PHRASES] = "passphrase mnemonic",
    [LIST_PHRASE_FIRST] = "seed recovery pass backup",
    [LIST_WEAK] =
        "auth clave chave jeton credential credentials sess secrets tokens passwords apikeys sid",
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
        "strong weak sufficient requisite include substack deprecated unchanged confirmed passwort "
        "kennwort wachtwoord contrase\u00f1a senha heslo adgangskode salasana has\u0142o "
        "l\u00f6senord "
        "lozinka parola jelsz\u00f3 parol passord paswoord parool mot_de_passe jeton geheim "
        "mandatory supported unsupported stopped running obligatory forgotten mismatch documented "
        "credentials credential keyring keychain publickey bail nullable sometimes",
    /* In a sentence: words behind which the value may follow, words that may stand between, and
     * those behind which others may. */
    [LIST_VERBS] =
        "is was be are to now lautet ist est es \u00e8 \u00e9 equals reads - -> = : "
        "\u2192 \u2013 \u2014 \u00ab \u201e 's s as with from currently derzeit aktuell lyder "
        "\u00e4r er jest je este on adalah \u044d\u0442\u043e",
    [LIST_FILLERS] =
        "has been set changed reset updated will should the a user account string value it "
        "new old temporary key phrase token code generated provided received supplied 1 2 3 again "
        "authentication following proceed installation shown displayed only once not below this "
        "expires in change used temporaire provisoire temporanea temporal nueva nuevo neues "
        "found valid nouveau secreta tempor\u00e1ria wachtwoord nieuwe nowe has\u0142o",
    [LIST_OPENERS] =
        "for of on at in from by you that we which f\u00fcr fuer von vom zum zur pour du de del "
        "della dello para da do dos voor van f\u00f6r till til di u\u017cytkownika dla pro "
        "contului \u0434\u043b\u044f \u043e\u0442 \u043a untuk",
    /* Columns of tables of accounts. */
    [LIST_ACCOUNTS] =
        "user username login email mail id name account host hostname server url site website "
        "service role uid database db system domain environment env client customer owner machine "
        "created created_at user_id userid user_name e-mail nutzer benutzer benutzername app "
        "last_login lastlogin first_name last_name phone port",
    /* And those of people who log in: beside them a token is no word of a language. */
    [LIST_LOGINS] = "user username login email mail user_name e-mail host hostname nutzer "
                    "benutzer benutzername last_login account client customer owner",
    /* Words of sentences and of code, which no passphrase has. */
    [LIST_FOREIGN] = "passwort kennwort wachtwoord senha heslo adgangskode salasana parola "
                     "parolan parolam passord lozinka parool contrasenya contrase\u00f1a "
                     "mot de passe has\u0142o has\u0142a jelszavad jelszava zugangsschl\u00fcssel",
    [LIST_SPEECH] =
        "the and for you your with this that must should can cannot will was are has have not but "
        "from into please enter type repeat again confirm use using least most same new old "
        "current contain contains contained letters digits numbers characters character long "
        "short blank keep leave field fields value values invalid valid wrong required optional "
        "does did match matches matching empty missing incorrect see one two any all at is it its "
        "be self this config settings setting conf cfg os env environ environment process args "
        "options opts params param request req ctx context app get set user users data event "
        "props state form model models module var vars local typing type types string text str "
        "def class return import export func function new hash hashed salt reset forgot forgotten "
        "change changed update updated hint policy file path name names email login auth session "
        "client server admin root db database test tests default input output result row item "
        "items list dict map object node com org net www http https io py js java util utils lang "
        "common core api web der die das und ist ein eine ihr ihre bitte les des une est votre "
        "pas con los las una por para sua seu uma",
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
