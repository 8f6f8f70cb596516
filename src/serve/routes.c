#include "serve/routes.h"

#include "api/api.h"
#include "compat/compat.h"
#include "mcp/http.h"
#include "serve/console.h"

/* The first row that matches a path answers it. */
const struct route *const serve_routes[] = {
    e2b_routes,
    coderunner_routes,
    api_command_routes,
    api_terminal_routes,
    api_event_routes,
    api_run_routes,
    api_approval_routes,
    api_batch_routes,
    api_job_routes,
    api_session_routes,
    api_context_routes,
    api_inspect_routes,
    api_copy_routes,
    api_changes_routes,
    api_file_routes,
    api_watch_routes,
    api_output_routes,
    api_port_routes,
    api_skill_routes,
    api_undo_routes,
    api_work_routes,
    api_audit_routes,
    api_verify_routes,
    api_operator_routes,
    api_token_routes,
    api_doctor_routes,
    api_console_routes,
    console_routes,
    /* Interfaces of other systems. */
    pyrunner_routes,
    dify_routes,
    jupyter_routes,
    sandboxfusion_routes,
    /* For operators and machines. */
    metrics_routes,
    api_replica_routes,
    api_machine_routes,
    api_inside_routes,
    mcp_http_routes,
    mcp_sse_routes,
    api_meta_routes,
    NULL,
};
