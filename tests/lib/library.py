"""`api` outside of a sandbox: the Python of library with the C of _belljar_code that was built for tests."""
import importlib.util
import sys

import belljar


def load():
    """_belljar_code, once; afterwards `api` can be imported."""
    if "_belljar_code" not in sys.modules:
        path = belljar.program_path().parent / "tests/code/_belljar_code.so"
        spec = importlib.util.spec_from_file_location("_belljar_code", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules["_belljar_code"] = module
        sys.path.insert(0, str(belljar.ROOT / "library"))
    return sys.modules["_belljar_code"]
