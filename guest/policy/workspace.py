# Finds modules that lie in directories of the run, and has them checked like the program itself.
import importlib
import sys
from _frozen_importlib_external import PathFinder, spec_from_file_location


class Loader:
    def __init__(self, path):
        self.path = path

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        run_module(module, self.path)

    def get_filename(self, name):
        return self.path

    def get_resource_reader(self, name):
        from importlib.readers import FileReader

        return FileReader(self)


class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not spec.has_location or not spec.origin:
            return spec
        if is_borrowed(name, spec.origin):
            raise ImportError(f"{spec.origin} belongs to the library, and not to {name}", name=name, path=spec.origin)
        if not is_foreign(spec.origin):
            return spec
        if not spec.origin.endswith(".py"):
            raise ImportError(f"{spec.origin}: only modules that are Python source can be imported from here", name=name, path=spec.origin)
        return spec_from_file_location(name, spec.origin, loader=Loader(spec.origin), submodule_search_locations=spec.submodule_search_locations)


sys.meta_path[:] = [Finder if finder is PathFinder else finder for finder in sys.meta_path]

load_again = importlib.reload


def reload(module):
    """importlib.reload() for modules in files of the run. One of the library would get back what the policy has replaced in it."""
    if not isinstance(module, type(sys)):
        return load_again(module)  # which refuses it
    # Not getattr(): it does not give `__spec__` to whom the program calls.
    spec = module.__spec__
    name = module.__name__ if spec is None else spec.name
    if type(name) is not str:
        raise ImportError("only modules of your own files can be loaded again")
    above = name.rpartition(".")[0]
    found = Finder.find_spec(name, sys.modules[above].__path__ if above else None)
    if found is None or not found.origin or is_library(found.origin):
        raise ImportError(f"only modules of your own files can be loaded again; {name} belongs to the library", name=name)
    return load_again(module)


importlib.reload = reload
