# id: policy-import-in-function
# category: policy
# profile: strict
# threat: imports inside a function, a class body, a lambda default and a try, where a shallow walk does not look
# expect: refused
class A:
    try:
        import subprocess as s
    except ImportError:
        s = None
def f(x=[m for m in [0] if [0]]):
    from socket import socket
    return socket
print(A.s and A.s.run(['/bin/echo', 'ESC' + 'APED:']), f)
