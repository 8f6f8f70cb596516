# id: policy-networkx-files
# category: policy
# profile: strict
# threat: reads and writes files through a graph library
# expect: refused error success
# limits: timeout=15 memory=512
import networkx as nx
for f in (lambda: nx.read_edgelist('/etc/passwd', delimiter=':'), lambda: nx.read_adjlist('@CANARY_FILE@').nodes,
          lambda: nx.write_adjlist(nx.path_graph(3), '@CANARY_DIR@/pwned') or 1):
    try:
        print('ESC' + 'APED:', f())
    except Exception as e:
        print(type(e).__name__)
