# What has to be known before derivatives?
import code_helpers
import networkx

graph = code_helpers.analyze_graph()
goal = next(n for n in graph if graph.nodes[n]["title"] == "Derivatives")
print(sorted(graph.nodes[n]["title"] for n in networkx.ancestors(graph, goal)))
