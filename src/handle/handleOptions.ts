/** Options of a handle's methods: their types, and the check that nobody misspelt them. */

import { InvalidInputError } from "../errors.js";
import type * as queries from "../namespace/queries.js";
import type { RequestBase, TableRequest } from "../namespace/request.js";
import type { FullTextQuery } from "../namespace/textQueries.js";
import type { WithProgress } from "../namespace/upkeep.js";
import type { OperationName } from "../operationTable.js";
import { isObject, shortly, unknownMember } from "../optionMembers.js";
import { requestMembers } from "../requestMembers.js";
import type { ScanOptions } from "./scan.js";

/** Which version of a table a handle reads, and who calls. */
export interface TableHandleOptions extends Pick<RequestBase, "identity" | "principal" | "context"> {
  /** The branch; absent: main. */
  readonly branch?: string | undefined;
  /** Reads see this version; writes through the handle are refused. */
  readonly version?: number | undefined;
  /** Reads see the version the tag names; writes through the handle are refused. */
  readonly tag?: string | undefined;
}

/** What every call of a handle may have. */
export interface SignalOptions {
  /** Aborting it ends the call; changes that were not committed by then are dropped. */
  readonly signal?: AbortSignal | undefined;
}

/** Which rows to update, and how. */
export interface UpdateOptions extends SignalOptions, WithProgress {
  /** Selects the rows: SQL text, or an expression made with `col`, `lit` or `sql`. Default: all. */
  readonly where?: string | queries.FilterExpression | undefined;
  /** Values by the names of top-level columns. */
  readonly values?: Readonly<Record<string, unknown>> | undefined;
  /** SQL expressions by the paths of columns. */
  readonly valuesSql?: Readonly<Record<string, string>> | undefined;
  /** Values of the parameters of `where` and the expressions: `$name` in their text. */
  readonly params?: queries.FilterParameters | undefined;
}

/** A search by vector or by text, beside the options of a scan. */
export interface SearchOptions extends ScanOptions, queries.VectorSearchOptions {
  /** The vector to search for, or several. */
  readonly vector?: queries.SearchVector | undefined;
  /** Words to search for in all indexed text columns. */
  readonly text?: string | undefined;
  /** The search by text in full, instead of `text`. */
  readonly fullTextQuery?: FullTextQuery | undefined;
  /** Of a search by text: whether rows have `_highlights`: where their texts have what was searched for. Default false. */
  readonly highlight?: boolean | undefined;
  /** Of a search by vector and text at once: how relevant a row is. Default: reciprocal rank fusion. */
  readonly rerank?: queries.Rerank | undefined;
  /** Whether the filter comes before the search. Default true. */
  readonly prefilter?: boolean | undefined;
  /** Whether only rows are searched that an index covers. Default false. */
  readonly fastSearch?: boolean | undefined;
}

/** Names of the options of a search by vector. */
export const VECTOR_OPTIONS: readonly (keyof queries.VectorSearchOptions)[] = [
  ...(["vectorColumn", "k", "distanceType", "nprobes", "minimumNprobes", "maximumNprobes"] as const),
  ...(["refineFactor", "ef", "prefilter", "bypassVectorIndex", "fastSearch"] as const),
  ...(["lowerBound", "upperBound"] as const),
];

/** Members of requests that the handle itself decides. */
type OfHandle = "id" | "branch" | "version" | "tag" | "identity" | "principal" | "context";

/** The members of a request that are neither the handle's nor arguments of the method. */
export type OptionsOf<Request extends TableRequest | RequestBase, Given extends keyof Request = never> = Omit<
  Request,
  Given | OfHandle
>;

const OF_HANDLE: Readonly<Record<OfHandle, true>> = {
  id: true,
  branch: true,
  version: true,
  tag: true,
  identity: true,
  principal: true,
  context: true,
};

/**
 * Options of a method, checked: an object of known members.
 * @param method of the handle
 * @param known names of members, or the method of the namespace whose request's members they are
 * @param given members of that request that are arguments of the method
 * @throws InvalidInputError naming the member, and the one that was meant
 */
export function checkedOptions<Options extends object>(
  method: string,
  options: Options | undefined | null,
  known: readonly string[] | OperationName,
  given: readonly string[] = [],
): Options {
  if (options === undefined || options === null) return {} as Options;
  if (!isObject(options)) {
    throw new InvalidInputError(
      `${method}: options must be an object, as in { signal }, not ${shortly(options)}`,
    );
  }
  const names = typeof known === "string" ? requestMembers(known) : known;
  const members = names.filter((name) => !Object.hasOwn(OF_HANDLE, name) && !given.includes(name));
  for (const [member, value] of Object.entries(options)) {
    if (value === undefined || members.includes(member)) continue;
    if (Object.hasOwn(OF_HANDLE, member)) {
      throw new InvalidInputError(
        `${member}: a handle has its own; ${member === "id" ? "ns.table(id)" : `ns.table(id, { ${member} })`} gives one with another`,
      );
    }
    throw unknownMember(member, member, members, `option of ${method}`);
  }
  return options;
}

/** Treats null as an absent option, as requests do. */
export const withoutNulls = (point: TableHandleOptions): TableHandleOptions =>
  Object.fromEntries(Object.entries(point).filter(([, value]) => value !== null));

/** Names of the options of a handle. */
export const HANDLE_OPTIONS: readonly string[] = Object.keys(OF_HANDLE).filter((name) => name !== "id");
