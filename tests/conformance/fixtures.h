/* Tools, resources and prompts under the names that the official conformance suite calls, with what
 * it expects of them. They are part of the tests alone. */
#pragma once

#include "mcp/call.h"

/* Tables for struct mcp_server_options. */
extern const struct mcp_tool *const fixture_tools[];
extern const struct mcp_resource *const fixture_resources[];
extern const struct mcp_prompt *const fixture_prompts[];

extern const struct mcp_tool fixture_content_tools[]; /* name NULL ends each */
extern const struct mcp_tool fixture_ask_tools[];
extern const struct mcp_tool fixture_task_tools[];

/* A picture of one pixel, and a sound without a sample. */
extern const char fixture_png[];
extern const char fixture_wav[];

/* Goes on with the call after a while; until then it can be cancelled. */
void fixture_later(struct mcp_call *call, unsigned ms, void (*go_on)(struct mcp_call *call));

/* An answer of one text, with a value in it. */
void fixture_answer(struct mcp_call *call, const char *fmt, const char *value);

/* {"method":"elicitation/create"} with one property of that type. */
json_t *fixture_question(const char *message, const char *property, const char *type);

/* A property of what the client's person answered under that key; NULL: no such answer. */
const json_t *fixture_told(const struct mcp_call *call, const char *key, const char *property);
