# id: resource-output-flood
# category: resource
# profile: open
# threat: floods standard output
# expect: success
# limits: timeout=10 output=65536
yes | head -c 50000000
