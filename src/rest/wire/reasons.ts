/** Reasons why values do not have their form, in words for messages. */

import type { z } from "zod";

/** Returns the reason of an issue, to follow the name of the member and a colon. */
export function reasonOfIssue({ message }: z.core.$ZodIssue): string {
  if (message.endsWith("received undefined")) return "is required";
  const reason = message.replace(/^Invalid input: /, "");
  return reason[0].toLowerCase() + reason.slice(1);
}
