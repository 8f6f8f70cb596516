/* The words and the longer signs of Python. */
#include <string.h>

#include "library/code/lex_internal.h"

struct word {
    const char *text;
    enum lex_word word;
};

static const struct word words_2[] = {{"as", WORD_AS}, {"if", WORD_IF}, {"in", WORD_IN},
                                      {"is", WORD_IS}, {"or", WORD_OR}, {NULL, WORD_NONE}};
static const struct word words_3[] = {{"and", WORD_AND}, {"def", WORD_DEF}, {"del", WORD_DEL},
                                      {"for", WORD_FOR}, {"not", WORD_NOT}, {"try", WORD_TRY},
                                      {NULL, WORD_NONE}};
static const struct word words_4[] = {
    {"case", WORD_CASE}, {"elif", WORD_ELIF},       {"else", WORD_ELSE},
    {"from", WORD_FROM}, {"None", WORD_NONE_VALUE}, {"pass", WORD_PASS},
    {"True", WORD_TRUE}, {"with", WORD_WITH},       {NULL, WORD_NONE}};
static const struct word words_5[] = {
    {"async", WORD_ASYNC}, {"await", WORD_AWAIT}, {"break", WORD_BREAK}, {"class", WORD_CLASS},
    {"False", WORD_FALSE}, {"match", WORD_MATCH}, {"raise", WORD_RAISE}, {"while", WORD_WHILE},
    {"yield", WORD_YIELD}, {NULL, WORD_NONE}};
static const struct word words_6[] = {{"assert", WORD_ASSERT}, {"except", WORD_EXCEPT},
                                      {"global", WORD_GLOBAL}, {"import", WORD_IMPORT},
                                      {"lambda", WORD_LAMBDA}, {"return", WORD_RETURN},
                                      {NULL, WORD_NONE}};
static const struct word words_7[] = {{"finally", WORD_FINALLY}, {NULL, WORD_NONE}};
static const struct word words_8[] = {
    {"continue", WORD_CONTINUE}, {"nonlocal", WORD_NONLOCAL}, {NULL, WORD_NONE}};

enum lex_word lex_word_of(const char *text, uint32_t len)
{
    static const struct word *const by_length[LEX_WORD_MAX + 1] = {
        NULL, NULL, words_2, words_3, words_4, words_5, words_6, words_7, words_8,
    };

    if (len < 2 || len > LEX_WORD_MAX)
        return WORD_NONE;
    for (const struct word *w = by_length[len]; w->text; w++)
        if (w->text[0] == text[0] && w->text[1] == text[1] && memcmp(w->text, text, len) == 0)
            return w->word;
    return WORD_NONE;
}

bool lex_is_reserved(enum lex_word word)
{
    return word != WORD_NONE && word != WORD_MATCH && word != WORD_CASE;
}

/* Longer ones first: the first that fits is the sign. */
static const struct lex_sign signs[] = {
    {"**=", 3, OP_AUGMENT},  {"//=", 3, OP_AUGMENT}, {"<<=", 3, OP_AUGMENT}, {">>=", 3, OP_AUGMENT},
    {"...", 3, OP_ELLIPSIS}, {"->", 2, OP_ARROW},    {":=", 2, OP_ASSIGN},   {"==", 2, OP_COMPARE},
    {"!=", 2, OP_COMPARE},   {"<=", 2, OP_COMPARE},  {">=", 2, OP_COMPARE},  {"<>", 2, OP_COMPARE},
    {"**", 2, OP_POWER},     {"//", 2, OP_OTHER},    {"<<", 2, OP_OTHER},    {">>", 2, OP_OTHER},
    {"-=", 2, OP_AUGMENT},   {"+=", 2, OP_AUGMENT},  {"*=", 2, OP_AUGMENT},  {"/=", 2, OP_AUGMENT},
    {"%=", 2, OP_AUGMENT},   {"&=", 2, OP_AUGMENT},  {"|=", 2, OP_AUGMENT},  {"^=", 2, OP_AUGMENT},
    {"@=", 2, OP_AUGMENT},
};

const struct lex_sign *lex_find_sign(const char *text, size_t left)
{
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (signs[i].text[0] == text[0] && signs[i].text[1] == text[1] && signs[i].len <= left &&
            memcmp(signs[i].text, text, signs[i].len) == 0)
            return &signs[i];
    return NULL;
}
