/* The three other places where clients of Jupyter put the token. */
#include <string.h>
#include <strings.h>

#include "api/credential.h"
#include "compat/jupyter_internal.h"

#define TOKEN_MAX 512

/* `token=...` of a query, decoded into `text`; or nothing. */
static struct span token_of_query(struct span query, char text[TOKEN_MAX])
{
    while (query.len) {
        size_t n = span_until(query, "&");

        if (n > 6 && n < TOKEN_MAX && memcmp(query.data, "token=", 6) == 0)
            return (struct span){text,
                                 schema_decode((struct span){query.data + 6, n - 6}, true, text)};
        n += n < query.len;
        query.data += n;
        query.len -= n;
    }
    return (struct span){0};
}

static struct span find_token(const struct request *request, char text[TOKEN_MAX])
{
    struct span token = credential_of_headers(request);
    struct span header = request_header(request, "authorization");

    if (token.data)
        return token;
    if (header.len > 6 && strncasecmp(header.data, "token ", 6) == 0)
        return (struct span){header.data + 6, header.len - 6};
    token = token_of_query(request->head.query, text);
    return token.data ? token : credential_of_protocol(request, "v1.token.websocket.jupyter.org.");
}

int jupyter_identify(struct request *request, struct caller **ret_caller, struct error *err)
{
    char text[TOKEN_MAX];
    int r = credential_check(request, find_token(request, text), ret_caller, err);

    explicit_bzero(text, sizeof(text));
    return r;
}
