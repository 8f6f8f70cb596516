/* Settings and objects that the calls of all programs of one engine use. The engine owns it; it
 * outlives the pool.
 */
#pragma once

#include "calls/approval.h"
#include "calls/call_packages.h"
#include "upstream/upstream.h"

struct outside {
    struct packages packages;
    struct upstreams *upstreams; /* NULL: there are no other servers */
    struct approvals approvals;
    bool is_forwarded;   /* this engine is in a machine: calls go to the server outside of it */
    const char *helpers; /* the operator's directory of modules, or NULL */
};
