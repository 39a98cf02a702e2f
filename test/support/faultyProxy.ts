/** A proxy between a client and a server that loses, delays, cuts and replaces answers, as networks do. */

import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What happens to a request, apart from being passed on. */
export type Fault =
  /** The connection ends before the server gets the request. */
  | "lose the request"
  /** The server carries the request out, and the connection ends. */
  | "lose the answer"
  /** The server does not get the request. */
  | "refuse with 503"
  /** The server carries the request out, and the client is told that it did not. */
  | "carry out and refuse with 503"
  /** Half of the body arrives, then the connection ends. */
  | "cut the answer"
  /** The body arrives in a few pieces, with pauses. */
  | "slow the answer"
  /** Half of the body arrives, then nothing. */
  | "stall the answer";

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  /** Number of the request, from 0. */
  readonly index: number;
}

export interface ProxyOptions {
  /** Passes changes of one path on one after the other. */
  readonly isSerial?: boolean;
}

const SLOW_DOWN = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";

export class FaultyProxy implements AsyncDisposable {
  /** Chooses the fault of a request; undefined for none. */
  faultOf: (request: ProxiedRequest) => Fault | undefined = () => undefined;
  /** Number of faults so far. */
  faults = 0;
  readonly #target: URL;
  readonly #isSerial: boolean;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server = createServer((incoming, response) => void this.#serve(incoming, response));
  /** Last change of each path. */
  readonly #queues = new Map<string, Promise<unknown>>();
  #requests = 0;

  private constructor(target: string, { isSerial = false }: ProxyOptions) {
    this.#target = new URL(target);
    this.#isSerial = isSerial;
  }

  static async start(target: string, options: ProxyOptions = {}): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target, options);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get requests(): number {
    return this.#requests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = incoming;
    const fault = this.faultOf({ method, path: decodeURIComponent(url), index: this.#requests++ });
    if (fault !== undefined) this.faults++;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      if (fault === "lose the request") return void response.destroy();
      if (fault === "refuse with 503") return void refuse(response);
      const path = url.split("?")[0];
      const answer = await this.#inTurn(method === "GET" || method === "HEAD" ? null : path, () =>
        this.#pass(incoming, Buffer.concat(chunks)),
      );
      if (fault === "lose the answer") return void response.destroy();
      if (fault === "carry out and refuse with 503") return void refuse(response);
      const { status, headers, body } = answer;
      response.writeHead(status, headers);
      if (fault === undefined || method === "HEAD")
        return void response.end(method === "HEAD" ? undefined : body);
      await deliver(response, body, fault);
    } catch {
      response.destroy();
    }
  }

  async #inTurn<Result>(path: string | null, work: () => Promise<Result>): Promise<Result> {
    if (!this.#isSerial || path === null) return work();
    const before = this.#queues.get(path) ?? Promise.resolve();
    const result = before.then(work, work);
    this.#queues.set(path, result);
    try {
      return await result;
    } finally {
      if (this.#queues.get(path) === result) this.#queues.delete(path);
    }
  }

  #pass(incoming: IncomingMessage, body: Buffer): Promise<PassedAnswer> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#target;
      const { method, url: path, headers } = incoming;
      // The host is part of the signature.
      const sent = { ...headers, connection: "keep-alive", "content-length": String(body.length) };
      const passed = request(
        { agent: this.#agent, hostname, port, method, path, headers: sent },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on("data", (chunk: Buffer) => chunks.push(chunk));
          answer.on("error", reject);
          answer.on("end", () => {
            const { connection: _, "transfer-encoding": __, ...rest } = answer.headers;
            resolve({ status: answer.statusCode ?? 502, headers: rest, body: Buffer.concat(chunks) });
          });
        },
      );
      passed.on("error", reject);
      passed.end(body);
    });
  }
}

interface PassedAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

function refuse(response: ServerResponse): void {
  response.writeHead(503, { "content-type": "application/xml" });
  response.end(SLOW_DOWN);
}

async function deliver(response: ServerResponse, body: Buffer, fault: Fault): Promise<void> {
  const half = body.subarray(0, Math.ceil(body.length / 2));
  if (fault === "slow the answer") {
    const pieceLength = Math.max(1, Math.ceil(body.length / 5));
    for (let start = 0; start < body.length; start += pieceLength) {
      response.write(body.subarray(start, start + pieceLength));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    response.end();
  } else {
    response.write(half);
    if (fault === "cut the answer") response.destroy();
  }
}
