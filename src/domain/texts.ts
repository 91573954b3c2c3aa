/** Counts Unicode code points, as does every number of characters that a renter reads. */
export function countCharacters(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0)
}

/** Why a text cannot be stored and passed on. The message reads on from a path and a colon. */
export function textProblem(text: string, maxCharacters = Number.POSITIVE_INFINITY): string | undefined {
  if (!text.isWellFormed() || text.includes('\0')) return 'must be well-formed Unicode without NUL.'
  const characters = countCharacters(text)
  return characters > maxCharacters ? `must have at most ${maxCharacters} characters, not ${characters}.` : undefined
}

/** Why a text is no name. Old REST clients may send blank names, so that face does not ask. */
export function blankProblem(name: string): string | undefined {
  return name.trim() === '' ? 'must not be blank.' : undefined
}

/** Whether a text ends a line, moves the cursor or changes the reading direction: it could look like another text. */
export function hasControlCharacters(text: string): boolean {
  return /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(text)
}
