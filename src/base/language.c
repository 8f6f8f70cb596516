#include "base/language.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/suggest.h"

int language_read(const char *word, enum run_language *ret_language, struct error *err)
{
    cleanup(buf_done) struct buf titles = BUF_OF(1024);
    const char *names[RUN_LANGUAGES], *nearest;
    int found = language_find((struct span){word, strlen(word)});

    if (found >= 0) {
        *ret_language = (enum run_language)found;
        return 0;
    }
    for (size_t i = 0; i < RUN_LANGUAGES; i++)
        names[i] = languages[i].name;
    nearest = suggest_nearest(word, names, RUN_LANGUAGES);
    error_set(err, E_INVALID, "unknown language `%s`", word);
    if (nearest)
        return error_hint(err, "did you mean `%s`?", nearest);
    if (language_add_titles(&titles, NULL) < 0)
        return -1;
    return error_hint(err, "%s are supported", buf_str(&titles));
}

enum run_language language_of_json(const json_t *body)
{
    const char *word = json_string_value(json_object_get(body, "language"));
    int found = word ? language_find((struct span){word, strlen(word)}) : 0;

    return found < 0 ? RUN_PYTHON : (enum run_language)found;
}

int language_check_installed(enum run_language language, struct error *err)
{
    struct span program, package;

    if (!language_missing(language, &program, &package))
        return 0;
    error_set(err, E_UNSUPPORTED,
              "%s needs the package `%.*s`, which is not installed on this host",
              languages[language].title, (int)package.len, package.data);
    return error_hint(err,
                      "the operator of this host can install it: apt-get install %.*s; ask the "
                      "user to install it",
                      (int)package.len, package.data);
}

bool language_is_installed(enum run_language language)
{
    struct span program, package;

    return !language_missing(language, &program, &package);
}

int language_add_titles(struct buf *out, struct error *err)
{
    for (size_t i = 0; i < RUN_LANGUAGES; i++)
        if (buf_printf(out, err, "%s%s",
                       i == 0                  ? ""
                       : i + 1 < RUN_LANGUAGES ? ", "
                                               : " and ",
                       languages[i].title) < 0)
            return -1;
    return 0;
}

json_t *language_words_json(const char *list)
{
    json_t *words = json_array();

    while (words && *list) {
        struct span word = language_next_word(&list);

        (void)json_array_append_new(words, json_stringn(word.data, word.len));
    }
    return words;
}

json_t *language_list_json(void)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < RUN_LANGUAGES; i++)
        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:o, s:o, s:b, s:o}", "name", languages[i].name, "title",
                      languages[i].title, "aliases", language_words_json(languages[i].aliases),
                      "suffixes", language_words_json(languages[i].suffixes), "available",
                      (int)language_is_installed((enum run_language)i), "needs",
                      language_words_json(languages[i].packages)));
    return list;
}
