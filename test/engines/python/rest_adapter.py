"""Serves directories with Lance's own REST server."""

import lance.namespace

_servers = []


def start(root):
    """Serves a directory on a free port of the loopback and returns the port."""
    server = lance.namespace.RestAdapter("dir", {"root": root}, host="127.0.0.1", port=0)
    server.start()
    _servers.append(server)
    return server.port


def stop():
    while _servers:
        _servers.pop().stop()
