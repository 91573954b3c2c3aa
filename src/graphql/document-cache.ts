import type { DocumentNode } from 'graphql'

/** A program sends a few shorter texts again and again. A thousand of the longest texts would take 200 MB. */
const maxCharacters = 10_000
const maxDocuments = 1_000

/** Remembers something for the texts of documents. */
export function createDocumentCache<Value>() {
  const values = new Map<string, Value>()
  return {
    get: (text: string): Value | undefined => values.get(text),
    set(text: string, value: Value): void {
      if (text.length > maxCharacters) return
      if (values.size >= maxDocuments) values.delete(values.keys().next().value ?? '')
      values.set(text, value)
    },
  }
}

/** Documents that parse, valid or not. Yoga keeps their errors, too. */
export const parsedDocuments = createDocumentCache<DocumentNode>()
