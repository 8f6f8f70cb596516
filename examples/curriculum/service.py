"""A small service with the nodes of a course and their relationships: what the helpers beside it ask.

    python3 service.py 8000        serves http://127.0.0.1:8000/session/course-7/…
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TITLES = ["Numbers", "Variables", "Equations", "Functions", "Limits", "Derivatives", "Integrals", "Sets", "Proofs", "History"]
LEADS = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (8, 9), (2, 4), (1, 8)]
NODES = [{"node_id": n, "title": t, "content_category": "theory" if n < 9 else "context", "session_id": "course-7"} for n, t in enumerate(TITLES, 1)]
RELATIONSHIPS = [{"from_node_id": a, "to_node_id": b, "relationship_type": "LEADS_TO", "explanation": ""} for a, b in LEADS]
KINDS = {1: ["text", "quiz"], 2: ["text"], 3: ["text", "quiz"], 4: ["text", "video"], 5: ["text", "quiz"], 6: ["text"], 7: ["quiz"], 8: ["text"], 9: ["text", "quiz"]}


def content(node_id):
    parts = [{"component_type": kind, "parameters": {}, "order_index": i, "confidence": 1.0} for i, kind in enumerate(KINDS.get(node_id, []))]
    return {"node_id": node_id, "components": parts}


def find(path):
    match path.strip("/").split("/"):
        case ["session", "course-7", "nodes"]:
            return NODES
        case ["session", "course-7", "relationships"]:
            return RELATIONSHIPS
        case ["session", "course-7", "nodes", number] if number.isdecimal() and 1 <= int(number) <= len(NODES):
            return content(int(number))
    return None


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        found = find(self.path)
        body = json.dumps(found if found is not None else {"error": "no such thing"}).encode()
        self.send_response(200 if found is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8000), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
