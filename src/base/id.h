/* Names that nobody can guess. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A prefix of four characters and 26 more, in which the time comes first. Where the server has a
 * name as a node, "-" and that name follow: whoever has an id knows whom to ask for it. */
#define ID_PLAIN_SIZE 31
#define ID_NODE_MAX   12
#define ID_SIZE       48

/* The name of this node, in the ids that are made from here on; "": it has none. It is a node's
 * name. */
void id_set_node(const char *node);

/* That name. */
const char *id_node(void);

/* Up to ID_NODE_MAX lowercase letters and digits, the first of them a letter. */
bool id_is_node(const char *text);

/* For the setting `node`: also "". */
bool id_is_setting(const char *text);

/* Makes an id that sorts by time and cannot be guessed. Returns -1 when Linux has no random bytes
 * to give. */
int id_make(char id[ID_SIZE], const char prefix[4]);

/* Makes one that is the same on all nodes, and names none. */
int id_make_plain(char id[ID_PLAIN_SIZE], const char prefix[4]);

/* When it was made, in milliseconds of the wall clock since 1970. -1: it is no id. */
int64_t id_time_ms(const char *id);
