/** AggregateTable: functions of groups of rows. This operation is not in the namespace spec. */

import { runAsync } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import type { ExpressionInput } from "../../expression/expression.js";
import { isExpression } from "../../expression/isExpression.js";
import { shortly } from "../../optionMembers.js";
import { type AggregatePlan, planAggregate } from "../../query/aggregate/aggregatePlan.js";
import {
  type AggregateQuery,
  type AggregateQueryOptions,
  aggregateBatches,
  type ResultOrder,
  resultOrder,
} from "../../query/aggregate/aggregateQuery.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { sortColumns } from "../../query/order/sortColumns.js";
import { decodeSchema } from "../../schema/schema.js";
import { filterOf, optionalFilter, parametersOf } from "../filter.js";
import type { OperationBody } from "../operation.js";
import { isAbsent, optionalBoolean, optionalCount } from "../request.js";
import { requireSnapshot } from "../snapshot.js";
import { makeSpillFile } from "../spillFile.js";
import { reportedBatches } from "./reportedBatches.js";
import { resultOfBatches } from "./resultForms.js";

export const aggregateTable: OperationBody<"aggregateTable"> = async (context, request, access) => {
  const { signal, memory } = request;
  const limit = optionalCount(request.limit, "limit", 1) ?? Number.POSITIVE_INFINITY;
  const offset = optionalCount(request.offset, "offset") ?? 0;
  const batchRows = optionalCount(request.batchSize, "batchSize", 1) ?? Number.POSITIVE_INFINITY;
  const batchBytes = optionalCount(request.batchBytes, "batchBytes", 1);
  const maxColumns = optionalCount(request.maxColumns, "maxColumns", 1) ?? Number.POSITIVE_INFINITY;
  const useIndexes = optionalBoolean(request.useScalarIndex, "useScalarIndex");
  const aggregate = {
    groupBy: readKeys(request.groupBy),
    values: readValues(request.values),
    having: optionalFilter(request.having, "having") ?? null,
    parameters: parametersOf(request.params),
  };
  const columnCount = aggregate.groupBy.length + Object.keys(aggregate.values).length;
  if (columnCount > maxColumns) {
    throw new InvalidInputError(
      `values: ${columnCount} columns are named; at most ${maxColumns} are returned`,
    );
  }
  const snapshot = await requireSnapshot(context, request, access);
  const { manifest } = snapshot.file;
  const plan = await runAsync(planAggregate(aggregate, decodeSchema(manifest.fields, snapshot.path)), signal);
  const query: AggregateQuery = {
    fragments: manifest.fragments,
    plan,
    filter: isAbsent(request.filter)
      ? null
      : await filterOf(snapshot, request.filter, request.params, "filter", signal, useIndexes),
    order: readOrder(request.orderBy, plan),
    offset,
    limit,
  };
  const options: Omit<AggregateQueryOptions, "readAhead"> = {
    batchRows,
    batchBytes,
    memory,
    signal,
    makeFile: () => makeSpillFile(snapshot.table, "groupBy", "a filter gives fewer groups"),
  };
  const source = versionSource(snapshot);
  const numbers = new RowNumbers(source, manifest, snapshot.path);
  const reading = { operation: "aggregateTable", request, versions: [snapshot] };
  return resultOfBatches(plan.schema, () => {
    const readAhead = context.streams.open();
    return reportedBatches(
      () => aggregateBatches(source, query, numbers, { ...options, readAhead }),
      reading,
    );
  });
};

function readKeys(groupBy: unknown): readonly ExpressionInput[] {
  if (isAbsent(groupBy)) return [];
  if (!Array.isArray(groupBy)) return [requireExpression(groupBy, "groupBy")];
  return groupBy.map((key, index) => requireExpression(key, `groupBy[${index}]`));
}

function readValues(values: unknown): Readonly<Record<string, ExpressionInput>> {
  if (typeof values !== "object" || values === null || Array.isArray(values) || isExpression(values)) {
    throw new InvalidInputError(
      `values: must be an object of expressions, as in { n: "count(*)" }, not ${shortly(values)}`,
    );
  }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, requireExpression(value, `values.${name}`)]),
  );
}

function requireExpression(value: unknown, label: string): ExpressionInput {
  if (typeof value === "string" || isExpression(value)) return value;
  throw new InvalidInputError(`${label}: must be a text or an expression, not ${shortly(value)}`);
}

function readOrder(orderBy: unknown, plan: AggregatePlan): readonly ResultOrder[] {
  return sortColumns(orderBy).map(({ label, columnName, ascending, nullsFirst }) =>
    resultOrder(plan, columnName, label, { ascending, nullsFirst }),
  );
}
