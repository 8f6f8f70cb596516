#include "cluster/join_files.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cluster/token_list.h"
#include "unit.h"

static struct join_pair ca = JOIN_PAIR, other = JOIN_PAIR;

static const struct join_machine a1 = {
    .name = "a1", .address = "10.0.0.1", .port = 4222, .route_port = 6222};

TEST(a_certificate_is_that_of_its_authority_alone)
{
    cleanup(join_pair_done) struct join_pair pair = JOIN_PAIR;
    cleanup_error struct error err = {0};
    int days = 0;

    assert_int_equal(join_ca_sign(&ca, "node.a1", NULL, &pair, &err), 0);
    assert_int_equal(join_ca_verify(buf_str(&ca.cert), &pair, &days, &err), 0);
    assert_in_range(days, JOIN_CERT_DAYS - 1, JOIN_CERT_DAYS);
    assert_int_equal(join_ca_verify(buf_str(&other.cert), &pair, &days, &err), -1);
    assert_int_equal(err.code, E_INVALID);
}

TEST(a_key_of_another_certificate_is_refused)
{
    struct join_pair pairs[JOIN_ROLES] = {JOIN_PAIR, JOIN_PAIR, JOIN_PAIR, JOIN_PAIR};
    struct join_pair mixed = {pairs[JOIN_NODE].cert, pairs[JOIN_GATEWAY].key};
    cleanup_error struct error err = {0};
    int days = 0;

    assert_int_equal(join_sign(&ca, &a1, pairs, &err), 0);
    mixed = (struct join_pair){pairs[JOIN_NODE].cert, pairs[JOIN_GATEWAY].key};
    assert_int_equal(join_ca_verify(buf_str(&ca.cert), &mixed, &days, &err), -1);
    assert_non_null(strstr(err.message, "not the key"));
    for (size_t i = 0; i < JOIN_ROLES; i++) {
        error_done(&err);
        assert_int_equal(join_ca_verify(buf_str(&ca.cert), &pairs[i], &days, &err), 0);
        join_pair_done(&pairs[i]);
    }
}

TEST(a_text_is_that_of_who_signed_it)
{
    struct join_pair pairs[JOIN_ROLES] = {JOIN_PAIR, JOIN_PAIR, JOIN_PAIR, JOIN_PAIR};
    const struct join_pair *by = &pairs[JOIN_OPERATOR];
    char signature[JOIN_SIGNATURE_SIZE];
    const char *cert;

    assert_int_equal(join_sign(&ca, &a1, pairs, NULL), 0);
    assert_int_equal(join_ca_sign_text(by, "text", 4, signature, NULL), 0);
    cert = buf_str(&by->cert);
#define VERIFY(by, of, name, text, signature)                                                      \
    join_ca_verify_text(buf_str(&(by).cert), of, name, text, strlen(text), signature, NULL)
    assert_int_equal(VERIFY(ca, cert, "operator", "text", signature), 0);
    assert_int_equal(VERIFY(ca, cert, "operator", "texts", signature), -1);
    assert_int_equal(VERIFY(ca, cert, "operato", "text", signature), -1);
    assert_int_equal(VERIFY(other, cert, "operator", "text", signature), -1);
    assert_int_equal(VERIFY(ca, "", "operator", "text", signature), -1);
    assert_int_equal(VERIFY(ca, cert, "operator", "text", ""), -1);
    assert_int_equal(VERIFY(ca, cert, "operator", "text", "0"), -1);
    assert_int_equal(VERIFY(ca, cert, "operator", "text", "zz"), -1);
    /* Another role of the machine signs it. */
    assert_int_equal(join_ca_sign_text(&pairs[JOIN_NODE], "text", 4, signature, NULL), 0);
    assert_int_equal(VERIFY(ca, cert, "operator", "text", signature), -1);
    assert_int_equal(VERIFY(ca, buf_str(&pairs[JOIN_NODE].cert), "operator", "text", signature),
                     -1);
    for (size_t i = 0; i < JOIN_ROLES; i++)
        join_pair_done(&pairs[i]);
}

/* A server's certificate may have any machine's name for a subject. */
TEST(a_server_signs_no_texts)
{
    cleanup(join_pair_done) struct join_pair server = JOIN_PAIR;
    char signature[JOIN_SIGNATURE_SIZE];

    assert_int_equal(join_ca_sign(&ca, "operator", "10.0.0.1", &server, NULL), 0);
    assert_int_equal(join_ca_sign_text(&server, "text", 4, signature, NULL), 0);
    assert_int_equal(VERIFY(ca, buf_str(&server.cert), "operator", "text", signature), -1);
}

/* Byte by byte: what was changed is refused, or says the same. */
TEST(a_list_of_tokens_is_what_was_signed)
{
    struct join_pair pairs[JOIN_ROLES] = {JOIN_PAIR, JOIN_PAIR, JOIN_PAIR, JOIN_PAIR};
    cleanup(token_list_done) struct token_list list = TOKEN_LIST, found = TOKEN_LIST;
    cleanup(buf_done) struct buf value = BUF_OF(TOKEN_LIST_BYTES);

    assert_int_equal(join_sign(&ca, &a1, pairs, NULL), 0);
    list.serial = 7;
    assert_int_equal(buf_add_str(&list.text, "# none\n", NULL), 0);
    assert_int_equal(token_list_sign(&list, &pairs[JOIN_OPERATOR], &value, NULL), 0);
    for (size_t i = 0; i < value.len; i++) {
        char was = value.data[i];

        assert_int_equal(token_list_read(value.data, i, buf_str(&ca.cert), &found, NULL), -1);
        value.data[i] ^= 1;
        if (token_list_read(value.data, value.len, buf_str(&ca.cert), &found, NULL) == 0) {
            assert_int_equal(found.serial, 7);
            assert_string_equal(buf_str(&found.text), "# none\n");
        }
        value.data[i] = was;
    }
    assert_int_equal(token_list_read(value.data, value.len, buf_str(&ca.cert), &found, NULL), 0);
    assert_int_equal(found.serial, 7);
    assert_int_equal(token_list_read(value.data, value.len, buf_str(&other.cert), &found, NULL),
                     -1);
    for (size_t i = 0; i < JOIN_ROLES; i++)
        join_pair_done(&pairs[i]);
}

/* An ordinary certificate must not make others. */
TEST(an_authority_may_sign)
{
    cleanup(join_pair_done) struct join_pair leaf = JOIN_PAIR;
    struct join_pair mixed = {ca.cert, other.key};
    cleanup_error struct error err = {0};

    assert_int_equal(join_ca_check(&ca, &err), 0);
    assert_int_equal(join_ca_sign(&ca, "a1", "10.0.0.1", &leaf, &err), 0);
    assert_int_equal(join_ca_check(&leaf, &err), -1);
    assert_non_null(strstr(err.message, "may not sign"));
    error_done(&err);
    assert_int_equal(join_ca_check(&mixed, &err), -1);
    assert_non_null(strstr(err.message, "not the key"));
}

TEST(settings_name_everybody_and_hold_one_password)
{
    struct join_machine others[] = {
        {.name = "a2", .address = "2001:db8::2", .port = 4222, .route_port = 6222}};
    const struct join_plan plan = {.self = a1,
                                   .others = others,
                                   .other_count = 1,
                                   .password = "0123456789abcdef0123456789abcdef",
                                   .dir = "/d",
                                   .store = "/s",
                                   .listen = "127.0.0.1:8322",
                                   .socket = "/e.sock"};
    cleanup(buf_done) struct buf nats = BUF_OF(JOIN_TEXT_BYTES), users = BUF_OF(JOIN_TEXT_BYTES),
                                 toml = BUF_OF(JOIN_TEXT_BYTES);

    assert_int_equal(join_write_nats(&plan, &nats, NULL), 0);
    assert_int_equal(join_write_machines(&plan, &users, NULL), 0);
    assert_int_equal(join_write_toml(&plan, &toml, NULL), 0);
    assert_non_null(strstr(buf_str(&nats), "@[2001:db8::2]:6222\""));
    assert_non_null(strstr(buf_str(&nats), plan.password));
    assert_non_null(strstr(buf_str(&users), "CN=gateway.a2"));
    assert_non_null(strstr(buf_str(&users), "CN=node.a1"));
    assert_non_null(strstr(buf_str(&toml), "\"tls://[2001:db8::2]:4222\""));
    /* These two are readable for everybody. */
    assert_null(strstr(buf_str(&users), plan.password));
    assert_null(strstr(buf_str(&toml), plan.password));
}

TEST(machines_that_are_wrong_are_refused)
{
    static const char *const wrong[] = {
        "{}",
        "{\"name\":\"A1\",\"address\":\"10.0.0.1\",\"port\":1,\"route_port\":1}",
        "{\"name\":\"a1\",\"address\":\"10.0.0.1\\\"\",\"port\":1,\"route_port\":1}",
        "{\"name\":\"a1\",\"address\":\"\",\"port\":1,\"route_port\":1}",
        "{\"name\":\"a1\",\"address\":\"10.0.0.1\",\"port\":0,\"route_port\":1}",
        "{\"name\":\"a1\",\"address\":\"10.0.0.1\",\"port\":1,\"route_port\":65536}",
        "{\"name\":\"a1\",\"address\":\"10.0.0.1\",\"port\":\"1\",\"route_port\":1}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        cleanup_json json_t *tree = json_text_own(wrong[i], strlen(wrong[i]));
        struct join_machine machine;

        assert_non_null(tree);
        assert_int_equal(join_machine_from_json(tree, &machine, NULL), -1);
    }
}

static int make(void **state)
{
    (void)state;
    return join_ca_make(&ca, NULL) < 0 || join_ca_make(&other, NULL) < 0 ? -1 : 0;
}

static int done(void **state)
{
    (void)state;
    join_pair_done(&ca);
    join_pair_done(&other);
    return 0;
}

UNIT_MAIN_WITH(make, done)
