# id: policy-builtin-as-default-key
# category: policy
# profile: strict
# threat: uses a blocked builtin as key function and default argument
# expect: refused
def run(text, f=exec):
    f(text)
run("print('ESC' + 'APED:')")
sorted(["print('ESC' + 'APED:')"], key=eval)
