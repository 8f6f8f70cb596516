# id: policy-matplotlib-imread
# category: policy
# profile: strict
# threat: reads a file of the system as a picture or a style
# expect: refused error success
# limits: timeout=15 memory=512
import matplotlib.pyplot as plt
import matplotlib
for f in (lambda: plt.imread('@CANARY_FILE@'), lambda: plt.style.use('@CANARY_FILE@'),
          lambda: plt.imread('http://127.0.0.1:@TCP_PORT@/x.png'),
          lambda: matplotlib.cbook.get_sample_data('@CANARY_FILE@').read()):
    try:
        print('ESC' + 'APED:', f())
    except Exception as e:
        print(type(e).__name__)
