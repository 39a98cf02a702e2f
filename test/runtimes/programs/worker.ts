/** A Worker that runs the program, or the tests of disks on a bucket. */

import { type R2BucketBinding, r2Disk } from "tiltyard/disks";
import { diskConformance } from "tiltyard/disks/conformance";
import { exercise } from "./exercise.js";

async function conformance(bucket: R2BucketBinding): Promise<object> {
  const tests: [string, () => Promise<void>][] = [];
  diskConformance({ test: (name, body) => tests.push([name, body]) }, () => ({
    disk: r2Disk(bucket, { prefix: crypto.randomUUID() }),
  }));
  const failed: string[] = [];
  for (const [name, body] of tests) {
    await body().catch((error: Error) => failed.push(`${name}: ${error.stack}`));
  }
  return { count: tests.length, failed };
}

export default {
  async fetch(request: Request, env: { readonly BUCKET: R2BucketBinding }): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    try {
      const answer =
        pathname === "/conformance"
          ? await conformance(env.BUCKET)
          : await exercise(searchParams.get("url") ?? "");
      return Response.json(answer);
    } catch (error) {
      return new Response(String((error as Error).stack), { status: 500 });
    }
  },
};
