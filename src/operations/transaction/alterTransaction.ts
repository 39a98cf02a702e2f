/** AlterTransaction: cancels a job. A committed transaction is part of its version and can't be changed. */

import { ConcurrentModificationError, InvalidInputError, UnsupportedError } from "../../errors.js";
import { findCommitted } from "../findCommitted.js";
import { describeAsTransaction, findJobOf } from "../jobAccess.js";
import type { OperationBody } from "../operation.js";
import { optionalId } from "../request.js";
import { parseChoice, requireObjects } from "../requestValues.js";

const STATUSES = ["Queued", "Running", "Succeeded", "Failed", "Canceled"] as const;
const ACTIONS: readonly string[] = ["setStatusAction", "setPropertyAction", "unsetPropertyAction"];

export const alterTransaction: OperationBody<"alterTransaction"> = async (context, request, access) => {
  const statuses = statusesOf(request.actions);
  const path = optionalId(request.id);
  const job = await findJobOf(context, path, "alterTransaction", access);
  if (job === null) {
    // Reports an unknown transaction, or one that the caller may not see.
    await findCommitted(context, path, "alterTransaction", access, request.signal);
    throw new UnsupportedError("actions: the transaction is committed and can't be changed");
  }
  for (const status of statuses) {
    if (status === null) throw new UnsupportedError("actions: a job has no properties to change");
    if (status !== "Canceled")
      throw new UnsupportedError(`actions: a job can be set to Canceled, not to ${status}`);
  }
  const after = await (await context.jobs.get()).cancel(job.jobId, request.signal);
  if (after.state !== "Cancelled" && after.state !== "Running" && after.state !== "Queued") {
    throw new ConcurrentModificationError(`the job has ended: it is ${after.state}`);
  }
  return describeAsTransaction(after);
};

/** Returns the statuses that actions set. Null stands for an action on a property. */
function statusesOf(value: unknown): ((typeof STATUSES)[number] | null)[] {
  const actions = requireObjects(value, "actions");
  if (actions.length === 0) throw new InvalidInputError("actions: at least one is needed");
  return actions.map((action, index) => {
    const names = ACTIONS.filter((name) => action[name] !== undefined && action[name] !== null);
    if (names.length !== 1) {
      throw new InvalidInputError(`actions[${index}]: must have exactly one of ${ACTIONS.join(", ")}`);
    }
    if (names[0] !== "setStatusAction") return null;
    const { status } = action.setStatusAction as { readonly status?: unknown };
    if (status === undefined || status === null) {
      throw new InvalidInputError(`actions[${index}].setStatusAction.status: is required`);
    }
    return parseChoice(status, `actions[${index}].setStatusAction.status`, STATUSES, "Canceled");
  });
}
