/**
 * Objects of the catalog by their path: ids, parents, properties. Namespaces and tables share one space of
 * ids, and the parent of a new object must exist.
 */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import { CorruptFileError, InvalidInputError, NamespaceNotFoundError } from "../../errors.js";
import { checkObjectName, DEFAULT_DELIMITER, formatIdentifier } from "../../ident.js";
import type { Properties } from "../../namespace/request.js";
import type { Catalog, CatalogRow } from "./catalogRows.js";

/**
 * The id under which the catalog keeps an object; "" for the root. Any unambiguous text is looked up, as
 * other engines may have made objects that this one would refuse to make.
 * @throws InvalidInputError for parts that are empty or hold the delimiter
 */
export function objectIdOf(path: readonly string[]): string {
  for (const part of path) {
    if (part === "" || part.includes(DEFAULT_DELIMITER)) {
      throw new InvalidInputError(
        `id: invalid name ${JSON.stringify(part.slice(0, 300))}: it is empty or holds '${DEFAULT_DELIMITER}'`,
      );
    }
  }
  return path.join(DEFAULT_DELIMITER);
}

/** The path of an object by its id. */
export const pathOf = (objectId: string): readonly string[] => objectId.split(DEFAULT_DELIMITER);

/** Path of the namespace an object is in. */
export const parentOf = (path: readonly string[]): readonly string[] => path.slice(0, -1);

/** The row of a namespace, or null where there is no such namespace. The root has none. */
export function findNamespace(catalog: Catalog, path: readonly string[]): CatalogRow | null {
  const row = catalog.find(objectIdOf(path));
  return row?.objectType === "namespace" ? row : null;
}

/**
 * @throws NamespaceNotFoundError unless the namespace and all that it lies in exist, InvalidInputError where
 *   the first one that does not exist has an illegal name
 */
export function requireNamespace(catalog: Catalog, path: readonly string[]): void {
  for (let depth = 1; depth <= path.length; depth++) {
    const ancestor = path.slice(0, depth);
    if (findNamespace(catalog, ancestor) === null) throw namespaceNotFound(ancestor);
  }
}

/** The error for a namespace that does not exist. */
export function namespaceNotFound(path: readonly string[]): NamespaceNotFoundError | InvalidInputError {
  try {
    checkObjectName(path[path.length - 1]);
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
  return new NamespaceNotFoundError(`namespace ${formatIdentifier(path)} does not exist`);
}

/**
 * Properties as a row keeps them; null where there are none.
 */
export function encodeProperties(properties: Properties | undefined): string | null {
  if (properties === undefined || Object.keys(properties).length === 0) return null;
  return JSON.stringify(properties);
}

/** @throws CorruptFileError where a row's metadata is no JSON object of strings */
export function decodeProperties({ objectId, metadata }: CatalogRow): Record<string, string> {
  if (metadata === null || metadata === "") return {};
  const refuse = (cause?: unknown): never => {
    const options = { cause };
    throw new CorruptFileError("__manifest", 0, `metadata of ${objectId} is no map of strings`, options);
  };
  let value: unknown;
  try {
    value = parseBoundedJson(metadata);
  } catch (error) {
    return refuse(error);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse();
  for (const entry of Object.values(value)) if (typeof entry !== "string") return refuse();
  // A key like __proto__ must stay a key.
  return Object.fromEntries(Object.entries(value as Record<string, string>));
}
