/** QueryTable: returns rows of a version, with columns, filter, order, limit and offset. */

import type { RecordBatch } from "apache-arrow";
import { CorruptFileError, TableVersionNotFoundError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { QueryResult, QueryTableRequest } from "../../namespace/queries.js";
import { runQuery } from "../../query/run/runQuery.js";
import { KEPT, type ReadAhead } from "../../rows/readAhead.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { operationError } from "../failure.js";
import { requireTableId } from "../request.js";
import { isInPlace } from "../snapshot.js";
import { planQuery } from "./plannedQuery.js";
import { rowForms } from "./rowForms.js";

export async function queryTable(
  context: OperationContext,
  request: QueryTableRequest,
  access: Access,
): Promise<QueryResult> {
  const { snapshot, plan, source, numbers, options } = await planQuery(context, request, access);
  /** Missing files of a removed version are not corruption. */
  const whyUnreadable = async (error: unknown): Promise<unknown> => {
    if (!(error instanceof CorruptFileError) || (await isInPlace(snapshot))) return error;
    return new TableVersionNotFoundError(
      `version ${snapshot.version} of table ${formatIdentifier(requireTableId(request.id))} was removed while it was read`,
      { cause: error },
    );
  };
  async function* batches(readAhead: ReadAhead): AsyncGenerator<RecordBatch, void, undefined> {
    try {
      yield* runQuery(source, plan, numbers, { ...options, readAhead });
    } catch (error) {
      const reason = await whyUnreadable(error).catch((later: unknown) => later);
      throw operationError(reason, "queryTable", request.signal);
    }
  }
  return {
    schema: plan.projection.schema,
    [Symbol.asyncIterator]: () => batches(context.streams.open()),
    ...rowForms(plan.projection.schema, (isKept) => batches(isKept ? KEPT : context.streams.open())),
  };
}
