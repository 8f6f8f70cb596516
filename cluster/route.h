/* Who answers a request: a table of the routes that any node, or all, can answer. What is not in it
 * is answered by the node that an id names, wherever in the request the id is. */
#pragma once

#include "http/request_rules.h"

enum route_who {
    ROUTE_ANY,     /* every node has the same answer */
    ROUTE_FRESH,   /* work for whoever has room */
    ROUTE_OPENS,   /* the same, and the body may have a name that must not be used twice */
    ROUTE_BATCH,   /* many runs: a share for each node that has room */
    ROUTE_NODE,    /* the node that it names */
    ROUTE_NAME,    /* a session by the name that its client chose */
    ROUTE_FIND,    /* the node that has it: its id names none */
    ROUTE_ALL,     /* all nodes, their lists merged */
    ROUTE_METRICS, /* all nodes, and the gateway: figures in Prometheus's format */
    ROUTE_EVENTS,  /* all nodes: their streams of events as one */
    ROUTE_RECORDS, /* all nodes: records of their trails, by their time */
    ROUTE_OF,      /* the node that the query would have to name */
    ROUTE_NODES,   /* the gateway, for those whom engines take for operators */
    ROUTE_STATS,   /* all nodes: objects of figures, added up */
    ROUTE_LOCAL,   /* one node would answer, and the others would not know of it */
    ROUTE_UNSURE,  /* there is an id or a name in the body */
};

struct route_target {
    enum route_who who;
    char node[13];     /* of ROUTE_NODE */
    char name[65];     /* of ROUTE_NAME */
    const char *list;  /* of ROUTE_ALL: the member with the list, unless all of it is one */
    size_t limit;      /* of that list, where the query has none; 0: all of it */
    char probe[1024];  /* of ROUTE_FIND: what all nodes are asked for */
    const char *field; /* of ROUTE_UNSURE and ROUTE_OPENS: the member with the id or the name */
    bool is_session;   /* the id is one of a session */
    bool is_job; /* of a durable job, which another node may have taken; `probe` asks for it */
};

void route_find(const struct http_head *head, struct route_target *ret_target);

/* "…-a1" of an id in `text`, such as "run_0123456789ABCDEFGHJKMNPQRS-a1". False: it is no id, or
 * names no node. */
bool route_node_of(struct span text, char ret_node[13]);
