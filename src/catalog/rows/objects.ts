/** Handles catalog objects by path: ids, parents, properties. Namespaces and tables share their ids. */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import { CorruptFileError, InvalidInputError, NamespaceNotFoundError } from "../../errors.js";
import { checkObjectName, DEFAULT_DELIMITER, formatIdentifier } from "../../ident.js";
import type { Properties } from "../../namespace/request.js";
import type { Catalog, CatalogRow } from "./catalogRows.js";

/**
 * Returns the id by which the catalog stores an object; "" for the root. Accepts any unambiguous text,
 * because other engines may have made objects that this one would refuse to make.
 * @throws InvalidInputError for parts that are empty or contain the delimiter
 */
export function objectIdOf(path: readonly string[]): string {
  for (const part of path) {
    if (part === "" || part.includes(DEFAULT_DELIMITER)) {
      throw new InvalidInputError(
        `id: invalid name ${JSON.stringify(part.slice(0, 300))}: it is empty or contains '${DEFAULT_DELIMITER}'`,
      );
    }
  }
  return path.join(DEFAULT_DELIMITER);
}

/** Returns the path of an object by its id. */
export const pathOf = (objectId: string): readonly string[] => objectId.split(DEFAULT_DELIMITER);

export const parentOf = (path: readonly string[]): readonly string[] => path.slice(0, -1);

/** Returns the row of a namespace, or null. The root has none. */
export function findNamespace(catalog: Catalog, path: readonly string[]): CatalogRow | null {
  const row = catalog.find(objectIdOf(path));
  return row?.objectType === "namespace" ? row : null;
}

/**
 * @throws NamespaceNotFoundError unless the namespace and its parents exist, InvalidInputError if the first
 *   missing one has an illegal name
 */
export function requireNamespace(catalog: Catalog, path: readonly string[]): void {
  for (let depth = 1; depth <= path.length; depth++) {
    const ancestor = path.slice(0, depth);
    if (findNamespace(catalog, ancestor) === null) throw namespaceNotFound(ancestor);
  }
}

export function namespaceNotFound(path: readonly string[]): NamespaceNotFoundError | InvalidInputError {
  try {
    checkObjectName(path[path.length - 1]);
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
  return new NamespaceNotFoundError(`namespace ${formatIdentifier(path)} does not exist`);
}

/** Encodes properties for a row; null if there are none. */
export function encodeProperties(properties: Properties | undefined): string | null {
  if (properties === undefined || Object.keys(properties).length === 0) return null;
  return JSON.stringify(properties);
}

/** @throws CorruptFileError if a row's metadata is not a JSON object of strings */
export function decodeProperties({ objectId, metadata }: CatalogRow): Record<string, string> {
  if (metadata === null || metadata === "") return {};
  const refuse = (cause?: unknown): never => {
    const options = { cause };
    throw new CorruptFileError("__manifest", 0, `metadata of ${objectId} is not a map of strings`, options);
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
