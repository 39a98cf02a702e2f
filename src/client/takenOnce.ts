/** Answers that stay open until their first reader takes them, or until they have waited too long. */

import { clearTimeout, letProcessEnd, setTimeout } from "../async/timers.js";

/** Milliseconds that an answer stays open before its first read. A later read asks again. */
const UNREAD_MS = 5000;

/**
 * Returns a function that returns an open answer to its first caller, and null to later ones. An answer that
 * nobody takes is closed after five seconds, because it holds a connection.
 */
export function takenOnce<Answer>(answer: Answer, close: () => void): () => Answer | null {
  let unread: Answer | null = answer;
  const timer = setTimeout(() => {
    unread = null;
    close();
  }, UNREAD_MS);
  letProcessEnd(timer);
  return () => {
    clearTimeout(timer);
    const taken = unread;
    unread = null;
    return taken;
  };
}
