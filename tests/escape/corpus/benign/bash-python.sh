# id: benign-bash-python
# category: benign
# profile: open
# threat: none: Bash calls Python
# expect: success
# require: 42
python3 -c 'print(6 * 7)'
echo '{"a": 1}' | python3 -m json.tool
