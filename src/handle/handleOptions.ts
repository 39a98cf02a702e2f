/** Options of a handle's methods: their types, and the check for unknown options. */

import { InvalidInputError } from "../errors.js";
import type { Moment, WithMessage } from "../namespace/members.js";
import type * as queries from "../namespace/queries.js";
import type { RequestBase, TableRequest } from "../namespace/request.js";
import type { FullTextQuery } from "../namespace/textQueries.js";
import type { WithProgress } from "../namespace/upkeep.js";
import { type OperationName, recordOf } from "../operationTable.js";
import { isObject, shortly, unknownMember } from "../optionMembers.js";
import { requestMembers } from "../requestMembers.js";
import type { TableDefinition } from "./defineTable.js";
import type { AnyRow, ColumnPath, InputValues, Selectable } from "./rowTypes.js";
import type { ScanOptions } from "./scan.js";

/** Version that a handle reads, and its caller. */
export interface TableHandleOptions extends Pick<RequestBase, "identity" | "principal" | "context"> {
  /**
   * Columns of the table, made with `defineTable`. They give the type of the handle's rows, and the schema of
   * plain objects in `create` and `insert`. Only an insert of objects compares them with an existing table:
   * it fails if a type differs.
   */
  readonly schema?: TableDefinition<object> | undefined;
  /** Name of the branch. Default: main. */
  readonly branch?: string | undefined;
  /** Number of the version to read. A handle with a version refuses writes. Default: the latest version. */
  readonly version?: number | undefined;
  /** Tag to read; such a handle refuses writes. Not allowed with `branch`, `version` or `asOf`. */
  readonly tag?: string | undefined;
  /**
   * Moment whose version is read: a Date, or ISO text with a time zone. It is the latest version whose commit
   * time is not later. A handle with a moment refuses writes. Not allowed with `version` or `tag`.
   *
   *     const yesterday = ns.table("orders", { asOf: new Date(Date.now() - 86_400_000) });
   */
  readonly asOf?: Moment | undefined;
}

/** Option of every method of a handle. */
export interface SignalOptions {
  /** Aborts the call and drops uncommitted changes. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of the methods that commit a version and have no others. */
export interface CommitMethodOptions extends SignalOptions, WithMessage {}

/** Options of {@link TableHandle.takeRows}. */
export interface TakeRowsOptions<Columns = Selectable>
  extends Omit<OptionsOf<queries.TakeTableRowsRequest>, "columns"> {
  /** Columns of the result. Default: all columns of the table. */
  readonly columns?: Columns | undefined;
}

/** Options of {@link TableHandle.update}. */
export interface UpdateOptions<Row = AnyRow> extends SignalOptions, WithProgress, WithMessage {
  /** Selects the rows: SQL text, or an expression made with `col`, `lit` or `sql`. Default: all rows. */
  readonly where?: queries.RowCondition | undefined;
  /** Synonym of `where`. */
  readonly filter?: queries.RowCondition | undefined;
  /** Synonym of `where`. */
  readonly predicate?: queries.RowCondition | undefined;
  /** New values by the names of top-level columns. */
  readonly values?: InputValues<Row> | undefined;
  /** SQL expressions by column path. They see the values before the update. */
  readonly valuesSql?: SqlByPath<ColumnPath<Row>> | undefined;
  /** Values of the parameters in `where` and the expressions, written `$name`. */
  readonly params?: queries.FilterParameters | undefined;
}

/** Option of the methods that match rows of two versions. */
export interface KeyOption<Row = AnyRow> {
  /** Columns whose values identify a row. Default: stable row ids, if the table has them. */
  readonly on?: ColumnPath<Row> | readonly ColumnPath<Row>[] | undefined;
}

/** SQL expressions by column path. */
type SqlByPath<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : { readonly [Each in Path]?: string };

/** Options of {@link TableHandle.search}. */
export interface SearchOptions<
  Columns = Selectable,
  Vector extends queries.SearchVector | undefined = queries.SearchVector | undefined,
  Text extends string | undefined = string | undefined,
  Query extends FullTextQuery | undefined = FullTextQuery | undefined,
  Path extends string = string,
> extends ScanOptions<Columns, Path>,
    VectorOptions<Path>,
    Pick<queries.QueryTableRequest, "highlight" | "rerank"> {
  /** Query vector; see {@link QueryTableRequest.vector}. */
  readonly vector?: Vector;
  /** Words to search in all indexed text columns. Not allowed with `fullTextQuery`. */
  readonly text?: Text;
  /** Text query; see {@link QueryTableRequest.fullTextQuery}. */
  readonly fullTextQuery?: Query;
}

/** Options of a vector search on a table with columns of these paths. */
export interface VectorOptions<Path extends string = string>
  extends Omit<queries.VectorSearchOptions, "vectorColumn"> {
  /** Path of the vector column. Default: the only vector column of the table. */
  readonly vectorColumn?: Path | undefined;
}

/** Names of the options of a vector search. */
export const VECTOR_OPTIONS: readonly (keyof queries.VectorSearchOptions)[] = [
  ...(["vectorColumn", "k", "distanceType", "nprobes", "minimumNprobes", "maximumNprobes"] as const),
  ...(["refineFactor", "ef", "prefilter", "bypassVectorIndex", "fastSearch"] as const),
  ...(["lowerBound", "upperBound"] as const),
];

/** Request members that the handle sets. */
type OfHandle = "id" | "branch" | "version" | "tag" | "asOf" | "identity" | "principal" | "context";

/** Members of a request, except those that the handle sets and those that are arguments of the method. */
export type OptionsOf<
  Request extends TableRequest | RequestBase,
  Argument extends keyof Request = never,
> = Request extends unknown ? Omit<Request, Argument | OfHandle> : never;

const OF_HANDLE: Readonly<Record<OfHandle, true>> = recordOf(
  true,
  "id branch version tag asOf identity principal context",
);

/**
 * Returns the options of a method after a check for unknown members.
 * @param method name of the handle's method
 * @param names allowed options, or the operation whose request members are allowed
 * @param excluded request members that are arguments of the method
 * @throws InvalidInputError naming the unknown option, and the most similar allowed one
 */
export function checkedOptions<Options extends object>(
  method: string,
  options: Options | undefined | null,
  names: readonly string[] | OperationName,
  excluded: readonly string[] = [],
): Options {
  if (options === undefined || options === null) return {} as Options;
  if (!isObject(options)) {
    throw new InvalidInputError(
      `${method}: options must be an object, as in { signal }, not ${shortly(options)}`,
    );
  }
  const allowed = typeof names === "string" ? requestMembers(names) : names;
  const members = allowed.filter((name) => !Object.hasOwn(OF_HANDLE, name) && !excluded.includes(name));
  for (const [member, value] of Object.entries(options)) {
    if (value === undefined || members.includes(member)) continue;
    if (Object.hasOwn(OF_HANDLE, member)) {
      throw new InvalidInputError(
        `${member}: the handle sets it; ${member === "id" ? "ns.table(id)" : `ns.table(id, { ${member} })`} returns a handle with another value`,
      );
    }
    throw unknownMember(member, member, members, `option of ${method}`);
  }
  return options;
}

/** Treats null as an absent option, as requests do. */
export const withoutNulls = <Options extends object>(point: Options): Partial<Options> =>
  Object.fromEntries(Object.entries(point).filter(([, value]) => value !== null)) as Partial<Options>;

/** Names of the options of a handle. */
export const HANDLE_OPTIONS: readonly string[] = [
  ...Object.keys(OF_HANDLE).filter((name) => name !== "id"),
  "schema",
];

/** Copies a moment, because the caller may change its Date. Operations refuse what is not a moment. */
export const copyOfMoment = (asOf: Moment | undefined): Moment | undefined =>
  Object.prototype.toString.call(asOf) === "[object Date]" ? new Date(asOf as Date) : asOf;
