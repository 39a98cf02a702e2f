/**
 * Name of a protobuf message without its package: what tells the type of an index's details. Lance has moved the messages
 * between packages: `/lance.table.BTreeIndexDetails` and `/lance.index.pb.BTreeIndexDetails` are one type.
 */
export const messageName = (typeUrl: string): string =>
  typeUrl.slice(Math.max(typeUrl.lastIndexOf("/"), typeUrl.lastIndexOf(".")) + 1);
