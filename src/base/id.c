#include "base/id.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* 48 bits of milliseconds and 80 of chance, five bits a character, in the alphabet without I, L, O
 * and U. */
int id_make(char id[32], const char prefix[4])
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    unsigned __int128 value;
    struct timespec now;
    uint8_t chance[10];

    if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return -1;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    value = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    for (size_t i = 0; i < sizeof(chance); i++)
        value = value << 8 | chance[i];

    memcpy(id, prefix, 4);
    for (int i = 25; i >= 0; i--) {
        id[4 + i] = alphabet[value & 31];
        value >>= 5;
    }
    id[30] = '\0';
    return 0;
}
