#include "base/id.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static char own_node[ID_NODE_MAX + 1];

bool id_is_node(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t len = strlen(text);

    return len > 0 && len <= ID_NODE_MAX && strspn(text, letters) == len &&
           strchr("0123456789", *text) == NULL;
}

bool id_is_setting(const char *text)
{
    return !*text || id_is_node(text);
}

void id_set_node(const char *node)
{
    (void)snprintf(own_node, sizeof(own_node), "%s", node);
}

const char *id_node(void)
{
    return own_node;
}

/* Five bits a character, without I, L, O and U. */
static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* 48 bits of milliseconds and 80 of chance. */
int id_make_plain(char id[ID_PLAIN_SIZE], const char prefix[4])
{
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

int id_make(char id[ID_SIZE], const char prefix[4])
{
    if (id_make_plain(id, prefix) < 0)
        return -1;
    if (*own_node)
        (void)snprintf(id + ID_PLAIN_SIZE - 1, ID_SIZE - (ID_PLAIN_SIZE - 1), "-%s", own_node);
    return 0;
}

/* The time is the first ten characters. */
int64_t id_time_ms(const char *id)
{
    int64_t ms = 0;

    if (strnlen(id, ID_PLAIN_SIZE - 1) < ID_PLAIN_SIZE - 1)
        return -1;
    for (int i = 4; i < 14; i++) {
        const char *at = strchr(alphabet, id[i]);

        if (!at)
            return -1;
        ms = ms << 5 | (at - alphabet);
    }
    return ms;
}
