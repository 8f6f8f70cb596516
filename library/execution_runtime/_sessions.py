"""Work that goes on over several runs: its state is kept outside, by a name."""

from api._call import CallError, call


class Session:
    """The refactoring session of that name, which is created if it does not exist.

    Its state is a dictionary of plain data. Every save is kept as a version; the last hundred can be loaded.

    >>> Session("rename-api").save_state({"done": ["a.py"]})
    """

    def __init__(self, name, description=""):
        self.name = name
        call("state.create", session_name=name, description=description or None)

    def save_state(self, state, version=None):
        """Save the state and return its version. With the version it was made from: refused if there is a newer one."""
        return call("state.save", session_id=self.name, state=state, version=version)["version"]

    def load_state(self, version=None):
        """The last saved state, or that of a version; {} before the first save."""
        return call("state.load", session_id=self.name, version=version)["state"]

    def get_history(self):
        """[{"timestamp", "version", "bytes", "state_snapshot"}], the oldest first."""
        saves = reversed(call("state.load", session_id=self.name)["history"])
        return [dict(save, state_snapshot=self.load_state(save["version"])) for save in saves]

    def delete(self):
        """Forget it, with its history."""
        call("state.delete", session_id=self.name)

    @property
    def exists(self):
        """Whether it is there: it may have been deleted."""
        return self.name in list_sessions()

    @property
    def path(self):
        """The place of its state, which is not a file of the sandbox."""
        return "state/" + self.name

    def __getitem__(self, key):
        """session['id'] and session['session_id'] are its name, as in the answers of the tools."""
        if key in ("id", "session_id", "name"):
            return self.name
        raise KeyError(key)

    def __repr__(self):
        return f"Session({self.name!r})"


def create_session(name, description=""):
    """The session of that name, which is created if it does not exist.

    >>> create_session("rename-api", "rename it everywhere")
    """
    return Session(name, description)


def create_refactoring_session(session_name, description=""):
    """As the tool of that name: {"id", "session_id", "status", ...}.

    >>> create_refactoring_session("rename-api", "rename it everywhere")["id"]
    """
    return call("state.create", session_name=session_name, description=description or None)


def save_session_state(session_id, state):
    """As the tool of that name.

    >>> save_session_state("rename-api", {"done": ["a.py"]})
    """
    return call("state.save", session_id=session_id, state=state)


def load_session_state(session_id, version=None):
    """As the tool of that name: {"state", "history", ...}, of the last save or of a version.

    >>> load_session_state("rename-api")["state"]
    """
    return call("state.load", session_id=session_id, version=version)


def load_session(name):
    """The session of that name. FileNotFoundError: there is none.

    >>> load_session("rename-api").load_state()
    """
    if name not in list_sessions():
        raise FileNotFoundError(f"there is no refactoring session {name!r}; there are: {', '.join(list_sessions()) or 'none'}")
    session = Session.__new__(Session)
    session.name = name
    return session


def list_sessions():
    """Names of all refactoring sessions, the last changed first.

    >>> list_sessions()
    """
    return [session["name"] for session in call("state.list")["sessions"]]


def delete_session(name):
    """Deletes a session with its history. FileNotFoundError: there is none.

    >>> delete_session("rename-api")
    """
    try:
        call("state.delete", session_id=name)
    except CallError as error:
        if error.code != "not_found":
            raise
        raise FileNotFoundError(str(error)) from None
