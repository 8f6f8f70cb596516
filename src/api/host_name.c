#include "api/host_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* An id of E2B's interface has so many letters and digits (compat/e2b_internal.h). */
#define SANDBOX_ID_LEN 26

#define SESSION_PREFIX "ses_"

/* Of the services that every sandbox has. */
static const uint16_t services[] = {49983, 49999};

static bool is_domain(const struct config *config, struct span domain)
{
    if (span_is_nocase(domain, "localhost"))
        return true;
    for (size_t i = 0; i < config->hosts.count; i++)
        if (strncmp(config->hosts.items[i], "*.", 2) == 0 &&
            span_is_nocase(domain, config->hosts.items[i] + 2))
            return true;
    return false;
}

/* "8000-ID", or of old clients "8000-ID-HOST". Names have no case; ids of E2B's interface are in
 * the lower one, those of sessions in the upper one,
 * but for the name of their node. */
static bool read_port(struct span label, struct host_name *name)
{
    size_t digits = 0, len, i;
    unsigned port = 0;
    bool is_plain = true;

    while (digits < label.len && digits < 5 && isdigit((unsigned char)label.data[digits]))
        port = port * 10 + (unsigned)(label.data[digits++] - '0');
    if (!digits || label.data[0] == '0' || port > UINT16_MAX || digits + 1 >= label.len ||
        label.data[digits] != '-')
        return false;
    len = label.len - digits - 1;
    for (i = 0; i < len; i++) {
        char c = label.data[digits + 1 + i];

        if (!isalnum((unsigned char)c) && c != '-' && c != '_')
            return false;
        name->id[i] = (char)tolower((unsigned char)c);
        is_plain &= i >= SANDBOX_ID_LEN || isalnum((unsigned char)c);
    }
    name->id[len] = '\0';
    name->port = (uint16_t)port;
    name->is_session = !is_plain || (len != SANDBOX_ID_LEN &&
                                     (len < SANDBOX_ID_LEN || name->id[SANDBOX_ID_LEN] != '-'));
    if (!name->is_session)
        name->id[SANDBOX_ID_LEN] = '\0';
    else if (strncmp(name->id, SESSION_PREFIX, strlen(SESSION_PREFIX)) == 0)
        for (i = strlen(SESSION_PREFIX); name->id[i] && name->id[i] != '-'; i++)
            name->id[i] = (char)toupper((unsigned char)name->id[i]);
    return true;
}

bool host_name_read(const struct config *config, struct span host, struct host_name *ret_name)
{
    struct span label = {host.data, host.data ? span_until(host, ".") : 0};

    *ret_name = (struct host_name){0};
    if (!host.data || label.len == host.len || label.len > HOST_NAME_LABEL ||
        !is_domain(config, (struct span){host.data + label.len + 1, host.len - label.len - 1}))
        return false;
    ret_name->is_api = span_is_nocase(label, "api");
    ret_name->is_shared = span_is_nocase(label, "sandbox");
    return ret_name->is_api || ret_name->is_shared || read_port(label, ret_name);
}

static bool is_service(uint16_t port)
{
    for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++)
        if (services[i] == port)
            return true;
    return false;
}

int host_name_apply(struct request *request, const struct host_name *name, struct error *err)
{
    struct span path = request->head.path;
    char prefix[HOST_NAME_LABEL + 64] = "/e2b";
    size_t len;

    request->host_port = name->port;
    if (name->port && !(is_service(name->port) && !name->is_session))
        (void)snprintf(prefix, sizeof(prefix), "%s/%s/ports/%u",
                       name->is_session ? "/v1/sessions" : "/e2b/sandboxes", name->id, name->port);
    else if (name->port)
        (void)snprintf(request->host_id, sizeof(request->host_id), "%s", name->id);
    len = strlen(prefix);
    request->path_text = malloc(len + path.len + 1);
    if (!request->path_text)
        return error_memory(err);
    memcpy(request->path_text, prefix, len);
    memcpy(request->path_text + len, path.data, path.len);
    request->head.path = (struct span){request->path_text, len + path.len};
    request->path_added = len;
    return 0;
}

int host_name_apply_service(struct request *request, struct error *err)
{
    struct host_name name = {.port = is_service(request->service) ? request->service : 0,
                             .id = HOST_NAME_DEBUG};

    name.is_api = !name.port;
    return host_name_apply(request, &name, err);
}
