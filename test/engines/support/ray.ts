/** A Ray cluster of one machine, on ports and in a directory of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { environment } from "./environments.js";

/** Ray gives up its own start after half a minute, which a busy machine may need. */
const STARTS = 3;
const START_MS = 90_000;
const STOP_MS = 20_000;
/** Token of the cluster's clients. Without one, Ray makes its own. */
const TOKEN = "a-token-of-the-tests-for-clusters";

export interface RayOptions {
  readonly cpus: number;
  /** Variables of everything that runs on the cluster. */
  readonly env?: Readonly<Record<string, string>>;
}

export class RayProcesses implements AsyncDisposable {
  readonly address: string;
  readonly python: string;
  readonly token = TOKEN;
  readonly headers = { authorization: `Bearer ${TOKEN}` };
  readonly #head: ChildProcess;
  readonly #directory: string;

  private constructor(address: string, python: string, head: ChildProcess, directory: string) {
    this.address = address;
    this.python = python;
    this.#head = head;
    this.#directory = directory;
  }

  static async start(options: RayOptions): Promise<RayProcesses> {
    const python = await environment("ray");
    for (let attempt = 1; ; attempt++) {
      try {
        return await RayProcesses.#startOnce(python, options);
      } catch (error) {
        if (attempt === STARTS) throw error;
      }
    }
  }

  static async #startOnce(python: string, { cpus, env }: RayOptions): Promise<RayProcesses> {
    const [port, dashboard, agent, client] = await freePorts(4);
    // Short: Ray puts sockets there, whose paths have a limit.
    const directory = await mkdtemp(join(tmpdir(), "ty-"));
    const head = spawn(
      join(dirname(python), process.platform === "win32" ? "ray.exe" : "ray"),
      [
        ...["start", "--head", "--block", `--num-cpus=${cpus}`, "--node-ip-address=127.0.0.1"],
        ...[`--port=${port}`, "--dashboard-host=127.0.0.1", `--dashboard-port=${dashboard}`],
        ...[`--dashboard-agent-listen-port=${agent}`, `--ray-client-server-port=${client}`],
        ...[`--temp-dir=${directory}`, "--object-store-memory=100000000", "--disable-usage-stats"],
      ],
      {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, RAY_AUTH_MODE: "token", RAY_AUTH_TOKEN: TOKEN, ...env },
      },
    );
    let printed = "";
    for (const stream of [head.stdout, head.stderr]) {
      stream?.on("data", (bytes: Buffer) => {
        printed = (printed + bytes.toString()).slice(-4000);
      });
    }
    const cluster = new RayProcesses(`http://127.0.0.1:${dashboard}`, python, head, directory);
    const untilMs = Date.now() + START_MS;
    while (!(await cluster.#isReady())) {
      if (head.exitCode === null && Date.now() < untilMs) {
        await sleep(300);
        continue;
      }
      await cluster[Symbol.asyncDispose]();
      throw new Error(`Ray did not start (${head.exitCode}):\n${printed}`);
    }
    return cluster;
  }

  async jobs(): Promise<{ submission_id: string; status: string; metadata: Record<string, string> }[]> {
    const response = await fetch(`${this.address}/api/jobs/`, { headers: this.headers });
    return (await response.json()) as never;
  }

  async #isReady(): Promise<boolean> {
    try {
      const response = await fetch(`${this.address}/api/jobs/`, {
        headers: this.headers,
        signal: AbortSignal.timeout(5000),
      });
      return response.ok;
    } catch {
      return false;
    }
  }

  /** Ends the head, which ends the processes that it started, and then the processes that are left. */
  async [Symbol.asyncDispose](): Promise<void> {
    const head = this.#head;
    if (head.exitCode === null && head.signalCode === null) {
      const ended = new Promise((resolve) => head.once("exit", resolve));
      head.kill("SIGTERM");
      await Promise.race([ended, sleep(STOP_MS)]);
      head.kill("SIGKILL");
    }
    for (const pid of await this.#processes()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended meanwhile.
      }
    }
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Processes whose command line names the cluster's directory; none where the platform does not tell. */
  async #processes(): Promise<number[]> {
    const names = await readdir("/proc").catch(() => []);
    const pids: number[] = [];
    for (const name of names) {
      if (!/^\d+$/.test(name)) continue;
      const line = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
      if (line.includes(`${this.#directory}/`) || line.includes(`=${this.#directory}\0`))
        pids.push(Number(name));
    }
    return pids.filter((pid) => pid !== process.pid);
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
