"""Runs the tasks of a backfill on Ray.

Ray starts this as the entry point of a job that `rayCluster` of `tiltyard/ray` has submitted. The directory
that TILTYARD_RUN names lies on a file system that all machines share. It has:

    tasks.json      the tasks, and the command of a worker
    *.reports       a line of JSON for each report; each file is appended to by one process

Each Ray task starts a worker, a Node.js process that computes some of the tasks: the runner hands it the next
task when the one before is reported. If a worker or the process of Ray around it dies, Ray runs the Ray task
again, without the tasks that were reported.
"""

import json
import os
import subprocess
import sys
import uuid

import ray

PREFIX = "tiltyard:"
REPORTS = {"progress", "done", "failed"}
# Groups of tasks for each worker: more balance the load, fewer start fewer processes.
GROUPS_PER_WORKER = 4
RETRIES = 3


def reported_tasks(directory: str) -> set[str]:
    """Returns the ids of the tasks that are done, or have failed."""
    ids = set()
    for name in os.listdir(directory):
        if not name.endswith(".reports"):
            continue
        with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    report = json.loads(line)
                except ValueError:
                    continue  # The last line of a process that died.
                outcome = report.get("done") or report.get("failed")
                if outcome:
                    ids.add(outcome["taskId"])
    return ids


def split_line(line: str) -> tuple[str, dict | None]:
    """Splits a line of a worker into text that a function printed, and the report after it, if there is one.

    A function may print the beginning of a line, or a line that only looks like a report.
    """
    start = line.find(PREFIX)
    while start >= 0:
        try:
            report = json.loads(line[start + len(PREFIX) :])
        except ValueError:
            report = None
        if isinstance(report, dict) and report.keys() & REPORTS:
            return line[:start], report
        start = line.find(PREFIX, start + 1)
    return line, None


def run_group(directory: str, root: str, command: list[str], tasks: list[dict]) -> None:
    """Computes tasks in one worker, and appends its reports to a file.

    Raises:
        RuntimeError: if the worker ends before it has reported all of them.
    """
    reported = reported_tasks(directory)
    waiting = [task for task in tasks if task["taskId"] not in reported]
    if not waiting:
        return
    worker = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    path = os.path.join(directory, f"{uuid.uuid4()}.reports")
    try:
        with open(path, "a", encoding="utf-8", newline="\n") as reports:
            send(worker, {"root": root})
            for task in waiting:
                send(worker, {"task": task})
                for line in worker.stdout:
                    printed, report = split_line(line)
                    print(printed, end="", flush=True)
                    if report is None:
                        continue
                    reports.write(json.dumps(report) + "\n")
                    reports.flush()
                    if "progress" not in report:
                        break
                else:
                    raise RuntimeError(
                        f"the worker ended with {worker.wait()} while it computed {task['taskId']}"
                    )
    finally:
        # A worker ends when its input ends, and gives up its task.
        worker.stdin.close()
        try:
            worker.wait(timeout=30)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def send(worker: subprocess.Popen, message: dict) -> None:
    """Hands a line to a worker; one that died is noticed where its answer is read."""
    try:
        worker.stdin.write(json.dumps(message) + "\n")
        worker.stdin.flush()
    except BrokenPipeError:
        pass


def main() -> int:
    directory = os.environ["TILTYARD_RUN"]
    with open(os.path.join(directory, "tasks.json"), encoding="utf-8") as file:
        order = json.load(file)
    ray.init()
    # A head that has no processors of its own starts machines that do.
    concurrency = order["concurrency"] or max(1, int(ray.cluster_resources().get("CPU", 1)))
    tasks = order["tasks"]
    size = max(1, len(tasks) // (concurrency * GROUPS_PER_WORKER))
    groups = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    remote = ray.remote(run_group).options(
        max_retries=RETRIES, retry_exceptions=True, name="tiltyard backfill", **order["resources"]
    )
    running: dict = {}
    failed = 0
    while groups or running:
        while groups and len(running) < concurrency:
            running[remote.remote(directory, order["root"], order["worker"], groups.pop(0))] = True
        [ended], _ = ray.wait(list(running), num_returns=1)
        del running[ended]
        try:
            ray.get(ended)
        except ray.exceptions.RayError as error:
            failed += 1
            print(error, file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
