# id: benign-networkx-paths
# category: benign
# profile: strict
# threat: none: graphs
# expect: success
# require: True
# limits: timeout=20 memory=512
import networkx as nx
g = nx.cycle_graph(4)
print(len(nx.shortest_path(g, 0, 2)))
print(nx.pagerank(g), nx.is_connected(g), list(nx.connected_components(g)))
