/**
 * Pins the parts of a batch request to their state on arrival. What is authorised, part by part, is then what is done,
 * although the caller or `authorize` may change the objects in between.
 */

import { InvalidInputError } from "../errors.js";
import type { BatchCommitOperation } from "../namespace/versions.js";
import { boundedParts, requireList, requireTableId } from "./request.js";

type Pinned<Part> = Part & { readonly id: readonly string[]; readonly branch?: string };

/** @throws InvalidInputError unless `parts` is a list of objects with the ids of tables, and not too long */
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

/** The operation that a part is authorised as. */
export const operationOfPart = (kind: string): string =>
  kind === "deleteTableVersions" ? "batchDeleteTableVersions" : kind;

/** @throws InvalidInputError for too many operations, and unless each has exactly one member with the id of a table */
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
