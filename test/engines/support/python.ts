import { type ChildProcess, spawn } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Table, tableFromIPC, tableToIPC } from "apache-arrow";
import { makeTempDir } from "../../support/tempDir.js";
import { environment } from "./environments.js";

const SERVE = fileURLToPath(new URL("../python/serve.py", import.meta.url));
/** Characters of standard error that a failure shows. */
const SHOWN = 4000;

/** An error that a Python function raised. */
export class PythonError extends Error {
  /** Name of the Python class. */
  readonly type: string;

  constructor(type: string, message: string, printed: string) {
    super(`${type}: ${message}\n${printed}`);
    this.type = type;
  }
}

type Settle = { resolve(value: unknown): void; reject(error: Error): void };

export class Python implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly #waiting: Settle[] = [];
  #printed = "";
  #calls = 0;

  private constructor(child: ChildProcess, directory: string) {
    this.#child = child;
    this.#directory = directory;
    child.stderr?.on("data", (bytes: Buffer) => {
      this.#printed = (this.#printed + bytes.toString()).slice(-SHOWN);
    });
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) =>
      this.#answer(line),
    );
    // The exit of the process rejects the calls.
    child.stdin?.on("error", () => undefined);
    child.once("exit", (code, signal) => {
      for (const { reject } of this.#waiting.splice(0)) {
        reject(new Error(`Python ended (${signal ?? code}):\n${this.#printed}`));
      }
    });
  }

  /**
   * @param environmentName is installed if it is not there
   * @param module file of `python/` without its suffix
   */
  static async start(environmentName: string, module: string, env: NodeJS.ProcessEnv = {}): Promise<Python> {
    const python = await environment(environmentName);
    const child = spawn(python, ["-u", SERVE, module], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...env },
    });
    return new Python(child, await makeTempDir());
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /**
   * Calls a function. Arguments and result are JSON, with Arrow tables anywhere in them.
   * @throws PythonError if the function raises an error
   */
  async call<Result = unknown>(name: string, ...args: readonly unknown[]): Promise<Result> {
    const request = JSON.stringify({ function: name, arguments: await this.#sent(args) });
    const result = await new Promise<unknown>((resolve, reject) => {
      if (this.#hasEnded) {
        reject(new Error(`Python has ended:\n${this.#printed}`));
        return;
      }
      this.#waiting.push({ resolve, reject });
      this.#child.stdin?.write(`${request}\n`);
    });
    return (await received(result)) as Result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#hasEnded) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(timer);
  }

  #answer(line: string): void {
    const { resolve, reject } = this.#waiting.shift() as Settle;
    const { result, error } = JSON.parse(line);
    if (error === undefined) resolve(result);
    else reject(new PythonError(error.type, error.message, this.#printed));
  }

  async #sent(value: unknown): Promise<unknown> {
    if (value instanceof Table) {
      const path = join(this.#directory, `${this.#calls++}.arrow`);
      await writeFile(path, tableToIPC(value, "stream"));
      return { $arrow: path };
    }
    if (Array.isArray(value)) return Promise.all(value.map((item) => this.#sent(item)));
    if (typeof value !== "object" || value === null) return value;
    const members = await Promise.all(
      Object.entries(value).map(async ([name, member]) => [name, await this.#sent(member)] as const),
    );
    return Object.fromEntries(members);
  }
}

async function received(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map(received));
  if (typeof value !== "object" || value === null) return value;
  const members = value as Readonly<Record<string, unknown>>;
  if (typeof members.$arrow === "string") {
    const bytes = await readFile(members.$arrow);
    await rm(members.$arrow);
    return tableFromIPC(bytes);
  }
  const entries = Object.entries(members).map(
    async ([name, member]) => [name, await received(member)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}
