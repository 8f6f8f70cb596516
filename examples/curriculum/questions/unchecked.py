# Which nodes have no quiz?
import code_helpers

for node in code_helpers.get_nodes():
    kinds = [part["component_type"] for part in code_helpers.get_node_content(node["node_id"])["components"]]
    if "quiz" not in kinds:
        print(node["title"])
