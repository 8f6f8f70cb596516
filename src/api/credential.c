#include "api/credential.h"

#include <string.h>
#include <strings.h>

#include "admit/access.h"
#include "api/api.h"
#include "store/replica.h"

#define BEARER "Bearer "

struct span credential_of_headers(const struct request *request)
{
    struct span header = request_header(request, "authorization");

    if (!header.data) /* as clients of other systems send it */
        return request_header(request, "x-api-key");
    if (header.len > strlen(BEARER) && strncasecmp(header.data, BEARER, strlen(BEARER)) == 0)
        return (struct span){header.data + strlen(BEARER), header.len - strlen(BEARER)};
    return (struct span){0};
}

struct span credential_of_protocol(const struct request *request, const char *prefix)
{
    size_t prefix_len = strlen(prefix);
    struct span list = request_header(request, "sec-websocket-protocol");

    while (list.len) {
        size_t n = span_until(list, ", \t");

        if (span_starts_with((struct span){list.data, n}, prefix))
            return (struct span){list.data + prefix_len, n - prefix_len};
        n += n < list.len;
        list.data += n;
        list.len -= n;
    }
    return (struct span){0};
}

int credential_check(struct request *request, struct span token, struct caller **ret_caller,
                     struct error *err)
{
    const struct api *api = request->api;
    const struct auth_claim claim = {.is_unix = request->is_unix,
                                     .uid = request->peer_uid,
                                     .token = token,
                                     .ret_page = &request->page};

    if (access_check_caller(api->auth, api->recorder, &claim, ret_caller, err) < 0)
        return -1;
    if (token.data && !request->page && api->store && store_replicas(api->store))
        replicas_learn(store_replicas(api->store), (*ret_caller)->keeper, token);
    return 0;
}

int credential_identify(struct request *request, struct caller **ret_caller, struct error *err)
{
    return credential_check(request, credential_of_headers(request), ret_caller, err);
}
