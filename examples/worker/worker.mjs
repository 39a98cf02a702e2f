/**
 * A Worker that answers queries from tables in a bucket of R2:
 *
 *     GET /search?q=hollow oak     notes with these words, best first
 *     GET /near?q=hollow oak       notes with a similar vector, nearest first
 *     /v1/…                        the operations that only read, as the namespace spec has them; needs the key
 */

import { DirectoryNamespace } from "tiltyard";
import { r2Disk } from "tiltyard/disks";
import { createRestHandler } from "tiltyard/rest";
import { vectorOf } from "./notes.mjs";

const MIB = 1024 * 1024;
/** Operations that change nothing. */
const READS = /^(list|describe|count|query|get|namespaceExists|tableExists|explain|analyze)/;

/** Namespaces and handlers by their buckets: later requests find the caches filled. */
const opened = new WeakMap();

function open(env) {
  const known = opened.get(env.BUCKET);
  if (known !== undefined) return known;
  const ns = new DirectoryNamespace({
    root: "/",
    disk: r2Disk(env.BUCKET, { cacheBytes: 8 * MIB }),
    // A Worker has 128 MB.
    metadataCacheBytes: 16 * MIB,
    indexCacheBytes: 32 * MIB,
    vectorCacheBytes: 0,
    authorize({ operation }) {
      if (!READS.test(operation)) throw new Error(`${operation} is not served here`);
    },
  });
  const handler = createRestHandler(ns, { auth: { apiKeys: [env.API_KEY] } });
  const made = { table: ns.table("notes"), handler };
  opened.set(env.BUCKET, made);
  return made;
}

export default {
  async fetch(request, env) {
    const { table, handler } = open(env);
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.startsWith("/v1/")) return handler(request);
    if (pathname !== "/search" && pathname !== "/near") {
      return Response.json({ error: "not found" }, { status: 404 });
    }
    const words = searchParams.get("q") ?? "";
    if (words.trim() === "") {
      return Response.json({ error: "q: words to search for are missing" }, { status: 400 });
    }
    const limit = Math.min(100, Math.max(1, Number.parseInt(searchParams.get("limit") ?? "10", 10) || 10));
    const wanted = { limit, columns: ["id", "text"] };
    const query =
      pathname === "/search"
        ? table.search({ text: words, ...wanted })
        : table.search({ vector: vectorOf(words), ...wanted });
    const rows = await query.toArray();
    return Response.json(rows.map(({ id, text }) => ({ id, text })));
  },
};
