/* Texts that stand where a value is expected and are none: words in place of one, templates,
 * patterns, technical terms. */
#include "base/cleanup.h"
#include "mask/internal.h"

/* One of the words stands in the text. `first`: bits of the lower five of what they begin with, so
 * that most places need no second look. */
static bool holds(const char *text, size_t len, const char *const *words, size_t n_words)
{
    uint32_t first = 0;

    for (size_t k = 0; k < n_words; k++)
        first |= (uint32_t)1 << (words[k][0] & 31);
    for (size_t i = 0; i < len; i++) {
        if (!(first >> (text[i] & 31) & 1))
            continue;
        for (size_t k = 0; k < n_words; k++) {
            const char *word = words[k];
            size_t n;

            if ((text[i] | 32) != (*word | 32))
                continue;
            n = strlen(word);
            if (i + n <= len && strncasecmp(text + i, word, n) == 0)
                return true;
        }
    }
    return false;
}

/* All of one character, or of those that stand for hidden text. */
static bool is_filler(const char *text, size_t len)
{
    bool is_same = true;

    for (size_t i = 1; i < len; i++)
        is_same = is_same && text[i] == text[0];
    return is_same || strspn(text, "*xX.#-_=~?") >= len;
}

size_t masker_text_until(const char *text, size_t len, const char *set)
{
    size_t n = 0;

    while (n < len && !(text[n] && strchr(set, text[n])))
        n++;
    return n;
}

/* The digits at `at`, if they are a number that names of algorithms end with: sha256, Ed25519. */
static size_t common_number(const char *text, size_t len, size_t at)
{
    static const char *const numbers[] = {"64",  "16",  "32",  "128", "192",  "224",
                                          "256", "384", "512", "448", "25519"};
    size_t n = 0;

    while (at + n < len && masker_is_digit((unsigned char)text[at + n]))
        n++;
    for (size_t k = 0; n && k < ARRAY_SIZE(numbers); k++)
        if (strlen(numbers[k]) == n && memcmp(numbers[k], text + at, n) == 0)
            return n;
    return 0;
}

size_t masker_odd_digits(const char *text, size_t len)
{
    size_t odd = 0;

    for (size_t i = 0; i < len; i++) {
        size_t n = masker_is_digit((unsigned char)text[i]) ? common_number(text, len, i) : 0;

        if (n)
            i += n - 1;
        else
            odd += masker_is_digit((unsigned char)text[i]);
    }
    return odd;
}

/* client.OAuth2Credentials: words, and a digit or two. */
static bool is_class(const char *text, size_t len)
{
    const char *end = memchr(text, '(', len), *dot;
    size_t n = end ? (size_t)(end - text) : len;

    dot = memrchr(text, '.', n);
    n -= dot ? (size_t)(dot + 1 - text) : 0;
    return masker_is_type_name(dot ? dot + 1 : text, n);
}

bool masker_is_identifier(const char *text, size_t len)
{
    size_t n = 0, number = 0; /* behind a common one a capital may follow */

    for (; n < len && (masker_is_alnum((unsigned char)text[n]) || strchr("_.", text[n])); n++) {
        if (masker_is_digit((unsigned char)text[n])) {
            if (!n || !masker_is_digit((unsigned char)text[n - 1]))
                number = n + common_number(text, len, n);
        } else if (n && masker_is_digit((unsigned char)text[n - 1]) && number != n &&
                   text[n] >= 'A' && text[n] <= 'Z' && !is_class(text, len)) {
            return false;
        }
    }
    return n >= 2;
}

/* com.example.lib1.name: the name of something, its domain first. */
bool masker_is_domain(const char *text, size_t len)
{
    static const char *const tops[] = {"com.", "org.", "net.", "io.", "dev."};
    size_t dots = 0;

    for (size_t i = 0; i < len; i++) {
        dots += text[i] == '.';
        if (!masker_is_in("abcdefghijklmnopqrstuvwxyz0123456789_.-", (unsigned char)text[i]))
            return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
        if (len > strlen(tops[i]) && memcmp(text, tops[i], strlen(tops[i])) == 0)
            return dots >= 2 && masker_reads_as_words(text, len);
    return false;
}

/* (%s)|(%s): nothing but what is filled in later. */
static bool is_format(const char *text, size_t len)
{
    bool found = false;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && i + 1 < len && strchr("sdrioux", text[i + 1])) {
            found = true;
            i++;
        } else if (masker_is_alnum((unsigned char)text[i]) || (unsigned char)text[i] >= 0x80) {
            return false;
        }
    }
    return found;
}

/* backup's */
static bool is_possessive(const char *text, size_t len)
{
    if (len < 3 || memcmp(text + len - 2, "'s", 2) != 0)
        return false;
    for (size_t i = 0; i + 2 < len; i++)
        if ((text[i] | 32) < 'a' || (text[i] | 32) > 'z')
            return false;
    return true;
}

/* ${NAME}, $(command), %(name)s, {{ name }} in the text, and no secret before it. */
static bool has_variable(const char *text, size_t len)
{
    for (size_t i = 0; i + 3 < len; i++) {
        size_t at = i + 2;

        if (!((strchr("$%", text[i]) && text[i + 1] == '(') ||
              (text[i] == '$' && text[i + 1] == '{') || (text[i] == '{' && text[i + 1] == '{')))
            continue;
        while (at < len && strchr(" \t-.$#!\"'", text[at]))
            at++;
        if (masker_is_identifier(text + at, len - at))
            return i < 6 || !masker_is_mixed(text, i);
    }
    return false;
}

bool masker_has_digit(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (masker_is_digit((unsigned char)text[i]))
            return true;
    return false;
}

/* [1, 2], {"a": 1}, <name>: no text that only begins as one. */
static bool is_enclosed(const char *text, size_t len)
{
    if (!strchr("<[{", text[0]))
        return false;
    if (len > 1 && text[0] != '<' && strchr("\"'[{ ", text[1]))
        return true;
    if (!masker_is_mixed(text + 1, len - 1) ||
        (text[0] == '<' && !masker_has_digit(text, len))) /* <Buffer|TypedArray> */
        return true;
    return text[0] != '<' && masker_text_until(text, len, "\"':,)]}") < len &&
           masker_text_until(text, len, "$@^%!#*~?;&|\\=<>`") == len;
}

/* \\fIstring\\fR, NAME\\fR: a word that stands for a value in a page of a manual. */
static bool is_typeset(const char *text, size_t len)
{
    size_t n = 0;

    if (len > 2 && text[0] == '\\' &&
        (text[1] == '&' || (text[1] == 'f' && masker_is_in("IBRPCS(123", (unsigned char)text[2])) ||
         (text[1] == 's' && masker_is_in("+-0123456789", (unsigned char)text[2]))))
        return true;
    if (memmem(text, len, "\\-", 2) &&
        strspn(text, "abcdefghijklmnopqrstuvwxyz\\-") >= len) /* my\\-secret */
        return true;
    while (n < len && ((text[n] >= 'A' && text[n] <= 'Z') || text[n] == '-' || text[n] == '_'))
        n++;
    return n >= 3 && n < len &&
           (memcmp(text + n, "\\fR", len - n < 3 ? len - n : 3) == 0 ||
            (len - n >= 3 && memcmp(text + n, "\xe2\x80\x99", 3) == 0));
}

/* \\0\\1\\0, a table of yes and no. */
static bool is_bits(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!masker_is_in("\\01", (unsigned char)text[i]))
            return false;
    return memchr(text, '\\', len);
}

/* file:{}, list[Type], Jobs[-1].Id, $repositorySecret, --body */
static bool is_inserted(const char *text, size_t len)
{
    size_t name = 0;

    while (name < len && ((text[name] | 32) >= 'a' && (text[name] | 32) <= 'z'))
        name++;
    if (memmem(text, len, "[-1]", 4) || memmem(text, len, "[0].", 4))
        return true;
    if (name >= 3 && name + 2 < len && text[name] == '[' && text[len - 1] == ']' &&
        masker_is_type_name(text + name + 1, len - name - 2))
        return true;
    if (masker_has_digit(text, len))
        return false;
    if (memmem(text, len, "{}", 2))
        return true;
    if (len > 3 && memcmp(text, "--", 2) == 0)
        return strspn(text, "abcdefghijklmnopqrstuvwxyz-") >= len && text[len - 1] != '-';
    return text[0] == '$' && len > 8 && masker_is_type_name(text + 1, len - 1);
}

/* &#x3C;Buffer|TypedArray>, in documents that are HTML. */
static bool is_escaped_name(const char *text, size_t len)
{
    static const char *const opens[] = {"&lt;", "&#x3C;", "&#x3c;", "&#60;"};

    for (size_t i = 0; i < ARRAY_SIZE(opens); i++) {
        size_t n = strlen(opens[i]);

        if (len > n && memcmp(text, opens[i], n) == 0)
            return !masker_has_digit(text + n, len - n);
    }
    return false;
}

static bool is_template(const char *text, size_t len)
{
    static const char *const words[] = {"***", "...", "\xe2\x80\xa6", "\xe2\x80\xa2\xe2\x80\xa2",
                                        "xxxxx"};

    size_t rule = masker_text_until(text, len, "|");

    if (is_inserted(text, len) || is_escaped_name(text, len) || is_enclosed(text, len) ||
        has_variable(text, len) || is_typeset(text, len) || is_format(text, len) ||
        is_possessive(text, len) || is_bits(text, len))
        return true;
    /* required|min:8 */
    if (rule < len && masker_lists_of(text, rule) >> LIST_NOTHING & 1)
        return true;
    if (text[0] == '$' && len > 1 &&
        (strchr("{(", text[1]) || (text[1] >= 'A' && text[1] <= 'Z') || text[1] == '_'))
        return masker_text_until(text + 1, len - 1, "^@!;&|,\\<>?*~=+#%$/-") == len - 1 ||
               text[1] == '{' || text[1] == '(';
    if (text[0] == '#' && len > 3 && text[1] == '{') /* #{ENV['NAME']} */
        return true;
    if (len > 4 && memcmp(text, "@@", 2) == 0 && memcmp(text + len - 2, "@@", 2) == 0 &&
        masker_is_identifier(text + 2, len - 4)) /* @@NAME@@ */
        return true;
    if (text[0] == '(' && text[len - 1] == ')' && len > 2 &&
        masker_lists_of(text + 1, len - 2) >> LIST_NOTHING & 1) /* (unset) */
        return true;
    if (text[0] == '%' && len > 1 && (strchr("({%", text[1]) || text[len - 1] == '%' || len == 2))
        return true;
    return holds(text, len, words, ARRAY_SIZE(words));
}

/* A regular expression: (?:...), [^...], (...)+ */
static bool is_pattern(const char *text, size_t len)
{
    const char *set = memmem(text, len, "[^", 2), *group = memmem(text, len, ")+", 2);

    return memmem(text, len, "(?:", 3) || (len > 3 && memcmp(text, "qr/", 3) == 0) ||
           (len > 2 && memcmp(text, "/^", 2) == 0 && !masker_has_digit(text, len)) ||
           memmem(text, len, "(?i", 3) || (set && memchr(set, ']', len - (size_t)(set - text))) ||
           (group && memchr(text, '(', (size_t)(group - text)));
}

/* uuid4(), crypto.randomBytes(32), request.headers.get('x'): code that makes or reads a value. */
static bool is_call(const char *text, size_t len)
{
    size_t name = 0, dots = 0, digits = 0;

    for (; name < len && text[name] != '('; name++) {
        unsigned char c = (unsigned char)text[name];

        dots += c == '.';
        digits += masker_is_digit(c);
        if (!masker_is_alnum(c) && c != '_' && c != '.')
            return false;
    }
    if (name < 4 || digits > 1 || name + 2 > len || text[len - 1] != ')')
        return false;
    return name + 2 == len ||
           (dots && (masker_is_in("\"'", (unsigned char)text[name + 1]) || len - name < 8));
}

bool masker_is_placeholder(const char *text, size_t len)
{
    static const char *const words[] = {
        "example", "placeholder", "your_", "your-",   "changeme", "change_me", "redacted",
        "dummy",   "_here",       "-here", "insert_", "enter_",   "replace_",  "[masked"};

    if (!text || len > MASKER_PLACEHOLDER_MAX)
        return false;
    if (is_filler(text, len) || is_template(text, len) || is_pattern(text, len) ||
        is_call(text, len) || (masker_lists_of(text, len) >> LIST_NOTHING & 1))
        return true;
    if (len >= 4 && (strncasecmp(text, "your", 4) == 0 || strncasecmp(text, "env.", 4) == 0))
        return true;
    return holds(text, len, words, ARRAY_SIZE(words));
}

static bool begins_with(const char *text, size_t len, const char *const *words, size_t n_words)
{
    for (size_t k = 0; k < n_words; k++) {
        size_t n = strlen(words[k]);

        if (n <= len && strncasecmp(text, words[k], n) == 0)
            return true;
    }
    return false;
}

/* v1, v2.0, v3beta: no v38fb, which is part of something random. */
static bool is_version(const char *text, size_t len)
{
    size_t n = 2;

    if (len < 2 || (text[0] | 32) != 'v' || text[1] < '1' || text[1] > '3')
        return false;
    while (n < len && text[n] >= 'a' && text[n] <= 'z')
        n++;
    return n == 2 ? n == len || !masker_is_alnum((unsigned char)text[n])
                  : n == len || masker_is_in(".-_0123456789", (unsigned char)text[n]);
}

bool masker_is_technical(const char *text, size_t len)
{
    static const char *const words[] = {
        "base64",  "base32",   "sha1",    "sha2",   "sha3",    "sha-",   "sha5",   "md5",   "utf8",
        "utf-8",   "oauth",    "bcrypt",  "argon2", "pbkdf",   "x509",   "x.509",  "25519", "aes",
        "rsa",     "http",     "ipv4",    "ipv6",   "python",  "rfc",    "pkcs",   "hs256", "rs256",
        "es256",   "hmac",     "byte",    "-bit",   "char",    "digit",  "ascii",  "8601",  "k8s",
        "i18n",    "2fa",      "mp3",     "mp4",    "jwt",     "saml",   "openid", "uuid4", "uuidv",
        "ldap",    "p256",     "secp256", "tls1",   "tlsv",    "ssl",    "fido",   "u2f",   "cve-",
        "varchar", "nvarchar", "-day",    "-hour",  "-minute", "-second"};
    size_t digits = 0;

    /* Only at the start of a part: by chance, every hundredth password has one of them in it. */
    for (size_t i = 0; i < len && len < 24; i++)
        if ((!i || text[i] == '-' || !masker_is_alnum((unsigned char)text[i - 1])) &&
            (begins_with(text + i, len - i, words, ARRAY_SIZE(words)) ||
             is_version(text + i, len - i)))
            return true;
    while (digits < len && masker_is_digit((unsigned char)text[digits]))
        digits++;
    /* 3rd, 8-character, 30days */
    return digits && digits < 5 && len < 16 &&
           (text[digits] == '-' || text[digits] == '.' || text[digits] == ',' || len - digits <= 3);
}
