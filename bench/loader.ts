/**
 * Runs the clients of a load case in their own process: `loader.js <url> <connections>`. A message
 * `{ path, body, requests }` starts them (body: JSON text, or bytes of rows in base64). Every connection
 * sends one request after the other until all are sent. The reply has the milliseconds of each request, or
 * the first failure.
 */

import { Agent, request } from "node:http";

interface Job {
  readonly path: string;
  readonly json?: string;
  readonly rows?: string;
  readonly requests: number;
}

const [url, connections] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number(connections) });

process.on("message", (job: Job) => {
  load(job).then(
    (milliseconds) => process.send?.({ milliseconds }),
    (error) => process.send?.({ failure: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
process.send?.("ready");

async function load({ path, json, rows, requests }: Job): Promise<number[]> {
  const body = rows === undefined ? Buffer.from(json ?? "{}") : Buffer.from(rows, "base64");
  const headers = {
    "content-type": rows === undefined ? "application/json" : "application/vnd.apache.arrow.stream",
    "content-length": String(body.length),
  };
  const milliseconds: number[] = [];
  let left = requests;
  const connection = async () => {
    while (left-- > 0) {
      const start = performance.now();
      await send(path, headers, body);
      milliseconds.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: Number(connections) }, connection));
  return milliseconds;
}

function send(path: string, headers: Record<string, string>, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url + path, { method: "POST", agent, headers }, (incoming) => {
      incoming.resume();
      incoming.on("end", () => {
        if (incoming.statusCode === 200) resolve();
        else reject(new Error(`${path} answered ${incoming.statusCode}`));
      });
      incoming.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
