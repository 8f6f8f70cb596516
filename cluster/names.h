/* What a gateway has learned: which node has the session of a name. Entries go with their node. */
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
void names_learn(struct names *names, const char *key, const char *node);
void names_forget(struct names *names, const char *key);
void names_forget_node(struct names *names, const char *node);
