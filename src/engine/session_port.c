/* Ports of a session: servers inside that clients may reach. */
#include <stdio.h>

#include "base/cleanup.h"
#include "engine/session_internal.h"

static int find(const struct session *s, uint16_t port, size_t *ret_index, struct error *err)
{
    for (size_t i = 0; i < s->terms.n_ports; i++)
        if (s->terms.ports[i] == port) {
            *ret_index = i;
            return 0;
        }
    error_set(err, E_DENIED, "port %u of the session is not open to clients", port);
    return error_hint(err, "name it in `ports` when you open the session");
}

/* Nothing is reached that the trail does not know of. */
static int record(struct session *s, size_t index, struct error *err)
{
    char text[16];

    if (s->used_ports & 1u << index)
        return 0;
    (void)snprintf(text, sizeof(text), "%u", s->terms.ports[index]);
    if (session_tell(s, "connect", "port", text, NULL, err) < 0)
        return -1;
    s->used_ports |= 1u << index;
    return 0;
}

int session_connect(struct session *s, uint16_t port, box_connected_fn fn, void *user,
                    struct box_port **ret_waiting, struct error *err)
{
    size_t index = 0;

    if (session_check_here(s, "ports of sessions", err) < 0 || find(s, port, &index, err) < 0 ||
        session_check_awake(s, err) < 0)
        return -1;
    if (!s->box || s->is_closing || !box_is_kept(s->box))
        return error_set(err, E_BUSY, "the session is starting");
    return record(s, index, err) < 0 ? -1 : box_connect(s->box, port, fn, user, ret_waiting, err);
}
