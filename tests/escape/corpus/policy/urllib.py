# id: policy-urllib
# category: policy
# profile: strict
# threat: fetches a URL
# expect: refused
import urllib.request
urllib.request.urlopen('http://127.0.0.1:@TCP_PORT@/', timeout=1)
print('ESC' + 'APED:')
