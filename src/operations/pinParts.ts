/**
 * Copies the parts of a batch request, because the caller or `authorize` may change them later. The engine
 * uses the values that were authorised.
 */

import { InvalidInputError } from "../errors.js";
import type { BatchCommitOperation } from "../namespace/versions.js";
import { boundedParts, requireList, requireTableId } from "./request.js";

type Pinned<Part> = Part & { readonly id: readonly string[]; readonly branch?: string };

/**
 * Returns a frozen copy of each part.
 * @throws InvalidInputError unless `parts` is a list of objects with ids of tables, within the maximum length
 */
export function pinParts<Part extends object>(
  parts: readonly Part[],
  member: string,
  idOf: (part: Part) => unknown,
): Pinned<Part>[] {
  return boundedParts(requireList(parts, member), member).map((part) => {
    const id = Object.freeze([...requireTableId(idOf(part))]);
    return Object.freeze({ ...part, id });
  });
}

const KINDS: readonly (keyof BatchCommitOperation)[] = [
  "declareTable",
  "createTableVersion",
  "deleteTableVersions",
  "deregisterTable",
];

/** Returns the operation that `authorize` is asked about for a part. */
export const operationOfPart = (kind: string): string =>
  kind === "deleteTableVersions" ? "batchDeleteTableVersions" : kind;

/**
 * Returns a frozen copy of each operation.
 * @throws InvalidInputError for too many operations, or unless each has exactly one member with the id of a
 *   table
 */
export function pinOperations(operations: readonly BatchCommitOperation[]): Record<string, Pinned<object>>[] {
  return boundedParts(requireList(operations, "operations"), "operations").map((operation) => {
    const kinds = KINDS.filter((kind) => operation[kind] !== undefined && operation[kind] !== null);
    if (kinds.length !== 1) {
      throw new InvalidInputError(`operations: each has exactly one of ${KINDS.join(", ")}`);
    }
    const [kind] = kinds;
    const [part] = pinParts([operation[kind] as { id?: unknown }], `operations.${kind}`, (each) => each.id);
    return { [kind]: part };
  });
}
