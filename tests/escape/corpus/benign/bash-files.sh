# id: benign-bash-files
# category: benign
# profile: open
# threat: none: files, loops, here documents, process substitution
# expect: success
# require: 3 files
cd /workspace
for i in a b c; do echo "$i" > "$i.txt"; done
cat <<END
$(ls *.txt | wc -l) files
END
diff <(sort a.txt) <(cat a.txt) && mkdir -p d && mv a.txt d/ && tar cf x.tar d && tar tf x.tar
grep -r b . | head -1; awk 'BEGIN{print 2^10}'; find . -name '*.txt' | xargs wc -c | tail -1
