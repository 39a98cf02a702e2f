/** A program of Vercel's edge runtime. */

import { exercise } from "./exercise.js";

interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}

addEventListener("fetch", ((event: FetchEvent) => {
  const url = new URL(event.request.url).searchParams.get("url") ?? "";
  const answer = exercise(url).then(
    (seen) => new Response(JSON.stringify(seen)),
    (error: Error) => new Response(String(error.stack), { status: 500 }),
  );
  event.respondWith(answer);
}) as EventListener);
