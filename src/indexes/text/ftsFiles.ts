/** Builds and merges full-text indexes. */

import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { encodeRoaring } from "../../bytes/roaring.js";
import { StepProgress } from "../buildProgress.js";
import { BINARY_TYPE, binaryColumn, integerWords } from "../indexColumns.js";
import { once, writeIndexFile } from "../indexFile.js";
import type { IndexParameters, IndexTarget, OldSegment, RowStream, WrittenIndexFile } from "../kind.js";
import { counted } from "../sortedRows.js";
import { Analyzer } from "./analyzer.js";
import { addOldPartition, oldPartitions, smallPartitions, writeOldPartition } from "./oldPartitions.js";
import { formatTextParameters, type TextParameters, textParameters } from "./parameters.js";
import { PartitionBuilder } from "./partitionBuilder.js";
import { formTexts, setTexts } from "./partitionWriter.js";
import { documentTokens, RowTexts } from "./rowTexts.js";
import { DELETED_FRAGMENTS, METADATA_FILE, type TextIndex } from "./textIndex.js";
import { WordNumbers } from "./wordNumbers.js";

/** @throws UnsupportedError */
export async function checkTextParameters(parameters: IndexParameters): Promise<void> {
  await Analyzer.load(textParameters(parameters));
}

export async function buildTextIndex(rows: RowStream, target: IndexTarget): Promise<WrittenIndexFile[]> {
  const parameters = textParameters(target.parameters);
  const steps = new StepProgress(target, STEP_WEIGHTS);
  const builder = new PartitionBuilder({ ...target, progress: steps.of(1) }, parameters, 0);
  const read = counted(rows, { ...target, progress: steps.of(0) });
  await addRows(builder, await Analyzer.load(parameters), read);
  const metadata = await writeMetadata(target, parameters, builder.partitionIds);
  return [...builder.files, metadata];
}

/** Time that a row takes to be cut into tokens, and to be written. */
const STEP_WEIGHTS = [2, 1];

/**
 * Merges segments with further rows. Partitions whose rows stay are copied as they are, except small ones
 * (sizeTiers.ts), whose documents share a partition with the new rows.
 */
export async function mergeTextIndexes(
  old: readonly OldSegment[],
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenIndexFile[]> {
  const segments = old as readonly OldSegment<TextIndex>[];
  const [{ index: first }] = segments;
  const { parameters } = first;
  const parts = oldPartitions(segments);
  const small = await smallPartitions(parts, target);
  const files: WrittenIndexFile[] = [];
  const ids: string[] = [];
  const steps = new StepProgress(target, STEP_WEIGHTS);
  let copied = 0;
  for (const part of parts) {
    if (small.has(part)) continue;
    const written = await writeOldPartition(part, target, String(ids.length));
    copied += part.partition.documentCount;
    for (const step of STEP_WEIGHTS.keys()) steps.of(step)(copied);
    if (written === null) continue;
    files.push(...written);
    ids.push(String(ids.length));
  }
  const after = (step: number) => ({ ...target, progress: (done: number) => steps.of(step)(copied + done) });
  const builder = new PartitionBuilder(after(1), parameters, ids.length);
  for (const [part, tokens] of small) await addOldPartition(builder, part, tokens, target);
  await addRows(builder, await first.analyzer(), counted(rows, after(0)));
  ids.push(...builder.partitionIds);
  return [...files, ...builder.files, await writeMetadata(target, parameters, ids)];
}

async function writeMetadata(
  target: IndexTarget,
  parameters: TextParameters,
  partitionIds: readonly string[],
): Promise<WrittenIndexFile> {
  const columns = [{ name: DELETED_FRAGMENTS, type: BINARY_TYPE }];
  const rows = once([binaryColumn([encodeRoaring(new Uint32Array(0))])]);
  return writeIndexFile(target, METADATA_FILE, columns, rows, (file) =>
    setTexts(file, {
      params: formatTextParameters(parameters),
      partitions: `[${partitionIds.join(",")}]`,
      token_set_format: "arrow",
      ...formTexts(parameters),
    }),
  );
}

async function addRows(builder: PartitionBuilder, analyzer: Analyzer, rows: RowStream): Promise<void> {
  const numbers = analyzer.cutsWords ? WordNumbers.of(analyzer, (token) => builder.numberOf(token)) : null;
  const addNumber = (number: number, position: number): void => builder.addNumber(number, position);
  for await (const { values, ids, rowCount } of rows) {
    const words = integerWords(ids, "rows of an index");
    const texts = new RowTexts(values);
    numbers?.beginTexts();
    let bytes = 0;
    for (let row = 0; row < rowCount; row++) {
      const text = numbers === null ? null : texts.bytesOf(row);
      const isDone = text !== null && numbers?.each(text.bytes, text.start, text.end, addNumber);
      if (isDone !== true) {
        const add = (token: string, position: number): void => addNumber(builder.numberOf(token), position);
        await runAsync(documentTokens(analyzer, texts.of(row), add));
      }
      builder.endDocument(words[2 * row], words[2 * row + 1]);
      bytes += ROW_BYTES + (isDone === true ? text.end - text.start : STEP_BYTES);
      if (bytes >= STEP_BYTES) {
        await yieldToEventLoop();
        bytes = 0;
      }
      if (builder.isFull && (await builder.flush())) numbers?.forget();
    }
  }
  await builder.flush();
}

/** Bytes of text between yields, and minimum bytes counted per row. */
const STEP_BYTES = 4096;
const ROW_BYTES = 64;
