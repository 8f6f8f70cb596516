/* Signatures in fields of headers: X-Hub-Signature-256: sha256=X, ("X-Slack-Signature", "v0=X"),
 * proxy_set_header X-Signature "X", {"X-Shopify-Hmac-SHA256": "X"}. */
#include "base/cleanup.h"
#include "mask/internal.h"

/* Behind the word: the algorithm, which is a part of the name. */
#define SUFFIX_MAX ((size_t)12)

#define VALUE_MIN ((size_t)24)

/* Before the value: a time, an algorithm, a version. */
#define PREFIXES_MAX 3

/* Behind -256, -SHA256, -Ed25519. */
static size_t skip_suffix(const struct masker *s, size_t at)
{
    size_t end = at + 1;

    if (at >= s->view.len || masker_at(s, at) != '-')
        return at;
    while (end < s->view.len && end - at < SUFFIX_MAX && masker_is_alnum(masker_at(s, end)))
        end++;
    return end;
}

/* Behind the sign, and the quotes around it: ": ", "=", `", "`, a blank and a quote, `" value="`.
 * 0: there is none. */
static size_t skip_sign(const struct masker *s, size_t at)
{
    size_t closed = masker_skip_any(s, at, "\\\"'", 4), sign = masker_skip_blanks(s, closed), end;

    sign = masker_skip_value_name(s, sign);
    if (sign < s->view.len &&
        masker_is_in(closed > at ? ":=," : ":=", masker_at(s, sign))) { /* no list of names */
        end = sign + 1;
        end += end < s->view.len && masker_at(s, end) == '>'; /* of => */
        return masker_skip_any(s, end, " \t\\\"'`", 8);
    }
    return sign > closed ? masker_skip_any(s, sign, "\"'", 1) : 0;
}

/* Behind one of the words that stand before a signature; `at`: none does. */
static size_t skip_prefix(const struct masker *s, size_t at)
{
    static const char *const words[] = {
        "sha256=", "sha1=", "sha512=", "v0=", "v1=", "v1,", "hmac ", "sig1=:"};
    size_t end = at + 2;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (masker_is_at(s, at, words[i]))
            return at + strlen(words[i]);
    if (!masker_is_at(s, at, "t="))
        return at;
    end = masker_skip_any(s, end, "0123456789", 12);
    return end < s->view.len && masker_at(s, end) == ',' ? end + 1 : at;
}

void masker_match_signature(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t name = skip_suffix(s, to), at = skip_sign(s, name), start, len;
    struct masker_run *run;

    masker_charge(s, 32);
    if (masker_is_open(s, at ? at + 16 : name + 16)) {
        masker_wait(s, kind, from, at && at < s->view.len ? at : s->view.len);
        return;
    }
    if (!at)
        return;
    start = at;
    for (unsigned n = 0; n < PREFIXES_MAX; n++)
        start = skip_prefix(s, start);
    run = masker_run_end(s, RUN_QUERY, start);
    if (masker_is_open(s, run->end + 1)) {
        masker_wait(s, kind, from, start < s->view.len ? start : s->view.len);
        return;
    }
    len = run->end - start < MASKER_JUDGE_MAX ? run->end - start : MASKER_JUDGE_MAX;
    if (len < VALUE_MIN)
        return;
    masker_charge(s, 2 * len);
    if (masker_in_vain(run, start) || (masker_is_mixed(masker_view(s, start), len) &&
                                       !masker_is_placeholder(masker_view(s, start), len)))
        masker_found(s, kind, from, start, run->end);
    masker_next_signature(s, kind, from, run->end);
}
