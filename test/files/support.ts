/** Sources and targets of files in memory. */

import type * as arrow from "apache-arrow";

export const bytesOfText = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Returns the error of a promise that must fail. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

/** Returns a stream that keeps what it gets. */
export function bytesTarget(): { target: WritableStream<Uint8Array>; bytes(): Uint8Array } {
  const chunks: Uint8Array[] = [];
  const target = new WritableStream<Uint8Array>({ write: (chunk) => void chunks.push(chunk.slice()) });
  return { target, bytes: () => new Uint8Array(Buffer.concat(chunks)) };
}

/** Returns a stream that keeps text. */
export function textTarget(): { target: WritableStream<Uint8Array>; text(): string } {
  const { target, bytes } = bytesTarget();
  return { target, text: () => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes()) };
}

export async function batchesOf(rows: AsyncIterable<arrow.RecordBatch>): Promise<arrow.RecordBatch[]> {
  const batches: arrow.RecordBatch[] = [];
  for await (const batch of rows) batches.push(batch);
  return batches;
}
