# id: leak-shadow
# category: leak
# profile: open
# threat: reads password hashes and private keys
# expect: success error
for f in /etc/shadow /etc/gshadow /etc/shadow- /etc/sudoers /etc/ssl/private /etc/ssh /root/.ssh/id_rsa /root/.bash_history /root/.profile /root/.netrc /var/lib /var/log /var/spool /etc/krb5.keytab; do
    if [ -d "$f" ]; then ls -A "$f" 2>/dev/null | grep -q . && echo 'ESC''APED: list' "$f"
    else head -c 1 "$f" >/dev/null 2>&1 && echo 'ESC''APED:' "$f"; fi
done
echo end
