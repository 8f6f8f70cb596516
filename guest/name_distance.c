#include "guest/name_distance.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t name_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[NAME_DISTANCE_NAME_MAX + 1];

    if (a_len > NAME_DISTANCE_NAME_MAX || b_len > NAME_DISTANCE_NAME_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 0; i < a_len; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < b_len; j++) {
            size_t above = row[j + 1];
            bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);

            row[j + 1] = smaller(diagonal + !same, smaller(above, row[j]) + 1);
            diagonal = above;
        }
    }
    return row[b_len];
}
