/** The form of an operation. */

import type { RowsInput } from "../namespace/rows.js";
import type { Answers, OperationName, Requests } from "../operationTable.js";
import type { Access } from "./access.js";
import type { OperationContext } from "./context.js";

/**
 * Function that does the work of an operation. The class has checked the members of the request and asked
 * `authorize` before. `rows` has no value for operations without rows.
 */
export type OperationBody<Name extends OperationName> = (
  context: OperationContext,
  request: Requests[Name],
  access: Access,
  rows: RowsInput,
) => Promise<Answers[Name]>;
