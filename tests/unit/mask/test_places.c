/* Values that are secret because of where they stand, and texts that only look so, wherever the
 * stream is cut. */
#include "unit.h"

#include "base/cleanup.h"
#include "mask/feed.h"

#define LABEL "[REDACTED_SECRET]"
#define HASH  "[REDACTED_PASSWORD_HASH]"
#define HEX32 "7cfd5af1ede81cf7a87dc5b2684e1d43"
#define HEX64 HEX32 "54e51c57ca27d387b89356178489906f"

static const struct {
    const char *text, *masked;
} places[] = {
    /* Sentences in languages of which we know few words */
    {"La password di ann \xc3\xa8 k9Zx81Qm.\n", "La password di ann \xc3\xa8 " LABEL ".\n"},
    {"Mot de passe temporaire : k9Zx81Qm\n", "Mot de passe temporaire : " LABEL "\n"},
    {"Bitte mit dem Passwort k9Zx81Qm anmelden.\n", "Bitte mit dem Passwort " LABEL " anmelden.\n"},
    {"Jelsz\xc3\xb3: k9Zx81Qm\n", "Jelsz\xc3\xb3: " LABEL "\n"},
    {"\xc5\x9eifre: k9Zx81Qm\n", "\xc5\x9eifre: " LABEL "\n"},
    {"\xd0\x9f\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c \xd0\xb4\xd0\xbb\xd1\x8f ann: k9Zx81Qm\n",
     "\xd0\x9f\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c \xd0\xb4\xd0\xbb\xd1\x8f ann: " LABEL "\n"},
    {"\xe5\xaf\x86\xe7\xa0\x81\xe6\x98\xaf k9Zx81Qm\n",
     "\xe5\xaf\x86\xe7\xa0\x81\xe6\x98\xaf " LABEL "\n"},
    {"the password [k9Zx81Qm] was accepted\n", "the password [" LABEL "] was accepted\n"},
    {"Your new password is\n\n    k9Zx81Qm4T\n", "Your new password is\n\n    " LABEL "\n"},
    /* Hashes of passwords */
    {"ann:$apr1$x8Kq2LmZ$dxHfLAsjHkDRmG83UXe8K0\n", "ann:" HASH "\n"},
    {"$2y$10$hdhW4VYFLg1py8XA1y2PecFVb/H5ol7e5fDpkjtrbJTyhAv8x72TA", HASH},
    /* Columns whose values are wider than they */
    {"USER       PASSWORD    SHELL\nann   k9Zx81QmT4Wq7   /bin/sh\n",
     "USER       PASSWORD    SHELL\nann   " LABEL "   /bin/sh\n"},
    {"        user      password  age\n0     alice  k9Zx81QmT4W   31\n",
     "        user      password  age\n0     alice  " LABEL "   31\n"},
    {"echo '| user | password |\n|---|---|\n| ann | k9Zx81Qm |'\n",
     "echo '| user | password |\n|---|---|\n| ann | " LABEL " |'\n"},
    /* Escapes of strings and numbers */
    {"'password\\x3dk9Zx81Qm\\x0auser'", "'password\\x3d" LABEL "\\x0auser'"},
    {"curl &#45;u ann&#58;k9Zx81Qm https&#58;", "curl &#45;u ann&#58;" LABEL " https&#58;"},
    /* In base64, in each of its three positions */
    {"data: cGFzc3dvcmQ9azlaeDgxUW0=\n", "data: cGFzc3dvcmQ" LABEL "=\n"},
    {"data: IHBhc3N3b3JkPWs5Wng4MVFt\n", "data: IHBhc3N3b3JkP" LABEL "\n"},
    {"data: eyJwYXNzd29yZCI6Ims5Wng4MVFtIn0=\n", "data: eyJwYXNzd29yZCI6I" LABEL "In0=\n"},
    /* Commands and protocols */
    {"127.0.0.1:6379> AUTH ann k9Zx81Qm\n", "127.0.0.1:6379> AUTH ann " LABEL "\n"},
    {"a1 LOGIN ann k9Zx81Qm\n", "a1 LOGIN ann " LABEL "\n"},
    {"snmp-server community k9Zx81Qm RO\n", "snmp-server community " LABEL " RO\n"},
    {"CREATE DATABASE LINK l CONNECT TO a IDENTIFIED BY k9Zx81Qm USING 'x';",
     "CREATE DATABASE LINK l CONNECT TO a IDENTIFIED BY " LABEL " USING 'x';"},
    {"form-data; name=\"token\"\r\nContent-Type: text/plain\r\n\r\nx81kQ0zz9aB7xY3kQ9\r\n",
     "form-data; name=\"token\"\r\nContent-Type: text/plain\r\n\r\n" LABEL "\r\n"},
    /* Signatures, whatever stands between the name and the value */
    {"h.Set(\"X-Slack-Signature\", \"v0=" HEX64 "\")",
     "h.Set(\"X-Slack-Signature\", \"v0=[REDACTED_SIGNATURE]\")"},
    {"proxy_set_header X-Request-Signature \"" HEX64 "\";",
     "proxy_set_header X-Request-Signature \"[REDACTED_SIGNATURE]\";"},
    {"{ key: 'X-Line-Signature', value: '" HEX64 "' }",
     "{ key: 'X-Line-Signature', value: '[REDACTED_SIGNATURE]' }"},
    {"proxy_set_header Authorization \"Splunk e39b50f1-e79b-4307-ab3b-199d5960e37f\";",
     "proxy_set_header Authorization \"Splunk [REDACTED_AUTHORIZATION]\";"},
    {"\"Authorization\" => \"GenieKey 6e605301-95ab-4e85-837d-cac9969339c7\",",
     "\"Authorization\" => \"GenieKey [REDACTED_AUTHORIZATION]\","},
    {"{ \"name\": \"Cookie\", \"value\": \"sid=x81kQ0zz9aB7xY3kQ9\" }",
     "{ \"name\": \"Cookie\", \"value\": \"sid=[REDACTED_COOKIE]\" }"},
    {"<meta name=\"Cookie\" content=\"a=b; session=x81kQ0zz9aB7xY3kQ9\">",
     "<meta name=\"Cookie\" content=\"a=b; session=[REDACTED_COOKIE]\">"},
    {"Authorization: GenieKey 18bca03c-d41b-4115-82a9-d929377ef6d7\n",
     "Authorization: GenieKey [REDACTED_AUTHORIZATION]\n"},
    {"https://a.test/announce?passkey=97b0aa871a3c65e067ab167f3f6259cb",
     "https://a.test/announce?passkey=" LABEL},
    /* Typed into a field of a page */
    {"find(By.ID, 'password').send_keys('Willow-quarry-332')",
     "find(By.ID, 'password').send_keys('" LABEL "')"},
    {"page.locator('#password').fill('Willow394!')", "page.locator('#password').fill('" LABEL "')"},
    {"fill_in 'Password', with: 'Willow394!'", "fill_in 'Password', with: '" LABEL "'"},
    {"await page.type('input[type=password]', 'willow17325');",
     "await page.type('input[type=password]', '" LABEL "');"},
    /* Pairs of languages, elements and dumps */
    {"{:smtp_pwd, \"Willow394!\"}", "{:smtp_pwd, \"" LABEL "\"}"},
    {"(adminPass . \"willow4711\")", "(adminPass . \"" LABEL "\")"},
    {"array(1) { [\"mail_password\"]=> string(9) \"willow471\" }",
     "array(1) { [\"mail_password\"]=> string(9) \"" LABEL "\" }"},
    {"<property name=\"api-key\">willow_1TRcwni6</property>",
     "<property name=\"api-key\">[REDACTED_API_KEY]</property>"},
    {"<gpg_passphrase value=\"Willow*ZX+6\"/>", "<gpg_passphrase value=\"" LABEL "\"/>"},
    {"<b>keystore_password</b> Cc67T3xzUyDR0<br>", "<b>keystore_password</b> " LABEL "<br>"},
    {"INSERT INTO a (service, Auth Token) VALUES ('x', 'x81kQ0zz9aB7xY3kQ9');",
     "INSERT INTO a (service, Auth Token) VALUES ('x', '" LABEL "');"},
    {"\xe5\xaf\x86\xe7\xa0\x81\xe6\x98\xafk9Zx81Qm\n",
     "\xe5\xaf\x86\xe7\xa0\x81\xe6\x98\xaf" LABEL "\n"},
    {"{\"contrase\\u00f1a\": \"k9Zx81Qm\"}", "{\"contrase\\u00f1a\": \"" LABEL "\"}"},
    {"device,snmp_community\nr1,k9Zx81Qm\n", "device,snmp_community\nr1," LABEL "\n"},
    /* More commands and calls */
    {"unrar x -hpwillow42825 x.rar\n", "unrar x -hp" LABEL " x.rar\n"},
    {"db2 connect to x user bob using willow_aY8F\n",
     "db2 connect to x user bob using " LABEL "\n"},
    {"freerdp /u:u /p:\"Willow*lp+60\" /v:h\n", "freerdp /u:u /p:\"" LABEL "\" /v:h\n"},
    {"tool /password:willow_n0CuNq\n", "tool /password:" LABEL "\n"},
    {"ip ospf message-digest-key 1 md5 Willow1955\n",
     "ip ospf message-digest-key 1 md5 " LABEL "\n"},
    {"sudo -S <<< k9Zx81QmT4Wq ls\n", "sudo -S <<< " LABEL " ls\n"},
    {"users.create_user('bob', 'b@x.test', 'Willow394!')",
     "users.create_user('bob', 'b@x.test', '" LABEL "')"},
    {"bcrypt.hashpw(b'Willow1984', salt)", "bcrypt.hashpw(b'" LABEL "', salt)"},
    {"hmac.New(sha256.New, []byte(\"x81kQ0zz9aB7xY3kQ9\"))",
     "hmac.New(sha256.New, []byte(\"" LABEL "\"))"},
    {"await client.login('x81kQ0zz9aB7xY3kQ9x81kQ0z')", "await client.login('" LABEL "')"},
    {"new AuthenticationHeaderValue(\"Bearer\", \"x81kQ0zz9aB7xY3kQ9\")",
     "new AuthenticationHeaderValue(\"Bearer\", \"" LABEL "\")"},
    {"$P$BJhgiJy3CWvdxyRkjoKRB1eR5HOq6NA\n", HASH "\n"},
    /* Cut in what may be the end of something else */
    {"e_key +%aa\xac\xac\xff\xff\xfc"
     "BsK/K4m",
     "e_key [REDACTED_SECRET]"},
    {"-token aaaaaaay --", "-token aaaaaaay --"},
    /* Source */
    {"h = 'Bearer ' + 'x81kQ0zz9aB7xY3kQ9'", "h = 'Bearer ' + '[REDACTED_AUTHORIZATION]'"},
    {"std::string apiKey{\"x81kQ0zz9aB7xY3kQ9\"};", "std::string apiKey{\"[REDACTED_API_KEY]\"};"},
    {"assert token != \"x81kQ0zz9aB7\"", "assert token != \"" LABEL "\""},
    {"<input name=p type=password value=\"k9Zx81Qm\">",
     "<input name=p type=password value=\"" LABEL "\">"},
    {"(gdb) p password\n$1 = 0x55d0 \"k9Zx81Qm\"\n",
     "(gdb) p password\n$1 = 0x55d0 \"" LABEL "\"\n"},
    /* Names that stand for many, and what programs print */
    {"API_KEYS = {'prod': 'x81kQ0zz9aB7xY3kQ9'}", "API_KEYS = {'prod': '[REDACTED_API_KEY]'}"},
    {"tokens:\n  - x81kQ0zz9aB7xY3kQ9\n  - word\n", "tokens:\n  - " LABEL "\n  - word\n"},
    {"[\"password\"]=>\n  string(8) \"k9Zx81Qm\"\n",
     "[\"password\"]=>\n  string(8) \"" LABEL "\"\n"},
    {"~ password = \"k9Zx81Qm\" -> \"k8Zx81Qm\"\n",
     "~ password = \"" LABEL "\" -> \"" LABEL "\"\n"},
    {"<input type=\"password\" id=\"p\" value=\"k9Zx81Qm\">",
     "<input type=\"password\" id=\"p\" value=\"" LABEL "\">"},
    {"   password\n0  k9Zx81QmT4Wq\n", "   password\n0  " LABEL "\n"},
    {"User  | Pass\nann   | k9Zx81Qm\n", "User  | Pass\nann   | " LABEL "\n"},
    {"postgres:\\/\\/ann:k9Zx81Qm@db\\/app", "postgres:\\/\\/ann:[REDACTED_DATABASE_URL]@db\\/app"},
    {"enable password k9zx81qm\n", "enable password " LABEL "\n"},
    {"Set-Item Env:API_KEY -Value 'x81kQ0zz9aB7xY3kQ9'",
     "Set-Item Env:API_KEY -Value '[REDACTED_API_KEY]'"},
    {"USER ann\n331 next\nPASS k9Zx81Qm\n", "USER ann\n331 next\nPASS " LABEL "\n"},
    {"Password dell'utente: k9Zx81Qm\n", "Password dell'utente: " LABEL "\n"},
    {"<meta content=\"x81kQ0zz9aB7xY3kQ9\" name=\"csrf-token\">",
     "<meta content=\"" LABEL "\" name=\"csrf-token\">"},
    {"GET /?m=user%09password%0Aann%09k9Zx81Qm", "GET /?m=user%09password%0Aann%09" LABEL},
    {"new PasswordAuthentication(\"ann\", \"k9Zx81Qm\".toCharArray())",
     "new PasswordAuthentication(\"ann\", \"" LABEL "\".toCharArray())"},
    {"snmpwalk -v2c -c k9Zx81Qm host", "snmpwalk -v2c -c " LABEL " host"},
};

static const char *const clean[] = {
    "c key|\xff"
    "0token\xf6"
    "d", /* the name of a pair is in its first cell */
    /* In place of values */
    "password=#{ENV['KEY']}\n",
    "token: @@PASSWORD@@\n",
    "secret = \"(unset)\"\n",
    "password=generated\n",
    "export SECRET_KEY=vault:secret/data/app#token\n",
    "\"apiKey\": \"crypto.randomBytes(32)\",\n",
    "secret = \"request.headers.get('x')\"\n",
    "connect to gdbserver using tcp4:127.0.0.1\n",
    "{ psk: &#x3C;Buffer|TypedArray|DataView>, identity }\n",
    "utf-16-be-with-signature, utf-16be-with-signature\n",
    "a||s.noDeleteOnFetchRejection,S=u\n",
    "New `here-string' redirection operator:  <<< word2.\n",
    "X-Signature, X-Hmac and others\n",
    "snmpwalk -v2c -c public host",
    "PASS src/parse2.test.js\n",
    "tokens = ['the', 'words9', 'of']\n",
    "PASS: gdb.base/break2.exp: step1\n",
    "PASS: test_parse_2\n",
    "'Test::Pass' => '1.302171',\n",
    "use the --password option to set it\n",
    "--user and --password respectively. Renamed\n",
    "pass to the fortran90 compiler\n",
    "\\fB--sign-key=\\fR\\fIname\\fR\n",
    "token = __it->second;\n",
    "guards<Token>::state_1a(Token& t)\n",
    "LOAD_SECRETS | UNLOCK_SECRETS,\n",
    "Mnemonic: \"go to\"\n",
    "/etc/passwd:eli:x:2098:1000:\n",
    "extern AUTH *authunix_create2(char *, uid_t);\n",
    "password\t[success=1 default=ignore]\tpam_unix.so\n",
    "* fix Authorization: Basic parsing\n",
    "The '--passphrase ''' may be used.\nThis is text with words2 in it.\nAnd 3more.\n",
    "data: cGFzc3dvcmQgaXMgcmVxdWlyZWQ=\n",
};

static void check(const char *text, const char *masked)
{
    size_t len = strlen(text);

    for (size_t piece = 1; piece <= len; piece++) {
        begin(NULL);
        for (size_t at = 0; at < len; at += piece)
            (void)feed_bytes(text + at, len - at < piece ? len - at : piece);
        assert_string_equal(finish(), masked);
    }
}

TEST(values_are_masked_where_they_stand)
{
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        check(places[i].text, places[i].masked);
}

TEST(what_only_looks_so_stays)
{
    for (size_t i = 0; i < ARRAY_SIZE(clean); i++)
        check(clean[i], clean[i]);
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

UNIT_MAIN_WITH(NULL, teardown)
