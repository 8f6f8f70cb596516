/* What the calls of one engine's programs reach: settings and objects that all of its sandboxes
 * share. The engine owns it; it outlives the pool.
 */
#pragma once

#include "calls/approval.h"
#include "calls/call_packages.h"
#include "upstream/upstream.h"

struct outside {
    struct packages packages;
    struct upstreams *upstreams; /* NULL: there are no other servers */
    struct approvals approvals;
};
