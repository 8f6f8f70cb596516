/* An operator's rights in what other tokens have. */
#pragma once

#include "api/api.h"

/* A field of queries: everybody's, for operators. */
#define API_ALL_FIELD                                                                              \
    {                                                                                              \
        "all", SCHEMA_BOOLEAN, .help = "of all tokens; for operators"                              \
    }

/* Whether the query has it. E_DENIED: the token is not an operator's. */
int api_read_all(const struct request *request, bool *ret_all, struct error *err);

/* The run or session of the path: the caller's, or, for an operator, anybody's. For what neither
 * shows nor changes what the program works on: stopping it, and answering what it asks. */
struct job *api_find_any_job(const struct request *request, struct error *err);
struct session *api_find_any_session(const struct request *request, struct error *err);
