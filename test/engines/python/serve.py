"""Calls functions of a module for the test that started this process.

Each line of standard input is a JSON object {"function", "arguments"}; each line of standard output answers one:
{"result"} or {"error": {"type", "message"}}. Arrow tables pass as the paths of IPC streams, {"$arrow": path}.
Whatever else prints goes to standard error.
"""

import importlib
import json
import os
import sys
import tempfile
import traceback

answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
os.dup2(2, 1)

import pyarrow as pa  # noqa: E402

# apache-arrow for JavaScript aligns buffers to 8 bytes, where decimals want 16.
ALIGNED = pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.At64Byte)


def decode(value):
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {"$arrow"}:
            with open(value["$arrow"], "rb") as file:
                return pa.ipc.open_stream(file.read(), options=ALIGNED).read_all()
        return {name: decode(member) for name, member in value.items()}
    return value


def encode(value):
    if isinstance(value, pa.Table):
        handle, path = tempfile.mkstemp(suffix=".arrow")
        with os.fdopen(handle, "wb") as file:
            with pa.ipc.new_stream(file, value.schema) as writer:
                writer.write_table(value)
        return {"$arrow": path}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {name: encode(member) for name, member in value.items()}
    return value


def main():
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    module = importlib.import_module(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            function = getattr(module, request["function"])
            answer = {"result": encode(function(*decode(request["arguments"])))}
            text = json.dumps(answer)
        except BaseException as error:
            traceback.print_exc()
            text = json.dumps({"error": {"type": type(error).__name__, "message": str(error)}})
        answers.write(text + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
