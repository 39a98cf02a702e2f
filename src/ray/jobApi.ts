/** Client of Ray's REST API for jobs: `/api/jobs/` of its dashboard. */

import http from "node:http";
import https from "node:https";
import { messageOf, ServiceUnavailableError } from "../errors.js";

/** A job of Ray. */
export interface RayJob {
  readonly submission_id: string;
  readonly status: "PENDING" | "RUNNING" | "STOPPED" | "SUCCEEDED" | "FAILED";
  readonly message?: string | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
}

export interface NewRayJob {
  /** Command line that a shell runs. */
  readonly entrypoint: string;
  readonly runtime_env: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Milliseconds that an answer may take. */
const ANSWER_MS = 30_000;
const MAX_TOLD_LENGTH = 500;

export class RayJobApi {
  readonly #base: string;
  /** URL without a password, for messages, which are kept in records of jobs. */
  readonly #shownBase: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param address URL of the dashboard */
  constructor(address: string, headers: Readonly<Record<string, string>>) {
    this.#base = `${address.replace(/\/+$/, "")}/api/jobs/`;
    this.#shownBase = this.#base.replace(/^(https?:\/\/)[^/@]*@/i, "$1");
    this.#headers = headers;
  }

  /** @returns the id of the job */
  async submit(job: NewRayJob): Promise<string> {
    const { submission_id } = (await this.#call("POST", "", job)) as Partial<RayJob>;
    if (typeof submission_id === "string") return submission_id;
    throw this.#failure("POST", "it answers without an id");
  }

  async list(): Promise<readonly RayJob[]> {
    const jobs = await this.#call("GET", "");
    // Old releases answer with an object of jobs by id.
    return Array.isArray(jobs) ? (jobs as RayJob[]) : Object.values((jobs ?? {}) as Record<string, RayJob>);
  }

  async describe(id: string): Promise<RayJob> {
    const job = (await this.#call("GET", encodeURIComponent(id))) as Partial<RayJob> | null;
    if (typeof job?.status === "string") return job as RayJob;
    throw this.#failure("GET", `it answers without a status of job ${id}`);
  }

  async stop(id: string): Promise<void> {
    await this.#call("POST", `${encodeURIComponent(id)}/stop`);
  }

  async logs(id: string): Promise<string> {
    const { logs } = (await this.#call("GET", `${encodeURIComponent(id)}/logs`)) as {
      readonly logs?: unknown;
    };
    return typeof logs === "string" ? logs : "";
  }

  async #call(method: "GET" | "POST", path: string, body?: object): Promise<unknown> {
    let answer: Answer;
    try {
      answer = await send(this.#base + path, method, this.#headers, body);
    } catch (error) {
      throw this.#failure(method, messageOf(error), error);
    }
    const { status, text } = answer;
    if (status < 200 || status > 299) {
      throw this.#failure(method, `${status} ${text.slice(0, MAX_TOLD_LENGTH)}`);
    }
    try {
      return JSON.parse(text);
    } catch (error) {
      throw this.#failure(method, "it does not answer in JSON", error);
    }
  }

  #failure(method: string, reason: string, cause?: unknown): ServiceUnavailableError {
    return new ServiceUnavailableError(`the job API of Ray, ${method} ${this.#shownBase}: ${reason}`, {
      cause,
    });
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends a request without `fetch`, whose user agent looks like a browser: Ray refuses those. */
function send(
  url: string,
  method: "GET" | "POST",
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<Answer> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const { request } = url.startsWith("https:") ? https : http;
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method,
        headers: {
          ...headers,
          accept: "application/json",
          ...(body !== undefined && { "content-type": "application/json" }),
          "content-length": String(new TextEncoder().encode(text).length),
        },
        signal: AbortSignal.timeout(ANSWER_MS),
      },
      (response) => {
        let received = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => {
          received += part;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text: received }));
        response.on("error", reject);
      },
    );
    call.on("error", reject);
    call.end(text);
  });
}

/** True if a job will not report any more. */
export const hasEnded = ({ status }: RayJob): boolean =>
  status === "STOPPED" || status === "SUCCEEDED" || status === "FAILED";
