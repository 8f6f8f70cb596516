/* The place on the bus of what the owner of a token shares between machines (store/replica.h). It
 * is made of the token's hash, so an operator can find it, who does not have the token. */
#pragma once

#include "base/sha256.h"
#include "wire/pack.h"

#define STORE_PLACE_SIZE 25

void store_place(const uint8_t token_hash[SHA256_BYTES], char ret_place[STORE_PLACE_SIZE]);

/* The key of everything there, which only the token makes. */
void store_place_key(struct span token, uint8_t ret_key[SHA256_BYTES]);
