/**
 * Binds an expression to the columns of a table: names become columns, every node gets a type, operands are brought to
 * common types, and what does not depend on a row is computed at once.
 *
 * A literal beside a column is brought to the column's type where the comparison stands directly in the filter, or in
 * AND and OR of it; it is refused if the column has no such value. Elsewhere the wider type of both is taken. That is
 * how the reference does it.
 */

import type { Column } from "../../arrow/columns/column.js";
import type { DecimalType, IntegerType, TimeUnit } from "../../arrow/types/type.js";
import { isDate, isUint8Array } from "../../bytes/tag.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import {
  type Bound,
  type BoundCall,
  type ColumnReference,
  type Constant,
  constantOf,
  isNull,
  logic,
  nullOf,
} from "../evaluate/bound.js";
import { evaluate } from "../evaluate/evaluate.js";
import type { FunctionDefinition } from "../functions/form.js";
import { arrayElement, LIST_FUNCTIONS } from "../functions/lists.js";
import { NUMBER_FUNCTIONS } from "../functions/numbers.js";
import { concatenation, TEXT_FUNCTIONS } from "../functions/text.js";
import { TIME_FUNCTIONS } from "../functions/times.js";
import {
  arithmetic,
  decimalArithmetic,
  decimalResult,
  type NumberOperator,
  negation,
} from "../kernels/arithmetic.js";
import { castKernel, parseDecimal } from "../kernels/casts.js";
import { coalesce, extreme, listKernel, nullIf } from "../kernels/choice.js";
import { comparison } from "../kernels/compare.js";
import { likeKernel } from "../kernels/like.js";
import { isTruth, not } from "../kernels/logic.js";
import { membership } from "../kernels/membership.js";
import { type ExpressionSource, problemText } from "../parse/problem.js";
import type {
  Arithmetic,
  CallSyntax,
  CastSyntax,
  ComparisonOperator,
  In,
  Like,
  Logic,
  NumberLiteral,
  ProgramValue,
  Syntax,
  TypeName,
} from "../parse/syntax.js";
import type { ValueKernel } from "../values/operands.js";
import { columnOfScalars, oneOf, type Scalar, scalarOf } from "../values/scalars.js";
import {
  areSame,
  BINARY,
  BOOL,
  DATE,
  FLOAT32,
  FLOAT64,
  INT64,
  isNumeric,
  listTypeOf,
  NULL,
  STRING,
  timestamp,
  typeName,
  type ValueType,
} from "../values/types.js";
import { comparedType, literalAs, numericType, unitedType, wholeType } from "./coercion.js";
import type { Names } from "./names.js";

/** Values of parameters, by their names. */
export type Parameters = Readonly<Record<string, ProgramValue>>;

/** Maximum depth of an expression that a program built. */
const MAX_DEPTH = 1024;
/** Equalities of one column in an OR from which on they are looked up together. */
const FEW_EQUALITIES = 4;

const FUNCTIONS: ReadonlyMap<string, FunctionDefinition> = new Map(
  [TEXT_FUNCTIONS, NUMBER_FUNCTIONS, TIME_FUNCTIONS, LIST_FUNCTIONS].flatMap(Object.entries),
);

export class Binder {
  readonly #source: ExpressionSource;
  readonly #names: Names;
  readonly #parameters: Parameters;
  #depth = 0;

  constructor(source: ExpressionSource, names: Names, parameters: Parameters) {
    this.#source = source;
    this.#names = names;
    this.#parameters = parameters;
  }

  /** An expression that is a condition. */
  filter(node: Syntax): Bound {
    const bound = this.#bind(node, true);
    if (bound.type.kind === "null") throw this.#invalid(node, "a condition is expected, not null");
    return this.#condition(bound, node);
  }

  /** Any expression. A literal beside a column in it, not in parts of it, gets the column's type. */
  expression(node: Syntax): Bound {
    return this.#bind(node, true);
  }

  /** @param isDirect whether the node stands in the filter itself, or in AND and OR of it */
  #bind(node: Syntax, isDirect = false): Bound {
    if (++this.#depth > MAX_DEPTH) throw this.#invalid(node, `nested deeper than ${MAX_DEPTH}`);
    try {
      return this.#bindNode(node, isDirect);
    } finally {
      this.#depth--;
    }
  }

  #bindNode(node: Syntax, isDirect: boolean): Bound {
    switch (node.kind) {
      case "null":
        return nullOf(NULL);
      case "boolean":
        return scalar(BOOL, node.value);
      case "number":
        return numberConstant(node);
      case "text":
        return scalar(STRING, node.value);
      case "bytes":
        return scalar(BINARY, node.value);
      case "value":
        return this.#value(node.value, node);
      case "parameter": {
        if (!Object.hasOwn(this.#parameters, node.name)) {
          throw this.#invalid(node, `no value is passed for the parameter $${node.name}`);
        }
        return this.#value(this.#parameters[node.name], node);
      }
      case "name":
        return this.#names.resolve(node, this.#source);
      case "negative": {
        const operand = this.#bind(node.operand);
        if (operand.type.kind === "null") return operand;
        if (!isNumeric(operand.type)) throw this.#invalid(node, `${typeName(operand.type)} has no sign`);
        const type = operand.type.kind === "int" && !operand.type.signed ? INT64 : operand.type;
        return this.#call(node, [this.#cast(operand, type, false, node)], type, negation(type));
      }
      case "not": {
        const operand = this.#condition(this.#bind(node.operand), node.operand);
        return this.#call(node, [operand], BOOL, not);
      }
      case "arithmetic":
        return this.#arithmetic(node, isDirect);
      case "comparison": {
        const left = this.#bind(node.left);
        const right = this.#bind(node.right);
        return this.#compare(node, node.operator, left, right, isDirect);
      }
      case "distinct":
        return this.#distinct(node, this.#bind(node.left), this.#bind(node.right), node.isNegated);
      case "and":
      case "or":
        return this.#logic(node, isDirect);
      case "in":
        return this.#in(node, isDirect);
      case "between": {
        const operand = this.#bind(node.operand);
        const low = this.#compare(node, ">=", operand, this.#bind(node.low), isDirect);
        const high = this.#compare(node, "<=", operand, this.#bind(node.high), isDirect);
        const both = this.#folded(logic("and", [low, high]));
        return node.isNegated ? this.#call(node, [both], BOOL, not) : both;
      }
      case "like":
        return this.#like(node);
      case "is": {
        const operand = this.#bind(node.operand);
        if (node.what === "null") {
          return this.#folded({ kind: "nullTest", type: BOOL, operand, isNegated: node.isNegated });
        }
        const condition = this.#condition(operand, node.operand);
        return this.#call(node, [condition], BOOL, isTruth(node.what, node.isNegated), false);
      }
      case "cast":
        return this.#casts(node);
      case "case":
        return this.#case(node);
      case "call":
        return this.#function(node);
      case "subscript": {
        const operand = this.#bind(node.operand);
        const index = this.#bind(node.index);
        if (operand.type.kind === "struct" && operand.kind === "column" && index.kind === "constant") {
          const name = scalarOf(index.column, index.type);
          const member = typeof name === "string" ? this.#names.member(operand, name) : null;
          if (member === null) throw this.#invalid(node, `no member ${String(name)}`);
          return member;
        }
        return this.#apply(node, "a subscript", arrayElement, [operand, index]);
      }
      case "array":
        return this.#array(
          node,
          node.items.map((item) => this.#bind(item)),
        );
    }
  }

  #value(value: ProgramValue, node: Syntax): Constant {
    if (value === null || value === undefined) return nullOf(NULL);
    switch (typeof value) {
      case "boolean":
        return scalar(BOOL, value);
      case "bigint": {
        const type = wholeType(value);
        return scalar(type, type.kind === "float" ? Number(value) : value);
      }
      case "number":
        return Number.isSafeInteger(value) && !Object.is(value, -0)
          ? scalar(INT64, BigInt(value))
          : { ...scalar(FLOAT64, value), text: String(value) };
      case "string":
        return scalar(STRING, value);
    }
    if (isUint8Array(value)) return scalar(BINARY, value);
    if (isDate(value)) {
      const ms = value.getTime();
      if (Number.isNaN(ms)) throw this.#invalid(node, "a value is no valid date");
      return scalar(timestamp("ms", "UTC"), BigInt(ms));
    }
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#value(item as ProgramValue, node));
      const list = this.#array(node, items);
      if (list.kind === "constant") return list;
    }
    throw this.#invalid(node, `a value of type ${typeof value} is none that an expression holds`);
  }

  /** A condition: a boolean, or the matches of a regular expression, which stand for whether there are any. */
  #condition(bound: Bound, node: Syntax): Bound {
    if (bound.type.kind === "bool") return bound;
    if (bound.type.kind === "null") return nullOf(BOOL);
    if (bound.type.kind === "other" && bound.kind === "call") {
      return this.#folded({ kind: "nullTest", type: BOOL, operand: bound, isNegated: true });
    }
    throw this.#invalid(node, `a condition is expected, not ${typeName(bound.type)}`);
  }

  #logic(node: Logic, isDirect: boolean): Bound {
    const operands: Bound[] = [];
    const equalities = new Map<ColumnReference, { at: number; values: Constant[] }>();
    for (const operand of node.operands) {
      const bound = this.#condition(this.#bind(operand, isDirect), operand);
      const equality = node.kind === "or" ? this.#equality(bound) : null;
      if (equality === null) {
        operands.push(bound);
        continue;
      }
      const [column, value] = equality;
      const known = equalities.get(column);
      if (known === undefined) equalities.set(column, { at: operands.push(bound) - 1, values: [value] });
      else {
        known.values.push(value);
        if (known.values.length < FEW_EQUALITIES) operands.push(bound);
      }
    }
    // The first few equalities stay where they are: looked up again, they change nothing.
    for (const [column, { values }] of equalities) {
      if (values.length < FEW_EQUALITIES) continue;
      const items = columnOfScalars(
        column.type,
        values.map((value) => scalarOf(value.column, value.type)),
      );
      operands.push(this.#call(node, [column], BOOL, membership(items, column.type, false, false)));
    }
    return this.#folded(logic(node.kind, operands));
  }

  readonly #equalities = new WeakMap<Bound, readonly [ColumnReference, Constant]>();

  #equality(bound: Bound): readonly [ColumnReference, Constant] | null {
    return this.#equalities.get(bound) ?? null;
  }

  #compare(node: Syntax, operator: ComparisonOperator, left: Bound, right: Bound, isDirect: boolean): Bound {
    const [one, other] = this.#comparable(node, left, right, isDirect);
    const bound = this.#call(node, [one, other], BOOL, comparison(operator, one.type));
    if (operator === "=" && bound.kind === "call") {
      if (one.kind === "column" && other.kind === "constant") this.#equalities.set(bound, [one, other]);
      if (other.kind === "column" && one.kind === "constant") this.#equalities.set(bound, [other, one]);
    }
    return bound;
  }

  /** Both operands in the type in which they are compared. */
  #comparable(node: Syntax, left: Bound, right: Bound, isDirect: boolean): readonly [Bound, Bound] {
    if (areSame(left.type, right.type)) return [left, right];
    if (left.kind === "column" && right.kind === "constant") {
      const literal = this.#beside(node, right, left, isDirect);
      if (literal !== null) return [left, literal];
    }
    if (right.kind === "column" && left.kind === "constant") {
      const literal = this.#beside(node, left, right, isDirect);
      if (literal !== null) return [literal, right];
    }
    const [one, other] = [left, right].map((operand) =>
      writtenDecimal(operand, operand === left ? right : left),
    );
    const type = comparedType(one.type, other.type);
    if (type === null) {
      throw this.#invalid(node, `${typeName(left.type)} can't be compared with ${typeName(right.type)}`);
    }
    return [this.#cast(one, type, false, node), this.#cast(other, type, false, node)];
  }

  /** A constant in the type of the column beside it; null where both have to be brought to another type. */
  #beside(node: Syntax, literal: Constant, column: ColumnReference, isDirect: boolean): Constant | null {
    const { type } = literal;
    const wanted = column.type;
    const value = scalarOf(literal.column, type);
    const rounds = type.kind === "float" && wanted.kind === "float" && !isDirect;
    const coerced = rounds ? undefined : literalAs({ type, value }, wanted);
    if (coerced !== undefined) return scalar(wanted, coerced);
    const exact = this.#exactly(literal, wanted, node);
    if (exact !== null) return exact;
    const isRefused =
      isDirect &&
      (comparedType(type, wanted) === null ||
        type.kind === "int" ||
        (type.kind === "string" && wanted.kind !== "string"));
    if (isRefused) throw this.#invalid(node, `${shown(value)} is no value of type ${typeName(wanted)}`);
    return null;
  }

  /**
   * A number or time in another type that has its very value; null where that has none. A timestamp beside a column of
   * timestamps loses what is finer than the column.
   */
  #exactly(literal: Constant, wanted: ValueType, node: Syntax): Constant | null {
    const { type, text, column } = literal;
    const isNumber = type.kind === "float" && (wanted.kind === "int" || wanted.kind === "decimal");
    const isTime = TIMES.has(type.kind) && TIMES.has(wanted.kind) && comparedType(type, wanted) !== null;
    if (!isNumber && !isTime) return null;
    const own = isNumber && text !== undefined ? decimalOfText(text) : null;
    const source = own ?? constantOf(type, column);
    const there = this.#cast(source, wanted, true, node);
    if (there.kind !== "constant" || isNull(there)) return null;
    const back = this.#cast(there, source.type, true, node);
    if (back.kind !== "constant" || isNull(back)) return null;
    const isSame = scalarOf(back.column, source.type) === scalarOf(source.column, source.type);
    const isCut = type.kind === "timestamp" && wanted.kind === "timestamp";
    return isSame || isCut ? there : null;
  }

  #distinct(node: Syntax, left: Bound, right: Bound, isNegated: boolean): Bound {
    const [one, other] = this.#comparable(node, left, right, false);
    const test = (operand: Bound, negated: boolean): Bound =>
      this.#folded({ kind: "nullTest", type: BOOL, operand, isNegated: negated });
    const equal = this.#call(node, [one, other], BOOL, comparison("=", one.type));
    const bothNull = this.#folded(logic("and", [test(one, false), test(other, false)]));
    const bothThere = this.#folded(logic("and", [test(one, true), test(other, true), equal]));
    const same = this.#folded(logic("or", [bothNull, bothThere]));
    return isNegated ? same : this.#call(node, [same], BOOL, not);
  }

  #in(node: In, isDirect: boolean): Bound {
    const operand = this.#bind(node.operand);
    const quick = this.#simpleItems(node, operand, isDirect);
    if (quick !== null) return quick;
    let items = node.items.map((item) => this.#bind(item));
    let subject = operand;
    const isColumn = subject.kind === "column" && subject.isTop;
    if (isColumn) {
      const column = subject as ColumnReference;
      items = items.map((item) =>
        item.kind === "constant" ? (this.#beside(node, item, column, isDirect) ?? item) : item,
      );
    }
    const type = unitedType([subject.type, ...items.map((item) => item.type)]);
    if (type === null) throw this.#invalid(node, `the values are not of type ${typeName(subject.type)}`);
    if (type.kind === "null") return nullOf(BOOL);
    subject = this.#cast(subject, type, false, node);
    items = items.map((item) => this.#cast(item, type, false, node));
    if (items.every((item) => item.kind === "constant")) {
      const values = items.map((item) => scalarOf((item as Constant).column, type));
      return this.#member(node, subject, columnOfScalars(type, values), values.includes(null));
    }
    const equal = items.map((item) => this.#call(node, [subject, item], BOOL, comparison("=", type)));
    const any = this.#folded(logic("or", equal));
    return node.isNegated ? this.#call(node, [any], BOOL, not) : any;
  }

  #member(node: In, subject: Bound, items: Column, hasNull: boolean): Bound {
    const { type } = subject;
    return this.#call(node, [subject], BOOL, membership(items, type, hasNull, node.isNegated));
  }

  /** The list where it holds literals only that are values of a column: long lists are quick then. */
  #simpleItems(node: In, operand: Bound, isDirect: boolean): Bound | null {
    if (operand.kind !== "column" || node.items.length < FEW_EQUALITIES) return null;
    const { type } = operand;
    const isRounded = isDirect && operand.isTop;
    const values = new Array<Scalar>(node.items.length);
    for (const [index, item] of node.items.entries()) {
      let value: Scalar | undefined;
      if (item.kind === "number" && item.isWhole) {
        if (type.kind === "float") value = Number(item.value);
        else if (type.kind !== "int") return null;
        else if (typeof item.value === "number" && isSafely(item.value, type)) value = item.value;
        else value = literalAs({ type: INT64, value: item.value }, type);
      } else if (item.kind === "number" && type.kind === "float" && (isRounded || type.bits === 64)) {
        value = Number(item.value);
      }
      if (item.kind === "text" && type.kind === "string") value = item.value;
      if (value === undefined) {
        if (isRounded && item.kind === "number" && item.isWhole) {
          throw this.#invalid(item, `${item.text} is no value of type ${typeName(type)}`);
        }
        return null;
      }
      values[index] = value;
    }
    return this.#member(node, operand, columnOfScalars(type, values), false);
  }

  #like(node: Like): Bound {
    const operand = this.#text(this.#bind(node.operand), node.operand);
    const pattern = this.#text(this.#bind(node.pattern), node.pattern);
    if (pattern.kind !== "constant") {
      throw new UnsupportedError(
        problemText(
          this.#source,
          node.at,
          "LIKE with a pattern that is no constant is not supported by this release",
        ),
      );
    }
    const text = scalarOf(pattern.column, pattern.type);
    if (text === null) return nullOf(BOOL);
    const kernel = likeKernel(text as string, node.escape ?? "\\", node.ignoresCase, node.isNegated);
    return this.#call(node, [operand], BOOL, kernel);
  }

  #text(bound: Bound, node: Syntax): Bound {
    if (bound.type.kind === "string") return bound;
    if (bound.type.kind === "null") return nullOf(STRING);
    throw this.#invalid(node, `a text is expected, not ${typeName(bound.type)}`);
  }

  #arithmetic(node: Arithmetic, isDirect: boolean): Bound {
    const bound = [this.#bind(node.left), this.#bind(node.right)] as const;
    const [left, right] = isDirect ? this.#literalBeside(...bound) : bound;
    const { operator } = node;
    if (operator === "||") {
      if (left.type.kind === "list" || right.type.kind === "list") {
        throw new UnsupportedError(
          problemText(this.#source, node.at, "|| of lists is not supported by this release"),
        );
      }
      const operands = [left, right].map((operand) => this.#cast(operand, STRING, false, node));
      return this.#call(node, operands, STRING, concatenation);
    }
    if (left.type.kind === "null" || right.type.kind === "null") {
      const other = left.type.kind === "null" ? right.type : left.type;
      if (other.kind !== "null" && !isNumeric(other)) throw this.#noArithmetic(node, left, right);
      return nullOf(other.kind === "null" ? INT64 : other);
    }
    if (!isNumeric(left.type) || !isNumeric(right.type)) throw this.#noArithmetic(node, left, right);
    const isShift = operator === "<<" || operator === ">>";
    if ((left.type.kind === "decimal" || right.type.kind === "decimal") && !isShift) {
      const hasFloat = left.type.kind === "float" || right.type.kind === "float";
      if (!hasFloat) return this.#decimals(node, operator, left, right);
    }
    const common = numericType(left.type, right.type);
    if (common.kind === "decimal" && left.type.kind === "int" && right.type.kind === "int") {
      return this.#decimals(node, operator, left, right);
    }
    const type =
      common.kind === "decimal" ? FLOAT64 : common.kind === "float" && common.bits === 16 ? FLOAT32 : common;
    if (type.kind === "float" && isShift) throw this.#noArithmetic(node, left, right);
    const operands = [left, right].map((operand) => this.#cast(operand, type, false, node));
    return this.#call(node, operands, type, arithmetic(operator, type));
  }

  /** A literal beside a column with the column's type, where the column has such a value. */
  #literalBeside(left: Bound, right: Bound): readonly [Bound, Bound] {
    const as = (literal: Bound, column: Bound): Bound => {
      if (literal.kind !== "constant" || column.kind !== "column" || !isNumeric(column.type)) return literal;
      const { type } = literal;
      const value = literalAs({ type, value: scalarOf(literal.column, type) }, column.type);
      return value === undefined || value === null ? literal : scalar(column.type, value);
    };
    return [as(left, right), as(right, left)];
  }

  #decimals(node: Arithmetic, operator: NumberOperator, left: Bound, right: Bound): Bound {
    const operands = [left, right].map((operand) => this.#decimal(operand, node));
    const [one, other] = operands.map((operand) => operand.type as DecimalType);
    const type = decimalResult(operator, one, other);
    return this.#call(node, operands, type, decimalArithmetic(operator, one, other, type));
  }

  #decimal(operand: Bound, node: Syntax): Bound {
    if (operand.type.kind !== "int") return operand;
    const precision = ({ 8: 3, 16: 5, 32: 10, 64: 20 } as const)[operand.type.bits];
    return this.#cast(operand, { kind: "decimal", bits: 128, precision, scale: 0 }, false, node);
  }

  #noArithmetic(node: Arithmetic, left: Bound, right: Bound): InvalidInputError {
    return this.#invalid(node, `there is no ${typeName(left.type)} ${node.operator} ${typeName(right.type)}`);
  }

  #casts(node: CastSyntax): Bound {
    let bound = this.#bind(node.operand);
    for (const { type, isTry } of node.types) {
      const wanted = this.#type(type);
      if (this.#depth + chainLength(bound) > MAX_DEPTH) {
        throw this.#invalid(node, `more than ${MAX_DEPTH} casts in a row`);
      }
      bound = this.#cast(bound, wanted, isTry, node);
    }
    return bound;
  }

  #type(name: TypeName): ValueType {
    const { parameters, isUnsigned } = name;
    const refuse = (): never => {
      throw this.#invalid({ at: name.at }, `no type ${name.name} with these parameters`);
    };
    const bits = INTEGER_BITS[name.name];
    if (bits !== undefined) return { kind: "int", bits, signed: !isUnsigned };
    if (isUnsigned) return refuse();
    switch (name.name) {
      case "BOOLEAN":
        return BOOL;
      case "FLOAT":
        return FLOAT32;
      case "DOUBLE":
        return FLOAT64;
      case "STRING":
        return STRING;
      case "BINARY":
        return BINARY;
      case "DATE":
        return DATE;
      case "TIMESTAMP":
      case "DATETIME": {
        const unit = TIMESTAMP_UNITS[parameters[0] ?? 6];
        return unit === undefined || parameters.length > 1 ? refuse() : timestamp(unit, null);
      }
      case "DECIMAL": {
        const [precision, scale] = parameters;
        if (parameters.length !== 2 || precision < 1 || precision > 38 || scale > precision) return refuse();
        return { kind: "decimal", bits: 128, precision, scale };
      }
    }
    throw new UnsupportedError(
      problemText(this.#source, name.at, `the type ${name.name} is not supported by this release`),
    );
  }

  #cast(operand: Bound, type: ValueType, isTry: boolean, node: { readonly at: number }): Bound {
    if (areSame(operand.type, type)) return operand;
    if (operand.type.kind === "null") return nullOf(type);
    if (operand.kind === "constant" && operand.text !== undefined && type.kind === "decimal") {
      const value = parseDecimal(operand.text, type.scale);
      const limit = 10n ** BigInt(type.precision);
      if (value !== null && value < limit && value > -limit) return scalar(type, value);
    }
    const kernel = castKernel(operand.type, type, isTry);
    if (kernel === null) {
      throw this.#invalid(node, `${typeName(operand.type)} cannot be cast to ${typeName(type)}`);
    }
    return this.#call(node, [operand], type, kernel);
  }

  #case(node: Extract<Syntax, { kind: "case" }>): Bound {
    const subject = node.subject === null ? null : this.#bind(node.subject);
    const bound = node.branches.map(({ when, result }) => {
      const condition =
        subject === null
          ? this.#condition(this.#bind(when), when)
          : this.#compare(when, "=", subject, this.#bind(when), false);
      return { when: condition, result: this.#bind(result) };
    });
    const otherwise = node.otherwise === null ? nullOf(NULL) : this.#bind(node.otherwise);
    const type = unitedType([...bound.map(({ result }) => result.type), otherwise.type]);
    if (type === null) throw this.#invalid(node, "the results of CASE have no common type");
    return this.#folded({
      kind: "case",
      type,
      branches: bound.map(({ when, result }) => ({ when, result: this.#cast(result, type, false, node) })),
      otherwise: this.#cast(otherwise, type, false, node),
    });
  }

  #function(node: CallSyntax): Bound {
    const { name } = node;
    const operands = node.operands.map((operand) => this.#bind(operand));
    switch (name) {
      case "coalesce":
      case "nvl":
      case "ifnull":
        return this.#chosen(node, operands, 1, coalesce);
      case "greatest":
        return this.#chosen(node, operands, 1, (type) => extreme(type, 1));
      case "least":
        return this.#chosen(node, operands, 1, (type) => extreme(type, -1));
      case "nullif":
        return this.#chosen(node, operands, 2, nullIf, 2);
      case "nvl2": {
        if (operands.length !== 3) throw this.#invalid(node, "nvl2: 3 operands are expected");
        const type = unitedType(operands.slice(1).map((operand) => operand.type));
        if (type === null) throw this.#invalid(node, "nvl2: the operands have no common type");
        const when: Bound = { kind: "nullTest", type: BOOL, operand: operands[0], isNegated: true };
        const [result, otherwise] = operands
          .slice(1)
          .map((operand) => this.#cast(operand, type, false, node));
        return this.#folded({ kind: "case", type, branches: [{ when, result }], otherwise });
      }
      case "is_valid": {
        if (operands.length !== 1) throw this.#invalid(node, "is_valid: 1 operand is expected");
        return this.#folded({ kind: "nullTest", type: BOOL, operand: operands[0], isNegated: true });
      }
      case "make_array":
      case "make_list":
        return this.#array(node, operands);
    }
    const definition = FUNCTIONS.get(name);
    if (definition === undefined) {
      throw new UnsupportedError(
        problemText(this.#source, node.at, `the function ${name} is not supported by this release`),
      );
    }
    return this.#apply(node, name, definition, operands);
  }

  #apply(node: Syntax, name: string, definition: FunctionDefinition, operands: readonly Bound[]): Bound {
    const constants = operands.map((operand) =>
      operand.kind === "constant" ? scalarOf(operand.column, operand.type) : undefined,
    );
    let form: ReturnType<FunctionDefinition>;
    try {
      form = definition(
        operands.map((operand) => operand.type),
        constants,
      );
    } catch (error) {
      throw this.#located(error, node);
    }
    if (typeof form === "string") throw this.#invalid(node, `${name}: ${form}`);
    const { type, kernel, isStrict = true } = form;
    const wanted = form.operands;
    const cast = operands.map((operand, index) => this.#cast(operand, wanted[index], false, node));
    return this.#call(node, cast, type, kernel, isStrict);
  }

  /** A function whose operands and result have one type. */
  #chosen(
    node: CallSyntax,
    operands: readonly Bound[],
    least: number,
    kernelOf: (type: ValueType) => ValueKernel,
    most = Number.POSITIVE_INFINITY,
  ): Bound {
    if (operands.length < least || operands.length > most) {
      throw this.#invalid(node, `${node.name}: another number of operands is expected`);
    }
    const type = unitedType(operands.map((operand) => operand.type));
    if (type === null) throw this.#invalid(node, `${node.name}: the operands have no common type`);
    if (type.kind === "null") return nullOf(NULL);
    const cast = operands.map((operand) => this.#cast(operand, type, false, node));
    return this.#call(node, cast, type, kernelOf(type), false);
  }

  #array(node: Syntax, items: readonly Bound[]): Bound {
    const item = unitedType(items.map((bound) => bound.type));
    if (item === null) throw this.#invalid(node, "the items of a list have no common type");
    const cast = items.map((bound) => this.#cast(bound, item, false, node));
    if (cast.every((bound) => bound.kind === "constant")) {
      const values = cast.map((bound) => scalarOf((bound as Constant).column, item));
      return constantOf(listTypeOf(item), columnOfScalars(listTypeOf(item), [values]));
    }
    return this.#call(node, cast, listTypeOf(item), listKernel(item), false);
  }

  /** A call; its value where it depends on no row. */
  #call(
    node: { readonly at: number },
    operands: readonly Bound[],
    type: ValueType,
    kernel: ValueKernel,
    isStrict = true,
  ): Bound {
    if (isStrict && operands.some(isNull)) return nullOf(type);
    const call: BoundCall = { kind: "call", type, operands, kernel, isStrict };
    return this.#folded(call, node);
  }

  #folded(bound: Bound, node: { readonly at: number } = { at: -1 }): Bound {
    if (!isFoldable(bound)) return bound;
    try {
      return constantOf(bound.type, oneOf(evaluate(bound, { columns: [], rowCount: 1 }), 0));
    } catch (error) {
      throw this.#located(error, node);
    }
  }

  /** An error of a kernel, with the place of the expression. */
  #located(error: unknown, node: { readonly at: number }): unknown {
    if (!(error instanceof InvalidInputError)) return error;
    return new InvalidInputError(problemText(this.#source, node.at, error.message), { cause: error });
  }

  #invalid(node: { readonly at: number }, reason: string): InvalidInputError {
    return new InvalidInputError(problemText(this.#source, node.at, reason));
  }
}

function isFoldable(bound: Bound): boolean {
  switch (bound.kind) {
    case "call":
    case "and":
    case "or":
      return bound.operands.every((operand) => operand.kind === "constant");
    case "nullTest":
      return bound.operand.kind === "constant";
    case "case":
      return (
        bound.otherwise.kind === "constant" &&
        bound.branches.every(({ when, result }) => when.kind === "constant" && result.kind === "constant")
      );
    default:
      return false;
  }
}

/** Whether a number is one of an integer type for sure. */
const isSafely = (value: number, { bits, signed }: IntegerType): boolean =>
  bits === 64
    ? signed || value >= 0
    : value >= (signed ? -(2 ** (bits - 1)) : 0) && value < 2 ** (signed ? bits - 1 : bits);

/** Calls of one operand inside each other. */
function chainLength(bound: Bound): number {
  let length = 0;
  for (let at = bound; at.kind === "call" && at.operands.length === 1; at = at.operands[0]) length++;
  return length;
}

const scalar = (type: ValueType, value: Scalar): Constant => constantOf(type, columnOfScalars(type, [value]));

function numberConstant({ value, isWhole, text }: NumberLiteral): Constant {
  if (!isWhole) return { ...scalar(FLOAT64, Number(value)), text };
  const integer = BigInt(value);
  const type = wholeType(integer);
  return { ...scalar(type, type.kind === "float" ? Number(value) : integer), text };
}

/** A number as it was written, for comparing integers and decimals with it exactly. */
function writtenDecimal(operand: Bound, other: Bound): Bound {
  if (operand.kind !== "constant" || operand.text === undefined || operand.type.kind !== "float")
    return operand;
  if (other.kind !== "column" || (other.type.kind !== "int" && other.type.kind !== "decimal")) return operand;
  return decimalOfText(operand.text) ?? operand;
}

/** Kinds of types whose values may be the same at another resolution. */
const TIMES = new Set<ValueType["kind"]>(["date", "timestamp", "time", "duration"]);

/** The exact value of a number that was written with a point or exponent; null where it has too many digits. */
function decimalOfText(text: string): Constant | null {
  const match = /^-?(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (match === null) return null;
  const scale = Math.max(0, match[2].length - Number(match[3] ?? 0));
  const value = scale > MAX_DIGITS ? null : parseDecimal(text, scale);
  if (value === null || value >= 10n ** 38n || value <= -(10n ** 38n)) return null;
  const type: ValueType = { kind: "decimal", bits: 128, precision: MAX_DIGITS, scale };
  return scalar(type, value);
}

const MAX_DIGITS = 38;

const INTEGER_BITS: Readonly<Record<string, 8 | 16 | 32 | 64>> = {
  TINYINT: 8,
  SMALLINT: 16,
  INT: 32,
  INTEGER: 32,
  BIGINT: 64,
};

const TIMESTAMP_UNITS: Readonly<Record<number, TimeUnit>> = { 0: "s", 3: "ms", 6: "us", 9: "ns" };

function shown(value: Scalar): string {
  const text = isUint8Array(value) ? `a binary of ${value.length} bytes` : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
