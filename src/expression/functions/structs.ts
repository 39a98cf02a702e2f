/** Functions that make structs, which are never null, and the function that returns a member. */

import type { Column } from "../../arrow/columns/column.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { bothValid } from "../../arrow/columns/validity.js";
import type { Steps } from "../../async/eventLoop.js";
import { takeBounded } from "../values/boundedTake.js";
import type { Operand, ValueKernel } from "../values/operands.js";
import { nullsOf, shownScalar } from "../values/scalars.js";
import { STRING, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, operandCount, taking } from "./form.js";

function* spread({ column, step }: Operand, type: ValueType, length: number): Steps<Column> {
  if (column.kind === "null") return nullsOf(type, length);
  return step === 1 ? column : yield* takeBounded(column, new Uint32Array(length));
}

const structKernel = (members: readonly ValueType[]): ValueKernel =>
  function* run(operands, length) {
    const children: Column[] = [];
    for (const [index, operand] of operands.entries()) {
      children.push(yield* spread(operand, members[index], length));
    }
    return { kind: "struct", length, validity: null, children };
  };

/** STRUCT(value, …): the members are c0, c1, … */
const struct: FunctionDefinition = (types) => {
  if (types.length === 0) return operandCount(1, Number.POSITIVE_INFINITY);
  const members = types.map((type, index) => ({ name: `c${index}`, type }));
  return {
    operands: types,
    type: { kind: "struct", members },
    kernel: structKernel(types),
    isStrict: false,
  };
};

/** NAMED_STRUCT('name', value, …). */
const namedStruct: FunctionDefinition = (types, constants) => {
  if (types.length === 0 || types.length % 2 !== 0) return "expected names and values in turn";
  const members: { name: string; type: ValueType }[] = [];
  for (let index = 0; index < types.length; index += 2) {
    const name = constants[index];
    if (typeof name !== "string" || name === "") return "the name of a member must be a constant text";
    if (members.some((member) => member.name === name))
      return `two members have the name ${shownScalar(name)}`;
    members.push({ name, type: types[index + 1] });
  }
  const kernel = structKernel(members.map(({ type }) => type));
  return {
    operands: types.map((type, index) => (index % 2 === 0 ? STRING : type)),
    type: { kind: "struct", members },
    isStrict: false,
    kernel: (operands, length, valid) =>
      kernel(
        operands.filter((_, index) => index % 2 === 1),
        length,
        valid,
      ),
  };
};

/** GET_FIELD(struct, 'name'): null if the struct is. */
export const member = taking("vv", ([struct], [, name]) => {
  if (struct.kind !== "struct") return "expected a struct";
  const index = struct.members.findIndex((each) => each.name === name);
  if (index < 0) return `there is no member ${shownScalar(name ?? null)}`;
  const { type } = struct.members[index];
  const kernel: ValueKernel = ([{ column }], length, valid) => {
    const child = column.kind === "struct" ? plainColumn(column.children[index]) : nullsOf(type, length);
    if (child.kind === "null") return child;
    return { ...child, validity: bothValid(child.validity, valid, length) } as Column;
  };
  return { operands: [struct, STRING], type, kernel };
});

export const STRUCT_FUNCTIONS: Functions = { struct, named_struct: namedStruct, get_field: member };
