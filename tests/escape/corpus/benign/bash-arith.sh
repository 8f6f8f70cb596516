# id: benign-bash-arith
# category: benign
# profile: open
# threat: none: pipes and arithmetic
# expect: success
# require: 1+4+9 = sum
for i in 1 2 3; do echo $((i*i)); done | paste -sd+ | sed 's/$/ = sum/'
