# A whole computer in a box: Bash, pipes, files, processes, and nothing of yours.
echo "who:       uid $(id -u) on host '$(uname -n)'"
echo "where:     $PWD, with $(ls -A ~ /root /mnt 2>/dev/null | grep -c '^[^/]') files of yours in sight"
echo "processes: $(ls -d /proc/[0-9]* | wc -l) in sight"
seq 1 100000 | awk '{ sum += $1 } END { printf "pipes:     the sum is %.0f\n", sum }'
echo "written inside, gone afterwards" >note.txt && echo "files:     $(cat note.txt)"
(cat /etc/shadow) 2>/dev/null || echo "shadow:    out of reach"
(exec 3<>/dev/tcp/192.0.2.1/80) 2>/dev/null || echo "network:   there is none"
