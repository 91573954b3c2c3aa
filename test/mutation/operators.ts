import * as ts from 'typescript/unstable/ast'

/** A change of a file's text: what is from an offset to another becomes another text. */
export type Edit = { operator: string; from: number; to: number; text: string }

const boundaries: Record<string, string> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const opposites: Record<string, string> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<', '===': '!==', '!==': '===' }
const logic: Record<string, string> = { '&&': '||', '||': '&&', '??=': '=', '||=': '=', '&&=': '=' }
const arithmetic: Record<string, string> = {
  ...{ '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '**': '*', '+=': '-=', '-=': '+=', '*=': '/=', '/=': '*=' },
}
const methods: Record<string, string> = {
  ...{ some: 'every', every: 'some', min: 'max', max: 'min', find: 'findLast', findLast: 'find' },
  ...{ startsWith: 'endsWith', endsWith: 'startsWith', floor: 'ceil', ceil: 'floor', trunc: 'ceil', round: 'floor' },
  ...{ toUpperCase: 'toLowerCase', toLowerCase: 'toUpperCase', difference: 'union', intersection: 'union' },
}
/** Methods whose result is like what they are called on, so that the call can be left out. */
const shaping = new Set(['filter', 'toSorted', 'toReversed', 'reverse', 'sort', 'trim', 'slice', 'concat', 'flat'])

/** All changes that start at this node. Types, strings, imports and comments have none. */
export function editsOf(node: ts.Node): Edit[] {
  if (ts.isBinaryExpression(node)) return binaryEdits(node)
  if (ts.isIfStatement(node)) return [...conditionEdits(node.expression), ...exitEdits(node)]
  if (ts.isConditionalExpression(node)) return conditionEdits(node.condition)
  if (ts.isWhileStatement(node) || ts.isDoStatement(node)) return conditionEdits(node.expression)
  if (ts.isPrefixUnaryExpression(node)) return prefixEdits(node)
  if (ts.isCallExpression(node)) return callEdits(node)
  if (ts.isExpressionStatement(node)) return [replace(node, 'statement removed', '{}')]
  if (node.kind === ts.SyntaxKind.TrueKeyword && !isType(node)) return [replace(node, 'boolean', 'false')]
  if (node.kind === ts.SyntaxKind.FalseKeyword && !isType(node)) return [replace(node, 'boolean', 'true')]
  if ((ts.isNumericLiteral(node) || ts.isBigIntLiteral(node)) && !isType(node)) return numberEdits(node)
  return []
}

function binaryEdits(node: ts.BinaryExpression): Edit[] {
  const { left, operatorToken, right } = node
  const sign = operatorToken.getText()
  const changed = (operator: string, signs: Record<string, string>) => {
    const other = signs[sign]
    return other ? [replace(operatorToken, operator, other)] : []
  }
  const dropped = sign === '??' ? [{ ...replace(left, 'default', ''), to: right.getStart() }] : []
  return [
    ...(choosesOperand(node) ? [] : changed('boundary', boundaries)),
    ...changed('comparison', opposites),
    ...changed('logic', logic),
    ...changed('arithmetic', arithmetic),
    ...dropped,
  ]
}

/** Whether the operands are what is chosen from, as in `a < b ? a : b`: at the boundary they are the same. */
function choosesOperand({ left, right, parent }: ts.BinaryExpression): boolean {
  if (!ts.isConditionalExpression(parent)) return false
  const choices = [parent.whenTrue.getText(), parent.whenFalse.getText()]
  return choices.includes(left.getText()) && choices.includes(right.getText())
}

function conditionEdits(condition: ts.Expression): Edit[] {
  return [replace(condition, 'condition negated', `!(${condition.getText()})`)]
}

/** An early exit: an `if` that only returns, throws or continues. */
function exitEdits(node: ts.IfStatement): Edit[] {
  const { thenStatement: then } = node
  const last = ts.isBlock(then) && then.statements.length === 1 ? (then.statements[0] as ts.Statement) : then
  const exits =
    ts.isReturnStatement(last) || ts.isThrowStatement(last) || ts.isContinueStatement(last) || ts.isBreakStatement(last)
  return exits && !node.elseStatement && !ts.isIfStatement(node.parent)
    ? [replace(node, 'early exit removed', '{}')]
    : []
}

function prefixEdits(node: ts.PrefixUnaryExpression): Edit[] {
  const sign = node.operator
  const drops = sign === ts.SyntaxKind.ExclamationToken || sign === ts.SyntaxKind.MinusToken
  return drops ? [replace(node, 'sign removed', node.operand.getText())] : []
}

function callEdits({ expression: callee, end }: ts.CallExpression): Edit[] {
  if (!ts.isPropertyAccessExpression(callee)) return []
  const name = callee.name.getText()
  const other = methods[name]
  if (other) return [replace(callee.name, 'method', other)]
  return shaping.has(name) ? [{ operator: 'call removed', from: callee.expression.end, to: end, text: '' }] : []
}

function numberEdits(node: ts.LiteralExpression): Edit[] {
  const [, digits, suffix] = /^([\d_]+)(n?)$/.exec(node.getText()) ?? []
  if (digits === undefined) return []
  return [replace(node, 'constant', `${BigInt(digits.replaceAll('_', '')) + 1n}${suffix}`)]
}

function replace(node: ts.Node, operator: string, text: string): Edit {
  return { operator, from: node.getStart(), to: node.end, text }
}

function isType(node: ts.Node): boolean {
  return ts.isLiteralTypeNode(node.parent) || ts.isPrefixUnaryExpression(node.parent)
}
