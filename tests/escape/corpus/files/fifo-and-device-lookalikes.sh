# id: files-fifo-and-device-lookalikes
# category: files
# profile: open
# threat: leaves pipes, sockets and links for whoever collects files afterwards
# expect: success error
cd /workspace && mkfifo out.csv && ln -s @CANARY_FILE@ result.txt && ln -s /proc/self/mem core && ln -s . loop
python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen()' 2>/dev/null
ls; echo end
