/* A connection of a command to a server: TCP, TLS or a Unix socket. It waits; a command has nothing
 * else to do. */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct client;
struct client_link;

/* E_NOT_FOUND with a hint when no server listens. */
int client_link_open(const struct client *client, struct client_link **ret_link, struct error *err);
void client_link_close(struct client_link *link);

int client_link_send(struct client_link *link, const void *data, size_t len, struct error *err);

/* Until something can be read. While it waits, and only then, signals are let in as `mask` has it
 * (NULL: as they are). 1: there is something; 2: there is something on the descriptor `other` (-1:
 * none); 0: a signal came. */
int client_link_wait(struct client_link *link, int other, const sigset_t *mask, struct error *err);

/* 0: the other side has closed. */
ssize_t client_link_receive(struct client_link *link, void *data, size_t size, struct error *err);
