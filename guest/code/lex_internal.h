/* Inside the lexer. */
#pragma once

#include "guest/code/lex.h"

struct lex_sign {
    char text[4];
    uint8_t len;
    uint8_t op;
};

#define LEX_WORD_MAX 8

enum lex_word lex_word_of(const char *text, uint32_t len);

/* The sign of two or three characters that a text of at least two begins with; NULL: none. */
const struct lex_sign *lex_find_sign(const char *text, size_t left);
