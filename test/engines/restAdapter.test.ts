/**
 * Compares our REST server with Lance's own: the same calls, on directories that begin empty. Answers are
 * equal except for the entries of `restDifferences.ts`, none of which is out of date.
 */

import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";
import { API_KEY, type Handler, startHandler } from "./support/handler.js";
import { Python } from "./support/python.js";
import { CALLS, type RestCall } from "./support/restCalls.js";
import { DIFFERENCES } from "./support/restDifferences.js";

interface Answer {
  readonly status: number;
  /** Code of the error; undefined if the body has none. */
  readonly code: number | undefined;
  readonly body: unknown;
}

/** Members whose values differ from server to server: only whether they are there is compared. */
const OWN = new Set([
  ...["transaction_id", "job_id", "index_uuid", "e_tag"],
  ...["timestamp_millis", "created_at", "createAt"],
  ...["location", "table_uri", "manifest_path"],
  ...["manifest_size", "manifestSize", "size_bytes", "total_bytes"],
]);

async function answerOf(url: string, { path, method, body, contentType }: RestCall): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { "x-api-key": API_KEY, ...(contentType === undefined ? {} : { "content-type": contentType }) },
    body: body as string | Uint8Array<ArrayBuffer> | undefined,
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get("content-type") ?? "none";
  const content = /arrow/.test(type) ? { type, ...rowsOf(bytes) } : jsonOf(new TextDecoder().decode(bytes));
  const { code, job_id } = content as { readonly code?: number; readonly job_id?: string };
  // Our server builds indexes as jobs.
  if (job_id !== undefined) await waitForJob(url, job_id);
  return { status: response.status, code, body: content };
}

async function waitForJob(url: string, job: string): Promise<void> {
  const response = await fetch(`${url}/v1/job/${job}/wait`, {
    method: "POST",
    headers: { "x-api-key": API_KEY },
  });
  expect(await response.json()).toMatchObject({ state: "Succeeded" });
}

const jsonOf = (text: string): unknown => (/^["[{\d]/.test(text) ? JSON.parse(text) : text);

/** Floats are rounded: sums of vectors differ in the last bits. */
function rowsOf(bytes: Uint8Array): object {
  const table = tableFromIPC(bytes);
  const rounded = (_name: string, value: unknown) =>
    typeof value === "bigint"
      ? String(value)
      : typeof value === "number"
        ? Number(value.toPrecision(5))
        : value;
  // Rows of equal scores come in any order.
  const texts = table.toArray().map((row) => JSON.stringify(row.toJSON(), rounded));
  return { fields: table.schema.fields.map(String), rows: texts.sort().map((text) => JSON.parse(text)) };
}

/** Lists the differences of our answer: "404/4, not 200", or "more", "less" or "other" with a path. */
function differences(ours: Answer, theirs: Answer): string[] {
  const isError = (answer: Answer) => answer.status >= 400;
  const outcome = ({ status, code }: Answer) => (code === undefined ? `${status}` : `${status}/${code}`);
  if (isError(ours) || isError(theirs)) {
    return outcome(ours) === outcome(theirs) ? [] : [`${outcome(ours)}, not ${outcome(theirs)}`];
  }
  const lines = [...bodyDifferences("", ours.body, theirs.body)];
  if (ours.status !== theirs.status) lines.unshift(`${ours.status}, not ${theirs.status}`);
  return [...new Set(lines)];
}

function* bodyDifferences(path: string, ours: unknown, theirs: unknown): Generator<string> {
  if (Array.isArray(ours) && Array.isArray(theirs) && ours.length === theirs.length) {
    for (const [index, item] of ours.entries()) yield* bodyDifferences(`${path}[]`, item, theirs[index]);
  } else if (isObject(ours) && isObject(theirs)) {
    for (const name of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
      const member = path === "" ? name : `${path}.${name}`;
      if (!(name in theirs)) yield `more: ${member}`;
      else if (!(name in ours)) yield `less: ${member}`;
      else if (!OWN.has(name)) yield* bodyDifferences(member, ours[name], theirs[name]);
    }
  } else if (!isDeepStrictEqual(ours, theirs)) {
    yield `other: ${path === "" ? "the body" : path}`;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

describe("Lance's REST server (pylance 14)", () => {
  let handler: Handler;
  let python: Python;
  let theirUrl: string;
  beforeAll(async () => {
    handler = await startHandler(await makeTempDir());
    python = await Python.start("pylance14", "rest_adapter");
    theirUrl = `http://127.0.0.1:${await python.call("start", await makeTempDir())}`;
  });
  afterAll(async () => {
    await python[Symbol.asyncDispose]();
    await handler[Symbol.asyncDispose]();
  });

  it(`answers ${CALLS.length} calls as ours does, but for the differences that are listed`, async () => {
    expect(new Set(CALLS.map(({ name }) => name)).size).toBe(CALLS.length);
    const seen: string[] = [];
    for (const call of CALLS) {
      const [ours, theirs] = await Promise.all([answerOf(handler.url, call), answerOf(theirUrl, call)]);
      for (const line of differences(ours, theirs)) seen.push(`${call.name}: ${line}`);
    }
    const anywhere = DIFFERENCES.flatMap((difference) => difference.anywhere ?? []);
    const isAnywhere = (text: string) => anywhere.some((line) => text.endsWith(`: ${line}`));
    const listed = DIFFERENCES.flatMap(({ calls = {} }) =>
      Object.entries(calls).flatMap(([name, lines]) => [lines].flat().map((line) => `${name}: ${line}`)),
    );
    expect(seen.filter((text) => !isAnywhere(text)).sort()).toEqual(listed.sort());
    for (const line of anywhere) expect(seen).toContainEqual(expect.stringContaining(`: ${line}`));
  });

  it("differs from ours for reasons that are documented", async () => {
    const page = await readFile(new URL("../../docs/http.md", import.meta.url), "utf8");
    const [, section] = page.split("## Differences to Lance's own server\n");
    // An introduction, and the list.
    const list = `\n${section.split("\n\n")[1]}`;
    const bullets = list.split("\n- ").slice(1);
    const sentences = bullets.map((bullet) => bullet.trim().replace(/\s+/g, " "));
    expect(sentences).toEqual(DIFFERENCES.map(({ reason }) => reason));
  });
});
