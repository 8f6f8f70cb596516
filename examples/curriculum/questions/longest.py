# What is the longest way through the course?
import code_helpers
import networkx

graph = code_helpers.analyze_graph()
print(" > ".join(graph.nodes[n]["title"] for n in networkx.dag_longest_path(graph)))
