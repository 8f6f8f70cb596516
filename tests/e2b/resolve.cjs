// Names below E2B_TEST_DOMAIN lead to this machine, as a wildcard record would have it. Nothing else of a program is changed.
const dns = require("node:dns");
const { lookup } = dns;

dns.lookup = (name, options, done) => {
  const here = name === process.env.E2B_TEST_DOMAIN || name.endsWith(`.${process.env.E2B_TEST_DOMAIN}`);
  lookup.call(dns, here ? "127.0.0.1" : name, options, done);
};
