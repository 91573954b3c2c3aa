/** Selects the columns of a model. `fields` is Prisma's list of them. */
export function columnsOf<Field extends string>(fields: Record<Field, string>): Record<Field, true> {
  // Safe: the keys are those of the list.
  return Object.fromEntries(Object.keys(fields).map(field => [field, true])) as Record<Field, true>
}
