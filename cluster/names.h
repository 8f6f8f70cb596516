/* What a gateway has learned: which node has the session of a name. The bucket decides; what is
 * here is only as good as the news of what was written there. Where news may have been missed, all
 * is forgotten.
 */
#pragma once

#include "cluster/keep.h"
#include "http/request_rules.h"

struct names;

struct names *names_new(void);
void names_free(struct names *names);

/* The key of a name for whoever shows these credentials: nobody can read either from it. */
void names_key(const struct http_head *head, const char *name, char ret_key[KEEP_KEY_SIZE]);

/* NULL: not known. */
const char *names_find(const struct names *names, const char *key);

/* Grows whenever something is forgotten. */
uint64_t names_epoch(const struct names *names);

/* What was asked for at that epoch. If anything was forgotten since, the answer may be older than
 * the news, and is not learned. */
void names_learn(struct names *names, uint64_t epoch, const char *key, const char *node);
void names_forget(struct names *names, const char *key);
void names_forget_all(struct names *names);
