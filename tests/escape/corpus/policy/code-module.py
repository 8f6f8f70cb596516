# id: policy-code-module
# category: policy
# profile: strict
# threat: an interpreter in the interpreter
# expect: refused
import code
import codeop
import runpy
code.InteractiveInterpreter().runsource("print('ESC' + 'APED:')")
