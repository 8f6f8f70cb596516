/* Personal data, for who asks for it: addresses, numbers of people and of their accounts. Each has
 * rules of its own for what only looks like it. */
#include <arpa/inet.h>

#include "mask/internal.h"

static bool is_digit_at(const struct masker *s, size_t at)
{
    return at < s->view.len && masker_is_digit(masker_at(s, at));
}

static unsigned char before(const struct masker *s, size_t at)
{
    return at ? masker_at(s, at - 1) : ' ';
}

/* ---- email ---- */

static bool is_plausible_domain(const char *text, size_t len)
{
    static const char files[] = " png jpg jpeg gif svg webp ico js ts tsx jsx py pyc rb rs go java "
                                "css html htm json yaml yml toml xml md txt log csv tsv sh exe dll "
                                "whl zip gz tar lock cfg ini conf local localhost invalid ";
    const char *dot = memrchr(text, '.', len);
    char top[28] = " ";
    size_t n;

    if (!dot || dot == text)
        return false;
    n = len - (size_t)(dot + 1 - text);
    if (n < 2 || n > 24)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = (char)(dot[1 + i] | 32);

        if (c < 'a' || c > 'z')
            return false;
        top[1 + i] = c;
    }
    top[1 + n] = ' ';
    return !strstr(files, top);
}

static bool is_in_url(const struct masker *s, size_t at)
{
    size_t i = at;

    while (i && at - i < 80 && !masker_is_space(masker_at(s, i - 1)))
        i--;
    masker_charge(s, at - i);
    return memmem(masker_view(s, i), at - i, "://", 3) != NULL;
}

static void match_email(struct masker *s, unsigned kind, size_t from)
{
    size_t start = masker_left(s, kind, from), end = from + 1;

    if (start == SIZE_MAX)
        return;
    while (start < from && strchr(".'-%", masker_at(s, start)))
        start++;
    while (end < s->view.len && end - from < 255 &&
           (masker_is_alnum(masker_at(s, end)) || strchr(".-", masker_at(s, end))))
        end++;
    masker_charge(s, end - from);
    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, start);
        return;
    }
    while (end > from && strchr(".-", masker_at(s, end - 1)))
        end--;
    if (start == from || end <= from || is_in_url(s, start) ||
        !is_plausible_domain(masker_view(s, from + 1), end - from - 1))
        return;
    /* git@host:path names no person */
    if (from - start == 3 && memcmp(masker_view(s, start), "git", 3) == 0)
        return;
    masker_found(s, kind, from, start, end);
}

/* ---- phone ---- */

struct number {
    size_t end;
    unsigned digits, groups;
};

/* Digits in groups, with one blank, dot, hyphen or a pair of parentheses between them. */
static void read_number(const struct masker *s, size_t at, struct number *n)
{
    bool is_in_group = false;

    *n = (struct number){.end = at};
    for (; at < s->view.len && n->digits < 20; at++) {
        unsigned char c = masker_at(s, at);

        if (masker_is_digit(c)) {
            n->groups += !is_in_group;
            n->digits++;
            n->end = at + 1;
            is_in_group = true;
            continue;
        }
        /* One sign, or one and a parenthesis. */
        if (!strchr(" .-()/", c) || at - n->end >= 2 ||
            (at > n->end && !strchr("()", c) && !strchr("()", masker_at(s, at - 1))))
            break;
        is_in_group = false;
    }
    if (at >= s->view.len)
        n->end = at;
}

static bool has_phone_word(const struct masker *s, size_t at)
{
    static const char *const words[] = {"phone", "tel",  "call",    "mobile",
                                        "cell",  "fax",  "contact", "whatsapp",
                                        "sms",   "dial", "reach",   "hotline"};
    size_t low = at > 48 ? at - 48 : 0;

    masker_charge(s, 2 * (at - low));

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (size_t j = low, len = strlen(words[i]); j + len <= at; j++)
            if (strncasecmp(masker_view(s, j), words[i], len) == 0)
                return true;
    return false;
}

static bool is_date(const char *text, size_t len)
{
    return len >= 8 && (memcmp(text, "19", 2) == 0 || memcmp(text, "20", 2) == 0) &&
           strchr("-./ ", text[4]);
}

static bool is_float(const char *text, size_t len)
{
    const char *dot = memchr(text, '.', len);

    return dot && !memchr(dot + 1, '.', len - (size_t)(dot + 1 - text)) && dot - text <= 3 &&
           !memchr(text, ' ', len) && !memchr(text, '-', len);
}

/* 415-555-0100 or 415.555.0100, which needs no word before it. */
static bool is_north_american(const char *text, size_t len, unsigned digits)
{
    return len == 12 && digits == 10 && text[0] >= '2' && text[4] >= '2' && text[3] == text[7] &&
           strchr("-.", text[3]);
}

/* 1-800-555-0100: the number of the country stands before it. */
static bool is_behind_one(const struct masker *s, size_t from)
{
    return from > 1 && masker_is_in("-. ", masker_at(s, from - 1)) &&
           masker_at(s, from - 2) == '1' &&
           (from < 3 || (!masker_is_alnum(masker_at(s, from - 3)) &&
                         !masker_is_in("-._/", masker_at(s, from - 3))));
}

static void match_phone(struct masker *s, unsigned kind, size_t from)
{
    unsigned char first = masker_at(s, from), prev = before(s, from);
    struct number n;

    if ((masker_is_alnum(prev) || strchr("+-._/)]", prev)) && !is_behind_one(s, from))
        return;
    read_number(s, from + (first == '+'), &n);
    masker_charge(s, n.end - from + 1);
    if (masker_is_open(s, n.end) || (n.end == s->view.len && !s->is_final)) {
        masker_wait(s, kind, from, from);
        return;
    }
    while (n.end > from && !masker_is_digit(masker_at(s, n.end - 1)))
        n.end--;
    if (!n.digits)
        return;
    if (n.end < s->view.len &&
        (masker_is_alnum(masker_at(s, n.end)) || strchr("_:", masker_at(s, n.end))))
        return;
    if (first == '+' && is_float(masker_view(s, from + 1), n.end - from - 1))
        return;
    if (first == '+' ? n.digits < 8 || n.digits > 15
        : first == '('
            ? n.digits != 10
            : !is_north_american(masker_view(s, from), n.end - from, n.digits) &&
                  (n.digits < 9 || n.digits > 12 || n.groups < 2 || !has_phone_word(s, from) ||
                   is_date(masker_view(s, from), n.end - from)))
        return;
    masker_found(s, kind, from, from, n.end);
}

/* ---- social security numbers and cards ---- */

static bool is_ssn(const char *t)
{
    return memcmp(t, "000", 3) != 0 && memcmp(t, "666", 3) != 0 && t[0] != '9' &&
           memcmp(t + 4, "00", 2) != 0 && memcmp(t + 7, "0000", 4) != 0;
}

static void match_ssn(struct masker *s, unsigned kind, size_t from)
{
    unsigned char prev = before(s, from), next;

    if (masker_is_alnum(prev) || strchr("-._", prev))
        return;
    if (masker_is_open(s, from + 11)) {
        masker_wait(s, kind, from, from);
        return;
    }
    next = from + 11 < s->view.len ? masker_at(s, from + 11) : ' ';
    if (masker_is_alnum(next) || strchr("-_", next) || !is_ssn(masker_view(s, from)))
        return;
    masker_found(s, kind, from, from, from + 11);
}

static bool is_issued(const char *d, size_t len)
{
    unsigned two = (unsigned)(d[0] - '0') * 10 + (unsigned)(d[1] - '0');
    unsigned four = two * 100 + (unsigned)(d[2] - '0') * 10 + (unsigned)(d[3] - '0');

    if (d[0] == '4')
        return len == 16 || len == 19; /* with 13 digits it is the number of an article */
    if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720))
        return len == 16;
    if (two == 34 || two == 37)
        return len == 15;
    if (two == 30 || two == 36 || two == 38 || two == 39)
        return len == 14;
    if (two == 35 || two == 65 || two == 62 || four == 6011 || (four >= 6440 && four <= 6499))
        return len >= 16;
    return (two == 50 || (two >= 56 && two <= 69)) && len >= 16;
}

/* The digits of a card with at most one kind of separator, in groups as on cards. */
static size_t read_card(const struct masker *s, size_t from, char digits[20], size_t *ret_len)
{
    size_t at = from, n = 0, group = 0, groups = 0;
    unsigned char sign = 0;

    for (; at < s->view.len && n < 20; at++) {
        unsigned char c = masker_at(s, at);

        if (masker_is_digit(c)) {
            digits[n++] = (char)c;
            group++;
            continue;
        }
        if ((c != ' ' && c != '-') || (sign && c != sign) || !is_digit_at(s, at + 1))
            break;
        if (group != 4 && !(groups == 1 && group == 6))
            break;
        sign = c;
        group = 0;
        groups++;
    }
    *ret_len = n;
    return at;
}

static void match_card(struct masker *s, unsigned kind, size_t from)
{
    char digits[20];
    size_t len, end;
    unsigned char prev = before(s, from);

    if (masker_is_alnum(prev) || strchr("-._", prev))
        return;
    end = read_card(s, from, digits, &len);
    masker_charge(s, end - from);
    if (masker_is_open(s, end) ||
        (end < s->view.len && strchr(" -", masker_at(s, end)) && masker_is_open(s, end + 1))) {
        masker_wait(s, kind, from, from);
        return;
    }
    if (len < 12 || len > 19 || (end < s->view.len && masker_is_alnum(masker_at(s, end))) ||
        !is_issued(digits, len) || !masker_is_luhn(digits, len))
        return;
    masker_found(s, kind, from, from, end);
}

/* ---- IBAN ---- */

static size_t iban_length(const char *country)
{
    static const char table[] =
        "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18"
        "FO18FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20"
        "LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SC31SE24"
        "SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20";

    for (const char *at = table; *at; at += 4)
        if (memcmp(at, country, 2) == 0)
            return (size_t)(at[2] - '0') * 10 + (size_t)(at[3] - '0');
    return 0;
}

static bool is_mod_97(const char *text, size_t len)
{
    unsigned rest = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[(i + 4) % len];

        if (masker_is_digit((unsigned char)c))
            rest = (rest * 10 + (unsigned)(c - '0')) % 97;
        else
            rest = (rest * 100 + (unsigned)(c - 'A') + 10) % 97;
    }
    return rest == 1;
}

static void match_iban(struct masker *s, unsigned kind, size_t from)
{
    size_t want = iban_length(masker_view(s, from)), n = 0, at = from;
    char text[40];

    if (!want || masker_is_alnum(before(s, from)))
        return;
    for (; at < s->view.len && n < want; at++) {
        unsigned char c = masker_at(s, at);

        if (masker_is_digit(c) || (c >= 'A' && c <= 'Z'))
            text[n++] = (char)c;
        else if (c != ' ' || n % 4)
            return;
    }
    masker_charge(s, at - from);
    if (masker_is_open(s, at)) {
        masker_wait(s, kind, from, from);
        return;
    }
    if (n == want && (at >= s->view.len || !masker_is_alnum(masker_at(s, at))) &&
        is_mod_97(text, n))
        masker_found(s, kind, from, from, at);
}

/* ---- addresses of machines ---- */

/* "version 1.2.3.4", "v1.2.3.4", "agent/1.2.3.4", "package-1.2.3.4", "package==1.2.3.4" */
static bool is_version(const struct masker *s, size_t at)
{
    static const char *const words[] = {"version", "ver", "release", "build",  "firmware",
                                        "v",       "rev", "section", "chapter"};
    unsigned char prev = before(s, at);
    size_t end = at;

    if (masker_is_alnum(prev) || prev == '.' || prev == '_')
        return true;
    if (prev == '/')
        return at < 2 || masker_at(s, at - 2) != '/';
    if (prev == '-' || prev == '=')
        return at >= 2 && (prev == '-' ? masker_is_alnum(masker_at(s, at - 2))
                                       : strchr("=<>~!", masker_at(s, at - 2)) != NULL);
    while (end && at - end < 4 && strchr(" :=\"'", masker_at(s, end - 1)))
        end--;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i]);

        if (end >= len && strncasecmp(masker_view(s, end - len), words[i], len) == 0 &&
            (end == len || !masker_is_alnum(masker_at(s, end - len - 1))))
            return true;
    }
    return false;
}

static void match_ipv4(struct masker *s, unsigned kind, size_t from)
{
    size_t start = masker_left(s, kind, from), at = start;
    unsigned parts = 0, value = 0, digits = 0, first = 0;
    bool is_local;

    if (start == SIZE_MAX || is_version(s, start))
        return;
    for (;; at++) {
        if (is_digit_at(s, at) && digits < 4) {
            value = value * 10 + (unsigned)(masker_at(s, at) - '0');
            digits++;
            continue;
        }
        if (masker_is_open(s, at)) {
            masker_wait(s, kind, from, start);
            return;
        }
        if (!digits || digits > 3 || value > 255 ||
            (digits > 1 && masker_at(s, at - digits) == '0'))
            return;
        first = parts ? first : value;
        if (++parts == 4)
            break;
        if (at >= s->view.len || masker_at(s, at) != '.')
            return;
        value = digits = 0;
    }
    if (at < s->view.len && masker_at(s, at) == '.' && masker_is_open(s, at + 1)) {
        masker_wait(s, kind, from, start);
        return;
    }
    if (at < s->view.len && (masker_is_alnum(masker_at(s, at)) || strchr("_-", masker_at(s, at)) ||
                             (masker_at(s, at) == '.' && is_digit_at(s, at + 1))))
        if (masker_at(s, at) != '-' ||
            (at + 1 < s->view.len && masker_is_alnum(masker_at(s, at + 1)) &&
             !is_digit_at(s, at + 1)))
            return;
    is_local = first == 127 || first == 255 || (first == 0 && at - start == 7);
    if (!is_local)
        masker_found(s, kind, from, start, at);
}

/* Hexadecimal words with colons are code as often as they are addresses. */
static bool is_ipv6(const char *text, size_t len)
{
    char copy[48];
    unsigned char address[16];
    size_t colons = 0, digits = 0, pairs = 0, group = 0, groups = 0;

    if (len >= sizeof(copy))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    for (size_t i = 0; i <= len; i++) {
        digits += masker_is_digit((unsigned char)copy[i]);
        if (i == len || copy[i] == ':') {
            pairs += group == 2;
            groups += group > 0;
            colons += i < len;
            group = 0;
        } else {
            group++;
        }
    }
    if (inet_pton(AF_INET6, copy, address) != 1 || strcmp(copy, "::1") == 0)
        return false;
    if (colons == 7 && pairs == 8)
        return false; /* the address of a device */
    return groups >= 2 && colons >= 2 && digits && len > 4 && (digits > 1 || colons > 2 || len > 8);
}

static void match_ipv6(struct masker *s, unsigned kind, size_t from)
{
    size_t start = masker_programs[kind].left.max ? masker_left(s, kind, from) : from, end = from;
    unsigned char prev;

    if (start == SIZE_MAX)
        return;
    prev = before(s, start);
    if (masker_is_alnum(prev) || strchr(":._", prev))
        return;
    while (end < s->view.len && end - start < 46 &&
           (masker_is_hex(masker_at(s, end)) || strchr(":.", masker_at(s, end))))
        end++;
    masker_charge(s, 2 * (end - start));
    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, start);
        return;
    }
    if (end < s->view.len && (masker_is_alnum(masker_at(s, end)) || masker_at(s, end) == '_'))
        return;
    while (end > start && strchr(".:", masker_at(s, end - 1)) &&
           !(end >= start + 2 && masker_at(s, end - 1) == ':' && masker_at(s, end - 2) == ':'))
        end--;
    if (is_ipv6(masker_view(s, start), end - start))
        masker_found(s, kind, from, start, end);
}

void masker_match_personal(struct masker *s, unsigned kind, size_t from, size_t to)
{
    (void)to;
    switch (masker_kinds[kind].matcher) {
    case MASKER_EMAIL:
        match_email(s, kind, from);
        break;
    case MASKER_PHONE:
        match_phone(s, kind, from);
        break;
    case MASKER_DIGITS:
        if (strcmp(masker_kinds[kind].name, "ssn") == 0)
            match_ssn(s, kind, from);
        else
            match_card(s, kind, from);
        break;
    case MASKER_IBAN:
        match_iban(s, kind, from);
        break;
    case MASKER_IPV4:
        match_ipv4(s, kind, from);
        break;
    default:
        match_ipv6(s, kind, from);
        break;
    }
}
