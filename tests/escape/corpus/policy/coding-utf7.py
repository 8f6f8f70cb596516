# -*- coding: utf-7 -*-
# id: policy-coding-utf7
# category: policy
# profile: strict
# threat: hides code in a comment that becomes code in another encoding
# expect: refused
# +AAo-import os+AAo-os.system('echo ESC""APED:')
x = 1
