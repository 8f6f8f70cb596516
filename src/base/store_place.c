#include "base/store_place.h"

#include <string.h>

#include "base/hex.h"

/* Goes in front of both, so that neither is the hash by which tokens are known. */
static const char word[] = "belljar-cluster-store 1\n";

/* A token has 67 bytes; of anything longer only the beginning counts. */
#define INPUT_MAX 256

static void hash(struct span input, uint8_t ret_hash[SHA256_BYTES])
{
    char text[sizeof(word) - 1 + INPUT_MAX];
    size_t len = input.len < INPUT_MAX ? input.len : INPUT_MAX;

    memcpy(text, word, sizeof(word) - 1);
    memcpy(text + sizeof(word) - 1, input.data, len);
    sha256(text, sizeof(word) - 1 + len, ret_hash);
    explicit_bzero(text, sizeof(text));
}

void store_place(const uint8_t token_hash[SHA256_BYTES], char ret_place[STORE_PLACE_SIZE])
{
    uint8_t made[SHA256_BYTES];

    hash((struct span){(const char *)token_hash, SHA256_BYTES}, made);
    hex_write(made, (STORE_PLACE_SIZE - 1) / 2, ret_place);
}

void store_place_key(struct span token, uint8_t ret_key[SHA256_BYTES])
{
    hash(token, ret_key);
}
