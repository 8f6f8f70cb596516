/* Signs between a name and its value that are more than one character, or far from the name. */
#include "base/cleanup.h"
#include "mask/sign.h"

#define BLANKS_MAX SIGN_BLANKS_MAX

/* Behind the end of one element and the beginning of the next, where that one holds values:
 * <key>name</key><string>X</string>. 0: it is no such place; SIZE_MAX: more must come. */
static size_t find_next_element(const struct masker *s, size_t at, bool *ret_is_sure)
{
    static const char *const elements[] = {"<string>", "<value>", "<td>",
                                           "<dd>",     "<code>",  "<span>",
                                           "<strong>", "<b>",     "<span class=\"value\">"};
    bool is_bold = at + 3 < s->view.len && masker_is_at(s, at, "</b>");
    size_t i = at + 2;

    if (masker_is_open(s, i))
        return SIZE_MAX;
    if (i >= s->view.len || masker_at(s, at + 1) != '/')
        return 0;
    while (i < s->view.len && i - at < 16 && masker_is_alnum(masker_at(s, i)))
        i++;
    if (masker_is_open(s, i))
        return SIZE_MAX;
    if (i >= s->view.len || masker_at(s, i) != '>')
        return 0;
    i = masker_skip_any(s, i + 1, " \t\r\n", BLANKS_MAX);
    masker_charge(s, i - at);
    if (is_bold && !masker_is_open(s, i) && i > at + 4 && masker_at(s, i) != '<')
        return i; /* <b>name</b> X */
    for (size_t k = 0; k < ARRAY_SIZE(elements); k++) {
        size_t n = 0;

        while (elements[k][n] && i + n < s->view.len &&
               masker_at(s, i + n) == (unsigned char)elements[k][n])
            n++;
        if (elements[k][n] && masker_is_open(s, i + n))
            return SIZE_MAX;
        if (!elements[k][n]) {
            *ret_is_sure = k < 2;
            return i + n;
        }
    }
    return 0;
}

/* Behind <value> within an element that has the name; SIZE_MAX: more must come. */
static size_t skip_open_element(const struct masker *s, size_t at)
{
    size_t i = masker_skip_any(s, at, " \t\r\n", BLANKS_MAX), name;

    if (masker_is_open(s, i))
        return SIZE_MAX;
    if (i >= s->view.len || masker_at(s, i) != '<')
        return at;
    for (name = ++i; i < s->view.len && i - name < 16 && masker_is_alnum(masker_at(s, i));)
        i++;
    masker_charge(s, i - at);
    if (masker_is_open(s, i))
        return SIZE_MAX;
    return i > name && i < s->view.len && masker_at(s, i) == '>' ? i + 1 : at;
}

/* <name a="b">: behind it; of <name value="X">, before the string. 0 and SIZE_MAX as above. */
static size_t skip_attributes(const struct masker *s, size_t at)
{
    size_t i = at;

    if (masker_is_half(s, at, "value=\""))
        return SIZE_MAX;
    if (masker_is_at(s, at, "value=\""))
        return at + 6;
    while (i < s->view.len && i - at < 120 && !strchr("<>\n", masker_at(s, i)))
        i++;
    masker_charge(s, i - at);
    if (masker_is_open(s, i) && i - at < 120)
        return SIZE_MAX;
    return i < s->view.len && masker_at(s, i) == '>' && masker_at(s, i - 1) != '/' &&
                   memchr(masker_view(s, at), '=', i - at)
               ? i + 1
               : 0;
}

/* name type = "X": the string. 0 and SIZE_MAX as above. */
static size_t skip_type(const struct masker *s, size_t at)
{
    size_t i = at;

    while (i < s->view.len && i - at < 40 &&
           (masker_is_alnum(masker_at(s, i)) || strchr("_.*&<>[]?:;{} ", masker_at(s, i))))
        i++;
    masker_charge(s, i - at);
    if (masker_is_open(s, i + 2) && i - at < 40)
        return SIZE_MAX;
    if (i + 2 >= s->view.len || masker_at(s, i) != '=' || masker_at(s, i - 1) != ' ' ||
        masker_at(s, i + 1) != ' ' || !strchr("\"'`", masker_at(s, i + 2)))
        return 0;
    return i + 2;
}

/* The string that is typed into a field of that name: #password').fill("X"). 0 and SIZE_MAX as
 * above. */
static size_t skip_typing(const struct masker *s, size_t at)
{
    static const char *const calls[] = {".fill(",     ".type(",     ".send_keys(",
                                        ".sendKeys(", ".setValue(", ".set("};

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        size_t end = at + strlen(calls[i]);

        if (masker_is_half(s, at, calls[i]))
            return SIZE_MAX;
        if (masker_is_at(s, at, calls[i]))
            return end >= s->view.len || masker_is_in("\"'`", masker_at(s, end)) ? end : 0;
    }
    return 0;
}

/* The signs that are more than one character, or far from the name. */
enum sign sign_find_far(const struct masker *s, const struct sign_name *name, size_t *ret_at)
{
    size_t closed = name->closed, at = name->behind;
    unsigned char c = at < s->view.len ? masker_at(s, at) : 0;
    size_t found = 0;
    bool is_sure = false;
    enum sign sign = SIGN_LOOSE;

    if (c == '<') {
        if (at + 1 < s->view.len && masker_at(s, at + 1) == '-') {
            *ret_at = masker_skip_blanks(s, at + 2);
            return SIGN_EQUALS;
        }
        found = find_next_element(s, at, &is_sure);
        sign = is_sure ? SIGN_ELEMENT : SIGN_TAGGED;
    } else if (c == '>' && name->is_quoted && sign_is_field_name(s, name)) {
        found = skip_open_element(s, at + 1);
        sign = SIGN_TAGGED;
    } else if ((c == '|' || c == '?') && at + 1 < s->view.len &&
               (masker_at(s, at + 1) == c || (c == '?' && masker_at(s, at + 1) == ':'))) {
        at += at + 2 < s->view.len && masker_at(s, at + 2) == '='; /* ||= of Ruby */
        found = masker_skip_blanks(s, at + 2);
        if (!masker_is_open(s, found) &&
            (found >= s->view.len || !strchr("\"'", masker_at(s, found))))
            found = 0;
    } else if (c == '.' && at == closed && name->is_quoted) {
        found = skip_typing(s, at);
    } else if (c == '.' && at > closed) {
        found = masker_skip_any(s, at, ". :", BLANKS_MAX);
        if (!masker_is_open(s, found) && (found - at < 4 || !strchr(" :", masker_at(s, found - 1))))
            found = 0;
    } else if (c == '{' && name->is_quoted && at > closed) {
        found = at;
        sign = SIGN_NESTED;
    } else if (at > closed && name->is_element) {
        found = skip_attributes(s, at);
        sign = found && found < s->view.len && masker_at(s, found - 1) == '=' ? SIGN_LOOSE
                                                                              : SIGN_TAGGED;
    } else if (at > closed && (masker_is_alnum(c) || c == '{')) {
        found = skip_type(s, at);
    }
    if (!found)
        return SIGN_NONE;
    *ret_at = found < s->view.len ? found : s->view.len;
    return masker_is_open(s, found == SIZE_MAX ? s->view.len : found + 1) ? SIGN_MORE : sign;
}
