#include "mask/kinds.h"

#include <stddef.h>

/* Classes that come up in every other row. */
#define W  "[0-9A-Za-z]"   /* base 62 */
#define U  "[0-9A-Za-z_-]" /* base64 for URLs */
#define B  "[0-9A-Za-z+/]" /* base64 */
#define X  "[0-9a-f]"      /* hexadecimal */
#define XX "[0-9A-Fa-f]"

#define TOKEN(name, label, pattern, check, flags)                                                  \
    {                                                                                              \
        name, label, MASKER_TOKEN, check, flags, pattern, NULL                                     \
    }
#define NEAR(name, label, pattern, check, flags, context)                                          \
    {                                                                                              \
        name, label, MASKER_TOKEN, check, flags, pattern, context                                  \
    }
#define PLACE(name, label, matcher, pattern, flags)                                                \
    {                                                                                              \
        name, label, matcher, MASKER_ANY, flags, pattern, NULL                                     \
    }
#define NAMED(pattern, flags)                                                                      \
    PLACE("generic_secret", "[REDACTED_SECRET]", MASKER_NAME, pattern, MASKER_GENERIC | (flags))

#define EXACT  MASKER_EXACT
#define INSIDE MASKER_INSIDE

/* clang-format off */
const struct masker_kind masker_kinds[] = {
    /* Clouds */
    {"aws_key", "[REDACTED_AWS_KEY]", MASKER_AWS, MASKER_ANY, EXACT, "A[BKS]IA[A-Z0-9]{16}", NULL},
    TOKEN("google_api_key", "[REDACTED_GOOGLE_API_KEY]", "AIza" U "{35}", MASKER_MIXED, EXACT),
    TOKEN("google_oauth_secret", "[REDACTED_GOOGLE_OAUTH_SECRET]", "GOCSPX-" U "{20,}", MASKER_ANY, INSIDE),
    TOKEN("google_oauth_token", "[REDACTED_GOOGLE_OAUTH_TOKEN]", "ya29\\.[0-9A-Za-z_.-]{20,}", MASKER_MIXED, 0),
    TOKEN("google_refresh_token", "[REDACTED_GOOGLE_OAUTH_TOKEN]", "1//0" U "{24,}", MASKER_MIXED, 0),
    TOKEN("azure_client_secret", "[REDACTED_AZURE_SECRET]", "[0-9A-Za-z][0-9A-Za-z_~.-]{2}[78]Q~[0-9A-Za-z_~.-]{31,40}", MASKER_ANY, 0),
    TOKEN("alibaba_key", "[REDACTED_ALIBABA_KEY]", "LTAI" W "{12,24}", MASKER_MIXED, EXACT),
    TOKEN("tencent_key", "[REDACTED_TENCENT_KEY]", "AKID" W "{32}", MASKER_MIXED, EXACT),
    TOKEN("yandex_token", "[REDACTED_YANDEX_TOKEN]", "AQVN" U "{35,38}", MASKER_MIXED, EXACT),
    TOKEN("yandex_token", "[REDACTED_YANDEX_TOKEN]", "y0_" U "{50,}", MASKER_MIXED, 0),
    TOKEN("digitalocean_token", "[REDACTED_DIGITALOCEAN_TOKEN]", "do[oprt]_v1_" X "{64}", MASKER_ANY, INSIDE),
    TOKEN("heroku_key", "[REDACTED_HEROKU_KEY]", "HRKU-" U "{20,}", MASKER_MIXED, INSIDE),
    PLACE("heroku_key", "[REDACTED_HEROKU_KEY]", MASKER_NEAR, "heroku", MASKER_ANYCASE | MASKER_GENERIC),
    TOKEN("cloudflare_origin_key", "[REDACTED_CLOUDFLARE_KEY]", "v1\\.0-" X "{24}-" X "{146}", MASKER_ANY, 0),
    TOKEN("fly_token", "[REDACTED_FLY_TOKEN]", "FlyV1 [0-9A-Za-z_,+/=-]{40,}", MASKER_ANY, 0),
    TOKEN("fly_token", "[REDACTED_FLY_TOKEN]", "fo1_" U "{40,}", MASKER_MIXED, 0),
    TOKEN("netlify_token", "[REDACTED_NETLIFY_TOKEN]", "nfp_" W "{36,}", MASKER_MIXED, 0),
    TOKEN("vercel_token", "[REDACTED_VERCEL_TOKEN]", "vc[apk]_" W "{24,}", MASKER_MIXED, 0),
    TOKEN("tailscale_key", "[REDACTED_TAILSCALE_KEY]", "tskey-[a-z]{3,9}-[0-9A-Za-z-]{20,}", MASKER_MIXED, 0),
    TOKEN("scalingo_token", "[REDACTED_SCALINGO_TOKEN]", "tk-us-" U "{40,}", MASKER_MIXED, 0),
    TOKEN("openshift_token", "[REDACTED_OPENSHIFT_TOKEN]", "sha256~" U "{43}", MASKER_MIXED, 0),

    /* Code hosting */
    TOKEN("github_token", "[REDACTED_GITHUB_TOKEN]", "gh[oprsu]_" W "{36,}", MASKER_CRC32, INSIDE),
    TOKEN("github_token", "[REDACTED_GITHUB_TOKEN]", "github_pat_[0-9A-Za-z_]{36,}", MASKER_ANY, INSIDE),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "glpat-[0-9A-Za-z_.-]{20,}", MASKER_NOT_WORDS, INSIDE),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "gl[dfr]t-[0-9A-Za-z_.-]{20,}", MASKER_NOT_WORDS, 0),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "glptt-[0-9A-Za-z_.-]{20,}", MASKER_NOT_WORDS, 0),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "glrtr-[0-9A-Za-z_.-]{20,}", MASKER_NOT_WORDS, 0),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "gl[ci][bm]t-[0-9A-Za-z_.-]{20,}", MASKER_NOT_WORDS, 0),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "gl[os]oa[st]-[0-9A-Za-z_.-]{20,}", MASKER_NOT_WORDS, 0),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "gloas-[0-9A-Za-z_.-]{20,}", MASKER_NOT_WORDS, 0),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "glagent-[0-9A-Za-z_.-]{20,}", MASKER_NOT_WORDS, 0),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "glffct-[0-9A-Za-z_.-]{20,}", MASKER_NOT_WORDS, 0),
    TOKEN("gitlab_token", "[REDACTED_GITLAB_TOKEN]", "GR1348941" U "{20,}", MASKER_ANY, 0),
    TOKEN("bitbucket_token", "[REDACTED_BITBUCKET_TOKEN]", "AT[BC]B" W "{24,}", MASKER_MIXED, 0),
    TOKEN("npm_token", "[REDACTED_NPM_TOKEN]", "npm_" W "{36}", MASKER_CRC32, 0),
    TOKEN("pypi_token", "[REDACTED_PYPI_TOKEN]", "pypi-Ag[EE][A-Za-z0-9_-]{40,}", MASKER_MIXED, INSIDE),
    TOKEN("rubygems_token", "[REDACTED_RUBYGEMS_TOKEN]", "rubygems_" X "{48}", MASKER_ANY, 0),
    TOKEN("nuget_key", "[REDACTED_NUGET_KEY]", "oy2[a-z0-9]{43}", MASKER_MIXED, EXACT),
    TOKEN("clojars_token", "[REDACTED_CLOJARS_TOKEN]", "CLOJARS_[0-9A-Za-z]{60}", MASKER_ANY, 0),
    TOKEN("artifactory_key", "[REDACTED_ARTIFACTORY_KEY]", "AKC[0-9p]" W "{60,}", MASKER_MIXED, 0),
    TOKEN("artifactory_key", "[REDACTED_ARTIFACTORY_KEY]", "cmVmdGtuO" W "{50,}", MASKER_MIXED, 0),
    TOKEN("dockerhub_token", "[REDACTED_DOCKER_TOKEN]", "dckr_[op]at_" U "{20,}", MASKER_ANY, INSIDE),
    TOKEN("sonarqube_token", "[REDACTED_SONARQUBE_TOKEN]", "sq[apu]_" X "{40}", MASKER_ANY, 0),
    TOKEN("buildkite_token", "[REDACTED_BUILDKITE_TOKEN]", "bkua_" X "{40}", MASKER_ANY, 0),
    TOKEN("circleci_token", "[REDACTED_CIRCLECI_TOKEN]", "CCI[PR][AR][TJ]_" W "{20,}_" W "{20,}", MASKER_ANY, 0),

    /* Models */
    TOKEN("anthropic_key", "[REDACTED_ANTHROPIC_KEY]", "sk-ant-" U "{20,}", MASKER_NOT_WORDS, INSIDE),
    TOKEN("openai_key", "[REDACTED_OPENAI_KEY]", "sk-proj-" U "{20,}", MASKER_NOT_WORDS, INSIDE),
    TOKEN("openai_key", "[REDACTED_OPENAI_KEY]", "sk-svcacct-" U "{20,}", MASKER_NOT_WORDS, INSIDE),
    TOKEN("openai_key", "[REDACTED_OPENAI_KEY]", "sk-admin-" U "{20,}", MASKER_NOT_WORDS, INSIDE),
    TOKEN("openrouter_key", "[REDACTED_OPENROUTER_KEY]", "sk-or-v1-" X "{40,}", MASKER_ANY, INSIDE),
    TOKEN("openai_key", "[REDACTED_OPENAI_KEY]", "sk-" W "[0-9A-Za-z_-]{19,}", MASKER_OPENAI, 0),
    TOKEN("huggingface_token", "[REDACTED_HUGGINGFACE_TOKEN]", "hf_" W "{30,}", MASKER_NOT_WORDS, 0),
    TOKEN("huggingface_token", "[REDACTED_HUGGINGFACE_TOKEN]", "api_org_" W "{34}", MASKER_NOT_WORDS, 0),
    TOKEN("groq_key", "[REDACTED_GROQ_KEY]", "gsk_" W "{40,}", MASKER_MIXED, 0),
    TOKEN("replicate_token", "[REDACTED_REPLICATE_TOKEN]", "r8_" W "{32,}", MASKER_MIXED, 0),
    TOKEN("xai_key", "[REDACTED_XAI_KEY]", "xai-" W "{40,}", MASKER_MIXED, 0),
    TOKEN("perplexity_key", "[REDACTED_PERPLEXITY_KEY]", "pplx-" W "{40,}", MASKER_MIXED, 0),
    TOKEN("langsmith_key", "[REDACTED_LANGSMITH_KEY]", "lsv2_[ps][tk]_" X "{32}_" X "{10}", MASKER_ANY, 0),
    TOKEN("pinecone_key", "[REDACTED_PINECONE_KEY]", "pcsk_[0-9A-Za-z_]{40,}", MASKER_MIXED, 0),
    TOKEN("elevenlabs_key", "[REDACTED_ELEVENLABS_KEY]", "sk_" X "{48}", MASKER_ANY, EXACT),
    TOKEN("nvidia_key", "[REDACTED_NVIDIA_KEY]", "nvapi-" U "{40,}", MASKER_MIXED, 0),

    /* People talking to each other */
    TOKEN("slack_token", "[REDACTED_SLACK_TOKEN]", "xox[abceoprs]-[0-9A-Za-z-]{10,}", MASKER_NOT_WORDS, INSIDE),
    TOKEN("slack_token", "[REDACTED_SLACK_TOKEN]", "xox[abceoprs]\\.[0-9A-Za-z.-]{20,}", MASKER_NOT_WORDS, 0),
    TOKEN("slack_token", "[REDACTED_SLACK_TOKEN]", "xapp-[0-9A-Za-z-]{10,}", MASKER_NOT_WORDS, INSIDE),
    TOKEN("slack_webhook", "[REDACTED_SLACK_WEBHOOK]", "hooks\\.slack\\.com/[a-z]{7,9}/([0-9A-Za-z]{6,14}/[0-9A-Za-z]{6,40}/?[0-9A-Za-z]{8,64})", MASKER_ANY, INSIDE),
    TOKEN("discord_token", "[REDACTED_DISCORD_TOKEN]", "[MNO][DTjz][AEIMQUYcgk][w-z0-5][MNO][DTjz][AEIMQUYcgk][w-z0-5]" U "{12,24}\\." U "{5,8}\\." U "{25,40}", MASKER_SNOWFLAKE, 0),
    TOKEN("discord_webhook", "[REDACTED_DISCORD_WEBHOOK]", "/api/webhooks/[0-9]{16,20}/(" U "{40,})", MASKER_ANY, INSIDE),
    TOKEN("teams_webhook", "[REDACTED_TEAMS_WEBHOOK]", "\\.office\\.com/webhook[0-9a-z]{0,2}/([0-9a-f@-]{36,80}/[A-Za-z]{8,20}/[0-9a-f]{32}/[0-9a-fA-F-]{36})", MASKER_ANY, INSIDE),
    TOKEN("telegram_token", "[REDACTED_TELEGRAM_TOKEN]", "[0-9]{8,10}:AA" U "{32,34}", MASKER_ANY, EXACT),
    TOKEN("twilio_key", "[REDACTED_TWILIO_KEY]", "SK" X "{32}", MASKER_ANY, EXACT),
    TOKEN("sendgrid_key", "[REDACTED_SENDGRID_KEY]", "SG\\." U "{16,32}\\." U "{16,64}", MASKER_MIXED, 0),
    TOKEN("mailgun_key", "[REDACTED_MAILGUN_KEY]", "key-" X "{32}", MASKER_ANY, EXACT),
    TOKEN("mailchimp_key", "[REDACTED_MAILCHIMP_KEY]", X "{32}-us[0-9]{1,2}", MASKER_ANY, EXACT),
    TOKEN("brevo_key", "[REDACTED_BREVO_KEY]", "xkeysib-" X "{64}-" W "{16}", MASKER_ANY, INSIDE),
    TOKEN("brevo_key", "[REDACTED_BREVO_KEY]", "xsmtpsib-" X "{64}-" W "{16}", MASKER_ANY, INSIDE),
    TOKEN("postmark_or_mailersend_key", "[REDACTED_MAIL_KEY]", "mlsn\\." X "{60,}", MASKER_ANY, 0),
    TOKEN("resend_key", "[REDACTED_RESEND_KEY]", "re_[0-9A-Za-z]{8}_[0-9A-Za-z]{24}", MASKER_MIXED, EXACT),

    /* Money and shops */
    TOKEN("stripe_key", "[REDACTED_STRIPE_KEY]", "[rs]k_live_" W "{10,}", MASKER_ANY, INSIDE),
    TOKEN("stripe_key", "[REDACTED_STRIPE_KEY]", "[rs]k_test_" W "{10,}", MASKER_ANY, INSIDE),
    TOKEN("stripe_key", "[REDACTED_STRIPE_KEY]", "[rs]k_prod_" W "{10,}", MASKER_ANY, INSIDE),
    TOKEN("stripe_key", "[REDACTED_STRIPE_KEY]", "pk_live_" W "{10,}", MASKER_ANY, MASKER_AGGRESSIVE), /* meant for browsers */
    TOKEN("stripe_key", "[REDACTED_STRIPE_KEY]", "whsec_[0-9A-Za-z+/=]{24,}", MASKER_ANY, 0),
    TOKEN("square_token", "[REDACTED_SQUARE_TOKEN]", "sq0[a-z]{3}-" U "{22,}", MASKER_ANY, 0),
    TOKEN("square_token", "[REDACTED_SQUARE_TOKEN]", "EAAA" U "{60}", MASKER_MIXED, EXACT),
    TOKEN("shopify_token", "[REDACTED_SHOPIFY_TOKEN]", "shp[acps][ats]_" XX "{32}", MASKER_ANY, INSIDE),
    TOKEN("razorpay_key", "[REDACTED_RAZORPAY_KEY]", "rzp_[a-z]{4}_" W "{14,}", MASKER_MIXED, 0),
    TOKEN("flutterwave_key", "[REDACTED_FLUTTERWAVE_KEY]", "FLWSECK[A-Z_]{0,5}-" XX "{12,32}-X", MASKER_ANY, 0),
    TOKEN("paypal_token", "[REDACTED_PAYPAL_TOKEN]", "access_token\\$[a-z]{4,10}\\$([0-9a-z]{16}\\$[0-9a-f]{32})", MASKER_ANY, 0),
    TOKEN("easypost_key", "[REDACTED_EASYPOST_KEY]", "EZ[AT]K" W "{54}", MASKER_ANY, 0),
    TOKEN("shippo_token", "[REDACTED_SHIPPO_TOKEN]", "shippo_[a-z]{4}_" X "{40}", MASKER_ANY, 0),
    TOKEN("duffel_token", "[REDACTED_DUFFEL_TOKEN]", "duffel_[a-z]{4}_" U "{40,}", MASKER_ANY, 0),
    TOKEN("plaid_token", "[REDACTED_PLAID_TOKEN]", "access-[a-z]{7,11}-" XX "{8}-" XX "{4}-" XX "{4}-" XX "{4}-" XX "{12}", MASKER_ANY, 0),

    /* Tools of the trade */
    TOKEN("databricks_token", "[REDACTED_DATABRICKS_TOKEN]", "dapi" X "{32}", MASKER_MIXED, EXACT),
    TOKEN("databricks_token", "[REDACTED_DATABRICKS_TOKEN]", "dose" X "{32}", MASKER_MIXED, EXACT),
    TOKEN("vault_token", "[REDACTED_VAULT_TOKEN]", "hv[brs]\\." U "{20,}", MASKER_NOT_WORDS, 0),
    NEAR("vault_token", "[REDACTED_VAULT_TOKEN]", "s\\." W "{24}", MASKER_MIXED, EXACT, "vault"),
    TOKEN("terraform_token", "[REDACTED_TERRAFORM_TOKEN]", W "{14}\\.atlasv1\\." U "{60,}", MASKER_ANY, 0),
    TOKEN("pulumi_token", "[REDACTED_PULUMI_TOKEN]", "pul-" X "{40}", MASKER_ANY, EXACT),
    TOKEN("doppler_token", "[REDACTED_DOPPLER_TOKEN]", "dp\\.[a-z]{2,5}\\.[0-9A-Za-z_.-]{40,}", MASKER_MIXED, 0),
    TOKEN("onepassword_token", "[REDACTED_1PASSWORD_TOKEN]", "ops_eyJ" U "{100,}", MASKER_ANY, 0),
    TOKEN("onepassword_key", "[REDACTED_1PASSWORD_KEY]", "A3-[A-Z0-9]{6}-[A-Z0-9]{11}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}", MASKER_ANY, 0),
    TOKEN("grafana_token", "[REDACTED_GRAFANA_TOKEN]", "glsa_" W "{32}_" XX "{8}", MASKER_ANY, 0),
    TOKEN("grafana_token", "[REDACTED_GRAFANA_TOKEN]", "glc_[0-9A-Za-z+/=_-]{32,}", MASKER_MIXED, 0),
    TOKEN("grafana_token", "[REDACTED_GRAFANA_TOKEN]", "eyJrIjoi[0-9A-Za-z+/=_-]{40,}", MASKER_ANY, 0),
    TOKEN("newrelic_key", "[REDACTED_NEWRELIC_KEY]", "NR[AI][KILQ]-" U "{26,}", MASKER_ANY, 0),
    TOKEN("newrelic_key", "[REDACTED_NEWRELIC_KEY]", "NRJS-" XX "{19}", MASKER_ANY, 0),
    TOKEN("dynatrace_token", "[REDACTED_DYNATRACE_TOKEN]", "dt0[a-z][0-9]{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}", MASKER_ANY, 0),
    TOKEN("sentry_token", "[REDACTED_SENTRY_TOKEN]", "sntry[su]_[0-9A-Za-z_+/=]{40,}", MASKER_ANY, 0),
    TOKEN("posthog_key", "[REDACTED_POSTHOG_KEY]", "ph[sx]_" W "{40,}", MASKER_MIXED, 0),
    TOKEN("launchdarkly_key", "[REDACTED_LAUNCHDARKLY_KEY]", "sdk-" X "{8}-" X "{4}-" X "{4}-" X "{4}-" X "{12}", MASKER_ANY, 0),
    TOKEN("linear_key", "[REDACTED_LINEAR_KEY]", "lin_api_" W "{30,}", MASKER_ANY, INSIDE),
    TOKEN("linear_key", "[REDACTED_LINEAR_KEY]", "lin_oauth_" W "{30,}", MASKER_ANY, INSIDE),
    TOKEN("atlassian_token", "[REDACTED_ATLASSIAN_TOKEN]", "AT[AC]TT3[0-9A-Za-z_=-]{40,}", MASKER_ANY, INSIDE),
    TOKEN("notion_token", "[REDACTED_NOTION_TOKEN]", "secret_" W "{43}", MASKER_MIXED, EXACT),
    TOKEN("notion_token", "[REDACTED_NOTION_TOKEN]", "ntn_" W "{40,}", MASKER_MIXED, 0),
    TOKEN("airtable_token", "[REDACTED_AIRTABLE_TOKEN]", "pat" W "{14}\\." X "{64}", MASKER_ANY, 0),
    TOKEN("figma_token", "[REDACTED_FIGMA_TOKEN]", "fig[duo]_" U "{36,}", MASKER_MIXED, 0),
    TOKEN("postman_key", "[REDACTED_POSTMAN_KEY]", "PMAK-" X "{24}-" X "{34}", MASKER_ANY, 0),
    TOKEN("contentful_token", "[REDACTED_CONTENTFUL_TOKEN]", "CFPAT-" U "{43}", MASKER_ANY, 0),
    TOKEN("supabase_key", "[REDACTED_SUPABASE_KEY]", "sbp_" X "{40}", MASKER_ANY, 0),
    TOKEN("supabase_key", "[REDACTED_SUPABASE_KEY]", "sb_secret_" U "{20,}", MASKER_MIXED, 0),
    TOKEN("planetscale_key", "[REDACTED_PLANETSCALE_KEY]", "pscale_[a-z]{2,5}_[0-9A-Za-z_.=-]{32,}", MASKER_ANY, 0),
    TOKEN("typeform_token", "[REDACTED_TYPEFORM_TOKEN]", "tfp_[0-9A-Za-z_.=-]{40,}", MASKER_MIXED, 0),
    TOKEN("wakatime_key", "[REDACTED_WAKATIME_KEY]", "waka_" X "{8}-" X "{4}-" X "{4}-" X "{4}-" X "{12}", MASKER_ANY, 0),
    TOKEN("readme_key", "[REDACTED_README_KEY]", "rdme_[0-9a-z]{70}", MASKER_ANY, 0),
    TOKEN("prefect_key", "[REDACTED_PREFECT_KEY]", "pn[bu]_" W "{36}", MASKER_MIXED, 0),
    TOKEN("mapbox_token", "[REDACTED_MAPBOX_TOKEN]", "sk\\.eyJ" U "{20,}\\." U "{16,}", MASKER_ANY, 0),
    TOKEN("facebook_token", "[REDACTED_FACEBOOK_TOKEN]", "EAA[A-Za-z0-9]{80,}", MASKER_MIXED, 0),
    TOKEN("age_key", "[REDACTED_AGE_KEY]", "AGE-SECRET-KEY-1[0-9A-Z]{58}", MASKER_BECH32, INSIDE),
    TOKEN("infracost_key", "[REDACTED_INFRACOST_KEY]", "ico-" W "{32}", MASKER_MIXED, EXACT),
    TOKEN("frameio_token", "[REDACTED_FRAMEIO_TOKEN]", "fio-u-" U "{64}", MASKER_ANY, 0),
    TOKEN("adobe_secret", "[REDACTED_ADOBE_SECRET]", "p8e-" W "{32}", MASKER_ANY, EXACT),
    TOKEN("octopus_key", "[REDACTED_OCTOPUS_KEY]", "API-[A-Z0-9]{25,33}", MASKER_MIXED, EXACT),

    /* Of every system */
    TOKEN("jwt_token", "[JWT_REDACTED]", "ey[JK]" U "{8,4000}\\." U "{4,8000}\\.[0-9A-Za-z_.-]{0,4000}", MASKER_JWT, 0),
    PLACE("private_key", "[REDACTED_PRIVATE_KEY]", MASKER_PEM, "-----BEGIN ", INSIDE),
    PLACE("private_key", "[REDACTED_PRIVATE_KEY]", MASKER_PEM, "Private-Lines: ", INSIDE),
    TOKEN("private_key_id", "[REDACTED_PRIVATE_KEY_ID]", "private_key_id[\\\\\"': ]{1,8}(" X "{40})", MASKER_ANY, EXACT),
    PLACE("database_url", "[REDACTED_DATABASE_URL]", MASKER_URL, "://", MASKER_GENERIC),
    PLACE("url_password", "[REDACTED_PASSWORD]", MASKER_URL, "://", MASKER_GENERIC),
    PLACE("url_secret", "[REDACTED_SECRET]", MASKER_QUERY, "[?&;]key=", MASKER_ANYCASE | MASKER_GENERIC),
    PLACE("url_secret", "[REDACTED_SECRET]", MASKER_QUERY, "[?&;]sig=", MASKER_ANYCASE | MASKER_GENERIC),
    PLACE("url_secret", "[REDACTED_SECRET]", MASKER_QUERY, "-signature=", MASKER_ANYCASE | MASKER_GENERIC),
    PLACE("url_secret", "[REDACTED_SECRET]", MASKER_QUERY, "[?&;]signature=", MASKER_ANYCASE | MASKER_GENERIC),
    PLACE("auth_header", "[REDACTED_AUTHORIZATION]", MASKER_HEADER, "authorization", MASKER_ANYCASE | MASKER_GENERIC),
    PLACE("auth_header", "[REDACTED_AUTHORIZATION]", MASKER_SCHEME, "bearer ", MASKER_ANYCASE | MASKER_GENERIC),
    PLACE("auth_header", "[REDACTED_AUTHORIZATION]", MASKER_SCHEME, "basic ", MASKER_ANYCASE | MASKER_GENERIC),
    PLACE("cookie", "[REDACTED_COOKIE]", MASKER_COOKIE, "cookie", MASKER_ANYCASE | MASKER_GENERIC),
    PLACE("login", "[REDACTED_SECRET]", MASKER_LOGIN, " -u ", MASKER_GENERIC),
    PLACE("login", "[REDACTED_SECRET]", MASKER_LOGIN, " --user ", MASKER_GENERIC),
    PLACE("login", "[REDACTED_SECRET]", MASKER_LOGIN, ":5432:", MASKER_GENERIC),
    PLACE("kubernetes_secret", "[REDACTED_SECRET]", MASKER_MANIFEST, "data[\"':]", MASKER_ANYCASE | MASKER_GENERIC),

    /* Words that name secrets; what is assigned to them. */
    PLACE("api_key", "[REDACTED_API_KEY]", MASKER_NAME, "api[_ -]key", MASKER_ANYCASE | MASKER_GENERIC),
    PLACE("api_key", "[REDACTED_API_KEY]", MASKER_NAME, "apikey", MASKER_ANYCASE | MASKER_GENERIC),
    NAMED("passw", MASKER_ANYCASE),
    NAMED("passphrase", MASKER_ANYCASE),
    NAMED("passcode", MASKER_ANYCASE),
    NAMED("pass[^A-Za-z]", MASKER_ANYCASE),
    NAMED("pwd", MASKER_ANYCASE),
    NAMED("secret", MASKER_ANYCASE),
    NAMED("token", MASKER_ANYCASE),
    NAMED("credential", MASKER_ANYCASE),
    NAMED("auth[^A-Za-z]", MASKER_ANYCASE),
    NAMED("[_-]key", MASKER_ANYCASE),
    NAMED("[a-z]Key[^A-Za-z]", 0),
    NAMED("accesskey", MASKER_ANYCASE),
    NAMED("key-data", MASKER_ANYCASE),
    NAMED("sess[^A-Za-z]", MASKER_ANYCASE),
    NAMED("sessid", MASKER_ANYCASE),
    NAMED("sessionid", MASKER_ANYCASE),
    NAMED("session[_-]id", MASKER_ANYCASE),
    NAMED("mnemonic", MASKER_ANYCASE),
    NAMED("seed[_ -]phrase", MASKER_ANYCASE),

    /* Personal data */
    PLACE("email", "[EMAIL_REDACTED]", MASKER_EMAIL, "[0-9A-Za-z._%+'-]{1,64}@[0-9A-Za-z]", MASKER_AGGRESSIVE),
    PLACE("phone", "[PHONE_REDACTED]", MASKER_PHONE, "\\+[0-9(]", MASKER_AGGRESSIVE),
    PLACE("phone", "[PHONE_REDACTED]", MASKER_PHONE, "\\([0-9]{3}\\)", MASKER_AGGRESSIVE),
    PLACE("phone", "[PHONE_REDACTED]", MASKER_PHONE, "[0-9]{3}[ .-][0-9]{3}[ .-][0-9]{2}", MASKER_AGGRESSIVE),
    PLACE("phone", "[PHONE_REDACTED]", MASKER_PHONE, "0[0-9]{3}[ .-][0-9]{3}", MASKER_AGGRESSIVE),
    PLACE("phone", "[PHONE_REDACTED]", MASKER_PHONE, "0[0-9][ .-][0-9]{2}", MASKER_AGGRESSIVE),
    PLACE("phone", "[PHONE_REDACTED]", MASKER_PHONE, "0[0-9]{2}[ .-][0-9]{4}", MASKER_AGGRESSIVE),
    PLACE("ssn", "[SSN_REDACTED]", MASKER_DIGITS, "[0-9]{3}-[0-9]{2}-[0-9]{4}", MASKER_AGGRESSIVE),
    PLACE("credit_card", "[CARD_REDACTED]", MASKER_DIGITS, "[2-6][0-9]{3}[0-9 -][0-9]{4}", MASKER_AGGRESSIVE),
    PLACE("iban", "[IBAN_REDACTED]", MASKER_IBAN, "[A-Z]{2}[0-9]{2}[0-9A-Z ][0-9A-Z]{3}", MASKER_AGGRESSIVE),
    PLACE("ip_address", "[IP_REDACTED]", MASKER_IPV4, "[0-9]{1,3}\\.[0-9]", MASKER_AGGRESSIVE),
    PLACE("ip_address", "[IP_REDACTED]", MASKER_IPV6, "[0-9A-Fa-f]{1,4}:[0-9A-Fa-f:]", MASKER_AGGRESSIVE),
    PLACE("ip_address", "[IP_REDACTED]", MASKER_IPV6, "::[0-9A-Fa-f]", MASKER_AGGRESSIVE),
};
/* clang-format on */

const unsigned masker_kind_count = sizeof(masker_kinds) / sizeof(masker_kinds[0]);
