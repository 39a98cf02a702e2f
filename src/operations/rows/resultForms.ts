/** Forms in which callers read the rows of a result. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import { toTable } from "../../arrow/exchange/batch.js";
import { objectsOfBatch } from "../../arrow/exchange/objectsOfBatch.js";
import type { ValueForms } from "../../arrow/objects/valueForms.js";
import { lazyModule } from "../../async/lazy.js";
import { pulledStream } from "../../async/pulledStream.js";
import { setInspection } from "../../inspection.js";
import type { QueryResult, RowForms } from "../../namespace/queries.js";
import { valueForms } from "./objectOptions.js";

const printing = lazyModule(() => import("./printRows.js"));
const ipcOutput = lazyModule(() => import("../../arrow/exchange/ipcOutput.js"));

/**
 * Returns the result of a query.
 * @param batches runs the query; `isKept` is true if all rows will be in memory together
 */
export function resultOfBatches(
  schema: Schema,
  batches: (isKept: boolean) => AsyncGenerator<RecordBatch, void, undefined>,
): QueryResult {
  const result = {
    schema,
    [Symbol.asyncIterator]: () => batches(false),
    ...rowForms(schema, batches),
  };
  const columns = () => schema.fields.map(({ name, type }) => `${name}: ${type}`);
  setInspection(result, () => ["QueryResult", { columns: columns() }]);
  return result;
}

/** Returns the forms of a query's rows. */
function rowForms(
  schema: Schema,
  batches: (isKept: boolean) => AsyncGenerator<RecordBatch, void, undefined>,
): RowForms {
  const slices = (forms: ValueForms) => objectSlices(batches(false), forms);
  return {
    async toArrow(): Promise<Table> {
      const batchList: RecordBatch[] = [];
      for await (const batch of batches(true)) batchList.push(batch);
      return toTable(schema, batchList);
    },
    async toArray(options) {
      const forms = valueForms("toArray", options);
      const all: Record<string, unknown>[] = [];
      // No spread: a slice may have more rows than a call may have arguments.
      for await (const slice of slices(forms)) for (const row of slice) all.push(row);
      return all;
    },
    rows(options) {
      const forms = valueForms("rows", options);
      return { [Symbol.asyncIterator]: () => eachObject(slices(forms)) };
    },
    async print(options) {
      const { printRows } = await printing.get();
      return printRows(schema, slices({ dates: "iso", bigints: "bigint" }), options);
    },
    toIPC: async () => (await ipcOutput.get()).ipcBytes(schema, batches(false)),
    toIPCStream() {
      const pieces = ipcPieces(schema, batches(false));
      return pulledStream(pieces, () => pieces.return(undefined));
    },
  };
}

async function* objectSlices(
  batches: AsyncGenerator<RecordBatch, void, undefined>,
  forms: ValueForms,
): AsyncGenerator<Record<string, unknown>[], void, undefined> {
  for await (const batch of batches) yield* objectsOfBatch(batch, forms);
}

async function* eachObject(
  slices: AsyncGenerator<Record<string, unknown>[], void, undefined>,
): AsyncGenerator<Record<string, unknown>, void, undefined> {
  for await (const slice of slices) yield* slice;
}

async function* ipcPieces(
  schema: Schema,
  batches: AsyncGenerator<RecordBatch, void, undefined>,
): AsyncGenerator<Uint8Array, undefined> {
  yield* (await ipcOutput.get()).encodeIpc(schema, batches, true);
}
