/* toml++ behind a C interface. It is compiled in rather than linked: the parser is small, and a
 * shared library of it would bring the dynamic linker's work for libstdc++ to every start of the
 * program.
 */
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOML_HEADER_ONLY       1
#define TOML_EXCEPTIONS        0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>

#include "base/toml.h"

extern "C" {
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
}

static_assert(TOML_MAX_NESTED_VALUES == TOML_DEPTH_MAX, "one depth for tables and for arrays");

namespace
{

struct where {
    const char *name; /* of the file */
    json_t *lines;    /* or NULL */
    struct error *err;
};

/* ---- before parsing: how deep keys go ----
 *
 * The parser bounds arrays and inline tables, but makes a table for each part of a dotted key, and
 * takes them down by recursion: half a million of `a.` in one key would take the stack with it. So
 * the dots are counted first. Outside of strings and comments a dot stands in a key, or alone in a
 * number.
 */
struct scanner {
    std::string_view text;
    size_t at = 0;
    int line = 1;

    bool starts_with(const char *what) const
    {
        return text.compare(at, std::strlen(what), what) == 0;
    }

    void skip()
    {
        if (at < text.size() && text[at++] == '\n')
            line++;
    }

    /* Stands on the quote; ends behind the closing one, or where the parser will complain. */
    void skip_string()
    {
        const char quote = text[at];
        const char closing[] = {quote, quote, quote, '\0'};
        const bool is_long = starts_with(closing);

        at += is_long ? 3 : 1;
        while (at < text.size()) {
            if (is_long ? starts_with(closing) : (text[at] == quote || text[at] == '\n')) {
                at += is_long ? 3 : text[at] == quote ? 1 : 0;
                return;
            }
            if (quote == '"' && text[at] == '\\')
                skip();
            skip();
        }
    }
};

int check_key_depth(const where &w, std::string_view text)
{
    scanner s{text};
    int dots = 0;

    while (s.at < text.size()) {
        switch (text[s.at]) {
        case '"':
        case '\'':
            s.skip_string();
            continue;
        case '#':
            while (s.at < text.size() && text[s.at] != '\n')
                s.at++;
            continue;
        case '.':
            if (++dots >= TOML_DEPTH_MAX)
                return error_set(w.err, E_INVALID,
                                 "%s:%d: read a key of many parts, expected at most %d", w.name,
                                 s.line, TOML_DEPTH_MAX);
            break;
        case '\n':
        case '=':
        case ',':
        case '[':
        case ']':
        case '{':
        case '}':
            dots = 0;
            break;
        default:
            break;
        }
        s.skip();
    }
    return 0;
}

/* ---- after parsing: toml++'s tree to jansson's ---- */

int refuse(const where &w, const toml::node &node, const std::string &path, const char *what)
{
    return error_set(w.err, E_INVALID, "%s:%u: `%s`: read %s", w.name,
                     static_cast<unsigned>(node.source().begin.line), path.c_str(), what);
}

int convert(const where &w, const toml::node &node, const std::string &path, int depth,
            json_t **ret_value);

int out_of_memory(const where &w)
{
    return error_set(w.err, E_SYSTEM, "out of memory");
}

int convert_table(const where &w, const toml::table &table, const std::string &path, int depth,
                  json_t *object)
{
    for (const auto &[key, node] : table) {
        const std::string_view name = key.str();
        const std::string child = path.empty() ? std::string(name) : path + "." + std::string(name);
        json_t *value = nullptr;

        if (name.find('\0') != std::string_view::npos)
            return refuse(w, node, path, "a NUL in a key, expected text");
        if (w.lines &&
            json_object_set_new(w.lines, child.c_str(), json_integer(key.source().begin.line)) < 0)
            return out_of_memory(w);
        if (convert(w, node, child, depth, &value) < 0)
            return -1;
        if (json_object_setn_new(object, name.data(), name.size(), value) < 0)
            return out_of_memory(w);
    }
    return 0;
}

int convert_array(const where &w, const toml::array &array, const std::string &path, int depth,
                  json_t *list)
{
    size_t index = 0;

    for (const toml::node &node : array) {
        const std::string child = path + "[" + std::to_string(index++) + "]";
        json_t *value = nullptr;

        if (w.lines &&
            json_object_set_new(w.lines, child.c_str(), json_integer(node.source().begin.line)) < 0)
            return out_of_memory(w);
        if (convert(w, node, child, depth, &value) < 0)
            return -1;
        if (json_array_append_new(list, value) < 0)
            return out_of_memory(w);
    }
    return 0;
}

/* Gives back a new reference, or leaves *ret_value alone. */
int convert(const where &w, const toml::node &node, const std::string &path, int depth,
            json_t **ret_value)
{
    json_t *value = nullptr;
    int r = 0;

    if (depth > TOML_DEPTH_MAX)
        return refuse(w, node, path, "too many levels of tables and arrays, expected at most 32");

    if (const toml::table *table = node.as_table()) {
        value = json_object();
        r = value ? convert_table(w, *table, path, depth + 1, value) : 0;
    } else if (const toml::array *array = node.as_array()) {
        value = json_array();
        r = value ? convert_array(w, *array, path, depth + 1, value) : 0;
    } else if (const auto *text = node.as_string()) {
        const std::string &s = text->get();

        if (s.find('\0') != std::string::npos)
            return refuse(w, node, path, "a NUL in a string, expected text");
        value = json_stringn(s.data(), s.size());
    } else if (const auto *integer = node.as_integer()) {
        value = json_integer(integer->get());
    } else if (const auto *boolean = node.as_boolean()) {
        value = json_boolean(boolean->get());
    } else if (const auto *real = node.as_floating_point()) {
        value = json_real(real->get());
        if (!value)
            return refuse(w, node, path, "`inf` or `nan`, expected a finite number");
    } else {
        return refuse(w, node, path,
                      "a date or time, expected a string, number, boolean, array or table");
    }

    if (!value)
        return out_of_memory(w);
    if (r < 0) {
        json_decref(value);
        return r;
    }
    *ret_value = value;
    return 0;
}

/* The parser's messages begin with "Error while parsing …". */
int report(const where &w, const toml::parse_error &mistake)
{
    std::string text(mistake.description());
    const unsigned line = mistake.source().begin.line;

    if (text.compare(0, 6, "Error ") == 0)
        text.erase(0, 6);
    if (!text.empty())
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    while (!text.empty() && (text.back() == '.' || text.back() == '\n'))
        text.pop_back();
    return error_set(w.err, E_INVALID, "%s:%u: %s", w.name, line, text.c_str());
}

int parse(const where &w, std::string_view text, json_t **ret_tree)
{
    if (check_key_depth(w, text) < 0)
        return -1;

    const toml::parse_result result = toml::parse(text);

    if (!result)
        return report(w, result.error());
    return convert(w, result.table(), "", 0, ret_tree);
}

int read_file(const char *path, struct buf *text, struct error *err)
{
    /* O_NONBLOCK: a FIFO must be refused, not waited for. */
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return error_set(err, E_NOT_FOUND, "%s: no such file", path);
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return error_set(err, E_DENIED, "%s: may not be read by this user", path);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "open %s", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, E_INVALID, "%s: read %s, expected a regular file", path,
                         S_ISDIR(st.st_mode) ? "a directory" : "a special file");
    if (buf_read_fd(text, fd, err) < 0)
        return error_wrap(err, "%s", path);
    return 0;
}

} // namespace

int toml_parse(const char *name, const char *text, size_t len, json_t **ret_tree,
               json_t **ret_lines, struct error *err)
{
    json_t *lines = ret_lines ? json_object() : nullptr;
    int r;

    if (ret_lines && !lines)
        return error_set(err, E_SYSTEM, "out of memory");
    /* No exception may reach C: its frames have no way to be unwound. */
    try {
        r = parse(where{name, lines, err}, std::string_view(text, len), ret_tree);
    } catch (const std::bad_alloc &) {
        r = error_set(err, E_SYSTEM, "%s: out of memory", name);
    } catch (const std::exception &e) {
        r = error_set(err, E_INTERNAL, "%s: the TOML parser failed: %s", name, e.what());
    } catch (...) {
        r = error_set(err, E_INTERNAL, "%s: the TOML parser failed", name);
    }
    if (r < 0) {
        json_decref(lines);
        return r;
    }
    if (ret_lines)
        *ret_lines = lines;
    return 0;
}

int toml_load_lines(const char *path, json_t **ret_tree, json_t **ret_lines, struct error *err)
{
    struct buf text;
    int r;

    buf_init(&text, LIMIT_CONFIG_BYTES);
    r = read_file(path, &text, err);
    if (r == 0)
        r = toml_parse(path, buf_str(&text), text.len, ret_tree, ret_lines, err);
    buf_done(&text);
    return r;
}

int toml_load(const char *path, json_t **ret_tree, struct error *err)
{
    return toml_load_lines(path, ret_tree, nullptr, err);
}

int toml_line(const json_t *lines, const char *path)
{
    return static_cast<int>(json_integer_value(json_object_get(lines, path)));
}
