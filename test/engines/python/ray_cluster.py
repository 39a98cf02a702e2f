"""A Ray cluster of two workers on this machine. Import it before anything that imports Ray."""

import os
import secrets

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Some of Ray's ports are open to other machines, so nobody without this token may use the cluster.
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
os.environ["RAY_gcs_server_port_wait_time_s"] = "180"

import ray  # noqa: E402

ATTEMPTS = 4


def start(directory: str) -> None:
    """Starts the cluster. It ends with this process, however that ends.

    `directory` holds its files; sockets in it want a short path.
    """
    for attempt in range(ATTEMPTS):
        try:
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                log_to_driver=False,
                object_store_memory=100 * 2**20,
                _node_ip_address="127.0.0.1",
                _temp_dir=directory,
            )
            return
        except Exception as error:
            # Ray gives its processes 30 seconds, which a machine with other tests on it may not have.
            if attempt == ATTEMPTS - 1 or "timed out during startup" not in str(error):
                raise
            ray.shutdown()


def stop() -> None:
    ray.shutdown()
