# Which nodes lead nowhere and are led to by nothing?
import code_helpers

graph = code_helpers.analyze_graph()
print([graph.nodes[n]["title"] for n in graph if graph.degree(n) == 0])
