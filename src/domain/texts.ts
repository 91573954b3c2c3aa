/** Characters are Unicode code points everywhere that a renter reads a number of them. */
export function countCharacters(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0)
}

/** What keeps a text from being stored and passed on, said so that it reads after the path and a colon. */
export function textProblem(text: string, maxCharacters = Number.POSITIVE_INFINITY): string | undefined {
  if (!text.isWellFormed() || text.includes('\0')) return 'must be well-formed Unicode without NUL.'
  const characters = countCharacters(text)
  return characters > maxCharacters ? `must have at most ${maxCharacters} characters, not ${characters}.` : undefined
}

/** Whether a text ends lines, moves a cursor or turns the direction of reading, and so can be shown as another. */
export function hasControlCharacters(text: string): boolean {
  return /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(text)
}
