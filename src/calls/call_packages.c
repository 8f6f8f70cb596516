#include "calls/call_packages.h"

#include <string.h>

#include "base/cleanup.h"
#include "calls/call.h"
#include "calls/outside.h"

#define INSTALL "packages.install."

/* --- the settings --- */

/* https://HOST[:PORT][/PATH] */
static int read_index(struct packages *packages, const char *url, struct error *err)
{
    struct url parts;
    const char *wrong = url_parse(url, strlen(url), &parts);

    if (!wrong && parts.target.len && *parts.target.data == '?')
        wrong = "a query without a path";
    if (!wrong) {
        packages->is_tls = parts.is_tls;
        packages->host = parts.host;
        packages->port = url_port(&parts);
        packages->path = parts.target.data;
        return 0;
    }
    error_set(err, E_INVALID, "`package_index`: `%.200s`: %s", url, wrong);
    return error_hint(err, "without a user or password; keys stay outside as a header of `net`");
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD    LETTERS "0123456789_"

/* "polars", "polars>=1", "yaml:PyYAML": the module, and where the package's name begins. */
static size_t module_length(const char *entry, const char **ret_package)
{
    size_t len = strspn(entry, WORD);

    *ret_package = entry[len] == ':' ? entry + len + 1 : entry;
    return len;
}

/* Nothing that pip would take for an option, a path or a URL. */
static bool is_package(const char *text)
{
    size_t name = strspn(text, WORD ".-");

    return strspn(text, WORD) > 0 && (!text[name] || strchr("[=<>!~", text[name])) &&
           !text[strspn(text, WORD ".-[],=<>!~*+")];
}

static int check_entry(const char *entry, struct error *err)
{
    const char *package;
    size_t len = module_length(entry, &package);

    if (len > 0 && strspn(entry, "0123456789") == 0 && is_package(package) &&
        (package != entry || !entry[len] || strchr("[=<>!~", entry[len])))
        return 0;
    error_set(err, E_INVALID, "`auto_install`: invalid module name `%.100s`", entry);
    return error_hint(
        err,
        "`polars`, `polars>=1`, or `yaml:PyYAML` if the package has another name than the module");
}

int packages_read(struct packages *packages, const struct config *config, struct error *err)
{
    packages->listed = &config->auto_install;
    if (*config->package_index && read_index(packages, config->package_index, err) < 0)
        return -1;
    for (size_t i = 0; i < config->auto_install.count; i++)
        if (check_entry(config->auto_install.items[i], err) < 0)
            return -1;
    if (!config->auto_install.count || *config->package_index)
        return 0;
    error_set(err, E_INVALID, "`auto_install` needs a `package_index`");
    return error_hint(err, "set it to the URL of the index for pip");
}

bool packages_are_open(const struct packages *packages, const struct net *net)
{
    const struct net_ask ask = {
        .host = &packages->host,
        .port = packages->port,
        .is_tunnel = packages->is_tls,
        .method = "GET",
        .path = packages->path && *packages->path ? packages->path : "/",
    };
    const char *why;
    uint16_t port;
    bool is_tls;

    return net && packages->listed && packages->listed->count &&
           net_match(net, &ask, &port, &is_tls, &why);
}

/* --- the calls --- */

static void list(struct call *call)
{
    const struct packages *packages = &call_outside(call)->packages;
    json_t *modules = json_object();

    for (size_t i = 0; packages->listed && i < packages->listed->count; i++) {
        const char *package, *entry = packages->listed->items[i];
        size_t len = module_length(entry, &package);

        (void)json_object_setn_new(modules, entry, len, json_string(package));
    }
    call_answer(call, json_pack("{s:o}", "modules", modules));
}

/* It is written down under the module's name; the bytes are the gate's to write down. */
static void install(struct call *call)
{
    const struct packages *packages = &call_outside(call)->packages;
    const char *name = call->name + strlen(INSTALL), *package;
    struct error err = {0};

    for (size_t i = 0; packages->listed && i < packages->listed->count; i++) {
        size_t len = module_length(packages->listed->items[i], &package);

        if (strlen(name) == len && memcmp(packages->listed->items[i], name, len) == 0) {
            call_answer(call, json_pack("{s:s}", "package", package));
            return;
        }
    }
    error_set(&err, E_DENIED, "`%s` is not installed on import", name);
    error_hint(&err, "the operator lists it as `auto_install`");
    call_fail(call, &err);
}

static const struct call_field no_fields[] = {{0}};

const struct call_row call_package_rows[] = {
    {"packages.list", 0, no_fields, list},
    {INSTALL, 0, no_fields, install},
    {0},
};
