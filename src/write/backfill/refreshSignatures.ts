/**
 * Signatures of the inputs of SQL columns, as LanceDB keeps them. Its refresh computes the rows of all other
 * fragments again. The metadata of the field:
 *
 *     computed_refresh.source_signature     sidecar:<digest>, or JSON: hexadecimal signatures by fragment id
 *     computed_refresh.definition_version   first 8 bytes of the SHA-256 of the expression, hexadecimal
 *     computed_refresh.recorded_at_version  version that the signatures describe
 *
 * The sidecar `_computed/<digest>.sig` is named by its SHA-256:
 *
 *     offset  bytes
 *     0       4      "CSIG"
 *     4       1      1
 *     5       4      number of fragments, u32
 *     9       12     for each fragment by its id: the id, u32; the signature, u64
 *
 * A signature is the first 8 bytes of the SHA-256 of a text, which names the files and columns of each input.
 * So a fragment with an equal signature has the same values of the inputs.
 */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import { compareBytes } from "../../bytes/compare.js";
import { toHex } from "../../bytes/hex.js";
import { CorruptFileError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { parseFieldPath } from "../../ident.js";
import { replaceFile } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import { declarationOf, REFRESH_SIGNATURES } from "../../schema/computedFields.js";
import { fieldIdsOf, findField } from "../../schema/fieldPaths.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { isStringMap } from "../../table/versions/jsonValues.js";
import { refreshDirectory } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { areStored, digestOf } from "./storedFields.js";

const utf8 = new TextEncoder();
const DEFINITION = "computed_refresh.definition_version";
const RECORDED_AT = "computed_refresh.recorded_at_version";
const SIDECAR = "sidecar:";
const MAGIC = [0x43, 0x53, 0x49, 0x47, 1];
const HEAD_BYTES = 9;
const ENTRY_BYTES = 12;
const MAX_BYTES = 256 * 1024 * 1024;
const DIGEST = /^[0-9a-f]{64}$/;
/** Hexadecimal digits of a signature. */
const DIGITS = 16;
/** Paths that a text of LanceDB has without escapes. */
const PLAIN_PATH = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/;

/** Signatures by fragment id. */
type Signatures = ReadonlyMap<number, string>;

/** Fragments in which the values of a column fit its inputs. */
export interface RecordedFragments {
  has(fragment: DataFragment): Promise<boolean>;
}

const NO_FRAGMENTS: RecordedFragments = { has: async () => false };

/** Reads the signatures of a column in a version. */
export async function recordedFragments(open: OpenVersion, field: TableField): Promise<RecordedFragments> {
  const column = await signedColumn(open, field);
  if (column === null) return NO_FRAGMENTS;
  const { definition, inputs } = column;
  if (field.metadata.get(DEFINITION) !== definition) return NO_FRAGMENTS;
  const signatures = await readSignatures(open, field);
  return {
    async has(fragment) {
      const stored = signatures.get(fragment.id);
      return stored !== undefined && stored === (await signatureOf(fragment, inputs));
    },
  };
}

/**
 * Writes the signatures of fragments in which all values fit.
 * @returns the metadata that names them; null if the column has no signatures, or those already
 */
export async function writeSignatures(
  open: OpenVersion,
  field: TableField,
  fits: (fragment: DataFragment) => boolean,
): Promise<ReadonlyMap<string, string> | null> {
  const column = await signedColumn(open, field);
  if (column === null) return null;
  const { definition, inputs } = column;
  const ids = new Set(fieldIdsOf(field));
  const signatures = new Map<number, string>();
  for (const fragment of open.file.manifest.fragments) {
    if (!fits(fragment) || !areStored(fragment.files, ids)) continue;
    const signature = await signatureOf(fragment, inputs);
    if (signature !== null) signatures.set(fragment.id, signature);
  }
  const bytes = encodeSidecar(signatures);
  const digest = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  const text = signatures.size === 0 ? "{}" : SIDECAR + digest;
  if (field.metadata.get(REFRESH_SIGNATURES) === text) return null;
  if (signatures.size > 0) {
    const { disk, root } = open.table;
    const directory = refreshDirectory(root);
    await disk.makeDirectory(directory, root);
    await replaceFile(disk, join(directory, `${digest}.sig`), bytes, { sync: true });
  }
  return new Map([
    [REFRESH_SIGNATURES, text],
    [DEFINITION, definition],
    [RECORDED_AT, String(open.version)],
  ]);
}

/** Column with signatures. */
interface SignedColumn {
  readonly definition: string;
  readonly inputs: readonly InputField[];
}

/** An input, or a field inside it. */
interface InputField {
  readonly names: readonly string[];
  /** Ids of the field and of those around it: a file may store it under any. */
  readonly ids: ReadonlySet<number>;
}

/** Returns null for a column without signatures. */
async function signedColumn({ file }: OpenVersion, field: TableField): Promise<SignedColumn | null> {
  const declaration = declarationOf(field);
  if (declaration?.kind !== "sql" || !field.metadata.has(REFRESH_SIGNATURES)) return null;
  const fields = decodeSchema(file.manifest.fields, file.path);
  const inputs: InputField[] = [];
  const add = (input: TableField, names: readonly string[], around: readonly number[]): void => {
    const ids = [input.id, ...around];
    inputs.push({ names, ids: new Set(ids) });
    for (const child of input.children) add(child, [...names, child.name], ids);
  };
  for (const path of declaration.inputs) {
    const names = parseFieldPath(path);
    const located = findField(fields, names);
    if (located === null) return null;
    const around = located.chain.slice(0, -1).map(({ id }) => id);
    add(located.field, names, around.toReversed());
  }
  const definition = (await digestOf(declaration.expression)).slice(0, DIGITS);
  return { definition, inputs: inputs.sort((a, b) => compareNames(a.names, b.names)) };
}

/** Compares lists of names as LanceDB does: by their bytes, name by name. */
function compareNames(a: readonly string[], b: readonly string[]): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const order = compareBytes(utf8.encode(a[index]), utf8.encode(b[index]));
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Returns null for a fragment whose files this release cannot name as LanceDB does. */
async function signatureOf(fragment: DataFragment, inputs: readonly InputField[]): Promise<string | null> {
  if (fragment.unknown !== undefined) return null;
  const parts: string[] = [];
  for (const { names, ids } of inputs) {
    const files: string[] = [];
    for (const { path, fields, columnIndices, baseId } of fragment.files) {
      const position = fields.findIndex((id) => ids.has(id));
      if (position < 0) continue;
      if (!PLAIN_PATH.test(path)) return null;
      const base = baseId === undefined ? "None" : `Some(${baseId})`;
      files.push(`(${base}, "${path}", ${columnIndices[position] ?? -1})`);
    }
    parts.push(`${names.join(".")}=InputBasis { files: [${files.join(", ")}], overlays: [] }`);
  }
  return (await digestOf(parts.join("|"))).slice(0, DIGITS);
}

/** Returns no signatures for a damaged or missing sidecar, which LanceDB treats alike. */
async function readSignatures({ table }: OpenVersion, { metadata }: TableField): Promise<Signatures> {
  const text = metadata.get(REFRESH_SIGNATURES) ?? "";
  if (!text.startsWith(SIDECAR)) return parseSignatures(text);
  const digest = text.slice(SIDECAR.length);
  if (!DIGEST.test(digest)) return new Map();
  try {
    const path = join(refreshDirectory(table.root), `${digest}.sig`);
    const bytes = await table.disk.readFile(path, MAX_BYTES);
    if (bytes === null) return new Map();
    const actual = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from(bytes))));
    return actual === digest ? decodeSidecar(bytes) : new Map();
  } catch (error) {
    if (error instanceof CorruptFileError) return new Map();
    throw error;
  }
}

function parseSignatures(text: string): Signatures {
  let value: unknown;
  try {
    value = parseBoundedJson(text);
  } catch {
    // Parsing fails only for text that is not JSON.
    return new Map();
  }
  return isStringMap(value)
    ? new Map(Object.entries(value).map(([id, signature]) => [Number(id), signature]))
    : new Map();
}

function encodeSidecar(signatures: Signatures): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEAD_BYTES + ENTRY_BYTES * signatures.size);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint32(MAGIC.length, signatures.size, true);
  let offset = HEAD_BYTES;
  for (const [id, signature] of [...signatures].sort(([a], [b]) => a - b)) {
    view.setUint32(offset, id, true);
    view.setBigUint64(offset + 4, BigInt(`0x${signature}`), true);
    offset += ENTRY_BYTES;
  }
  return bytes;
}

function decodeSidecar(bytes: Uint8Array): Signatures {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const hasHead = bytes.length >= HEAD_BYTES && MAGIC.every((byte, index) => bytes[index] === byte);
  const count = hasHead ? view.getUint32(MAGIC.length, true) : 0;
  const signatures = new Map<number, string>();
  if (bytes.length !== HEAD_BYTES + ENTRY_BYTES * count) return signatures;
  for (let offset = HEAD_BYTES; offset < bytes.length; offset += ENTRY_BYTES) {
    const signature = view
      .getBigUint64(offset + 4, true)
      .toString(16)
      .padStart(DIGITS, "0");
    signatures.set(view.getUint32(offset, true), signature);
  }
  return signatures;
}
