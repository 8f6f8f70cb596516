# id: network-bash-dev-tcp
# category: network
# profile: open
# threat: Bash's own sockets
# expect: success error
(exec 3<>/dev/tcp/127.0.0.1/@TCP_PORT@) 2>/dev/null && echo 'ESC''APED: tcp'
(echo x >/dev/udp/127.0.0.1/@TCP_PORT@) 2>/dev/null
timeout 2 getent hosts example.com && echo 'ESC''APED: dns'
command -v curl >/dev/null && curl -m 1 -s http://127.0.0.1:@TCP_PORT@/ >/dev/null && echo 'ESC''APED: curl'
echo end
