/**
 * Protobuf messages as trees of fields, to change one field and leave all others. An outline says which
 * fields are messages.
 */

import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export interface Outline {
  readonly [fieldNumber: number]: Outline;
}

export type WireNode =
  | { readonly kind: "number"; readonly field: number; readonly value: bigint }
  | { readonly kind: "bytes"; readonly field: number; readonly value: Uint8Array }
  | {
      readonly kind: "message";
      readonly field: number;
      readonly nodes: readonly WireNode[];
      readonly outline: Outline;
    };

export function decodeTree(bytes: Uint8Array, outline: Outline): WireNode[] {
  const reader = new BinaryReader(bytes);
  const nodes: WireNode[] = [];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (wireType === WireType.Varint) {
      nodes.push({ kind: "number", field, value: BigInt(reader.uint64()) });
    } else if (wireType === WireType.LengthDelimited) {
      const value = reader.bytes().slice();
      const inner = outline[field];
      nodes.push(
        inner === undefined
          ? { kind: "bytes", field, value }
          : { kind: "message", field, nodes: decodeTree(value, inner), outline: inner },
      );
    } else {
      throw new Error(`wire type ${wireType} is in none of the messages`);
    }
  }
  return nodes;
}

export function encodeTree(nodes: readonly WireNode[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const node of nodes) {
    if (node.kind === "number") writer.tag(node.field, WireType.Varint).uint64(node.value);
    else {
      const bytes = node.kind === "bytes" ? node.value : encodeTree(node.nodes);
      writer.tag(node.field, WireType.LengthDelimited).bytes(bytes);
    }
  }
  return writer.finish();
}

/** Path to a node: positions, from the outermost list in. */
export type WirePath = readonly number[];

/** Paths of all nodes, messages included. */
export function pathsOf(nodes: readonly WireNode[]): WirePath[] {
  return nodes.flatMap((node, index) => [
    [index],
    ...(node.kind === "message" ? pathsOf(node.nodes).map((rest) => [index, ...rest]) : []),
  ]);
}

export function nodeAt(nodes: readonly WireNode[], [index, ...rest]: WirePath): WireNode {
  const node = nodes[index];
  return rest.length === 0 || node.kind !== "message" ? node : nodeAt(node.nodes, rest);
}

export function replaceAt(
  nodes: readonly WireNode[],
  [index, ...rest]: WirePath,
  replacement: readonly WireNode[],
): WireNode[] {
  const node = nodes[index];
  const inside =
    rest.length === 0 || node.kind !== "message"
      ? replacement
      : [{ ...node, nodes: replaceAt(node.nodes, rest, replacement) }];
  return [...nodes.slice(0, index), ...inside, ...nodes.slice(index + 1)];
}
