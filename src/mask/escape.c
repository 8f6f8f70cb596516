/* Quotes and signs as other notations write them: in HTML and XML (&quot;), in URLs (%22), in JSON
 * and source (\u0022, \x22), also escaped twice. */
#include "base/cleanup.h"
#include "mask/internal.h"

/* One that begins as another one does stands before it. */
static const char *const quotes[] = {
    "'\"'\"'\"'\"'\"'\"'\"'\"'",
    "&quot;",
    "&#34;",
    "&#39;",
    "&#x22;",
    "&#x27;",
    "&apos;",
    "&amp;quot;",
    "&amp;#34;",
    "&amp;#39;",
    "&amp;#x27;",
    "&amp;apos;",
    "\\u0022",
    "\\u0027",
    "\\x22",
    "\\x27",
    "%22",
    "%27",
    "%5C%22",
    "%2522",
    "%2527",
    "%255C%2522",
    "'\"'\"'",
    "'\\''",
    "`\"",
    "''",
    "\"\"",
};

/* Quotes that are doubled in a string, before a value and not as an empty string. */
#define FIRST_DOUBLED (ARRAY_SIZE(quotes) - 2)

_Static_assert(ARRAY_SIZE(quotes) == MASKER_MARKS, "a run for each");

/* READ_MORE: the view ends in the midst of what may be the text. */
static enum masker_read is_text(const struct masker *s, size_t at, const char *text)
{
    size_t n = 0;

    while (text[n] && at + n < s->view.len &&
           (masker_at(s, at + n) == (unsigned char)text[n] ||
            (text[0] == '%' && (masker_at(s, at + n) & ~32) == (unsigned char)text[n])))
        n++;
    if (!text[n])
        return READ_VALUE;
    return n && masker_is_open(s, at + n) ? READ_MORE : READ_NONE;
}

static enum masker_read find_text(const struct masker *s, size_t at, const char *const *texts,
                                  size_t count, unsigned *ret)
{
    enum masker_read found = READ_NONE;
    unsigned char c;

    if (at >= s->view.len)
        return READ_NONE;
    c = masker_at(s, at);
    if (!c || !strchr("&\\%'=-`\"", c))
        return READ_NONE;
    for (unsigned i = 0; i < count; i++) {
        enum masker_read r = (unsigned char)texts[i][0] == c ? is_text(s, at, texts[i]) : READ_NONE;

        if (r == READ_VALUE) {
            *ret = i;
            return found == READ_MORE ? found : r;
        }
        if (r == READ_MORE)
            found = r;
    }
    masker_charge(s, 8);
    return found;
}

enum masker_read masker_quote_at(const struct masker *s, size_t at, unsigned *ret_quote,
                                 size_t *ret_end)
{
    enum masker_read r = find_text(s, at, quotes, ARRAY_SIZE(quotes), ret_quote);

    if (r != READ_VALUE)
        return r;
    *ret_end = at + strlen(quotes[*ret_quote]);
    if (*ret_quote < FIRST_DOUBLED)
        return r;
    if (masker_is_open(s, *ret_end))
        return READ_MORE;
    return *ret_end < s->view.len && masker_is_alnum(masker_at(s, *ret_end)) ? r : READ_NONE;
}

enum masker_read masker_ends_marked(const struct masker *s, unsigned quote, size_t at)
{
    if (masker_at(s, at) == '\n')
        return READ_VALUE;
    return is_text(s, at, quotes[quote]);
}

/* ---- signs ---- */

static const struct {
    const char *text;
    enum masker_sign_form form;
} signs[] = {
    {"%3D%3E", SIGN_FORM_URL},
    {"%253D%253E", SIGN_FORM_URL},
    {"%3D", SIGN_FORM_URL},
    {"%3A", SIGN_FORM_URL},
    {"%253D", SIGN_FORM_URL},
    {"%253A", SIGN_FORM_URL},
    {"%3E", SIGN_FORM_ELEMENT},
    {"%253E", SIGN_FORM_ELEMENT},
    {"&gt;", SIGN_FORM_ELEMENT},
    {"&amp;gt;", SIGN_FORM_ELEMENT},
    {"&#61;", SIGN_FORM_TEXT},
    {"&#x3D;", SIGN_FORM_TEXT},
    {"&#58;", SIGN_FORM_TEXT},
    {"\\u003d&gt;", SIGN_FORM_TEXT},
    {"\\u003d\\u003e", SIGN_FORM_TEXT},
    {"\\u003d>", SIGN_FORM_TEXT},
    {"\\u003d", SIGN_FORM_TEXT},
    {"\\u003D", SIGN_FORM_TEXT},
    {"\\u003a", SIGN_FORM_TEXT},
    {"\\u003A", SIGN_FORM_TEXT},
    {"=&gt;", SIGN_FORM_TEXT},
    {"=&amp;gt;", SIGN_FORM_TEXT},
    {"-&gt;", SIGN_FORM_TEXT},
    {"=\\u003e", SIGN_FORM_TEXT},
};

enum masker_read masker_sign_at(const struct masker *s, size_t at, enum masker_sign_form *ret_form,
                                size_t *ret_end)
{
    enum masker_read found = READ_NONE;

    if (at >= s->view.len || !masker_at(s, at) || !strchr("%&\\=-", masker_at(s, at)))
        return READ_NONE;
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
        enum masker_read r = is_text(s, at, signs[i].text);

        if (r == READ_VALUE) {
            *ret_form = signs[i].form;
            *ret_end = at + strlen(signs[i].text);
            return found == READ_MORE ? found : r;
        }
        if (r == READ_MORE && masker_at(s, at) != '=' && masker_at(s, at) != '-')
            found = r;
    }
    masker_charge(s, 16);
    return found;
}

/* ---- ends of unquoted values ---- */

/* Signs that end a value in a URL that is a part of another: & " ' , ; < } and blanks. */
bool masker_ends_percent(const struct masker *s, size_t at)
{
    static const char *const ends[] = {"%26",   "%22",   "%27",   "%20",   "%2C",   "%3C",
                                       "%3B",   "%0A",   "%0D",   "%7D",   "%2526", "%2522",
                                       "%2527", "%2520", "%252C", "%253C", "%253B", "%257D",
                                       "%5C",   "%255C", "%29",   "%2529", "%250A"};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (is_text(s, at, ends[i]) == READ_VALUE)
            return true;
    return false;
}

/* An entity or escape that ends every unquoted value. READ_MORE: it may be one. */
enum masker_read masker_ends_escaped(const struct masker *s, size_t at)
{
    static const char *const ends[] = {
        "&lt;",     "&quot;",     "&#34;",      "&#39;",     "&#x27;",  "&apos;",
        "&amp;lt;", "&amp;quot;", "&amp;#x27;", "&amp;#39;", "\\u0022", "\\u0026",
        "\\u0027",  "\\u003c",    "\\u003C",    "\\x22",     "\\x27"};
    unsigned which;

    return find_text(s, at, ends, ARRAY_SIZE(ends), &which);
}

/* Blanks of a URL behind a sign. */
size_t masker_skip_percent(const struct masker *s, size_t at)
{
    for (unsigned n = 0; n < 4; n++) {
        if (at < s->view.len && masker_at(s, at) == '+')
            at++;
        else if (is_text(s, at, "%20") == READ_VALUE)
            at += 3;
        else if (is_text(s, at, "%2520") == READ_VALUE)
            at += 5;
        else
            break;
    }
    return at;
}

/* The digits of \u0022, \x22, %22 and %2522 before a name are not of the name. */
size_t masker_skip_escape(const struct masker *s, size_t start, size_t from)
{
    unsigned char before = start ? masker_at(s, start - 1) : 0, c;
    size_t n = 0;

    if (start + 2 > from || (before != '\\' && before != '%'))
        return start;
    c = masker_at(s, start);
    if (before == '%')
        n = c == '2' && masker_at(s, start + 1) == '5' && start + 4 <= from ? 4 : 2;
    else if (c == 'u')
        n = 5;
    else if (c == 'x')
        n = 3;
    if (!n || start + n > from)
        return start;
    for (size_t i = start + (before == '\\'); i < start + n; i++)
        if (!masker_is_hex(masker_at(s, i)))
            return start;
    return start + n;
}
